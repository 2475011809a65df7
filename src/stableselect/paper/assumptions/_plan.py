"""Which runs the assumptions need: datasets, sizes n, weights lambda_1, samples left out and repeats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...experiments import Run
from ..methods import Options, Protocol, cap, first_run
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
_NETWORK_CORE_REPEATS: dict[Protocol, int] = {"paper": 5, "corrected": 3}
_NETWORK_REMOVAL_REPEATS = 3


def plan_runs(protocol: Protocol, options: Options) -> list[Run]:
    """Return the runs.

    Under "paper" the samples are the published ones, so the search, which has no seed, runs once and the networks run
    with several seeds; under the corrected protocol every repeat is a split and a seed of its own.
    """
    grids: list[Mapping[str, tuple[int, ...]]] = [CORE_SIZES, REMOVAL_SIZES, NETWORK_CORE_SIZES, NETWORK_REMOVAL_SIZES]
    weights = [weight for weight in WEIGHTS if weight != PUBLISHED_WEIGHT]
    splits = 1 if protocol == "paper" else max(_SPLITS, options.splits)
    repeats = _NETWORK_CORE_REPEATS[protocol]
    if options.fast:
        first, last = ({name: (sizes[place],) for name, sizes in _FAST_SIZES.items()} for place in (0, -1))
        grids = [_FAST_SIZES, last, {"coil20": first["coil20"]}, {"coil20": last["coil20"]}]
        weights, splits, repeats = [1.0], 1, 1
    core, removal, network_core, network_removal = grids
    runs: list[Run] = []
    for name in core:
        for split in range(splits):
            run = replace(first_run(name, SEARCH, protocol, options), split=split)
            runs += [_core(run, n) for n in core[name]]
            runs += [_removal(run, n, PUBLISHED_WEIGHT) for n in removal[name]]
            runs += [_removal(run, removal[name][-1], weight) for weight in weights]
        for seed in range(repeats):
            run = first_run(name, NETWORK, protocol, options)
            run = replace(run, split=0 if protocol == "paper" else seed, seed=seed)
            runs += [_core(run, n) for n in network_core.get(name, ())]
            if seed < _NETWORK_REMOVAL_REPEATS:
                runs += [_removal(run, n, PUBLISHED_WEIGHT) for n in network_removal.get(name, ())]
    return runs


def is_current(run: Run) -> bool:
    """Tell whether a run has the present limits; those of earlier ones stay in the store, but are not mixed in."""
    counts = _LEFT_OUT[run.method, run.mode] if run.details["part"] == "removal" else {}
    limit = cap(run.method, run.protocol, run.dataset, fast=run.mode == "fast")
    return run.cap == limit and all(run.details[name] == count for name, count in counts.items())


def _core(run: Run, n: int) -> Run:
    return run.of_task(TASK, part="core", n=n, u=U)


def _removal(run: Run, n: int, weight: float) -> Run:
    return run.of_task(TASK, part="removal", n=n, u=U, weight=weight, **_LEFT_OUT[run.method, run.mode])
