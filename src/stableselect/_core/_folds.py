"""Moments of parts of a table: of folds that belong to the samples themselves, not to their order, and of resamples.

A sample's fold comes from a hash of its values, each to about seven digits, and of the positions of their features. No
other sample has a say in it: an array, a stream of blocks and chunks on several machines give the same folds, shuffling
samples changes nothing, equal samples share a fold, and the rounding of a scaler moves hardly any. The order of the
features does matter: features in another order give other folds. (A hash without positions cannot tell samples apart
that hold the same values in other places, as in tables of zeros and ones or after quantile normalisation.)

For resamples the moments of all samples are gathered once, and what a resample leaves out is removed. Where that costs
more than reading the samples kept (a bootstrap, a small subsample, a table of few samples against its features), they
are read instead.
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
    index,
    memory_limit,
    namespace,
    on_device,
    row_blocks,
    take_rows,
    to_numpy,
)
from ._moment_sums import check_alike
from ._moments import Moments
from ._resampling import Resample
from ._sums import Room, pooled_sums
from ._threads import MANY_FEATURES, side_by_side

_MIX = (-7046029254386353131, -4417276706812531889)
"""Odd 64-bit multipliers (the golden ratio and a constant of the xxHash family, read as signed numbers)."""
_DROPPED = 29
"""Bits of a double's 52 that are rounded away: as many as single precision lacks."""
_CANCELS = 1e-4
"""A feature whose sum of squares falls below this fraction of itself when samples go is computed afresh."""


def row_hashes(X: Array) -> np.ndarray:
    """Return one 64-bit hash per sample: the sum of every value's hash times a number of its feature, mixed.

    A zero adds nothing, so a sparse table has the hashes of the dense one.
    """
    places = (2 * np.random.default_rng(0).integers(2**62, size=X.shape[1]) + 1).astype(np.int64)
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        mixed = _mix(np.ascontiguousarray(X.data, dtype=np.float64) + 0.0, np)
        return _scramble(_by_row(mixed * places[X.indices], X.indptr))
    xp = namespace(X)
    at_once = 16 * BLOCK_ELEMENTS if on_device(X) else BLOCK_ELEMENTS // 32  # what stays in the processor's cache
    rows = max(1, at_once // max(1, X.shape[1]))
    factors = places if xp is namespace() else xp.asarray(places, device=X.device)
    sums = [np.empty(0, dtype=np.int64)]
    for start in range(0, X.shape[0], rows):
        mixed = _mix(float64(X[start : start + rows], xp) + 0.0, xp)  # + 0.0: -0.0 is 0.0
        sums.append(to_numpy(xp.sum(mixed * factors, axis=1)))
    return _scramble(np.concatenate(sums))


def _by_row(values: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    starts = np.concatenate([[0], np.cumsum(values)])
    return np.asarray(starts[indptr[1:]] - starts[indptr[:-1]])


def _mix(values: Array, xp: object) -> Array:
    bits = values.view(np.int64) if isinstance(values, np.ndarray) else values.view(xp.int64)  # type: ignore[attr-defined]
    bits += 1 << (_DROPPED - 1)
    bits &= -(1 << _DROPPED)
    return _scramble(bits)


def _scramble(bits: Array) -> Array:
    """Let every bit have a say in the lowest ones, in place."""
    bits *= _MIX[0]
    bits ^= bits >> 29
    bits *= _MIX[1]
    bits ^= bits >> 32
    return bits


def row_folds(X: Array, n_folds: int) -> np.ndarray:
    """Return the fold of every sample, which its own values decide."""
    return (row_hashes(X).view(np.uint64) % np.uint64(n_folds)).astype(np.intp)


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


def gather_each(X: Array, parts: Sequence[np.ndarray], weights: np.ndarray | None = None) -> list[Moments]:
    """Return the moments of several sets of samples that will be merged with each other."""
    m, room = X.shape[1], Room()
    # All but one of them together will be held as m x m sums: better so from the start than at every merge.
    primal = 2 * sum(map(len, parts)) > m and 8 * m * m * (len(parts) + 1) <= memory_limit()

    def read(rows: np.ndarray) -> Moments:
        return gather(X, rows, weights, primal=primal, room=room)

    # SciPy's sparse products let no other thread work.
    if not isinstance(X, np.ndarray) or m >= MANY_FEATURES:
        return [read(rows) for rows in parts]
    return side_by_side(read, parts)


def gather(X: Array, rows: np.ndarray, weights: np.ndarray | None = None, **how: Any) -> Moments:
    """Return the moments of some samples, read block by block."""
    return Moments()._add(X, None if weights is None else weights[rows], rows=rows, **how)


def merged(parts: Sequence[Moments]) -> Moments:
    """Return the moments of all parts together; a single part is returned as it is."""
    if len(parts) == 1:
        return parts[0]
    with np.errstate(over="ignore", invalid="ignore"):  # the selectors refuse what overflows
        if _hold_sums(parts):
            for part in parts[1:]:
                check_alike(part, parts[0])
            return _with_second(parts, pooled_sums(*_sums(parts)))
        whole = parts[0]._empty()
        for part in parts:
            whole.merge(part)
    return whole


def _hold_sums(parts: Sequence[Moments]) -> bool:
    """Tell whether all parts hold m x m sums."""
    return all(part._second is not None and part.n_samples for part in parts)


def _sums(parts: Sequence[Moments]) -> tuple[list[Array], list[Array], list[float]]:
    return [part._second for part in parts], [part._mean for part in parts], [part.weight_sum for part in parts]


def _with_second(parts: Sequence[Moments], second: Array) -> Moments:
    """Return the moments of all parts together, whose m x m sums are known."""
    whole = Moments()
    whole.weight_sum = sum(part.weight_sum for part in parts)
    whole.n_samples = sum(part.n_samples for part in parts)
    whole.n_features = parts[0].n_features
    whole.range_is_exact = all(part.range_is_exact for part in parts)
    whole._mean = sum(part._mean * (part.weight_sum / whole.weight_sum) for part in parts)
    xp = namespace(second)
    whole._low = xp.min(xp.stack([part._low for part in parts]), axis=0)
    whole._high = xp.max(xp.stack([part._high for part in parts]), axis=0)
    whole._second, whole._mirrored = second, False
    return whole


@dataclass(frozen=True)
class HeldOut:
    """Moments of samples to fit on, in parts, and of samples held out of that fit."""

    parts: Sequence[Moments]
    test: Moments

    @property
    def train(self) -> Moments:
        """The moments of all parts; merged anew every time, so that those of one fold at a time take memory."""
        return merged(self.parts)


def hold_out_each(folds: Sequence[Moments]) -> list[HeldOut]:
    """Return every fold as the one held out, with all others together."""
    return [
        HeldOut([part for other, part in enumerate(folds) if other != held], folds[held]) for held in range(len(folds))
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


class ResampledMoments:
    """The moments of any resample of a table, in folds that belong to the samples.

    Parameters
    ----------
    X : array, CSR matrix or tensor of shape (n, m)
        The table.
    n_folds : int
        Folds of the samples to keep apart, as in :func:`~stableselect._core._folds.fold_moments`; 0 for none.
    """

    def __init__(self, X: Array, n_folds: int) -> None:
        self.X = X
        self.n_folds = n_folds
        n = int(X.shape[0])
        folds = row_folds(X, n_folds) if n_folds else np.zeros(n, dtype=np.intp)
        self._fold_rows = [np.flatnonzero(folds == fold) for fold in range(max(1, n_folds))]
        self._folds = folds
        self._full: list[Moments] | None = None

    def prepare(self) -> None:
        """Gather the moments of all samples now, so that copies of this object need not."""
        self._all_rows()

    def removes(self, resample: Resample | None) -> bool:
        """Tell whether taking out the samples left out costs less than reading those kept; None means all samples."""
        if resample is None:
            return True
        n, m = self.X.shape
        kept = len(resample.rows)
        return resample.counts is None and 2 * kept > max(n, m)

    def of(self, resample: Resample | None) -> list[Moments]:
        """Return the moments of each fold that has samples in the resample, one where there are no folds.

        They may share arrays with those of other resamples: read them, do not change them.
        """
        if resample is None:
            return [part for part in self._all_rows() if part.n_samples]
        kept = np.zeros(len(self._folds), dtype=bool)
        kept[resample.rows] = True
        if self.removes(resample):
            parts = [
                self._without(full, rows[kept[rows]], rows[~kept[rows]])
                for full, rows in zip(self._all_rows(), self._fold_rows, strict=True)
            ]
        else:
            weights = None
            if resample.counts is not None:
                weights = np.zeros(len(kept))
                weights[resample.rows] = resample.counts
            parts = gather_each(self.X, [rows[kept[rows]] for rows in self._fold_rows], weights)
        return [part for part in parts if part.n_samples]

    def _all_rows(self) -> list[Moments]:
        """Return the moments of all samples, fold by fold; gathered once."""
        if self._full is None:
            self._full = gather_each(self.X, self._fold_rows)
        return self._full

    def _without(self, full: Moments, kept: np.ndarray, gone: np.ndarray) -> Moments:
        """Return the moments of one fold without some of its samples."""
        if not gone.size:
            return full
        if full.form == "dual" or gone.size > kept.size:
            return gather(self.X, kept)
        moments = Moments().merge(full)
        with np.errstate(over="ignore", invalid="ignore"):  # the selectors raise if something overflows
            for part in row_blocks(gone.size, self.X.shape[1]):
                moments.remove(take_rows(self.X, gone[part]))
        before, after = (to_numpy(namespace(s).linalg.diagonal(s)) for s in (full._second, moments._second))
        columns = np.flatnonzero(after < _CANCELS * before)
        if columns.size:
            self._repair(moments, kept, columns)
        return moments

    def _repair(self, moments: Moments, kept: np.ndarray, columns: np.ndarray) -> None:
        """Compute some features' moments afresh, so that a feature without variance in the samples kept has none."""
        xp = namespace(moments._mean)
        at = index(columns, moments._mean, xp)
        values = self._dense(kept, columns)
        moments._mean[at] = xp.mean(values, axis=0)
        centred = values - moments._mean[at][None, :]
        cross = xp.zeros_like(moments._second[:, : columns.size])
        for part in row_blocks(kept.size, self.X.shape[1]):
            cross += (self._dense(kept[part]) - moments._mean[None, :]).T @ centred[part]
        moments._second[:, at] = cross
        moments._second[at, :] = cross.T
        for name, extreme in (("_low", xp.min), ("_high", xp.max)):
            limits = xp.asarray(getattr(moments, name), copy=True)  # shared with the moments of all samples
            limits[at] = extreme(values, axis=0)
            setattr(moments, name, limits)

    def _dense(self, rows: np.ndarray, columns: np.ndarray | None = None) -> Array:
        block = take_rows(self.X, rows)
        xp = namespace(block)
        if columns is not None:
            block = block[:, columns] if sparse.issparse(block) else xp.take(block, index(columns, block, xp), axis=1)
        return float64(block.toarray() if sparse.issparse(block) else block, xp)
