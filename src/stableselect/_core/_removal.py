"""Which samples a removal takes: only those that were added may go."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import Array, namespace, to_numpy

_SAME = 1e-6
"""Samples are the same if they agree to this fraction of every feature's range, and weights to this fraction."""
_NOT_ADDED = "Some of these samples are not among those added, or not with this weight; remove only what was added."


def check_removable(part: Any, whole: Any) -> None:
    """Raise if the samples of one Moments cannot be among those of another, as far as their sums tell."""
    if whole.n_features is None or whole.n_samples < part.n_samples:
        raise ValueError(
            f"Cannot remove {part.n_samples} samples from {whole.n_samples}; remove only samples that were added."
        )
    all_samples = whole.n_samples == part.n_samples
    if part.weight_sum >= whole.weight_sum * (1 + _SAME if all_samples else 1):
        raise ValueError(
            f"Cannot remove a weight of {part.weight_sum:g} from {whole.weight_sum:g}; give the samples the weights "
            "they were added with."
        )
    low, high = whole._low, whole._high
    xp = namespace(low)
    slack = _SAME * (high - low) + 1e-12 * xp.maximum(xp.abs(low), xp.abs(high))
    strange = (part._low < low - slack) | (part._high > high + slack)
    if all_samples:
        strange |= xp.abs(part._mean - whole._mean) > slack
    if bool(xp.any(strange)) or (all_samples and part.weight_sum < whole.weight_sum * (1 - _SAME)):
        raise ValueError(_NOT_ADDED)


def remaining_weights(rows: Array, weights: Array, gone: Array, taken: Array, size: Array) -> np.ndarray:
    """Return the weights of samples after some of them, or part of their weight, are taken out.

    Parameters
    ----------
    rows, gone : arrays of shape (n, m) and (r, m)
        All samples, and those to take out.
    weights, taken : arrays of shape (n,) and (r,)
        Their weights.
    size : array of shape (m,)
        The features' ranges.

    Returns
    -------
    ndarray of shape (n,)
    """
    xp = namespace(rows)
    size = xp.where(size > 0, size, xp.ones_like(size))[None, :]
    before = to_numpy(weights)
    left = before.copy()
    for r, weight in enumerate(to_numpy(taken)):
        distance = to_numpy(xp.max(xp.abs(rows - gone[r, :][None, :]) / size, axis=1))
        wanted = float(weight)
        for i in np.argsort(distance, kind="stable"):
            if wanted <= _SAME * weight or distance[i] > _SAME:
                break
            less = min(wanted, float(left[i]))
            left[i] -= less
            wanted -= less
        if wanted > _SAME * weight:
            raise ValueError(_NOT_ADDED)
    left = np.where(left > _SAME * before, left, 0.0)
    if not left.any():
        raise ValueError(_NOT_ADDED)
    return left
