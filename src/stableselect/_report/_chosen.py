"""What a report says of a selection, whether it comes from a table in a file or from a selector fitted in Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from ..base import Explanation
from ..inspection import HeldOutErrors, SelectionOverview
from ..persistence import TableSelection, software_versions
from ..subset import Conditions, ConditionsCost, SelectionPath, StabilityFrontier

_SCALINGS = {"none": "none", "minmax": "to the range from 0 to 1", "standard": "to unit variance"}


@dataclass(frozen=True)
class Chosen:
    """A selection in the words of the page: columns and rows."""

    method: str
    rows: int | None
    features: Sequence[str]
    selected: Sequence[str]
    scores: Sequence[float]
    scaling: str
    settings: dict[str, Any]
    versions: dict[str, str]
    ridge: float | None
    optimality_gap: float | None
    errors: HeldOutErrors | None
    path: SelectionPath | None
    frontier: StabilityFrontier | None
    explanation: Explanation | None
    overview: SelectionOverview | None
    conditions_cost: ConditionsCost | None
    conditions: Conditions | None = None
    source: str = ""
    notes: Sequence[str] = ()
    ignored: int = 0

    @classmethod
    def from_table(cls, selection: TableSelection, overview: SelectionOverview | None = None) -> Chosen:
        """Take what a selection from a table holds."""
        same = {one.name: getattr(selection, one.name) for one in fields(cls) if hasattr(selection, one.name)}
        other = {
            "selected": [column.name for column in selection.selected],
            "scores": [column.score for column in selection.selected],
            "scaling": _SCALINGS.get(selection.scaling, selection.scaling),
            "settings": selection.settings | {"seed": selection.seed},
            "frontier": selection.stability,
            "explanation": selection.explanation if overview is None else overview.explanation,
            "overview": overview,
            "ignored": len(selection.columns) - len(selection.features),
        }
        return cls(**same | other)

    @classmethod
    def from_selector(
        cls,
        selector: Any,
        overview: SelectionOverview | None = None,
        explanation: Explanation | None = None,
        errors: HeldOutErrors | None = None,
    ) -> Chosen:
        """Take what a fitted selector holds."""
        names = getattr(selector, "feature_names_in_", None)
        if names is None and overview is not None:
            names = overview.summary.feature_names
        features = [f"x{j}" for j in range(selector.n_features_in_)] if names is None else [str(name) for name in names]
        cost = getattr(selector, "conditions_cost_", None)
        if cost is not None:
            free = tuple(one if isinstance(one, str) else features[one] for one in cost.free_selected)
            cost = replace(cost, free_selected=free)
        return cls(
            method=type(selector).__name__,
            rows=None if overview is None else overview.summary.n_samples,
            features=features,
            selected=[features[j] for j in selector.selected_],
            scores=[float(selector.scores_[j]) for j in selector.selected_],
            scaling=str(getattr(selector, "scale", None) or "none by the selector"),
            settings=selector.get_params(deep=False),
            versions=software_versions(),
            ridge=float(selector.ridge_) if hasattr(selector, "ridge_") else None,
            optimality_gap=float(selector.optimality_gap_) if hasattr(selector, "proven_optimal_") else None,
            errors=errors,
            path=getattr(selector, "path_", None),
            frontier=getattr(selector, "frontier_", None),
            explanation=None if explanation is None else explanation.named(features),
            overview=overview,
            conditions=getattr(selector, "conditions", None),
            conditions_cost=cost,
        )
