"""What is added to :class:`~stableselect.Moments` and what may be taken out again: sums of samples, with checks."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from scipy import sparse

from ._arrays import Array, check_values, contiguous, extremes, float64, index, like, namespace, take_rows, to_numpy

_CANCELLED = 1e-6
"""A sparse feature whose variance is below this fraction of its squared mean is centred first, as dense samples are."""
_SAME = 1e-6
"""Samples are the same if they agree to this fraction of every feature's range, and weights to this fraction."""
_NOT_ADDED = "Some of these samples are not among those added, or not with this weight; remove only what was added."


def block_sums(block: Array, weights: np.ndarray | None) -> dict[str, Any] | None:
    """Return the attributes of the moments of one block, or None if no sample has weight.

    Parameters
    ----------
    block : array or CSR array of shape (n, m)
        Some samples.
    weights : ndarray of shape (n,) or None
        Their weights, none below zero.

    Returns
    -------
    dict or None
    """
    if weights is not None and not np.all(weights > 0):
        check_values(block)  # a missing value is one whatever the weight of its sample
        kept = np.flatnonzero(weights)
        block, weights = take_rows(block, kept), weights[kept]
    if block.shape[0] == 0:
        return None
    return _sparse_sums(block, weights) if sparse.issparse(block) else _dense_sums(block, weights, namespace(block))


def _dense_sums(block: Array, weights: np.ndarray | None, xp: ModuleType) -> dict[str, Any]:
    n, m = (int(size) for size in block.shape)
    values = float64(block, xp)
    low, high = extremes(block)
    check_values(block, (low, high))
    w = None if weights is None else like(weights, values, xp)
    total = float(n) if weights is None else float(weights.sum())
    mean = xp.mean(values, axis=0) if w is None else (w @ values) / total
    sums = {"n_samples": n, "n_features": m, "weight_sum": total, "_low": low, "_high": high, "_mean": mean}
    centred = values - mean[None, :]
    if 2 * n > m:
        root = centred if w is None else centred * xp.sqrt(w)[:, None]
        return {**sums, "_second": root.T @ root}
    w = xp.ones_like(centred[:, 0]) if w is None else w
    return {**sums, "_rows": [contiguous(centred)], "_weights": [w], "_shift": mean}


def _sparse_sums(block: sparse.csr_array, weights: np.ndarray | None) -> dict[str, Any]:
    n, m = block.shape
    if 2 * n <= m:
        return _dense_sums(block.toarray(), weights, namespace())
    check_values(block)
    values = sparse.csr_array(block, dtype=np.float64)
    low, high = extremes(values)
    w = np.ones(n) if weights is None else weights
    total = float(w.sum())
    mean = (w @ values) / total
    # X'WX minus the mean term: the samples stay sparse.
    second = (values.T @ (sparse.diags_array(w) @ values)).toarray() - total * np.outer(mean, mean)
    if np.any(np.diagonal(second) < _CANCELLED * total * mean**2):
        return _dense_sums(values.toarray(), weights, namespace())
    sums = {"n_samples": n, "n_features": m, "weight_sum": total, "_low": low, "_high": high, "_mean": mean}
    return {**sums, "_second": second}


def check_alike(part: Any, whole: Any) -> None:
    """Raise if one Moments does not go with another, which may be empty."""
    if whole.n_features is None:
        return
    if part.n_features != whole.n_features:
        raise ValueError(f"Expected {whole.n_features} features as before, got {part.n_features}.")
    if type(part._mean) is not type(whole._mean):
        raise TypeError(
            f"These moments hold {type(whole._mean).__name__} arrays, the new samples are "
            f"{type(part._mean).__name__}; convert them first."
        )


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


def remaining_samples(
    rows: Array, weights: Array, gone: Array, taken: Array, size: Array
) -> tuple[Array, Array, float]:
    """Return samples, their weights and the sum of these after some of them, or part of their weight, are taken out.

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
    rows, weights : arrays
        Those of weight left.
    weight_sum : float
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
    kept = np.flatnonzero(left)
    return xp.take(rows, index(kept, rows, xp), axis=0), like(left[kept], rows, xp), float(left.sum())
