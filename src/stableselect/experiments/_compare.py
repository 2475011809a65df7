"""Compare methods on a table of one's own: the same splits, seeds, refit and store for all of them."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product
from tempfile import TemporaryDirectory
from typing import Any

import joblib
import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from .._core import feature_names, held_out_splits, in_memory
from .._refit import Source, single_fit, steps_of
from ..base import BaseSelector, check_count, check_labels, check_table, progress_text, resolve_k
from ..metrics import downstream_accuracy, mean_predictor_error, pca_reconstruction_error, reconstruction_error
from ._comparison_result import MethodComparison
from ._comparison_rows import compared
from ._executor import Report, execute
from ._methods import COMPONENTS, MEAN, RANDOM, Method, resolve_methods, settings_key
from ._run import Run
from ._store import Store, Stored

TASK = "compare"
_DRAWS = 5
"""Random draws of features on each split."""
_LINE_SECONDS = 2.0
"""Time between two lines of progress."""


def compare(
    X: Any,
    k: int | float | None = None,
    *,
    methods: Any = None,
    y: ArrayLike | None = None,
    scaler: Any = None,
    cv: Any = 5,
    groups: Any = None,
    n_seeds: int = 2,
    store: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    retry: bool = False,
    random_state: int = 0,
    report: Report | None = None,
    verbose: bool = False,
) -> MethodComparison:
    """Compare selectors on a table: error, accuracy, stability and time, on the same held-out samples.

    Every method selects k features on the samples of each split that are fitted on. One ridge regression, the same for
    all rows, then reconstructs the held-out samples from them.

    Parameters
    ----------
    X : array or data frame of shape (n, m)
        The table.
    k : int, float or None, default=None
        Number of features to select, or the fraction of them; half by default. Less than all.
    methods : None, "all", list or dict
        What to compare: names as in :func:`~stableselect.available_selectors`, selectors with their settings (of this
        package, of scikit-learn, one's own, or pipelines that end in one), or a dictionary from names for the table to
        either. None takes the quick selectors: those that are neither trained nor fit other selectors. Selectors are
        copied, and set to k features if they have a parameter for it (``n_features_to_select``, ``k`` or
        ``max_features``). Random features, principal components and the mean are always added.
    y : array-like of shape (n,), optional
        Class labels. With them the accuracy of extra trees (50 of them) is compared too. They take no part in the
        selection, unless a selector cannot be fitted without them; its row says so.
    scaler : transformer, optional
        For example ``StandardScaler()``, so that features in different units count alike. A clone is fitted on the
        samples of each split that are fitted on.
    cv : int, splitter or iterable, default=5
        Number of folds, a scikit-learn splitter, or (train, test) indices.
    groups : array-like of shape (n,), optional
        Labels of samples that belong together, such as replicates or batches: they are held out together.
    n_seeds : int, default=2
        Seeds on each split, for selectors with a ``random_state``, whose own one is not used.
    store : path, optional
        Folder that keeps every run as it ends. The same call goes on from there after an interruption, and more
        splits, seeds or methods add to it. Runs of another table, other labels, splits or settings are never taken.
    jobs : int, default=1
        Processes, each on one thread.
    retry : bool, default=False
        Compute runs again that failed earlier.
    random_state : int, default=0
        Decides the folds (where ``cv`` is an integer) and the seeds.
    report : callable, optional
        Called as each run ends, with what is stored of it, the number of runs ended and the number of all.
    verbose : bool, default=False
        Print the runs done and the time left to standard error.

    Returns
    -------
    MethodComparison
        A method that fails says so in its row. One that fails in more than half of its runs takes no part; otherwise
        the splits and seeds that it lacks are left out for all methods.

    See Also
    --------
    stableselect.inspection.evaluate : Judges one panel.
    stableselect.inspection.stability_analysis : How far one selector's choice repeats itself.
    stableselect.plot.method_comparison : Draws the result.

    Notes
    -----
    The ridge weight is that with the smallest leave-one-out error (:func:`stableselect.metrics.reconstruction_error`).
    Every run has a seed of its own, of split and seed number; so "stability" says how far other samples *and* another
    seed give the same features. Two of K folds have 1 - 1/(K-1) of their samples in common: stabilities compare within
    one table of results only.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> import stableselect as ss
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> found = ss.compare(X, 4, methods=["ColumnSubset", "LaplacianScore"], y=y, scaler=StandardScaler())
    >>> found
    <MethodComparison: 2 methods, 4 of 13 features, 5 splits; lowest error: ColumnSubset>
    >>> found.row("LaplacianScore").ratio_low > 1
    True
    """
    X, carried = in_memory(X, "compare")
    names = carried or feature_names(getattr(X, "columns", None))
    table = check_table(X, "X")
    n, m = table.shape
    try:
        wanted = resolve_k(k, m)
    except ValueError as error:
        raise ValueError(str(error).replace("n_features_to_select", "k")) from None
    if (table == table[0]).all():
        raise ValueError("X must have a feature that varies but all are constant; there is nothing to compare.")
    if wanted == m:
        raise ValueError(f"k is {wanted}, all of the features, so there is nothing to compare; select fewer.")
    labels = None if y is None else check_labels(y, n, "y", "X")
    n_seeds, random_state = check_count(n_seeds, "n_seeds", 1), check_count(random_state, "random_state", 0)
    splits = held_out_splits(cv, table, groups, random_state)
    asked, references = resolve_methods(methods, wanted, m, names, labelled=labels is not None)
    task = _Task(table, labels, scaler, splits, {one.name: one for one in (*asked, *references)}, random_state)
    fingerprint = _fingerprint(table, names, labels, scaler)
    runs = _plan(task, fingerprint, wanted, n_seeds)
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory()) if store is None else os.fspath(store)
        # A whole split of all methods comes before the next one, so that the time left can be told early.
        ordered = sorted((run for of_one in runs.values() for run in of_one), key=lambda run: run.split)
        execute(ordered, folder, task, jobs=jobs, retry=retry, report=_told(report, verbose))
        found = Store(folder)
        stored = {name: [item for run in of_one if (item := found.get(run))] for name, of_one in runs.items()}
    rows, n_splits, shared_seeds = compared(asked, references, stored, m, wanted)
    done = {name: [item for item in items if item.status == "done"] for name, items in stored.items()}
    return MethodComparison(
        rows=rows,
        n_features_to_select=wanted,
        n_samples=n,
        n_features=m,
        n_splits=n_splits,
        n_seeds=shared_seeds,
        fingerprint=fingerprint,
        feature_names=None if names is None else list(names),
        selections={
            method.name: [item.record["selected"] for item in done[method.name]]
            for method in (*asked, *references)
            if method.selector is not None
        },
    )


@dataclass(frozen=True, eq=False)
class _Task:
    """Computes a run; sent to the processes."""

    X: np.ndarray
    y: np.ndarray | None
    scaler: Any
    splits: Sequence[tuple[np.ndarray, np.ndarray]]
    methods: dict[str, Method]
    random_state: int

    def __call__(self, run: Run, data_home: str | None) -> dict[str, Any]:
        rows, held = self.splits[run.split]
        train, test = self.X[rows], self.X[held]
        if self.scaler is not None:
            scaler = clone(self.scaler)
            train, test = (
                np.asarray(part, dtype=float) for part in (scaler.fit_transform(train), scaler.transform(test))
            )
        method, mean = self.methods[run.method], mean_predictor_error(train, test)
        record: dict[str, Any] = {"selected": None, "seconds": None, "error": None}
        features: Sequence[int] | np.ndarray | None = None
        start = time.perf_counter()
        if method.selector is not None:
            features, told, labelled = self._selected(method, run, train, rows)
            record |= {"seconds": time.perf_counter() - start, "warnings": told, "labelled": labelled}
            record |= {
                "selected": features.tolist(),
                "error": reconstruction_error(train, test, features, refit="ridge"),
            }
        elif run.method == COMPONENTS:
            record["error"] = pca_reconstruction_error(train, test, run.k)
            record["seconds"] = time.perf_counter() - start
        elif run.method == MEAN:
            record["error"] = mean
        else:
            features = range(train.shape[1])
        if record["error"] is not None and mean > 0:
            record["explained"] = 1 - record["error"] / mean
        if self.y is not None:
            record["accuracy"] = None
            if features is not None:
                record["accuracy"] = downstream_accuracy(train, self.y[rows], test, self.y[held], features)
            elif run.method == MEAN:
                values, counts = np.unique(self.y[rows], return_counts=True)
                record["accuracy"] = float(np.mean(self.y[held] == values[np.argmax(counts)]))
        return record

    def _selected(
        self, method: Method, run: Run, train: np.ndarray, rows: np.ndarray
    ) -> tuple[np.ndarray, list[str], bool]:
        """Return the features that a method selects, its warnings, and whether it had to be given the labels."""
        # The same seed on two splits must not mean the same draw.
        state = np.random.SeedSequence([self.random_state, run.split, run.seed]).generate_state(1)[0]
        how = None, int(state >> 1) if method.seeded else None
        own = isinstance(steps_of(method.selector)[-1], BaseSelector)
        labelled = False
        try:
            fit = single_fit(method.selector, Source(method.selector, train), how)
        except (TypeError, ValueError):
            if own or self.y is None:
                raise
            # Selectors of scikit-learn do not say beforehand whether they need labels.
            labelled = True
            fit = single_fit(method.selector, Source(method.selector, train, self.y[rows]), how)
        if fit.origin.made is not None:
            raise ValueError("this pipeline selects among features that it makes, not among those of the table")
        chosen = np.flatnonzero(fit.support)
        if not chosen.size:
            raise ValueError("no feature was selected")
        return chosen, list(dict.fromkeys(text for _, text in fit.warned))[:5], labelled


def _plan(task: _Task, fingerprint: str, k: int, n_seeds: int) -> dict[str, list[Run]]:
    """Return the runs of each method; in the store, all that decides a run's outcome is in its name."""
    parts = [joblib.hash(split) for split in task.splits]
    found: dict[str, list[Run]] = {name: [] for name in task.methods}
    for split, (name, method) in product(range(len(parts)), task.methods.items()):
        for seed in range(_DRAWS if name == RANDOM else n_seeds if method.seeded else 1):
            run = Run(fingerprint, name, TASK, split, seed, k)
            details = {"rows": parts[split], "settings": method.key, "random_state": task.random_state}
            found[name].append(run.of_task(TASK, **details))
    return found


def _fingerprint(X: np.ndarray, names: Sequence[str] | None, y: np.ndarray | None, scaler: Any) -> str:
    """Return a hash of the table, the labels and the scaling."""
    made = hashlib.sha256(np.ascontiguousarray(X).tobytes())
    scaling = None if scaler is None else settings_key(clone(scaler))
    rest = repr((X.shape, names, None if y is None else y.tolist(), scaling))
    made.update(rest.encode("utf-8", "backslashreplace"))
    return made.hexdigest()[:16]


def _told(report: Report | None, verbose: bool) -> Report | None:
    """Return a report that prints a line every other second too, if so asked."""
    if not verbose:
        return report
    begun = printed = time.monotonic()

    def tell(item: Stored, ended: int, total: int) -> None:
        nonlocal printed
        if report is not None:
            report(item, ended, total)
        now = time.monotonic()
        if ended == total or now - printed >= _LINE_SECONDS:
            printed = now
            print(f"compare: {progress_text('runs', ended, total, now - begun)}", file=sys.stderr, flush=True)

    return tell
