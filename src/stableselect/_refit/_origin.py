"""From the features that the last step of a pipeline saw back to those of the table."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin

from .._core import to_numpy


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


def steps_of(model: Any) -> list[Any]:
    """Return the steps of a pipeline, those of pipelines in it in their place; of anything else itself."""
    if not hasattr(model, "steps"):
        return [model]
    real = [step for _, step in model.steps if step is not None and not isinstance(step, str)]  # not "passthrough"
    return [inner for step in real for inner in steps_of(step)]


def support_of(model: Any) -> np.ndarray:
    """Return the mask of the features that a fitted selector keeps."""
    if hasattr(model, "get_support"):
        support = to_numpy(model.get_support())
    elif hasattr(model, "support_"):
        support = to_numpy(model.support_)
    else:
        raise TypeError(
            f"{type(model).__name__} must tell its features by get_support() or support_ but has neither; pass a "
            "feature selector."
        )
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
                f"{type(step).__name__} turns {places.size} features into {seen} but does not tell which; use a step "
                "with get_support() or get_feature_names_out() before the selector."
            )
    return origin


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


def _width(step: Any) -> int | None:
    """Return the number of features that a fitted step saw, where it tells."""
    return support_of(step).size if hasattr(step, "get_support") else getattr(step, "n_features_in_", None)
