"""The tables of Assumption 2: core samples against n, the slopes, and the published procedure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

from ...datasets import info
from ...experiments import Value
from ...inspection import PowerLawFit
from .._report import NONE, Block, prose, written_rate
from ..figure3 import PUBLISHED_EPOCHS, epochs
from ..methods import PROTOCOLS
from ._found import Found, text
from ._plan import DATASETS, NETWORK_CORE_SIZES, PUBLISHED, PUBLISHED_MSE, PUBLISHED_SIZES
from ._task import NETWORK, SEARCH

_MEASURES = ("eta_max", "eta_median", "alpha_max", "alpha_median", "mse")
_COLUMNS = {
    "|eta| max": ("plain", "eta_max"),
    "median": ("plain", "eta_median"),
    "n |eta| max": ("plain", "eta_max"),
    "|alpha| max": ("plain", "alpha_max"),
    "mse": ("plain", "mse"),
    "eta, centred": ("centred", "eta_max"),
    "eta, random": ("random", "eta_max"),
    "mse, random": ("random", "mse"),
}
"""What the table shows: the form of the samples and the measure; times n where the head says so."""


def assumption2(found: Found) -> Iterator[Block]:
    """Show the error and the coefficients of core samples against n, and the slope."""
    yield prose("assumptions.core")
    for protocol in PROTOCOLS:
        rows, slopes, reading = [], [], []
        for name in DATASETS:
            where = (name, protocol, SEARCH)
            sizes = found.sizes("core", *where)
            for n in sizes:
                pick = {
                    (form, measure): found.number(f"{form}.{measure}", "core", *where, n=n)
                    for form, measure in product(("plain", "centred", "random"), _MEASURES)
                }
                shown = [text(pick[place], n if label.startswith("n ") else 1) for label, place in _COLUMNS.items()]
                rows.append([f"{info(name).title}, n = {n:,}", *shown])
                for (form, measure), value in pick.items():
                    found.add(2, where, form, n, measure, value)
            line = [info(name).title]
            for measure in ("eta_max", "eta_median", "alpha_max"):
                slope = found.slope(f"plain.{measure}", *where)
                line.append(written_rate(slope, 3))
                if slope is not None:
                    found.add(2, where, "plain", "", f"slope of {measure}", _slope_line(slope))
                if measure == "eta_max" and slope is not None:
                    reading.append(_verdict(name, found, where, slope))
            if sizes:
                slopes.append(line)
        notes = [prose("assumptions.core_note")]
        yield found.table(f"Assumption 2, {protocol}: 50 core samples", ["dataset", *_COLUMNS], rows, notes)
        header = ["dataset", "|eta| max", "|eta| median", "|alpha| max"]
        notes = [prose("assumptions.slopes_note"), *reading]
        yield found.table(f"Assumption 2, {protocol}: slopes", header, slopes, notes)


def _slope_line(slope: PowerLawFit) -> dict[str, Any]:
    low, high = ("" if math.isnan(end) else end for end in slope.interval)
    return {"mean": slope.slope, "low": low, "high": high, "repeats": len(slope.slopes)}


def _verdict(name: str, found: Found, where: tuple[Any, ...], slope: PowerLawFit) -> str:
    """Say on which side of -1 the slope lies, by its interval where it has one, and what n |eta| does."""
    several = len(slope.slopes) > 1
    low, high = slope.interval if several else (slope.slope, slope.slope)
    side = "is above" if low > -1 else "is below" if high < -1 else "includes" if several else "is"
    sizes = found.sizes("core", *where)
    first, last = (
        f"{text(found.number('plain.eta_max', 'core', *where, n=n), n)} at n = {n:,}" for n in (sizes[0], sizes[-1])
    )
    what = "interval" if several else "slope"
    return f"{info(name).title}: the {what} {side} -1; n |eta| goes from {first} to {last}."


def published_procedure(found: Found) -> Iterator[Block]:
    """Show the published check of Assumption 2 beside the exact one."""
    limit = epochs(NETWORK, fast=found.results.mode == "fast")
    here = "" if limit == PUBLISHED_EPOCHS else f", here {limit}"
    yield prose("assumptions.published", epochs=PUBLISHED_EPOCHS, here=here)
    rows, reading = [], []
    for name, protocol in product(NETWORK_CORE_SIZES, PROTOCOLS):
        trained, searched = ((name, protocol, method) for method in (NETWORK, SEARCH))
        ranges = []
        for n in found.sizes("core", *trained):
            own = {measure: (measure, ("core", *trained)) for measure in ("network_mse", "best_mse")}
            others = {form: (f"{form}.mse", ("core", *searched)) for form in ("plain", "random")}
            values = found.row({**own, **others}, n)
            ranges += [item.record["scores"] for item in found.runs("core", *trained, n=n)]
            known = protocol == "paper" and name == PUBLISHED and n in PUBLISHED_MSE
            printed = f"{PUBLISHED_MSE[n]:.5f}" if known else NONE
            rows.append([f"{info(name).title}, {protocol}, n = {n:,}", printed, *map(_error, values.values())])
            for measure in own:
                found.add(2, trained, "published", n, measure, values[measure])
        if ranges:
            low, high = min(pair[0] for pair in ranges), max(pair[1] for pair in ranges)
            where = f"{info(name).title}, {protocol}"
            reading.append(prose("assumptions.scores", where=where, low=low, high=high))
    reading += _falls(found)
    header = ["dataset", "printed", "repeated", "same samples, least squares", "searched samples", "random samples"]
    notes = [prose("assumptions.published_note"), *reading]
    yield found.table("Assumption 2, published procedure", header, rows, notes)


def _falls(found: Found) -> list[str]:
    """Say by how much the root mean square falls over the published sizes, beside what 1/n would make of it."""
    first, last = PUBLISHED_SIZES[0], PUBLISHED_SIZES[-1]
    parts = [f"printed {_fall(PUBLISHED_MSE[first], PUBLISHED_MSE[last])}"]
    picks = (("repeated", NETWORK, "network_mse"), ("searched samples", SEARCH, "plain.mse"))
    for protocol, (label, method, pick) in product(PROTOCOLS, picks):
        pair = [found.number(pick, "core", PUBLISHED, protocol, method, n=n) for n in (first, last)]
        if pair[0] is not None and pair[1] is not None:
            parts.append(f"{label} ({protocol}) {_fall(pair[0].mean, pair[1].mean)}")
    if len(parts) == 1:
        return []
    title, needed = info(PUBLISHED).title, _fall(last**2, first**2)
    return [prose("assumptions.falls", title=title, first=first, last=last, parts=", ".join(parts), needed=needed)]


def _fall(before: float, after: float) -> str:
    return f"{100 * ((after / before) ** 0.5 - 1):+.1f} %"


def _error(value: Value | None) -> str:
    """Write a mean squared error as the paper's notebooks do."""
    if value is None:
        return NONE
    return f"{value.mean:.5f}" + ("" if value.spread is None else f" ± {value.spread:.5f}")
