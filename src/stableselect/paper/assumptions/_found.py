"""From the runs of the assumptions to what is shown: numbers over splits and seeds, and how they are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...experiments import Comparison, Measure, Stored, Value, part_of
from ...inspection import PowerLawFit
from .._report import NONE, Line, Table, csv_repeats
from ..methods import Protocol, Results, of_one, rate
from ._plan import DATASETS, PUBLISHED_WEIGHT, is_current
from ._task import NETWORK, SEARCH, TASK

MAPS = {
    "search, held": (SEARCH, "held"),
    "search, refitted": (SEARCH, "refitted"),
    "|W|, refitted": (NETWORK, "refitted"),
}
"""Which maps are compared: of which method, and refitted without the sample or held."""
Values = Value | Line | None

_ROUNDING = 1e-9
"""Sides that differ by no more than this fraction of the larger are equal."""
_FEWEST_SIZES = 3
"""Of a slope that is shown."""
_HOLDS = {"core": "plain", "removal": "columns"}
"""What the record of a part holds in any case; one without it is of another version."""


class Found:
    """The finished runs of the task, by what they are.

    Parameters
    ----------
    results : Results
        The results file.

    Attributes
    ----------
    data : list of dict
        The lines of the CSV file so far.
    """

    def __init__(self, results: Results) -> None:
        self.results = results
        self.data: list[Line] = []
        self._items = [
            item
            for item in results.of_task(TASK)
            if item.status == "done" and is_current(item.run) and _HOLDS[item.run.details["part"]] in item.record
        ]

    def any(self, part: str) -> bool:
        """Tell whether there is a finished run of a part."""
        return any(item.run.details["part"] == part for item in self._items)

    def sizes(self, part: str, dataset: str, protocol: Protocol, method: str, **details: Any) -> list[int]:
        """Return the n of which there are runs."""
        return sorted({item.run.details["n"] for item in self.runs(part, dataset, protocol, method, **details)})

    def runs(self, part: str, dataset: str, protocol: Protocol, method: str, **details: Any) -> list[Stored]:
        """Return the runs of a part, of the published lambda unless another is named."""
        if part == "removal":
            details = {"weight": PUBLISHED_WEIGHT, **details}
        wanted = {"part": part, **details}
        return [
            item
            for item in self._items
            if (item.run.dataset, item.run.protocol, item.run.method) == (dataset, protocol, method)
            and all(item.run.details.get(name) == value for name, value in wanted.items())
        ]

    def number(self, measure: Measure, *where: Any, **details: Any) -> Value | None:
        """Return mean and spread over the repeats of one kind of run; ``where`` and ``details`` as in :meth:`runs`."""
        return of_one(self.runs(*where, **details), measure)

    def row(self, measures: Mapping[str, tuple[Measure, tuple[Any, ...]]], n: int) -> dict[str, Value | None]:
        """Return several numbers that stand side by side, each a measure and where it is from, on shared splits."""
        runs = {
            name: [replace(item, record={"value": part_of(item.record, measure)}) for item in self.runs(*where, n=n)]
            for name, (measure, where) in measures.items()
        }
        searched = [name for name, (_, where) in measures.items() if where[-1] == SEARCH]
        compared = Comparison(runs, "value", seedless=searched)
        return {name: compared.value(name, over="repeats") for name in measures}

    def by_size(self, measure: Measure, *where: Any) -> dict[int, Value]:
        """Return a number of the core samples by n, where there is one."""
        numbers = {n: self.number(measure, "core", *where, n=n) for n in self.sizes("core", *where)}
        return {n: value for n, value in numbers.items() if value is not None}

    def slope(self, measure: Measure, *where: Any) -> PowerLawFit | None:
        """Return the power of n that fits a measure of the core samples; None for fewer than three sizes."""
        sizes = self.sizes("core", *where)
        runs = [self.runs("core", *where, n=n) for n in sizes]
        return rate(sizes, runs, measure) if len(sizes) >= _FEWEST_SIZES else None

    def left_out(self, maps: str, *where: Any, **details: Any) -> list[dict[str, Any]]:
        """Return what was measured for every sample left out, over all repeats."""
        return [entry for item in self.runs(*where, **details) for entry in item.record["columns"].get(maps, [])]

    def at_largest(self, maps: str, *where: Any, **details: Any) -> tuple[int, list[dict[str, Any]]]:
        """Return the largest n of which samples were left out, 0 for none, and what was measured there."""
        n = max(self.sizes("removal", *where, **details), default=0)
        return n, self.left_out(maps, "removal", *where, n=n, **details)

    def add(self, part: object, where: Sequence[str], column: str, n: object, measure: str, values: Values) -> None:
        """Add a line to the CSV file; ``where`` is dataset, protocol and method."""
        part = f"assumption {part}" if isinstance(part, int) else part
        names = ("part", "dataset", "protocol", "method", "column", "n", "measure")
        line = dict(zip(names, (part, *where, column, n, measure), strict=True))
        self.data.append(line | (values if isinstance(values, dict) else csv_repeats(values, spread="spread")))

    def table(self, title: str, header: list[str], rows: list[list[str]], notes: list[str]) -> Table:
        """Return a table, with the reason in place of its rows where there are none."""
        if not rows:
            names = dict.fromkeys(self.results.reason(name) for name in DATASETS)
            rows, notes = [["all tables", ", ".join(names), *[NONE] * (len(header) - 2)]], []
        return Table(title, header, rows, notes)


def over_left_out(reduce: Callable[[list[float]], Any], maps: str, measure: str) -> Measure:
    """Return what takes from a record ``reduce`` of a measure over the samples left out."""

    def pick(record: dict[str, Any]) -> float | None:
        known = [entry[measure] for entry in record["columns"].get(maps, []) if entry[measure] is not None]
        return float(reduce(known)) if known else None

    return pick


def holds3(entries: list[dict[str, Any]]) -> tuple[int, int, list[float]]:
    """Return for how many (j, t), of how many with 0 < t < 1, inequality (3) holds, and left over right for every j.

    Where leaving sample j out moves nothing, both sides are 0 and the ratio is taken as 1. Where it moves the core
    samples alone, the inequality fails and the ratio is infinite.
    """
    left, right = (np.array([entry[side][1:-1] for entry in entries]) for side in ("left", "right"))
    holds = left <= right * (1 + _ROUNDING)
    ratios = np.divide(left, right, out=np.where(holds, 1.0, np.inf), where=right > 0)
    return int(np.sum(holds)), left.size, ratios[:, ratios.shape[1] // 2].tolist()


def holds1(entries: list[dict[str, Any]], side: str) -> tuple[int, int, float]:
    """Return for how many (j, t), of how many with t > 0, Proposition 1 holds, and the largest left over right."""
    left, bound = (np.array([entry[name][1:] for entry in entries]) for name in (side, "bound"))
    ratio = np.divide(left, bound, out=np.full_like(left, -np.inf), where=bound > 0)
    return int(np.sum(left <= bound * (1 + _ROUNDING))), left.size, float(ratio.max())


def text(value: Value | None, factor: float = 1.0) -> str:
    """Write a number, in other units if ``factor`` is given."""
    if value is None:
        return NONE
    mean = _short(value.mean * factor)
    if not value.spread:
        return mean
    spread = value.spread * factor
    return f"{mean} ± {f'{spread:.2g}' if spread < 100 else _short(spread)}"


def _short(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}" if abs(value) < 1e6 else f"{value:.2e}"
