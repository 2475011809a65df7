"""Stability: which runs selected which columns, and error against stability, as sections and as a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..inspection import StabilityAnalysis
from ..persistence import software_versions
from ..subset import StabilityFrontier
from ._charts import heat_map, scatter
from ._page import Chart, Column, Facts, Grid, Notes, Page, Section, counted, percent

_LINES = 40
"""Columns in the heat map."""


def stability_section(analysis: StabilityAnalysis, names: Sequence[str], selected: set[str]) -> Section:
    """Return how far repeated choices agree."""
    value, (low, high) = analysis.stability.nogueira, analysis.stability.confidence_interval
    frequency = analysis.selection_frequency
    ever = np.flatnonzero(frequency)
    order = ever[np.argsort(-frequency[ever], kind="stable")]
    sentences = [
        f"The choice was repeated {analysis.n_repeats} times, each time without a fifth of the rows. Stability is "
        f"{value:.2f} ({low:.2f} to {min(high, 1.0):.2f}): 1 would be always the same columns, 0 no better than "
        f"chance. Selected every time: {counted(int(np.sum(frequency >= 1)), 'column')}; at least once: {ever.size}."
    ]
    if analysis.similarity is not None and np.isfinite(analysis.similarity.effective):
        sentences.append(
            f"Where correlated columns count as partly the same, the stability is {analysis.similarity.effective:.2f}."
        )
    rows = [
        [
            names[j],
            "selected" if names[j] in selected else "discarded",
            float(frequency[j]),
            *map(float, analysis.frequency_interval[j]),
        ]
        for j in order
    ]
    columns = [
        Column("Column", "name"),
        Column("Role", choices=True),
        Column("In runs", "percent"),
        Column("From", "percent", "Lower end of the interval."),
        Column("To", "percent", "Upper end of the interval."),
    ]
    shown = _doubtful(frequency, order)
    svg = heat_map(
        "Which runs selected which columns",
        [names[j] for j in shown],
        analysis.supports[:, shown].T,
        x_title=f"{analysis.n_repeats} runs, dark: selected; fraction of the runs",
    )
    rest = "" if len(shown) == len(order) else f" The {len(shown)} on which the runs agree least, of {len(order)}."
    caption = f"Which runs selected which columns, most frequent first.{rest}"
    grid = Grid("runs", "How often each column was selected", columns, rows)
    return Section("stability", "Stability", sentences, [Chart(svg, caption, grid)])


def _doubtful(frequency: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return the columns to draw, most frequent first: of many, those that only some runs select."""
    doubt = frequency[order] * (1 - frequency[order])
    kept = np.sort(np.argsort(-doubt, kind="stable")[:_LINES])
    return np.asarray(order[kept])


def frontier_section(frontier: StabilityFrontier) -> Section:
    """Return the settings that were measured, by error and stability."""
    i, rise = frontier.chosen, _above_least(frontier)
    low, high = frontier.procedure_interval
    sentences = []
    if np.isfinite(frontier.procedure_stability):
        sentences.append(
            f"The whole procedure, repeated {frontier.n_repeats} times without a part of the rows, has a stability of "
            f"{frontier.procedure_stability:.2f} ({low:.2f} to {high:.2f}): 1 would be always the same columns, 0 no "
            "better than chance."
        )
    sentences.append(
        f"Of {len(frontier.error)} settings {frontier.describe(i)} was chosen: its error on held-out rows is "
        f"{100 * rise[i]:.1f}% above the lowest ({100 * frontier.max_error_increase:g}% allowed)."
    )
    if not frontier.reached:
        sentences.append(f"The stability of {frontier.target:g} that was asked for is not reached.")
    names = [frontier.describe(j) for j in range(len(frontier.error))]
    best = frontier.pareto_optimal
    rows: list[list[Any]] = [
        [
            names[j],
            float(frontier.error[j]),
            float(rise[j]),
            float(frontier.stability[j]),
            "chosen" if j == i else "not beaten" if best[j] else "beaten",
        ]
        for j in range(len(names))
    ]
    columns = [
        Column("Setting"),
        Column("Error", "number", "Mean squared error on held-out rows."),
        Column("Above lowest", "percent"),
        Column("Stability", "number", "1: always the same columns, 0: chance."),
        Column("Place", "text", "Beaten: another setting is better in one and no worse in the other.", choices=True),
    ]
    svg = scatter(
        "Error against stability of every setting tried",
        frontier.error,
        frontier.stability,
        [
            f"{name}: error {error:.4g}, stability {s:.2f}"
            for name, error, s in zip(names, frontier.error, frontier.stability, strict=True)
        ],
        x_title="error on held-out rows",
        y_title="stability",
        marked=i,
        low=~best,
    )
    caption = "Every setting tried: blue ones are beaten by no other, the large point was chosen."
    grid = Grid("settings-tried", "Settings tried", columns, rows)
    return Section("stability", "Stability against error", sentences, [Chart(svg, caption, grid)])


def _above_least(frontier: StabilityFrontier) -> np.ndarray:
    """Return by what fraction the error of every setting is above the lowest."""
    least = frontier.error.min()
    return np.asarray(frontier.error / least - 1 if least > 0 else np.zeros(len(frontier.error)))


def frontier_page(result: Any, title: str | None = None) -> Page:
    """Return the page of a frontier, or of one with the table that it was measured on."""
    table = result if hasattr(result, "frontier") else None
    frontier = result if table is None else table.frontier
    low, high = frontier.procedure_interval
    rise = _above_least(frontier)[frontier.chosen]
    figures = [
        (f"{frontier.procedure_stability:.2f}", "stability", f"{low:.2f} to {high:.2f}; 1: always the same columns"),
        (percent(rise), "more error", f"than the lowest; {100 * frontier.max_error_increase:g}% allowed"),
        (str(len(frontier.error)), "settings tried", f"chosen: {frontier.describe(frontier.chosen)}"),
    ]
    sections = [frontier_section(frontier)]
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
    sections.append(Section("versions", "Versions", [], [Facts([*software_versions().items()])]))
    source = "" if table is None else f" of {table.source}"
    return Page(
        title=title or f"Error against stability{source}",
        subtitle=subtitle,
        figures=figures,
        sections=sections,
    )
