"""What is computed from a table that is read piece by piece: moments of the folds of its samples."""

from __future__ import annotations

import numpy as np

from ._arrays import Array, extremes, memory_limit, to_numpy
from ._folds import row_folds
from ._moments import Moments
from ._sketch import exact_columns
from ._streams import Stream
from ._sums import Room


def stream_moments(stream: Stream, n_folds: int) -> list[Moments]:
    """Return the moments of each fold of the samples, the folds of an array; those of all where there are none.

    Parameters
    ----------
    stream : Stream
        The table.
    n_folds : int
        Number of folds; 0 for none.
    """
    folds, room = [Moments() for _ in range(max(1, n_folds))], Room()
    for X, weights in stream.pieces():
        labels = row_folds(X, n_folds) if n_folds else np.zeros(X.shape[0], dtype=np.intp)
        for fold, moments in enumerate(folds):
            rows = np.flatnonzero(labels == fold)
            if rows.size == X.shape[0]:
                moments._add(X, weights, room=room)
            elif rows.size:
                moments._add(X, None if weights is None else weights[rows], rows=rows, room=room)
    m, filled = stream.shape[1], [moments for moments in folds if moments.n_samples]
    if n_folds and 2 * sum(moments.n_samples for moments in filled) > m and 8 * m * m * (n_folds + 1) <= memory_limit():
        for moments in filled:  # they will be merged
            moments._to_primal()
    return folds


def stream_columns(stream: Stream, chosen: list[int], mean: np.ndarray) -> np.ndarray:
    """Return C[:, chosen], m x k, of the centred features, in another pass."""
    found, total = np.zeros((len(mean), len(chosen))), 0.0
    for X, weights in stream.pieces():
        weight = float(X.shape[0] if weights is None else weights.sum())
        if weight:
            found += weight * exact_columns(X, weights, chosen, mean)
            total += weight
    return found / total


def stream_extremes(stream: Stream) -> tuple[Array, Array]:
    """Return the smallest and the largest value of every feature, in a pass."""
    found = [[to_numpy(extreme) for extreme in extremes(X)] for X, _ in stream.pieces()]
    return np.min([low for low, _ in found], axis=0), np.max([high for _, high in found], axis=0)
