"""The ridge weight by held-out error: forward search, all from the moments of folds."""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Array, Gram, HeldOut, Moments, forward_search, index, merged

RIDGE_GRID = (0.0, 1e-3, 1e-2, 1e-1, 3e-1, 1.0, 3.0, 10.0)
"""Candidate ridge weights, relative to the mean variance of the features."""
N_FOLDS = 5
FEWEST_FOLDS = 3
"""Fewest folds with samples in them for a choice by held-out error."""
GIVE_UP = 1.05
"""Stop climbing the grid at an error this many times the least one so far."""


def held_out_error(gram: Gram, target: Gram, shift: Array, chosen: Sequence[int], ridge: float) -> float:
    """Return the squared error per sample, on other samples, of the ridge map fitted on the samples of ``gram``."""
    return map_error(gram.split(chosen, ridge)[1], target, shift, chosen)


def map_error(V: Array, target: Gram, shift: Array, chosen: Sequence[int]) -> float:
    """Return the squared error per sample of a map on samples other than those it was fitted on.

    With V (m x k) the map from the selected to all centred features, ``target`` the moments of the other samples,
    ``shift`` the difference of the means and T = C_target + shift shift', the error is tr(T - 2 V T_S + V T_SS V'), so
    no sample is needed.
    """
    xp = target.xp
    rows = index(chosen, V, xp)
    T_S = target.columns(chosen) + shift[:, None] * xp.take(shift, rows)[None, :]
    T_SS = xp.take(T_S, rows, axis=0)
    return target.trace() + float(xp.sum(shift * shift)) - float(xp.sum(V * (2 * T_S - V @ T_SS)))


def choose_ridge(held_out: Sequence[HeldOut], k: int, include: Sequence[int], exclude: Sequence[int]) -> float:
    """Return the grid's ridge weight of least held-out error.

    The grid is climbed until the error lies well above its least value so far: beyond that point the ridge shrinks the
    map too much, and more of it does not help.
    """
    rounds = [compared(split.train, split.test) for split in held_out]
    scale = sum(weight * gram.n_features for gram, _, _, weight in rounds)
    errors: list[float] = []
    for ridge in RIDGE_GRID:
        errors.append(0.0)
        for gram, target, shift, weight in rounds:
            chosen = forward_search(gram, k, ridge, include, exclude)
            errors[-1] += weight * held_out_error(gram, target, shift, chosen, ridge)
        if errors[-1] > GIVE_UP * min(errors) + 1e-12 * scale:
            break
    # Errors that differ by rounding only are ties, which go to the smaller ridge.
    limit = min(errors) + 1e-9 * abs(min(errors)) + 1e-12 * scale
    return next(ridge for ridge, error in zip(RIDGE_GRID, errors, strict=False) if error <= limit)


def leave_out(folds: Sequence[Moments], held: Sequence[int]) -> tuple[Gram, Gram, Array, float]:
    """Return the moments of all folds but those held, scaled to mean variance one, and of those in the same units.

    Also the difference of the means, and the weight that brings an error back to the units of the samples.
    """
    return compared(merged([part for f, part in enumerate(folds) if f not in held]), merged([folds[f] for f in held]))


def compared(train: Moments, test: Moments) -> tuple[Gram, Gram, Array, float]:
    """Return what :func:`leave_out` does, for the moments of the samples to fit on and of those held out."""
    gram, unit = train.operator().normalised()
    return gram, test.operator().scaled(1 / unit), (test.mean - train.mean) / unit**0.5, test.weight_sum * unit
