"""Table 2: reconstruction error of the selected features, and the published network's own errors."""

from __future__ import annotations

from ...datasets import info
from ...experiments import by_repeat
from ..methods import NOT_AVAILABLE, Results
from ..report import NONE, Block, Document, Experiment, Table, number, published, with_spread
from ._comparison import all_runs, dataset_table, introduction, legend, limits, overview, tidy

_MEASURES = {"least_squares": "", "ridge": " ridge"}
_TOLERANCE = 0.15


def _render(results: Results) -> Document:
    blocks: list[Block] = [
        *introduction(results),
        "Mean squared error of all features of the test samples, reconstructed from the selected ones by a linear map "
        "fitted on the training samples: by least squares, as published, and by ridge regression, which stays sensible "
        "where there are few samples. PCA, k components: the error with as many principal components as features are "
        "selected. No k features have a lower error on the training samples; on the test samples, as here, it is a "
        "guide and not a bound.",
        overview(results, "ridge", "Error after a ridge refit, corrected"),
        *(dataset_table(results, name, _MEASURES, "least_squares") for name in results.datasets),
        _own_errors(results),
        limits(results),
        *legend(),
    ]
    return Document("table2", EXPERIMENT.title, blocks, tidy(results, tuple(_MEASURES)))


def _own_errors(results: Results) -> Table:
    """Return the errors of the network itself beside the printed ones."""
    rows = []
    for dataset in results.datasets:
        for method, printed in published()["network"][dataset].items():
            for path in ("scorer", "selector"):
                ours = results.value(dataset, method, "paper", f"own.{path}")
                ratio = None if ours is None else ours.mean / printed[path]
                within = NONE if ratio is None else "yes" if abs(ratio - 1) <= _TOLERANCE else "NO"
                missing = results.reason(dataset, method, "paper")
                seeds = by_repeat(results.stored(dataset, method, "paper"), f"own.{path}").values()
                rows.append(
                    [
                        f"{info(dataset).title} {method} {path}",
                        number(printed[path], "own"),
                        with_spread(ours, "own", NOT_AVAILABLE if missing == NOT_AVAILABLE else NONE),
                        NONE if ratio is None else f"{ratio:.2f}",
                        within,
                        f"{max(seeds) / min(seeds):.2f}" if len(seeds) > 1 and min(seeds) > 0 else NONE,
                    ]
                )
    notes = [
        "Test error of the network's own output, mean over seeds ± standard deviation. No refit.",
        "The last column is the largest error of a seed over the smallest. Where it is far above 1.15 it shows that "
        "the seed decides the error, and one printed run cannot be expected within 15 % of a mean over few seeds. "
        "GLIOMA has 36 samples to train on, arcene 144.",
    ]
    header = ["path", "printed", "ours, paper", "ratio", "within 15 %", "largest / smallest seed"]
    return Table("The published network's own errors", header, rows, notes)


EXPERIMENT = Experiment("table2", "Table 2: linear reconstruction error", all_runs, _render)
