"""Uniform stability in a picture: the change of the loss against the number of samples, or sample by sample.

Colours are those of Okabe & Ito (2008), Color universal design; marks and dashes say the same without colour.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter, NullLocator

from ..inspection import LossChange, StabilityRate, UniformStability
from ._axes import axes_for

_SUP, _MEAN, _GUIDE = "#D55E00", "#0072B2", "#767676"


def uniform_stability(result: UniformStability, *, path: str = "selector", ax: Axes | None = None) -> Axes:
    """Draw the largest and the mean change of a loss against n, on logarithmic axes, with the fitted powers.

    A result without sizes is drawn sample by sample instead, largest change first.

    Parameters
    ----------
    result : UniformStability
        What :func:`stableselect.inspection.uniform_stability` returned.
    path : {"selector", "scorer", "total"}, default="selector"
        The loss to draw.
    ax : Axes, optional
        Where to draw; by default the current figure if it is empty, else a new one.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect import ColumnSubset
    >>> from stableselect import inspection, plot
    >>> X = load_iris().data
    >>> result = inspection.uniform_stability(ColumnSubset(2), X[::2], X[1::2], n_left_out=5)
    >>> plot.uniform_stability(result).get_ylabel()
    'largest change of the loss (mean squared error)'
    """
    if path not in ("selector", "scorer", "total"):
        raise ValueError(f"path must be 'selector', 'scorer' or 'total' but is {path!r}; choose one of them.")
    changes: LossChange | None = getattr(result, path)
    if changes is None:
        raise ValueError(f"This selector has no {path} loss; use path='selector'.")
    drawn: Axes = axes_for(ax, (6.4, 4.4))[0, 0]
    if result.rates:
        _against_n(drawn, result.rates[path], f"samples {'replaced' if result.replaced else 'left out'} one at a time")
    else:
        _by_sample(drawn, changes.by_sample, result.changed, result.replaced)
    drawn.set_title(f"Uniform stability, {path} loss", loc="left", fontsize="medium")
    drawn.grid(True, which="major", color="#dddddd", linewidth=0.6)
    drawn.set_axisbelow(True)
    return drawn


def _against_n(ax: Axes, rate: StabilityRate, what: str) -> None:
    sizes = rate.sizes
    ends = np.array([sizes[0], sizes[-1]], dtype=float)
    drawn = [
        ("largest", rate.sup, rate.sup_rate, _SUP, "o", "-"),
        ("mean", rate.mean, rate.mean_rate, _MEAN, "s", "--"),
    ]
    ax.set_xscale("log")
    if (rate.mean > 0).all():
        ax.set_yscale("log")
    for name, values, fitted, colour, mark, dashes in drawn:
        # Repeats are drawn a little apart, so that equal values do not hide each other.
        shift = np.exp(np.linspace(-0.012, 0.012, len(values)))[:, None]
        ax.plot((sizes * shift).ravel(), values.ravel(), mark, color=colour, alpha=0.45, markersize=4, linewidth=0)
        low, high = fitted.interval
        label = f"{name}: slope {fitted.slope:.2f} ({low:.2f} to {high:.2f})"
        if np.isfinite(fitted.slope):
            ax.plot(ends, fitted.predict(ends), dashes, color=colour, marker=mark, markersize=0, label=label)
        else:
            ax.plot([], [], mark, color=colour, label=f"{name}: no slope (changes of 0)")
    if np.isfinite(rate.sup_rate.slope):
        start = float(rate.sup_rate.predict(ends[:1])[0])
        ax.plot(ends, start * ends[0] / ends, ":", color=_GUIDE, label="1/n, for comparison")
    ax.set_xticks(sizes, [f"{n:,}" for n in sizes])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel(f"samples n ({what})")
    ax.set_ylabel("change of the loss (mean squared error)")
    ax.legend(frameon=False, fontsize="small")


def _by_sample(ax: Axes, by_sample: np.ndarray, changed: np.ndarray, replaced: bool) -> None:
    order = np.argsort(-by_sample, kind="stable")
    place = np.arange(1, order.size + 1)
    groups = [("selected features change", changed, _SUP, "^"), ("selected features stay", ~changed, _MEAN, "o")]
    for label, members, colour, mark in groups:
        shown = members[order]
        if shown.any():
            ax.plot(place[shown], by_sample[order][shown], mark, color=colour, markersize=4, linewidth=0, label=label)
    if (by_sample > 0).all():
        ax.set_yscale("log")
    ax.set_xlabel(f"sample {'replaced' if replaced else 'left out'}, by rank of its change")
    ax.set_ylabel("largest change of the loss (mean squared error)")
    ax.legend(frameon=False, fontsize="small")
