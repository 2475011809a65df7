"""One selector fitted again and again: on resamples of the rows, with other seeds, or both.

Works with any object that has ``fit`` and then tells its columns by ``get_support()`` or ``support_``. Selectors that
need only the table's moments get those of each resample from one pass over the rows. What the last step of a pipeline
chose is traced back through the steps before it to the columns of the table.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from sklearn.base import ClassNamePrefixFeaturesOutMixin, clone

from .._core import Resample, ResampledMoments, take_rows, to_numpy
from ..base import BaseSelector, resolve_columns


@dataclass(frozen=True, eq=False)
class Fit:
    """What one fit chose, in the columns of the table; in those that a pipeline made where ``origin.made`` says so.

    Attributes
    ----------
    support : ndarray of bool of shape (m,)
        The columns kept.
    selected : ndarray of int
        The columns kept, in order of selection where there is one.
    free : ndarray of bool of shape (m,)
        The columns that ``include`` and ``exclude`` leave open.
    ranking, scores : ndarray of shape (m,) or None
        ``ranking_`` and ``scores_`` of the selector, where it has them. Columns that an earlier step of a pipeline
        dropped share the rank behind all others, and the lowest score.
    origin : Origin
        Where the columns that the selector saw come from.
    warned : list of (type, str)
        Warnings that the fit gave.
    """

    support: np.ndarray
    selected: np.ndarray
    free: np.ndarray
    ranking: np.ndarray | None
    scores: np.ndarray | None
    origin: Origin
    warned: list[tuple[type[Warning], str]]


@dataclass(frozen=True, eq=False)
class Origin:
    """Where the columns come from that the selector, or the last step of a pipeline, saw.

    Attributes
    ----------
    places : ndarray of int
        Each column's place in the table, or among the made columns.
    size : int
        Number of columns of the table, or of made ones.
    names : ndarray of str or None
        Names of the columns of the table, where it has them, or of the made ones.
    made : tuple or None
        What a step made new columns from, and their names; None where the columns are the table's.
    traced : bool
        Whether every step says that its columns are the table's; false where one only has as many of them.
    """

    places: np.ndarray
    size: int
    names: np.ndarray | None
    made: tuple[Any, ...] | None
    traced: bool


def seed_parameters(selector: Any) -> list[str]:
    """Return the names of the parameters that are seeds, those of nested objects included."""
    names = selector.get_params() if hasattr(selector, "get_params") else {}
    return sorted(name for name in names if name == "random_state" or name.endswith("__random_state"))


def check_selector(selector: Any) -> None:
    """Refuse a class where a selector with its settings is meant."""
    if isinstance(selector, type):
        raise TypeError(
            f"selector must be a selector with its settings but is the class {selector.__name__}; make one, as in "
            f"{selector.__name__}(...)."
        )


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
    n_folds = selector._moments_folds() if isinstance(selector, BaseSelector) else None
    if n_folds is None:
        return Source(X)
    reader = clone(selector)
    moments = ResampledMoments(reader._check_table(X), n_folds)
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
        Left as it is. The last step of a pipeline is asked for the columns, which are traced back to the table's.
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
    if len(sizes) > 1 or len({fit.origin.made for fit in found}) > 1:
        saw = "new ones that differ" if len(sizes) == 1 else " or ".join(map(str, sizes))
        raise ValueError(
            f"Every run must choose among the same columns but the runs saw {saw}; use steps before the selector that "
            "always give the same columns."
        )
    by_run = dict(zip(distinct, found, strict=True))
    return [by_run[run] for run in place]


def _fit(selector: Any, source: Source, rows: Resample | None, seed: int | None) -> Fit:
    model = clone(selector, safe=False)
    if seed is not None:
        model.set_params(**dict.fromkeys(seed_parameters(model), seed))
    with warnings.catch_warnings(record=True) as caught:
        source.fit(model, rows)
    steps = _steps(model) or [model]
    last = steps[-1]
    support = _support(last)
    origin = _origin(steps, source.X, support.size)
    kept = np.zeros(origin.size, dtype=bool)
    kept[origin.places[support]] = True
    order = getattr(last, "selected_", None)
    ranking, scores = (_per_column(last, name, support.size) for name in ("ranking_", "scores_"))
    return Fit(
        support=kept,
        selected=origin.places[np.flatnonzero(support) if order is None else np.asarray(order)],
        free=~np.isin(np.arange(origin.size), origin.places[_decided(last, support.size)]),
        ranking=None if ranking is None else _spread(ranking, support.size + 1, origin),
        # fmin: a score that is NaN is not the lowest.
        scores=None if scores is None else _spread(scores, np.fmin.reduce(scores), origin),
        origin=origin,
        warned=[(warning.category, str(warning.message)) for warning in caught],
    )


def _spread(values: np.ndarray, dropped: Any, origin: Origin) -> np.ndarray:
    """Return one number for each column of the table, ``dropped`` for those that the selector did not see."""
    spread = np.full(origin.size, dropped, dtype=values.dtype)
    spread[origin.places] = values
    return spread


def _steps(model: Any) -> list[Any]:
    """Return the steps of a pipeline, those of pipelines in it in their place; of anything else itself."""
    if not hasattr(model, "steps"):
        return [model]
    real = [step for _, step in model.steps if step is not None and not isinstance(step, str)]  # not "passthrough"
    return [inner for step in real for inner in _steps(step)]


def _origin(steps: list[Any], X: Any, width: int) -> Origin:
    """Trace the columns that the last of the fitted steps saw back to the table.

    A selector says which columns it keeps. Another step keeps those whose names it gives its output, as scalers and
    imputers do; one that gives other names makes new columns. One that gives none is taken to keep the columns one by
    one, and refused where their number shows that it does not.

    Parameters
    ----------
    steps : list
        Of the fitted pipeline.
    X : table of shape (n, m)
        What it was fitted on; not looked at where there is one step.
    width : int
        Number of columns that the last step saw.
    """
    m = width if len(steps) == 1 else int(X.shape[1])
    all_names = (getattr(step, "feature_names_in_", None) for step in steps)
    table = next((names for names in all_names if names is not None and len(names) == m), None)
    if len(steps) == 1:
        return Origin(np.arange(m), m, table, None, True)
    names = np.array([f"x{j}" for j in range(m)], dtype=object) if table is None else np.asarray(table, dtype=object)
    origin = Origin(np.arange(m), m, table, None, True)
    for step, following in pairwise(steps):
        places, made, traced = origin.places, origin.made, origin.traced
        kept, new = _output(step, names)
        if new is not None:
            made, names = (made, tuple(places.tolist()), tuple(new)), np.array(new, dtype=object)
            origin = Origin(np.arange(len(new)), len(new), names, made, False)
        elif kept is not None:
            names = names[kept]
            origin = Origin(places[kept], origin.size, origin.names, made, traced)
        else:
            origin = Origin(places, origin.size, origin.names, made, False)
        seen = width if following is steps[-1] else _width(following)
        if seen is not None and seen != origin.places.size:
            raise ValueError(
                f"{type(step).__name__} turns {places.size} columns into {seen} but does not tell which; use a step "
                "with get_support() or get_feature_names_out() before the selector."
            )
    return origin


def _output(step: Any, names: np.ndarray) -> tuple[np.ndarray | None, list[str] | None]:
    """Return which columns a fitted step keeps, or the names of those that it makes; twice None where it does not say.

    Parameters
    ----------
    step : transformer
        Not the last one of its pipeline.
    names : ndarray of str
        Names of the columns before it.
    """
    if hasattr(step, "get_support"):
        return np.flatnonzero(_support(step)), None
    given = getattr(step, "feature_names_in_", names)
    try:
        output = [str(name) for name in step.get_feature_names_out(given)]
    except (AttributeError, NotImplementedError, TypeError, ValueError):
        return None, None
    place = {str(name): j for j, name in enumerate(given)}
    # What counts its output, as "pca0", may count the way the table does.
    counts = isinstance(step, ClassNamePrefixFeaturesOutMixin)
    if counts or len(set(output)) < len(output) or not place.keys() >= set(output):
        return None, output
    return np.array([place[name] for name in output], dtype=np.intp), None


def _width(step: Any) -> int | None:
    """Return the number of columns that a fitted step saw, where it tells."""
    return _support(step).size if hasattr(step, "get_support") else getattr(step, "n_features_in_", None)


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


def _decided(model: Any, m: int) -> list[int]:
    """Return the columns that a selector of this package was told to keep or to leave out."""
    chooser = getattr(model, "estimator", model)
    if not isinstance(chooser, BaseSelector):
        return []
    names = getattr(model, "feature_names_in_", None)
    asked = ((kind, getattr(chooser, kind, None)) for kind in ("include", "exclude"))
    return [column for kind, columns in asked for column in resolve_columns(columns, m, names, kind)]


def _per_column(model: Any, name: str, m: int) -> np.ndarray | None:
    """Return a fitted attribute with one number per column, None where there is none."""
    values = getattr(model, name, None)
    values = None if values is None else to_numpy(values)
    return values.copy() if values is not None and values.shape == (m,) and values.dtype.kind in "biuf" else None


def _warn(fits: Sequence[Fit], stacklevel: int) -> None:
    counts = Counter(warning for fit in fits for warning in dict.fromkeys(fit.warned))
    for (category, text), count in counts.items():
        warnings.warn(f"{text} (in {count} of {len(fits)} fits)", category, stacklevel=stacklevel)
