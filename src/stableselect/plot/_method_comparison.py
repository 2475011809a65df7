"""Methods side by side: error, accuracy, stability and time of a comparison."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from ._axes import axes_for, shortened

_METHOD, _REFERENCE, _SEEDS = "#0072B2", "#777777", "#D55E00"
"""Of Okabe & Ito (2008)."""


def method_comparison(comparison: Any, *, axes: Any = None, figure: Any = None) -> np.ndarray:
    """Draw the rows of a comparison: error, accuracy where it was measured, stability and time.

    Parameters
    ----------
    comparison : MethodComparison
        Result of :func:`stableselect.compare`.
    axes : sequence of Axes, optional
        Where to draw, three or, with accuracy, four; by default the current figure if it is empty, else a new one.
    figure : Figure, optional
        Where to make the axes.

    Returns
    -------
    ndarray of Axes
        One line for each method, best on top, and grey ones for the references. Bars are standard errors over the
        splits. Methods without figures are left out.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import stableselect as ss
    >>> found = ss.compare(load_wine().data, 4, methods=["VarianceScore", "PivotedQR"])
    >>> error, stability, seconds = ss.plot.method_comparison(found)
    >>> error.get_xlabel()
    'error on held-out samples'
    """
    rows = [row for row in comparison.rows if not (math.isnan(row.error) and math.isnan(row.accuracy))]
    number = 4 if comparison.labelled else 3
    if figure is not None and axes is None:
        axes = figure.subplots(1, number, sharey=True)
    found = axes_for(axes, (2.4 * number, 1.4 + 0.3 * len(rows)), 1, number, sharey=True)[0]
    first, *accuracy, agreement, seconds = found
    _draw(first, rows, "error", "error_se", "error on held-out samples")
    for ax in accuracy:
        _draw(ax, rows, "accuracy", "accuracy_se", "accuracy")
        ax.xaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    _draw(agreement, rows, "stability", None, "stability")
    seeds = [row.seed_stability for row in rows]
    agreement.plot(seeds, range(len(rows)), "|", color=_SEEDS, markersize=11, markeredgewidth=1.8)
    agreement.plot([], [], "o", color=_METHOD, label="other samples")
    agreement.plot([], [], "|", color=_SEEDS, markersize=9, label="other seeds")
    agreement.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=7, frameon=False)
    agreement.set_xlim(min(-0.08, *agreement.get_xlim()), 1.05)
    _draw(seconds, rows, "seconds", None, "seconds to select")
    seconds.set_xscale("log")
    first.set_yticks(range(len(rows)), [shortened(row.name) for row in rows], fontsize=8)
    first.set_ylim(len(rows) - 0.5, -0.5)
    first.set_xlim(left=0)
    return found


def _draw(ax: Axes, rows: list[Any], name: str, spread: str | None, label: str) -> None:
    for y, row in enumerate(rows):
        x, colour = getattr(row, name), _METHOD if row.kind == "method" else _REFERENCE
        reach = getattr(row, spread) if spread else math.nan
        if not math.isnan(x):
            ax.errorbar(x, y, xerr=0.0 if math.isnan(reach) else reach, fmt="o", color=colour, markersize=5)
    ax.set_xlabel(label, fontsize=9)
    ax.grid(axis="both", color="#DDDDDD", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.tick_params(axis="both", labelsize=8, length=0)
    ax.spines[["top", "right"]].set_visible(False)
