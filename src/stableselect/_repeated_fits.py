"""One selector fitted again and again: on resamples of the rows, with other seeds, or both.

Works with any object that has ``fit`` and then tells its columns by ``get_support()`` or ``support_``. Selectors that
need only the table's moments get those of each resample from one pass over the rows.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from sklearn.base import clone

from ._arrays import to_numpy
from ._resampled_moments import ResampledMoments
from ._resampling import Resample, take_rows
from .reconstruction._moments_selector import MomentsSelector


@dataclass(frozen=True, eq=False)
class Fit:
    """What one fit chose.

    Attributes
    ----------
    support : ndarray of bool of shape (m,)
        The columns kept.
    selected : ndarray of int
        The columns kept, in order of selection where there is one.
    ranking, scores : ndarray of shape (m,) or None
        ``ranking_`` and ``scores_`` of the selector, where it has them.
    feature_names : ndarray of str or None
        Column names, where the table has them.
    warned : list of (type, str)
        Warnings that the fit gave.
    """

    support: np.ndarray
    selected: np.ndarray
    ranking: np.ndarray | None
    scores: np.ndarray | None
    feature_names: np.ndarray | None
    warned: list[tuple[type[Warning], str]]


def seed_parameters(selector: Any) -> list[str]:
    """Return the names of the parameters that are seeds, those of nested objects included."""
    names = selector.get_params() if hasattr(selector, "get_params") else {}
    return sorted(name for name in names if name == "random_state" or name.endswith("__random_state"))


def with_held_seed(selector: Any, seed: int) -> Any:
    """Return an unfitted copy of the selector in which every seed that is None is ``seed``."""
    held = clone(selector, safe=False)
    unset = [name for name in seed_parameters(held) if held.get_params()[name] is None]
    return held.set_params(**dict.fromkeys(unset, seed)) if unset else held


@dataclass(frozen=True, eq=False)
class Source:
    """The table as the runs read it.

    Attributes
    ----------
    X : table or None
        The table itself, where the selector needs the rows.
    moments : ResampledMoments or None
        What it needs otherwise.
    feature_names : list of str or None
        Column names that go with the moments.
    """

    X: Any
    moments: ResampledMoments | None = None
    feature_names: list[str] | None = None

    def fit(self, model: Any, rows: Resample | None) -> None:
        """Fit the model on a resample, or on all rows."""
        if self.moments is not None:
            model.fit_moments(self.moments.of(rows), self.feature_names)
        else:
            model.fit(self.X if rows is None else take_rows(self.X, rows.drawn))


def source_of(selector: Any, X: Any) -> Source:
    """Return the table as the selector's fits read it: shared moments where they are all it needs."""
    # The mini-batch solver is the one part of the moments selectors that trains on rows.
    if not isinstance(selector, MomentsSelector) or getattr(selector, "solver", None) == "sgd":
        return Source(X)
    reader = clone(selector)
    moments = ResampledMoments(reader._check_table(X), reader._folds_needed())
    names = getattr(reader, "feature_names_in_", None)
    return Source(None, moments, None if names is None else names.tolist())


def repeated_fits(
    selector: Any,
    source: Source,
    rows: Sequence[Resample | None],
    seeds: Sequence[int | None],
    *,
    n_jobs: int | None = None,
    stacklevel: int = 2,
) -> list[Fit]:
    """Fit a copy of the selector once for every run.

    A warning that several runs give is given once, with how many of them gave it.

    Parameters
    ----------
    selector : object with ``fit`` and ``get_support()`` or ``support_``
        Left as it is. The last step of a pipeline is asked for the columns.
    source : Source
        Of the selector and the table.
    rows : sequence of Resample or None
        The rows of each run, None for all.
    seeds : sequence of int or None
        The seed of each run, None for the selector's own. Runs that differ in nothing are fitted once.
    n_jobs : int or None
        Processes, each with one thread for linear algebra; None for this process alone.
    stacklevel : int
        In whose name to warn, counted as by ``warnings.warn``.

    Returns
    -------
    list of Fit
        In the order of the runs.
    """
    if not seed_parameters(selector):
        seeds = [None] * len(seeds)
    runs = list(zip(rows, seeds, strict=True))
    # Of the runs with all rows and the same seed the first stands for all.
    first: dict[Any, int] = {}
    place = [first.setdefault(seed if part is None else (run,), run) for run, (part, seed) in enumerate(runs)]
    distinct = sorted(first.values())
    if source.moments is not None and any(source.moments.removes(part) for part in rows):
        source.moments.prepare()
    jobs = min(effective_n_jobs(n_jobs), len(distinct))
    if jobs == 1:
        found = [_fit(selector, source, *runs[run]) for run in distinct]
    else:
        with parallel_config(backend="loky", inner_max_num_threads=1):
            found = Parallel(n_jobs=jobs)(delayed(_fit)(selector, source, *runs[run]) for run in distinct)
    _warn(found, stacklevel + 1)
    sizes = sorted({fit.support.size for fit in found})
    if len(sizes) > 1:
        raise ValueError(
            f"Every run must choose among the same columns but the runs saw {' or '.join(map(str, sizes))}; use steps "
            "before the selector that always give the same columns."
        )
    by_run = dict(zip(distinct, found, strict=True))
    return [by_run[run] for run in place]


def _fit(selector: Any, source: Source, rows: Resample | None, seed: int | None) -> Fit:
    model = clone(selector, safe=False)
    if seed is not None:
        model.set_params(**dict.fromkeys(seed_parameters(model), seed))
    with warnings.catch_warnings(record=True) as caught:
        source.fit(model, rows)
    last = model[-1] if hasattr(model, "steps") else model
    support = _support(last)
    order = getattr(last, "selected_", None)
    return Fit(
        support=support,
        selected=np.flatnonzero(support) if order is None else np.array(order),
        ranking=_per_column(last, "ranking_", support.size),
        scores=_per_column(last, "scores_", support.size),
        feature_names=getattr(last, "feature_names_in_", None),
        warned=[(warning.category, str(warning.message)) for warning in caught],
    )


def _support(model: Any) -> np.ndarray:
    if hasattr(model, "get_support"):
        support = to_numpy(model.get_support())
    elif hasattr(model, "support_"):
        support = to_numpy(model.support_)
    else:
        raise TypeError(
            f"{type(model).__name__} must tell its columns by get_support() or support_ but has neither; pass a "
            "feature selector."
        )
    if support.dtype.kind != "b" or support.ndim != 1:
        raise TypeError(
            f"{type(model).__name__} must tell its columns by a Boolean mask but gives dtype {support.dtype} and shape "
            f"{support.shape}; pass a feature selector."
        )
    return support.copy()


def _per_column(model: Any, name: str, m: int) -> np.ndarray | None:
    """Return a fitted attribute with one number per column, None where there is none."""
    values = getattr(model, name, None)
    values = None if values is None else to_numpy(values)
    return values.copy() if values is not None and values.shape == (m,) and values.dtype.kind in "biuf" else None


def _warn(fits: Sequence[Fit], stacklevel: int) -> None:
    counts = Counter(warning for fit in fits for warning in dict.fromkeys(fit.warned))
    for (category, text), count in counts.items():
        warnings.warn(f"{text} (in {count} of {len(fits)} fits)", category, stacklevel=stacklevel)
