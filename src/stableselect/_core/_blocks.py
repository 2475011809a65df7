"""How much of a table is read and held at a time."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from scipy import sparse

from ._arrays import index, is_foreign, namespace

BLOCK_ELEMENTS = 2**22
"""Values per block when an array is read block by block: 32 MiB in double precision."""


def memory_limit() -> float:
    """Return the bytes one Moments may hold: half of the machine's memory, to leave room for the searches."""
    try:
        return 0.5 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return float("inf")


def row_blocks(n: int, m: int, size: int | None = None) -> list[slice]:
    """Return the blocks in which n samples of m features are read, of ``size`` samples where it is given."""
    step = size or max(1024, BLOCK_ELEMENTS // max(1, m))
    return [slice(start, start + step) for start in range(0, n, step)]


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """Return rows of an array, data frame, sparse matrix or tensor, as the same kind of table."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if sparse.issparse(X):
        return (X if X.format == "csr" else X.tocsr())[rows]
    if is_foreign(X):
        xp = namespace(X)
        return xp.take(X, index(rows, X, xp), axis=0)
    return X[rows]
