"""Uniform stability in a picture: the change of the loss against the number of rows, or row by row.

Colours are those of Okabe & Ito (2008), Color universal design; marks and dashes say the same without colour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator

if TYPE_CHECKING:
    from ..inspection import LossChange, StabilityRate, UniformStability

_SUP, _MEAN, _GUIDE = "#D55E00", "#0072B2", "#767676"


def uniform_stability(result: UniformStability, *, path: str = "selector") -> Figure:
    """Draw the largest and the mean change of a loss against n, on logarithmic axes, with the fitted powers.

    A result without sizes is drawn row by row instead, largest change first.

    Parameters
    ----------
    result : UniformStability
        What :func:`stableselect.inspection.uniform_stability` returned.
    path : {"selector", "scorer", "total"}, default="selector"
        The loss to draw.

    Returns
    -------
    matplotlib.figure.Figure
        The figure, tied to no window; save it with its ``savefig``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect import ColumnSubset
    >>> from stableselect import inspection, plot
    >>> X = load_iris().data
    >>> result = inspection.uniform_stability(ColumnSubset(2), X[::2], X[1::2], n_left_out=5)
    >>> figure = plot.uniform_stability(result)
    >>> figure.axes[0].get_ylabel()
    'largest change of the loss (MSE per cell)'
    """
    if path not in ("selector", "scorer", "total"):
        raise ValueError(f"path must be 'selector', 'scorer' or 'total' but is {path!r}; choose one of them.")
    changes: LossChange | None = getattr(result, path)
    if changes is None:
        raise ValueError(f"This selector has no {path} loss; use path='selector'.")
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.subplots()
    if result.rates:
        _against_n(axes, result.rates[path], f"rows {'replaced' if result.replaced else 'left out'} one at a time")
    else:
        _by_row(axes, changes.by_row, result.changed, result.replaced)
    axes.set_title(f"Uniform stability, {path} loss", loc="left", fontsize="medium")
    axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    return figure


def _against_n(axes: Axes, rate: StabilityRate, what: str) -> None:
    sizes = rate.sizes
    ends = np.array([sizes[0], sizes[-1]], dtype=float)
    drawn = [
        ("largest", rate.sup, rate.sup_rate, _SUP, "o", "-"),
        ("mean", rate.mean, rate.mean_rate, _MEAN, "s", "--"),
    ]
    axes.set_xscale("log")
    if (rate.mean > 0).all():
        axes.set_yscale("log")
    for name, values, fitted, colour, mark, dashes in drawn:
        # Repeats stand a little apart, so that equal values do not hide each other.
        shift = np.exp(np.linspace(-0.012, 0.012, len(values)))[:, None]
        axes.plot((sizes * shift).ravel(), values.ravel(), mark, color=colour, alpha=0.45, markersize=4, linewidth=0)
        low, high = fitted.interval
        label = f"{name}: slope {fitted.slope:.2f} ({low:.2f} to {high:.2f})"
        if np.isfinite(fitted.slope):
            axes.plot(ends, fitted.predict(ends), dashes, color=colour, marker=mark, markersize=0, label=label)
        else:
            axes.plot([], [], mark, color=colour, label=f"{name}: no slope (changes of 0)")
    if np.isfinite(rate.sup_rate.slope):
        start = float(rate.sup_rate.predict(ends[:1])[0])
        axes.plot(ends, start * ends[0] / ends, ":", color=_GUIDE, label="1/n, for comparison")
    axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(f"rows n ({what})")
    axes.set_ylabel("change of the loss (MSE per cell)")
    axes.legend(frameon=False, fontsize="small")


def _by_row(axes: Axes, by_row: np.ndarray, changed: np.ndarray, replaced: bool) -> None:
    order = np.argsort(-by_row, kind="stable")
    place = np.arange(1, order.size + 1)
    groups = [("kept columns change", changed, _SUP, "^"), ("kept columns stay", ~changed, _MEAN, "o")]
    for label, members, colour, mark in groups:
        shown = members[order]
        if shown.any():
            axes.plot(place[shown], by_row[order][shown], mark, color=colour, markersize=4, linewidth=0, label=label)
    if (by_row > 0).all():
        axes.set_yscale("log")
    axes.set_xlabel(f"row {'replaced' if replaced else 'left out'}, by rank of its change")
    axes.set_ylabel("largest change of the loss (MSE per cell)")
    axes.legend(frameon=False, fontsize="small")
