"""Supplementary Figure 8: error and accuracy on ISOLET against the number of selected features."""

from __future__ import annotations

from typing import Any

from ...experiments import Run
from ..methods import METHODS, NOT_AVAILABLE, Options, Protocol, Results, plan
from ..report import (
    NONE,
    Block,
    Document,
    Experiment,
    Picture,
    Table,
    csv_value,
    drawn,
    line_style,
    number,
    picture,
    published,
    without_spread,
)

_DATASET = "isolet"
_KS = (10, 25, 40, 55, 70, 85)
_SPLITS = 2
_MEASURES = {"least_squares": "reconstruction error", "accuracy": "accuracy"}


def _runs(protocol: Protocol, options: Options) -> list[Run]:
    """Return all methods at every k: two splits, one seed; none in a fast run, which leaves ISOLET out."""
    one_seed = Options(fast=options.fast, splits=options.splits, seeds=1)
    runs = [run for k in _KS for run in plan(protocol, one_seed, (_DATASET,), k=k, splits=_SPLITS)]
    return [run for run in runs if run.seed == 0]


def _render(results: Results) -> Document:
    blocks: list[Block] = [
        "All methods on ISOLET, two splits under corrected, the published split under paper, one seed. The published "
        "network's printed figures are given beside ours under paper."
    ]
    data: list[dict[str, Any]] = []
    for measure, words in _MEASURES.items():
        for protocol in ("paper", "corrected"):
            blocks.append(_table(results, protocol, measure, words, data))
    if any(row["mean"] != "" for row in data):
        blocks.append(drawn(lambda: _draw(results)))
    return Document("supp_figure8", EXPERIMENT.title, blocks, data)


def _table(results: Results, protocol: Protocol, measure: str, words: str, data: list[dict[str, Any]]) -> Table:
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
    return Table(f"ISOLET, {words}, {protocol}", ["method", *(f"k = {k}" for k in _KS)], rows)


def _draw(results: Results) -> Picture:
    from matplotlib.figure import Figure
    from matplotlib.ticker import StrMethodFormatter

    figure = Figure(figsize=(9, 8), layout="constrained")
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
    return picture("supp_figure8", "ISOLET under corrected, mean over splits.", figure)


EXPERIMENT = Experiment(
    "supp_figure8", "Supplementary Figure 8: error and accuracy against k on ISOLET", _runs, _render
)
