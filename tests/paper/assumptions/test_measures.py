"""What the theory compares, against its definitions."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from scipy.optimize import minimize

from stableselect import ScorerSelector, ScorerSelectorNetwork
from stableselect.paper.assumptions import _measures as measures

WEIGHT = 1 / 8


@pytest.mark.parametrize("path", ["selector", "scorer"])
def test_maps_give_the_outputs_of_the_network(table, fitted, path):
    centre = table.mean(axis=0) + 0.3
    for selector in (fitted, ScorerSelectorNetwork.published(3, batch_size=8).set_params(epochs=3).fit(table)):
        maps = measures.fitted_maps(selector, centre)
        found = measures.with_one(table, centre) @ maps.left(path) @ maps.right + centre
        np.testing.assert_allclose(found, selector.forward(table, path), atol=1e-9)


def test_held_scores_are_the_minimiser(table, fitted):
    x = table - table.mean(axis=0)
    M = fitted.score_weights_[:, None] * fitted.encoder_
    arguments = (M, fitted.decoder_, fitted.support_, WEIGHT)
    # The full fit is its own minimiser over the scores.
    np.testing.assert_allclose(measures.held_factors(x.T @ x / 30, *arguments), 1.0, atol=1e-8)
    others = np.delete(x, 4, axis=0)
    factors = measures.held_factors(others.T @ others / 30, *arguments)

    def loss(r):
        B = fitted.encoder_ @ fitted.decoder_
        phi = fitted.score_weights_ * r
        kept = np.where(fitted.support_, phi, 0.0)
        return np.sum((others - others * kept @ B) ** 2) + WEIGHT * np.sum((others - others * phi @ B) ** 2)

    found = minimize(loss, np.ones(7), method="BFGS", options={"gtol": 1e-10})
    assert np.abs(factors - 1).max() > 1e-3
    assert loss(factors) <= found.fun * (1 + 1e-10)
    np.testing.assert_allclose(factors, found.x, atol=1e-4)


def test_scores_below_zero_are_held_at_zero(rng):
    M, decoder = rng.normal(size=(4, 2)), rng.normal(size=(2, 4))
    A = rng.normal(size=(9, 4))
    C, support = A.T @ A, np.array([True, False, True, False])
    factors = measures.held_factors(C, M, decoder, support, WEIGHT)
    assert factors.min() == 0

    def loss(r):
        B = M @ decoder
        kept = np.where(support, r, 0.0)
        return sum(
            weight * np.trace((np.eye(4) - s[:, None] * B).T @ C @ (np.eye(4) - s[:, None] * B))
            for s, weight in ((kept, 1.0), (r, WEIGHT))
        )

    best = min(
        minimize(loss, np.full(4, 0.5), bounds=[(0, None if a in free else 0) for a in range(4)]).fun
        for size in range(5)
        for free in combinations(range(4), size)
    )
    assert loss(factors) == pytest.approx(best, rel=1e-8)


def test_the_largest_ratio_is_infinite_unless_one_span_holds_the_other(rng):
    D = rng.normal(size=(8, 3))
    inside = D @ rng.normal(size=(3, 2))
    ratio, outside, rank_N, rank_D = measures.largest_ratio(inside, D)
    # Brute force: over x in the span of D nothing is lost, and there the ratio is that of a generalised problem.
    draws = rng.normal(size=(200_000, 3)) @ np.linalg.pinv(D)
    seen = np.linalg.norm(draws @ inside, axis=1) / np.linalg.norm(draws @ D, axis=1)
    assert seen.max() <= ratio * (1 + 1e-9)
    assert seen.max() == pytest.approx(ratio, rel=1e-3)
    assert (outside < 1e-10, rank_N, rank_D) == (True, 2, 3)
    N = rng.normal(size=(8, 2))
    ratio, outside, rank_N, rank_D = measures.largest_ratio(N, D)
    assert ratio == np.inf
    assert rank_N < rank_D  # the paper's argument, which does not help
    assert np.rad2deg(subspace_angles(N, D)).max() > 1
    # A row that leaves the scorer still and moves the selector.
    still = np.linalg.svd(D.T)[2][-1]
    assert np.linalg.norm(still @ D) < 1e-12 < np.linalg.norm(still @ N)
    assert measures.largest_ratio(np.zeros((8, 2)), D)[0] == 0


@pytest.mark.parametrize("refitted", [True, False])
def test_sides_follow_their_definitions(table, fitted, refitted):
    n, j, core = len(table), 5, np.array([0, 7, 9])
    centre = table.mean(axis=0)
    full = measures.fitted_maps(fitted, centre)
    if refitted:
        other = measures.fitted_maps(ScorerSelector(3, ridge=0.0).fit(np.delete(table, j, axis=0)), centre)
    else:
        other = measures.rescaled(full, 1 + 0.1 * np.arange(7))
    rows = measures.with_one(table, centre)
    A = {path: (full.left(path) @ full.right, other.left(path) @ other.right) for path in ("selector", "scorer")}

    def loss(t, chosen):
        a, b = A["scorer"]
        return np.sum((rows[chosen, :-1] - rows[chosen] @ (a + t * (b - a))) ** 2)

    others = np.delete(np.arange(n), j)
    losses = measures.losses_along_path(rows, full, other)
    left, right = measures.assumption3_sides(losses, core, j)
    printed, turned, bound = measures.proposition1_sides(losses, j, full, other, kappa1=2.5, weight=WEIGHT)
    moved = A["scorer"][1] - A["scorer"][0]
    a, b = A["selector"]
    for i, t in enumerate(measures.STEPS):
        f = [lambda s, c=chosen, w=size: loss(s, c) / w for chosen, size in ((core, 3), (others, n))]
        both = [g(0) - g(t) + g(1) - g(1 - t) for g in f]
        assert left[i] == pytest.approx(both[0], abs=1e-10)
        assert right[i] == pytest.approx(both[1] / ((n - 1) / n), abs=1e-10)
        # What the text says: t drops out.
        assert left[i] == pytest.approx(2 * t * (1 - t) * np.mean(np.sum((rows[core] @ moved) ** 2, axis=1)), abs=1e-10)
        whole = loss(0, np.arange(n)) / n - loss(t, np.arange(n)) / n
        assert printed[i] == pytest.approx(whole + f[1](0) - f[1](t), abs=1e-10)
        assert turned[i] == pytest.approx(whole + f[1](1) - f[1](1 - t), abs=1e-10)
        expected = t * 2.5**2 * (np.linalg.norm(2 * b - t * (b - a), 2) + 2) * np.linalg.norm(b - a, 2) / WEIGHT
        assert bound[i] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    for path in ("selector", "scorer"):
        D = measures.combination(full, other, path, 1.0, -1.0)
        expected = np.linalg.norm(rows @ (A[path][0] - A[path][1]), axis=1)
        np.testing.assert_allclose(np.linalg.norm(rows @ D, axis=1), expected, rtol=1e-9)
