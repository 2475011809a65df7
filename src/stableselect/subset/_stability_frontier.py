"""The frontier of held-out error against stability, as a fitted selector keeps it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


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
