"""Results as tables for a terminal of 80 columns, with or without colour."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..io import HeldOutErrors, Selection, shown
from ..subset import StabilityFrontier

_ROWS = 20
"""Most rows shown of a table; the selection file holds them all."""
_UNITS = {"none": "original units", "minmax": "min-max scaled", "standard": "standard scaled"}
_SCALE = "1: same columns, 0: chance"


def selected_table(selection: Selection) -> RenderableType:
    """Return the kept columns in order of selection."""
    table = _table("rank", "column", "position", "score", text=(1,))
    for rank, column in enumerate(selection.selected[:_ROWS], 1):
        table.add_row(str(rank), _text(column.name), str(column.index), f"{column.score:.4g}")
    return _with_rest(table, len(selection.selected))


def path_line(path: dict[str, Any]) -> RenderableType:
    """Return how the number of columns was chosen, in a sentence or two."""
    k, (low, high) = path["n_features"], path["n_features_range"]
    share = f"{path['explained_variance_ratio'][k - 1]:.1%} of the variance of held-out rows"
    if not path["reached"]:
        why = "the most that any number explains"
    else:
        why = "the elbow of their error" if path["rule"] == "elbow" else f"the target is {100 * path['target']:g}%"
    columns = "1 column explains" if k == 1 else f"{k} columns explain"
    spread = f"Single folds would keep {low}" + (f" to {high}." if high > low else ".")
    return Text(f"{columns} {share} ({why}). {spread}")


def stability_lines(choice: dict[str, Any]) -> RenderableType:
    """Return how stable a choice is on parts of the rows, how it was searched, and what that costs."""
    if choice["stability"] is None:
        return Text("There is one choice only, so its stability is undefined.")
    if choice["target"] is None:
        why = f"{100 * choice['max_error_increase']:g}% allowed"
    else:
        why = f"stability {choice['target']:g} {'' if choice['reached'] else 'not reached, though '}asked for"
    stable = f"{choice['stability']:.2f} ± {choice['standard_error']:.2f}"
    setting = f"{choice['setting']} (of {choice['n_settings']} tried)"
    cost = above_least(choice["error"], choice["least_error"])
    return Text(
        f"Stability {stable} over parts of the rows ({_SCALE}).\n"
        f"Setting: {setting}. Held-out error: {cost} above the least ({why})."
    )


def above_least(error: float, least: float) -> str:
    """Return how far an error is above the least, in percent."""
    if least <= 0:
        return "0.0%" if error <= 0 else "-"
    return _percent(error / least - 1) if error < 11 * least else ">1000%"


def frontier_table(frontier: StabilityFrontier) -> RenderableType:
    """Return the settings that none beats, least error first, with a mark at the one taken."""
    table = _table("", "error", "above least", "stability", "setting", text=(0, 4))
    least, seen = frontier.error.min(), set()
    shown = np.flatnonzero(frontier.pareto_optimal)
    # Ways that come to the same are listed once, by the one taken or else by the first.
    for i in sorted({*shown.tolist(), frontier.chosen}, key=lambda i: (frontier.error[i], i != frontier.chosen)):
        if (frontier.error[i], frontier.stability[i]) in seen:
            continue
        seen.add((frontier.error[i], frontier.stability[i]))
        stable = f"{frontier.stability[i]:.2f} ± {frontier.standard_error[i]:.2f}"
        taken = i == frontier.chosen
        table.add_row(
            ">" if taken else "",
            f"{frontier.error[i]:#.4g}",
            above_least(frontier.error[i], least),
            stable,
            frontier.describe(i),
            style="bold" if taken else "",
        )
    return table


def frontier_words(scaling: str) -> RenderableType:
    """Return what the headings and settings of a frontier mean."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_row("error", f"mean squared error per cell on held-out rows, {_UNITS[scaling]}")
    table.add_row("stability", f"Nogueira's over parts of the rows, ± standard error ({_SCALE})")
    table.add_row(
        "setting",
        "forward search adds columns one by one, exchange then swaps them; votes favour what parts of the rows would "
        "keep too; ridge favours columns that stand for many",
    )
    return table


def errors_table(errors: HeldOutErrors, scaling: str) -> RenderableType:
    """Return the held-out errors, smallest possible first and useless last."""
    table = _table("rebuilt from", "error", "of the mean row's", text=(0,))

    def row(label: str, error: float, style: str = "") -> None:
        share = f"{error / errors.mean_predictor:.1%}" if errors.mean_predictor else "-"
        table.add_row(label, f"{error:.4g}", share, style=style)

    row("principal components (a guide to the floor)", errors.floor)
    row("columns chosen without these rows", errors.selection, "bold")
    row(f"random columns (mean of {errors.random_draws} draws)", errors.random)
    row("the mean row (no columns at all)", errors.mean_predictor)
    title = f"\nError on {errors.test_rows} held-out rows (mean squared error per cell, {_UNITS[scaling]}):"
    return Group(Text(title), table)


def explanation_tables(explanation: dict[str, Any]) -> list[RenderableType]:
    """Return what the kept columns say of the dropped ones, and what could stand in for the kept ones."""
    dropped = _table("dropped column", "explained", "mostly by", text=(0, 2))
    for entry in explanation["dropped"][:_ROWS]:
        explained_by = ", ".join(f"{shown(name)} ({_percent(share)})" for name, share in entry["explained_by"][:2])
        explained = "constant" if entry["r2"] is None else _percent(entry["r2"])
        dropped.add_row(_text(entry["column"]), explained, "" if entry["r2"] is None else _text(explained_by))
    kept = _table("kept column", "best replacement", "unexplained rises by", text=(0, 1))
    for entry in explanation["kept"][:_ROWS]:
        replacement = "none left" if entry["replacement"] is None else entry["replacement"]
        kept.add_row(_text(entry["column"]), _text(replacement), _percent(entry["error_increase"]))
    return [
        Text("\nVariance of each dropped column that the kept ones explain, worst first:"),
        _with_rest(dropped, len(explanation["dropped"])),
        Text("\nWhat to use where a kept column cannot be had:"),
        _with_rest(kept, len(explanation["kept"])),
    ]


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _table(*headings: str, text: tuple[int, ...]) -> Table:
    """Return an empty table whose columns are numbers but for those in ``text``."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for j, heading in enumerate(headings):
        # What may wrap gives way first, and names end in an ellipsis all the same: numbers are never cut.
        side: Literal["left", "right"] = "left" if j in text else "right"
        table.add_column(heading, justify=side, no_wrap=j not in text, overflow="ellipsis")
    return table


def _text(value: str) -> Text:
    return Text(shown(value), overflow="ellipsis", no_wrap=True)


def _with_rest(table: Table, rows: int) -> RenderableType:
    return table if rows <= _ROWS else Group(table, Text(f"... and {rows - _ROWS} more; -o writes them all."))
