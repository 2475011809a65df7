"""Runs of the assumptions against the pieces they are made of, and which runs there are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stableselect import ScorerSelector
from stableselect.experiments import Run
from stableselect.paper._measure import evaluate
from stableselect.paper.assumptions._plan import PUBLISHED_MSE, PUBLISHED_SIZES, U, plan_runs
from stableselect.paper.assumptions._task import NETWORK, SEARCH, TASK
from stableselect.paper.methods import Options, load_rows

WEIGHT = 1 / 8


def test_a_removal_is_what_the_pieces_say(tiny):
    run = Run("glioma", SEARCH, "paper", 0, 0, 3).of_task(
        TASK, part="removal", n=30, u=5, weight=WEIGHT, held=2, refitted=2
    )
    record = evaluate(run)
    assert record["left_out"][0] == 29
    rows = load_rows(run)
    X, X_test = rows.X_fit[:30], rows.X_test
    full = ScorerSelector(3, ridge=0.0, scorer_weight=WEIGHT).fit(X)
    centred = [part - X.mean(axis=0) for part in (X, X_test)]
    assert record["kappa1"] == pytest.approx(max(np.linalg.norm(part, axis=1).max() for part in centred))
    worst = np.sum((X_test - full.forward(X_test)) ** 2, axis=1).max()
    assert record["kappa5"]["test"] == pytest.approx(worst)
    for j, entry in zip(record["left_out"], record["columns"]["refitted"], strict=True):
        other = ScorerSelector(3, ridge=0.0, scorer_weight=WEIGHT).fit(np.delete(X, j, axis=0))
        above, below = (
            np.linalg.norm(full.forward(X_test, path) - other.forward(X_test, path), axis=1)
            for path in ("selector", "scorer")
        )
        assert entry["ratio_max"] == pytest.approx((above / below).max(), rel=1e-6)
        assert entry["ratio_rms"] == pytest.approx(np.sqrt(np.sum(above**2) / np.sum(below**2)), rel=1e-6)
        assert entry["shared"] == np.sum(full.support_ & other.support_)
        moves = np.sum((full.forward(X, "scorer") - other.forward(X, "scorer")) ** 2, axis=1)
        ratio = moves[record["core"]].mean() / np.delete(moves, j).mean()
        assert entry["left"][5] / entry["right"][5] == pytest.approx(ratio, rel=1e-5)
    assert all(entry["same_set"] for entry in record["columns"]["held"])


def test_a_network_is_refitted_only_and_core_runs_measure_both_forms(tiny):
    run = Run("glioma", NETWORK, "corrected", 1, 0, 3, "fast", 5)
    record = evaluate(run.of_task(TASK, part="removal", n=30, u=5, weight=1 / 128, held=0, refitted=1))
    assert list(record["columns"]) == ["refitted"]
    record = evaluate(run.of_task(TASK, part="core", n=30, u=5))
    assert record["best_mse"] < record["network_mse"]
    mine = evaluate(replace(run, method=SEARCH, cap=None).of_task(TASK, part="core", n=30, u=5))
    assert mine["plain"]["mse"] < mine["random"]["mse"]
    with pytest.raises(ValueError, match="between the 5 core samples and the 40 samples"):
        evaluate(run.of_task(TASK, part="core", n=41, u=5))


def test_the_plan_has_the_published_grid():
    assert PUBLISHED_SIZES == (1200, 1800, 2400, 3000)
    assert list(PUBLISHED_MSE.values()) == [0.02377, 0.02304, 0.02283, 0.02268]
    runs = plan_runs("paper", Options())
    network = [run for run in runs if (run.method, run.dataset) == (NETWORK, "mnist_fashion")]
    core = [run for run in network if run.details["part"] == "core"]
    assert {(run.details["n"], run.seed) for run in core} == {(n, s) for n in PUBLISHED_SIZES for s in range(5)}
    assert {run.details["u"] for run in runs} == {U} == {50}
    assert {run.split for run in runs} == {0}
    assert {run.split for run in plan_runs("corrected", Options(splits=3)) if run.method == SEARCH} == set(range(3))
    assert len(set(runs)) == len(runs)
    fast = plan_runs("corrected", Options(fast=True))
    assert {run.mode for run in fast} == {"fast"}
    assert {run.dataset for run in fast} == {"coil20", "mice_protein"}
