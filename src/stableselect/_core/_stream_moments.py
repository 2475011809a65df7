"""What is computed from a table that is read piece by piece: moments of the folds of its samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ._arrays import Array, extremes, memory_limit, to_numpy
from ._folds import HeldOut, merged, row_folds
from ._moments import Moments
from ._resampling import splits_of
from ._sketch import exact_columns
from ._streams import ChunkStream, Stream, added
from ._sums import Room

_MOST_PARTS = 64
"""Most parts into which splits may divide a table that is read piece by piece."""


def stream_moments(stream: Stream, n_folds: int) -> list[Moments]:
    """Return the moments of each fold of the samples, the folds of an array; those of all where there are none.

    Parameters
    ----------
    stream : Stream
        The table.
    n_folds : int
        Number of folds; 0 for none.
    """
    if isinstance(stream, ChunkStream):
        folds = stream.gather(partial(_chunk_folds, n_folds), _merged_folds)
    else:
        folds, room = [Moments() for _ in range(max(1, n_folds))], Room()
        for X, weights in stream.pieces():
            add_to_folds(folds, X, weights, room)
    m, filled = stream.shape[1], [moments for moments in folds if moments.n_samples]
    if n_folds and 2 * sum(moments.n_samples for moments in filled) > m and 8 * m * m * (n_folds + 1) <= memory_limit():
        for moments in filled:  # they will be merged
            moments._to_primal()
    return folds


def add_to_folds(
    folds: list[Moments], X: Array, weights: np.ndarray | None, room: Room, labels: np.ndarray | None = None
) -> None:
    """Add samples to the moments of their folds: those of ``labels``, or of :func:`row_folds`."""
    if labels is None:
        labels = row_folds(X, len(folds)) if len(folds) > 1 else np.zeros(X.shape[0], dtype=np.intp)
    for fold, moments in enumerate(folds):
        rows = np.flatnonzero(labels == fold)
        if rows.size == X.shape[0]:
            moments._add(X, weights, room=room)
        elif rows.size:
            moments._add(X, None if weights is None else weights[rows], rows=rows, room=room)


def _chunk_folds(n_folds: int, X: Array, weights: np.ndarray | None, number: int) -> list[Moments]:
    folds = [Moments() for _ in range(max(1, n_folds))]
    add_to_folds(folds, X, weights, Room())
    return folds


def _merged_folds(parts: list[list[Moments]]) -> list[Moments]:
    """Return the folds of several chunks together, fold by fold."""
    return [merged([part for part in fold if part.n_samples] or list(fold[:1])) for fold in zip(*parts, strict=True)]


@dataclass(frozen=True)
class SplitParts:
    """Parts of the samples that are on the same side of every split.

    Attributes
    ----------
    place : ndarray of shape (n,)
        The part of every sample.
    sides : ndarray of shape (p, s)
        By part and split: 1 where the part is fitted on, 2 where it is held out, 0 where it is in neither.
    """

    place: np.ndarray
    sides: np.ndarray

    def held_out(self, parts: list[Moments]) -> tuple[list[Moments], list[HeldOut] | None]:
        """Return the moments of the folds, and the parts held out where those are not the folds in turn."""
        of_split = self.sides.T
        tests = [merged([parts[i] for i in np.flatnonzero(side == 2)]) for side in of_split]
        if np.all(self.sides > 0) and np.all((self.sides == 2).sum(axis=1) == 1):  # every sample is held out once
            return tests, None
        held_out = [
            HeldOut([parts[i] for i in np.flatnonzero(side == 1) if parts[i].n_samples], test)
            for side, test in zip(of_split, tests, strict=True)
        ]
        return [merged(parts)], held_out


def split_parts(stream: Stream, cv: Any, groups: Any, n_samples: int | None = None) -> SplitParts:
    """Return the parts into which the splits of a splitter divide a table that is read piece by piece.

    Parameters
    ----------
    stream : Stream
        The table. It is read to count its samples where neither groups nor ``n_samples`` tell.
    cv : splitter or iterable
        What is held out.
    groups : array of shape (n,), optional
        Labels of samples that belong together.
    n_samples : int, optional
        Number of samples.
    """
    if groups is None and n_samples is None and stream.n_samples is None:
        for _ in stream.pieces():
            pass
    n, m = len(groups) if groups is not None else int(n_samples or stream.n_samples or 0), stream.shape[1]
    splits = splits_of(cv, np.empty((n, 0)), groups)
    codes = np.zeros(n, dtype=np.int64)
    for train, test in splits:
        codes *= 3
        codes[train] += 1
        codes[test] += 2
    found, place = np.unique(codes, return_inverse=True)
    if len(splits) > 39 or len(found) > _MOST_PARTS or 8 * m * m * (len(found) + 1) > memory_limit():
        raise ValueError(
            f"The {len(splits)} splits of cv divide the samples into {len(found)} parts, whose moments take too much "
            "memory for a table that is read piece by piece; use fewer splits, such as KFold(5)."
        )
    return SplitParts(place, found[:, None] // 3 ** np.arange(len(splits))[::-1] % 3)


def stream_splits(stream: Stream, cv: Any, groups: Any) -> tuple[list[Moments], list[HeldOut] | None]:
    """Return the moments that a splitter asks for, as :func:`split_moments` does for an array.

    Samples that are on the same side of every split are gathered together; chunks of Dask come here one after another.
    For the parameters see :func:`split_parts`.
    """
    split = split_parts(stream, cv, groups)
    parts, room, start, n = [Moments() for _ in split.sides], Room(), 0, len(split.place)
    for X, weights in stream.pieces():
        own = split.place[start : start + X.shape[0]]
        start += X.shape[0]
        if len(own) == X.shape[0]:  # else counted for the message
            add_to_folds(parts, X, weights, room, own)
    if start != n:
        raise ValueError(
            f"groups must hold one label for each sample, but holds {n}, and the table has {start} samples."
        )
    return split.held_out(parts)


def stream_columns(stream: Stream, chosen: list[int], mean: np.ndarray) -> np.ndarray:
    """Return C[:, chosen], m x k, of the centred features, in another pass."""
    if isinstance(stream, ChunkStream):
        found, total = stream.gather(partial(_chunk_columns, chosen, mean), added)
        return found / total
    found, total = np.zeros((len(mean), len(chosen))), 0.0
    for X, weights in stream.pieces():
        found, total = added([(found, total), _chunk_columns(chosen, mean, X, weights)])
    return found / total


def _chunk_columns(
    chosen: list[int], mean: np.ndarray, X: Array, weights: np.ndarray | None, number: int = 0
) -> tuple[np.ndarray, float]:
    weight = float(X.shape[0] if weights is None else weights.sum())
    if not weight:
        return np.zeros((len(mean), len(chosen))), 0.0
    return weight * exact_columns(X, weights, chosen, mean), weight


def stream_extremes(stream: Stream) -> tuple[Array, Array]:
    """Return the smallest and the largest value of every feature, in a pass."""
    if isinstance(stream, ChunkStream):
        return stream.gather(_chunk_extremes, _widest)
    return _widest([_chunk_extremes(X) for X, _ in stream.pieces()])


def _chunk_extremes(X: Array, weights: np.ndarray | None = None, number: int = 0) -> tuple[np.ndarray, np.ndarray]:
    low, high = extremes(X)
    return to_numpy(low), to_numpy(high)


def _widest(found: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    return np.min([low for low, _ in found], axis=0), np.max([high for _, high in found], axis=0)
