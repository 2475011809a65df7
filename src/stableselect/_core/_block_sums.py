"""The sums of one block of samples, from which :class:`~stableselect.Moments` are put together."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from scipy import sparse

from ._arrays import Array, contiguous, float64, like, namespace
from ._checks import check_values, extremes

_CANCELLED = 1e-6
"""A sparse feature whose variance is below this fraction of its squared mean is centred first, as dense samples are."""


def block_sums(block: Array, weights: np.ndarray | None) -> dict[str, Any]:
    """Return the attributes of the moments of one block.

    Parameters
    ----------
    block : array or CSR array of shape (n, m)
        At least one sample.
    weights : ndarray of shape (n,) or None
        Positive weights.

    Returns
    -------
    dict
    """
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
