"""The ridge weight by held-out error: five folds of the rows, forward search, all from fold moments."""

from __future__ import annotations

from collections.abc import Sequence

from .._arrays import Array, index
from .._folds import merged
from .._gram import Gram
from .._subset_search import forward_search
from ..moments import Moments

RIDGE_GRID = (0.0, 1e-3, 1e-2, 1e-1, 3e-1, 1.0, 3.0, 10.0)
"""Candidate ridge weights, relative to the mean variance of the columns."""
N_FOLDS = 5
FEWEST_FOLDS = 3
"""Folds with rows in them at least, for a held-out choice to mean anything."""
_GIVE_UP = 1.05
"""Stop climbing the grid at an error this many times the least one so far."""


def held_out_error(gram: Gram, target: Gram, shift: Array, chosen: Sequence[int], ridge: float) -> float:
    """Return the squared error per row, on other rows, of the ridge map fitted on the rows of ``gram``."""
    return map_error(gram.split(chosen, ridge)[1], target, shift, chosen)


def map_error(V: Array, target: Gram, shift: Array, chosen: Sequence[int]) -> float:
    """Return the squared error per row of a map on rows other than those it was fitted on.

    With V (m x k) the map from the kept to all centred columns, ``target`` the moments of the other rows, ``shift`` the
    difference of the means and T = C_target + shift shift', the error is tr(T - 2 V T_S + V T_SS V'), so no row is
    needed.
    """
    xp = target.xp
    rows = index(chosen, V, xp)
    T_S = target.columns(chosen) + shift[:, None] * xp.take(shift, rows)[None, :]
    T_SS = xp.take(T_S, rows, axis=0)
    return target.trace() + float(xp.sum(shift * shift)) - float(xp.sum(V * (2 * T_S - V @ T_SS)))


def choose_ridge(folds: Sequence[Moments], k: int, include: Sequence[int], exclude: Sequence[int]) -> float:
    """Return the grid's ridge weight of least held-out error, 0 when the rows fall into too few folds to tell.

    The grid is climbed until the error lies well above its least value so far: beyond that point the ridge shrinks the
    map too much, and more of it does not help.
    """
    if len(folds) < FEWEST_FOLDS:
        return 0.0
    rounds = [leave_out(folds, [held]) for held in range(len(folds))]
    scale = sum(weight * gram.n_features for gram, _, _, weight in rounds)
    errors: list[float] = []
    for ridge in RIDGE_GRID:
        errors.append(0.0)
        for gram, target, shift, weight in rounds:
            chosen = forward_search(gram, k, ridge, include, exclude)
            errors[-1] += weight * held_out_error(gram, target, shift, chosen, ridge)
        if errors[-1] > _GIVE_UP * min(errors) + 1e-12 * scale:
            break
    # Errors that differ by rounding only are ties, which go to the smaller ridge.
    limit = min(errors) + 1e-9 * abs(min(errors)) + 1e-12 * scale
    return next(ridge for ridge, error in zip(RIDGE_GRID, errors, strict=False) if error <= limit)


def leave_out(folds: Sequence[Moments], held: Sequence[int]) -> tuple[Gram, Gram, Array, float]:
    """Return the moments of all folds but those held, scaled to mean variance one, and of those in the same units.

    Also the difference of the means, and the weight that brings an error back to the table's units.
    """
    train = merged([part for f, part in enumerate(folds) if f not in held])
    test = merged([folds[f] for f in held])
    gram, unit = train.operator().normalised()
    return gram, test.operator().scaled(1 / unit), (test.mean - train.mean) / unit**0.5, test.weight_sum * unit
