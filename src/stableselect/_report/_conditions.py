"""The section on conditions: what was asked for, and what it costs against the free choice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..subset import Conditions
from ._chosen import Chosen
from ._page import Column, Facts, Grid, Section, counted, percent


def conditions_section(chosen: Chosen) -> Section | None:
    """Return the section; None where the choice was free."""
    cost = chosen.conditions_cost
    if cost is None:
        return None
    lost = round(100 * (cost.free_explained_variance - cost.explained_variance), 1) + 0.0
    sentences = [
        f"The choice had to meet conditions. It explains {percent(cost.explained_variance)} of the variance of these "
        f"rows; the free choice of {counted(len(chosen.selected), 'column')} explains "
        f"{percent(cost.free_explained_variance)}: the conditions cost {lost:.1f} points."
    ]
    if cost.spent is not None:
        sentences.append(f"The selected columns cost {cost.spent:g}.")
    selected, free = set(chosen.selected), [str(name) for name in cost.free_selected]
    rows = [[name, "yes", "yes" if name in free else "no"] for name in chosen.selected]
    rows += [[name, "no", "yes"] for name in free if name not in selected]
    columns = [Column("Column", "name"), Column("Selected", choices=True), Column("In the free choice", choices=True)]
    blocks: list[Any] = [] if chosen.conditions is None else [Facts(_in_words(chosen.conditions, chosen.features))]
    blocks.append(Grid("conditions", "The selection beside the free choice", columns, rows))
    return Section("conditions", "Conditions and their cost", sentences, blocks)


def _in_words(conditions: Conditions, features: Any) -> list[tuple[str, str]]:
    """Return what was asked for."""

    def name(one: str | int) -> str:
        return one if isinstance(one, str) else str(features[one])

    def some(words: list[str]) -> str:
        return ", ".join(words[:8]) + (f" and {len(words) - 8} more" if len(words) > 8 else "")

    def listed(names: Any) -> str:
        return some([name(one) for one in names])

    def numbers(given: Any) -> str:
        pairs = given.items() if isinstance(given, Mapping) else enumerate(given)
        return some([f"{name(one)}: {number:g}" for one, number in pairs])

    found = []
    if conditions.budget is not None:
        found.append(("Budget", f"{conditions.budget:g}"))
    for what, label in (("cost", "Costs"), ("penalty", "Penalties"), ("target_weight", "Weights of the error")):
        if (given := getattr(conditions, what)) is not None:
            found.append((label, numbers(given)))
    for group in conditions.groups:
        low, high = group.limits
        limit = f"exactly {low}" if low == high else f"{low} to {high}"
        found.append((f"Group {group.name}".strip(), f"{limit} of {listed(group.features)}"))
    found += [("Together", listed(block)) for block in conditions.blocks]
    if conditions.min_distance is not None:
        found.append(("Least distance", f"{conditions.min_distance:g}"))
    for what, label in (
        ("only_reconstruct", "Only to reconstruct"),
        ("only_choose", "Only to choose"),
        ("choose_from", "To choose from"),
    ):
        if given := getattr(conditions, what):
            found.append((label, listed(given)))
    return found
