"""How many columns: the explained share and what is left of the variance, against the number of columns.

Colours are those of Okabe & Ito (2008), Color universal design; dashes and marks say the same without colour.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator, PercentFormatter

from ..subset import SelectionPath

_HELD_OUT, _TRAINING, _CHOSEN, _GUIDE = "#0072B2", "#E69F00", "#D55E00", "#767676"
_LEAST = 1e-6
"""Smallest share left that is drawn on the logarithmic axis; below it is mostly rounding."""


def selection_path(path: SelectionPath | Any) -> Figure:
    """Draw the explained share of the variance against the number of columns, and the number chosen.

    Parameters
    ----------
    path : SelectionPath or fitted selector
        A path, or a selector fitted with ``n_features_to_select="auto"``.

    Returns
    -------
    matplotlib.figure.Figure
        Above, the share explained on held-out rows (the band spans the folds) and on the rows that chose the columns;
        below, what is left, on a logarithmic scale. A shaded stretch shows the numbers of columns that single folds
        would give. Tied to no window; save it with its ``savefig``.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from stableselect import ColumnSubset
    >>> from stableselect.plot import selection_path
    >>> figure = selection_path(ColumnSubset("auto").fit(load_digits().data))
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['explained share of the variance', 'share left (log scale)']
    """
    if not isinstance(path, SelectionPath):
        path = getattr(path, "path_", None)
    if not isinstance(path, SelectionPath):
        raise TypeError(
            "selection_path draws a SelectionPath or a selector fitted with n_features_to_select='auto'; give one of "
            "these."
        )
    figure = Figure(figsize=(7.0, 5.6), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    figure.suptitle(_title(path), fontsize=11)
    k = np.arange(1, path.limit + 1)
    low, high = path.fold_explained_variance_ratio.min(axis=0), path.fold_explained_variance_ratio.max(axis=0)
    mark = "o" if path.limit <= 30 else ""
    for axes, turn in ((upper, _as_it_is), (lower, _left)):
        axes.fill_between(
            k, turn(low), turn(high), color=_HELD_OUT, alpha=0.25, linewidth=0, label="range of the folds"
        )
        axes.plot(
            k,
            turn(path.explained_variance_ratio),
            "-",
            marker=mark,
            markersize=3,
            color=_HELD_OUT,
            label="held-out rows",
        )
        axes.plot(
            k, turn(path.train_explained_variance_ratio), "--", color=_TRAINING, label="rows that chose the columns"
        )
        if path.target is not None:
            axes.axhline(turn(path.target), color=_GUIDE, linestyle=":", label=f"target, {path.target:.6g}")
        _mark_choice(axes, path, turn)
        axes.grid(True, color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
    shown = np.concatenate(
        [
            path.explained_variance_ratio,
            path.train_explained_variance_ratio,
            [] if path.target is None else [path.target],
        ]
    )
    upper.set_ylim(max(-0.05, float(shown.min()) - 0.05), 1.02)
    upper.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    upper.set_ylabel("explained share of the variance")
    upper.legend(loc="lower right", frameon=True, framealpha=0.9, edgecolor="none", fontsize="small")
    lower.set_yscale("log")
    least, most = np.log10([_left(shown).min(), _left(shown).max()])
    lower.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if most - least < 2.5 else (1.0,)))
    lower.yaxis.set_minor_locator(NullLocator())
    lower.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g} %"))
    lower.set_ylabel("share left (log scale)")
    lower.set_xlabel("columns kept")
    lower.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    lower.set_xlim(0.5, path.limit + 0.5)
    return figure


def _as_it_is(explained: Any) -> Any:
    return explained


def _left(explained: Any) -> Any:
    return np.maximum(1 - explained, _LEAST)


def _mark_choice(axes: Axes, path: SelectionPath, turn: Any) -> None:
    """Mark the number chosen, and shade what single folds would choose."""
    first, last = path.n_features_range
    label = f"chosen, {path.n_features} (single folds: {first} to {last})"
    axes.axvspan(first - 0.5, last + 0.5, color=_CHOSEN, alpha=0.15, linewidth=0)
    axes.axvline(path.n_features, color=_CHOSEN, linestyle="-.", linewidth=1.0)
    share = turn(path.explained_variance_ratio[path.n_features - 1])
    axes.plot([path.n_features], [share], "D", color=_CHOSEN, markersize=6, linewidth=0, label=label)


def _title(path: SelectionPath) -> str:
    held_out = 100 * path.explained_variance_ratio[path.n_features - 1]
    columns = "1 column explains" if path.n_features == 1 else f"{path.n_features} columns explain"
    share = f"{columns} {held_out:.1f} % of the variance of held-out rows"
    if path.rule == "elbow":
        return f"{share}: {'the elbow' if path.reached else 'no elbow found'}"
    return share if path.reached else f"{share}; the target of {path.target:.6g} is not reached"
