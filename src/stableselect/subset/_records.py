"""What a fit leaves beside the selection, where it was asked for."""

from __future__ import annotations

from typing import Any

from ._batches import BATCHED
from ._conditioned import ConditionsCost
from ._missing import COMPLETED, CompletingSelector
from ._selection_path import SelectionPath
from ._stability_frontier import StabilityFrontier

OF_SOME_FITS = (
    *("_path", "_frontier", "_conditions_cost", "selection_frequency_", "leave_one_out_error_"),
    *("lower_bound_", "optimality_gap_", "proven_optimal_"),
    *BATCHED,
    *COMPLETED,
)
"""Attributes that only some fits leave, so that the next one must drop them."""


class RecordedSelector(CompletingSelector):
    """The part of a selector that tells of its number of features, of stability, and of the cost of conditions."""

    _path: dict[str, Any]
    _frontier: dict[str, Any]
    _conditions_cost: dict[str, Any]

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

    @property
    def conditions_cost_(self) -> ConditionsCost:
        """The selection beside the free choice; only after a fit with ``conditions`` or ``include``."""
        try:
            return ConditionsCost(**self._conditions_cost)
        except AttributeError:
            raise AttributeError(
                f"This {type(self).__name__} has no conditions_cost_; fit it with conditions or include."
            ) from None
