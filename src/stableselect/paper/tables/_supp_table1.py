"""Supplementary Table 1 and Figure 9: accuracy with all features against accuracy with the selected ones."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from ...datasets import info, names
from ...experiments import Run
from ..methods import ALL_FEATURES, Options, Protocol, Results, plan
from ..report import GREY, Document, Experiment, Table, csv_value, line_style, number, plotted, published, with_spread
from ._causes import published_value
from ._comparison import PROTOCOLS

_METHODS = ("|W|", "ScorerSelector", "ColumnSubset")
_COMPARED = (ALL_FEATURES.name, *_METHODS)


def _runs(protocol: Protocol, options: Options) -> list[Run]:
    return plan(protocol, options, tuple(names()), methods=_COMPARED)


def _render(results: Results) -> Document:
    text = (
        "How much accuracy is lost when most features are discarded. Loss: the fraction of the accuracy with all "
        "features that is gone. All methods of a dataset are compared on the same splits and seeds."
    )
    data: list[dict[str, Any]] = []
    tables = [_table(results, protocol, data) for protocol in PROTOCOLS]
    caption = "Accuracy with all features and with the selected ones, corrected."
    plot = plotted(data, "supp_figure9", caption, (9, 4), partial(_draw, results))
    return Document("supp_table1", EXPERIMENT.title, [text, *tables, *plot], data)


def _table(results: Results, protocol: Protocol, data: list[dict[str, Any]]) -> Table:
    rows = []
    for name in results.datasets:
        found, printed = info(name), published()["all_columns"][name] / 100
        dropped = f"{100 * (1 - found.k / found.n_columns):.1f}"
        if protocol == "paper":
            theirs = published_value(name, "|W|", "accuracy")
            shown = (printed, theirs, None if theirs is None else 1 - theirs / printed)
            rows.append([f"{found.title}, as printed", dropped, *(number(value, "accuracy") for value in shown)])
        whole = results.value(name, ALL_FEATURES.name, protocol, "accuracy", methods=_COMPARED)
        for method in _METHODS:
            kept = results.value(name, method, protocol, "accuracy", methods=_COMPARED)
            missing = results.reason(name, method, protocol)
            loss = None if whole is None or kept is None else 1 - kept.mean / whole.mean
            both = [with_spread(value, "accuracy", missing) for value in (whole, kept)]
            rows.append([f"{found.title}, {method}", dropped, *both, number(loss, "accuracy")])
            line = {"dataset": name, "protocol": protocol, "method": method}
            every = {"all": "" if whole is None else whole.mean, "loss": "" if loss is None else loss}
            data.append(line | csv_value(kept) | every)
    header = ["dataset, method", "discarded %", "all features", "selected features", "loss %"]
    return Table(f"Accuracy in per cent, {protocol}", header, rows)


def _draw(results: Results, figure: Any) -> None:
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
        colour = line_style(method)["color"] if method in _METHODS else GREY
        axis.bar(list(found), heights, 0.2, yerr=errors, label=method, color=colour, edgecolor="white", capsize=2)
    axis.set_xticks(range(len(shown)), [info(name).title for name in shown], rotation=30, ha="right")
    axis.set_ylabel("accuracy, %")
    figure.legend(loc="outside upper center", ncols=len(_COMPARED), fontsize="small")


EXPERIMENT = Experiment(
    "supp_table1", "Supplementary Table 1 and Figure 9: all features against selected ones", _runs, _render
)
