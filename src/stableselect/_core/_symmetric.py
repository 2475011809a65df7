"""Symmetric m x m sums that are added to in place, without another m x m array.

Of the sums in NumPy arrays only the lower triangle is added to (half the work and half the memory traffic);
:func:`mirror` completes it once all is there. Tensors are added to as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse
from scipy.linalg.blas import dsyrk

from ._arrays import Array

_TILE = 128
"""Rows and columns of what is mirrored at a time."""
_CACHED = 2**16
"""Values of an array that are worked on at a time, so that they stay in the processor's cache."""
_PANEL = 512
"""Columns of the product of sparse samples that are computed at a time."""


def writable(sums: Array) -> Array:
    """Return an array, or a copy where it may not be written: it is a mapped file, or shared with another process."""
    return sums.copy() if isinstance(sums, np.ndarray) and not sums.flags.writeable else sums


def add_products(second: Array, rows: Array, sign: float = 1.0) -> Array:
    """Add rows' rows (or take it away), to the lower triangle of a NumPy array, and return the sums."""
    if not isinstance(second, np.ndarray):
        second += sign * (rows.T @ rows)
        return second
    second = writable(second)  # BLAS would write to it all the same
    # BLAS counts by columns: what it calls the upper triangle is the lower one here.
    return dsyrk(sign, np.ascontiguousarray(rows).T, beta=1.0, c=second.T, overwrite_c=1).T


def add_sparse_products(second: np.ndarray, values: sparse.csr_array, weights: np.ndarray | None) -> None:
    """Add X'WX of sparse samples to the lower triangle."""
    left = sparse.csr_array((values if weights is None else sparse.diags_array(weights) @ values).T)
    for start in range(0, len(second), _PANEL):
        panel = slice(start, start + _PANEL)
        second[start:, panel] += (left[start:] @ values[:, panel]).toarray()


def add_outer(second: Array, factor: float, row: Array) -> None:
    """Add factor row row', symmetric to the last bit."""
    scaled = abs(factor) ** 0.5 * row
    for band, _ in _bands(int(second.shape[0])):
        outer = scaled[band, None] * scaled[None, :]
        second[band, :] += outer if factor > 0 else -outer


def mirror(second: Array) -> Array:
    """Copy the lower triangle of a NumPy array onto the upper one, in place where it may be written, and return it."""
    if not isinstance(second, np.ndarray):
        return second
    second = writable(second)
    for start in range(0, len(second), _TILE):
        stop = start + _TILE
        second[:start, start:stop] = second[start:stop, :start].T
        corner = second[start:stop, start:stop]
        corner[...] = np.tril(corner) + np.tril(corner, -1).T
    return second


def pooled_sums(seconds: Sequence[np.ndarray], means: Sequence[np.ndarray], weights: Sequence[float]) -> np.ndarray:
    """Return the lower triangle of the centred sums of squares of several parts of a table together.

    These are sum_p M_p + sum_p w_p (mean_p - mean)(mean_p - mean)' over the parts p.

    Parameters
    ----------
    seconds : sequence of ndarray of shape (m, m)
        Centred sums of squares of the parts.
    means : sequence of ndarray of shape (m,)
        Their means.
    weights : sequence of float
        Their weights.

    Returns
    -------
    ndarray of shape (m, m)
    """
    root, found = _spread(means, weights), np.empty_like(seconds[0])
    for band in _bands(len(found)):
        total = root[:, band[0]].T @ root[:, band[1]]
        for second in seconds:
            total += second[band]
        found[band] = total
    return found


def _spread(means: Sequence[np.ndarray], weights: Sequence[float]) -> np.ndarray:
    """Return rows whose products are the sum of w (mean - mean of all)(mean - mean of all)'."""
    rows, w = np.stack(means), np.array(weights)
    return (rows - (w @ rows) / w.sum()) * np.sqrt(w)[:, None]


def _bands(m: int) -> list[tuple[slice, slice]]:
    """Return the lower triangle of an m x m array in bands of rows that fit in the processor's cache."""
    step = max(1, _CACHED // m)
    return [(slice(start, start + step), slice(0, start + step)) for start in range(0, m, step)]
