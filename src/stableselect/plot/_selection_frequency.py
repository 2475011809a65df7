"""Which runs of a selection kept which columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, PercentFormatter
from numpy.typing import ArrayLike

from ..base import check_count
from ..inspection import StabilityAnalysis, wilson_interval
from ..metrics import as_masks

_KEPT, _DROPPED = "#0072B2", "#E8E8E8"
"""Blue of Okabe & Ito (2008), and a grey so light that the two differ without colour."""
_LONGEST_NAME = 30
_CONFIDENCE = 0.95


def selection_frequency(
    runs: StabilityAnalysis | ArrayLike | Iterable[ArrayLike],
    feature_names: Sequence[str] | None = None,
    n_columns: int = 40,
) -> Figure:
    """Draw which runs kept which columns, and how often each column was kept.

    Parameters
    ----------
    runs : StabilityAnalysis, or array-like of shape (n_runs, m), or iterable of column sets
        Result of :func:`~stableselect.inspection.stability_analysis`; or one Boolean mask per run; or one list of
        column indices per run, together with ``feature_names``.
    feature_names : sequence of str or None, default=None
        Column names; None for those of the analysis, or for numbers.
    n_columns : int, default=40
        At most so many columns are drawn, those kept most often. Columns that no run kept are left out.

    Returns
    -------
    matplotlib.figure.Figure
        One line per column, the most frequent on top, ties in the table's order; one field per run; to the right, the
        share of the runs with Wilson's interval. Tied to no window; save it with its ``savefig``.

    Examples
    --------
    >>> from stableselect.plot import selection_frequency
    >>> figure = selection_frequency([[0, 1], [0, 2], [0, 1]], feature_names=["a", "b", "c", "d"])
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['a', 'b', 'c']
    """
    n_columns = check_count(n_columns, "n_columns", 1)
    if isinstance(runs, StabilityAnalysis):
        masks, confidence, varied = runs.supports, runs.confidence, f": {runs.varied}"
        feature_names = runs.feature_names if feature_names is None else feature_names  # type: ignore[assignment]
    else:
        masks = as_masks(runs, None if feature_names is None else len(feature_names))
        confidence, varied = _CONFIDENCE, ""
    n_runs, m = masks.shape
    if feature_names is not None and len(feature_names) != m:
        raise ValueError(f"feature_names must hold {m} names but holds {len(feature_names)}; name every column.")
    counts = masks.sum(axis=0)
    ever = int(np.count_nonzero(counts))
    shown = np.argsort(-counts, kind="stable")[: max(1, min(n_columns, ever))]
    what = f"{ever} of {m} columns were kept at least once"
    if len(shown) < ever:
        what += f"; the {len(shown)} most frequent are shown"
    figure = Figure(figsize=(8.0, 1.9 + 0.2 * len(shown)), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=[2.2, 1.0])
    figure.suptitle(f"Columns kept in {n_runs} runs{varied}\n{what}", fontsize=11)
    _draw_fields(left, masks[:, shown].T, [_label(feature_names, j) for j in shown])
    _draw_shares(right, counts[shown] / n_runs, wilson_interval(counts[shown], n_runs, confidence), confidence)
    marks = [Patch(facecolor=_KEPT, label="kept"), Patch(facecolor=_DROPPED, edgecolor="#767676", label="not kept")]
    figure.legend(handles=marks, loc="outside lower left", ncols=2, frameon=False, fontsize=9)
    return figure


def _draw_fields(axis: Any, fields: np.ndarray, labels: list[str]) -> None:
    lines, n_runs = fields.shape
    axis.imshow(
        fields,
        cmap=ListedColormap([_DROPPED, _KEPT]),
        vmin=0,
        vmax=1,
        aspect="auto",
        extent=(0.5, n_runs + 0.5, lines, 0),
    )
    for line in range(1, lines):
        axis.axhline(line, color="white", linewidth=0.8)
    if n_runs <= 60:  # more lines than that would hide the fields
        for run in range(1, n_runs):
            axis.axvline(run + 0.5, color="white", linewidth=0.8)
    axis.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True, min_n_ticks=1))
    axis.set_xlim(0.5, n_runs + 0.5)
    axis.set_yticks(np.arange(lines) + 0.5, labels, fontsize=8)
    axis.set(xlabel="run", ylabel="column")
    axis.tick_params(length=0)


def _draw_shares(axis: Any, shares: np.ndarray, interval: np.ndarray, confidence: float) -> None:
    middle = np.arange(len(shares)) + 0.5
    reach = np.abs(interval.T - shares)
    axis.barh(middle, shares, height=0.7, color="#56B4E9", xerr=reach, error_kw={"ecolor": "black", "elinewidth": 1.0})
    axis.set_xlim(0, 1)
    axis.xaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    axis.set_xticks([0, 0.25, 0.5, 0.75, 1.0])
    axis.set_xlabel(f"share of the runs\n({100 * confidence:g} % interval)")
    axis.grid(axis="x", color="#CCCCCC", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.tick_params(axis="both", labelsize=8)
    axis.tick_params(axis="y", length=0, labelleft=False)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def _label(feature_names: Sequence[str] | None, column: int) -> str:
    name = str(column) if feature_names is None else str(feature_names[column])
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
