"""The record of held-out error against stability, and the two rules that choose from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from ..base import data_frame
from ._search import Setting

if TYPE_CHECKING:
    from pandas import DataFrame

ABOUT = 0.2
"""Stabilities of five sets that differ by less count as about equal: two to three standard errors."""


@dataclass(frozen=True)
class Point:
    """A setting, its mean squared error on held-out samples, and the stability of its sets with its standard error."""

    setting: Setting
    error: float
    stability: float
    standard_error: float


@dataclass(frozen=True, repr=False)
class StabilityFrontier:
    """Held-out error and stability of every search setting tried; entry i of every array is one setting.

    Printing it gives a summary.

    Attributes
    ----------
    error : ndarray of shape (p,)
        Mean squared error on held-out samples, averaged over samples and features.
    stability : ndarray of shape (p,)
        Nogueira's stability of the sets found with a part of the samples held out, a different one each time. Two such
        sets share about three quarters of their samples. NaN where all features are selected.
    standard_error : ndarray of shape (p,)
        Its asymptotic standard error.
    ridge, map_ridge : ndarray of shape (p,)
        Relative ridge weight of the search, and of the map from the selected to all features.
    exchange : ndarray of bool, shape (p,)
        Whether features are swapped after the forward search.
    consensus : ndarray of shape (p,)
        Weight of the votes of subsamples, as a fraction of the loss.
    latent_width : ndarray of int, shape (p,)
        Latent width of a scorer-selector; 0 where there is none.
    chosen : int
        The setting chosen.
    max_error_increase : float
        Largest relative increase in held-out error accepted for stability.
    target : float or None
        The stability asked for.
    reached : bool
        Whether the setting chosen is as stable as asked for.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from stableselect import ColumnSubset
    >>> X = StandardScaler().fit_transform(load_wine().data)
    >>> frontier = ColumnSubset(5, criterion="stability").fit(X).frontier_
    >>> bool(frontier.error[frontier.chosen] <= 1.05 * frontier.error.min())
    True
    >>> len(frontier.to_frame()) == len(frontier.error)
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

    def __repr__(self) -> str:
        """Return one sentence."""
        i = self.chosen
        rise = self.error[i] / self.error.min() - 1
        return (
            f"StabilityFrontier: of {len(self.error)} settings, {self.describe(i)} was chosen: held-out error "
            f"{self.error[i]:.4g} ({rise:+.1%} above the minimum), stability {self.stability[i]:.2f}."
        )

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame with a row for every setting.

        Returns
        -------
        pandas.DataFrame
            The columns error, stability, standard_error, ridge, map_ridge, exchange, consensus, latent_width,
            pareto_optimal and chosen.
        """
        columns = {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}
        chosen = np.arange(len(self.error)) == self.chosen
        return data_frame({**columns, "pareto_optimal": self.pareto_optimal, "chosen": chosen})

    def describe(self, i: int) -> str:
        """Return a setting in words.

        Parameters
        ----------
        i : int
            The setting.

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
    """Return the points within max_error_increase of the least error that are about as stable as the best of those."""
    stability = np.array([point.stability for point in points])
    error = np.array([point.error for point in points])
    near = (error <= (1 + max_error_increase) * error.min()) & ~np.isnan(stability)
    if not near.any():
        return []
    return np.flatnonzero(near & (stability >= stability[near].max() - ABOUT)).tolist()


def cheapest_stable(points: Sequence[Point], target: float) -> tuple[int, bool]:
    """Return the number of the point of least error among those as stable as the target, and whether there is one.

    Where there is none it is the most stable point. Where only one set is possible, any point meets the target.
    """
    stability = np.array([point.stability for point in points])
    error = np.array([point.error for point in points])
    if np.isnan(stability).all():
        return int(np.argmin(error)), True
    good = stability >= target
    if not good.any():
        return int(np.lexsort((error, -stability))[0]), False
    return int(np.argmin(np.where(good, error, np.inf))), True
