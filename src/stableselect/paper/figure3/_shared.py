"""What the panels of Figure 3 share: methods and looks, repeats of a run, its test samples, a measure over repeats."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...experiments import Comparison, Measure, Run, Stored, Value
from ...inspection import path_losses
from .._plots import BLUE, ORANGE, VERMILION
from .._report import Experiment, prose
from ..methods import Results, Rows, cap, find_method

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
BOUNDED = prose("figure3.bounded")
"""What :func:`bounded_test_samples` does, in words."""


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


def repeated(run: Run, number: int) -> Iterator[Run]:
    """Give the repeats of a run: other seeds under "paper", other samples and seeds otherwise.

    The search does not depend on a seed, so it has one run under "paper".
    """
    if run.protocol == "paper":
        seeds = number if find_method(run.method).seeded else 1
        yield from (replace(run, seed=seed) for seed in range(seeds))
    else:
        yield from (replace(run, split=split) for split in range(number))


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


def for_networks(
    parts: str, title: str, runs: Callable[..., list[Run]], fill: Callable[..., None]
) -> tuple[Experiment, ...]:
    """Return a panel for each network; ``runs`` and ``fill`` take the network first."""
    return tuple(
        Experiment(f"figure3{part}", f"Figure 3{part}: {title}, {name}", partial(runs, name), partial(fill, name))
        for part, name in zip(parts, NETWORKS, strict=True)
    )


def epochs(network: str, *, fast: bool) -> int:
    """Return how many epochs a network is trained for; the limit is the same for all datasets here."""
    return cap(network, "paper", COIL, fast=fast) or PUBLISHED_EPOCHS
