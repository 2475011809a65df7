"""Dropping features while a network trains: how many are left at which time, and the resulting ranking.

A penalised network shrinks the features it does not need but seldom leaves exactly k. Here the weakest are dropped
during training, with the number left falling geometrically from m to k, so that the features left can take over the
information of the dropped ones. The last to stay rank best.
"""

from __future__ import annotations

import numpy as np

from .._core import significant


class Elimination:
    """Which features are left, and in what order the others were dropped.

    Parameters
    ----------
    varying : ndarray of bool, shape (m,)
        Features that may be selected; the others are dropped from the start, and rank last.
    k : int
        Number of features at the end.
    enabled : bool
        False to drop only the features whose strength has become zero.
    fraction : float
        Fraction of the schedule over which features are dropped; the rest trains the k features left.
    """

    def __init__(self, varying: np.ndarray, k: int, enabled: bool = True, fraction: float = 0.9) -> None:
        self.varying = varying
        self.left = np.flatnonzero(varying)
        self._k, self._enabled, self._fraction, self._first = k, enabled, fraction, len(self.left)
        self._strength = np.where(varying, 0.0, -1.0)
        self._gone: list[np.ndarray] = []

    @property
    def done(self) -> bool:
        """Whether at most k features are left, or none are to be dropped."""
        return not self._enabled or len(self.left) <= self._k

    def count(self, progress: float) -> int:
        """Return how many features are left at a point of the schedule: m (k/m)^(progress / fraction), at least k."""
        if not self._enabled or self._first <= self._k:
            return len(self.left)
        power = min(1.0, progress / self._fraction)
        return min(len(self.left), max(self._k, round(self._first * (self._k / self._first) ** power)))

    def record(self, strength: np.ndarray) -> None:
        """Record the strength of each feature left, for the ranking."""
        self._strength[self.left] = strength

    def strength_left(self) -> np.ndarray:
        """Return the recorded strengths of the features left, zero for the others."""
        return np.where(np.isin(np.arange(len(self._strength)), self.left), self._strength, 0.0)

    def update(self, strength: np.ndarray, progress: float, least: float = 0.0) -> np.ndarray:
        """Drop the weakest of the features left; return which of them stay, as a mask.

        Parameters
        ----------
        strength : ndarray of shape (len(left),)
            Strength of each feature left.
        progress : float
            Point of the schedule, 0 to 1.
        least : float
            Features at or below this fraction of the strongest are dropped as well, whatever the schedule says.
        """
        self.record(strength)
        order = np.argsort(-significant(strength), kind="stable")
        n_left = min(self.count(progress), int(np.sum(strength > least * strength.max(initial=0.0))))
        stays = np.zeros(len(strength), dtype=bool)
        stays[order[:n_left]] = True
        if n_left < len(strength):
            self._gone.append(self.left[order[n_left:]])
            self.left = self.left[stays]
        return stays

    def ranking(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all features, best first, and their scores.

        The features left come first, by strength, then those dropped, last dropped first, then the constant ones. No
        feature scores above one that stayed longer.
        """
        left = self.left[np.argsort(-significant(self._strength[self.left]), kind="stable")]
        order = np.concatenate([left, *self._gone[::-1], np.flatnonzero(self._strength < 0)]).astype(np.int64)
        scores = np.empty_like(self._strength)
        scores[order] = np.minimum.accumulate(self._strength[order])
        return order, scores
