"""Halves: the upper against the lower half of the selected features, in order of selection."""

from __future__ import annotations

from typing import Any

from ...datasets import info, names
from ...experiments import Run
from ..methods import METHODS, Options, Protocol, Results, plan
from ..report import Block, Document, Experiment, Table, csv_value, with_spread

_METHODS = tuple(name for name, method in METHODS.items() if method.halves)


def _runs(protocol: Protocol, options: Options) -> list[Run]:
    return plan(protocol, options, tuple(names()), methods=_METHODS)


def _render(results: Results) -> Document:
    text = (
        "If the order of selection means anything, the half chosen first should do better than the other. For random "
        "features the two are alike but for chance. All methods of a dataset are compared on the same splits and seeds."
    )
    blocks: list[Block] = [text]
    data: list[dict[str, Any]] = []
    for protocol in ("paper", "corrected"):
        rows = []
        for name in results.datasets:
            for method in _METHODS:
                row = [f"{info(name).title}, {method}"]
                for measure in ("ridge", "accuracy"):
                    for half in ("upper", "lower"):
                        value = results.value(name, method, protocol, f"halves.{half}.{measure}", methods=_METHODS)
                        row.append(with_spread(value, measure, results.reason(name, method, protocol)))
                        line = {"dataset": name, "protocol": protocol, "method": method, "measure": measure}
                        data.append(line | {"half": half} | csv_value(value))
                rows.append(row)
        header = ["dataset, method", "upper error", "lower error", "upper acc. %", "lower acc. %"]
        blocks.append(Table(f"Upper and lower half, {protocol} (errors after a ridge refit)", header, rows))
    return Document("halves", EXPERIMENT.title, blocks, data)


EXPERIMENT = Experiment("halves", "Upper against lower half of the selected features", _runs, _render)
