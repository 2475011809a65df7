"""Runs of Figure 3 a to d against other computations, and their grids."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stableselect import ScorerSelector
from stableselect.experiments import Run
from stableselect.paper._measure import evaluate
from stableselect.paper._registry import EXPERIMENTS
from stableselect.paper.figure3._gap import weight_norms
from stableselect.paper.methods import Options, load_rows

SEARCH = "ScorerSelector"
FASHION = Run("mnist_fashion", "|W|", "paper", 0, 1, 3, "full", 15)


@pytest.mark.parametrize(("protocol", "n"), [("paper", 18), ("corrected", 18)])
@pytest.mark.parametrize("method", ["|W|", "W^2", SEARCH])
def test_gap_is_that_of_a_fit_on_the_first_samples(tiny, losses, bounded, network, method, protocol, n):
    run = replace(FASHION, method=method, protocol=protocol, cap=None if method == SEARCH else 15)
    record = evaluate(run.of_task("gap", share=50, weight=0.5))
    rows = load_rows(run)
    # 36 of the 40 training samples are the published training part.
    X = rows.X_fit[:n]
    if method == SEARCH:
        selector = ScorerSelector(3, scorer_weight=0.5)
    else:
        selector = network(3, 1, scorer_weight=0.5, score_function="abs" if method == "|W|" else "square")
    selector.fit(X)
    assert record["n"] == n
    assert record["selected"] == selector.selected_.tolist()
    assert (rows.X_test.max() > 1) == (protocol == "corrected")
    for part, table in (("train", X), ("test", bounded(rows, protocol))):
        expected = losses(selector, table)
        assert record[part] == pytest.approx({path: np.mean(expected[path]) for path in ("selector", "scorer")})
    assert record["difference"] == pytest.approx(record["test"]["selector"] - record["train"]["selector"])


def test_norms_by_sums_of_squares(tiny, network):
    X = tiny[0]
    selector = network(3, 0).fit(X)
    E, G = selector.encoder_, selector.decoder_
    kept = sorted(selector.selected_.tolist())

    def squares(columns, factors):
        product = [[factors[j] * sum(E[j, h] * G[h, c] for h in range(3)) for c in range(20)] for j in columns]
        return sum(value**2 for row in product for value in row) ** 0.5

    found = weight_norms(selector)
    for name, columns in (("all", range(20)), ("kept", kept)):
        assert found["product"][name] == pytest.approx(squares(columns, [1.0] * 20))
        assert found["map"][name] == pytest.approx(squares(columns, selector.score_weights_))
        first = sum((E[list(columns)] ** 2).ravel()) + sum(selector.encoder_intercept_**2)
        second = sum((G**2).ravel()) + sum(selector.decoder_intercept_**2)
        assert found["norms"][name] == pytest.approx((first * second) ** 0.5)


def test_only_the_third_norm_ignores_the_scale_of_the_scores(tiny):
    selector = ScorerSelector(3).fit(tiny[0])
    before = weight_norms(selector)
    selector.score_weights_ = selector.score_weights_ * 7
    selector.encoder_ = selector.encoder_ / 7
    after = weight_norms(selector)
    assert after["map"] == pytest.approx(before["map"])
    assert after["product"]["kept"] == pytest.approx(before["product"]["kept"] / 7)


def points(name, protocol, method="|W|"):
    runs = [run for run in EXPERIMENTS[name].runs(protocol, Options()) if run.method == method]
    return runs, [(run.details, run.k) for run in runs]


def test_grids_of_a_to_d_are_the_published_ones():
    runs, found = points("figure3a", "paper")
    assert {detail["share"] for detail, _ in found} == set(range(10, 101, 10))
    assert {(detail["weight"], k) for detail, k in found} == {(1 / 128, 50)}
    _, found = points("figure3b", "paper")
    assert {detail["weight"] for detail, _ in found} == {0, 5e-4, 1e-2, 0.5, 1, 5, 10, 15, 20}
    assert {(detail["share"], k) for detail, k in found} == {(100, 50)}
    _, found = points("figure3c", "paper")
    assert {k for _, k in found} == {10, 25, 40, 55, 70, 85}
    assert {run.seed for run in runs} == set(range(5))
    assert {run.dataset for run in runs} == {"mnist_fashion"}
    for protocol in ("paper", "corrected"):
        assert EXPERIMENTS["figure3d"].runs(protocol, Options()) == EXPERIMENTS["figure3c"].runs(protocol, Options())
    # The search has no seed.
    assert {run.seed for run in points("figure3a", "paper", SEARCH)[0]} == {0}
    assert {run.split for run in points("figure3a", "corrected", SEARCH)[0]} == set(range(5))
