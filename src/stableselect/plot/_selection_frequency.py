"""Which runs of a selection selected which features."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.ticker import MaxNLocator, PercentFormatter
from numpy.typing import ArrayLike

from .._core import wilson_interval
from ..base import check_count, check_supports
from ..inspection import StabilityAnalysis
from ._axes import axes_for, shortened

_SELECTED, _OTHER = "#0072B2", "#E8E8E8"
"""Blue of Okabe & Ito (2008), and a grey so light that the two differ without colour."""
_CONFIDENCE = 0.95


def selection_frequency(
    runs: StabilityAnalysis | ArrayLike | Iterable[ArrayLike],
    feature_names: Sequence[str] | None = None,
    max_features: int = 40,
    *,
    axes: Any = None,
) -> np.ndarray:
    """Draw which runs selected which features, and how often each feature was selected.

    Parameters
    ----------
    runs : StabilityAnalysis, or array-like of shape (n_runs, m), or iterable of feature sets
        Result of :func:`~stableselect.inspection.stability_analysis`; or one Boolean mask per run; or one list of
        feature indices per run, together with ``feature_names``.
    feature_names : sequence of str or None, default=None
        Feature names; None for those of the analysis, or for numbers.
    max_features : int, default=40
        At most so many features are drawn. Features that no run selected are left out; of more than ``max_features``
        others, those are drawn on which the runs agree least, and the title says how many more there are.
    axes : sequence of two Axes, optional
        Where to draw; by default the current figure if it is empty, else a new one.

    Returns
    -------
    ndarray of two Axes
        Left, one line per feature, the most frequent on top, ties in the table's order, and one field per run. Right,
        the fraction of the runs with Wilson's interval.

    Examples
    --------
    >>> from stableselect.plot import selection_frequency
    >>> left, right = selection_frequency([[0, 1], [0, 2], [0, 1]], feature_names=["a", "b", "c", "d"])
    >>> [label.get_text() for label in left.get_yticklabels()]
    ['a', 'b', 'c']
    """
    max_features = check_count(max_features, "max_features", 1)
    if isinstance(runs, StabilityAnalysis):
        masks, confidence, varied = runs.supports, runs.confidence, f": {runs.varied}"
        feature_names = runs.feature_names if feature_names is None else feature_names  # type: ignore[assignment]
    else:
        masks = check_supports(runs, None if feature_names is None else len(feature_names))
        confidence, varied = _CONFIDENCE, ""
    n_runs, m = masks.shape
    if feature_names is not None and len(feature_names) != m:
        raise ValueError(f"feature_names must hold {m} names but holds {len(feature_names)}; name every feature.")
    counts = masks.sum(axis=0)
    shown = _shown(counts, n_runs, max_features)
    left, right = axes_for(axes, (8.0, 1.7 + 0.2 * len(shown)), 1, 2, sharey=True, width_ratios=[2.2, 1.0])[0]
    names = shown if feature_names is None else [feature_names[j] for j in shown]
    _draw_fields(left, masks[:, shown].T, [shortened(str(name)) for name in names])
    _draw_fractions(right, counts[shown] / n_runs, wilson_interval(counts[shown], n_runs, confidence), confidence)
    left.set_title(f"{n_runs} runs{varied}\n{_counted(counts, n_runs, len(shown))}", fontsize=10, loc="left")
    return np.array([left, right], dtype=object)


def _shown(counts: np.ndarray, n_runs: int, most: int) -> np.ndarray:
    """Return the features to draw, most frequent first: those that some runs select and others do not come before."""
    ever = np.flatnonzero(counts)
    if not ever.size:
        return np.array([0])
    doubt = counts[ever] * (n_runs - counts[ever])
    kept = np.sort(ever[np.lexsort((-counts[ever], -doubt))[:most]])
    return kept[np.argsort(-counts[kept], kind="stable")]


def _counted(counts: np.ndarray, n_runs: int, drawn: int) -> str:
    ever = int(np.count_nonzero(counts))
    always = int(np.count_nonzero(counts == n_runs))
    text = f"{ever} of {counts.size} features selected at least once, {always} always"
    return text if drawn >= ever else f"{text};\nthe {drawn} on which the runs agree least are shown"


def _draw_fields(ax: Axes, fields: np.ndarray, labels: list[str]) -> None:
    lines, n_runs = fields.shape
    extent = (0.5, n_runs + 0.5, lines, 0)
    ax.imshow(fields, cmap=ListedColormap([_OTHER, _SELECTED]), vmin=0, vmax=1, aspect="auto", extent=extent)
    for line in range(1, lines):
        ax.axhline(line, color="white", linewidth=0.8)
    if n_runs <= 60:  # more lines than that would hide the fields
        for run in range(1, n_runs):
            ax.axvline(run + 0.5, color="white", linewidth=0.8)
    ax.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True, min_n_ticks=1))
    ax.set_xlim(0.5, n_runs + 0.5)
    ax.set_yticks(np.arange(lines) + 0.5, labels, fontsize=8)
    ax.set(xlabel="run (dark: selected)", ylabel="feature")
    ax.tick_params(length=0)


def _draw_fractions(ax: Axes, fractions: np.ndarray, interval: np.ndarray, confidence: float) -> None:
    middle = np.arange(len(fractions)) + 0.5
    reach = np.abs(interval.T - fractions)
    bars = {"ecolor": "black", "elinewidth": 1.0}
    ax.barh(middle, fractions, height=0.7, color="#56B4E9", xerr=reach, error_kw=bars)
    ax.set_xlim(0, 1)
    ax.set_ylim(len(fractions), 0)
    ax.xaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1.0])
    ax.set_xlabel(f"fraction of the runs\n({100 * confidence:g} % interval)")
    ax.grid(axis="x", color="#CCCCCC", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.tick_params(axis="both", labelsize=8)
    ax.tick_params(axis="y", length=0, labelleft=False)
    ax.spines[["top", "right"]].set_visible(False)
