"""Samples in an order that their own values decide.

What is computed from sorted samples is the same to the last bit whatever order they came in, and whatever held them.
"""

from __future__ import annotations

import numpy as np

from ._arrays import Array, on_device, to_dense

_MOST = 2**20
"""Values of a table that is sorted before its moments are gathered; larger ones are read as they come."""


def dense_rows(X: Array) -> tuple[np.ndarray, int]:
    """Return X / 2^e as a dense double-precision array with values in [-1, 1], and e; the division is exact."""
    values = np.array(to_dense(X), order="C")
    largest = max(-float(values.min()), float(values.max()))
    exponent = int(np.frexp(largest)[1]) if largest > 0 else 0
    np.ldexp(values, -exponent, out=values)
    values += 0.0  # turns -0 into 0, so that equal samples have equal bytes
    return values, exponent


def byte_order(values: np.ndarray) -> np.ndarray:
    """Return the order that sorts samples by their bytes."""
    return np.argsort(values.view(np.dtype((np.void, values.itemsize * values.shape[1]))).ravel(), kind="stable")


def sorted_features(values: np.ndarray) -> np.ndarray:
    """Return the features of a dense table in an order that their values decide, whatever the order of the samples.

    What depends on the samples' distances alone is then the same to the last bit for every order of the features, but
    for features that hold the same values in other samples.
    """
    return np.ascontiguousarray(values[:, byte_order(np.ascontiguousarray(np.sort(values, axis=0).T))])


def sorted_samples(X: Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples as a dense array, sorted by their values, and the order that sorts them.

    They are sorted by the bytes they have in the unit of :func:`dense_rows` and in the order of
    :func:`sorted_features`: which order that is does not matter, only that the values fix it in every unit.
    """
    order = byte_order(sorted_features(dense_rows(X)[0]))
    return to_dense(X)[order] + 0.0, order


def in_own_order(X: Array, weights: np.ndarray | None = None) -> tuple[Array, np.ndarray | None]:
    """Return a table for moments, and its weights: of up to a million values, dense and with its samples sorted.

    Equal samples are sorted by their weights. A larger table, or a tensor on a device, comes back as it is: its moments
    follow the order of its samples by rounding.
    """
    if X.shape[0] * X.shape[1] > _MOST or on_device(X):
        return X, weights
    values = dense_rows(X)[0]
    order = byte_order(values if weights is None else np.column_stack([values, weights]))
    return to_dense(X)[order] + 0.0, None if weights is None else weights[order]
