"""Table 3: accuracy of a classifier that sees the selected features, with the mean over datasets."""

from __future__ import annotations

import numpy as np

from ..methods import METHODS, Protocol, Results
from ..report import NONE, Block, Document, Experiment, Table, published
from ._causes import published_value
from ._comparison import PROTOCOLS, all_runs, dataset_table, introduction, legend, overview, tidy

_MEASURE = "accuracy"


def _render(results: Results) -> Document:
    blocks: list[Block] = [
        *introduction(results),
        "Per cent of the test samples that extremely randomised trees get right from the selected features. The mean "
        "predictor is the most frequent class.",
        overview(results, _MEASURE, "Accuracy in per cent, corrected"),
        _averages(results),
        *(dataset_table(results, name, {_MEASURE: ""}, _MEASURE) for name in results.datasets),
        *legend(),
    ]
    return Document("table3", EXPERIMENT.title, blocks, tidy(results, (_MEASURE,)))


def _averages(results: Results) -> Table:
    """Return the mean over datasets ± the standard deviation between them, as the paper's last row."""
    printed = published()["average_accuracy"]
    rows = []
    begun = {p: sum(bool(results.compared(name, p, _MEASURE).labels) for name in results.datasets) for p in PROTOCOLS}
    for method in METHODS:
        here = [name for name in results.datasets if results.value(name, method, "paper", _MEASURE)]
        theirs = [value for name in here if (value := published_value(name, method, _MEASURE)) is not None]
        row = [method, "{:.1f} ± {:.1f}".format(*printed[method]) if method in printed else NONE, _spread(theirs)]
        row += [_over_datasets(results, method, protocol, number) for protocol, number in begun.items()]
        rows.append(row)
    notes = [
        "± is the standard deviation between datasets (by their number, as published); a method that has not finished "
        "all of them is marked. The second column has the published figures of the same datasets. The printed mean of "
        "AgnoS-S is 70.0, but its ten figures have the mean 69.0."
    ]
    return Table("Mean over datasets", ["method", "published", "of these", "paper", "corrected"], rows, notes)


def _over_datasets(results: Results, method: str, protocol: Protocol, begun: int) -> str:
    found = [results.value(name, method, protocol, _MEASURE) for name in results.datasets]
    shares = [value.mean for value in found if value is not None]
    return _spread(shares) + (f" ({len(shares)} of {begun} datasets)" if 0 < len(shares) != begun else "")


def _spread(shares: list[float]) -> str:
    if not shares:
        return NONE
    return f"{100 * np.mean(shares):.1f} ± {100 * np.std(shares):.1f}"


EXPERIMENT = Experiment("table3", "Table 3: classification accuracy", all_runs, _render)
