"""All features against the selected ones (Supplementary Table 1, Figure 9), and the upper against the lower half."""

from __future__ import annotations

import math
from functools import partial
from itertools import product
from typing import Any

from ...datasets import info, names
from ...experiments import Run
from .._plots import GREY, line_style
from .._report import Document, csv_value, experiment, number, prose, published, written
from ..methods import ALL_FEATURES, METHODS, PROTOCOLS, Options, Protocol, Results, plan
from ._comparison import published_value

_METHODS = ("|W|", "ScorerSelector", "ColumnSubset")
_COMPARED = (ALL_FEATURES.name, *_METHODS)
_HALVED = tuple(name for name, method in METHODS.items() if method.halves)


def _runs(methods: tuple[str, ...], protocol: Protocol, options: Options) -> list[Run]:
    return plan(protocol, options, tuple(names()), methods=methods)


@experiment(
    "supp_table1",
    "Supplementary Table 1 and Figure 9: all features against selected ones",
    partial(_runs, _COMPARED),
)
def supp_table1(page: Document, results: Results) -> None:
    """Show the accuracy with all features and with the selected ones."""
    page.add(prose("tables.supp_table1"))
    for protocol in PROTOCOLS:
        _table(page, results, protocol)
    if not page.empty:
        caption = "Accuracy with all features and with the selected ones, corrected."
        page.draw("supp_figure9", caption, (9, 4), partial(_draw, results))


def _table(page: Document, results: Results, protocol: Protocol) -> None:
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
            both = [written(value, "accuracy", missing) for value in (whole, kept)]
            rows.append([f"{found.title}, {method}", dropped, *both, number(loss, "accuracy")])
            line = {"dataset": name, "protocol": protocol, "method": method}
            every = {"all": "" if whole is None else whole.mean, "loss": "" if loss is None else loss}
            page.data.append(line | csv_value(kept) | every)
    header = ["dataset, method", "discarded %", "all features", "selected features", "loss %"]
    page.table(f"Accuracy in per cent, {protocol}", header, rows)


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


@experiment("halves", "Upper against lower half of the selected features", partial(_runs, _HALVED))
def halves(page: Document, results: Results) -> None:
    """Show the half of the features that was selected first, and the other."""
    page.add(prose("tables.halves"))
    for protocol in PROTOCOLS:
        rows = []
        for name, method in product(results.datasets, _HALVED):
            row, missing = [f"{info(name).title}, {method}"], results.reason(name, method, protocol)
            for measure, half in product(("ridge", "accuracy"), ("upper", "lower")):
                value = results.value(name, method, protocol, f"halves.{half}.{measure}", methods=_HALVED)
                line = {"dataset": name, "protocol": protocol, "method": method, "measure": measure, "half": half}
                row.append(page.cell(line, value, measure, missing))
            rows.append(row)
        header = ["dataset, method", "upper error", "lower error", "upper acc. %", "lower acc. %"]
        page.table(f"Upper and lower half, {protocol} (errors after a ridge refit)", header, rows)
