"""The frontier of held-out error against stability, as a fitted selector keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from ._search import Setting

ABOUT = 0.2
"""Stabilities of five sets that differ by less are taken as about equal: two to three standard errors."""


@dataclass(frozen=True)
class Point:
    """A setting, its mean squared error on held-out samples, and the stability of its sets with its standard error."""

    setting: Setting
    error: float
    stability: float
    standard_error: float


@dataclass(frozen=True)
class StabilityFrontier:
    """What each setting of a search costs in error and brings in stability; entry i of every array is one setting.

    Attributes
    ----------
    error : ndarray of shape (p,)
        Mean squared error per cell on held-out rows, in the table's units.
    stability : ndarray of shape (p,)
        Nogueira's stability of the sets found with a part of the rows held out, a different one each time. Two such
        sets share about three quarters of their rows. NaN where all columns are kept.
    standard_error : ndarray of shape (p,)
        Its asymptotic standard error.
    ridge, map_ridge : ndarray of shape (p,)
        Relative ridge weight of the search, and of the map from the kept to all columns.
    exchange : ndarray of bool, shape (p,)
        Whether columns are swapped after the forward search.
    consensus : ndarray of shape (p,)
        Weight of the votes of parts of the rows, as a share of the loss.
    latent_width : ndarray of int, shape (p,)
        Latent width of a scorer-selector; 0 where there is none.
    chosen : int
        The setting taken.
    max_error_increase : float
        Share by which its error may lie above the least.
    target : float or None
        The stability asked for.
    reached : bool
        Whether the setting taken is as stable as asked for.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from stableselect import ColumnSubset
    >>> X = StandardScaler().fit_transform(load_wine().data)
    >>> frontier = ColumnSubset(5, criterion="stability").fit(X).frontier_
    >>> bool(frontier.error[frontier.chosen] <= 1.05 * frontier.error.min())
    True
    """

    error: np.ndarray
    stability: np.ndarray
    standard_error: np.ndarray
    ridge: np.ndarray
    map_ridge: np.ndarray
    exchange: np.ndarray
    consensus: np.ndarray
    latent_width: np.ndarray
    chosen: int
    max_error_increase: float
    target: float | None
    reached: bool

    @classmethod
    def from_points(
        cls, points: Sequence[Point], chosen: int, max_error_increase: float, target: float | None, reached: bool
    ) -> Self:
        """Return the frontier of measured settings."""
        settings = [point.setting for point in points]
        return cls(
            error=np.array([point.error for point in points]),
            stability=np.array([point.stability for point in points]),
            standard_error=np.array([point.standard_error for point in points]),
            ridge=np.array([setting.ridge for setting in settings]),
            map_ridge=np.array([setting.refit for setting in settings]),
            exchange=np.array([setting.exchange for setting in settings]),
            consensus=np.array([setting.consensus for setting in settings]),
            latent_width=np.array([setting.width or 0 for setting in settings], dtype=np.int64),
            chosen=chosen,
            max_error_increase=max_error_increase,
            target=target,
            reached=reached,
        )

    @property
    def pareto_optimal(self) -> np.ndarray:
        """True for the settings that none beats in both error and stability."""
        stability = np.where(np.isnan(self.stability), -np.inf, self.stability)
        no_worse = (self.error[:, None] <= self.error) & (stability[:, None] >= stability)
        better = (self.error[:, None] < self.error) | (stability[:, None] > stability)
        return ~np.any(no_worse & better, axis=0)

    def describe(self, i: int) -> str:
        """Return a setting in words.

        Parameters
        ----------
        i : int
            Which.

        Returns
        -------
        str
        """
        depth = "exchange" if self.exchange[i] else "forward search"
        if self.consensus[i]:
            depth = f"{depth}, votes {self.consensus[i]:g}"
        width = f", width {self.latent_width[i]}" if self.latent_width[i] else ""
        return f"{depth}, ridge {self.ridge[i]:g}{width}"


def good_points(points: Sequence[Point], max_error_increase: float) -> list[int]:
    """Return which points are within max_error_increase of the least error and about as stable as the best of those."""
    stability = np.array([point.stability for point in points])
    error = np.array([point.error for point in points])
    near = (error <= (1 + max_error_increase) * error.min()) & ~np.isnan(stability)
    if not near.any():
        return []
    return np.flatnonzero(near & (stability >= stability[near].max() - ABOUT)).tolist()


def cheapest_stable(points: Sequence[Point], target: float) -> tuple[int, bool]:
    """Return the number of the point of least error that is so stable, or of the most stable; and if it is so stable.

    Where there is one set only, any point meets the target.
    """
    stability = np.array([point.stability for point in points])
    error = np.array([point.error for point in points])
    if np.isnan(stability).all():
        return int(np.argmin(error)), True
    good = stability >= target
    if not good.any():
        return int(np.lexsort((error, -stability))[0]), False
    return int(np.argmin(np.where(good, error, np.inf))), True
