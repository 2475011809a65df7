"""Which feature stands in for which kept one when several fail, so that none stands in for two."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

_LIKENESS = 1e-3
"""Of replacements whose costs differ by less than this fraction of the variance, the more correlated one is taken.

Where features have little in common, the next best feature of all would else stand in for any of them.
"""
_NEVER = 1e9
"""Cost of what may not be, which an assignment takes only where there is nothing else."""


def correlations(C_S: np.ndarray, variance: np.ndarray, chosen: Sequence[int], others: np.ndarray) -> np.ndarray:
    """Return the correlation of every kept feature with some others (k x p, -1 for none), from the k x m moments."""
    product = variance[list(chosen)][:, None] * variance[others]
    known = (others >= 0) & (product > 0)
    found = np.take_along_axis(C_S, np.maximum(others, 0), axis=1) / np.sqrt(np.where(known, product, 1.0))
    return np.where(known, np.clip(found, -1.0, 1.0), np.nan)


def stand_ins(
    gains: np.ndarray, total: float, C_S: np.ndarray, variance: np.ndarray, chosen: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return a replacement of every kept feature, all different, at the least sum of costs, unlikeness being one.

    Parameters
    ----------
    gains : ndarray of shape (k, m)
        Fall of the loss where a kept feature is replaced by another; -inf where that may not be.
    total : float
        Sum of the variances.
    C_S, variance, chosen
        As for :func:`correlations`.

    Returns
    -------
    features, gains : ndarray of shape (k,)
        The gain is -inf where no feature is left.
    """
    k = len(gains)
    found, gained = np.zeros(k), np.full(k, -np.inf)
    open_ = np.flatnonzero(~np.isneginf(gains).all(axis=0))
    if open_.size > k:
        # Whatever the other k - 1 take, one of the best k of a kept feature is left for it.
        best = np.argpartition(-gains[:, open_], k - 1, axis=1)[:, :k]
        open_ = open_[np.unique(best)]
    if open_.size:
        alike = np.abs(correlations(C_S, variance, chosen, np.tile(open_, (k, 1))))
        costs = -gains[:, open_] / total + _LIKENESS * (1 - np.nan_to_num(alike))
        rows, columns = linear_sum_assignment(np.minimum(costs, _NEVER))
        found[rows], gained[rows] = open_[columns], gains[rows, open_[columns]]
    return found, gained
