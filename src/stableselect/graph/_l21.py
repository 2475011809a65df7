"""What UDFS and NDFS share: the smoothed l2,1 norm of the weights, the scaled samples, the scores."""

from __future__ import annotations

import numpy as np

from .._core import Array
from ._neighbours import dense_rows


def row_lengths(W: np.ndarray, smoothing: float) -> np.ndarray:
    """Return sqrt(||w_j||^2 + smoothing^2) for every row; their sum is the smoothed l2,1 norm.

    Since sqrt(a) <= a / (2 sqrt(b)) + sqrt(b) / 2, the quadratic sum_j ||w_j||^2 / (2 length_j) lies above the norm
    and touches it at W, so a step that lowers the quadratic never raises the norm, not even where a row is zero.
    """
    return np.sqrt(np.einsum("jk,jk->j", W, W) + smoothing**2)


def varying_columns(X: Array) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the features of X that are not constant, divided by 2^e, their indices, and e.

    The largest entry is at most 1 in absolute value, so that squares neither overflow nor vanish. The difference of
    two entries counts when it is above the rounding of the larger.
    """
    values, exponent = dense_rows(X)
    low, high = values.min(axis=0), values.max(axis=0)
    rounding = 8 * np.finfo(np.float64).eps * np.maximum(np.abs(low), np.abs(high))
    columns = np.flatnonzero(high - low > rounding)
    return (values if len(columns) == values.shape[1] else values[:, columns]), columns, exponent


def length_scores(lengths: np.ndarray, columns: np.ndarray, m: int) -> np.ndarray:
    """Return the scores of m features: the lengths of those listed, and -1 for the others, which are constant.

    Lengths are rounded to ten digits of the largest, so that rounding errors do not break ties.
    """
    scores = np.full(m, -1.0)
    if len(columns):
        unit = 10.0 ** (np.floor(np.log10(lengths.max())) - 10) if lengths.max() > 0 else 1.0
        scores[columns] = np.round(lengths / unit) * unit
    return scores
