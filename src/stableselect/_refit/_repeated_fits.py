"""One selector fitted again and again: on resamples of the samples, with other seeds, or both.

The table is read once, as moments, where the selector needs no more.
Works with any object that has ``fit`` and then tells its features by ``get_support()`` or ``support_``. What the last
step of a pipeline chose is traced back to the features of the table.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, clone

from .._core import Resample, ResampledMoments, one_thread, take_rows, to_numpy
from ..base import BaseSelector, in_processes, resolve_columns, whole_fits


class Source:
    """A table to fit copies of a selector on, whole or in part: the one place that decides how that is done.

    Parameters
    ----------
    selector : object with ``fit``
        The selector; not changed.
    X : table of shape (n, m)
        The table.
    y : array of shape (n,), optional
        Labels, for a selector that needs them.

    Attributes
    ----------
    X : table or None
        The table, where the selector needs the samples.
    moments : ResampledMoments or None
        What it needs otherwise: samples are then taken out of sums that are gathered once.
    """

    def __init__(self, selector: Any, X: Any, y: np.ndarray | None = None) -> None:
        n_folds = selector._moments_folds() if isinstance(selector, BaseSelector) else None
        self.X, self.y = X if n_folds is None else None, y
        self.moments: ResampledMoments | None = None
        self._feature_names: list[str] | None = None
        if n_folds is not None:
            reader = clone(selector)
            self.moments = ResampledMoments(reader._check_table(X), n_folds)
            names = getattr(reader, "feature_names_in_", None)
            self._feature_names = None if names is None else names.tolist()

    def fit(self, model: Any, part: Resample | None = None) -> Any:
        """Fit the model on a resample, or on all samples, and return it; an interruption is never a result."""
        with whole_fits(), one_thread():
            if self.moments is not None:
                return model.fit_moments(self.moments.of(part), self._feature_names)
            X = self.X if part is None else take_rows(self.X, part.drawn)
            if self.y is None:
                return model.fit(X)
            return model.fit(X, self.y if part is None else self.y[part.drawn])


@dataclass(frozen=True, eq=False)
class Origin:
    """Where the features come from that the selector, or the last step of a pipeline, saw.

    Attributes
    ----------
    places : ndarray of int
        Each feature's place in the table, or among the made features.
    size : int
        Number of features of the table, or of made ones.
    names : ndarray of str or None
        Names of the features of the table, where it has them, or of the made ones.
    made : tuple or None
        What a step made new features from, and their names; None where the features are the table's.
    traced : bool
        Whether every step says that its features are the table's; false where one only has as many of them.
    """

    places: np.ndarray
    size: int
    names: np.ndarray | None
    made: tuple[Any, ...] | None
    traced: bool

    def spread(self, values: np.ndarray, dropped: Any) -> np.ndarray:
        """Return one number for each feature of the table, ``dropped`` for those that the selector did not see."""
        spread = np.full(self.size, dropped, dtype=values.dtype)
        spread[self.places] = values
        return spread


@dataclass(frozen=True, eq=False)
class Fit:
    """What one fit chose, in the features of the table; in those that a pipeline made where ``origin.made`` says so.

    Attributes
    ----------
    support : ndarray of bool of shape (m,)
        The selected features.
    selected : ndarray of int
        The selected features, in order of selection where there is one.
    free : ndarray of bool of shape (m,)
        The features that ``include`` and ``exclude`` leave open.
    ranking, scores : ndarray of shape (m,) or None
        ``ranking_`` and ``scores_`` of the selector, where it has them. Features that an earlier step of a pipeline
        dropped share the rank behind all others, and the lowest score.
    origin : Origin
        Where the features that the selector saw come from.
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


def seed_parameters(selector: Any) -> list[str]:
    """Return the names of the parameters that are seeds, those of nested objects included."""
    names = selector.get_params() if hasattr(selector, "get_params") else {}
    return sorted(name for name in names if name == "random_state" or name.endswith("__random_state"))


def with_held_seed(selector: Any, seed: int) -> Any:
    """Return an unfitted copy of the selector in which every seed that is None is ``seed``."""
    held = clone(selector, safe=False)
    unset = [name for name in seed_parameters(held) if held.get_params()[name] is None]
    return held.set_params(**dict.fromkeys(unset, seed)) if unset else held


def repeated_fits(
    selector: Any,
    source: Source,
    parts: Sequence[Resample | None],
    seeds: Sequence[int],
    *,
    hold_seed: bool,
    n_jobs: int | None,
) -> list[Fit]:
    """Fit a copy of the selector once for every run.

    A warning that several runs give is given once, in the name of the caller's caller, with how many of them gave it.

    Parameters
    ----------
    selector : object with ``fit`` and ``get_support()`` or ``support_``
        Left as it is. The last step of a pipeline is asked for the features, which are traced back to the table's.
    source : Source
        Of the selector and the table.
    parts : sequence of Resample or None
        The samples of each run, None for all.
    seeds : sequence of int
        The seed of each run. Runs that differ in nothing are fitted once.
    hold_seed : bool
        Whether all runs have the selector's own seeds, the first of ``seeds`` where those are None.
    n_jobs : int or None
        Processes, each with one thread for linear algebra; None for this process alone.

    Returns
    -------
    list of Fit
        In the order of the runs.
    """
    if hold_seed:
        selector = with_held_seed(selector, seeds[0])
    own = hold_seed or not seed_parameters(selector)
    runs = [(part, None if own else seed) for part, seed in zip(parts, seeds, strict=True)]
    # Runs on all samples with the same seed are the same: one is fitted for all of them.
    keys = [seed if part is None else (run,) for run, (part, seed) in enumerate(runs)]
    distinct = dict(zip(keys, runs, strict=True))
    if source.moments is not None and any(source.moments.removes(part) for part in parts):
        source.moments.of(None)  # gathered now, so that other processes need not
    found = in_processes(partial(single_fit, selector, source), distinct.values(), "fits", n_jobs)
    counts = Counter(warning for fit in found for warning in dict.fromkeys(fit.warned))
    for (category, text), count in counts.items():
        warnings.warn(f"{text} (in {count} of {len(found)} fits)", category, stacklevel=3)
    sizes = sorted({fit.support.size for fit in found})
    if len(sizes) > 1 or len({fit.origin.made for fit in found}) > 1:
        saw = "new ones that differ" if len(sizes) == 1 else " or ".join(map(str, sizes))
        raise ValueError(
            f"Every run must choose among the same features but the runs saw {saw}; use steps before the selector that "
            "always give the same features."
        )
    by_key = dict(zip(distinct, found, strict=True))
    return [by_key[key] for key in keys]


def single_fit(selector: Any, source: Source, run: tuple[Resample | None, int | None]) -> Fit:
    """Fit a copy of the selector on a resample (None for all samples), with a seed (None for its own)."""
    part, seed = run
    model = clone(selector, safe=False)
    if seed is not None:
        model.set_params(**dict.fromkeys(seed_parameters(model), seed))
    with warnings.catch_warnings(record=True) as caught:
        source.fit(model, part)
    steps = steps_of(model) or [model]
    last = steps[-1]
    support = support_of(last)
    origin = trace(steps, source.X, support.size)
    order = getattr(last, "selected_", None)
    ranking, scores = (_by_feature(last, name, support.size) for name in ("ranking_", "scores_"))
    return Fit(
        support=origin.spread(support, False),
        selected=origin.places[np.flatnonzero(support) if order is None else np.asarray(order)],
        free=~np.isin(np.arange(origin.size), origin.places[_decided(last, support.size)]),
        ranking=None if ranking is None else origin.spread(ranking, support.size + 1),
        # fmin: a score that is NaN is not the lowest.
        scores=None if scores is None else origin.spread(scores, np.fmin.reduce(scores)),
        origin=origin,
        warned=[(warning.category, str(warning.message)) for warning in caught],
    )


def _decided(model: Any, m: int) -> list[int]:
    """Return the features that a selector of this package was told to keep or to leave out."""
    chooser = getattr(model, "estimator", model)
    if not isinstance(chooser, BaseSelector):
        return []
    names = getattr(model, "feature_names_in_", None)
    asked = ((kind, getattr(chooser, kind, None)) for kind in ("include", "exclude"))
    return [feature for kind, features in asked for feature in resolve_columns(features, m, names, kind)]


def _by_feature(model: Any, name: str, m: int) -> np.ndarray | None:
    """Return a fitted attribute with one number per feature, None where there is none."""
    values = getattr(model, name, None)
    values = None if values is None else to_numpy(values)
    return values.copy() if values is not None and values.shape == (m,) and values.dtype.kind in "biuf" else None


def steps_of(model: Any) -> list[Any]:
    """Return the steps of a pipeline, those of pipelines in it in their place; of anything else itself."""
    if model is None or isinstance(model, str):  # "passthrough"
        return []
    return [inner for _, step in model.steps for inner in steps_of(step)] if hasattr(model, "steps") else [model]


def support_of(model: Any) -> np.ndarray:
    """Return the mask of the features that a fitted selector keeps."""
    told = model.get_support() if hasattr(model, "get_support") else getattr(model, "support_", None)
    if told is None:
        raise TypeError(
            f"{type(model).__name__} must tell its features by get_support() or support_ but has neither; pass a "
            "feature selector."
        )
    support = to_numpy(told)
    if support.dtype.kind != "b" or support.ndim != 1:
        raise TypeError(
            f"{type(model).__name__} must tell its features by a Boolean mask but gives dtype {support.dtype} and "
            f"shape {support.shape}; pass a feature selector."
        )
    return support.copy()


def trace(steps: list[Any], X: Any, width: int) -> Origin:
    """Trace the features that the last of the fitted steps saw back to the table.

    A selector says which features it keeps. Another step keeps those whose names it gives its output, as scalers and
    imputers do; one that gives other names makes new features. One that gives none is taken to keep the features one
    by one; raise if their number shows that it does not.

    Parameters
    ----------
    steps : list
        Of the fitted pipeline.
    X : table of shape (n, m)
        What it was fitted on; not looked at where there is one step.
    width : int
        Number of features that the last step saw.
    """
    m = width if len(steps) == 1 else int(X.shape[1])
    all_names = (getattr(step, "feature_names_in_", None) for step in steps)
    table = next((names for names in all_names if names is not None and len(names) == m), None)
    names = np.array([f"x{j}" for j in range(m)], dtype=object) if table is None else np.asarray(table, dtype=object)
    places, traced = np.arange(m), True
    made: tuple[Any, ...] | None = None
    for step, following in pairwise(steps):
        width_before = places.size
        kept, new = _output(step, names)
        if kept is not None:
            places, names = places[kept], names[kept]
        else:
            traced = False
        if new is not None:
            made = made, tuple(places.tolist()), tuple(new)
            places, table = np.arange(len(new)), np.array(new, dtype=object)
            names = table
        seen = width if following is steps[-1] else getattr(following, "n_features_in_", None)
        if seen is not None and seen != places.size:
            raise ValueError(
                f"{type(step).__name__} turns {width_before} features into {seen} but does not tell which; use a step "
                "with get_support() or get_feature_names_out() before the selector."
            )
    return Origin(places, m if made is None else len(made[-1]), table, made, traced)


def _output(step: Any, names: np.ndarray) -> tuple[np.ndarray | None, list[str] | None]:
    """Return which features a fitted step keeps, or the names of those that it makes; twice None if it does not say.

    Parameters
    ----------
    step : transformer
        Not the last one of its pipeline.
    names : ndarray of str
        Names of the features before it.
    """
    if hasattr(step, "get_support"):
        return np.flatnonzero(support_of(step)), None
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
