"""When a selector works from a sketch of the samples, of how many rows, and what a second pass then makes exact."""

from __future__ import annotations

import warnings

import numpy as np

from .._core import Moments, Roles, SketchedMoments, Stream, exact_columns, exact_roles, sketch_size, stream_columns
from ..base import SketchWarning
from ._gathering import Sketch, memory_for_moments, memory_of_exact, wants_sketch
from ._problem import Problem


def obstacle_to_sketch(
    n_features: object, stable: bool, search_criterion: str, cv: object, conditions: object
) -> str | None:
    """Return why these parameters cannot do with a sketch, and what to do; None where they can."""
    if isinstance(n_features, str):
        return "n_features_to_select='auto' holds out folds of the samples; give the number of features"
    if stable:
        return "stability is measured on folds of the samples; leave out criterion='stability' and min_stability"
    if search_criterion == "leave_one_out":
        return "search_criterion='leave_one_out' needs the samples; leave it out"
    if cv is not None:
        return "cv divides the samples; leave it out"
    if conditions is not None:
        return "conditions are searched on exact moments; leave them out"
    return None


def check_sketch(obstacle: str | None) -> None:
    """Raise if there is an obstacle to a sketch."""
    if obstacle:
        raise ValueError(f"Nothing can be held out of a sketch: {obstacle}, or use exact moments (sketch=False).")


def rows_asked_for(sketch: Sketch, k: int) -> int | None:
    """Return the number of rows that the parameter asks for; None where it leaves that open or wants no sketch."""
    if not wants_sketch(sketch):
        return None
    return sketch_size(k) if isinstance(sketch, bool | np.bool_) else int(sketch)


def checked_rows(moments: Moments, k: int) -> int:
    """Return the number of rows of a sketch; raise if they are too few to tell k features apart."""
    size = moments.size if isinstance(moments, SketchedMoments) else 0
    if size < k:
        raise ValueError(
            f"A sketch of {size} rows is too small to select {k} features; take at least {sketch_size(k)} rows."
        )
    return size


def rows_of_sketch(sketch: Sketch, k: int, shape: tuple[int, int], n_folds: int) -> int:
    """Return the number of rows of the sketch to select from; warn where the parameter leaves that open.

    Parameters
    ----------
    sketch : bool, int or "auto"
        The selector's parameter.
    k : int
        Number of features to select.
    shape : (int, int)
        Number of samples and of features.
    n_folds : int
        Number of folds whose moments would be kept.

    Returns
    -------
    int
    """
    size = rows_asked_for(sketch, k)
    if size is not None:
        return size
    needed, limit, size = memory_of_exact(*shape, n_folds), memory_for_moments(), sketch_size(k)
    warnings.warn(
        f"Exact moments of {shape[0]} samples and {shape[1]} features take {needed / 2**30:.1f} GiB, folds included, "
        f"of {limit / 2**30:.1f} GiB that may be used: the features are selected from a sketch (sketched, r = {size}), "
        "with ridge 0 where that is 'auto'; sketch=False insists on exact moments.",
        SketchWarning,
        stacklevel=5,
    )
    return size


def columns_again(problem: Problem, chosen: list[int]) -> np.ndarray | None:
    """Return C_S (m x k) of the selected features from a second pass over the samples; None where there is none."""
    X, weights = problem.samples
    if X is None or (isinstance(X, Stream) and X.once):
        return None
    if isinstance(X, Stream):
        C_S = stream_columns(X, chosen, problem.mean)
    else:
        C_S = exact_columns(X, weights, chosen, problem.mean)
    return C_S / problem.scale[:, None] / problem.scale[chosen] / problem.unit


def roles_again(roles: Roles, problem: Problem, chosen: list[int], C_S: np.ndarray) -> Roles:
    """Return what a sketch says of a selection, with map and loss from a second pass over the samples."""
    return exact_roles(roles, C_S, problem.moments.variance / problem.unit, chosen, problem.ridge)


def error_again(problem: Problem, chosen: list[int], coefficients: np.ndarray, C_S: np.ndarray) -> float:
    """Return the mean squared error of a map (k x m) from the selected features, from a second pass."""
    total = float(np.sum(problem.moments.variance)) / problem.unit
    return max(0.0, total - float(np.sum(coefficients.T * (2 * C_S - (C_S[chosen] @ coefficients).T)))) / len(C_S)
