"""The common part of selectors that search subsets on second moments: ridge, number of features, stability."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np

from .._compat import Constraints, Interval, StrOptions
from .._core import Array, Gram, Moments, merged, normalised_moments, to_numpy
from ..base import FEATURES, N_FEATURES, Selection, StreamingSelector, resolve_include_exclude, resolve_k
from ._frontier import MAP_RIDGES, RIDGES, STABILITY_FOLDS, Task, choose_setting, refit_finisher
from ._n_features import choose_n_features
from ._ridge import N_FOLDS, choose_ridge
from ._search import Setting
from ._selection_path import SelectionPath
from ._stability_frontier import StabilityFrontier


@dataclass(frozen=True)
class Problem:
    """What a search works on.

    Attributes
    ----------
    gram : Gram
        The moments, scaled to mean variance one.
    unit : float
        The mean variance: a loss in the gram's units times ``unit`` is one in those of the samples.
    mean : ndarray of shape (m,)
        Feature means.
    k : int
        Number of features to select.
    ridge : float
        Ridge weight of the map relative to the mean variance, which is its weight in the gram's units.
    include, exclude : list of int
        Features that must or must not be selected.
    setting : Setting
        How to search.
    votes : ndarray of shape (m,) or None
        Fraction of subsamples that select each feature, where the setting uses it.
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


class MomentsSelector(StreamingSelector):
    """Base of selectors that search subsets on the moments: implement ``_select_from(problem)``."""

    ridge: float | Literal["auto"]
    exchange: bool = True
    include: Iterable[str | int] | None
    exclude: Iterable[str | int] | None
    min_explained_variance: float | Literal["elbow"]
    max_features: int | None
    criterion: Literal["error", "stability"]
    max_error_increase: float
    min_stability: float | None
    selection_frequency_: np.ndarray
    _path: dict[str, Any]
    _frontier: dict[str, Any]

    _parameter_constraints: ClassVar[Constraints] = {
        "n_features_to_select": [*N_FEATURES, StrOptions({"auto"})],
        "ridge": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "include": FEATURES,
        "exclude": FEATURES,
        "min_explained_variance": [Interval(Real, 0, 1, closed="neither"), StrOptions({"elbow"})],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "criterion": [StrOptions({"error", "stability"})],
        "max_error_increase": [Interval(Real, 0, None, closed="left")],
        "min_stability": [Interval(Real, 0, 1, closed="right"), None],
    }

    @property
    def path_(self) -> SelectionPath:
        """Explained variance against the number of features; only after a fit with ``n_features_to_select="auto"``."""
        try:
            return SelectionPath(**self._path)
        except AttributeError:
            raise AttributeError(
                f"This {type(self).__name__} has no path_; fit it with n_features_to_select='auto'."
            ) from None

    @property
    def frontier_(self) -> StabilityFrontier:
        """Held-out error and stability of every setting tried; only after a fit that asked for stability."""
        try:
            return StabilityFrontier(**self._frontier)
        except AttributeError:
            raise AttributeError(
                f"This {type(self).__name__} has no frontier_; fit it with criterion='stability' or a min_stability."
            ) from None

    @abstractmethod
    def _select_from(self, problem: Problem) -> Selection:
        """Select features; ``mean`` and ``include`` of the selection are filled in afterwards."""

    def _select_from_folds(
        self, folds: Sequence[Moments], X: Array = None, sample_weight: np.ndarray | None = None
    ) -> Selection:
        moments = merged(folds)
        gram, unit = normalised_moments(moments)
        for name in ("_path", "_frontier", "selection_frequency_"):
            self.__dict__.pop(name, None)
        k, include, exclude = self._wanted(folds)
        votes = None
        if self._prefers_stability():
            setting, votes, frontier = choose_setting(
                folds, self._frontier_task(k, include, exclude), float(self.max_error_increase), self.min_stability
            )
            self._frontier = vars(frontier)
            if votes is not None:
                self.selection_frequency_ = votes
        else:
            setting = Setting(self._choose_ridge(folds, k, include, exclude), bool(self.exchange))
        mean = to_numpy(moments.mean)
        problem = Problem(gram, unit, mean, k, setting.refit, include, exclude, setting, votes)
        selection = self._select_from(problem)
        selection.mean, selection.include = mean, include
        self.ridge_ = problem.ridge
        return selection

    def _choose_ridge(self, folds: Sequence[Moments], k: int, include: Sequence[int], exclude: Sequence[int]) -> float:
        if self.ridge != "auto":
            return float(self.ridge)
        return choose_ridge(folds, k, include, exclude) if len(folds) > 1 else 0.0

    def _frontier_task(self, k: int, include: list[int], exclude: list[int]) -> Task:
        """Return which settings to compare for stability, and how."""
        automatic = self.ridge == "auto"
        map_ridges = MAP_RIDGES if automatic else (None,)
        return Task(
            k=k,
            include=include,
            exclude=exclude,
            ridges=RIDGES if automatic else (float(self.ridge),),
            exchange=bool(self.exchange),
            widths=(None,),
            map_ridges=map_ridges,
            finish=refit_finisher(map_ridges),
        )

    def _folds_needed(self) -> int:
        if self._prefers_stability():
            return STABILITY_FOLDS
        return N_FOLDS if self._counts_features() or self.ridge == "auto" else 0

    def _prefers_stability(self) -> bool:
        return self.criterion == "stability" or self.min_stability is not None

    def _counts_features(self) -> bool:
        """Tell whether the number of features is to be chosen by held-out error."""
        return isinstance(self.n_features_to_select, str)

    def _wanted(self, folds: Sequence[Moments]) -> tuple[int, list[int], list[int]]:
        """Return how many features to select, and those that must or must not be among them."""
        m, names = self.n_features_in_, getattr(self, "feature_names_in_", None)
        k = None if self._counts_features() else resolve_k(self.n_features_to_select, m)
        include, exclude = resolve_include_exclude(self.include, self.exclude, m, k, names)
        if k is None:
            path = choose_n_features(
                folds,
                ridge=self.ridge,
                min_explained_variance=self.min_explained_variance,
                max_features=self.max_features,
                include=include,
                exclude=exclude,
            )
            self._path, k = vars(path), path.n_features
        return k, include, exclude
