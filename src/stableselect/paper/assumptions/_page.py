"""The assumptions behind the paper's theorems, and Proposition 1: the page and its figures."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ...datasets import info
from ...experiments import Value
from .._plots import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION, drawn_legend, plain_ticks
from .._report import Document, experiment, prose
from ..methods import PROTOCOLS, Results
from ._core_tables import assumption2, published_procedure
from ._found import MAPS, Found
from ._measures import STEPS
from ._plan import DATASETS, NETWORK_REMOVAL_SIZES, PUBLISHED, PUBLISHED_MSE, plan_runs
from ._tables import assumption1, assumption3, constants, proposition1
from ._task import NETWORK, SEARCH

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LOOKS = dict(zip(DATASETS, ((BLUE, "o"), (VERMILION, "s"), (GREEN, "^"), (PURPLE, "D")), strict=True))
_DASHES = {"paper": "--", "corrected": "-"}
_TINTS = {"paper": VERMILION, "corrected": BLUE}
_BAND = (10, 90)


@experiment("assumptions", "Assumptions 1 to 3 and Proposition 1, measured", plan_runs)
def assumptions(page: Document, results: Results) -> None:
    """Show what each assumption needs, and whether the data have it."""
    found = Found(results)
    page.add(prose("assumptions.setting"))
    page.add(*assumption1(found), *assumption2(found))
    if found.any("core"):
        published = any(found.runs("core", PUBLISHED, *pair) for pair in product(PROTOCOLS, (NETWORK, SEARCH)))
        caption = prose("assumptions.core_caption", measure=", and the published measure" if published else "")
        page.draw("assumptions_core", caption, (12.5, 5.2), partial(_draw_core, found, published))
    page.add(*published_procedure(found), *assumption3(found))
    if found.any("removal"):
        shown = [name for name in DATASETS if any(found.at_largest("held", name, p, SEARCH)[1] for p in PROTOCOLS)]
        caption = prose("assumptions.sides_caption")
        size = (10.5, 1.1 + 2.5 * max(1, len(shown)))
        page.draw("assumptions_sides", caption, size, partial(_draw_sides, found, shown))
    page.add(*proposition1(found), *constants(found))
    page.data = found.data


def _draw_core(found: Found, published: bool, figure: Figure) -> None:
    """Draw the errors, the coefficients, and the published measure against n."""
    axes = figure.subplots(1, 2 + published)
    for protocol, name in product(PROTOCOLS, DATASETS):
        colour, mark = _LOOKS[name]
        errors, sizes = (found.by_size(f"plain.{part}_max", name, protocol, SEARCH) for part in ("eta", "alpha"))
        for axis, points in zip(axes[:2], (errors, sizes), strict=True):
            _line(axis, points, f"{info(name).title}, {protocol}", protocol, color=colour, marker=mark)
        if len(errors) > 1:
            # The slope that the assumption needs, from the curve's first point.
            first, last = min(errors), max(errors)
            ends = [errors[first].mean, errors[first].mean * first / last]
            axes[0].plot([first, last], ends, color=GREY, linestyle=":", linewidth=1, zorder=1)
    axes[0].plot([], [], color=GREY, linestyle=":", label="needed: slope -1")
    axes[0].set(title="error", yscale="log", ylabel="largest |eta| over test samples (units of the data)")
    axes[1].set(title="coefficients", yscale="log", ylabel="largest |alpha| over test samples")
    if published:
        _published(axes[2], found)
        title = f"published measure, {info(PUBLISHED).title}"
        axes[2].set(title=title, ylabel="mean squared error (pixel units squared)")
    for axis in axes:
        axis.set(xscale="log", xlabel="training samples n")
        axis.grid(alpha=0.3)
        plain_ticks(axis.xaxis)
    plain_ticks(axes[0].yaxis)
    plain_ticks(axes[1].yaxis)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=5, fontsize="small")
    if published:
        figure.legend(*axes[2].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize="small")


def _published(axis: Any, found: Found) -> None:
    axis.plot(
        list(PUBLISHED_MSE), list(PUBLISHED_MSE.values()), color=BLACK, linestyle=":", marker="*", label="printed"
    )
    lines = (
        ("network_mse", NETWORK, "network repeated", VERMILION, "o"),
        ("best_mse", NETWORK, "its samples, least squares", ORANGE, "s"),
        ("random.mse", SEARCH, "random samples", GREY, "x"),
        ("plain.mse", SEARCH, "searched samples", BLUE, "D"),
    )
    for (measure, method, label, colour, mark), protocol in product(lines, PROTOCOLS):
        points = found.by_size(measure, PUBLISHED, protocol, method)
        _line(axis, points, f"{label}, {protocol}", protocol, color=colour, marker=mark)


def _line(axis: Any, points: dict[int, Value], label: str, protocol: str, **looks: str) -> None:
    if points:
        means, spreads = ([value.mean for value in points.values()], [value.spread or 0.0 for value in points.values()])
        sizes = {"markersize": 4, "capsize": 2, "linewidth": 1.4}
        axis.errorbar(list(points), means, yerr=spreads, label=label, linestyle=_DASHES[protocol], **sizes, **looks)


def _draw_sides(found: Found, shown: list[str], figure: Figure) -> None:
    """Draw both sides of inequality (3) over t, in units of the right side's largest value for each sample left out."""
    axes = figure.subplots(max(1, len(shown)), len(MAPS), sharex=True, squeeze=False)
    for row, name in enumerate(shown):
        for axis, (label, (method, maps)) in zip(axes[row], MAPS.items(), strict=True):
            _sides(axis, found, name, method, maps)
            axis.set_title(f"{info(name).title}: {label}", fontsize="medium")
            axis.grid(alpha=0.3)
        axes[row][0].set_ylabel("side / largest right side")
    for axis in axes[-1]:
        axis.set_xlabel("t")
    drawn_legend(figure, ncols=3)


def _sides(axis: Any, found: Found, name: str, method: str, maps: str) -> None:
    empty = True
    for protocol in PROTOCOLS:
        entries = found.at_largest(maps, name, protocol, method)[1]
        entries = [entry for entry in entries if max(entry["right"]) > 0]
        if not entries:
            continue
        unit = np.array([max(entry["right"]) for entry in entries])[:, None]
        left, right = (np.array([entry[side] for entry in entries]) / unit for side in ("left", "right"))
        low, high = np.percentile(left, _BAND, axis=0)
        axis.fill_between(STEPS, low, high, color=_TINTS[protocol], alpha=0.2, linewidth=0)
        axis.plot(STEPS, np.median(left, axis=0), color=_TINTS[protocol], label=f"left, core samples, {protocol}")
        if empty:
            axis.plot(STEPS, np.median(right, axis=0), color=BLACK, linestyle="--", label="right, training samples")
        empty = False
    if empty:
        words = "not run" if method == SEARCH or name in NETWORK_REMOVAL_SIZES else "no network on this dataset"
        axis.text(0.5, 0.5, words, ha="center", va="center", transform=axis.transAxes, color=GREY)
