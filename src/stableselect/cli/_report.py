"""Results as tables for a terminal of 80 columns, with or without colour."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from .._files import printable
from ..base import Explanation
from ..inspection import HeldOutErrors, PanelEvaluation
from ..persistence import BatchFigures, TableSelection
from ..subset import ConditionsCost, SelectionPath, StabilityFrontier
from ._shell import counted

_ROWS = 20
"""Most rows shown of a table; the selection file holds them all."""
_UNITS = {"none": "in original units", "minmax": "after min-max scaling", "standard": "after standard scaling"}
_SCALE = "1: always the same columns, 0: no better than chance"


def selection_report(selection: TableSelection, targets: Sequence[Path]) -> Iterator[RenderableType]:
    """Yield what there is to say of a selection; ``targets`` are the files that hold it, if any."""
    k, cost = len(selection.selected), selection.conditions_cost
    file = printable(targets[1].name) if targets else None
    of = f"{k} of {counted(len(selection.features), 'column')} of {printable(selection.source)}"
    ridge = "" if selection.ridge is None else f" Ridge weight: {selection.ridge:.3g}."
    yield f"{selection.method} selected {of} ({counted(selection.rows, 'row')}).{ridge}"
    if selection.optimality_gap is not None:
        yield gap_line(selection.optimality_gap, k, cost is not None)
    if cost is not None:
        yield conditions_line(cost, k)
    if selection.path is not None:
        yield path_lines(selection.path)
    if selection.stability is not None:
        yield stability_lines(selection.stability)
    if file is not None:
        yield selected_table(selection, file)
    if selection.errors is not None:
        yield errors_table(selection.errors, selection.scaling)
    if selection.batches is not None:
        yield batch_table(selection.batches)
    if selection.explanation is not None:
        yield from explanation_tables(selection.explanation, file)


def selected_table(selection: TableSelection, file: str) -> RenderableType:
    """Return the selected columns in order of selection."""
    table = _table("rank", "column", "position", "score", text=(1,))
    for rank, column in enumerate(selection.selected[:_ROWS], 1):
        table.add_row(str(rank), _text(column.name), str(column.index), f"{column.score:.4g}")
    words = "Rank: order of selection. Position: in the table, from 0. Score: the method's own, larger is better."
    return Group(_with_rest(table, len(selection.selected), file), Text(words, style="dim"))


def gap_line(gap: float, k: int, conditions: bool = False) -> RenderableType:
    """Return how far a selection can be from the best, in one sentence."""
    if gap == 0:
        which = "that meets the conditions" if conditions else f"of {counted(k, 'column')}"
        return Text(f"Proven optimal: no other choice {which} has a lower error on these rows.")
    return Text(f"No other choice can lower the error on these rows by more than {_percent(gap)}.")


def conditions_line(cost: ConditionsCost, k: int) -> RenderableType:
    """Return what conditions cost against the free choice, in a sentence or two."""
    lost = 100 * max(0.0, cost.free_explained_variance - cost.explained_variance)
    spent = "" if cost.spent is None else f" The selected columns cost {cost.spent:g}."
    return Text(
        f"Conditions: {_percent(cost.explained_variance)} of the variance of these rows is explained; the free choice "
        f"of {counted(k, 'column')} explains {_percent(cost.free_explained_variance)}, so they cost {lost:.1f} "
        f"points.{spent}"
    )


def path_lines(path: SelectionPath) -> RenderableType:
    """Return how the number of columns was chosen, in a few sentences."""
    k, (low, high) = path.n_features, path.n_features_range
    fraction = f"{path.explained_variance_ratio[k - 1]:.1%} of the variance of held-out rows"
    if path.reached:
        why = f"{100 * path.target:g}% asked for"
    else:
        why = f"the most that can be explained; {100 * path.target:g}% asked for, so lower --min-explained-variance"
    explain = "explains" if k == 1 else "explain"
    spread = f"Single folds would select {low}" + (f" to {high}." if high > low else ".")
    return Text(f"{counted(k, 'column')} {explain} {fraction} ({why}). {spread}")


def stability_lines(frontier: StabilityFrontier) -> RenderableType:
    """Return how stable the whole procedure is, how it searched, and what that costs."""
    i = frontier.chosen
    if np.isnan(frontier.stability[i]):
        return Text("There is only one possible selection, so its stability is undefined.")
    low, high = frontier.procedure_interval
    lines = (
        f"Stability {frontier.procedure_stability:.2f} [{low:.2f}, {high:.2f}]: the whole procedure repeated "
        f"{frontier.n_repeats} times without a part of the rows ({_SCALE}).\n"
        f"Setting: {frontier.describe(i)} (of {frontier.error.size} tried). "
        f"Held-out error: {above_least(frontier.error[i], frontier.error.min())} above the lowest "
        f"({100 * frontier.max_error_increase:g}% allowed)."
    )
    return Text(lines if frontier.reached else f"{lines}\n{not_reached(frontier)}")


def not_reached(frontier: StabilityFrontier) -> str:
    """Return what to do where the choice is not as stable as asked for."""
    return (
        f"A stability of {frontier.target:g} is not reached: the best to be had within "
        f"{100 * frontier.max_error_increase:g}% more error is {frontier.procedure_stability:.2f}. Lower "
        "--min-stability, raise --max-error-increase, or change -k."
    )


def above_least(error: float, least: float) -> str:
    """Return how far an error is above the lowest, in percent."""
    if least <= 0:
        return "0.0%" if error <= 0 else "-"
    return _percent(error / least - 1) if error < 11 * least else ">1000%"


def frontier_table(frontier: StabilityFrontier) -> RenderableType:
    """Return the settings that none beats, lowest error first, with a mark at the chosen one."""
    table = _table("", "error", "above lowest", "stability", "setting", text=(0, 4))
    least, seen = frontier.error.min(), set()
    shown = np.flatnonzero(frontier.pareto_optimal)
    # Settings with equal figures are listed once, by the chosen one or else by the first.
    for i in sorted({*shown.tolist(), frontier.chosen}, key=lambda i: (frontier.error[i], i != frontier.chosen)):
        if (frontier.error[i], frontier.stability[i]) in seen:
            continue
        seen.add((frontier.error[i], frontier.stability[i]))
        chosen = i == frontier.chosen
        table.add_row(
            ">" if chosen else "",
            f"{frontier.error[i]:#.4g}",
            above_least(frontier.error[i], least),
            f"{frontier.stability[i]:.2f} ± {frontier.standard_error[i]:.2f}",
            frontier.describe(i),
            style="bold" if chosen else "",
        )
    return table


def frontier_words(scaling: str) -> RenderableType:
    """Return what the headings and settings of a frontier mean."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_row("error", f"mean squared error on held-out rows, {_UNITS[scaling]}")
    table.add_row("stability", f"Nogueira's measure with this setting held fixed, ± standard error ({_SCALE})")
    table.add_row(
        "setting",
        "the default is the choice without regard to stability; votes favour columns that are also selected on parts "
        "of the rows; a larger ridge favours columns that explain many others",
    )
    return table


def errors_table(errors: HeldOutErrors, scaling: str) -> RenderableType:
    """Return the held-out errors, smallest possible first and useless last."""
    table = _table("reconstructed from", "error", "unexplained", text=(0,))

    def row(label: str, error: float, style: str = "") -> None:
        left = f"{error / errors.mean_predictor:.1%}" if errors.mean_predictor else "-"
        table.add_row(label, f"{error:.4g}", left, style=style)

    selected = counted(errors.n_selected, "selected column")
    row(f"{counted(errors.n_selected, 'principal component')} (a guide, not a bound)", errors.pca)
    row(f"{selected} (selected on the other rows)", errors.selection, "bold")
    row(f"{counted(errors.n_selected, 'random column')} (mean of {errors.n_draws} draws)", errors.random)
    row("no columns (the mean of each column)", errors.mean_predictor)
    title = f"\nReconstruction of {counted(errors.n_test, 'held-out row')} (mean squared error, {_UNITS[scaling]}):"
    return Group(Text(title), table)


def batch_table(batches: BatchFigures) -> RenderableType:
    """Return how much of the variance within each batch the selected columns explain, worst first."""
    table = _table(printable(batches.column), "explained", text=(0,))
    for label, explained in sorted(zip(batches.labels, batches.explained, strict=True), key=lambda one: one[1])[:_ROWS]:
        table.add_row(_text(label), _percent(explained))
    parts: list[RenderableType] = [Text("\nVariance within each batch that the selected columns explain, worst first:")]
    parts.append(_with_rest(table, len(batches.labels), None))
    if batches.serve_one:
        named = ", ".join(printable(name) for name in batches.serve_one)
        parts.append(Text(f"Of use in one batch only: {named}."))
    return Group(*parts)


def explanation_tables(explanation: Explanation, file: str | None) -> list[RenderableType]:
    """Return what the selected columns explain of the discarded ones, and replacements of the selected ones."""
    discarded = _table("discarded column", "explained", "mostly by", text=(0, 2))
    for gone in explanation.discarded[:_ROWS]:
        constant = math.isnan(gone.r2)
        by = ", ".join(f"{name} ({_percent(fraction)})" for name, fraction in gone.explained_by[:2])
        discarded.add_row(
            _text(gone.feature), "constant" if constant else _percent(gone.r2), _text("" if constant else by)
        )
    selected = _table("selected column", "best replacement", "error rises by", "alike", "or", text=(0, 1, 4))
    stands = _table("selected column", "represents", text=(0, 1))
    for kept in explanation.selected[:_ROWS]:
        replacement = "none left" if kept.replacement is None else kept.replacement
        alike = f"{kept.replacements[0].correlation:.2f}" if kept.replacements else "-"
        more = ", ".join(f"{one.feature} ({_percent(one.error_increase)})" for one in kept.replacements[1:])
        selected.add_row(_text(kept.feature), _text(replacement), _percent(kept.error_increase), alike, _text(more))
        for_ = ", ".join(f"{name} ({_percent(part)})" for name, part in kept.represents)
        stands.add_row(_text(kept.feature), _text(for_ or "itself"))
    parts: list[RenderableType] = [
        Text("\nVariance of each discarded column that the selected ones explain, worst first:"),
        _with_rest(discarded, len(explanation.discarded), file),
        Text("\nIf a selected column is not available (rise in percent of the table's variance; alike: correlation):"),
        _with_rest(selected, len(explanation.selected), file),
        Text("\nDiscarded columns that each selected one explains most of:"),
        _with_rest(stands, len(explanation.selected), file),
    ]
    named = [kept.replacement for kept in explanation.selected if kept.replacement is not None]
    if len(set(named)) < len(named):
        words = "\nSome replacements are named twice. If several columns fail, take for each:"
        parts += [Text(words), _with_rest(_own_replacements(explanation), len(explanation.selected), file)]
    return parts


def _own_replacements(explanation: Explanation) -> Table:
    """Return a replacement of every selected column that no other has."""
    table = _table("selected column", "replacement of its own", "error rises by", "alike", text=(0, 1))
    for kept in explanation.selected[:_ROWS]:
        own = kept.joint_replacement
        figures = ["-", "-"] if own is None else [_percent(own.error_increase), f"{own.correlation:.2f}"]
        table.add_row(_text(kept.feature), _text("none left" if own is None else own.feature), *figures)
    return table


def evaluation_tables(judged: PanelEvaluation, scaling: str, file: str | None) -> list[RenderableType]:
    """Return how a panel compares, what its columns are worth, and what would improve it."""
    labelled = any(not math.isnan(row.accuracy) for row in judged.comparison)
    compared = _table("", "explained", "neighbours", *["accuracy"] * labelled, text=(0,))
    k = len(judged.panel)
    words = {
        "panel": "the panel",
        "selected": f"{counted(k, 'column')} selected on the other rows",
        "random": f"{counted(k, 'random column')} (mean of {judged.random.size} panels)",
        "components": counted(k, "principal component"),
        "all": "all columns",
        "none": "no columns (the mean; the commonest label)" if labelled else "no columns (the mean)",
    }
    for row in judged.comparison:
        figures = [row.explained_variance, row.neighbor_overlap, *[row.accuracy] * labelled]
        compared.add_row(words[row.name], *map(_percent, figures), style="bold" if row.name == "panel" else "")
    members = _table("column of the panel", "worth", "by the others", "selected", "", text=(0, 4))
    for one in sorted(judged.members, key=lambda one: -one.worth)[:_ROWS]:
        mark = "redundant" if one.redundant else ""
        figures = [one.worth, one.r2_from_others, one.selection_frequency]
        members.add_row(_text(one.feature), *map(_percent, figures), mark)
    few = " (random: mean of 10 panels, as for accuracy)" if judged.random.size > 10 else ""
    legend = (
        f"Explained: variance of held-out rows, {_UNITS[scaling]}. Neighbours: how many of a row's "
        f"{judged.n_neighbors} nearest rows stay the nearest{few}. Worth: explained variance lost without the column. "
        "By the others: its own variance that they explain. Selected: how often it is among as many columns selected "
        "on a part of the rows."
    )
    swap = judged.swap
    advice = _table("to improve the panel", "column", "explained", text=(0, 1))
    if swap is not None:
        advice.add_row(Text(f"swap {printable(str(swap.drop))} for"), _text(swap.add), _change(swap.gain))
    for place, step in enumerate(judged.additions):
        advice.add_row("then add" if place else "add", _text(step.add), _change(step.gain))
    lost = judged.discarded
    worst = _table("explained worst", "", "explained best", "", text=(0, 2))
    for low, high in list(zip(lost, reversed(lost), strict=True))[:3]:
        worst.add_row(_text(low[0]), _percent(low[1]), _text(high[0]), _percent(high[1]))
    parts: list[RenderableType] = [Text(""), compared, Text("")]
    parts += [_with_rest(members, k, file), Text(legend, style="dim"), Text(""), advice]
    if swap is None:
        parts.append(Text("No swap of one column lowers the error on these rows."))
    return [*parts, Text(""), worst] if lost else parts


def comparison_legend(scaling: str) -> RenderableType:
    """Return what the headings of a comparison of methods mean."""
    legend = (
        f"Error: mean squared error on held-out rows, {_UNITS[scaling]}, by one ridge regression for all. Vs best: "
        "beside the lowest error, ± half the 95% interval over the paired folds. Explained: part of the variance. "
        "Stable: agreement of the columns selected on different rows; seeds: on the same rows with different seeds "
        f"({_SCALE}). Seconds: to select once, on one thread."
    )
    return Text(f"\n{legend}", style="dim")


def _change(fraction: float) -> str:
    return f"{round(100 * fraction, 1) + 0.0:+.1f}%"


def _percent(fraction: float) -> str:
    """Return a fraction in percent; what rounds to zero has no sign."""
    return "-" if math.isnan(fraction) else f"{round(100 * fraction, 1) + 0.0:.1f}%"


def _table(*headings: str, text: tuple[int, ...]) -> Table:
    """Return an empty table whose columns are numbers but for those in ``text``."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for j, heading in enumerate(headings):
        # What may wrap gives way first, and names end in an ellipsis all the same: numbers are never cut.
        side: Literal["left", "right"] = "left" if j in text else "right"
        table.add_column(heading, justify=side, no_wrap=j not in text, overflow="ellipsis")
    return table


def _text(value: str | int) -> Text:
    return Text(printable(str(value)), overflow="ellipsis", no_wrap=True)


def _with_rest(table: Table, rows: int, file: str | None) -> RenderableType:
    where = "use -o to write them all" if file is None else f"{file} has them all"
    return table if rows <= _ROWS else Group(table, Text(f"... and {rows - _ROWS} more; {where}."))
