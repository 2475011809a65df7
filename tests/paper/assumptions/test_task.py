"""Runs of the assumptions against the pieces they are made of, and which runs there are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stableselect import ScorerSelector
from stableselect.experiments import Cell, Options
from stableselect.paper._measure import evaluate
from stableselect.paper.assumptions._plan import PUBLISHED_MSE, PUBLISHED_SIZES, U, plan_cells
from stableselect.paper.assumptions._task import NETWORK, SEARCH, TASK
from stableselect.paper.methods import load_rows

WEIGHT = 1 / 8


def test_a_removal_is_what_the_pieces_say(tiny):
    cell = Cell("glioma", SEARCH, "paper", 0, 0, 3).of_task(
        TASK, part="removal", n=30, u=5, weight=WEIGHT, held=2, refitted=2
    )
    record = evaluate(cell)
    assert record["left_out"][0] == 29
    rows = load_rows(cell)
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
    cell = Cell("glioma", NETWORK, "sound", 1, 0, 3, "fast", 5)
    record = evaluate(cell.of_task(TASK, part="removal", n=30, u=5, weight=1 / 128, held=0, refitted=1))
    assert list(record["columns"]) == ["refitted"]
    record = evaluate(cell.of_task(TASK, part="core", n=30, u=5))
    assert record["best_mse"] < record["network_mse"]
    mine = evaluate(replace(cell, method=SEARCH, cap=None).of_task(TASK, part="core", n=30, u=5))
    assert mine["plain"]["mse"] < mine["random"]["mse"]
    with pytest.raises(ValueError, match="between the 5 core samples and the 40 samples"):
        evaluate(cell.of_task(TASK, part="core", n=41, u=5))


def test_the_plan_has_the_published_grid():
    assert PUBLISHED_SIZES == (1200, 1800, 2400, 3000)
    assert list(PUBLISHED_MSE.values()) == [0.02377, 0.02304, 0.02283, 0.02268]
    cells = plan_cells("paper", Options())
    network = [cell for cell in cells if (cell.method, cell.dataset) == (NETWORK, "mnist_fashion")]
    core = [cell for cell in network if cell.details["part"] == "core"]
    assert {(cell.details["n"], cell.seed) for cell in core} == {(n, s) for n in PUBLISHED_SIZES for s in range(5)}
    assert {cell.details["u"] for cell in cells} == {U} == {50}
    assert {cell.split for cell in cells} == {0}
    assert {cell.split for cell in plan_cells("sound", Options(splits=3)) if cell.method == SEARCH} == set(range(3))
    assert len(set(cells)) == len(cells)
    fast = plan_cells("sound", Options(fast=True))
    assert {cell.mode for cell in fast} == {"fast"}
    assert {cell.dataset for cell in fast} == {"coil20", "mice_protein"}
