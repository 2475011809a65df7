"""Supplementary Figure 8: error and accuracy on ISOLET against the number of selected features."""

from __future__ import annotations

from functools import partial
from typing import Any

from ...experiments import Run
from ..methods import METHODS, NOT_AVAILABLE, Options, Protocol, Results, plan
from ..report import (
    NONE,
    Document,
    Experiment,
    Table,
    csv_value,
    line_style,
    number,
    plotted,
    published,
    without_spread,
)

_DATASET = "isolet"
_KS = (10, 25, 40, 55, 70, 85)
_SPLITS = 2
_MEASURES = {"least_squares": "reconstruction error", "accuracy": "accuracy"}


def _runs(protocol: Protocol, options: Options) -> list[Run]:
    """Return all methods at every k: two splits, one seed; none in a fast run, which leaves ISOLET out."""
    methods = tuple(METHODS)
    runs = [run for k in _KS for run in plan(protocol, options, (_DATASET,), methods=methods, k=k, splits=_SPLITS)]
    return [run for run in runs if run.seed == 0]


def _render(results: Results) -> Document:
    text = (
        "All methods on ISOLET, two splits under corrected, the published split under paper, one seed. The published "
        "network's printed figures are given beside ours under paper."
    )
    data: list[dict[str, Any]] = []
    tables = [_table(results, protocol, measure, data) for measure in _MEASURES for protocol in ("paper", "corrected")]
    caption = "ISOLET under corrected, mean over splits."
    plot = plotted(data, "supp_figure8", caption, (9, 8), partial(_draw, results))
    return Document("supp_figure8", EXPERIMENT.title, [text, *tables, *plot], data)


def _table(results: Results, protocol: Protocol, measure: str, data: list[dict[str, Any]]) -> Table:
    printed = published()["isolet_by_k"][measure]
    rows = []
    for method in METHODS:
        row = [method]
        for k in _KS:
            value = results.value(_DATASET, method, protocol, measure, k)
            missing = results.reason(_DATASET, method, protocol, k)
            row.append(without_spread(value, measure, "n/a" if missing == NOT_AVAILABLE else NONE))
            data.append({"k": k, "method": method, "protocol": protocol, "measure": measure} | csv_value(value))
        rows.append(row)
        if protocol == "paper" and method in printed:
            share = 100 if measure == "accuracy" else 1
            rows.append([f"{method} as printed", *(number(value / share, measure) for value in printed[method])])
    return Table(f"ISOLET, {_MEASURES[measure]}, {protocol}", ["method", *(f"k = {k}" for k in _KS)], rows)


def _draw(results: Results, figure: Any) -> None:
    from matplotlib.ticker import StrMethodFormatter

    panels = figure.subplots(2, 1, sharex=True)
    for axis, measure in zip(panels, _MEASURES, strict=True):
        for method in METHODS:
            unit = 100 if measure == "accuracy" else 1
            points = [
                (k, unit * v.mean) for k in _KS if (v := results.value(_DATASET, method, "corrected", measure, k))
            ]
            if points:
                axis.plot(*zip(*points, strict=True), label=method, **line_style(method))
        axis.grid(alpha=0.3)
    panels[0].set_yscale("log")
    panels[0].yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    panels[0].yaxis.set_minor_formatter(StrMethodFormatter("{x:g}"))
    panels[0].set_ylabel("reconstruction error (mean square)")
    panels[1].set_ylabel("accuracy, %")
    panels[1].set_xlabel("selected features k")
    panels[1].set_xticks(_KS)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper", fontsize="small")


EXPERIMENT = Experiment(
    "supp_figure8", "Supplementary Figure 8: error and accuracy against k on ISOLET", _runs, _render
)
