"""The section on every column: how well it is explained, by which selected ones, and what it holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._charts import histogram
from ._chosen import Chosen
from ._page import Chart, Column, Grid, Section

_MANY = 5000
"""Of more columns than this, fewer figures are shown, so that the page stays light."""


def columns_section(chosen: Chosen) -> Section | None:
    """Return the section; discarded columns that are explained worst come first."""
    explained, overview = chosen.explanation, chosen.overview
    if explained is None:
        return None
    place = {name: j for j, name in enumerate(chosen.features)}
    held_out = None if overview is None else overview.r2
    frequency = None if overview is None or overview.stability is None else overview.stability.selection_frequency
    figures: list[tuple[Column, Callable[[int], Any]]] = []
    if frequency is not None:
        about = "Fraction of the repeated choices that select it."
        figures.append((Column("In runs", "percent", about), lambda j: float(frequency[j])))
    if overview is not None:
        summary = overview.summary
        figures += [
            (Column("Missing", "count"), lambda j: int(summary.n_missing[j])),
            (Column("Mean", "number"), lambda j: _rounded(summary.mean[j], summary.std[j])),
            (Column("Std. deviation", "number"), lambda j: float(summary.std[j])),
        ]
        if len(chosen.features) <= _MANY:
            figures += [
                (Column("Minimum", "number"), lambda j: float(summary.minimum[j])),
                (Column("Maximum", "number"), lambda j: float(summary.maximum[j])),
            ]
    about = "The same on rows that the map was not fitted on; may be below 0."
    columns = [
        Column("Column", "name"),
        Column("Role", "text", choices=True),
        Column("Explained", "percent", "Fraction of its variance that the selected columns explain on these rows."),
        *([] if held_out is None else [Column("On held-out rows", "percent", about)]),
        Column("Explained by", "names", "Selected columns that contribute most; a contribution may be negative."),
        *(column for column, _ in figures),
    ]

    def row(name: str, role: str, r2: float | None, by: list[tuple[str, float]]) -> list[Any]:
        j = place[name]
        tested = [] if held_out is None else [float(held_out[j])]
        return [name, role, r2, *tested, by, *(figure(j) for _, figure in figures)]

    rows = []
    for lost in explained.discarded:
        by = [(str(name), part) for name, part in lost.explained_by]
        rows.append(row(str(lost.feature), "discarded", lost.r2, by))
    rows += [row(name, "selected", 1.0, []) for name in chosen.selected]
    sentences = [
        "Every column, and how well the selected ones explain it: discarded columns that are explained worst come "
        "first. Click a heading to sort, type to filter."
    ]
    r2 = np.array([lost.r2 for lost in explained.discarded])
    blocks: list[Any] = []
    if r2.size > 10:
        blocks.append(_histogram(r2))
    blocks.append(Grid("columns", "All columns", columns, rows, None))
    return Section("columns", "Every column", sentences, blocks)


def _rounded(mean: float, spread: float) -> float:
    """Return a mean, 0 where it is rounding."""
    return 0.0 if abs(mean) < 1e-9 * spread else float(mean)


def _histogram(values: np.ndarray) -> Chart:
    """Return how many discarded columns are explained how well; values below 0 count as 0."""
    known = values[~np.isnan(values)]
    edges = np.linspace(0.0, 1.0, 21)
    counts = np.histogram(np.clip(known, 0.0, 1.0), edges)[0]
    title = "How well the discarded columns are explained"
    svg = histogram(title, edges, counts, x_title="explained variance", y_title="columns")
    rows = [[low, high, int(count)] for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)]
    grid = Grid(
        "explained", title, [Column("From", "percent"), Column("To", "percent"), Column("Columns", "count")], rows
    )
    half = int(np.sum(known < 0.5))
    caption = f"Explained variance of {known.size} discarded columns; {half} of them are explained by less than half."
    return Chart(svg, caption, grid)
