"""What the panels of Figure 3 share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stableselect.experiments import Run, Stored
from stableselect.paper.figure3._shared import over_repeats
from stableselect.paper.methods import rate


def test_a_rate_takes_the_repeats_that_have_every_size():
    def items(values):
        run = Run("coil20", "|W|", "paper", 0, 0, 50)
        return [Stored(replace(run, seed=seed), "done", {"beta": value}, "") for seed, value in values.items()]

    # Seeds 1 and 2 have both sizes; paired by place instead, the slopes would be other ones.
    found = rate([10, 100], [items({0: 9.0, 1: 10.0, 2: 100.0}), items({1: 1.0, 2: 1.0, 3: 7.0})], "beta")
    np.testing.assert_allclose(found.slopes, [-1.0, -2.0])
    assert rate([10, 100], [items({0: 1.0}), items({1: 1.0})], "beta") is None
    assert rate([10, 100], [items({0: 1.0}), items({0: 0.0})], "beta") is None


def test_methods_in_a_row_are_over_the_same_repeats():
    def repeats_of(method, values):
        run = Run("coil20", method, "paper", 0, 0, 50)
        return [Stored(replace(run, seed=seed), "done", {"beta": value}, "") for seed, value in values.items()]

    found = over_repeats(
        {
            "|W|": repeats_of("|W|", {0: 1.0, 1: 2.0, 2: 9.0}),
            "W^2": repeats_of("W^2", {0: 3.0, 1: 5.0}),
            "ScorerSelector": repeats_of("ScorerSelector", {0: 4.0}),
        },
        "beta",
    )
    assert [value.mean for value in found.values()] == [1.5, 4.0, 4.0]
    assert [value.count for value in found.values()] == [2, 2, 1]
    assert found["W^2"].spread == np.std([3.0, 5.0], ddof=1)
