"""What stability costs: held-out error against stability of every setting of a search, and the one chosen.

Colours are those of Okabe & Ito (2008), Color universal design; marks and dashes say the same without colour.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.lines import Line2D

from ..subset import StabilityFrontier
from ._axes import axes_for, result_of

_KINDS = {"no votes": ("#0072B2", "o"), "votes of subsamples": ("#009E73", "s")}
_CHOSEN, _GUIDE, _STEP = "#D55E00", "#767676", "#333333"
_SMALLEST, _LARGEST = 4.0, 10.0
"""Diameters of the marks of the least and the most ridge, in points."""
_FADED = 0.4
"""Fraction of its colour that a setting keeps which another one beats."""


def stability_frontier(frontier: StabilityFrontier | Any, *, ax: Axes | None = None) -> Axes:
    """Draw held-out error against stability, one mark for every setting tried.

    Parameters
    ----------
    frontier : StabilityFrontier or fitted selector
        A frontier, or a selector fitted with ``criterion="stability"`` or a ``min_stability``.
    ax : Axes, optional
        Where to draw; by default the current figure if it is empty, else a new one.

    Returns
    -------
    Axes
        To the right, the error on held-out samples in percent above the lowest; upwards, Nogueira's stability with its
        standard error. Colour and shape tell whether subsamples vote, size the ridge. A step line joins the settings
        that none beats in both. The one chosen is ringed and named, with the stability of the whole procedure. The
        band is ``max_error_increase``, a dashed line the stability asked for. Settings that cost far more than these
        are counted, not drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from stableselect import ColumnSubset
    >>> from stableselect.plot import stability_frontier
    >>> X = StandardScaler().fit_transform(load_wine().data)
    >>> stability_frontier(ColumnSubset(5, criterion="stability").fit(X)).get_ylabel()
    'stability (Nogueira; 1 = same features each time)'
    """
    asked = "criterion='stability' or a min_stability"
    frontier = result_of(frontier, StabilityFrontier, "frontier_", "stability_frontier", asked)
    if np.isnan(frontier.stability).all():
        raise ValueError("There is no frontier: all features are selected, so stability is undefined; select fewer.")
    above = _above_least(frontier.error)
    reach = _reach(frontier, above)
    axes: Axes = axes_for(ax, (8.4, 4.8))[0, 0]
    _draw_limits(axes, frontier)
    _draw_settings(axes, frontier, above, above <= reach)
    _draw_efficient(axes, frontier, above, reach)
    _mark_choice(axes, frontier, above, reach)
    axes.set_xlim(-0.04 * reach, reach)
    axes.xaxis.set_major_formatter("{x:g} %")
    axes.set_xlabel(_x_label(frontier, int(np.count_nonzero(above > reach))))
    axes.set_ylabel("stability (Nogueira; 1 = same features each time)")
    axes.grid(True, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    entries = _legend(axes, frontier, above <= reach)
    axes.legend(handles=entries, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=9)
    return axes


def _above_least(error: np.ndarray) -> np.ndarray:
    """Return errors in percent above the lowest; where that is 0, infinity for all others."""
    least = error.min()
    return 100 * (error / least - 1) if least > 0 else np.where(error > 0, np.inf, 0.0)


def _reach(frontier: StabilityFrontier, above: np.ndarray) -> float:
    """Return where the horizontal axis ends, in percent: past the tolerance and past what no other setting beats."""
    finite = np.isfinite(above)
    near = float(above[frontier.pareto_optimal & finite].max())
    allowed = min(100 * frontier.max_error_increase, max(5.0, float(above[finite].max())))
    return max(1.5 * allowed, 1.15 * near, 1.0)


def _kinds(frontier: StabilityFrontier) -> np.ndarray:
    """Return the number of every setting's kind in ``_KINDS``."""
    return (frontier.vote_weight > 0).astype(int)


def _diameters(frontier: StabilityFrontier) -> dict[float, float]:
    """Return the size of the marks of each ridge weight."""
    ridges = np.unique(frontier.ridge)
    sizes = np.linspace(_SMALLEST, _LARGEST, len(ridges)) if len(ridges) > 1 else [6.0]
    return dict(zip(ridges.tolist(), map(float, sizes), strict=True))


def _draw_limits(axes: Axes, frontier: StabilityFrontier) -> None:
    if frontier.target is not None:
        label = f"stability asked for, {frontier.target:g}"
        axes.axhline(frontier.target, color=_GUIDE, linestyle="--", linewidth=1.2, label=label)
    percent = 100 * frontier.max_error_increase
    axes.axvspan(0, percent, color=_GUIDE, alpha=0.13, linewidth=0, label=f"max_error_increase, {percent:g} %")


def _draw_settings(axes: Axes, frontier: StabilityFrontier, above: np.ndarray, shown: np.ndarray) -> None:
    styles, diameters = list(_KINDS.values()), _diameters(frontier)
    kinds, pareto_optimal = _kinds(frontier), frontier.pareto_optimal
    # Faded ones first, so that they never cover what counts.
    for i in sorted(np.flatnonzero(shown), key=lambda i: bool(pareto_optimal[i])):
        colour, mark = styles[kinds[i]]
        colour = colour if pareto_optimal[i] else _faded(colour)
        axes.errorbar(
            above[i],
            frontier.stability[i],
            yerr=np.nan_to_num(frontier.standard_error[i]),
            fmt=mark,
            color=colour,
            markersize=diameters[float(frontier.ridge[i])],
            elinewidth=1.0,
        )


def _faded(colour: str) -> str:
    """Return a lighter colour; not a transparent one, which marks on top of each other would darken again."""
    red, green, blue = (1 - _FADED * (1 - part) for part in to_rgb(colour))
    return to_hex((red, green, blue))


def _draw_efficient(axes: Axes, frontier: StabilityFrontier, above: np.ndarray, reach: float) -> None:
    """Join the settings that none beats: the stability to be had at every error."""
    best = np.flatnonzero(frontier.pareto_optimal & (above <= reach))
    best = best[np.argsort(above[best], kind="stable")]
    x, y = np.append(above[best], reach), np.append(frontier.stability[best], frontier.stability[best[-1]])
    axes.plot(x, y, drawstyle="steps-post", color=_STEP, linewidth=1.0, zorder=1.5, label="most stable at this error")


def _mark_choice(axes: Axes, frontier: StabilityFrontier, above: np.ndarray, reach: float) -> None:
    i = frontier.chosen
    x, y = min(float(above[i]), reach), float(frontier.stability[i])
    axes.plot([x], [y], "o", markersize=17, markerfacecolor="none", color=_CHOSEN, markeredgewidth=1.8, label="chosen")
    left = x < 0.5 * reach
    low, high = frontier.procedure_interval
    words = (
        f"{frontier.describe(i)}, {above[i]:.1f} % above the lowest\n"
        f"whole procedure: {frontier.procedure_stability:.2f} [{low:.2f}, {high:.2f}]"
    )
    # The words are above the axes, where they hide nothing, and a little aside, or the line would hide the error bar:
    # nothing lies between a setting that none beats and the upper edge.
    axes.annotate(
        words,
        (x, y),
        xytext=(x + (0.03 if left else -0.03) * reach, 1.04),
        textcoords=("data", "axes fraction"),
        horizontalalignment="left" if left else "right",
        verticalalignment="bottom",
        fontsize=9,
        bbox={"facecolor": "white", "edgecolor": _CHOSEN, "boxstyle": "round,pad=0.3"},
        arrowprops={"arrowstyle": "-", "color": _CHOSEN, "shrinkA": 0, "shrinkB": 8, "relpos": (0 if left else 1, 0)},
    )


def _x_label(frontier: StabilityFrontier, beyond: int) -> str:
    unit = f"the lowest is {frontier.error.min():.4g}, mean squared error"
    further = "1 setting lies further right" if beyond == 1 else f"{beyond} settings lie further right"
    return f"held-out error above the lowest\n({unit}{'; ' + further if beyond else ''})"


def _legend(axes: Axes, frontier: StabilityFrontier, shown: np.ndarray) -> list[Any]:
    """Return the entries: kinds and ridges that are drawn, then the lines."""
    kinds, ridges = _kinds(frontier)[shown], frontier.ridge[shown]
    styles, sizes = list(_KINDS.items()), _diameters(frontier)
    marks: list[dict[str, Any]] = []
    for name, (colour, mark) in (styles[kind] for kind in np.unique(kinds)):
        marks.append({"label": name, "marker": mark, "color": colour})
    for ridge in np.unique(ridges).tolist():
        marks.append({"label": f"ridge {ridge:g}", "color": "#999999", "markersize": sizes[ridge]})
    if not np.all(frontier.pareto_optimal[shown]):
        marks.append({"label": "faded: another is better in both", "color": _faded(_STEP)})
    marks.append({"label": "± standard error", "marker": "|", "markersize": 11})
    usual = {"linestyle": "", "marker": "o", "color": _STEP}
    return [Line2D([], [], **(usual | mark)) for mark in marks] + axes.get_legend_handles_labels()[0]
