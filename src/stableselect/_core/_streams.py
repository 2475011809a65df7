"""Tables that are read piece by piece, with the weights of their samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from ._arrays import BLOCK_ELEMENTS, Array, check_values, check_weights, float64, namespace, row_blocks
from ._containers import Container, container_of
from ._dask import chunk_lengths, gather_chunks
from ._tables import Features, as_part, check_columns, feature_names, joined, read_parts

FEWEST = 1024
"""Fewest samples of a piece but the last, so that what is done once for a piece costs little."""


class Stream:
    """A table of more than one piece, with the weights of its samples.

    Attributes
    ----------
    features : Features
        Number and names of its features.
    n_samples : int or None
        Number of samples; None where it is not known before they are read.
    kind, advice : str
        What it is, and how to get it into memory.
    once : bool
        Whether its samples can be read only once.
    missing : str or None
        As in :func:`check_values`: what lets missing values pass.
    """

    missing: str | None = None

    def __init__(self, X: Any, container: Container, features: Features, pieces: Iterator[Array], weights: Any) -> None:
        self.features, self.n_samples, self.once = features, container.n_samples, container.once
        self.kind, self.advice = container.kind, container.advice.format(X="X")
        self._X, self._begun = X, pieces
        weights = weights.compute() if hasattr(weights, "dask") else weights
        self._weights = None if weights is None else check_weights(weights, (*np.shape(weights), 0)[0])

    @property
    def shape(self) -> tuple[int | None, int]:
        """Number of samples, None where it is not known yet, and of features."""
        return self.n_samples, int(self.features.n_features or 0)

    def pieces(self) -> Iterator[tuple[Array, np.ndarray | None]]:
        """Read the samples, and their weights, piece by piece."""
        pieces: Iterator[Array] | None
        pieces, self._begun = self._begun, None  # type: ignore[assignment]
        again = pieces is None
        if again and self.once:
            raise ValueError(f"A second pass is needed, but {self.kind} can be read only once; pass a table or a list.")
        start, short = 0, False
        for X in pieces if pieces is not None else _in_pieces(self._X, self.features):
            check_values(X, names=self.features.names, missing=self.missing)
            stop = start + int(X.shape[0])
            weights = None if self._weights is None else self._weights[start:stop]
            short = weights is not None and len(weights) < X.shape[0]
            if short:
                break
            yield X, weights
            start = stop
        if self._weights is not None and (short or len(self._weights) != start):
            raise ValueError(
                "sample_weight must hold one finite, non-negative number for each sample, but holds "
                f"{len(self._weights)}, and the table has {'more' if short else start} samples."
            )
        if again and start != self.n_samples:
            raise ValueError(f"A second pass over {self.kind} gave other samples; pass a table or a list of its parts.")
        self.n_samples = start


class ChunkStream(Stream):
    """A table in chunks of Dask: what is gathered from them is computed where they are, and only that comes here."""

    def __init__(self, X: Any, container: Container, features: Features, weights: Any) -> None:
        super().__init__(X, container, features, _in_pieces(X, features), weights)
        self._chunks = container.chunks() if container.chunks is not None else []
        self._lengths = container.lengths

    def gather(self, function: Callable[..., Any], merge: Callable[[list[Any]], Any]) -> Any:
        """Return a function of all samples, merged from those of the chunks.

        Parameters
        ----------
        function : callable
            Called with samples, their weights or None, and the number of their chunk.
        merge : callable
            Returns the result for several chunks of a list of their results.
        """
        of_chunk = partial(_of_chunk, function, replace(self.features, by_place=True), self.missing)
        found = gather_chunks(self._chunks, of_chunk, merge, self._cut_weights(), self.kind)
        if found is None:
            raise ValueError(f"X is {self.kind} and holds no samples; pass at least one sample.")
        return found

    def is_small(self) -> bool:
        """Tell whether all samples together are no more than a piece."""
        most = max(FEWEST, BLOCK_ELEMENTS // max(1, self.shape[1]))
        if self.n_samples is not None:
            return self.n_samples <= most
        counted, start, step = 0, 0, 1
        while counted <= most and start < len(self._chunks):
            counted += sum(chunk_lengths(self._chunks[start : start + step], self.kind))
            start, step = start + step, 2 * step
        return counted <= most

    def _cut_weights(self) -> Sequence[np.ndarray | None]:
        if self._weights is None:
            return [None] * len(self._chunks)
        lengths = self._lengths or chunk_lengths(self._chunks, self.kind)
        if sum(lengths) != len(self._weights):
            raise ValueError(
                "sample_weight must hold one finite, non-negative number for each sample, but holds "
                f"{len(self._weights)}, and the table has {sum(lengths)} samples."
            )
        return np.split(self._weights, np.cumsum(lengths)[:-1])


def _of_chunk(
    function: Callable[..., Any],
    features: Features,
    missing: str | None,
    chunk: Any,
    number: int,
    weights: np.ndarray | None,
) -> Any:
    """Return a function of the samples of a chunk, which are checked; None where there are none."""
    samples, names = as_part(chunk)
    samples = features.admit(samples, names, number)
    check_values(samples, names=features.names, missing=missing)
    return function(samples, weights, number) if samples.shape[0] else None


def _samples(samples: Array, weights: np.ndarray | None, number: int) -> Array:
    return samples


def _open_chunks(
    X: Any, container: Container, features: Features, weights: Any, missing: str | None
) -> ChunkStream | tuple[Array, Features]:
    check_columns(getattr(X, "_meta", None))
    names = feature_names(container.columns() if container.columns is not None else None)
    features.admit(np.empty((0, int(X.shape[1]))), names, 1)
    stream = ChunkStream(X, container, features, weights)
    if not stream.is_small():
        return stream
    whole = ChunkStream(X, container, features, None)
    whole.missing = missing
    return whole.gather(_samples, joined), features


def open_table(
    X: Any, weights: Any = None, expected: Features | None = None, missing: str | None = None
) -> Stream | tuple[Array, Features]:
    """Open a table of any kind, or parts of one.

    Parameters
    ----------
    X : table of any kind
        What a user gave.
    weights : array of shape (n,), optional
        Weights of the samples.
    expected : Features, optional
        The features it must have.
    missing : str, optional
        As in :func:`check_values`, for what is read at once; a stream is told later.

    Returns
    -------
    Stream, or array and Features
        A table that fits in one piece is read at once.
    """
    container = container_of(X)
    features = Features() if expected is None else expected
    if container is not None and container.chunks is not None:
        return _open_chunks(X, container, features, weights, missing)
    pieces = _in_pieces(X, features)
    first, second = next(pieces), next(pieces, None)
    if second is None or container is None:
        return first, features
    return Stream(X, container, features, chain([first, second], pieces), weights)


def _in_pieces(X: Any, features: Features) -> Iterator[Array]:
    """Read a table in pieces of about as many samples as a block, or as its parts have."""
    held: list[Array] = []
    for samples, _ in read_parts(X, features):
        held.append(samples)
        m = int(samples.shape[1])
        if sum(part.shape[0] for part in held) >= max(FEWEST, BLOCK_ELEMENTS // m):
            yield joined(held)
            held = []
    if held:
        yield joined(held)


def dense_pieces(X: Array | Stream) -> Iterator[Array]:
    """Read the samples of an array, tensor, CSR matrix or stream in dense blocks of double precision."""
    for table in (samples for samples, _ in X.pieces()) if isinstance(X, Stream) else [X]:
        for part in row_blocks(*table.shape):
            block = table[part]
            yield float64(block.toarray() if sparse.issparse(block) else block, namespace(block))


def summed(X: Array | Stream, function: Callable[[Array], tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return the sums, over all dense blocks of samples, of what a function returns for each."""
    if isinstance(X, ChunkStream):
        return tuple(X.gather(partial(_sums_of_chunk, function), added))
    total: tuple[Any, ...] | None = None
    for block in dense_pieces(X):
        found = function(block)
        total = found if total is None else added([total, found])
    return total or ()


def _sums_of_chunk(
    function: Callable[[Array], tuple[Any, ...]], samples: Array, weights: np.ndarray | None, number: int
) -> tuple[Any, ...]:
    return summed(samples, function)


def added(parts: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return the sums of several tuples, term by term."""
    return tuple(sum(terms) for terms in zip(*parts, strict=True))
