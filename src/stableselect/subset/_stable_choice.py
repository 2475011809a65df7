"""``criterion="stability"`` and ``min_stability``: the search's setting from the frontier, for moments selectors."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Real
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from .._core import Moments, merged
from ..base import TargetNotReachedWarning, TooFewSamplesError
from ._frontier import (
    FEWEST_STABILITY_FOLDS,
    RIDGES,
    STABILITY_FOLDS,
    Finish,
    FrontierSearch,
    Point,
    Round,
    Task,
    first_to_reach,
)
from ._ridge import RIDGE_GRID, refit_errors
from ._search import Found, Setting
from ._stability_frontier import StabilityFrontier

_MAP_RIDGES = tuple(ridge for ridge in RIDGE_GRID if ridge <= 1.0)


class StableChoiceMixin:
    """What lets a moments selector trade error for stability."""

    criterion: Literal["error", "stability"]
    max_error_increase: float
    min_stability: float | None
    ridge: float | str
    selection_frequency_: np.ndarray
    n_features_in_: int
    _frontier: dict[str, Any]

    @property
    def frontier_(self) -> StabilityFrontier:
        """Held-out error and stability of every setting tried; only after a fit that asked for stability."""
        try:
            return StabilityFrontier(**self._frontier)
        except AttributeError:
            raise AttributeError(
                f"This {type(self).__name__} has no frontier_; fit it with criterion='stability' or a min_stability."
            ) from None

    def _prefers_stability(self) -> bool:
        return self.criterion == "stability" or self.min_stability is not None

    def _check_preference(self) -> None:
        """Refuse settings of the preference that make no sense."""
        if self.criterion not in ("error", "stability"):
            raise ValueError(f"criterion must be 'error' or 'stability', got {self.criterion!r}.")
        max_error_increase, target = self.max_error_increase, self.min_stability
        if not _is_real(max_error_increase) or not 0 <= max_error_increase < float("inf"):
            raise ValueError(
                f"max_error_increase must be a share of at least 0, such as 0.05, got {max_error_increase!r}."
            )
        if target is not None and (not _is_real(target) or not 0 < target <= 1):
            raise ValueError(f"min_stability must be above 0 and at most 1, or None; got {target!r}.")
        solver = getattr(self, "solver", "search")
        if self._prefers_stability() and solver != "search":
            raise ValueError(
                f"criterion='stability' and min_stability work with solver='search' only, got solver={solver!r}; drop "
                "them or use the search."
            )

    def _choose_setting(
        self, parts: Sequence[Moments], k: int, include: list[int], exclude: list[int]
    ) -> tuple[Setting, np.ndarray | None]:
        """Choose a setting from the frontier, keep that, and return the setting with the votes it needs."""
        if len(parts) < FEWEST_STABILITY_FOLDS:
            raise TooFewSamplesError(
                f"Stability is measured on folds of the samples and needs at least {FEWEST_STABILITY_FOLDS} folds, got "
                f"{len(parts)}; fit on more samples, or give fit_moments a list of Moments, one for each fold.",
                len(parts),
                FEWEST_STABILITY_FOLDS,
            )
        if len(parts) > STABILITY_FOLDS:
            parts = [merged(parts[number::STABILITY_FOLDS]) for number in range(STABILITY_FOLDS)]
        automatic = self.ridge == "auto"
        task = Task(
            k=k,
            include=include,
            exclude=exclude,
            ridges=RIDGES if automatic else (float(self.ridge),),
            exchange=bool(getattr(self, "exchange", True)),
            widths=self._widths(k),
            map_ridges=self._map_ridges() if automatic else (None,),
            limit=1 + float(self.max_error_increase) if self.min_stability is None else float("inf"),
            finish=self._finisher(include, exclude),
        )
        n_free = self.n_features_in_ - len(include) - len(exclude)
        if k - len(include) in (0, n_free):
            every = k == self.n_features_in_
            kept, advice = ("All", "keep fewer") if every else ("The same", "include or exclude fewer")
            warnings.warn(
                f"{kept} {k} columns are kept in any case, so there is no choice to repeat and its stability is NaN; "
                f"{advice}.",
                UndefinedMetricWarning,
                stacklevel=2,
            )
        search = FrontierSearch(parts, task)
        points = search.points()
        if self.min_stability is None:
            (points, chosen), reached = search.compromise(points, float(self.max_error_increase)), True
        else:
            chosen, reached = first_to_reach(points, float(self.min_stability))
        if not reached:
            warnings.warn(
                f"No setting reaches the stability {self.min_stability:g} on held-out rows; the most stable has "
                f"{points[chosen].stability:.3g} and is taken. Lower min_stability, or keep another number of "
                "columns.",
                TargetNotReachedWarning,
                stacklevel=2,
            )
        self._frontier = _as_arrays(points) | {
            "chosen": chosen,
            "max_error_increase": float(self.max_error_increase),
            "target": None if self.min_stability is None else float(self.min_stability),
            "reached": reached,
        }
        setting = points[chosen].setting
        if not setting.consensus:
            return setting, None
        self.selection_frequency_ = search.votes(setting)
        return setting, self.selection_frequency_

    def _widths(self, k: int) -> tuple[int | None, ...]:
        """Return the latent widths to look at."""
        return (None,)

    def _map_ridges(self) -> tuple[float | None, ...]:
        """Return the ridge weights of the map to look at where the ridge is "auto"."""
        return _MAP_RIDGES

    def _finisher(self, include: Sequence[int], exclude: Sequence[int]) -> Finish:
        """Return what makes a set of the columns found in a round, and tells its held-out errors."""
        ridges = self._map_ridges() if self.ridge == "auto" else (None,)

        def finish(part: Round, found: Found, setting: Setting) -> tuple[list[int], np.ndarray]:
            weights = [setting.ridge if ridge is None else ridge for ridge in ridges]
            return found.chosen, refit_errors(part.gram, part.target, part.shift, found.chosen, weights)

        return finish


def _is_real(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _as_arrays(points: Sequence[Point]) -> dict[str, np.ndarray]:
    settings = [point.setting for point in points]
    return {
        "error": np.array([point.error for point in points]),
        "stability": np.array([point.stability for point in points]),
        "standard_error": np.array([point.standard_error for point in points]),
        "ridge": np.array([setting.ridge for setting in settings]),
        "map_ridge": np.array([setting.refit for setting in settings]),
        "exchange": np.array([setting.exchange for setting in settings]),
        "consensus": np.array([setting.consensus for setting in settings]),
        "latent_width": np.array([setting.width or 0 for setting in settings], dtype=np.int64),
    }
