"""Runs of Figure 3 e and f: the changes of the losses against refits by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stableselect import ScorerSelector
from stableselect.experiments import Run
from stableselect.inspection import uniform_stability
from stableselect.paper._measure import evaluate
from stableselect.paper._registry import EXPERIMENTS
from stableselect.paper.methods import Options, load_rows

SEARCH = "ScorerSelector"
FASHION = Run("mnist_fashion", "|W|", "paper", 0, 1, 3, "full", 15)
PATHS = ("selector", "scorer", "total")


@pytest.mark.parametrize("method", ["|W|", SEARCH])
def test_beta_under_paper_leaves_out_the_last_sample(tiny, losses, network, method):
    run = replace(FASHION, method=method, cap=None if method == SEARCH else 15)
    record = evaluate(run.of_task("beta", n=30, weight=0.25, change="row", rows=1))
    rows = load_rows(run)
    make = ScorerSelector(3) if method == SEARCH else network(3, 1, batch_size=8)
    fits = [type(make)(**make.get_params()).set_params(scorer_weight=0.25).fit(rows.X_train[:n]) for n in (30, 29)]
    with_row, without = (losses(selector, rows.X_test) for selector in fits)
    for path in PATHS:
        change = np.abs(np.subtract(with_row[path], without[path]))
        assert record["beta"][path] == pytest.approx(change.max(), abs=1e-12)
        assert record["mean"][path] == pytest.approx(change.mean(), abs=1e-12)
    shared = set(fits[0].selected_) & set(fits[1].selected_)
    assert record["shared"] == len(shared)
    assert record["unchanged"] == float(len(shared) == 3)
    assert ("held" in record) == (method == SEARCH)


@pytest.mark.slow
def test_beta_under_the_corrected_protocol_leaves_samples_out_in_turn(tiny, losses, bounded):
    run = replace(FASHION, method=SEARCH, protocol="corrected", seed=0, split=2, cap=None)
    # All 25 samples in turn: then the order in which they are drawn does not matter.
    record = evaluate(run.of_task("beta", n=25, weight=1 / 128, change="row", rows=25))
    rows = load_rows(run)
    X = rows.X_train[:25]
    full = ScorerSelector(3).fit(X)
    points = bounded(rows, "corrected")
    before, largest, held, same = losses(full, points)["total"], [], [], []
    for row in range(25):
        left = np.delete(X, row, axis=0)
        other = ScorerSelector(3).fit(left)
        same.append(set(other.selected_) == set(full.selected_))
        largest.append(np.abs(np.subtract(losses(other, points)["total"], before)).max())
        fixed = ScorerSelector(3, include=full.selected_.tolist(), ridge=full.ridge_).fit(left)
        held.append(np.abs(np.subtract(losses(fixed, points)["total"], before)).max())
    assert record["beta"]["total"] == pytest.approx(np.mean(largest))
    assert record["largest"] == pytest.approx(max(largest))
    assert record["unchanged"] == pytest.approx(np.mean(same))
    assert record["held"]["beta"]["total"] == pytest.approx(np.mean(held))


def test_several_samples_left_out_are_those_of_the_public_instrument(tiny, bounded):
    run = replace(FASHION, method=SEARCH, protocol="corrected", seed=0, split=2, cap=None)
    record = evaluate(run.of_task("beta", n=25, weight=1 / 128, change="row", rows=4))
    rows = load_rows(run)
    found = uniform_stability(
        ScorerSelector(3), rows.X_train[:25], bounded(rows, "corrected"), n_left_out=4, random_state=2
    )
    assert len(found.samples) == 4
    assert record["largest"] == pytest.approx(found.total.sup)
    assert record["mean"]["scorer"] == pytest.approx(found.scorer.mean)
    assert record["beta"]["selector"] == pytest.approx(np.mean(found.selector.by_sample))


def test_another_order_moves_the_network_but_not_the_search(tiny):
    detail = {"n": 30, "weight": 1 / 128, "change": "order", "rows": 1}
    searched = evaluate(replace(FASHION, method=SEARCH, cap=None).of_task("beta", **detail))
    assert searched["largest"] < 1e-12
    assert searched["unchanged"] == 1.0
    assert evaluate(FASHION.of_task("beta", **detail))["largest"] > 1e-6


def test_more_samples_than_there_are_raise(tiny):
    with pytest.raises(ValueError, match="has 40 training samples, fewer than n = 41"):
        evaluate(FASHION.of_task("beta", n=41, weight=1 / 128, change="row", rows=1))


def runs_of(name, protocol, method):
    return [run for run in EXPERIMENTS[name].runs(protocol, Options()) if run.method == method]


def test_grids_of_e_and_f_are_the_published_ones():
    for name, method in (("figure3e", "|W|"), ("figure3f", "W^2")):
        runs = runs_of(name, "paper", method)
        plain = [run for run in runs if run.details["weight"] == 1 / 128 and run.details["change"] == "row"]
        assert {(run.dataset, run.details["n"]) for run in plain} == {
            *(("mnist_fashion", n) for n in (3000, 4000, 5000, 6000)),
            *(("coil20", n) for n in (100, 300, 500, 700, 900)),
        }
        assert {(run.k, run.seed) for run in plain} == {(50, seed) for seed in range(5)}
        corrected = runs_of(name, "corrected", method)
        assert {run.split for run in corrected if run.details["weight"] == 1 / 128} == set(range(5))
        weighted = {run.details["weight"] for run in runs if run.details["n"] == 3000} - {1 / 128}
        assert weighted == {0, 5e-4, 1e-2, 0.5, 1, 5, 10, 15, 20}
        assert sum(run.details["change"] == "order" for run in runs) == 9
