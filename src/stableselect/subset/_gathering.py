"""From samples to the moments that are searched: first those of the folds, then in the units of the search.

samples, weights -> ``gather_folds`` -> moments of the folds -> ``in_units`` -> the same, scaled by all samples.
Streams, ``partial_fit`` and ``fit_moments`` bring moments of their own and enter at the second step.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np

from .._core import (
    Array,
    HeldOut,
    Moments,
    memory_limit,
    merged,
    own_moments,
    row_folds,
    split_moments,
    splits_of,
    to_numpy,
)
from ..base import UnscaledFeaturesWarning, warn_if_uneven

Scale = Literal["standard", "minmax"] | None
Sketch = bool | int | Literal["auto"]
_NEARLY_ALL = 0.99
"""Fraction of the variance that decides the choice."""
_FEW = 10
"""One feature of so many is few."""


@dataclass(frozen=True)
class Gathered:
    """Moments in the units of the search.

    Attributes
    ----------
    folds : list of Moments
        Those of the folds.
    held_out : list of HeldOut or None
        The parts held out, where those are not the folds in turn.
    whole : Moments
        Those of all samples.
    mean, scale : ndarray of shape (m,)
        Feature means of the samples, and what the features were divided by; both in the samples' units.
    """

    folds: Sequence[Moments]
    held_out: Sequence[HeldOut] | None
    whole: Moments
    mean: np.ndarray
    scale: np.ndarray


def gather_folds(
    X: Array,
    weights: np.ndarray | None,
    cv: Any,
    groups: Any,
    n_folds: int,
    moments: Callable[[np.ndarray], Moments] | None = None,
) -> tuple[list[Moments], Sequence[HeldOut] | None]:
    """Return the moments of the folds of a table, and the parts held out where those are not the folds in turn.

    ``moments`` gives those of samples, from their indices, where the table has missing values.
    """
    if n_folds and has_splitter(cv):
        return split_moments(X, weights, splits_of(cv, X, groups), moments)
    refuse_groups(groups)
    if moments is not None:
        labels = row_folds(np.where(np.isnan(X), 0.0, X), n_folds) if n_folds else np.zeros(len(X))
        folds = [moments(np.flatnonzero(labels == fold)) for fold in range(max(1, n_folds))]
        warn_if_uneven(folds)
        return folds, None
    folds = own_moments(X, weights, n_folds)
    if n_folds:
        warn_if_uneven(folds)
    return folds, None


def wants_sketch(sketch: Sketch) -> bool:
    """Tell whether the parameter asks for a sketch."""
    return not isinstance(sketch, str) and bool(sketch)  # a number of rows is at least 1


def memory_for_moments() -> float:
    """Return the bytes that moments may take: three quarters of the machine's memory."""
    return 1.5 * memory_limit()


def memory_of_exact(n: int, m: int, n_folds: int) -> float:
    """Return the bytes that a search on exact moments takes, in the cheaper of the two forms."""
    if not n_folds:
        return 1.5 * 8.0 * m * min(n, m)  # and some room for the search
    # Every fold and all samples but it, as they were gathered and scaled; where samples are kept, few are shared.
    return 8.0 * m * (m * (4 * n_folds + 3) if 2 * n > m else n * (3 * n_folds + 2))


def has_splitter(cv: Any) -> bool:
    """Tell whether the parameter divides the samples in a way of its own."""
    return cv is not None and not isinstance(cv, Integral)


def refuse_groups(groups: Any) -> None:
    """Raise if there are groups, which nothing would keep together."""
    if groups is not None:
        raise ValueError(
            "groups need a cv that keeps them together, such as GroupKFold(), and something to choose by held-out "
            "error; give such a cv, or no groups."
        )


def in_units(
    folds: Sequence[Moments], held_out: Sequence[HeldOut] | None, scale: Scale, names: Sequence[str] | None
) -> Gathered:
    """Return moments in the units of the search; what is held out has the scale of all samples too.

    Parameters
    ----------
    folds : sequence of Moments
        In the samples' units.
    held_out : sequence of HeldOut or None
        The same, for parts held out that are not the folds in turn.
    scale : {"standard", "minmax"} or None
        The selector's parameter.
    names : sequence of str, optional
        Of the features, for the warning.
    """
    whole = merged(folds)
    mean = to_numpy(whole.mean)
    if scale is None:
        _warn_if_units_decide(to_numpy(whole.variance), names)
        return Gathered(folds, held_out, whole, mean, np.ones_like(mean))
    units = whole._scaling(scale)
    scaled = whole._in_units(*units)
    if held_out is not None:
        held_out = [HeldOut([p._in_units(*units) for p in h.parts], h.test._in_units(*units)) for h in held_out]
    folds = [scaled] if len(folds) == 1 else [fold._in_units(*units) for fold in folds]
    return Gathered(folds, held_out, scaled, mean, 1 / to_numpy(units[1]))


def _warn_if_units_decide(variance: np.ndarray, names: Sequence[str] | None) -> None:
    """Warn where up to a tenth of the features that vary, or one of at least three, has nearly all of the variance."""
    order = np.argsort(-variance, kind="stable")
    varying = int(np.count_nonzero(variance))
    few = max(1, varying // _FEW)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        fraction = np.cumsum(variance[order[:few]] / variance[order[0]]) / np.sum(variance / variance[order[0]])
    if varying < 3 or not fraction[-1] >= _NEARLY_ALL:
        return
    n = int(np.argmax(fraction >= _NEARLY_ALL)) + 1
    which = f"{n} of {len(variance)} features have"
    if n == 1:
        which = f"Feature {int(order[0]) if names is None else repr(str(names[order[0]]))} has"
    warnings.warn(
        f"{which} more than 99 % of the variance, so units decide the choice; scale='standard' makes features of "
        "different units count alike.",
        UnscaledFeaturesWarning,
        stacklevel=2,
    )
