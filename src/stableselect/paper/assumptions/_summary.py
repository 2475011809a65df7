"""From the cells of the assumptions to the numbers shown: one a cell, then mean and spread over splits and seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from ...experiments import Cell, Protocol
from ..methods import Results
from ._plan import PUBLISHED_WEIGHT, is_current
from ._task import TASK

_ROUNDING = 1e-9
"""Sides that differ by no more than this share of the larger are equal."""
_LEVEL = 0.95
_HOLDS = {"core": "plain", "removal": "columns"}
"""What the record of a part holds in any case; one without it is of another version."""


@dataclass(frozen=True)
class Number:
    """A number over repeats: mean, standard deviation (None for one repeat) and how many."""

    mean: float
    spread: float | None
    count: int

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Number | None:
        """Return the number of some repeats; None where there are none."""
        known = [float(value) for value in values if value is not None]
        if not known:
            return None
        spread = float(np.std(known, ddof=1)) if len(known) > 1 else None
        return cls(float(np.mean(known)), spread, len(known))

    def times(self, factor: float) -> Number:
        """Return the number in other units."""
        return Number(self.mean * factor, None if self.spread is None else self.spread * factor, self.count)

    def __str__(self) -> str:
        if self.spread is None or self.spread == 0:
            return _short(self.mean)
        spread = f"{self.spread:.2g}" if self.spread < 100 else _short(self.spread)
        return f"{_short(self.mean)} ± {spread}"


def _short(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}" if abs(value) < 1e6 else f"{value:.2e}"


class Found:
    """The finished cells of the task, by what they are.

    Parameters
    ----------
    results : Results
        The results file.
    """

    def __init__(self, results: Results) -> None:
        self._items = [
            (item.cell, item.record)
            for item in results.of_task(TASK)
            if item.status == "done" and is_current(item.cell) and _HOLDS[item.cell.details["part"]] in item.record
        ]

    def any(self, part: str) -> bool:
        """Tell whether there is a finished cell of a part."""
        return any(cell.details["part"] == part for cell, _ in self._items)

    def sizes(self, part: str, dataset: str, protocol: Protocol, method: str) -> list[int]:
        """Return the n of which there are cells."""
        return sorted({cell.details["n"] for cell, _ in self.cells(part, dataset, protocol, method)})

    def by_size(self, measure: str, form: str, dataset: str, protocol: Protocol, method: str) -> list[dict[int, float]]:
        """Return for every repeat a measure of its core samples by n; ``form`` names the part of the record."""
        repeats: dict[tuple[int, int], dict[int, float]] = {}
        for cell, record in self.cells("core", dataset, protocol, method):
            repeats.setdefault((cell.split, cell.seed), {})[cell.details["n"]] = record[form][measure]
        return [dict(sorted(by_size.items())) for _, by_size in sorted(repeats.items())]

    def cells(
        self, part: str, dataset: str, protocol: Protocol, method: str, **details: Any
    ) -> list[tuple[Cell, dict]]:
        """Return cells and records of a part, of the published lambda unless another is named."""
        if part == "removal":
            details = {"weight": PUBLISHED_WEIGHT, **details}
        wanted = {"part": part, **details}
        return [
            (cell, record)
            for cell, record in self._items
            if (cell.dataset, cell.protocol, cell.method) == (dataset, protocol, method)
            and all(cell.details.get(name) == value for name, value in wanted.items())
        ]

    def number(self, pick: Callable[[dict], float | None], *where: Any, **details: Any) -> Number | None:
        """Return a number over the repeats of one kind of cell; ``where`` and ``details`` as in :meth:`cells`."""
        return Number.of(pick(record) for _, record in self.cells(*where, **details))

    def left_out(self, column: str, *where: Any, **details: Any) -> list[dict[str, Any]]:
        """Return what was measured for every row left out, over all repeats."""
        return [entry for _, record in self.cells(*where, **details) for entry in record["columns"].get(column, [])]


def taken(*names: str) -> Callable[[dict], float | None]:
    """Return what takes a number from a record by the names of its parts."""

    def pick(record: dict) -> float | None:
        found: Any = record
        for name in names:
            found = found[name]
        return None if found is None else float(found)

    return pick


def largest(column: str, measure: str) -> Callable[[dict], float | None]:
    """Return what takes from a record the largest of a measure over the rows left out."""
    return lambda record: max(_known(record, column, measure), default=None)


def middle(column: str, measure: str) -> Callable[[dict], float | None]:
    """Return what takes from a record the median of a measure over the rows left out."""

    def pick(record: dict) -> float | None:
        known = _known(record, column, measure)
        return float(np.median(known)) if known else None

    return pick


def _known(record: dict, column: str, measure: str) -> list[float]:
    return [entry[measure] for entry in record["columns"].get(column, []) if entry[measure] is not None]


def holds3(entries: list[dict[str, Any]]) -> tuple[int, int, list[float]]:
    """Return for how many (j, t), of how many with 0 < t < 1, inequality (3) holds, and left over right for every j.

    Where leaving row j out moves nothing, both sides are 0 and the ratio is taken as 1. Where it moves the core samples
    alone, the inequality fails and the ratio is infinite.
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


@dataclass(frozen=True)
class Slope:
    """A fitted power of n with its 95 % interval, and how many repeats it is from."""

    value: float
    low: float
    high: float
    count: int

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def fitted_slope(repeats: list[dict[int, float]]) -> Slope | None:
    """Return the slope of the logarithm of a measure on log n.

    Parameters
    ----------
    repeats : list of dict of int to float
        For every repeat the measure by n.

    Returns
    -------
    Slope or None
        One repeat: the regression's own t interval. Several: the mean of their slopes and the t interval over them,
        since the sizes of a repeat share rows. None without three sizes in some repeat.
    """
    usable = [by_size for by_size in repeats if len(by_size) > 2]
    if not usable:
        return None
    fits = [stats.linregress(np.log(list(by_size)), np.log(list(by_size.values()))) for by_size in usable]
    if len(fits) == 1:
        value = float(fits[0].slope)
        half = float(stats.t.ppf((1 + _LEVEL) / 2, len(usable[0]) - 2) * fits[0].stderr)
        return Slope(value, value - half, value + half, 1)
    slopes = [float(fit.slope) for fit in fits]
    mean = float(np.mean(slopes))
    half = float(stats.t.ppf((1 + _LEVEL) / 2, len(slopes) - 1) * np.std(slopes, ddof=1) / len(slopes) ** 0.5)
    return Slope(mean, mean - half, mean + half, len(slopes))
