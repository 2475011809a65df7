"""The ridge weight by held-out error: five folds of the rows, forward search, all from fold moments."""

from __future__ import annotations

from collections.abc import Sequence

from .._arrays import Array, index
from .._gram import Gram
from .._subset_search import forward_search
from ..moments import Moments

RIDGE_GRID = (0.0, 1e-3, 1e-2, 1e-1, 3e-1, 1.0, 3.0, 10.0)
"""Candidate ridge weights, relative to the mean variance of the columns."""
N_FOLDS = 5


def held_out_error(gram: Gram, target: Gram, shift: Array, chosen: Sequence[int], ridge: float) -> float:
    """Return the squared error per row, on other rows, of the ridge map fitted on the rows of ``gram``.

    With V' the map from the kept to all columns, ``target`` the moments of the other rows, ``shift`` the difference of
    the means and T = C_target + shift shift', the error is tr(T - 2 V T_S + V T_SS V'), so no row is needed.
    """
    xp = gram.xp
    V = gram.split(chosen, ridge)[1]
    rows = index(chosen, V, xp)
    T_S = target.columns(chosen) + shift[:, None] * xp.take(shift, rows)[None, :]
    T_SS = xp.take(T_S, rows, axis=0)
    return target.trace() + float(xp.sum(shift * shift)) - float(xp.sum(V * (2 * T_S - V @ T_SS)))


def choose_ridge(folds: Sequence[Moments], k: int, include: Sequence[int], exclude: Sequence[int]) -> float:
    """Return the grid's ridge weight of least held-out error, 0 when there are too few distinct rows to tell."""
    if len(folds) < N_FOLDS:
        return 0.0
    errors = [0.0] * len(RIDGE_GRID)
    scale = 0.0
    for held, test in enumerate(folds):
        train = Moments()
        for f, part in enumerate(folds):
            if f != held:
                train.merge(part)
        gram, unit = train.operator().normalised()
        target = test.operator().scaled(1 / unit)
        shift = (test.mean - train.mean) / unit**0.5
        for i, ridge in enumerate(RIDGE_GRID):
            chosen = forward_search(gram, k, ridge, include, exclude)
            errors[i] += test.weight_sum * unit * held_out_error(gram, target, shift, chosen, ridge)
        scale += test.weight_sum * unit * gram.n_features
    # Errors that differ by rounding only are ties, which go to the smaller ridge.
    limit = min(errors) + 1e-9 * abs(min(errors)) + 1e-12 * scale
    return next(r for r, e in zip(RIDGE_GRID, errors, strict=True) if e <= limit)
