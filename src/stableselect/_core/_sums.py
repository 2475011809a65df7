"""What is added to :class:`~stableselect.Moments` and what may be taken out again: sums of samples, with checks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from threading import local
from typing import Any

import numpy as np
from scipy import sparse

from ._arrays import (
    BLOCK_ELEMENTS,
    Array,
    as_block,
    check_values,
    extremes,
    index,
    is_foreign,
    like,
    namespace,
    row_blocks,
    take_rows,
    to_numpy,
)
from ._symmetric import add_outer, add_products, add_sparse_products

_CHUNK = 2**16
"""Values that are copied and summed at a time, so that they stay in the processor's cache."""
_SPARSE_COST = 100
"""Time for two stored values of a sample in a sparse product, against that for two values in a dense one."""
_CANCELLED = 1e-6
"""A sparse feature whose variance is below this fraction of its squared mean is centred first, as dense samples are."""
_SAME = 1e-6
"""Samples are the same if they agree to this fraction of every feature's range, and weights to this fraction."""
_NOT_ADDED = "Some of these samples are not among those added, or not with this weight; remove only what was added."


@dataclass(frozen=True)
class Block:
    """Samples of positive weight, and what one pass over them tells.

    Attributes
    ----------
    values : array or CSR array of shape (n, m)
        The samples in double precision. They may be changed.
    weights : array of shape (n,) or None
        Their weights; None for 1.
    weight_sum : float
        Sum of the weights.
    mean, minimum, maximum : arrays of shape (m,)
        Of every feature.
    """

    values: Array
    weights: Array
    weight_sum: float
    mean: Array
    minimum: Array
    maximum: Array

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return int(self.values.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.values.shape[1])

    def add_to(self, second: Array, centre: Array) -> Array:
        """Add the sum of w (x - centre)(x - centre)' to m x m sums, and return them; the samples are used up."""
        xp = namespace(self.mean)
        if sparse.issparse(self.values):
            # X'WX minus the mean term: the samples stay sparse.
            add_sparse_products(second, self.values, self.weights)
            add_outer(second, -self.weight_sum, self.mean)
            add_outer(second, self.weight_sum, self.mean - centre)
            return second
        rows = self.values
        rows -= centre[None, :]
        if self.weights is not None:
            rows *= xp.sqrt(self.weights)[:, None]
        return add_products(second, rows)


class Room:
    """Memory for one block of samples, used again for the next; each thread has its own."""

    def __init__(self) -> None:
        self._own = local()

    def take(self, n: int, m: int) -> np.ndarray:
        """Return an n x m array of any values."""
        if len(getattr(self._own, "rows", ())) < n:
            self._own.rows = np.empty((n, m))
        return self._own.rows[:n]


def read_blocks(
    X: Array,
    weights: np.ndarray | None,
    rows: np.ndarray | None,
    size: int | None,
    room: Room | None,
    *,
    keep_sparse: bool = False,
) -> Iterator[Block]:
    """Read a table in blocks of samples, without those of weight zero.

    Parameters
    ----------
    X : array of shape (n, m)
        The table.
    weights : ndarray or None
        Weights of the samples that are read.
    rows : ndarray of int or None
        The samples to read; None for all.
    size : int or None
        Samples per block.
    room : Room or None
        Memory for blocks that are added to m x m sums; sparse ones stay sparse where that costs less. None for blocks
        that are kept: each has memory of its own.
    keep_sparse : bool
        Whether sparse blocks stay sparse in any case.

    Yields
    ------
    Block
    """
    n, m = X.shape[0] if rows is None else len(rows), X.shape[1]
    stays_sparse = sparse.issparse(X) and room is not None and (keep_sparse or _sparse_pays(X))
    for part in _sparse_blocks(X, n, size, keep_sparse) if stays_sparse else row_blocks(n, m, size):
        block, chosen = (as_block(X[part]), None) if rows is None else (X, rows[part])
        w = None if weights is None else weights[part]
        if w is not None and not np.all(w > 0):
            # A missing value is one whatever the weight of its sample.
            check_values(block if chosen is None else take_rows(block, chosen))
            kept = np.flatnonzero(w)
            chosen, w = kept if chosen is None else chosen[kept], w[kept]
        if not (block.shape[0] if chosen is None else len(chosen)):
            continue
        if stays_sparse:
            yield from _sparse_read(block if chosen is None else take_rows(block, chosen), w, size, room)
        elif is_foreign(block):
            yield _tensor_block(block if chosen is None else take_rows(block, chosen), w)
        else:
            yield _dense_block(block, w, chosen, room)


def _sparse_pays(X: sparse.csr_array) -> bool:
    """Tell whether X'X costs less from the values stored than from all."""
    stored = np.diff(X.indptr).astype(np.float64)
    return bool(_SPARSE_COST * (stored @ stored) < X.shape[0] * float(X.shape[1]) ** 2)


def _sparse_blocks(X: sparse.csr_array, n: int, size: int | None, thin: bool) -> list[slice]:
    """Return blocks of so many samples that their product pays for adding it to the m x m sums, or to thin ones."""
    values = 4 * BLOCK_ELEMENTS if thin else max(BLOCK_ELEMENTS, X.shape[1] ** 2 // 4)
    return row_blocks(n, X.shape[1], size or max(1024, values * X.shape[0] // max(1, X.nnz)))


def _dense_block(block: Array, weights: np.ndarray | None, rows: np.ndarray | None, room: Room | None) -> Block:
    """Copy samples, and sum them on the way."""
    n, m = block.shape[0] if rows is None else len(rows), block.shape[1]
    values = (room or Room()).take(n, m)
    if sparse.issparse(block):
        part = sparse.csr_array(block if rows is None else take_rows(block, rows), dtype=np.float64)
        block, rows = part.toarray(out=values), None
    low, high, mean = np.full(m, np.inf), np.full(m, -np.inf), np.zeros(m)
    step = max(1, _CHUNK // m)
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused below
        for start in range(0, n, step):
            part = slice(start, start + step)
            source = block[part] if rows is None else block[rows[part]]
            copy = values[part]
            copy[...] = source
            seen = source if source.dtype == np.float32 else copy  # half as much to read
            np.minimum(low, np.minimum.reduce(seen, axis=0), out=low)
            np.maximum(high, np.maximum.reduce(seen, axis=0), out=high)
            mean += np.add.reduce(copy, axis=0) if weights is None else weights[part] @ copy
    check_values(values, (low, high))
    total = float(n) if weights is None else float(weights.sum())
    return Block(values, weights, total, mean / total, low, high)


def _tensor_block(block: Array, weights: np.ndarray | None) -> Block:
    xp = namespace(block)
    low, high = extremes(block)
    check_values(block, (low, high))
    values = xp.astype(block, xp.float64)
    w = None if weights is None else like(weights, values, xp)
    total = float(values.shape[0]) if weights is None else float(weights.sum())
    mean = xp.mean(values, axis=0) if w is None else (w @ values) / total
    return Block(values, w, total, mean, low, high)


def _sparse_read(
    block: sparse.csr_array, weights: np.ndarray | None, size: int | None, room: Room | None
) -> Iterator[Block]:
    """Return a sparse block as one, or as dense ones where a feature lies so far from zero that its squares cancel."""
    check_values(block)
    values = sparse.csr_array(block, dtype=np.float64)
    w = np.ones(values.shape[0]) if weights is None else weights
    total = float(w.sum())
    mean = (w @ values) / total
    if np.any(w @ values.power(2) - total * mean**2 < _CANCELLED * total * mean**2):
        for part in row_blocks(values.shape[0], values.shape[1], size):
            yield _dense_block(values[part], None if weights is None else weights[part], None, room)
        return
    yield Block(values, weights, total, mean, *extremes(values))


def check_alike(part: Any, whole: Any) -> None:
    """Raise if one Moments does not go with another, which may be empty."""
    if whole.n_features is None:
        return
    if part.n_features != whole.n_features:
        raise ValueError(f"Expected {whole.n_features} features as before, got {part.n_features}.")
    if type(part.mean) is not type(whole.mean):
        raise TypeError(
            f"These moments hold {type(whole.mean).__name__} arrays, the new samples are "
            f"{type(part.mean).__name__}; convert them first."
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
    low, high = whole.minimum, whole.maximum
    xp = namespace(low)
    slack = _SAME * (high - low) + 1e-12 * xp.maximum(xp.abs(low), xp.abs(high))
    strange = (part.minimum < low - slack) | (part.maximum > high + slack)
    if all_samples:
        strange |= xp.abs(part.mean - whole.mean) > slack
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
