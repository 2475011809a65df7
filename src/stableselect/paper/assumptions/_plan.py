"""Which runs the assumptions need: datasets, sizes n, weights lambda_1, samples left out and repeats."""

from __future__ import annotations

from collections.abc import Iterator

from ...datasets import info
from ...experiments import Run
from ..methods import Options, Protocol, cap
from ._task import NETWORK, SEARCH, TASK

U = 50
"""Core samples, as published."""
PUBLISHED = "mnist_fashion"
"""The dataset of the published check of Assumption 2."""
PUBLISHED_SIZES = (1200, 1800, 2400, 3000)
"""Of that check."""
PUBLISHED_MSE = dict(zip(PUBLISHED_SIZES, (0.02377, 0.02304, 0.02283, 0.02268), strict=True))
"""Its printed errors (the paper's notebooks on Assumption 2)."""
PUBLISHED_WEIGHT = 1 / 128
WEIGHTS = (1 / 1024, PUBLISHED_WEIGHT, 1 / 16, 1.0)
"""The lambda_1 of Proposition 1."""
DATASETS = ("mnist_fashion", "coil20", "usps", "mice_protein")
CORE_SIZES = {
    "mnist_fashion": (600, *PUBLISHED_SIZES, 5400),
    "coil20": (100, 300, 500, 700, 900),
    "usps": (750, 1500, 3000, 6000),
    "mice_protein": (100, 200, 400, 750),
}
REMOVAL_SIZES = CORE_SIZES | {"mnist_fashion": PUBLISHED_SIZES}
NETWORK_CORE_SIZES = {"mnist_fashion": PUBLISHED_SIZES, "coil20": (300, 900)}
NETWORK_REMOVAL_SIZES = {"mnist_fashion": (1200, 3000), "coil20": (300, 900)}

_FAST_SIZES = {"coil20": (100, 200, 300), "mice_protein": (100, 200, 300)}
_LEFT_OUT = {
    (SEARCH, "full"): {"held": 20, "refitted": 6},
    (NETWORK, "full"): {"held": 0, "refitted": 3},
    (SEARCH, "fast"): {"held": 3, "refitted": 2},
    (NETWORK, "fast"): {"held": 0, "refitted": 1},
}
"""How many samples are left out, one at a time, with the maps held and refitted."""
_SPLITS = 3
_NETWORK_CORE_REPEATS = {"paper": 5, "corrected": 3}
_NETWORK_REMOVAL_REPEATS = {"paper": 3, "corrected": 3}


def plan_runs(protocol: Protocol, options: Options) -> list[Run]:
    """Return the runs.

    Under "paper" the samples are the published ones, so the search, which has no seed, runs once and the networks run
    with several seeds; under the corrected protocol every repeat is a split and a seed of its own.
    """
    return list(_fast(protocol, options) if options.fast else _full(protocol, options))


def is_current(run: Run) -> bool:
    """Tell whether a run has the present limits; those of earlier ones stay in the store, but are not mixed in."""
    counts = _LEFT_OUT[run.method, run.mode] if run.details["part"] == "removal" else {}
    limit = cap(run.method, run.protocol, run.dataset, fast=run.mode == "fast")
    return run.cap == limit and all(run.details[name] == count for name, count in counts.items())


def _full(protocol: Protocol, options: Options) -> Iterator[Run]:
    splits = range(1 if protocol == "paper" else max(_SPLITS, options.splits))
    for name in DATASETS:
        searches = [_run(name, SEARCH, protocol, split, 0, options) for split in splits]
        for run in searches:
            for n in CORE_SIZES[name]:
                yield _core(run, n)
            for n in REMOVAL_SIZES[name]:
                yield _removal(run, n, PUBLISHED_WEIGHT)
            for weight in WEIGHTS:
                if weight != PUBLISHED_WEIGHT:
                    yield _removal(run, REMOVAL_SIZES[name][-1], weight)
        for run in _networks(name, protocol, _NETWORK_CORE_REPEATS[protocol], options):
            for n in NETWORK_CORE_SIZES.get(name, ()):
                yield _core(run, n)
        for run in _networks(name, protocol, _NETWORK_REMOVAL_REPEATS[protocol], options):
            for n in NETWORK_REMOVAL_SIZES.get(name, ()):
                yield _removal(run, n, PUBLISHED_WEIGHT)


def _fast(protocol: Protocol, options: Options) -> Iterator[Run]:
    for name, sizes in _FAST_SIZES.items():
        search = _run(name, SEARCH, protocol, 0, 0, options)
        for n in sizes:
            yield _core(search, n)
        for weight in (PUBLISHED_WEIGHT, 1.0):
            yield _removal(search, sizes[-1], weight)
    network = _run("coil20", NETWORK, protocol, 0, 0, options)
    yield _core(network, _FAST_SIZES["coil20"][0])
    yield _removal(network, _FAST_SIZES["coil20"][-1], PUBLISHED_WEIGHT)


def _networks(name: str, protocol: Protocol, repeats: int, options: Options) -> Iterator[Run]:
    for i in range(repeats):
        yield _run(name, NETWORK, protocol, 0 if protocol == "paper" else i, i, options)


def _run(name: str, method: str, protocol: Protocol, split: int, seed: int, options: Options) -> Run:
    limit = cap(method, protocol, name, fast=options.fast)
    return Run(name, method, protocol, split, seed, info(name).k, options.mode, limit)


def _core(run: Run, n: int) -> Run:
    return run.of_task(TASK, part="core", n=n, u=U)


def _removal(run: Run, n: int, weight: float) -> Run:
    return run.of_task(TASK, part="removal", n=n, u=U, weight=weight, **_LEFT_OUT[run.method, run.mode])
