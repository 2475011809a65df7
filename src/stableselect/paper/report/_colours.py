"""How methods look in plots: colours that the colour-blind can tell apart, with marks and dashes where they run out.

References
----------
Okabe & Ito (2008), Color universal design.
"""

from __future__ import annotations

from typing import Any

from ..methods import METHODS

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
_LEADING: dict[str, dict[str, Any]] = {
    "|W|": {"color": VERMILION, "linestyle": "-", "marker": "o"},
    "W^2": {"color": VERMILION, "linestyle": "--", "marker": "s"},
    "ScorerSelector": {"color": BLUE, "linestyle": "-", "marker": "o"},
    "ScorerSelectorNetwork annealed": {"color": BLUE, "linestyle": "--", "marker": "s"},
    "ColumnSubset": {"color": GREEN, "linestyle": "-", "marker": "D"},
    "random": {"color": BLACK, "linestyle": "-", "marker": "x"},
    "mean predictor": {"color": BLACK, "linestyle": ":", "marker": ""},
    "PCA, k components": {"color": BLACK, "linestyle": "--", "marker": ""},
}


def line_style(method: str) -> dict[str, Any]:
    """Return the colour, dashes and marks of a method's line; baselines are thin and light."""
    if method in _LEADING:
        return {**_LEADING[method], "linewidth": 2.0, "markersize": 5, "zorder": 3}
    place = [name for name in METHODS if name not in _LEADING].index(method)
    return {
        "color": _CYCLE[place % len(_CYCLE)],
        "linestyle": ("-", "-.")[place // len(_CYCLE) % 2],
        "marker": _MARKS[place % len(_MARKS)],
        "linewidth": 1.0,
        "markersize": 4,
        "alpha": 0.9,
    }
