"""What the values of the samples decide, not the order they came in: their folds, and an order of their own.

A sample's fold comes from a hash of its values, each to about seven digits, and of the positions of their features. No
other sample has a say in it: an array, a stream of blocks and chunks on several machines give the same folds, shuffling
samples changes nothing, equal samples share a fold, and the rounding of a scaler moves hardly any. The order of the
features does matter: features in another order give other folds. (A hash without positions cannot tell samples apart
that hold the same values in other places, as in tables of zeros and ones or after quantile normalisation.)

What is computed from sorted samples is the same to the last bit whatever order they came in, and whatever held them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ._arrays import (
    BLOCK_ELEMENTS,
    Array,
    float64,
    is_foreign,
    memory_limit,
    namespace,
    on_device,
    to_dense,
    to_numpy,
)
from ._moment_sums import sums_of
from ._moments import Moments
from ._sums import Room, sparse_pays, sums_left
from ._threads import MANY_FEATURES, side_by_side

_MIX = (-7046029254386353131, -4417276706812531889)
"""Odd 64-bit multipliers (the golden ratio and a constant of the xxHash family, read as signed numbers)."""
_SHIFTS = (29, 32)
_DROPPED = 29
"""Bits of a double's 52 that are rounded away: as many as single precision lacks."""
_SHORT = 10**8
"""Fewer multiplications than this take milliseconds, for all folds together."""
_SHARED = 1.25
"""Dense products of several sets may take this many times as long as sparse ones, which threads do not share."""
_MODERATE = 2048
"""The most features for which sums of one more set of samples take little memory."""
_MANY_VALUES = 2**20
"""Values whose hashes take milliseconds."""
_CACHED, _BLOCKS = 2**17, 2
"""Values that stay in the processor's cache, and blocks of them that use the same memory one after the other. With
shorter ones threads wait for the interpreter longer than a nearer cache saves."""
_CANCELS = 1e-2
"""What is left of a feature's sum of squares is a difference only where it is more than this fraction of all."""
_MOST = 2**20
"""Values of a table that is sorted before its moments are gathered; larger ones are read as they come."""


def row_hashes(X: Array) -> np.ndarray:
    """Return one 64-bit hash per sample: the sum of every value's hash times a number of its feature, mixed.

    A zero adds nothing, so a sparse table has the hashes of the dense one.
    """
    places = (2 * np.random.default_rng(0).integers(2**62, size=X.shape[1]) + 1).astype(np.int64)
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        mixed = _mix(np.ascontiguousarray(X.data, dtype=np.float64) + 0.0, np)
        return _scramble(_by_row(mixed * places[X.indices], X.indptr))
    if not isinstance(X, np.ndarray):
        return _hashes_on_device(X, places)
    step = max(1, _CACHED // max(1, X.shape[1]))
    starts = range(0, X.shape[0], _BLOCKS * step)
    threads = 4 if X.size >= _MANY_VALUES else 1
    found = side_by_side(lambda start: _hashes(X[start : start + _BLOCKS * step], places, step), starts, threads)
    return _scramble(np.concatenate([np.empty(0, dtype=np.int64), *found]))


def _hashes(X: np.ndarray, places: np.ndarray, step: int) -> np.ndarray:
    """Return the sums of some samples, so many at a time, in memory that stays in the processor's cache."""
    found = np.empty(len(X), dtype=np.int64)
    room = np.empty((2, min(step, len(X)), X.shape[1]))
    for start in range(0, len(X), step):
        block = X[start : start + step]
        values, spare = room[:, : len(block)]
        np.add(block, 0.0, out=values, casting="same_kind")  # -0.0 becomes 0.0
        found[start : start + step] = np.einsum("ij,j->i", _mix(values, np, spare.view(np.int64)), places)
    return found


def _hashes_on_device(X: Array, places: np.ndarray) -> np.ndarray:
    """Return the hashes of samples of a tensor."""
    xp = namespace(X)
    step = max(1, (16 * BLOCK_ELEMENTS if on_device(X) else BLOCK_ELEMENTS // 32) // max(1, X.shape[1]))
    factors, found = xp.asarray(places, device=X.device), [np.empty(0, dtype=np.int64)]
    for start in range(0, X.shape[0], step):
        mixed = _mix(float64(X[start : start + step], xp) + 0.0, xp)
        mixed *= factors
        found.append(to_numpy(xp.sum(mixed, axis=1)))
    return _scramble(np.concatenate(found))


def _by_row(values: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    starts = np.concatenate([[0], np.cumsum(values)])
    return np.asarray(starts[indptr[1:]] - starts[indptr[:-1]])


def _mix(values: Array, xp: object, spare: np.ndarray | None = None) -> Array:
    bits = values.view(np.int64) if isinstance(values, np.ndarray) else values.view(xp.int64)  # type: ignore[attr-defined]
    bits += 1 << (_DROPPED - 1)
    bits &= -(1 << _DROPPED)
    return _scramble(bits, spare)


def _scramble(bits: Array, spare: np.ndarray | None = None) -> Array:
    """Let every bit have a say in the lowest ones, in place; ``spare`` is memory for NumPy arrays of the same shape."""
    for factor, shift in zip(_MIX, _SHIFTS, strict=True):
        bits *= factor
        bits ^= bits >> shift if spare is None else np.right_shift(bits, shift, out=spare)
    return bits


def row_folds(X: Array, n_folds: int) -> np.ndarray:
    """Return the fold of every sample, which its own values decide."""
    return (row_hashes(X).view(np.uint64) % np.uint64(n_folds)).astype(np.intp)


def dense_rows(X: Array) -> tuple[np.ndarray, int]:
    """Return X / 2^e as a dense double-precision array with values in [-1, 1], and e; the division is exact."""
    values = np.array(to_dense(X), order="C")
    largest = max(-float(values.min()), float(values.max()))
    exponent = int(np.frexp(largest)[1]) if largest > 0 else 0
    np.ldexp(values, -exponent, out=values)
    values += 0.0  # turns -0 into 0, so that equal samples have equal bytes
    return values, exponent


def byte_order(values: np.ndarray) -> np.ndarray:
    """Return the order that sorts samples by their bytes."""
    return np.argsort(values.view(np.dtype((np.void, values.itemsize * values.shape[1]))).ravel(), kind="stable")


def sorted_features(values: np.ndarray) -> np.ndarray:
    """Return the features of a dense table in an order that their values decide, whatever the order of the samples.

    What depends on the samples' distances alone is then the same to the last bit for every order of the features, but
    for features that hold the same values in other samples.
    """
    return np.ascontiguousarray(values[:, byte_order(np.ascontiguousarray(np.sort(values, axis=0).T))])


def sorted_samples(X: Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples as a dense array, sorted by their values, and the order that sorts them.

    They are sorted by the bytes they have in the unit of :func:`dense_rows` and in the order of
    :func:`sorted_features`: which order that is does not matter, only that the values fix it in every unit.
    """
    order = byte_order(sorted_features(dense_rows(X)[0]))
    return to_dense(X)[order] + 0.0, order


def in_own_order(X: Array, weights: np.ndarray | None = None) -> tuple[Array, np.ndarray | None]:
    """Return a table for moments, and its weights: of up to a million values, dense and with its samples sorted.

    Equal samples are sorted by their weights. A larger table, or a tensor on a device, comes back as it is: its moments
    follow the order of its samples by rounding.
    """
    if X.shape[0] * X.shape[1] > _MOST or on_device(X):
        return X, weights
    values = dense_rows(X)[0]
    order = byte_order(values if weights is None else np.column_stack([values, weights]))
    return to_dense(X)[order] + 0.0, None if weights is None else weights[order]


def fold_moments(X: Array, sample_weight: np.ndarray | None, folds: int | np.ndarray) -> list[Moments]:
    """Return the moments of each fold, empty ones included.

    Folds of :func:`row_folds` can be gathered part by part: merging the lists of several parts of a table, fold by
    fold, gives that of the whole table.

    Parameters
    ----------
    X : array of shape (n, m)
        The table.
    sample_weight : array of shape (n,), optional
        Sample weights; samples of weight zero belong to no fold.
    folds : int or array of int, shape (n,)
        The number of folds, for those of :func:`row_folds`; or the fold of every sample, -1 for none.

    Returns
    -------
    list of Moments
    """
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    labels = row_folds(X, folds) if isinstance(folds, int) else np.array(folds)
    n_folds = folds if isinstance(folds, int) else int(labels.max(initial=-1)) + 1
    if weights is not None:
        labels[weights == 0] = -1
    return gather_each(X, [np.flatnonzero(labels == fold) for fold in range(n_folds)], weights)


def own_moments(X: Array, weights: np.ndarray | None, n_folds: int) -> list[Moments]:
    """Return the moments of the folds of a checked table, read in its own order; of all samples where n_folds is 0."""
    X, weights = in_own_order(X, weights)
    return fold_moments(X, weights, n_folds) if n_folds else [Moments()._add(X, weights, roomy=True)]


def gather_each(X: Array, parts: Sequence[np.ndarray], weights: np.ndarray | None = None) -> list[Moments]:
    """Return the moments of several sets of samples that will be merged with each other."""
    m, room = X.shape[1], Room()
    # All but one of them together will be held as m x m sums: better so from the start than at every merge.
    primal = 2 * sum(map(len, parts)) > m and 8 * m * m * (len(parts) + 1) <= memory_limit()

    # SciPy's sparse products let no other thread work.
    keep_sparse = sparse.issparse(X) and sparse_pays(X, len(parts), _SHARED)

    def read_some(rows: np.ndarray) -> Moments:
        return gather(X, rows, weights, primal=primal, room=room, keep_sparse=keep_sparse)

    def read(rows: np.ndarray) -> Moments:
        own = read_some(rows)
        own._mirror()  # now, while the processor's cache holds them
        return own

    if keep_sparse or is_foreign(X) or m >= MANY_FEATURES:
        return [read(rows) for rows in parts]
    if X.shape[0] * m * m < _SHORT:  # done before another thread has begun
        return side_by_side(read, parts, at_most=1)
    if len(parts) % 2 == 0 or m > _MODERATE:
        return side_by_side(read, parts)
    # Two halves of the last set, so that no thread waits for long at the end.
    work = [(read, rows) for rows in parts[:-1]] + [(read_some, rows) for rows in np.array_split(parts[-1], 2)]
    *found, first, second = side_by_side(lambda own: own[0](own[1]), work)
    return [*found, merged([first, second])]


def gather(X: Array, rows: np.ndarray, weights: np.ndarray | None = None, **how: Any) -> Moments:
    """Return the moments of some samples, read block by block."""
    return Moments()._add(X, None if weights is None else weights[rows], rows=rows, **how)


def merged(parts: Sequence[Moments]) -> Moments:
    """Return the moments of all parts together; a single part is returned as it is."""
    if len(parts) == 1:
        return parts[0]
    whole = parts[0]._empty()
    if _hold_sums(parts):
        return whole._pool(parts, sums_of(parts))
    with np.errstate(over="ignore", invalid="ignore"):  # the selectors refuse what overflows
        for part in parts:
            whole.merge(part)
    return whole


def _hold_sums(parts: Sequence[Moments]) -> bool:
    """Tell whether all parts hold m x m sums."""
    return all(part._second is not None and part.n_samples for part in parts)


@dataclass(frozen=True)
class HeldOut:
    """Moments of samples to fit on, in parts, and of samples held out of that fit; those of both, where known."""

    parts: Sequence[Moments]
    test: Moments
    whole: Moments | None = None

    @property
    def train(self) -> Moments:
        """The moments of all parts; put together anew every time, so that those of one fold at a time take memory."""
        left = None if self.whole is None else _left(self.whole, self.parts, self.test)
        return merged(self.parts) if left is None else left


def _left(whole: Moments, parts: Sequence[Moments], test: Moments) -> Moments | None:
    """Return the moments of all parts from those of all samples, less what is held out; None where digits would cancel.

    That takes two arrays of m x m, however many parts there are.
    """
    if not _hold_sums([whole, *parts, test]) or not isinstance(whole._second, np.ndarray):
        return None
    whole._mirror()
    test._mirror()
    found = Moments()._pool(parts, whole._second)
    weight = found.weight_sum * test.weight_sum / whole.weight_sum
    found._second = sums_left(whole._second, test._second, weight, test._mean - found._mean)
    found._symmetric = True
    return found if np.all(np.diag(found._second) >= _CANCELS * np.diag(whole._second)) else None


def hold_out_each(folds: Sequence[Moments], whole: Moments | None = None) -> list[HeldOut]:
    """Return every fold as the one held out, with all others together; ``whole`` are the moments of all, if known."""
    return [
        HeldOut([part for other, part in enumerate(folds) if other != held], folds[held], whole)
        for held in range(len(folds))
    ]


def split_moments(
    X: Array,
    sample_weight: np.ndarray | None,
    splits: Sequence[tuple[np.ndarray, np.ndarray]],
    moments: Callable[[np.ndarray], Moments] | None = None,
) -> tuple[list[Moments], list[HeldOut] | None]:
    """Return the moments that (train, test) indices of samples ask for.

    Parameters
    ----------
    X : array of shape (n, m)
        The table.
    sample_weight : array of shape (n,), optional
        Sample weights.
    splits : sequence of (train, test)
        Indices of samples.
    moments : callable, optional
        Gives the moments of samples, from their indices.

    Returns
    -------
    folds : list of Moments
        Where the test sets hold every sample once and all others are trained on, those of the test sets; else those
        of all samples, as one fold.
    held_out : list of HeldOut or None
        None in the first case: :func:`hold_out_each` gives them.
    """
    n = X.shape[0]
    labels = np.full(n, -1)
    for fold, (_, test) in enumerate(splits):
        labels[test] = fold
    sizes = [(len(np.unique(train)), len(np.unique(test))) for train, test in splits]
    # Test sets that add up to n and leave no sample out hold each once.
    if np.all(labels >= 0) and sum(test for _, test in sizes) == n and all(sum(size) == n for size in sizes):
        if moments is not None:
            return [moments(np.flatnonzero(labels == fold)) for fold in range(len(splits))], None
        return fold_moments(X, sample_weight, labels), None

    def own(rows: np.ndarray) -> Moments:
        return fold_moments(X, sample_weight, np.where(np.isin(np.arange(n), rows), 0, -1))[0]

    of = own if moments is None else moments
    return [of(np.arange(n))], [HeldOut([of(train)], of(test)) for train, test in splits]
