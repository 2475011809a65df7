"""The page of a selection: what was chosen and why, what can replace it, and how far it can be trusted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base import Explanation
from ._charts import Line, bar_chart, line_chart
from ._chosen import Chosen
from ._columns import columns_section
from ._conditions import conditions_section
from ._page import Chart, Column, Facts, Grid, Notes, Page, Section, counted, percent
from ._stability import frontier_section, stability_section

_SHOWN_MEMBERS = 12
"""Members of a group of look-alikes that are listed."""


def selection_page(chosen: Chosen, title: str | None = None) -> Page:
    """Return the page."""
    k, m = len(chosen.selected), len(chosen.features)
    parts: list[Callable[[Chosen], Section | None]] = [
        _choice,
        conditions_section,
        _replacements,
        _error,
        _stability,
        columns_section,
        _groups,
        _data,
        _settings,
    ]
    sections = [section for part in parts if (section := part(chosen)) is not None]
    return Page(
        title=title or f"{k} of {m} columns" + (f" of {chosen.source}" if chosen.source else ""),
        subtitle=f"Selected by {chosen.method}"
        + ("" if chosen.rows is None else f" from {counted(chosen.rows, 'row')}"),
        figures=_figures(chosen),
        sections=sections,
        version=chosen.versions.get("stableselect", ""),
    )


def _figures(chosen: Chosen) -> list[tuple[str, str, str]]:
    figures = [(f"{len(chosen.selected)} of {len(chosen.features)}", "columns selected", f"by {chosen.method}")]
    errors, overview = chosen.errors, chosen.overview
    if errors is not None and errors.mean_predictor > 0:
        left = 1 - errors.selection / errors.mean_predictor
        random = 1 - errors.random / errors.mean_predictor
        figures.append(
            (percent(left), "of the variance explained", f"on held-out rows; random columns {percent(random)}")
        )
    if chosen.frontier is not None:
        low, high = chosen.frontier.procedure_interval
        about = f"{low:.2f} to {high:.2f}; 1: always the same columns, 0: chance"
        figures.append((f"{chosen.frontier.procedure_stability:.2f}", "stability", about))
    elif overview is not None and overview.stability is not None:
        value = overview.stability.stability.nogueira
        if np.isfinite(value):
            figures.append((f"{value:.2f}", "stability", "1: always the same columns, 0: chance"))
    if overview is not None:
        doubles = sum(len(members) for members, _ in overview.groups)
        figures.append((str(doubles), "columns with look-alikes", f"in {counted(len(overview.groups), 'group')}"))
    return figures


def _choice(chosen: Chosen) -> Section:
    """Return what was chosen, and why."""
    k = len(chosen.selected)
    sentences = [
        f"{chosen.method} selected {k} of {counted(len(chosen.features), 'column')}: those from which all others can "
        "best be reconstructed. The table says what each of them represents: the discarded columns to whose "
        "reconstruction it contributes most."
    ]
    if chosen.optimality_gap == 0:
        which = f"of {counted(k, 'column')}" if chosen.conditions_cost is None else "that meets the conditions"
        sentences.append(f"Proven optimal: no other choice {which} has a lower error on these rows.")
    elif chosen.optimality_gap is not None:
        gap = percent(chosen.optimality_gap)
        sentences.append(f"No other choice of as many columns can lower the error on these rows by more than {gap}.")
    if chosen.path is not None:
        path = chosen.path
        low, high = path.n_features_range
        reached = "reaches" if path.reached else "comes nearest to"
        sentences.append(
            f"The number of columns {reached} {percent(path.target)} of the variance of held-out rows; single folds "
            f"would select {low} to {high}."
        )
    columns = [
        Column("Rank", "count", "Order of selection."),
        Column("Column", "name"),
        Column("Score", "number", "The method's own score; larger is better."),
    ]
    rows: list[list[Any]] = [
        [i, name, score] for i, (name, score) in enumerate(zip(chosen.selected, chosen.scores, strict=True), 1)
    ]
    explained = chosen.explanation
    if explained is not None:
        leads = _leads(explained)
        columns += [
            Column("Represents", "names", "Discarded columns to whose explained variance it contributes most."),
            Column("First for", "count", "Number of discarded columns that it explains more than any other does."),
        ]
        for row, kept in zip(rows, explained.selected, strict=True):
            row += [[(str(name), part) for name, part in kept.represents], leads.get(str(kept.feature), 0)]
    return Section(
        "choice", "What was chosen, and why", sentences, [Grid("choice", "Selected columns", columns, rows, 0)]
    )


def _leads(explained: Explanation) -> dict[str, int]:
    """Return for how many discarded columns each selected one is the first explanation."""
    found: dict[str, int] = {}
    for lost in explained.discarded:
        if lost.explained_by:
            name = str(lost.explained_by[0][0])
            found[name] = found.get(name, 0) + 1
    return found


def _replacements(chosen: Chosen) -> Section | None:
    """Return what to use where a selected column cannot be measured."""
    explained = chosen.explanation
    if explained is None:
        return None
    columns = [
        Column("Selected column", "name"),
        Column("Best replacement", "name", "The discarded column that replaces it at the smallest loss."),
        Column("Cost", "percent", "Rise of the unexplained variance where it is replaced."),
        Column("Likeness", "number", "Correlation of the two."),
        Column("Next best", "names", "Two more, with their cost and likeness."),
        Column("If several fail", "name", "Its own stand-in: no two selected columns have the same one."),
        Column("Its cost", "percent", "Rise of the unexplained variance where only this one is replaced."),
        Column("Its likeness", "number", "Correlation with the selected column."),
    ]
    rows = []
    for kept in explained.selected:
        best = kept.replacements[0] if kept.replacements else None
        more = [
            f"{one.feature} ({percent(one.error_increase)}, {one.correlation:.2f})" for one in kept.replacements[1:]
        ]
        rows.append([str(kept.feature), *_figures_of(best), more, *_figures_of(kept.joint_replacement)])
    sentences = [
        "If one selected column cannot be measured, take its best replacement. If several fail at once, take the "
        "stand-in of each: one column cannot replace two."
    ]
    names = [str(kept.replacement) for kept in explained.selected if kept.replacement is not None]
    often = max(set(names), key=names.count) if names else ""
    if names.count(often) > 1:
        sentences.append(
            f"{often} is the best replacement of {names.count(often)} selected columns: it makes up for the loss by "
            "explaining others, and can do so once only."
        )
    grid = Grid("replacements", "Replacements of the selected columns", columns, rows)
    return Section("replacements", "Replacements", sentences, [grid])


def _figures_of(replacement: Any) -> list[Any]:
    """Return the name, cost and likeness of a replacement; None for each where there is none."""
    if replacement is None:
        return [None, None, None]
    return [str(replacement.feature), replacement.error_increase, round(replacement.correlation, 2)]


def _error(chosen: Chosen) -> Section | None:
    """Return the error on held-out rows: of this number of columns, and against the number."""
    blocks: list[Any] = []
    sentences: list[str] = []
    errors, overview = chosen.errors, chosen.overview
    if errors is not None and errors.mean_predictor > 0:
        base = errors.mean_predictor
        ways = {
            "no columns (the mean)": 1.0,
            "random columns": errors.random / base,
            "this selection": errors.selection / base,
            "principal components": errors.pca / base,
        }
        sentences.append(
            f"Columns were selected on {counted(errors.n_train, 'row')} and all columns reconstructed for "
            f"{errors.n_test} others. Unexplained is the fraction of the variance of these rows that the "
            "reconstruction misses. Principal components are a guide to what is possible, but need every column."
        )
        names = list(ways)
        blocks.append(
            Chart(
                bar_chart("Unexplained variance of held-out rows", names, list(ways.values()), marked=[2]),
                f"Unexplained variance of held-out rows with {counted(errors.n_selected, 'column')}; random: mean of "
                f"{errors.n_draws} draws.",
                Grid(
                    "errors",
                    "Errors on held-out rows",
                    [
                        Column("Reconstructed from"),
                        Column("Unexplained", "percent"),
                        Column("Mean squared error", "number"),
                    ],
                    [[name, part, part * base] for name, part in ways.items()],
                ),
            )
        )
    if overview is not None and overview.curve is not None:
        blocks.append(_curve(overview.curve, len(chosen.selected)))
    if not blocks:
        return None
    return Section("error", "Error on held-out rows", sentences, blocks)


def _curve(curve: Any, k: int) -> Chart:
    lines = [
        Line("selected", curve.selected),
        Line("random", curve.random, curve.random_std),
        Line("principal components", curve.components),
    ]
    svg = line_chart(
        "Unexplained variance of held-out rows against the number of columns",
        curve.n_features,
        lines,
        x_title="number of columns",
        y_title="unexplained",
        here=float(k),
        here_title=f"{k} selected",
    )
    rows = [list(row) for row in zip(curve.n_features, *(line.values for line in lines), curve.random_std, strict=True)]
    columns = [Column("Columns", "count"), *(Column(line.name.capitalize(), "percent") for line in lines)]
    columns.append(Column("Spread of random", "percent"))
    caption = (
        f"Unexplained variance of {curve.n_test} held-out rows against the number of columns. Selected: taken one by "
        f"one by forward search on the other {curve.n_train} rows. Random: mean of {curve.n_draws} draws, with their "
        "standard deviation."
    )
    return Chart(svg, caption, Grid("curve", "Unexplained variance against the number of columns", columns, rows, 0))


def _stability(chosen: Chosen) -> Section | None:
    """Return how far the choice repeats itself."""
    if chosen.frontier is not None:
        return frontier_section(chosen.frontier)
    overview = chosen.overview
    if overview is None or overview.stability is None:
        return None
    return stability_section(overview.stability, chosen.features, set(chosen.selected))


def _groups(chosen: Chosen) -> Section | None:
    """Return the groups of look-alikes."""
    if chosen.overview is None:
        return None
    names, selected = chosen.features, set(chosen.selected)
    rows = []
    for members, correlations in chosen.overview.groups:
        listed = [f"{names[j]} ({r:.2f})" for j, r in zip(members[1:], correlations[1:], strict=True)]
        more = len(listed) - _SHOWN_MEMBERS
        if more > 0:
            listed = [*listed[:_SHOWN_MEMBERS], f"and {more} more"]
        first = names[members[0]]
        rows.append([first, "selected" if first in selected else "discarded", len(members), listed])
    about = (
        "Columns whose correlation with the first of the group is at least 0.9 in size: they say nearly the same. "
        "Selected columns come first, then the others in table order; every column is in one group at most."
    )
    if not rows:
        return Section("groups", "Look-alikes", [about, "There are none."])
    columns = [
        Column("First", "name"),
        Column("Role", choices=True),
        Column("Columns", "count"),
        Column("Others", "names", "With their correlation with the first."),
    ]
    return Section("groups", "Look-alikes", [about], [Grid("groups", "Groups of look-alikes", columns, rows)])


def _data(chosen: Chosen) -> Section:
    """Return what the table holds, and the notes found."""
    pairs = [("Columns to select from", str(len(chosen.features)))]
    if chosen.rows is not None:
        pairs.insert(0, ("Rows", str(chosen.rows)))
    if chosen.source:
        pairs.insert(0, ("Table", chosen.source))
    if chosen.ignored:
        pairs.append(("Columns ignored or carried along", str(chosen.ignored)))
    if chosen.overview is not None:
        summary = chosen.overview.summary
        constant = int(np.sum(~(summary.maximum > summary.minimum)))
        pairs += [
            ("Missing values", str(int(summary.n_missing.sum()))),
            ("Constant columns", str(constant)),
            ("Fingerprint", summary.fingerprint),
        ]
        if chosen.rows is not None and summary.n_samples != chosen.rows:
            pairs.append(("Fingerprint and figures from", f"a sample of {counted(summary.n_samples, 'row')}"))
    blocks: list[Any] = [Facts(pairs)]
    missing = 0 if chosen.overview is None else int(chosen.overview.summary.n_missing.sum())
    filled = ["Curves and look-alikes take the mean of a column for its missing values."] if missing else []
    if chosen.notes or filled:
        blocks.append(Notes([*chosen.notes, *filled]))
    about = (
        "The fingerprint depends on the names and values of these columns, not on the order of rows or the format of "
        "the file: two reports with one fingerprint are about the same numbers."
    )
    return Section("data", "Data", [about] if chosen.overview is not None else [], blocks)


def _settings(chosen: Chosen) -> Section:
    pairs = [("Method", chosen.method), ("Scaling", chosen.scaling)]
    if chosen.ridge is not None:
        pairs.append(("Ridge weight used", f"{chosen.ridge:.3g}"))
    pairs += [(name, _setting_text(value)) for name, value in chosen.settings.items() if name != "conditions"]
    versions = [(name, str(number)) for name, number in chosen.versions.items()]
    return Section("settings", "Settings and versions", [], [Facts(pairs), Facts(versions)])


def _setting_text(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple | np.ndarray) else str(value)
    return text if len(text) <= 300 else text[:299] + "\N{HORIZONTAL ELLIPSIS}"
