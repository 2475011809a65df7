"""Samples of a table, read a batch at a time."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from .._core import Array, to_numpy

_RESIDENT_BYTES = 2**30
"""Tables up to this size are copied once in the required precision; larger ones are read batch by batch."""
_BLOCK_ROWS = 4096


def read_rows(X: Array, rows: np.ndarray, dtype: type) -> np.ndarray:
    """Return rows of an array, memory map, CSR matrix or tensor as a new dense array."""
    if sparse.issparse(X):
        return X[rows].toarray().astype(dtype, copy=False)
    return np.array(to_numpy(X[rows]), dtype=dtype, order="C")


class RowReader:
    """Samples of a table by position: ``reader[positions]`` is a dense array in the required precision.

    Parameters
    ----------
    X : ndarray, memory map, CSR matrix or tensor of shape (n, m)
        The data; never changed.
    rows : ndarray of int
        Which samples.
    dtype : type
        Precision.
    """

    def __init__(self, X: Array, rows: np.ndarray, dtype: type) -> None:
        self._X, self._rows, self._dtype = X, rows, dtype
        self.shape = len(rows), int(X.shape[1])
        self._table: np.ndarray | None = None
        if self.shape[0] * self.shape[1] * np.dtype(dtype).itemsize <= _RESIDENT_BYTES:
            self._table = np.empty(self.shape, dtype=dtype)
            for first in range(0, len(rows), _BLOCK_ROWS):
                self._table[first : first + _BLOCK_ROWS] = read_rows(X, rows[first : first + _BLOCK_ROWS], dtype)

    def __getitem__(self, positions: np.ndarray) -> np.ndarray:
        return read_rows(self._X, self._rows[positions], self._dtype) if self._table is None else self._table[positions]
