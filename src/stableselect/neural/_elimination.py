"""Dropping columns while a network trains: how many stay at which moment, and the ranking that results.

A penalised network shrinks the columns it does not need but seldom leaves exactly k. Here the weakest are taken out as
training goes on, the number left falling geometrically from m to k, so that those left can take over what the dropped
ones carried. The last to stay rank best.
"""

from __future__ import annotations

import numpy as np


class Elimination:
    """Which columns are left, and in what order the others went.

    Parameters
    ----------
    varying : ndarray of bool, shape (m,)
        Columns that may be kept; the others are never in, and rank last.
    k : int
        How many to end with.
    enabled : bool
        False to drop none but those a network has given up by itself.
    share : float
        Share of the schedule over which columns are dropped; the rest trains the k left.
    """

    def __init__(self, varying: np.ndarray, k: int, enabled: bool = True, share: float = 0.9) -> None:
        self.varying = varying
        self.left = np.flatnonzero(varying)
        self._k, self._enabled, self._share, self._first = k, enabled, share, len(self.left)
        self._strength = np.where(varying, 0.0, -1.0)
        self._gone: list[np.ndarray] = []

    @property
    def done(self) -> bool:
        """Whether no more columns than wanted are left, or none are to be dropped."""
        return not self._enabled or len(self.left) <= self._k

    def count(self, progress: float) -> int:
        """Return how many columns stay at this point of the schedule: m (k/m)^(progress / share), at least k."""
        if not self._enabled or self._first <= self._k:
            return len(self.left)
        share = min(1.0, progress / self._share)
        return min(len(self.left), max(self._k, round(self._first * (self._k / self._first) ** share)))

    def record(self, strength: np.ndarray) -> None:
        """Note how much each column left counts, for the ranking."""
        self._strength[self.left] = strength

    def update(self, strength: np.ndarray, progress: float, least: float = 0.0) -> np.ndarray:
        """Drop the weakest of the columns left; return which of them stay, as a mask.

        Parameters
        ----------
        strength : ndarray of shape (len(left),)
            How much each column left counts.
        progress : float
            Point of the schedule, 0 to 1.
        least : float
            Columns at or below this share of the strongest are dropped as well, whatever the schedule says.
        """
        self.record(strength)
        order = np.argsort(-strength, kind="stable")
        n_kept = min(self.count(progress), int(np.sum(strength > least * strength.max(initial=0.0))))
        stays = np.zeros(len(strength), dtype=bool)
        stays[order[:n_kept]] = True
        if n_kept < len(strength):
            self._gone.append(self.left[order[n_kept:]])
            self.left = self.left[stays]
        return stays

    def ranking(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all columns, best first, and their scores.

        Columns left come by strength, then those dropped, the last to go first, then the constant ones. No column
        scores above one that stayed longer.
        """
        m = len(self._strength)
        left = self.left[np.argsort(-self._strength[self.left], kind="stable")]
        order = np.concatenate([left, *self._gone[::-1], np.flatnonzero(self._strength < 0)]).astype(np.int64)
        scores = np.empty(m)
        scores[order] = np.minimum.accumulate(self._strength[order])
        return order, scores
