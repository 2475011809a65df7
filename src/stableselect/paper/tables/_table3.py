"""Table 3: accuracy of a classifier that sees the kept columns, with the mean over datasets."""

from __future__ import annotations

import numpy as np

from ...experiments import Protocol
from ..methods import METHODS, Results
from ..report import NONE, Block, Document, Experiment, Table, published, published_value
from ._comparison import all_cells, dataset_table, introduction, legend, overview, tidy

_MEASURE = "accuracy"


def _render(results: Results) -> Document:
    blocks: list[Block] = [
        *introduction(results),
        "Share of test rows, in per cent, that extremely randomised trees get right from the kept columns. The mean "
        "predictor stands for the most frequent class.",
        overview(results, _MEASURE, "Accuracy in per cent, sound"),
        _averages(results),
        *(dataset_table(results, name, {_MEASURE: ""}, _MEASURE) for name in results.datasets),
        *legend(),
    ]
    return Document("table3", EXPERIMENT.title, blocks, tidy(results, (_MEASURE,)))


def _averages(results: Results) -> Table:
    """Return the mean over datasets ± the standard deviation between them, as the paper's last row."""
    printed = published()["average_accuracy"]
    rows = []
    for method in METHODS:
        here = [name for name in results.datasets if results.value(name, method, "paper", _MEASURE)]
        theirs = [value for name in here if (value := published_value(name, method, _MEASURE)) is not None]
        row = [method, "{:.1f} ± {:.1f}".format(*printed[method]) if method in printed else NONE, _spread(theirs)]
        row += [_over_datasets(results, method, protocol) for protocol in ("paper", "sound")]
        rows.append(row)
    notes = [
        "Over the datasets that a method finished; ± is the standard deviation between them (by their number, as "
        "published). The second column has "
        "the published figures of the datasets at hand only. The printed mean of AgnoS-S is 70.0, but its ten figures "
        "have the mean 69.0."
    ]
    return Table("Mean over datasets", ["method", "published", "of these", "paper", "sound"], rows, notes)


def _over_datasets(results: Results, method: str, protocol: Protocol) -> str:
    found = [results.value(name, method, protocol, _MEASURE) for name in results.datasets]
    return _spread([value.mean for value in found if value is not None])


def _spread(shares: list[float]) -> str:
    if not shares:
        return NONE
    return f"{100 * np.mean(shares):.1f} ± {100 * np.std(shares):.1f}"


EXPERIMENT = Experiment("table3", "Table 3: classification accuracy", all_cells, _render)
