"""The page of a frontier: what stability costs in error."""

from __future__ import annotations

from typing import Any

from ._chosen import versions
from ._page import Facts, Notes, Page, Section, counted, percent
from ._stability import frontier_section


def frontier_page(result: Any, title: str | None = None) -> Page:
    """Return the page of a frontier, or of one with the table that it was measured on."""
    table = result if hasattr(result, "frontier") else None
    frontier = result if table is None else table.frontier
    low, high = frontier.procedure_interval
    least = frontier.error.min()
    rise = frontier.error[frontier.chosen] / least - 1 if least > 0 else 0.0
    figures = [
        (f"{frontier.procedure_stability:.2f}", "stability", f"{low:.2f} to {high:.2f}; 1: always the same columns"),
        (percent(rise), "more error", f"than the lowest; {100 * frontier.max_error_increase:g}% allowed"),
        (str(len(frontier.error)), "settings tried", f"chosen: {frontier.describe(frontier.chosen)}"),
    ]
    sections = [frontier_section(frontier)]
    known = versions()
    subtitle = ""
    if table is not None:
        of = f"{table.n_features_to_select} of {table.n_features} columns"
        subtitle = f"{table.method}, {of}, {counted(table.rows, 'row')}"
        pairs = [
            ("Table", table.source),
            ("Rows", str(table.rows)),
            ("Columns to select from", str(table.n_features)),
            ("Columns selected", str(table.n_features_to_select)),
            ("Method", table.method),
            ("Scaling", table.scaling),
            ("Fingerprint", table.fingerprint),
        ]
        blocks: list[Any] = [Facts(pairs)] + ([Notes(list(table.notes))] if table.notes else [])
        sections.append(Section("data", "Data and settings", [], blocks))
    sections.append(Section("versions", "Versions", [], [Facts(list(known.items()))]))
    source = "" if table is None else f" of {table.source}"
    return Page(
        title=title or f"Error against stability{source}",
        subtitle=subtitle,
        figures=figures,
        sections=sections,
        made_by=f"Made by stableselect {known['stableselect']}.",
    )
