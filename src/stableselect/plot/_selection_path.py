"""How many features: the variance they explain and what is left of it, against the number of features.

Colours are those of Okabe & Ito (2008), Color universal design; dashes and marks say the same without colour.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator, PercentFormatter

from ..subset import SelectionPath
from ._axes import axes_for, result_of

_HELD_OUT, _TRAINING, _CHOSEN, _GUIDE = "#0072B2", "#E69F00", "#D55E00", "#767676"
_LEAST = 1e-6
"""Smallest fraction left that is drawn on the logarithmic axis; below it is mostly rounding."""


def selection_path(path: SelectionPath | Any, *, axes: Any = None) -> np.ndarray:
    """Draw the explained variance against the number of features, and the number chosen.

    Parameters
    ----------
    path : SelectionPath or fitted selector
        A path, or a selector fitted with ``n_features_to_select="auto"``.
    axes : sequence of two Axes, optional
        Where to draw; by default the current figure if it is empty, else a new one.

    Returns
    -------
    ndarray of two Axes
        Above, the fraction explained on held-out samples (the band spans the folds) and on the training samples;
        below, what is left, on a logarithmic scale. A shaded stretch shows the numbers of features that single folds
        would give.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from stableselect import ColumnSubset
    >>> from stableselect.plot import selection_path
    >>> upper, lower = selection_path(ColumnSubset("auto").fit(load_digits().data))
    >>> upper.get_ylabel(), lower.get_ylabel()
    ('explained variance', 'unexplained (log scale)')
    """
    path = result_of(path, SelectionPath, "path_", "selection_path", "n_features_to_select='auto'")
    upper, lower = axes_for(axes, (7.0, 5.6), 2, 1, sharex=True, height_ratios=[3, 2])[:, 0]
    upper.set_title(_title(path), fontsize=10)
    k = np.arange(1, path.limit + 1)
    low, high = path.fold_explained_variance_ratio.min(axis=0), path.fold_explained_variance_ratio.max(axis=0)
    mark = "o" if path.limit <= 30 else ""
    for ax, turn in ((upper, lambda explained: explained), (lower, _left)):
        ax.fill_between(k, turn(low), turn(high), color=_HELD_OUT, alpha=0.25, linewidth=0, label="range of the folds")
        held_out = turn(path.explained_variance_ratio)
        ax.plot(k, held_out, "-", marker=mark, markersize=3, color=_HELD_OUT, label="held-out samples")
        ax.plot(k, turn(path.train_explained_variance_ratio), "--", color=_TRAINING, label="training samples")
        ax.axhline(turn(path.target), color=_GUIDE, linestyle=":", label=f"target, {path.target:.6g}")
        _mark_choice(ax, path, turn)
        ax.grid(True, color="#dddddd", linewidth=0.6)
        ax.set_axisbelow(True)
    shown = np.concatenate([path.explained_variance_ratio, path.train_explained_variance_ratio, [path.target]])
    upper.set_ylim(max(-0.05, float(shown.min()) - 0.05), 1.02)
    upper.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    upper.set_ylabel("explained variance")
    upper.legend(loc="lower right", frameon=True, framealpha=0.9, edgecolor="none", fontsize="small")
    lower.set_yscale("log")
    least, most = np.log10([_left(shown).min(), _left(shown).max()])
    lower.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if most - least < 2.5 else (1.0,)))
    lower.yaxis.set_minor_locator(NullLocator())
    lower.yaxis.set_major_formatter(FuncFormatter(lambda left, _: f"{100 * left:g} %"))
    lower.set_ylabel("unexplained (log scale)")
    lower.set_xlabel("features selected")
    lower.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    lower.set_xlim(0.5, path.limit + 0.5)
    return np.array([upper, lower], dtype=object)


def _left(explained: Any) -> Any:
    return np.maximum(1 - explained, _LEAST)


def _mark_choice(ax: Axes, path: SelectionPath, turn: Any) -> None:
    """Mark the number chosen, and shade what single folds would choose."""
    first, last = path.n_features_range
    label = f"chosen, {path.n_features} (single folds: {first} to {last})"
    ax.axvspan(first - 0.5, last + 0.5, color=_CHOSEN, alpha=0.15, linewidth=0)
    ax.axvline(path.n_features, color=_CHOSEN, linestyle="-.", linewidth=1.0)
    explained = turn(path.explained_variance_ratio[path.n_features - 1])
    ax.plot([path.n_features], [explained], "D", color=_CHOSEN, markersize=6, linewidth=0, label=label)


def _title(path: SelectionPath) -> str:
    held_out = 100 * path.explained_variance_ratio[path.n_features - 1]
    features = "1 feature explains" if path.n_features == 1 else f"{path.n_features} features explain"
    text = f"{features} {held_out:.1f} % of the variance of held-out samples"
    return text if path.reached else f"{text};\nthe target of {path.target:.6g} is not reached"
