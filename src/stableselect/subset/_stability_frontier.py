"""The record of held-out error against stability, and the rule that chooses from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from .._core import nogueira, stability_interval
from ..base import data_frame, html_table
from ._search import Setting

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class Measured:
    """What settings select in every round, and their errors.

    Attributes
    ----------
    masks : ndarray of bool, shape (settings, rounds, features)
        The features selected, of those that may be chosen.
    errors : ndarray of shape (settings, rounds)
        Squared error summed over the samples held out and all features.
    cells : ndarray of shape (rounds,)
        Number of values that the error is a sum over.
    """

    masks: np.ndarray
    errors: np.ndarray
    cells: np.ndarray

    def of(self, rounds: Sequence[int]) -> Measured:
        """Return what was measured in some rounds."""
        at = list(rounds)
        return Measured(self.masks[:, at], self.errors[:, at], self.cells[at])

    def stability(self, setting: int) -> float:
        """Return the stability of what a setting selects."""
        return nogueira(self.masks[setting])[0]

    def within(self, max_error_increase: float) -> np.ndarray:
        """Tell which settings stay within an increase over the least error."""
        errors = (self.errors / self.errors.max()).sum(axis=1)  # may not overflow
        return errors <= (1 + max_error_increase) * errors.min()


def choose(measured: Measured, max_error_increase: float, target: float | None) -> int:
    """Return the number of the setting to take.

    From the first on, a later one is taken if it is more stable than the one before it that was, and within the allowed
    increase in error; where there is a target, until that is reached.
    """
    within, stability, chosen = measured.within(max_error_increase), measured.stability(0), 0
    for setting in range(1, len(within)):
        if target is not None and stability >= target:
            break
        if within[setting] and measured.stability(setting) > stability:
            stability, chosen = measured.stability(setting), setting
    return chosen


@dataclass(frozen=True, repr=False)
class StabilityFrontier:
    """Held-out error and stability of every search setting tried; entry i of every array is one setting.

    The settings are ordered: the first is the default, without regard to stability, each later one gives up more error
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
        Relative ridge weight of the search, and of the map from the selected to all features, on all samples. With
        ``ridge="auto"`` the default's, and that of every map, is chosen anew in every round.
    vote_weight : ndarray of shape (p,)
        Weight of the votes of subsamples, as a fraction of the loss.
    leave_one_out : ndarray of bool, shape (p,)
        Whether the search lowers the leave-one-out error, with few samples.
    chosen : int
        The setting chosen.
    procedure_stability : float
        Stability of the whole procedure: of the sets selected with a fifth of the samples held out, each by the setting
        that is chosen from the rounds with other samples held out. This is the stability of the result.
    procedure_interval : tuple of float
        95 % interval for it, which allows for samples that the rounds share.
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
    def from_measured(
        cls,
        settings: Sequence[Setting],
        measured: Measured,
        chosen: int,
        repeats: np.ndarray,
        max_error_increase: float,
        target: float | None,
    ) -> Self:
        """Return the frontier of measured settings; ``repeats`` are the sets of the whole procedure repeated."""
        found = [nogueira(masks) for masks in measured.masks]
        value, _ = nogueira(repeats)
        return cls(
            error=measured.errors.sum(axis=1) / measured.cells.sum(),
            stability=np.array([stability for stability, _ in found]),
            standard_error=np.array([error for _, error in found]),
            ridge=np.array([float(setting.ridge or 0.0) for setting in settings]),
            map_ridge=np.array([setting.refit for setting in settings]),
            vote_weight=np.array([setting.vote_weight for setting in settings]),
            leave_one_out=np.array([setting.search == "leave_one_out" for setting in settings]),
            chosen=chosen,
            procedure_stability=value,
            procedure_interval=repeated_interval(repeats),
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

    def _repr_html_(self) -> str:
        order = [*map(int, np.flatnonzero(self.pareto_optimal | (np.arange(len(self.error)) == self.chosen)))]
        columns = {
            "setting": [self.describe(i) for i in order],
            "error": [self.error[i] for i in order],
            "stability": [self.stability[i] for i in order],
            "chosen": ["yes" if i == self.chosen else "" for i in order],
        }
        return html_table(repr(self), columns)

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
        elif self.vote_weight[i]:
            kind = f"votes of weight {self.vote_weight[i]:g}"
        else:
            kind = "the default"
        return f"{kind}, ridge {self.ridge[i]:g}" if self.ridge[i] > 0 else kind


def beaten(error: np.ndarray, stability: np.ndarray) -> np.ndarray:
    """Return true for the settings that another beats in one of the two and that are no better in the other."""
    stability = np.where(np.isnan(stability), -np.inf, stability)
    no_worse = (error[:, None] <= error) & (stability[:, None] >= stability)
    better = (error[:, None] < error) | (stability[:, None] > stability)
    return np.any(no_worse & better, axis=0)


_HELD_OUT = 0.25
"""Samples held out in a round, for each one kept."""


def repeated_interval(repeats: np.ndarray) -> tuple[float, float]:
    """Return a 95 % interval for the stability of sets from samples that overlap.

    The rounds share most of their samples, so the standard error of as many independent ones is too small. It is raised
    as for resampled errors [1]_. Sets that are all equal count as though one had another feature, so that few rounds
    that agree do not prove that all would.

    References
    ----------
    .. [1] Nadeau & Bengio (2003), Inference for the generalization error, Machine Learning 52.
    """
    value, error = nogueira(repeats)
    if np.isfinite(error) and np.all(repeats == repeats[0]):
        repeats = repeats.copy()
        repeats[0, [np.argmax(repeats[0]), np.argmin(repeats[0])]] ^= True
        return stability_interval(*nogueira(repeats), len(repeats))[0], value
    return stability_interval(value, error * np.sqrt(1 + _HELD_OUT * len(repeats)), len(repeats))
