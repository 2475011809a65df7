"""Samples read in blocks, and symmetric m x m sums of them, which are added to in place.

Of the sums in NumPy arrays only the upper triangle is added to (half the work and half the memory traffic);
:func:`mirror` completes it once all is there. Tensors are added to as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import local

import array_api_compat
import numpy as np
from scipy import sparse

from ._arrays import (
    BLOCK_ELEMENTS,
    Array,
    as_block,
    check_values,
    extremes,
    is_foreign,
    like,
    namespace,
    on_device,
    row_blocks,
    take_rows,
)
from ._blas import add_gram

_TILE = 128
"""Rows and columns of what is mirrored at a time."""
_BELOW = np.tri(_TILE, k=-1, dtype=bool)
"""The entries of a tile below its diagonal."""
_PANEL = 512
"""Rows of the product of sparse samples that are computed at a time."""
_CACHED = 2**16
"""Values of an array that are worked on at a time, so that they stay in the processor's cache."""
_ON_DEVICE = 2**26
"""The same for a tensor: every call on a device takes microseconds, however little it does."""
_SPARSE_COST, _ENTRY_COST = 100, 600
"""Time for two stored values of a sample in a sparse product, and for an entry of the product, against that for two
values in a dense one."""
_CANCELLED = 1e-6
"""A sparse feature whose variance is below this fraction of its squared mean is centred first, as dense samples are."""


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
    """Memory for one array, used again for the next: fresh memory takes long to get at. Each thread has its own."""

    def __init__(self) -> None:
        self._own = local()

    def take(self, n: int, m: int) -> np.ndarray:
        """Return an n x m array of any values."""
        if len(getattr(self._own, "values", ())) < n * m:
            self._own.values = np.empty(n * m)
        return self._own.values[: n * m].reshape(n, m)


def read_blocks(
    X: Array,
    weights: np.ndarray | None,
    rows: np.ndarray | None,
    size: int | None,
    room: Room | None,
    *,
    keep_sparse: bool | None = None,
    thin: bool = False,
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
    keep_sparse : bool or None
        Whether sparse blocks stay sparse, whatever that costs; None for what costs less.
    thin : bool
        Whether blocks are added to a few rows instead of m x m sums.

    Yields
    ------
    Block
    """
    n, m = X.shape[0] if rows is None else len(rows), X.shape[1]
    if size is None and on_device(X):
        size = max(1024, _ON_DEVICE // m)
    stays_sparse = sparse.issparse(X) and room is not None and (sparse_pays(X) if keep_sparse is None else keep_sparse)
    for part in _sparse_blocks(X, n, size, thin) if stays_sparse else row_blocks(n, m, size):
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


def sparse_pays(X: sparse.csr_array, n_sets: int = 1, slack: float = 1.0) -> bool:
    """Tell whether products of so many sets of samples cost less, or up to ``slack`` times less, from what is stored.

    Every product is put together entry by entry, of which as many are not zero as chance has it.
    """
    n, entries = X.shape[0], float(X.shape[1]) ** 2
    stored = np.diff(X.indptr).astype(np.float64)
    products = float(stored @ stored)
    filled = -np.expm1(-products / n_sets / entries) * entries
    return bool(slack * (_SPARSE_COST * products + _ENTRY_COST * n_sets * filled) < n * entries)


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
    step = max(1, _CACHED // m)
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused below
        for start in range(0, n, step):
            part = slice(start, start + step)
            copy = values[part]
            if rows is None or block.dtype != np.float64 or not block.flags.c_contiguous:
                source = block[part] if rows is None else block[rows[part]]
                copy[...] = source
            else:  # without an array on the way
                source = np.take(block, rows[part], axis=0, out=copy, mode="clip")
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


def writable(sums: Array) -> Array:
    """Return an array, or a copy where it may not be written: it is a mapped file, or shared with another process."""
    return sums.copy() if isinstance(sums, np.ndarray) and not sums.flags.writeable else sums


def add_products(second: Array, rows: Array, sign: float = 1.0) -> Array:
    """Add rows' rows (or take it away), to the upper triangle of a NumPy array, and return the sums."""
    if array_api_compat.is_torch_array(second):
        return second.addmm_(rows.T, rows, alpha=sign)
    if not isinstance(second, np.ndarray):
        second += sign * (rows.T @ rows)
        return second
    second = np.ascontiguousarray(writable(second))  # BLAS would write to it all the same
    add_gram(second, np.ascontiguousarray(rows), sign)
    return second


def add_sparse_products(second: np.ndarray, values: sparse.csr_array, weights: np.ndarray | None) -> None:
    """Add X'WX of sparse samples to the upper triangle."""
    left = sparse.csr_array((values if weights is None else sparse.diags_array(weights) @ values).T)
    for start in range(0, len(second), _PANEL):
        panel = slice(start, start + _PANEL)
        second[panel, start:] += (left[panel] @ values[:, start:]).toarray()


def add_outer(second: Array, factor: float, row: Array) -> None:
    """Add factor row row', symmetric to the last bit."""
    scaled = abs(factor) ** 0.5 * row
    for band, _ in _bands(int(second.shape[0]), _CACHED if isinstance(second, np.ndarray) else _ON_DEVICE):
        outer = scaled[band, None] * scaled[None, :]
        second[band, :] += outer if factor > 0 else -outer


def mirror(second: Array) -> Array:
    """Copy the upper triangle of a NumPy array onto the lower one, in place where it may be written, and return it."""
    if not isinstance(second, np.ndarray):
        return second
    second = writable(second)
    for start in range(0, len(second), _TILE):
        stop = start + _TILE
        second[start:stop, :start] = second[:start, start:stop].T
        corner = second[start:stop, start:stop]
        np.copyto(corner, corner.T, where=_BELOW[: len(corner), : len(corner)])
    return second


def pooled_sums(seconds: Sequence[Array], means: Sequence[Array], weights: Sequence[float], out: Array = None) -> Array:
    """Return the upper triangle of the centred sums of squares of several parts of a table together; tensors whole.

    These are sum_p M_p + sum_p w_p (mean_p - mean)(mean_p - mean)' over the parts p.

    Parameters
    ----------
    seconds : sequence of arrays of shape (m, m)
        Centred sums of squares of the parts.
    means : sequence of arrays of shape (m,)
        Their means.
    weights : sequence of float
        Their weights.
    out : array of shape (m, m), optional
        Where to write them, which may be one of the parts; a new NumPy array by default.

    Returns
    -------
    array of shape (m, m)
    """
    root = _spread(means, weights)
    if not isinstance(root, np.ndarray):
        total = root.T @ root
        for second in seconds:
            total += second
        return total
    found = np.empty_like(seconds[0]) if out is None else out
    for band in _bands(len(found), _CACHED):
        total = root[:, band[0]].T @ root[:, band[1]]
        for second in seconds:
            total += second[band]
        found[band] = total
    return found


def sums_left(second: np.ndarray, part: np.ndarray, factor: float, row: np.ndarray) -> np.ndarray:
    """Return second - part - factor row row' for whole symmetric arrays."""
    found, scaled, step = np.empty_like(second), factor**0.5 * row, max(1, _CACHED // len(second))
    for start in range(0, len(second), step):
        band = slice(start, start + step)
        np.subtract(second[band], part[band], out=found[band])
        found[band] -= scaled[band, None] * scaled
    return found


def _spread(means: Sequence[Array], weights: Sequence[float]) -> Array:
    """Return rows whose products are the sum of w (mean - mean of all)(mean - mean of all)'."""
    xp = namespace(means[0])
    rows = xp.stack(list(means))
    w = like(weights, rows, xp)
    return (rows - (w @ rows) / xp.sum(w)) * xp.sqrt(w)[:, None]


def _bands(m: int, values: int) -> list[tuple[slice, slice]]:
    """Return the upper triangle of an m x m array in bands of rows of about so many values."""
    step = max(1, values // m)
    return [(slice(start, start + step), slice(start, m)) for start in range(0, m, step)]
