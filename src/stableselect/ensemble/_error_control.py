"""How many features may have reached a selection frequency without deserving it: bounds for complementary pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, minimize_scalar

_FLAT = 1e6
"""From this offset on, (a + i)^-s is a constant for all that matters."""
_STEEP = 1e-6


@dataclass(frozen=True, eq=False)
class FrequentFeatures:
    """Features above a selection frequency, and how many of them may be there by chance.

    A false feature is one that the estimator, given half of the samples, selects with a probability of at most q / m:
    no more often than if it drew its q of the m features blindly. There are no labels here, so nothing is said about
    what a feature is good for.

    Attributes
    ----------
    features : ndarray of int
        The features, most frequent first.
    threshold : float
        The frequency that each of them has at least.
    expected_false : float
        Bound on the expected number of false features, whatever the distribution: q^2 / ((2 threshold - 1) m). Infinite
        for a threshold of at most 1/2, NaN where the resamples were not complementary pairs.
    expected_false_concave : float
        The smaller bound for distributions of the frequencies of false features that are r-concave, which holds for
        most that occur in practice but cannot be checked.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect import ConsensusSelector
    >>> selector = ConsensusSelector(n_features_to_select=2, random_state=0).fit(load_iris().data)
    >>> frequent = selector.select_by_frequency(0.9)
    >>> sorted(frequent.features.tolist()), round(frequent.expected_false, 2)
    ([0, 2], 1.25)
    """

    features: np.ndarray
    threshold: float
    expected_false: float
    expected_false_concave: float


def worst_case_bound(q: float, m: int, threshold: float) -> float:
    """Return q^2 / ((2 threshold - 1) m), infinite up to a threshold of 1/2.

    Shah & Samworth (2013), Theorem 1 with theta = q / m; the same number as the bound of Meinshausen & Bühlmann (2010),
    without its assumption that features are exchangeable.
    """
    return q * q / ((2 * threshold - 1) * m) if threshold > 0.5 else np.inf


def concave_bound(q: float, m: int, threshold: float, n_pairs: int) -> float:
    """Return the bound under r-concavity, Shah & Samworth (2013), equation (8); never above the worst-case one.

    With theta = q / m and B pairs it is m times the smaller of D(theta^2, 2 threshold - 1, B, -1/2), which bounds how
    often both halves of a pair select a feature, and D(theta, threshold, 2 B, -1/4), which bounds how often a half
    does.
    """
    theta, worst = q / m, worst_case_bound(q, m, threshold)
    if threshold <= theta:
        return worst
    tails = [tail_bound(theta, threshold, 2 * n_pairs, -0.25)]
    if threshold > 0.5:
        tails.append(tail_bound(theta * theta, 2 * threshold - 1, n_pairs, -0.5))
    return min(m * min(tails), worst)


def tail_bound(mean: float, level: float, n: int, r: float) -> float:
    """Return the largest P(X >= level) of an r-concave X on {0, 1/n, ..., 1} with at most this mean.

    With s = -1/r, the extreme distributions give c (a + i)^-s to i = 0..k and what is left to k + 1. For every k and a
    the total and the mean fix c (Shah & Samworth 2013, appendix A.4), so the tail is one minus
    (k + 1 - n mean) sum_{i < n level} (a + i)^-s / sum_{i <= k} (k + 1 - i) (a + i)^-s. Where k + 1 would get less than
    nothing or more than r-concavity allows, a lies outside [a_{k+1}, a_k], with a_k the offset at which 0..k alone
    have the mean.
    """
    s, total, first = -1 / r, mean * n, int(np.ceil(n * level - 1e-9))
    lowest = int(np.ceil(2 * total)) + 1
    if first < lowest:
        return 1.0

    def tail(log_a: float, k: int) -> float:
        i = np.arange(k + 1)
        weights = _powers(log_a, i, s)
        return 1 - (k + 1 - total) * weights[:first].sum() / ((k + 1 - i) @ weights)

    # Before k = first - 1 nothing reaches the level.
    ends = {k: _offset(k, total, s) for k in range(first - 1, n + 1)}
    best = tail(ends[n], n) if n >= first else 0.0
    for k in range(first - 1, n):
        low, high = ends[k + 1], ends[k]
        found = minimize_scalar(lambda log_a, k=k: -tail(log_a, k), bounds=(low, high), method="bounded")
        best = max(best, -found.fun, tail(low, k), tail(high, k))
    return float(min(best, 1.0))


def _offset(k: int, total: float, s: float) -> float:
    """Return log a for which the weights (a + i)^-s on 0..k have the mean ``total``."""
    i = np.arange(k + 1)

    def excess(log_a: float) -> float:
        weights = _powers(log_a, i, s)
        return float(i @ weights / weights.sum()) - total

    low, high = np.log(_STEEP), np.log(_FLAT)
    if excess(high) <= 0:
        return float(high)
    return float(low if excess(low) >= 0 else brentq(excess, low, high, xtol=1e-12))


def _powers(log_a: float, i: np.ndarray, s: float) -> np.ndarray:
    """Return ((a + i) / a)^-s: only ratios of the weights matter, and these do not overflow."""
    return (1 + i * np.exp(-log_a)) ** -s
