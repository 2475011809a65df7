"""The part of a selector that takes conditions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..base import resolve_include_exclude, resolve_k
from ._choice import Choice, resolve_choice
from ._conditioned import ConditionsCost
from ._conditions import Conditions
from ._missing import CompletingSelector


class ConditionedSelector(CompletingSelector):
    """Conditions as features of one table, and what they cost."""

    criterion: str
    search_criterion: str
    min_stability: float | None
    include: Iterable[str | int] | None
    exclude: Iterable[str | int] | None
    conditions: Conditions | None
    _conditions_cost: dict[str, Any]

    @property
    def conditions_cost_(self) -> ConditionsCost:
        """The selection beside the free choice; only after a fit with ``conditions`` or ``include``."""
        try:
            return ConditionsCost(**self._conditions_cost)
        except AttributeError:
            raise AttributeError(
                f"This {type(self).__name__} has no conditions_cost_; fit it with conditions or include."
            ) from None

    def _wanted_under(
        self, conditions: Conditions, m: int, names: Sequence[str] | None
    ) -> tuple[int, list[int], list[int], Choice]:
        """Return the same under conditions; 0 features where their number is open."""
        for given, what in (
            (isinstance(self.n_features_to_select, str), "n_features_to_select='auto'; give a number"),
            (
                self.criterion == "stability" or self.min_stability is not None,
                "criterion='stability' and min_stability; leave them out",
            ),
            (self.search_criterion == "leave_one_out", "search_criterion='leave_one_out'; leave it out"),
        ):
            if given:
                raise ValueError(f"conditions do not go with {what}, or leave the conditions out.")
        open_ = conditions.budget is not None
        k = None if open_ and self.n_features_to_select is None else resolve_k(self.n_features_to_select, m)
        include, exclude = resolve_include_exclude(self.include, self.exclude, m, None, names)
        choice = resolve_choice(conditions, k, m, names, include, exclude)
        return 0 if open_ else int(k or 0), include, choice.exclude, choice
