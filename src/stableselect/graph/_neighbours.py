"""The neighbour graph of the samples: exact nearest neighbours in blocks, and the weights of the edges."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy import sparse

from .._core import Array, byte_order, dense_rows, side_by_side, sorted_features
from ..base import counted

_BLOCK_ROWS = 2048
"""Samples per block of the distance products: two blocks' product is 16 MB in single precision."""
_STRIP_ROWS = 512
"""Rows of such a product that one thread computes."""
_DOUBLE_BELOW = 2e9
"""Up to this n^2 m the products are made in double precision at once."""
_TIE = 1e-10
"""Squared distances that differ by less than this share count as equal."""
_NEVER = -1e30
"""In place of the product of a sample with itself; all others are far above half of it."""
_CHUNK_ELEMENTS = 1 << 22
"""Numbers gathered at a time when exact distances are evaluated."""


def neighbour_graph(
    X: Array, n_neighbors: int = 5, *, weights: str = "heat", bandwidth: float | None = None
) -> sparse.csr_array:
    """Return the symmetric k-nearest-neighbour graph of the samples.

    Samples i and j are joined if either is among the k nearest (Euclidean) of the other: W = max(V, V') for the
    directed graph V. A sample is never its own neighbour; equal samples are neighbours at distance 0, with weight 1.

    Parameters
    ----------
    X : array, sparse matrix or tensor of shape (n, m)
        The samples.
    n_neighbors : int, default=5
        Neighbours of each sample; at most n - 1 are used.
    weights : {"heat", "binary", "cosine"}, default="heat"
        exp(-d^2 / bandwidth), 1, or the cosine of the angle between the samples (0 if negative).
    bandwidth : float or None, default=None
        Squared length scale of "heat". None takes the median squared distance over all pairs of a sample and its
        neighbours; where it is 0, the mean of those above 0; where none is, 1.

    Returns
    -------
    csr_array of shape (n, n)
        Non-negative, symmetric, with an empty diagonal.

    Notes
    -----
    Neighbours whose squared distance equals the k-th smallest one (to a relative 1e-10) are all kept, so that neither
    the order of the samples nor that of the features decides; beyond 4 k + 16 neighbours the list is cut to exactly k,
    those first in the sorting order of the samples' values. The order of samples then still does not matter, except for
    which of several equal samples is joined.

    Examples
    --------
    >>> import numpy as np
    >>> from stableselect.graph._neighbours import neighbour_graph
    >>> neighbour_graph(np.array([[0.0], [1.0], [5.0]]), 1, weights="binary").toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    values, exponent = dense_rows(X)
    values = sorted_features(values)
    n = values.shape[0]
    rows, columns, squared = _directed(values, min(int(n_neighbors), n - 1), ties=True)
    if weights == "heat":
        # Distances are in units of 2^exponent, so that they neither overflow nor vanish.
        unit = _median_rule(squared) if bandwidth is None else np.ldexp(float(bandwidth), -2 * exponent)
        weight = np.exp(-squared / unit) if unit > 0 else (squared == 0).astype(np.float64)
    elif weights == "binary":
        weight = np.ones(len(rows))
    else:
        norms = np.sqrt(np.einsum("ij,ij->i", values, values))
        product = _pairwise(values, rows, columns, lambda x, y: np.einsum("ij,ij->i", x, y))
        lengths = norms[rows] * norms[columns]
        cosine = np.divide(product, lengths, out=np.zeros_like(product), where=lengths > 0)
        weight = np.where(squared == 0, 1.0, np.clip(cosine, 0.0, 1.0))
    V = sparse.csr_array((weight, (rows, columns)), shape=(n, n))
    W = sparse.csr_array(V.maximum(V.T))
    W.eliminate_zeros()
    return W


def neighbour_indices(X: Array, n_neighbors: int = 5) -> np.ndarray:
    """Return the indices (n x min(n_neighbors, n - 1)) of every sample's nearest others, nearest first.

    Ties at the k-th distance go to the sample first in the sorting order of the samples' values.
    """
    values = sorted_features(dense_rows(X)[0])
    n = values.shape[0]
    k = min(int(n_neighbors), n - 1)
    rows, columns, _ = _directed(values, k, ties=False)
    return columns[np.argsort(rows, kind="stable")].reshape(n, k)


def _median_rule(squared: np.ndarray) -> float:
    positive = squared[squared > 0]
    if len(positive) == 0:
        return 1.0
    median = float(np.median(squared))
    return median if median > 0 else float(positive.mean())


def _directed(values: np.ndarray, k: int, ties: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return sample, neighbour and squared distance of the directed k-nearest-neighbour graph.

    Equal samples are collapsed into groups first: one list of neighbours per group then serves all of its members.
    """
    n = len(values)
    if k == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    most = 4 * k + 16 if ties else k
    members = byte_order(values)
    distinct = values[members]
    new = np.ones(n, dtype=bool)
    for part in _blocks(n - 1):
        new[1:][part] = np.any(distinct[1:][part] != distinct[:-1][part], axis=1)
    starts = np.flatnonzero(new)
    size = np.diff(np.append(starts, n))
    u = len(starts)
    if u < n:
        distinct = distinct[starts]
    a, b = _candidates(distinct, min(k, u - 1)) if u > 1 else (np.empty(0, np.int64), np.empty(0, np.int64))
    squared = _pairwise(distinct, a, b, _squared_distance)
    a, b = np.concatenate([np.arange(u), a]), np.concatenate([np.arange(u), b])
    squared = np.concatenate([np.zeros(u), squared])
    # Lists of single samples: a group contributes no more members than show that a list overflows.
    taken = np.minimum(size[b], most + 2)
    position = _ragged(starts[b], taken)
    a, squared = np.repeat(a, taken), np.repeat(squared, taken)
    a, position, squared = _cut(a, position, squared, k, most)
    lengths = np.bincount(a, minlength=u)
    heads = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    owner = np.repeat(np.arange(u), size)  # group of every sample, samples in sorting order
    rows = np.repeat(np.arange(n), lengths[owner])
    slots = _ragged(heads[owner], lengths[owner])
    columns, squared = position[slots], squared[slots]
    itself = columns == rows
    without = np.bincount(rows[itself], minlength=n) == 0  # a sample beyond its group's part of the list
    last = np.cumsum(lengths[owner]) - 1
    drop = itself
    drop[last[without]] = True
    return members[rows[~drop]], members[columns[~drop]], squared[~drop]


def _cut(
    a: np.ndarray, position: np.ndarray, squared: np.ndarray, k: int, most: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Keep each list's k nearest besides the sample itself, with all ties where at most ``most`` remain."""
    order = np.lexsort((squared, a))
    heads = np.searchsorted(a[order], np.arange(a.max() + 1))
    kth = squared[order][heads + k][a]
    key = np.where(np.abs(squared - kth) <= _TIE * kth, kth, squared)
    near = np.bincount(a, key <= kth)
    order = np.lexsort((position, key, a))
    place = np.arange(len(a)) - heads[a[order]]
    a, position, squared, key, kth = a[order], position[order], squared[order], key[order], kth[order]
    keep = (place <= k) | ((key <= kth) & (near[a] - 1 <= most))
    return a[keep], position[keep], squared[keep]


def _ragged(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the concatenation of ``arange(start, start + length)``."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1]) + np.repeat(starts - (ends - lengths), lengths)


def _squared_distance(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    x -= y
    return np.einsum("ij,ij->i", x, x)


def _pairwise(
    values: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    function: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> np.ndarray:
    """Evaluate a function of two samples on every pair, a chunk of pairs at a time."""
    out = np.empty(len(rows))
    step = max(1, _CHUNK_ELEMENTS // values.shape[1])
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        out[part] = function(values[rows[part]], values[columns[part]])
    return out


def _candidates(values: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs of distinct samples that hold the k nearest neighbours of every sample, and few more."""
    n, m = values.shape
    if n * n * m > _DOUBLE_BELOW:
        found = _screen(values, k, np.float32)
        if found is not None:
            return found
    pairs = _screen(values, k, np.float64)
    assert pairs is not None
    return pairs


def _screen(values: np.ndarray, k: int, dtype: type) -> tuple[np.ndarray, np.ndarray] | None:
    """Screen all pairs by s_ij = x_i'x_j - |x_i|^2/2 - |x_j|^2/2 = -d_ij^2/2, from one product of blocks.

    Every block pair is multiplied once and serves the samples of both blocks: n^2 m operations instead of 2 n^2 m. A
    pair stays while s is not below the k-th largest so far by more than rounding can explain, so no neighbour is lost.
    In single precision None is returned when rounding leaves too many candidates in doubt.
    """
    n, m = values.shape
    limit = 4 * k + 128
    mean = values.mean(axis=0)
    left = np.empty((n, m + 2), dtype=dtype)
    half = np.empty(n)
    for part in _blocks(n):
        centred = values[part] - mean
        left[part, :m] = centred
        half[part] = np.einsum("ij,ij->i", centred, centred) / 2
    left[:, m], left[:, m + 1] = half, 1.0
    # Any order of summation errs by at most (m + 2) u sum|terms|, and |x'y| <= |x|^2/2 + |y|^2/2.
    rounding = 4.0 * (m + 8) * float(np.finfo(dtype).eps)
    blocks = _blocks(n)
    threshold: np.ndarray = np.full(n, _NEVER / 2, dtype=dtype)
    none = np.empty(0, np.int64)
    store: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = [(none, none, np.empty(0, dtype)) for _ in blocks]

    def loosen(rows: np.ndarray | slice, kth: np.ndarray) -> np.ndarray:
        """Lower the k-th largest s by what rounding can do to it and to the s of a true neighbour.

        A neighbour y of x at distance d has |y| <= |x| + d, so an outlier elsewhere does not loosen the bound.
        """
        own = half[rows]
        other = (np.sqrt(2 * own) + np.sqrt(np.maximum(-2.0 * kth.astype(np.float64), 0.0))) ** 2 / 2
        slack = rounding * (own + other) + 2 * _TIE * np.abs(kth)  # what ties with the k-th stays too
        return np.nextafter((kth - slack).astype(dtype), dtype(-np.inf))

    def merge(block: int, rows: np.ndarray, columns: np.ndarray, s: np.ndarray) -> bool:
        first, count = blocks[block].start, blocks[block].stop - blocks[block].start
        rows, columns, s = (np.concatenate(pair) for pair in zip(store[block], (rows, columns, s), strict=True))
        order = np.lexsort((columns, -s, rows))
        rows, columns, s = rows[order], columns[order], s[order]
        bounds = np.searchsorted(rows, np.arange(count + 1))
        full = np.flatnonzero(np.diff(bounds) >= k)
        threshold[first + full] = loosen(first + full, s[bounds[full] + k - 1])
        keep = s >= threshold[first + rows]
        place = np.arange(len(rows)) - bounds[rows]
        crowded = bool(np.any(keep & (place >= limit)))
        if crowded and dtype is np.float64:
            keep &= place < limit
        store[block] = rows[keep], columns[keep], s[keep]
        return not crowded or dtype is np.float64

    # The diagonal first: it gives every sample a threshold.
    pairs = [(i, i + gap) for gap in range(len(blocks)) for i in range(len(blocks) - gap)]
    for i, j in counted(pairs, "blocks of distances"):
        right = left[blocks[j]].copy()
        right[:, m], right[:, m + 1] = -1.0, -left[blocks[j], m]
        s = _product(left[blocks[i]], right)
        if i == j:
            np.fill_diagonal(s, _NEVER)
            if s.shape[1] > k:
                threshold[blocks[i]] = loosen(blocks[i], np.partition(s, -k, axis=1)[:, -k])
        rows, columns = _where(s >= threshold[blocks[i], None])
        if not merge(i, rows, blocks[j].start + columns, s[rows, columns]):
            return None
        if i < j:
            columns, rows = _where(s >= threshold[blocks[j]])
            if not merge(j, rows, blocks[i].start + columns, s[columns, rows]):
                return None
    rows = np.concatenate([blocks[b].start + part[0] for b, part in enumerate(store)])
    return rows, np.concatenate([part[1] for part in store])


def _product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return left right', strips of rows side by side."""
    out = np.empty((len(left), len(right)), dtype=left.dtype)

    def strip(start: int) -> None:
        rows = slice(start, start + _STRIP_ROWS)
        np.matmul(left[rows], right.T, out=out[rows])

    side_by_side(strip, range(0, len(left), _STRIP_ROWS))
    return out


def _where(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the row and column indices of the True entries; much quicker than ``nonzero`` when they are few."""
    rows, columns = np.divmod(np.flatnonzero(mask), mask.shape[1])
    return rows, columns


def _blocks(n: int) -> list[slice]:
    edges = np.linspace(0, n, -(-n // _BLOCK_ROWS) + 1).astype(int)
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]
