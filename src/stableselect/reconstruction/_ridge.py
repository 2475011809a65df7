"""The ridge weight by held-out error: five folds of the rows, forward search, all from fold moments."""

from __future__ import annotations

from collections.abc import Sequence

from .._arrays import index
from .._subset_search import absolute_ridge, forward_search
from ..moments import Moments

RIDGE_GRID = (0.0, 1e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0, 3.0)
"""Candidate ridge weights, relative to the mean variance of the columns."""
N_FOLDS = 5


def held_out_error(train: Moments, test: Moments, chosen: Sequence[int], ridge: float) -> float:
    """Return the mean squared error per cell on the test rows of the ridge map fitted on the training rows.

    With B the map from the kept to all columns, d the difference of the means and T = C_test + d d', the error is
    tr T - 2 tr(B T_S) + tr(B'T_SS B), so the rows themselves are not needed.
    """
    gram = train.operator()
    xp = gram.xp
    V = gram.split(chosen, absolute_ridge(gram, ridge))[1]
    target = test.operator()
    shift = test.mean - train.mean
    chosen = index(chosen, V, xp)
    T_S = target.columns(chosen) + shift[:, None] * xp.take(shift, chosen)[None, :]
    T_SS = xp.take(T_S, chosen, axis=0)
    error = target.trace() + float(xp.sum(shift * shift)) - float(xp.sum(V * (2 * T_S - V @ T_SS)))
    return error / gram.n_features


def choose_ridge(folds: Sequence[Moments], k: int, include: Sequence[int], exclude: Sequence[int]) -> float:
    """Return the grid's ridge weight of least held-out error, 0 when there are too few distinct rows to tell."""
    if len(folds) < N_FOLDS:
        return 0.0
    errors = [0.0] * len(RIDGE_GRID)
    for held in range(len(folds)):
        train = Moments()
        for f, part in enumerate(folds):
            if f != held:
                train.merge(part)
        gram = train.operator()
        for i, ridge in enumerate(RIDGE_GRID):
            chosen = forward_search(gram, k, absolute_ridge(gram, ridge), include, exclude)
            errors[i] += folds[held].weight_sum * held_out_error(train, folds[held], chosen, ridge)
    best = min(errors)
    # Errors that differ by rounding only are ties, which go to the smaller ridge.
    return next(r for r, e in zip(RIDGE_GRID, errors, strict=True) if e <= best * (1 + 1e-9))
