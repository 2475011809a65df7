"""Pictures: their files, how methods look in them, and what several of them have: ticks, panels, bars, a legend.

Colours are those that the colour-blind can tell apart, with marks and dashes where they run out.

References
----------
Okabe & Ito (2008), Color universal design.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..experiments import Value
from .methods import METHODS, PROTOCOLS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

BLACK = "#000000"
ORANGE = "#E69F00"
SKY = "#56B4E9"
GREEN = "#009E73"
BLUE = "#0072B2"
VERMILION = "#D55E00"
PURPLE = "#CC79A7"
GREY = "#767676"

_MARKS = "osD^v<>PXd"
_CYCLE = (SKY, ORANGE, GREEN, PURPLE, GREY)
_LEADING: dict[str, tuple[str, str, str]] = {
    "|W|": (VERMILION, "-", "o"),
    "W^2": (VERMILION, "--", "s"),
    "ScorerSelector": (BLUE, "-", "o"),
    "ScorerSelectorNetwork annealed": (BLUE, "--", "s"),
    "ColumnSubset": (GREEN, "-", "D"),
    "random": (BLACK, "-", "x"),
    "mean predictor": (BLACK, ":", ""),
    "PCA, k components": (BLACK, "--", ""),
}
"""Colour, dashes and marks of the methods that stand out."""
_DECADES = 4
"""Of a logarithmic axis that have room for three numbers each."""


@dataclass
class Picture:
    """A picture in two formats.

    Attributes
    ----------
    name : str
        File name without extension.
    caption : str
        What it shows.
    png, svg : bytes
        The files.
    """

    name: str
    caption: str
    png: bytes
    svg: bytes


def picture(name: str, caption: str, figure: Figure) -> Picture:
    """Draw a matplotlib figure in both formats, with nothing in the files that changes from run to run."""
    from matplotlib import rc_context
    from PIL import Image

    drawn, vector, png = io.BytesIO(), io.BytesIO(), io.BytesIO()
    with rc_context({"svg.hashsalt": name}):
        figure.savefig(drawn, format="png", dpi=110)
        figure.savefig(vector, format="svg", dpi=110, metadata={"Date": None})
    # A palette makes the file a third of the size.
    with Image.open(drawn) as image:
        image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(png, format="png", optimize=True)
    return Picture(name, caption, png.getvalue(), vector.getvalue())


def line_style(method: str) -> dict[str, Any]:
    """Return the colour, dashes and marks of a method's line; baselines are thin and light."""
    if method in _LEADING:
        colour, dashes, mark = _LEADING[method]
        sizes = {"linewidth": 2.0, "markersize": 5, "zorder": 3}
    else:
        place = [name for name in METHODS if name not in _LEADING].index(method)
        colour, dashes = _CYCLE[place % len(_CYCLE)], ("-", "-.")[place // len(_CYCLE) % 2]
        mark = _MARKS[place % len(_MARKS)]
        sizes = {"linewidth": 1.0, "markersize": 4, "alpha": 0.9}
    return {"color": colour, "linestyle": dashes, "marker": mark, **sizes}


def plain_ticks(axis: Axis) -> None:
    """Write a logarithmic axis without powers of ten: 1, 2 and 5 in every decade, 1 alone where there are many."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    low, high = sorted(axis.get_view_interval())
    wide = low > 0 and math.log10(high / low) > _DECADES
    axis.set_major_locator(LogLocator(subs=(1,) if wide else (1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_locator(NullLocator())


def protocol_panels(figure: Figure, columns: int) -> np.ndarray:
    """Return the panels of a figure, one row for each protocol."""
    return figure.subplots(len(PROTOCOLS), columns, sharex="col", sharey="col", squeeze=False)


def error_bars(
    axis: Axes, places: Sequence[float], values: Sequence[Value | None], unit: float = 1.0, **looks: Any
) -> None:
    """Draw means with their spreads; nothing where there are none."""
    if any(values):
        means = [math.nan if value is None else unit * value.mean for value in values]
        spreads = [math.nan if value is None or value.spread is None else unit * value.spread for value in values]
        axis.errorbar(places, means, yerr=spreads, **{"capsize": 3, **looks})


def drawn_legend(figure: Figure, ncols: int) -> None:
    """Put a legend above the panels of a figure, of everything that some panel shows."""
    pairs = (pair for axis in figure.axes for pair in zip(*axis.get_legend_handles_labels(), strict=True))
    handles = {label: handle for handle, label in pairs}
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=ncols, fontsize="small")


def without_ticks(axis: Axes) -> None:
    """Leave only the words at the left of a panel that shows an image."""
    axis.set_xticks([])
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
