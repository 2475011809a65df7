"""Which columns of a dataset can stand for each other, as a cell holds it, and the stability that allows for it.

Pairs of columns are stored, packed, so that tables can be made from the results file without the datasets.
"""

from __future__ import annotations

import base64
import lzma
import time
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from ...datasets import Scale
from ...experiments import Cell
from ...metrics import feature_similarity
from ..methods import pool

TASK = "interchangeable"
THRESHOLD = 0.8
"""Absolute correlation from which two columns count as the same: that of neighbouring pixels in the image tables."""
_DRAWS = 500
"""Pairs of random sets behind the chance level; it is off by less than 0.005 of the number of columns."""
_ROUNDING = 1e-9


def interchangeable(cell: Cell, data_home: str | None = None) -> dict[str, Any]:
    """Find the pairs of columns whose absolute correlation over the whole table reaches the threshold.

    Parameters
    ----------
    cell : Cell
        Of which only the dataset and the mode matter.
    data_home : str or None
        Folder of the datasets.

    Returns
    -------
    dict
        ``n_columns``, ``n_pairs``, ``pairs`` (see :func:`unpacked`), ``threshold`` and ``seconds``.
    """
    X = pool(cell, data_home).raw
    start = time.perf_counter()
    alike = feature_similarity(Scale.minmax(X).apply(X)) >= THRESHOLD
    seconds = time.perf_counter() - start
    return {
        "n_columns": len(alike),
        "n_pairs": int(alike.sum() - len(alike)) // 2,
        "pairs": packed(alike),
        "threshold": THRESHOLD,
        "seconds": seconds,
    }


def packed(alike: np.ndarray) -> str:
    """Return a symmetric Boolean matrix as text: the bits above its diagonal, row by row, compressed."""
    bits = np.concatenate([row[i + 1 :] for i, row in enumerate(alike)])
    return base64.b64encode(lzma.compress(np.packbits(bits).tobytes())).decode("ascii")


def unpacked(text: str, n_columns: int) -> sparse.csr_matrix:
    """Return the matrix of :func:`packed` as a sparse one of zeros and ones, with ones on the diagonal."""
    n_pairs = n_columns * (n_columns - 1) // 2
    size = (n_pairs + 7) // 8
    raw = lzma.LZMADecompressor().decompress(base64.b64decode(text), max_length=size + 1) if size else b""
    if len(raw) != size:
        raise ValueError(
            f"The pairs of {n_columns} columns should be {size} bytes, but are not; compute the cell again."
        )
    ones = np.flatnonzero(np.unpackbits(np.frombuffer(raw, np.uint8), count=n_pairs))
    first = np.concatenate([[0], np.cumsum(np.arange(n_columns - 1, 0, -1))])
    i = np.searchsorted(first[:-1], ones, side="right") - 1
    j = ones - first[i] + i + 1
    above = sparse.coo_matrix((np.ones(len(ones)), (i, j)), shape=(n_columns, n_columns))
    return (above + above.T + sparse.identity(n_columns)).tocsr()


class Interchangeable:
    """Stability of sets of one size, where columns that are alike can stand for each other.

    Two sets agree in the columns they share, and in those of each that have a counterpart in the rest of the other,
    the smaller of the two numbers. The result is corrected for chance: 1 for equal sets, 0 on average for sets drawn at
    random. It is :func:`stableselect.metrics.similarity_stability`'s ``adjusted``, for a similarity of zeros and ones
    that may be too large to be dense.

    Parameters
    ----------
    alike : sparse matrix of shape (m, m)
        As :func:`unpacked` gives it.

    References
    ----------
    A. Bommert and J. Rahnenführer, "Adjusted measures for feature selection stability for data sets with similar
    features", Machine Learning, Optimization, and Data Science, 2020.
    """

    def __init__(self, alike: sparse.csr_matrix) -> None:
        self.n_columns = alike.shape[0]
        self._alike = alike
        self._chance: dict[int, float] = {}

    def stability(self, sets: Sequence[np.ndarray]) -> float:
        """Return the mean over pairs of sets of columns; NaN where chance alone makes all sets agree."""
        k = len(sets[0])
        chance = self._by_chance(k)
        if k - chance <= _ROUNDING:
            return float("nan")
        return float(np.mean([(self._overlap(a, b) - chance) / (k - chance) for a, b in combinations(sets, 2)]))

    def _by_chance(self, k: int) -> float:
        """Return the mean overlap of two sets drawn at random."""
        if k not in self._chance:
            rng = np.random.RandomState(0)
            drawn = [[rng.choice(self.n_columns, k, replace=False) for _ in range(2)] for _ in range(_DRAWS)]
            self._chance[k] = float(np.mean([self._overlap(a, b) for a, b in drawn]))
        return self._chance[k]

    def _overlap(self, a: np.ndarray, b: np.ndarray) -> int:
        only_a, only_b = np.setdiff1d(a, b), np.setdiff1d(b, a)
        return (
            len(a) - len(only_a) + min(self._with_counterpart(only_a, only_b), self._with_counterpart(only_b, only_a))
        )

    def _with_counterpart(self, columns: np.ndarray, others: np.ndarray) -> int:
        reached = np.zeros(self.n_columns, dtype=bool)
        reached[self._alike[others].indices] = True
        return int(reached[columns].sum())
