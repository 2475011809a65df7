"""What the tests of the experiment share."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stableselect.datasets import info
from stableselect.experiments import Run, Stored
from stableselect.paper._registry import EXPERIMENTS
from stableselect.paper.methods import Options
from stableselect.paper.stability._plan import RANDOM, steps


@pytest.fixture(scope="session")
def fits():
    """The subsamples and seeds that a method is fitted with."""

    def find(method, dataset="mice_protein", **options):
        found = EXPERIMENTS["stability"].runs("corrected", Options(**options))
        return [(run.split, run.seed) for run in found if run.method == method and run.dataset == dataset]

    return find


@pytest.fixture(scope="session")
def of():
    """The runs of a method on some subsamples."""

    def make(method, splits, dataset="mice_protein"):
        start = Run(dataset, method, "corrected", 0, 0, info(dataset).k, cap=steps(method, dataset, fast=False))
        seeds = {split: split if method == RANDOM else 0 for split in splits}
        return [replace(start, split=split, seed=seed).of_task("stability") for split, seed in seeds.items()]

    return make


@pytest.fixture(scope="session")
def made():
    """Runs with invented errors and features."""

    def make(runs, error, columns=lambda run: [run.split, 20 + run.split]):
        return [
            Stored(
                run,
                "done",
                {
                    "selected": columns(run),
                    "n_columns": 77,
                    "seconds": 1.0,
                    "ridge": error(run),
                    "least_squares": 1.0,
                },
                "",
            )
            for run in runs
        ]

    return make
