"""The record of held-out error against stability, and the two rules that choose from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from .._core import nogueira, stability_interval
from ..base import data_frame
from ._search import Setting

if TYPE_CHECKING:
    from pandas import DataFrame


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

    The settings are ordered: the first is the search without regard to stability, each later one gives up more error
    for it. Printing the frontier gives a summary.

    Attributes
    ----------
    error : ndarray of shape (p,)
        Mean squared error on held-out samples, averaged over samples and features.
    stability : ndarray of shape (p,)
        Nogueira's stability of the sets found with a fifth of the samples held out, a different one each time, with
        this setting held fixed. NaN where all features are selected.
    standard_error : ndarray of shape (p,)
        Its asymptotic standard error.
    ridge, map_ridge : ndarray of shape (p,)
        Relative ridge weight of the search (NaN where it is that of least leave-one-out error), and of the map from
        the selected to all features.
    vote_weight : ndarray of shape (p,)
        Weight of the votes of subsamples, as a fraction of the loss.
    leave_one_out : ndarray of bool, shape (p,)
        Whether the search lowers the leave-one-out error, with few samples.
    chosen : int
        The setting chosen.
    procedure_stability : float
        Stability of the whole procedure: of the sets selected with a fifth of the samples held out when the choice of
        the setting is repeated without them too. This is the stability of the result.
    procedure_interval : tuple of float
        95 % interval for it.
    n_repeats : int
        How often the procedure was repeated.
    max_error_increase : float
        Largest relative increase in held-out error accepted for stability.
    target : float or None
        The stability asked for.
    reached : bool
        Whether the whole procedure is as stable as asked for.

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
    vote_weight: np.ndarray
    leave_one_out: np.ndarray
    chosen: int
    procedure_stability: float
    procedure_interval: tuple[float, float]
    n_repeats: int
    max_error_increase: float
    target: float | None
    reached: bool

    @classmethod
    def from_points(
        cls,
        points: Sequence[Point],
        chosen: int,
        repeats: np.ndarray,
        max_error_increase: float,
        target: float | None,
    ) -> Self:
        """Return the frontier of measured settings; ``repeats`` are the sets of the whole procedure repeated."""
        settings = [point.setting for point in points]
        value, error = nogueira(repeats)
        return cls(
            error=np.array([point.error for point in points]),
            stability=np.array([point.stability for point in points]),
            standard_error=np.array([point.standard_error for point in points]),
            ridge=np.array([np.nan if setting.ridge is None else setting.ridge for setting in settings]),
            map_ridge=np.array([setting.refit for setting in settings]),
            vote_weight=np.array([setting.vote_weight for setting in settings]),
            leave_one_out=np.array([setting.search == "leave_one_out" for setting in settings]),
            chosen=chosen,
            procedure_stability=value,
            procedure_interval=stability_interval(value, error, len(repeats)),
            n_repeats=len(repeats),
            max_error_increase=max_error_increase,
            target=target,
            # Where only one set is possible, it meets any target.
            reached=target is None or bool(np.isnan(value)) or value >= target,
        )

    @property
    def pareto_optimal(self) -> np.ndarray:
        """True for the settings that none beats in both error and stability."""
        return ~beaten(self.error, self.stability)

    def __repr__(self) -> str:
        """Return two sentences."""
        i = self.chosen
        rise = self.error[i] / self.error.min() - 1
        low, high = self.procedure_interval
        return (
            f"StabilityFrontier: of {len(self.error)} settings, {self.describe(i)} was chosen: held-out error "
            f"{self.error[i]:.4g} ({rise:+.1%} above the minimum). Stability of the whole procedure "
            f"{self.procedure_stability:.2f} [{low:.2f}, {high:.2f}]."
        )

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame with a row for every setting.

        Returns
        -------
        pandas.DataFrame
            The columns error, stability, standard_error, ridge, map_ridge, vote_weight, leave_one_out,
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
        if self.leave_one_out[i]:
            kind = "leave-one-out search"
        else:
            kind = "votes" if self.vote_weight[i] else "plain search"
        return f"{kind}, ridge {self.ridge[i]:g}" if self.ridge[i] > 0 else kind


def beaten(error: np.ndarray, stability: np.ndarray) -> np.ndarray:
    """Return true for the settings that another beats in one of the two and that are no better in the other."""
    stability = np.where(np.isnan(stability), -np.inf, stability)
    no_worse = (error[:, None] <= error) & (stability[:, None] >= stability)
    better = (error[:, None] < error) | (stability[:, None] > stability)
    return np.any(no_worse & better, axis=0)


def most_stable(points: Sequence[Point], max_error_increase: float) -> int:
    """Return the number of the last setting that is within max_error_increase of the least error and not beaten."""
    return int(_allowed(points, max_error_increase)[-1])


def first_stable(points: Sequence[Point], max_error_increase: float, target: float) -> int:
    """Return the number of the first setting as stable as the target, of those :func:`most_stable` could take.

    Where there is none it is the most stable one of these.
    """
    allowed = _allowed(points, max_error_increase)
    stability = np.array([points[i].stability for i in allowed])
    enough = np.flatnonzero(~(stability < target))
    return int(allowed[enough[0]] if enough.size else allowed[np.argmax(stability)])


def _allowed(points: Sequence[Point], max_error_increase: float) -> np.ndarray:
    error = np.array([point.error for point in points])
    stability = np.array([point.stability for point in points])
    near = error <= (1 + max_error_increase) * error.min()
    return np.flatnonzero(near & ~beaten(error, stability))
