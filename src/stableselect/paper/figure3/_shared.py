"""What the panels of Figure 3 share: methods and looks, repeats of a run, its test samples, a measure over repeats."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...experiments import Comparison, Measure, Run, Stored, Value
from ...inspection import PowerLawFit, fit_power_law, path_losses
from ..methods import Options, Protocol, Results, Rows, cap, find_method
from ..report import BLUE, NONE, ORANGE, VERMILION, Block, Document, Picture, drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FASHION, COIL = "mnist_fashion", "coil20"
SEARCH = "ScorerSelector"
NETWORKS = ("|W|", "W^2")
LOOKS: dict[str, dict[str, Any]] = {
    "|W|": {"color": VERMILION, "marker": "o", "markersize": 5},
    "W^2": {"color": ORANGE, "marker": "s", "markersize": 5},
    SEARCH: {"color": BLUE, "marker": "D", "markersize": 5},
}
WORDS = {"|W|": "network |W|", "W^2": "network W^2", SEARCH: "search"}
PUBLISHED_WEIGHT = 1 / 128
REPEATS = 5
"""Of a setting: seeds under "paper", of which 0 is the published one, and draws of samples otherwise."""
PUBLISHED_EPOCHS = 200
FAST_NOTE = "A fast run: small tables, a few points, few steps. Not for comparison."
BOUNDED = (
    "scaled to [0, 1] by the training samples and on the test samples cut to that range (a pixel that hardly varies "
    "among the training samples would reach many times its range on others)"
)
"""What :func:`bounded_test_samples` does, in words."""
PROTOCOLS: tuple[Protocol, ...] = ("paper", "corrected")


class Groups:
    """The runs of a task by a key made of run and details, without those of an earlier limit on the steps."""

    def __init__(self, results: Results, task: str, key: Callable[[Run, dict[str, Any]], Hashable]) -> None:
        self.results, self.fast = results, results.mode == "fast"
        self._runs: dict[Hashable, list[Stored]] = defaultdict(list)
        for item in sorted(results.of_task(task), key=lambda item: item.run.key):
            run = item.run
            if run.cap == cap(run.method, run.protocol, run.dataset, fast=run.mode == "fast"):
                self._runs[key(run, run.details)].append(item)

    def of(self, *key: Hashable) -> list[Stored]:
        """Return the runs of a key, finished or not."""
        return self._runs[key]

    def missing(self, dataset: str, items: Iterable[Stored]) -> str:
        """Say why a value of some runs on a dataset is missing."""
        return "failed" if any(item.status == "failed" for item in items) else self.results.reason(dataset)

    def page(
        self,
        name: str,
        title: str,
        blocks: Sequence[Block],
        data: list[dict[str, Any]],
        draw: Callable[[], Picture],
        reading: Sequence[str],
    ) -> Document:
        """Return a page: sentences and tables, a picture where some run is done, and what the runs show."""
        note = [FAST_NOTE] if self.fast else []
        pictures = [drawn(draw)] if any(line.get("repeats", line.get("runs")) for line in data) else []
        return Document(name, title, [*note, *blocks, *pictures, *reading], data)


def repeated(run: Run, number: int) -> Iterator[Run]:
    """Give the repeats of a run: other seeds under "paper", other samples and seeds otherwise.

    The search does not depend on a seed, so it has one run under "paper".
    """
    if run.protocol == "paper":
        seeds = number if find_method(run.method).seeded else 1
        yield from (replace(run, seed=seed) for seed in range(seeds))
    else:
        yield from (replace(run, split=split) for split in range(number))


def first_run(dataset: str, method: str, protocol: Protocol, k: int, options: Options) -> Run:
    """Return the run of the first repeat, with the step limit of its mode."""
    limit = cap(method, protocol, dataset, fast=options.fast)
    return Run(dataset, method, protocol, 0, 0, k, options.mode, limit)


def bounded_test_samples(rows: Rows, protocol: str) -> np.ndarray:
    """Return the samples to test on; under the corrected protocol cut to [0, 1], the range of the training samples.

    The theory speaks of bounded samples. A pixel that hardly varies among the training samples reaches many times its
    range on others, and would alone decide the largest change of a loss.
    """
    return rows.X_test if protocol == "paper" else np.clip(rows.X_test, 0.0, 1.0)


def fit_record(selector: Any, X: np.ndarray) -> dict[str, Any]:
    """Fit a selector and return ``n``, ``seconds`` and ``selected``."""
    start = time.perf_counter()
    selector.fit(X)
    return {"n": len(X), "seconds": time.perf_counter() - start, "selected": selector.selected_.tolist()}


def mean_losses(selector: Any, samples: np.ndarray) -> dict[str, float]:
    """Return the mean squared error of both paths of a fitted scorer-selector."""
    found = path_losses(selector, samples)
    return {path: float(found[path].mean()) for path in ("selector", "scorer")}


def over_repeats(runs: Mapping[str, Sequence[Stored]], measure: Measure) -> dict[str, Value | None]:
    """Return a measure of several methods over the repeats that all of them have, with its standard deviation."""
    compared = Comparison(runs, measure, seedless=[SEARCH])
    return {name: compared.value(name, over="repeats") for name in runs}


def of_one(items: Sequence[Stored], measure: Measure) -> Value | None:
    """Return a measure of one method over its repeats, with its standard deviation."""
    return over_repeats({"": items}, measure)[""]


def rate(sizes: Sequence[int], items: Sequence[Iterable[Stored]], measure: Measure) -> PowerLawFit | None:
    """Return the power of n that fits a measure, from the repeats that have every size; None where there are none."""
    return Comparison(dict(zip(sizes, items, strict=True)), measure).fit(sizes, fit_power_law)


def epochs(network: str, *, fast: bool) -> int:
    """Return how many epochs a network is trained for; the limit is the same for all datasets here."""
    return cap(network, "paper", COIL, fast=fast) or PUBLISHED_EPOCHS


def compact(value: Value | None, otherwise: str = NONE, unit: float = 1.0) -> str:
    """Write a value with three digits, whatever its size, its spread, and what sets it apart: "(4 of 5 splits)"."""
    if value is None:
        return otherwise
    spread = "" if value.spread is None else f" ± {value.spread * unit:.2g}"
    mark = f" ({value.mark})" if value.mark else ""
    return f"{value.mean * unit:.3g}{spread}{mark}"


def csv_value(value: Value | None, name: str = "mean", spread: str = "sd", unit: float = 1.0) -> dict[str, Any]:
    """Return a value for the CSV file."""
    return {
        name: "" if value is None else value.mean * unit,
        spread: "" if value is None or value.spread is None else value.spread * unit,
        "repeats": 0 if value is None else value.count,
    }


def span(numbers: Sequence[float], digits: str = ".2f") -> str:
    """Write the least and the largest of some numbers."""
    low, high = (format(number, digits) for number in (min(numbers), max(numbers)))
    return low if low == high else f"{low} to {high}"


def written_rate(fitted: PowerLawFit | None, digits: int = 2) -> str:
    """Write a slope and its interval where there is one."""
    if fitted is None:
        return NONE
    low, high = (f"{end:.{digits}f}" for end in fitted.interval)
    return f"{fitted.slope:.{digits}f}" + ("" if math.isnan(fitted.interval[0]) else f" [{low}, {high}]")


def protocol_panels(columns: int, width: float, height: float) -> tuple[Figure, np.ndarray]:
    """Return a figure and its panels, one row for each protocol."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(len(PROTOCOLS), columns, sharex="col", sharey="col", squeeze=False)


def error_bars(
    axis: Axes, places: Sequence[float], values: Sequence[Value | None], unit: float = 1.0, **looks: Any
) -> None:
    """Draw means with their standard deviations; nothing where there are none."""
    if any(values):
        means = [math.nan if value is None else unit * value.mean for value in values]
        spreads = [math.nan if value is None or value.spread is None else unit * value.spread for value in values]
        axis.errorbar(places, means, yerr=spreads, capsize=3, **looks)


def drawn_legend(figure: Figure, ncols: int) -> None:
    """Put a legend above the panels of a figure, of everything that some panel shows."""
    pairs = (pair for axis in figure.axes for pair in zip(*axis.get_legend_handles_labels(), strict=True))
    handles = {label: handle for handle, label in pairs}
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=ncols, fontsize="small")
