"""The runs of `make bench-choice`: which there are, and how one is computed.

- ``stated``: one fit on all samples, and what it says of its own stability.
- ``repeated``: the same call on four fifths of the samples, and the error on the others. The features are scaled once,
  on all samples, as for ``stated``: a scaler that moves with the samples is not the selector's doing.
- ``error``: the default and its rivals on splits into training and test samples, scaled on the training samples alone.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection, Iterable
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.model_selection import GroupKFold

import stableselect
from _choice_tables import TABLES, NotAvailableError, Samples, load_table, scale
from stableselect import AEFS, ColumnSubset, PivotedQR, VarianceScore
from stableselect.base import TargetNotReachedWarning
from stableselect.datasets import TEST_SIZE, hold_out
from stableselect.experiments import CURRENT, Revision, Run
from stableselect.metrics import (
    mean_predictor_error,
    pca_reconstruction_error,
    random_error,
    reconstruction_error,
)
from stableselect.paper.methods import fastcan, find_method, load_rows

STATED, REPEATED, ERROR = PARTS = ("stated", "repeated", "error")
SUBSAMPLES, SPLITS, DRAWS = 20, 10, 10
MIN_STABILITY = 0.8
DEFAULT, STABLE, AT_LEAST = "default", "stability", "stability 0.8"
ASKED: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    STABLE: {"criterion": "stability"},
    AT_LEAST: {"criterion": "stability", "min_stability": MIN_STABILITY},
}
"""What is asked of ColumnSubset."""
RANDOM, VARIANCE, PIVOTED, FASTCAN, AUTOENCODER = RIVALS = ("random", "variance", "pivoted QR", "fastcan", "AEFS")
MEAN, COMPONENTS = GUIDES = ("mean predictor", "principal components")
"""What no features and as many principal components give; they select nothing."""


def current(run: Run) -> Revision:
    """Return the revision that this version computes a run with: the newest for choices for stability."""
    return CURRENT if run.method in (STABLE, AT_LEAST) else Revision(engine=2, folds=2)


def plan(
    tables: Iterable[str],
    *,
    parts: Collection[str] = PARTS,
    subsamples: int = SUBSAMPLES,
    splits: int = SPLITS,
) -> list[Run]:
    """Return the runs of tables, those that take longest first.

    Parameters
    ----------
    tables : iterable of str
        Names.
    parts : collection of str
        Some of :data:`PARTS`.
    subsamples, splits : int
        How often a choice is repeated, and an error measured.

    Returns
    -------
    list of Run
    """
    runs = []
    for name in tables:
        k = TABLES[name].k
        runs += [Run(name, method, "whole", 0, 0, k, task=STATED) for method in (AT_LEAST, STABLE)]
        for method in reversed(ASKED):
            runs += [Run(name, method, "whole", split, 0, k, task=REPEATED) for split in range(subsamples)]
        for method in (DEFAULT, *RIVALS, *GUIDES):
            if method == FASTCAN and not find_method(method).available():
                continue
            if method == VARIANCE and TABLES[name].scaling == "standard":  # all variances are equal
                continue
            runs += [Run(name, method, "corrected", split, 0, k, task=ERROR) for split in range(splits)]
    return sorted((run for run in runs if run.task in parts), key=lambda run: PARTS.index(run.task))


def available(names: Iterable[str], folder: str | None = None, data_home: str | None = None) -> list[str]:
    """Return those of the tables that are there, with most features first; print why others are not."""
    sizes = {}
    for name in names:
        try:
            sizes[name] = load_table(name, folder, data_home).X.shape[1]
        except NotAvailableError as error:
            print(error)
    return sorted(sizes, key=lambda name: -sizes[name])


def evaluate(run: Run, data_home: str | None = None, *, folder: str | None = None) -> dict[str, Any]:
    """Compute a run.

    Parameters
    ----------
    run : Run
        Which.
    data_home : str or None
        Folder of the paper's tables.
    folder : str or None
        Folder of the other tables.

    Returns
    -------
    dict
        ``selected``, ``ridge`` (error of a ridge map refitted on the training samples), ``own`` (error of the
        selector's own map), ``stated``, ``interval``, ``reached``, as far as the part has them; ``seconds`` of the
        processor, ``warned`` (a stability was not reached), ``table`` and ``versions``.
    """
    before = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        record = _PARTS[run.task](run, data_home, folder)
    return record | {
        "seconds": round(time.process_time() - before, 3),
        "warned": any(issubclass(item.category, TargetNotReachedWarning) for item in caught),
        "versions": {
            "stableselect": stableselect.__version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
        },
    }


def _stated(run: Run, data_home: str | None, folder: str | None) -> dict[str, Any]:
    samples = _scaled_once(run, data_home, folder)
    selector = _asked(run, samples.X, samples.groups)
    frontier = selector.frontier_
    return {
        "selected": selector.selected_.tolist(),
        "stated": frontier.procedure_stability,
        "interval": list(frontier.procedure_interval),
        "reached": frontier.reached,
        "setting": frontier.describe(frontier.chosen),
        "table": {"n": len(samples.X), "m": samples.X.shape[1], "source": samples.source},
    }


def _repeated(run: Run, data_home: str | None, folder: str | None) -> dict[str, Any]:
    samples = _scaled_once(run, data_home, folder)
    rows, groups = np.arange(len(samples.X)), samples.groups
    kept, left = hold_out(rows, TEST_SIZE, run.split, groups)
    train, test = samples.X[kept], samples.X[left]
    selector = _asked(run, train, None if groups is None else groups[kept])
    return {
        "selected": selector.selected_.tolist(),
        "m": samples.X.shape[1],
        "ridge": reconstruction_error(train, test, selector.selected_, refit="ridge"),
        "own": -selector.score(test),
    }


def _error(run: Run, data_home: str | None, folder: str | None) -> dict[str, Any]:
    table = TABLES[run.dataset]
    if table.origin == "paper":
        rows = load_rows(run, data_home)
        train, test = rows.X_fit, rows.X_test
    else:
        X = load_table(run.dataset, folder, data_home).X
        kept, left = hold_out(np.arange(len(X)), TEST_SIZE, run.split)
        units = scale(X[kept], table.scaling)
        train, test = units.apply(X[kept]), units.apply(X[left])
    if run.method == MEAN:
        return {"ridge": mean_predictor_error(train, test)}
    if run.method == COMPONENTS:
        return {"ridge": pca_reconstruction_error(train, test, run.k)}
    if run.method == RANDOM:
        return {"ridge": random_error(train, test, run.k, n_draws=DRAWS, refit="ridge", random_state=run.split)[0]}
    selected = _SELECT[run.method](train, run.k)
    return {
        "selected": np.asarray(selected).tolist(),
        "ridge": reconstruction_error(train, test, selected, refit="ridge"),
    }


_PARTS = {STATED: _stated, REPEATED: _repeated, ERROR: _error}


def _scaled_once(run: Run, data_home: str | None, folder: str | None) -> Samples:
    found = load_table(run.dataset, folder, data_home)
    X = scale(found.X, TABLES[run.dataset].scaling).apply(found.X)
    return Samples(X, found.groups, found.source)


def _asked(run: Run, X: np.ndarray, groups: np.ndarray | None) -> ColumnSubset:
    """Fit what a run asks for; where samples are replicates, whole groups are held out for stability."""
    selector = ColumnSubset(run.k, **ASKED[run.method])
    if groups is None or run.method == DEFAULT:
        return selector.fit(X)
    return selector.set_params(cv=GroupKFold(10)).fit(X, groups=groups)


_SELECT: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    DEFAULT: lambda X, k: ColumnSubset(k).fit(X).selected_,
    VARIANCE: lambda X, k: VarianceScore(k).fit(X).selected_,
    PIVOTED: lambda X, k: PivotedQR(k).fit(X).selected_,
    FASTCAN: fastcan,
    AUTOENCODER: lambda X, k: AEFS(k, random_state=0, device="cpu").fit(X).selected_,
}
