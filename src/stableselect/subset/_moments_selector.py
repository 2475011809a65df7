"""The common part of selectors that need only the table's moments: streaming, weights, ridge, include and exclude."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np

from .._core import Array, Gram, Moments, check_weights, fold_moments, merged, normalised_moments, to_numpy
from ..base import BaseSelector, Selection, check_unique, resolve_include_exclude, resolve_k, unchanged_on_error
from ._frontier import STABILITY_FOLDS
from ._n_features import AutoCountMixin
from ._ridge import N_FOLDS, choose_ridge
from ._search import Setting
from ._stable_choice import StableChoiceMixin


@dataclass(frozen=True)
class Problem:
    """What a moments selector works on.

    Attributes
    ----------
    gram : Gram
        The moments, scaled to mean variance one.
    unit : float
        The mean variance: a loss in the gram's units times ``unit`` is one in the table's.
    mean : ndarray of shape (m,)
        Column means.
    k : int
        Columns to keep.
    ridge : float
        Ridge weight of the map relative to the mean variance, which is its weight in the gram's units.
    include, exclude : list of int
        Columns that must or must not be kept.
    setting : Setting
        How to search.
    votes : ndarray of shape (m,) or None
        What parts of the rows would keep, where the setting heeds that.
    rows : array or None
        The table itself, where the caller has it.
    weighted : bool
        Whether its rows have weights.
    """

    gram: Gram
    unit: float
    mean: np.ndarray
    k: int
    ridge: float
    include: list[int]
    exclude: list[int]
    setting: Setting
    votes: np.ndarray | None = None
    rows: Array = None
    weighted: bool = False


class MomentsSelector(StableChoiceMixin, AutoCountMixin, BaseSelector):
    """Base of the selectors that work from :class:`~stableselect.Moments`: implement ``_select_from``."""

    ridge: float | str
    include: Iterable[str | int] | None
    exclude: Iterable[str | int] | None
    moments_: Moments

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the columns.

        Parameters
        ----------
        X : array, data frame, torch tensor or sparse matrix of shape (n, m)
            The table.
        y : None
            Ignored, for scikit-learn pipelines.
        sample_weight : array of shape (n,), optional
            Non-negative row weights.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            self._check_choices()
            X = self._check_table(X)
            weights = check_weights(sample_weight, X.shape[0])
            n_folds = self._folds_needed()
            parts = fold_moments(X, weights, n_folds) if n_folds else [Moments.from_array(X, weights)]
            parts = [part for part in parts if part.n_rows]
            self.__dict__.pop("moments_", None)
            self._finish(parts, rows=X, weighted=weights is not None)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to those seen by earlier calls, and choose the columns anew from all of them.

        Every call selects. To read many blocks, gather them in a :class:`~stableselect.Moments` and call
        :meth:`fit_moments` once. ``ridge="auto"`` stands for 0 here, since merged moments cannot be split into folds;
        ``n_features_to_select="auto"`` is refused for the same reason.

        Parameters
        ----------
        X : array, data frame, torch tensor or sparse matrix of shape (n, m)
            More rows.
        y : None
            Ignored.
        sample_weight : array of shape (n,), optional
            Non-negative row weights.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            self._check_choices()
            first = not hasattr(self, "moments_")
            X = self._check_table(X, reset=first)
            moments = Moments() if first else Moments().merge(self.moments_)
            moments.update(X, check_weights(sample_weight, X.shape[0]))
            self._finish([moments])
            self.moments_ = moments
        return self

    def fit_moments(self, moments: Moments | Sequence[Moments], feature_names: Sequence[str] | None = None) -> Self:
        """Choose the columns from moments alone; the table itself is not needed.

        Parameters
        ----------
        moments : Moments or sequence of Moments
            Of the table, gathered in any way. Several, each of a part of the rows, serve as the folds of what is chosen
            by held-out error; from a single one ``ridge="auto"`` stands for 0.
        feature_names : sequence of str, optional
            Column names.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            self._check_choices()
            parts = [moments] if isinstance(moments, Moments) else list(moments)
            parts = [part for part in parts if part.n_rows]
            if not parts:
                raise ValueError("These moments hold no rows yet; call update() first.")
            self.n_features_in_ = int(parts[0].n_features or 0)
            for name in ("feature_names_in_", "moments_"):
                self.__dict__.pop(name, None)
            if feature_names is not None:
                if len(feature_names) != self.n_features_in_:
                    raise ValueError(f"Expected {self.n_features_in_} feature names, got {len(feature_names)}.")
                check_unique(feature_names)
                self.feature_names_in_ = np.asarray(feature_names, dtype=object)
            self._finish(parts)
        return self

    @abstractmethod
    def _select_from(self, problem: Problem) -> Selection:
        """Choose columns; ``Selection.mean`` is filled in afterwards."""

    def _select(self, X: Array, k: int) -> Selection:
        raise AssertionError("moments selectors go through _select_from")

    def _finish(self, parts: Sequence[Moments], rows: Array = None, weighted: bool = False) -> None:
        """Choose from the moments of the parts of the rows, which are the folds where there are several."""
        moments = merged(parts)
        if moments.n_features is None:
            raise ValueError("Every sample_weight is zero; give at least one row some weight.")
        gram, unit = normalised_moments(moments)
        for name in ("_path", "_frontier", "selection_frequency_"):
            self.__dict__.pop(name, None)
        k, include, exclude = self._wanted(parts)
        votes = None
        if self._prefers_stability():
            setting, votes = self._choose_setting(parts, k, include, exclude)
        else:
            ridge = self._choose_ridge(parts, k, include, exclude)
            setting = Setting(ridge, bool(getattr(self, "exchange", True)))
        mean = to_numpy(moments.mean)
        problem = Problem(gram, unit, mean, k, setting.refit, include, exclude, setting, votes, rows, weighted)
        selection = self._select_from(problem)
        selection.mean = mean
        self.ridge_ = problem.ridge
        self._store(selection)

    def _choose_ridge(self, parts: Sequence[Moments], k: int, include: Sequence[int], exclude: Sequence[int]) -> float:
        if not self._uses_ridge():
            return 0.0
        if self.ridge != "auto":
            return float(self.ridge)
        return choose_ridge(parts, k, include, exclude) if len(parts) > 1 else 0.0

    def _folds_needed(self) -> int:
        """Return how many folds of the rows the settings need for what they choose by held-out error; 0 for none."""
        if self._prefers_stability():
            return STABILITY_FOLDS
        return N_FOLDS if self._is_auto() or (self.ridge == "auto" and self._uses_ridge()) else 0

    def _uses_ridge(self) -> bool:
        """Tell whether the settings make use of the ridge."""
        return True

    def _wanted(self, parts: Sequence[Moments]) -> tuple[int, list[int], list[int]]:
        """Return how many columns to keep, and those that must or must not be among them."""
        k = None if self._is_auto() else resolve_k(self.n_features_to_select, self.n_features_in_)
        names = getattr(self, "feature_names_in_", None)
        include, exclude = resolve_include_exclude(self.include, self.exclude, self.n_features_in_, k, names)
        return self._choose_count(parts, include, exclude) if k is None else k, include, exclude

    def _check_choices(self) -> None:
        """Refuse settings that make no sense, before any row is read."""
        self._check_preference()
        self._check_auto()
        ridge = self.ridge
        if ridge == "auto" or (isinstance(ridge, Real) and not isinstance(ridge, bool) and 0 <= ridge < float("inf")):
            return
        raise ValueError(f"ridge must be 'auto' or a number of at least 0, got {ridge!r}.")
