"""Which features of a dataset are interchangeable, as a record holds it.

Pairs of features are stored, packed, so that pages can be made from the store without the datasets.
"""

from __future__ import annotations

import base64
import lzma
import time
from typing import Any

import numpy as np

from ...datasets import Scale
from ...experiments import Run
from ...metrics import feature_similarity
from ..methods import pool

TASK = "interchangeable"
THRESHOLD = 0.8
"""Absolute correlation from which two features count as the same: that of neighbouring pixels in the image tables."""


def interchangeable(run: Run, data_home: str | None = None) -> dict[str, Any]:
    """Find the pairs of features whose absolute correlation over the whole table reaches the threshold.

    Parameters
    ----------
    run : Run
        Of which only the dataset and the mode matter.
    data_home : str or None
        Folder of the datasets.

    Returns
    -------
    dict
        ``n_columns``, ``n_pairs``, ``pairs`` (see :func:`unpacked`), ``threshold`` and ``seconds``.
    """
    X = pool(run, data_home).raw
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
    bits = alike[np.triu(np.ones_like(alike), 1)]
    return base64.b64encode(lzma.compress(np.packbits(bits).tobytes())).decode("ascii")


def unpacked(text: str, n_features: int) -> np.ndarray:
    """Return the matrix of :func:`packed`, with ones on the diagonal, as Booleans."""
    n_pairs = n_features * (n_features - 1) // 2
    size = (n_pairs + 7) // 8
    raw = lzma.LZMADecompressor().decompress(base64.b64decode(text), max_length=size + 1) if size else b""
    if len(raw) != size:
        raise ValueError(f"The pairs of {n_features} features should be {size} bytes, but are not; run it again.")
    bits = np.unpackbits(np.frombuffer(raw, np.uint8), count=n_pairs).astype(bool)
    alike = np.eye(n_features, dtype=bool)
    alike[np.triu(np.ones_like(alike), 1)] = bits
    return alike | alike.T
