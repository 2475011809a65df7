"""The page of a comparison: methods side by side on one table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..experiments import MethodComparison, MethodRow
from ._charts import bar_chart
from ._page import Chart, Column, Grid, Page, Section, counted, data_section, percent

_FIGURES = {
    "error": Column("Error", "number", "Mean squared error of reconstructing held-out rows."),
    "error_se": Column("Standard error", "number", "Of the error, over the splits."),
    "ratio": Column("Against the best", "number", "Error over that of the method with the lowest one, split by split."),
    "ratio_low": Column("From", "number", "Lower end of its 95% interval."),
    "ratio_high": Column("To", "number", "Upper end of its 95% interval."),
    "explained_variance": Column("Explained", "percent", "Fraction of the variance of held-out rows."),
    "accuracy": Column("Accuracy", "percent", "Fraction of held-out labels that extra trees get right."),
    "stability": Column(
        "Stability", "number", "Agreement of what is selected on different rows: 1 always the same, 0 chance."
    ),
    "seed_stability": Column(
        "Over seeds", "number", "Agreement over seeds on the same rows; 1 where no seed plays a part."
    ),
    "seconds": Column("Seconds", "number", "Median time to select."),
}
"""By field of a row: its column."""
_OFTEN = 30
"""Columns that are listed by how many methods select them."""


def comparison_page(
    found: MethodComparison, title: str | None = None, source: str = "", notes: Sequence[str] = ()
) -> Page:
    """Return the page."""
    measured = [row for row in found.rows if not math.isnan(row.error)]
    methods = [row for row in measured if row.kind == "method"]
    of = f"{found.n_features_to_select} of {counted(found.n_features, 'column')}"
    figures = [(str(len(methods)), "methods compared", of)]
    if methods:
        figures.append((methods[0].name, "lowest error", f"explains {percent(methods[0].explained_variance)}"))
        if known := [row for row in methods if not math.isnan(row.stability)]:
            stable = max(known, key=lambda row: row.stability)
            figures.append((stable.name, "most stable", f"{stable.stability:.2f}; 1: always the same columns"))
    facts = [
        *([("Table", source)] if source else []),
        ("Rows", str(found.n_samples)),
        ("Columns", str(found.n_features)),
        ("Columns selected", str(found.n_features_to_select)),
        ("Splits", str(found.n_splits)),
        ("Seeds", str(found.n_seeds)),
        ("Fingerprint", found.fingerprint),
    ]
    return Page(
        title=title or f"Methods compared{f' on {source}' if source else ''}",
        subtitle=f"{of}, {counted(found.n_samples, 'row')}",
        figures=figures,
        sections=[
            _results(found, measured),
            *([_often(found)] if found.selections else []),
            data_section(facts, [*notes, *found.notes()]),
        ],
    )


def _results(found: MethodComparison, measured: list[MethodRow]) -> Section:
    figures = {name: column for name, column in _FIGURES.items() if found.labelled or name != "accuracy"}
    kind = Column("Kind", choices=True, about="References are there to compare with.")
    columns = [Column("Method", "name"), kind, *figures.values()]
    rows = [[row.name, row.kind, *(getattr(row, name) for name in figures)] for row in found.rows]
    grid = Grid("methods", "Methods by their error, then references", columns, rows)
    sentences = [
        "Every method selected as many columns on the same parts of the rows, and the other rows were reconstructed "
        "from them by one and the same regression. Random columns, principal components and the mean stand beside "
        "them: a method that is no better than random columns is worth nothing, and principal components need every "
        "column."
    ]
    blocks: list[Any] = []
    if measured:
        best = [row.name for row in measured].index(found.best.name) if found.best in measured else 0
        explained = [row.explained_variance for row in measured]
        bars = bar_chart(
            "Explained variance of held-out rows", [row.name for row in measured], explained, marked=[best]
        )
        blocks.append(Chart(bars, "Explained variance of held-out rows, by method.", None))
    return Section("methods", "Methods", sentences, [*blocks, grid])


def _often(found: MethodComparison) -> Section:
    """Return which columns the methods select, by how many of them do."""
    names = found.feature_names or [f"x{j}" for j in range(found.n_features)]
    shares = {}
    for method, runs in found.selections.items():
        if runs and next((row.kind for row in found.rows if row.name == method), "") == "method":
            counts = np.zeros(found.n_features)
            for run in runs:
                counts[run] += 1
            shares[method] = counts / len(runs)
    if not shares:
        return Section("agreement", "Which columns", ["No method selected any."])
    mean = np.mean(list(shares.values()), axis=0)
    order = np.argsort(-mean, kind="stable")[:_OFTEN]
    columns = [Column("Column", "name"), Column("All methods", "percent", "Mean over the methods.")]
    columns += [Column(method, "percent") for method in shares]
    rows = [[names[j], float(mean[j]), *(float(one[j]) for one in shares.values())] for j in order]
    about = f"In what fraction of its runs each method selects a column: the {len(order)} most frequent."
    return Section(
        "agreement", "Which columns", [about], [Grid("agreement", "How often columns are selected", columns, rows)]
    )
