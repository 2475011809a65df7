"""The pictures of ``stability``: stability against error, and what the seed does beside the samples."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from ...datasets import info
from ...metrics import Stability
from .._plots import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION
from .._report import Document, prose
from ._found import Found, family, twin_words
from ._plan import RANDOM, is_seeded, methods

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FAMILIES = {
    "subset": ("subset search", BLUE),
    "ensemble": ("consensus", SKY),
    "published network": ("published network", VERMILION),
    "neural": ("other networks", PURPLE),
    "graph": ("graph", ORANGE),
    "filters": ("filters", GREEN),
    RANDOM: ("random features", BLACK),
}
"""Words and colours of the families, in the order of the legend."""
_MARKS = "osD^vPX<>*d"
_TICKS = (1, 0.5, 2, 0.3, 3, 0.7, 1.5, 0.2, 5, 10, 0.8, 1.2, 0.9, 1.1, 0.6, 0.4, 4, 0.1, 7, 20, 50, 100)
"""Ticks of relative errors, the most wanted first."""
_APART = 0.13
"""Least distance of two ticks, as a fraction of the axis."""
_PANELS = 4


def styles(names: list[str]) -> dict[str, dict[str, Any]]:
    """Return the look of every method, by family: the colour is the family's, the mark its own within the family."""
    found: dict[str, dict[str, Any]] = {}
    for kind in dict.fromkeys((*FAMILIES, *map(family, names))):
        for place, name in enumerate(name for name in names if family(name) == kind):
            colour = FAMILIES.get(kind, (kind, GREY))[1]
            # Marks get smaller, so that some of one that chose the same features is seen around another.
            size = max(9.0 - 0.5 * place, 6.5)
            found[name] = {"color": colour, "marker": _MARKS[place % len(_MARKS)], "markersize": size}
            if name == RANDOM:
                found[name] |= {"marker": "x", "markeredgewidth": 1.8}
            else:
                found[name] |= {"markeredgecolor": "white", "markeredgewidth": 0.6}
    return found


def draw_against_error(page: Document, found: dict[str, list[Found]]) -> None:
    """Draw stability under other samples against the error relative to random features, a panel a dataset."""
    found = {
        dataset: shown
        for dataset, items in found.items()
        if (shown := [item for item in items if item.rows and item.relative])
    }
    if not found:
        return
    caption = prose("stability.error_caption")
    if same := twin_words(found):
        caption += f" Marks cover each other where nearly always the same features are selected: {same}."
    page.draw("stability", caption, _size(found, 3.5), partial(_against_error, found))


def _against_error(found: dict[str, list[Found]], figure: Figure) -> None:
    style = styles(list(dict.fromkeys(item.method for items in found.values() for item in items)))
    axes = _panels(figure, len(found), sharex=False)
    for (dataset, items), axis in zip(found.items(), axes, strict=True):
        axis.axvline(1, color=BLACK, linewidth=0.8, linestyle=":")
        axis.axhline(0, color=BLACK, linewidth=0.8, linestyle=":")
        for item in items:
            _point(axis, item, style[item.method])
        axis.set_xscale("log")
        _set_ticks(axis)
        axis.set_ylim(-0.12, 1.05)
        axis.set_title(f"{info(dataset).title}, {info(dataset).k} of {info(dataset).n_columns}", fontsize="medium")
        axis.grid(alpha=0.25)
    figure.supxlabel(
        "error on the samples left out, relative to random features (ridge refit, log scale; 1: as random features)",
        fontsize="medium",
    )
    figure.supylabel("stability (Nogueira)", fontsize="medium")
    _legend(figure, axes[0], style)


def _point(axis: Axes, item: Found, look: dict[str, Any]) -> None:
    """Draw a method on a dataset; a hollow mark shows where it goes when its seed varies too."""
    if item.rows is None or item.relative is None:
        return
    x = item.relative.mean
    if item.both is not None and is_seeded(item.method) and item.method != RANDOM:
        axis.plot([x, x], [item.rows.nogueira, item.both.nogueira], color=look["color"], linewidth=0.8)
        hollow = look | {"markerfacecolor": "white", "markeredgecolor": look["color"], "markeredgewidth": 1.0}
        axis.plot(x, item.both.nogueira, linestyle="", **hollow)
    bars: dict[str, Any] = {"yerr": _bars([item.rows]), "xerr": item.relative.error or 0.0, "elinewidth": 0.8}
    axis.errorbar(x, item.rows.nogueira, linestyle="", **bars, **look)


def _set_ticks(axis: Axes) -> None:
    """Put the most wanted ticks on a logarithmic axis, as many as have room."""
    from matplotlib.ticker import FixedLocator, NullLocator

    low, high = (math.log(end) for end in axis.get_xlim())
    ticks: list[float] = []
    for tick in _TICKS:
        place = math.log(tick)
        if low <= place <= high and all(abs(place - math.log(other)) >= _APART * (high - low) for other in ticks):
            ticks.append(tick)
    axis.xaxis.set_major_locator(FixedLocator(sorted(ticks)))
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.xaxis.set_minor_locator(NullLocator())


def _legend(figure: Figure, axis: Axes, style: dict[str, dict[str, Any]]) -> None:
    """Put a legend above the panels, one column for each family with its name on top."""
    kinds = list(dict.fromkeys(map(family, style)))
    columns = {FAMILIES.get(kind, (kind, GREY))[0]: {n: style[n] for n in style if family(n) == kind} for kind in kinds}
    hollow = {"color": GREY, "marker": "o", "markerfacecolor": "white"}
    columns["filled or hollow"] = {"samples vary": {"color": GREY, "marker": "o"}, "samples and seed vary": hollow}
    height = max(map(len, columns.values()))
    handles = []
    for words, looks in columns.items():
        entries = [(rf"$\bf{{{words.replace(' ', '~')}}}$", {}), *looks.items(), *[(" ", {})] * (height - len(looks))]
        handles += [axis.plot([], [], label=label, linestyle="", **look)[0] for label, look in entries]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(columns), fontsize="small", columnspacing=1.2)


def draw_rows_and_seed(page: Document, found: dict[str, list[Found]]) -> None:
    """Draw what changes the choice of the seeded methods: the samples, the seed, or both."""
    every = [item for items in found.values() for item in items if is_seeded(item.method) and (item.seed or item.rows)]
    names = [name for name in methods() if any(item.method == name for item in every)]
    found = {dataset: items for dataset, items in found.items() if any(i.seed for i in items if i.method in names)}
    if not found:
        return
    caption = prose("stability.seed_caption")
    size = _size(found, 0.8 + 0.32 * max(len(names), 3))
    page.draw("stability_seed", caption, size, partial(_rows_and_seed, found, names))


def _rows_and_seed(found: dict[str, list[Found]], names: list[str], figure: Figure) -> None:
    axes = _panels(figure, len(found), sharex=True)
    looks: dict[str, tuple[str, dict[str, Any], float]] = {
        "rows": ("samples vary, seed held", {"marker": "o", "color": BLUE}, -0.22),
        "seed": ("seed varies, samples held", {"marker": "D", "color": VERMILION, "markerfacecolor": "white"}, 0.0),
        "both": ("both vary", {"marker": "s", "color": BLACK}, 0.22),
    }
    for (dataset, items), axis in zip(found.items(), axes, strict=True):
        axis.axvline(0, color=BLACK, linewidth=0.8, linestyle=":")
        by_name = {item.method: item for item in items}
        for part, (_, look, shift) in looks.items():
            # With its seed held, random draws the same features from any samples.
            shown = [name for name in names if name in by_name and not (name == RANDOM and part == "rows")]
            places = {name: value for name in shown if (value := getattr(by_name[name], part)) is not None}
            points = [value.nogueira for value in places.values()]
            heights = [names.index(name) + shift for name in places]
            bars = _bars(list(places.values()))
            axis.errorbar(points, heights, xerr=bars, linestyle="", markersize=4.5, elinewidth=0.8, **look)
        axis.set_yticks(range(len(names)), names)
        axis.set(ylim=(len(names) - 0.5, -0.5), xlim=(-0.15, 1.05))
        axis.set_title(info(dataset).title, fontsize="medium")
        axis.grid(axis="x", alpha=0.25)
        for place in range(len(names) - 1):
            axis.axhline(place + 0.5, color=GREY, linewidth=0.4, alpha=0.5)
    figure.supxlabel("stability (Nogueira; 0: as random sets, 1: the same set every time)", fontsize="medium")
    handles = [
        axes[0].plot([], [], linestyle="", markersize=5, label=words, **look)[0] for words, look, _ in looks.values()
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=3)


def _size(found: dict[str, list[Found]], height: float) -> tuple[float, float]:
    wide = min(_PANELS, len(found))
    return max(3.4 * wide, 13.2), height * math.ceil(len(found) / wide) + 1.4


def _panels(figure: Figure, number: int, *, sharex: bool) -> list[Axes]:
    wide = min(_PANELS, number)
    axes = list(figure.subplots(math.ceil(number / wide), wide, squeeze=False, sharey=True, sharex=sharex).flat)
    for axis in axes[number:]:
        axis.remove()
    return axes[:number]


def _bars(values: list[Stability]) -> list[list[float]]:
    """Return the lengths of the bars to both sides; none where there is no interval."""
    ends = [(item.nogueira, *item.confidence_interval) for item in values]
    below = [0.0 if math.isnan(low) else value - low for value, low, _ in ends]
    above = [0.0 if math.isnan(high) else high - value for value, _, high in ends]
    return [below, above]
