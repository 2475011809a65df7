"""Tables that are read piece by piece, with the weights of their samples."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from ._arrays import BLOCK_ELEMENTS, Array, check_values, check_weights, float64, namespace, row_blocks
from ._containers import Container, container_of
from ._tables import Features, joined, read_parts

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
    """

    def __init__(self, X: Any, container: Container, features: Features, pieces: Iterator[Array], weights: Any) -> None:
        self.features, self.n_samples, self.once = features, container.n_samples, container.once
        self.kind, self.advice = container.kind, container.advice
        self._X, self._begun = X, pieces
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
            check_values(X, names=self.features.names)
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


def open_table(X: Any, weights: Any = None, expected: Features | None = None) -> Stream | tuple[Array, Features]:
    """Open a table of any kind, or parts of one.

    Parameters
    ----------
    X : table of any kind
        What a user gave.
    weights : array of shape (n,), optional
        Weights of the samples.
    expected : Features, optional
        The features it must have.

    Returns
    -------
    Stream, or array and Features
        A table that fits in one piece is read at once.
    """
    container = container_of(X)
    features = Features() if expected is None else expected
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
