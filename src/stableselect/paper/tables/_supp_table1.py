"""Supplementary Table 1 and Figure 9: accuracy with all features against accuracy with the selected ones."""

from __future__ import annotations

import math
from typing import Any

from ...datasets import info, names
from ...experiments import Run
from ..methods import ALL_FEATURES, Options, Protocol, Results, plan
from ..report import (
    BLUE,
    GREEN,
    GREY,
    NONE,
    VERMILION,
    Block,
    Document,
    Experiment,
    Picture,
    Table,
    csv_value,
    drawn,
    number,
    picture,
    published,
    published_value,
    with_spread,
)

_METHODS = ("|W|", "ScorerSelector", "ColumnSubset")
_COMPARED = (ALL_FEATURES.name, *_METHODS)
_COLOURS = (GREY, VERMILION, BLUE, GREEN)


def _runs(protocol: Protocol, options: Options) -> list[Run]:
    return plan(protocol, options, tuple(names()), methods=_COMPARED)


def _render(results: Results) -> Document:
    blocks: list[Block] = [
        "How much accuracy is lost when most features are discarded. Loss: the fraction of the accuracy with all "
        "features that is gone. All methods of a dataset are compared on the same splits and seeds."
    ]
    data: list[dict[str, Any]] = []
    for protocol in ("paper", "corrected"):
        blocks.append(_table(results, protocol, data))
    if any(row["mean"] != "" for row in data):
        blocks.append(drawn(lambda: _draw(results)))
    return Document("supp_table1", EXPERIMENT.title, blocks, data)


def _table(results: Results, protocol: Protocol, data: list[dict[str, Any]]) -> Table:
    rows = []
    for name in results.datasets:
        found, printed = info(name), published()["all_columns"][name] / 100
        dropped = f"{100 * (1 - found.k / found.n_columns):.1f}"
        if protocol == "paper":
            theirs = published_value(name, "|W|", "accuracy")
            rows.append([f"{found.title}, as printed", dropped, *_losses(printed, theirs)])
        whole = results.value(name, ALL_FEATURES.name, protocol, "accuracy", methods=_COMPARED)
        for method in _METHODS:
            kept = results.value(name, method, protocol, "accuracy", methods=_COMPARED)
            missing = results.reason(name, method, protocol)
            loss = None if whole is None or kept is None else 1 - kept.mean / whole.mean
            both = [with_spread(value, "accuracy", missing) for value in (whole, kept)]
            rows.append([f"{found.title}, {method}", dropped, *both, NONE if loss is None else f"{100 * loss:.1f}"])
            line = {"dataset": name, "protocol": protocol, "method": method}
            every = {"all": "" if whole is None else whole.mean, "loss": "" if loss is None else loss}
            data.append(line | csv_value(kept) | every)
    header = ["dataset, method", "discarded %", "all features", "selected features", "loss %"]
    return Table(f"Accuracy in per cent, {protocol}", header, rows)


def _losses(whole: float, kept: float | None) -> list[str]:
    loss = NONE if kept is None else f"{100 * (1 - kept / whole):.1f}"
    return [number(whole, "accuracy"), number(kept, "accuracy"), loss]


def _draw(results: Results) -> Picture:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    axis = figure.subplots()
    shown = [name for name in results.datasets if results.value(name, ALL_FEATURES.name, "corrected", "accuracy")]
    for i, method in enumerate(_COMPARED):
        found = {
            place + (i - 1.5) * 0.2: value
            for place, name in enumerate(shown)
            if (value := results.value(name, method, "corrected", "accuracy", methods=_COMPARED))
        }
        heights = [100 * value.mean for value in found.values()]
        errors = [math.nan if value.spread is None else 100 * value.spread for value in found.values()]
        axis.bar(list(found), heights, 0.2, yerr=errors, label=method, color=_COLOURS[i], edgecolor="white", capsize=2)
    axis.set_xticks(range(len(shown)), [info(name).title for name in shown], rotation=30, ha="right")
    axis.set_ylabel("accuracy, %")
    figure.legend(loc="outside upper center", ncols=len(_COMPARED), fontsize="small")
    return picture("supp_figure9", "Accuracy with all features and with the selected ones, corrected.", figure)


EXPERIMENT = Experiment(
    "supp_table1", "Supplementary Table 1 and Figure 9: all features against selected ones", _runs, _render
)
