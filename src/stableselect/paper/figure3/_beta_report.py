"""Figure 3 e and f: the measured uniform stability against n and lambda1, for |W| and for W^2."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING, Any

from ...datasets import info
from ...experiments import Stored, Value, by_repeat
from ...inspection import fit_power_law
from .._plots import BLACK, GREY, SKY, drawn_legend, plain_ticks, protocol_panels
from .._report import NONE, Document, prose, published, span, written_rate
from ..methods import PROTOCOLS, Protocol, Results, rate
from ._beta import ORDER, ROW, SEARCH_ROWS, SIZES, WEIGHT_REPEATS, WEIGHT_SIZE, Betas, beta_runs
from ._gap import WEIGHTS
from ._shared import BOUNDED, FASHION, LOOKS, REPEATS, SEARCH, WORDS, epochs, for_networks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BETA, _MEAN, _HELD = "beta.total", "mean.total", "held.beta.total"


def _fill(network: str, page: Document, results: Results) -> None:
    betas = Betas(results, network)
    counts = {"rows": SEARCH_ROWS, "repeats": REPEATS, "fewer": WEIGHT_REPEATS[network]}
    counts["epochs"] = epochs(network, fast=betas.fast)
    page.add(prose("figure3.beta", bounded=BOUNDED, fashion=info(FASHION).title, **counts))
    for dataset, protocol in product(betas.sizes, PROTOCOLS):
        _table(page, betas, dataset, protocol)
    _rates(page, betas)
    if not betas.fast:
        _weights(page, betas)
    if not page.empty:
        columns = max(2, len(betas.sizes) + (not betas.fast))
        caption = f"{page.title}; bars: from the least to the largest repeat."
        page.draw(page.name, caption, (4.2 * columns, 7.4), partial(_draw, betas))
    page.add(*_reading(betas))


def _series(network: str) -> tuple[tuple[str, str, str, dict[str, Any]], ...]:
    """Return what is compared: the method, the part of its record, its name and its looks."""
    held = {"color": SKY, "marker": "v", "markersize": 5}
    return (
        *((method, "", WORDS[method], LOOKS[method]) for method in (network, SEARCH)),
        (SEARCH, "held.", "search, features held", held),
    )


def _printed(betas: Betas, dataset: str) -> dict[int, float]:
    """Return the printed values by n; none beside a fast run."""
    values = published()["figure3"]["beta"][betas.network].get(dataset)
    return {} if betas.fast or values is None else dict(zip(SIZES[dataset], values, strict=True))


def _table(page: Document, betas: Betas, dataset: str, protocol: Protocol) -> None:
    rows = []
    network, printed = betas.network, _printed(betas, dataset)
    for n in betas.sizes[dataset]:
        own, searched = ((dataset, method, protocol, n) for method in (network, SEARCH))
        row = [str(n), *betas.texts(("beta.selector", "beta.scorer", _BETA, _MEAN, "shared"), *own)]
        row += betas.texts((_BETA, _MEAN), *own, change=ORDER) if protocol == "paper" else [NONE, NONE]
        row += betas.texts((_BETA, "largest", _MEAN, "unchanged", _HELD), *searched)
        row += [f"{printed[n]:g}" if n in printed else NONE] if protocol == "paper" else []
        rows.append(row)
        page.data += [betas.line(*own), betas.line(*searched)]
        page.data.append(betas.line(*own, label=f"{network}, other order", change=ORDER))
        page.data.append(betas.line(*searched, label=f"{SEARCH}, features held", part="held."))
    header = ["n", "network: selector", "scorer", "total", "mean change", "features in common", "other order: total"]
    header += ["mean change", "search: total", "largest", "mean change", "same features, fraction"]
    header += ["features held: total", *(["printed"] if protocol == "paper" else [])]
    page.table(f"{info(dataset).title}, {WORDS[network]}, {protocol}: beta", header, rows)


def _rates(page: Document, betas: Betas) -> None:
    rows = []
    for dataset, grid in betas.sizes.items():
        for protocol, (method, part, words, _) in product(PROTOCOLS, _series(betas.network)):
            items = [betas.of(dataset, method, protocol, n) for n in grid]
            found = [rate(grid, items, part + measure) for measure in (_BETA, _MEAN)]
            repeats = "0" if found[0] is None else str(len(found[0].slopes))
            rows.append([f"{info(dataset).title}, {protocol}, {words}", *map(written_rate, found), repeats])
        if printed := _printed(betas, dataset):
            slope = fit_power_law(grid, list(printed.values()))
            rows.append([f"{info(dataset).title}, printed", written_rate(slope), NONE, "1"])
    notes = [prose("figure3.rates_note")]
    page.table("By which power of n it changes", ["", "beta", "mean change", "repeats"], rows, notes)


def _weights(page: Document, betas: Betas) -> None:
    rows, header = [], ["lambda1"]
    compared = ((PROTOCOLS[0], betas.network), *((protocol, SEARCH) for protocol in PROTOCOLS))
    for protocol, method in compared:
        header += [f"{WORDS[method]}, {protocol}: selector", "total", "mean change"]
    for weight in WEIGHTS:
        row = [f"{weight:g}"]
        for protocol, method in compared:
            where = (FASHION, method, protocol, WEIGHT_SIZE)
            row += betas.texts(("beta.selector", _BETA, _MEAN), *where, weight=weight)
            page.data.append(betas.line(*where, weight=weight))
        rows.append(row)
    note = "The total loss holds lambda1 times the scorer's, so that of large lambda1 is another quantity."
    page.table(f"{info(FASHION).title}, n = {WEIGHT_SIZE}: beta against lambda1", header, rows, [note])


def _reading(betas: Betas) -> list[str]:
    """Say how much of beta is noise, how it compares with the search's, and what that is made of."""
    texts = []
    for dataset, grid in betas.sizes.items():
        noise: dict[str, list[float]] = {_BETA: [], _MEAN: []}
        over: list[float] = []
        for n in grid:
            where = (dataset, betas.network, "paper", n)
            for measure, ratios in noise.items():
                ratios += _ratio(betas.value(measure, *where, change=ORDER), betas.value(measure, *where))
            over += _ratio(betas.value(_BETA, *where), betas.value(_BETA, dataset, SEARCH, "paper", n))
        if noise[_MEAN]:
            words = {"title": info(dataset).title, "mean": span(noise[_MEAN]), "largest": span(noise[_BETA])}
            texts.append(prose("figure3.noise", **words))
        if over:
            texts.append(f"{info(dataset).title}, paper: the network's beta is {span(over, '.3g')} times the search's.")
        texts += _of_the_search(betas, dataset, grid)
    return texts


def _ratio(value: Value | None, other: Value | None) -> list[float]:
    """Return a value over another; nothing where there is none."""
    return [value.mean / other.mean] if value is not None and other is not None and other.mean > 0 else []


def _of_the_search(betas: Betas, dataset: str, grid: Sequence[int]) -> list[str]:
    def every(protocol: Protocol, measure: str, change: str = ROW) -> list[float]:
        runs = (betas.of(dataset, SEARCH, protocol, n, change=change) for n in grid)
        return [value for items in runs for value in by_repeat(items, measure).values()]

    texts, title = [], info(dataset).title
    order = every("paper", "largest", ORDER)
    if order:
        texts.append(f"{title}: another order moves the search's losses by {max(order):.1g} at most.")
    kept, moved, held = (every(PROTOCOLS[1], measure) for measure in ("unchanged", _BETA, _HELD))
    if kept and moved and held:
        means = {"kept": 100 * fmean(kept), "moved": fmean(moved), "held": fmean(held)}
        texts.append(prose("figure3.search", title=title, protocol=PROTOCOLS[1], **means))
    return texts


def _draw(betas: Betas, figure: Figure) -> None:
    from matplotlib.ticker import NullLocator

    full, sizes = not betas.fast, betas.sizes
    panels = protocol_panels(figure, len(sizes) + full)
    for protocol, row in zip(PROTOCOLS, panels, strict=True):
        for axis, (dataset, grid) in zip(row, sizes.items(), strict=False):
            _sizes(axis, betas, dataset, protocol, grid)
            axis.set_title(f"{info(dataset).title}, {protocol}")
        if full:
            _weighted(row[-1], betas, protocol)
            title = f"{info(FASHION).title}, {protocol},\nn = {WEIGHT_SIZE}, selector's loss"
            row[-1].set_title(title, fontsize="medium")
        row[0].set_ylabel("beta: largest change of a test sample's loss")
        for axis in row:
            axis.grid(alpha=0.3, which="both")
    for axis, grid in zip(panels[-1], sizes.values(), strict=False):
        axis.set_xlabel("training samples n, log scale")
        axis.set_xticks(grid, [str(n) for n in grid])
        axis.xaxis.set_minor_locator(NullLocator())
    for axis in panels[-1]:
        plain_ticks(axis.yaxis)
    if full:
        panels[-1, -1].set(xlim=(-0.5, len(WEIGHTS) - 0.5), xlabel="lambda1 (steps of the grid, not to scale)")
        panels[-1, -1].set_xticks(range(len(WEIGHTS)), [f"{weight:g}" for weight in WEIGHTS], fontsize="small")
    drawn_legend(figure, ncols=3)


def _sizes(axis: Axes, betas: Betas, dataset: str, protocol: Protocol, grid: Sequence[int]) -> None:
    """Draw beta against n, with the noise, the printed values and the theory's slope beside it."""
    network = betas.network
    for method, part, words, looks in _series(network):
        _bars(axis, grid, [betas.of(dataset, method, protocol, n) for n in grid], part + _BETA, words, **looks)
    order = [betas.of(dataset, network, protocol, n, change=ORDER) for n in grid]
    _bars(axis, grid, order, _BETA, "same samples, other order", color=GREY, marker="x", linestyle=":")
    if protocol == "paper" and (printed := _printed(betas, dataset)):
        axis.plot(grid, list(printed.values()), color=BLACK, marker="*", markersize=9, linestyle=":", label="printed")
    first = betas.value(_BETA, dataset, network, protocol, grid[0])
    if first is not None:
        line = [first.mean * grid[0] / n for n in grid]
        axis.plot(grid, line, color=GREY, linewidth=0.8, label="slope -1, from the first")
    axis.set(xscale="log", yscale="log")


def _weighted(axis: Axes, betas: Betas, protocol: Protocol) -> None:
    """Draw the selector's beta against lambda1: the total loss would grow with lambda1 by itself."""
    for method in (betas.network, SEARCH):
        items = [betas.of(FASHION, method, protocol, WEIGHT_SIZE, weight=weight) for weight in WEIGHTS]
        _bars(axis, range(len(WEIGHTS)), items, "beta.selector", WORDS[method], **LOOKS[method])
    axis.set_yscale("log")


def _bars(
    axis: Axes, places: Sequence[int], items: Sequence[list[Stored]], measure: str, label: str, **looks: Any
) -> None:
    """Draw the means, with bars from the least to the largest repeat: a standard deviation may reach below zero."""
    numbers = {place: by_repeat(runs, measure).values() for place, runs in zip(places, items, strict=True)}
    found = {place: values for place, values in numbers.items() if values}
    if not found:
        return
    means = [fmean(values) for values in found.values()]
    ends = [(mean - min(values), max(values) - mean) for mean, values in zip(means, found.values(), strict=True)]
    axis.errorbar(list(found), means, yerr=list(zip(*ends, strict=True)), label=label, capsize=3, **looks)


EXPERIMENTS = for_networks("ef", "uniform stability against n", beta_runs, _fill)
