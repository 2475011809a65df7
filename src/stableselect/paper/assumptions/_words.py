"""How the tables of the assumptions write what they show."""

from __future__ import annotations

from typing import Any

from ...experiments import Protocol
from ..methods import Results
from ..report import NONE, Table
from ._plan import DATASETS
from ._summary import Number, Slope
from ._task import NETWORK, SEARCH

PROTOCOLS: tuple[Protocol, ...] = ("paper", "sound")
COLUMNS = {
    "search, held": (SEARCH, "held"),
    "search, refitted": (SEARCH, "refitted"),
    "|W|, refitted": (NETWORK, "refitted"),
}
"""Which maps are compared: of which method, and refitted without the row or not."""
Data = list[dict[str, Any]]


def table_or_reason(results: Results, title: str, header: list[str], rows: list[list[str]], notes: list[str]) -> Table:
    """Return a table, with the reason in place of its rows where there are none."""
    if not rows:
        names = dict.fromkeys(results.reason(name) for name in DATASETS)
        rows, notes = [["all tables", ", ".join(names), *[NONE] * (len(header) - 2)]], []
    return Table(title, header, rows, notes)


def ends(sizes: list[int]) -> list[int]:
    """Return the smallest and the largest size."""
    return sorted({sizes[0], sizes[-1]}) if sizes else []


def text(value: Number | None) -> str:
    """Write a number."""
    return NONE if value is None else str(value)


def error(value: Number | None) -> str:
    """Write a mean square as the paper's notebooks do."""
    if value is None:
        return NONE
    return f"{value.mean:.5f}" + ("" if value.spread is None else f" ± {value.spread:.5f}")


def fraction(weight: float) -> str:
    """Write a weight."""
    return f"{weight:.0f}" if weight >= 1 else f"1/{1 / weight:.0f}"


def where_of(part: object, name: str, protocol: str, method: str, column: str, n: object) -> dict[str, Any]:
    """Return the columns of the CSV file that say what a line is about."""
    part = f"assumption {part}" if isinstance(part, int) else part
    return {"part": part, "dataset": name, "protocol": protocol, "method": method, "column": column, "n": n}


def plain(value: Number | None) -> dict[str, Any]:
    """Return a number for the CSV file."""
    if value is None:
        return {"mean": "", "spread": "", "repeats": 0}
    return {"mean": value.mean, "spread": "" if value.spread is None else value.spread, "repeats": value.count}


def slope_line(measure: str, slope: Slope) -> dict[str, Any]:
    """Return a slope for the CSV file."""
    return {
        "measure": f"slope of {measure}",
        "mean": slope.value,
        "low": slope.low,
        "high": slope.high,
        "repeats": slope.count,
    }
