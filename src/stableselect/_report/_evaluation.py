"""The page of a panel that was judged: the comparison, its members, the other columns, and advice."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..inspection import PanelEvaluation
from ._charts import bar_chart, histogram
from ._page import Chart, Column, Grid, Page, Section, counted, data_section, percent

_WAYS = {
    "panel": "this panel",
    "selected": "selected panel",
    "random": "random panels",
    "components": "principal components",
    "all": "all columns",
    "none": "no columns (the mean)",
}


def evaluation_page(result: Any, title: str | None = None) -> Page:
    """Return the page of an evaluation, or of one with the table that it was made on."""
    table = None if isinstance(result, PanelEvaluation) else result
    judged: PanelEvaluation = result if table is None else table.evaluation
    source = "" if table is None else f" of {table.source}"
    k, m = len(judged.panel), judged.n_features
    rows = {row.name: row for row in judged.comparison}
    figures = [
        (percent(judged.explained_variance), "of the variance explained", "on held-out rows"),
        (f"{judged.n_beaten} of {judged.random.size}", "random panels beaten", f"each of {k} columns"),
        (percent(rows["selected"].explained_variance), "by a selected panel", "selected on the other rows"),
    ]
    pairs = [
        ("Rows", str(judged.n_samples)),
        ("Columns", str(m)),
        ("Folds", str(judged.n_splits)),
        ("Neighbours compared", str(judged.n_neighbors)),
        ("Seed", str(judged.random_state)),
    ]
    if table is not None:
        pairs.insert(0, ("Table", table.source))
        pairs += [("Scaling", table.scaling), ("Fingerprint", table.fingerprint)]
    return Page(
        title=title or f"Panel of {k} columns{source}",
        subtitle=f"Judged on held-out rows: {counted(judged.n_samples, 'row')} in {judged.n_splits} folds",
        figures=figures,
        sections=[
            _comparison(judged),
            _members(judged),
            _advice(judged),
            _columns(judged),
            data_section(pairs, () if table is None else table.notes),
        ],
    )


def _comparison(judged: PanelEvaluation) -> Section:
    named = [(_WAYS.get(row.name, row.name), row) for row in judged.comparison]
    grid = Grid(
        "comparison",
        "The panel beside what it should be read beside",
        [
            Column("Reconstructed from"),
            Column("Explained", "percent", "Fraction of the variance of held-out rows that a ridge map explains."),
            Column(
                "Neighbours kept", "percent", "Fraction of a row's nearest neighbours, by all columns, that stay so."
            ),
            Column("Accuracy", "percent", "Fraction of held-out labels that extra trees get right."),
        ],
        [[name, row.explained_variance, row.neighbor_overlap, row.accuracy] for name, row in named],
    )
    bars = bar_chart(
        "Explained variance of held-out rows",
        [name for name, _ in named],
        [row.explained_variance for _, row in named],
        marked=[0],
    )
    blocks: list[Any] = [Chart(bars, "Explained variance of held-out rows.", None), grid]
    if judged.random.size > 1:
        blocks.append(_random(judged))
    return Section("comparison", "What the panel is worth", [judged.verdict_on("columns", "rows")], blocks)


def _random(judged: PanelEvaluation) -> Chart:
    values = [*judged.random.tolist(), judged.explained_variance]
    low, high = min(values), max(values)
    edges = np.linspace(low, high if high > low else low + 0.01, 21)
    counts = np.histogram(judged.random, edges)[0]
    title = "Explained variance of random panels"
    svg = histogram(title, edges, counts, x_title="explained", y_title="panels", here=judged.explained_variance)
    rows = [[a, b, int(count)] for a, b, count in zip(edges[:-1], edges[1:], counts, strict=True)]
    columns = [Column("From", "percent"), Column("To", "percent"), Column("Panels", "count")]
    caption = f"Explained variance of {judged.random.size} random panels of this size; the line is this panel."
    return Chart(svg, caption, Grid("random", title, columns, rows))


def _members(judged: PanelEvaluation) -> Section:
    columns = [
        Column("Column", "name"),
        Column("Worth", "percent", "Loss of explained variance of held-out rows without it."),
        Column("Explained by the others", "percent", "Fraction of its variance that the other members explain."),
        Column("Redundant", "text", "Whether that is 95% or more.", choices=True),
        Column("Selected in runs", "percent", "How often a selection of as many columns takes it."),
    ]
    members = sorted(judged.members, key=lambda one: -one.worth)
    rows = [
        [str(one.feature), one.worth, one.r2_from_others, one.redundant, one.selection_frequency] for one in members
    ]
    return Section("members", "Members", [], [Grid("members", "What each member is worth", columns, rows)])


def _advice(judged: PanelEvaluation) -> Section:
    rows = [] if judged.swap is None else [["swap", judged.swap.drop, judged.swap.add, judged.swap.gain]]
    rows += [["add", None, one.add, one.gain] for one in judged.additions]
    columns = [
        Column("Change"),
        Column("Drop", "name"),
        Column("Take", "name"),
        Column("Gain", "percent", "Rise of the explained variance of held-out rows."),
    ]
    sentences = ["The best single swap, and the next columns to add; each gain is beside the changes before it."]
    if judged.swap is None:
        sentences.append("No swap of a member for another column lowers the loss.")
    return Section("advice", "Advice", sentences, [Grid("advice", "Changes worth trying", columns, rows)])


def _columns(judged: PanelEvaluation) -> Section:
    inside = set(judged.panel)
    order = np.argsort(np.where(np.isnan(judged.r2), np.inf, judged.r2), kind="stable")
    rows = [
        [
            str(judged.feature_names[j]),
            "panel" if judged.feature_names[j] in inside else "other",
            float(judged.r2[j]),
        ]
        for j in order
    ]
    columns = [
        Column("Column", "name"),
        Column("Role", choices=True),
        Column("Explained", "percent", "Fraction of its variance on held-out rows that the panel explains."),
    ]
    return Section(
        "columns", "Every column", [], [Grid("columns", "All columns, worst explained first", columns, rows)]
    )
