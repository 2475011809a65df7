"""A random sample of the rows of a table that is read piece by piece."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import to_dense


class RowSample:
    """A random sample of rows that come in blocks: those with the smallest of random keys, whatever the blocks."""

    def __init__(self, size: int, seed: int) -> None:
        self.size, self.rng, self._seen = size, np.random.default_rng(seed), 0
        self._parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._highest = np.inf

    def add(self, block: Any) -> None:
        """Draw from more rows."""
        keys = self.rng.random(block.shape[0])
        drawn = np.flatnonzero(keys < self._highest)
        if drawn.size:
            self._parts.append((keys[drawn], to_dense(block[drawn]), self._seen + drawn))
        self._seen += block.shape[0]
        if sum(len(keys) for keys, *_ in self._parts) > 2 * self.size:
            self._settle()

    @property
    def rows(self) -> np.ndarray:
        """The sample, in the order of the table."""
        self._settle()
        return self._parts[0][1]

    @property
    def numbers(self) -> np.ndarray:
        """Which rows of the table they are."""
        self._settle()
        return self._parts[0][2]

    def _settle(self) -> None:
        """Keep as many rows as wanted."""
        keys, rows, numbers = (np.concatenate(arrays) for arrays in zip(*self._parts, strict=True))
        if len(keys) > self.size:
            kept = np.sort(np.argpartition(keys, self.size)[: self.size])
            keys, rows, numbers = keys[kept], rows[kept], numbers[kept]
        if len(keys) == self.size:
            self._highest = keys.max()
        self._parts = [(keys, rows, numbers)]
