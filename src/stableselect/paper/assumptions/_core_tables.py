"""The tables of Assumption 2: core samples against n, the slopes, and the published procedure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...datasets import info
from ..figure3 import PUBLISHED_EPOCHS, epochs
from ..methods import Results
from ..report import NONE, Block
from ._plan import DATASETS, NETWORK_CORE_SIZES, PUBLISHED_MSE, PUBLISHED_SIZES
from ._summary import Found, Slope, fitted_slope, taken
from ._task import NETWORK, SEARCH
from ._words import PROTOCOLS, Data, error, plain, slope_line, table_or_reason, text, where_of

_PUBLISHED = "mnist_fashion"
"""The table of the published check."""


def assumption2(results: Results, found: Found, data: Data) -> Iterator[Block]:
    """Show the error and the coefficients of core samples against n, and the slope."""
    yield (
        "Assumption 2 wants u core samples z among the training rows from which every x follows as sum alpha_i z_i "
        "+ eta with |eta| <= kappa_3 / n and |alpha| <= kappa_4. Here u = 50; the core samples are searched as a "
        "column subset of the transposed table (forward search and exchange, no intercept), and alpha is the "
        "least-squares solution for each test row. For kappa_3 to exist, n |eta| must stay bounded: the slope of "
        "log |eta| on log n must be -1 or less. Rows are taken as they are, as published, and less their mean "
        "beside it."
    )
    for protocol in PROTOCOLS:
        rows, slopes, reading = [], [], []
        for name in DATASETS:
            where = (name, protocol, SEARCH)
            sizes = found.sizes("core", *where)
            for n in sizes:
                pick = {
                    (form, measure): found.number(taken(form, measure), "core", *where, n=n)
                    for form in ("plain", "centred", "random")
                    for measure in ("eta_max", "eta_median", "alpha_max", "alpha_median", "mse")
                }
                shown = [pick["plain", m] for m in ("eta_max", "eta_median")]
                shown += [shown[0] and shown[0].times(n), pick["plain", "alpha_max"], pick["plain", "mse"]]
                shown += [pick["centred", "eta_max"], pick["random", "eta_max"], pick["random", "mse"]]
                rows.append([f"{info(name).title}, n = {n:,}", *map(text, shown)])
                for (form, measure), value in pick.items():
                    data.append(where_of(2, name, protocol, SEARCH, form, n) | {"measure": measure} | plain(value))
            line = [info(name).title]
            for measure in ("eta_max", "eta_median", "alpha_max"):
                slope = fitted_slope(found.by_size(measure, "plain", *where))
                line.append(NONE if slope is None else str(slope))
                if slope is not None:
                    data.append(where_of(2, name, protocol, SEARCH, "plain", "") | slope_line(measure, slope))
                if measure == "eta_max" and slope is not None:
                    reading.append(_reading2(name, found, where, slope))
            if sizes:
                slopes.append(line)
        header = [
            "table",
            "|eta| max",
            "median",
            "n |eta| max",
            "|alpha| max",
            "mse",
            "eta, centred",
            "eta, random",
            "mse, random",
        ]
        notes = [
            "Norms over the test rows; mse is the mean square per entry. Centred: rows less their mean. Random: "
            "mean of five random choices of 50 rows. ± is the standard deviation over splits."
        ]
        yield table_or_reason(results, f"Assumption 2, {protocol}: 50 core samples", header, rows, notes)
        header = ["table", "|eta| max", "|eta| median", "|alpha| max"]
        notes = [
            "Slope of the logarithm on log n, with a 95 % interval: over splits where there are several, else of the "
            "regression alone. Needed for |eta|: -1 or less.",
            *reading,
        ]
        yield table_or_reason(results, f"Assumption 2, {protocol}: slopes", header, slopes, notes)


def _reading2(name: str, found: Found, where: tuple[Any, ...], slope: Slope) -> str:
    sizes = found.sizes("core", *where)
    ends = [
        value and value.times(n)
        for n in (sizes[0], sizes[-1])
        for value in [found.number(taken("plain", "eta_max"), "core", *where, n=n)]
    ]
    verdict = "includes" if slope.low <= -1 <= slope.high else "is above" if slope.low > -1 else "is below"
    return (
        f"{info(name).title}: the interval {verdict} -1; n |eta| goes from {text(ends[0])} at n = {sizes[0]:,} to "
        f"{text(ends[1])} at n = {sizes[-1]:,}."
    )


def published_procedure(results: Results, found: Found, data: Data) -> Iterator[Block]:
    """Show the published check of Assumption 2 beside the exact one."""
    limit = epochs(NETWORK, fast=results.mode == "fast")
    yield (
        "The published check of Assumption 2 trains the scorer-selector network on the transposed table (50 of n "
        "samples; scores not negative, 0.1 times their sum added, scorer weighted 1 and selector 2, batches of 256, "
        f"{PUBLISHED_EPOCHS} epochs{'' if limit == PUBLISHED_EPOCHS else f', here {limit}'}) and then a linear "
        "network, 50 to 50 to as many as there are test rows, with biases, on those; its mean square per entry is what "
        "the paper calls |eta|. Both are repeated here, in single precision. The batch size of the second network and "
        "the start of the scores are not known; 256 and the start of the main network were taken."
    )
    rows, reading = [], []
    for name in NETWORK_CORE_SIZES:
        for protocol in PROTOCOLS:
            where = ("core", name, protocol)
            ranges = []
            for n in found.sizes(*where, NETWORK):
                mine, random = (found.number(taken(form, "mse"), *where, SEARCH, n=n) for form in ("plain", "random"))
                network = [found.number(taken(m), *where, NETWORK, n=n) for m in ("network_mse", "best_mse")]
                ranges += [record["scores"] for _, record in found.cells(*where, NETWORK, n=n)]
                known = protocol == "paper" and name == _PUBLISHED and n in PUBLISHED_MSE
                printed = f"{PUBLISHED_MSE[n]:.5f}" if known else NONE
                numbers = [error(value) for value in (*network, mine, random)]
                rows.append([f"{info(name).title}, {protocol}, n = {n:,}", printed, *numbers])
                for measure, value in zip(("network_mse", "best_mse"), network, strict=True):
                    base = where_of(2, name, protocol, NETWORK, "published", n)
                    data.append(base | {"measure": measure} | plain(value))
            if ranges:
                low, high = min(pair[0] for pair in ranges), max(pair[1] for pair in ranges)
                reading.append(
                    f"{info(name).title}, {protocol}: the scores, all near 1 at the start, lie between {low:.3f} and "
                    f"{high:.3f} at the end. The penalty's gradient is 0.1 for each of them."
                )
    reading += _falls(found)
    header = ["table", "printed", "repeated", "same rows, least squares", "searched rows", "random rows"]
    notes = [
        "Mean square per entry on the test rows. Same rows: the best the second network can do (least squares with an "
        "intercept). ± is the standard deviation over seeds (paper) or splits and seeds (sound).",
        *reading,
    ]
    yield table_or_reason(results, "Assumption 2, published procedure", header, rows, notes)


def _falls(found: Found) -> list[str]:
    """Say by how much the root mean square falls over the published sizes, beside what 1/n would make of it."""
    first, last = PUBLISHED_SIZES[0], PUBLISHED_SIZES[-1]
    parts = [f"printed {_fall(PUBLISHED_MSE[first], PUBLISHED_MSE[last])}"]
    picks = (("repeated", NETWORK, taken("network_mse")), ("searched rows", SEARCH, taken("plain", "mse")))
    for protocol in PROTOCOLS:
        for label, method, pick in picks:
            pair = [found.number(pick, "core", _PUBLISHED, protocol, method, n=n) for n in (first, last)]
            if pair[0] is not None and pair[1] is not None:
                parts.append(f"{label} ({protocol}) {_fall(pair[0].mean, pair[1].mean)}")
    if len(parts) == 1:
        return []
    return [
        f"Change of the root mean square on {info(_PUBLISHED).title} from n = {first:,} to {last:,}: "
        f"{', '.join(parts)}. Falling as 1/n it would be {_fall(last**2, first**2)}."
    ]


def _fall(before: float, after: float) -> str:
    return f"{100 * ((after / before) ** 0.5 - 1):+.1f} %"
