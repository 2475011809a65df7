"""What the panels of Figure 3 share: methods and looks, repeats of a cell, its test rows, a measure over repeats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...experiments import Cell, Options, Protocol, Stored
from ...inspection import PowerLawFit, fit_power_law
from ..methods import Results, Rows, Value, cap, find_method, record_part
from ..report import BLUE, ORANGE, VERMILION

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FASHION, COIL = "mnist_fashion", "coil20"
SEARCH = "ScorerSelector search"
NETWORKS = ("|W|", "W^2")
LOOKS: dict[str, dict[str, Any]] = {
    "|W|": {"color": VERMILION, "marker": "o", "markersize": 5},
    "W^2": {"color": ORANGE, "marker": "s", "markersize": 5},
    SEARCH: {"color": BLUE, "marker": "D", "markersize": 5},
}
WORDS = {"|W|": "network |W|", "W^2": "network W^2", SEARCH: "search"}
PUBLISHED_WEIGHT = 1 / 128
REPEATS = 5
"""Of a setting: seeds under "paper", of which 0 is the published one, and draws of rows under "sound"."""
PUBLISHED_EPOCHS = 200
FAST_NOTE = "A fast run: small tables, a few points, few steps. Not for comparison."
BOUNDED = (
    "scaled to [0, 1] by the training rows and on the test rows cut to that range (a pixel that hardly varies among "
    "the training rows would reach many times its range on others)"
)
"""What :func:`bounded_test_rows` does, in words."""
PROTOCOLS: tuple[Protocol, ...] = ("paper", "sound")


def repeated(cell: Cell, number: int) -> Iterator[Cell]:
    """Give the repeats of a cell: other seeds under "paper", other rows and seeds under "sound".

    The search does not depend on a seed, so it has one cell under "paper".
    """
    seeded = find_method(cell.method).seeded
    for repeat in range(number if seeded or cell.protocol == "sound" else 1):
        split, seed = (0, repeat) if cell.protocol == "paper" else (repeat, 0)
        yield replace(cell, split=split, seed=seed)


def first_cell(dataset: str, method: str, protocol: Protocol, k: int, options: Options) -> Cell:
    """Return the cell of the first repeat, with the step limit of its mode."""
    limit = cap(method, protocol, dataset, fast=options.fast)
    return Cell(dataset, method, protocol, 0, 0, k, options.mode, limit)


def bounded_test_rows(rows: Rows, protocol: Protocol) -> np.ndarray:
    """Return the rows to test on; under "sound" cut to [0, 1], the range of the training rows.

    The theory speaks of bounded rows. A pixel that hardly varies among the training rows reaches many times its range
    on others, and would alone decide the largest change of a loss.
    """
    return rows.X_test if protocol == "paper" else np.clip(rows.X_test, 0.0, 1.0)


def current(results: Results, task: str) -> list[Stored]:
    """Return the cells of a task in a fixed order, without those of an earlier limit on the steps."""
    found = [
        item
        for item in results.of_task(task)
        if item.cell.cap == cap(item.cell.method, item.cell.protocol, item.cell.dataset, fast=item.cell.mode == "fast")
    ]
    return sorted(found, key=lambda item: item.cell.key)


def over_repeats(items: Iterable[Stored], measure: str) -> Value | None:
    """Return the mean of a measure over repeats with its standard deviation, None where no cell has it."""
    items = list(items)
    numbers = measured(items, measure)
    if not numbers:
        return None
    spread = float(np.std(numbers, ddof=1)) if len(numbers) > 1 else None
    return Value(float(np.mean(numbers)), spread, len(numbers), sum(item.status == "failed" for item in items))


def measured(items: Iterable[Stored], measure: str) -> list[float]:
    """Return a measure of every finished cell that has it; dots name its parts."""
    return list(_by_repeat(items, measure).values())


def rate(sizes: Sequence[int], items: Sequence[Iterable[Stored]], measure: str) -> PowerLawFit | None:
    """Return the power of n that fits a measure, from the repeats that have every size; None where there is none."""
    found = [_by_repeat(cells, measure) for cells in items]
    whole = [repeat for repeat in found[0] if all(repeat in values for values in found)]
    table = [[values[repeat] for values in found] for repeat in whole]
    return fit_power_law(sizes, table) if table and min(min(row) for row in table) > 0 else None


def _by_repeat(items: Iterable[Stored], measure: str) -> dict[tuple[int, int], float]:
    """Return a measure by split and seed."""
    found = {
        (item.cell.split, item.cell.seed): record_part(item.record, measure) for item in items if item.status == "done"
    }
    return {repeat: float(number) for repeat, number in found.items() if isinstance(number, int | float)}


def drawn_legend(figure: Figure, ncols: int) -> None:
    """Put a legend above the panels of a figure, of everything that some panel shows."""
    pairs = (pair for axis in figure.axes for pair in zip(*axis.get_legend_handles_labels(), strict=True))
    handles = {label: handle for handle, label in pairs}
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=ncols, fontsize="small")


def epochs(network: str, *, fast: bool) -> int:
    """Return how many epochs a network is trained for; the limit is the same for all tables here."""
    return cap(network, "paper", COIL, fast=fast) or PUBLISHED_EPOCHS


def span(numbers: Sequence[float], digits: str = ".2f") -> str:
    """Write the least and the largest of some numbers."""
    low, high = (format(number, digits) for number in (min(numbers), max(numbers)))
    return low if low == high else f"{low} to {high}"


def missing(results: Results, dataset: str, items: Iterable[Stored]) -> str:
    """Say why a value is missing."""
    statuses = {item.status for item in items}
    return "failed" if "failed" in statuses else "running" if "running" in statuses else results.reason(dataset)


def compact(value: Value | None, otherwise: str, unit: float = 1.0) -> str:
    """Write a value with three digits, whatever its size, and its spread."""
    if value is None:
        return otherwise
    spread = "" if value.spread is None else f" ± {value.spread * unit:.2g}"
    share = f" ({value.count} of {value.count + value.failed})" if value.failed else ""
    return f"{value.mean * unit:.3g}{spread}{share}"
