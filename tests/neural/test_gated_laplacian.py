"""GatedLaplacian: its objective and gradient by definition, and the structure it must find among nuisance features."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.datasets import make_circles, make_moons
from sklearn.preprocessing import StandardScaler

from stableselect import GatedLaplacian
from stableselect.neural._gated_graph import GatedGraph, on_budget
from stableselect.neural._gated_search import GatedSearch


def by_definition(X, gates, n_neighbors, scales=None):
    """Return sum_j g_j x_j' P^2 x_j and the scales, with loops over samples."""
    n, m = X.shape
    d = np.array([[sum(gates[j] * (X[i, j] - X[h, j]) ** 2 for j in range(m)) for h in range(n)] for i in range(n)])
    if scales is None:
        scales = np.array([sorted(row)[n_neighbors] for row in d])
    K = np.array([[np.exp(-d[i, h] / np.sqrt(scales[i] * scales[h])) for h in range(n)] for i in range(n)])
    P = K / K.sum(axis=1, keepdims=True)
    return sum(gates[j] * X[:, j] @ np.linalg.matrix_power(P, 2) @ X[:, j] for j in range(m)), scales


@pytest.fixture
def small(rng):
    X = rng.normal(size=(12, 5)) * [1, 2, 0.5, 1, 3]
    return X - X.mean(axis=0)


def moons(seed, n_nuisance, n=120, make=make_moons):
    X = np.hstack([make(n, noise=0.05, random_state=seed)[0], np.random.default_rng(seed).random((n, n_nuisance))])
    return StandardScaler().fit_transform(X)


def test_objective_of_gates_is_its_definition(small):
    gates = np.array([1.0, 0.3, 0.0, 0.7, 0.1])
    expected, scales = by_definition(small, gates, 4)
    graph = GatedGraph(small, gates, 4)
    assert_allclose(graph.scales, scales)
    assert gates @ graph.smoothness == pytest.approx(expected)


def test_gains_are_the_derivatives(small):
    """By central differences of the definition with the scales held, closed gates included."""
    gates = np.array([0.9, 0.3, 0.0, 0.7, 0.1])
    graph = GatedGraph(small, gates, 4)
    found = graph.gains()
    for j in range(5):
        change = 1e-5 * (np.arange(5) == j)
        ends = [by_definition(small, gates + sign * change, 4, graph.scales)[0] for sign in (1, -1)]
        assert found[j] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6)


def test_gains_agree_with_autograd(small):
    torch = pytest.importorskip("torch")
    X, gates = torch.asarray(small), torch.asarray([0.9, 0.3, 0.2, 0.7, 0.1], dtype=torch.float64, requires_grad=True)
    graph = GatedGraph(small, gates.detach().numpy(), 4)
    between = torch.asarray(np.sqrt(np.outer(graph.scales, graph.scales)))
    K = torch.exp(-(gates * (X[:, None] - X[None]) ** 2).sum(dim=2) / between)
    P = K / K.sum(dim=1, keepdim=True)
    (gates * (X * (P @ P @ X)).sum(dim=0)).sum().backward()
    assert_allclose(graph.gains(), gates.grad.numpy(), rtol=1e-10)


@pytest.mark.parametrize("budget", [0.5, 2.0, 3.7, 5.0])
def test_gates_on_a_budget_are_the_nearest(budget, rng):
    wanted = rng.normal(size=5)
    found = on_budget(wanted, budget)
    assert found.sum() == pytest.approx(budget) and found.min() >= 0 and found.max() <= 1
    nearest = minimize(
        lambda gates: np.sum((gates - wanted) ** 2),
        np.full(5, budget / 5),
        bounds=[(0, 1)] * 5,
        constraints={"type": "eq", "fun": lambda gates: gates.sum() - budget},
        tol=1e-14,
    )
    assert_allclose(found, nearest.x, atol=1e-6)


@pytest.mark.parametrize("settings", [{}, {"max_pairs": 0}], ids=["pairs", "gates alone"])
@pytest.mark.parametrize("seed", [100, 101])
def test_two_moons_are_found_among_nuisance_features(seed, settings):
    assert set(GatedLaplacian(2, n_steps=40, **settings).fit(moons(seed, 8)).selected_) == {0, 1}


def test_rings_are_found_by_pairs():
    """Of two features without any correlation."""
    X = moons(100, 8, make=lambda n, **how: make_circles(n, factor=0.4, **how))
    assert set(GatedLaplacian(2, n_steps=10).fit(X).selected_) == {0, 1}


def test_features_of_long_tails_are_not_preferred():
    """Samples have scales of their own; with one scale for all, outliers would be islands that keep their values."""
    tails = np.random.default_rng(100).standard_t(3, size=(100, 4))
    X = StandardScaler().fit_transform(np.hstack([make_moons(100, noise=0.15, random_state=100)[0], tails]))
    with_one_scale = {}
    for pair in combinations(range(6), 2):
        scales = GatedGraph(X[:, pair], np.ones(2), 5).scales
        with_one_scale[pair] = by_definition(X[:, pair], [1, 1], 5, np.full(100, np.median(scales)))[0]
    assert max(with_one_scale, key=with_one_scale.get) != (0, 1)
    assert set(GatedLaplacian(2, n_steps=20).fit(X).selected_) == {0, 1}


def test_selection_is_the_best_pair_of_all():
    X = moons(102, 5, n=60)
    scaled = X / np.sqrt(np.mean(np.sum(X**2, axis=0)))
    values = {pair: by_definition(scaled[:, pair], [1, 1], 5)[0] / 2 for pair in combinations(range(7), 2)}
    selector = GatedLaplacian(2, n_steps=5).fit(X)
    assert selector.objective_ == pytest.approx(max(values.values()))
    assert tuple(sorted(selector.selected_)) == max(values, key=values.get)


def test_swaps_mend_what_a_start_missed(rng):
    X = moons(103, 6, n=80)
    X /= np.sqrt(np.mean(np.sum(X**2, axis=0)))
    search = GatedSearch(X, 2, 5, 500, rng)
    chosen, value, n_swaps = search.swapped([4, 1])
    assert (chosen, n_swaps) == ([0, 1], 1)
    assert value == pytest.approx(by_definition(X[:, :2], [1, 1], 5)[0] / 2)
    assert search.swapped(chosen) == (chosen, value, 0)


def test_fitted_attributes_agree_with_each_other():
    X = moons(104, 6) * 3.0
    selector = GatedLaplacian(3, n_steps=20).fit(X)
    assert selector.objective_ == pytest.approx(selector.scores_[selector.selected_].mean())
    assert selector.gates_.sum() == pytest.approx(3)


def test_copies_tie_in_favour_of_the_lowest_index(rng):
    X = np.repeat(rng.normal(size=(40, 1)), 6, axis=1)
    for settings in ({}, {"max_pairs": 0}):
        assert_array_equal(GatedLaplacian(3, n_steps=10, **settings).fit(X).selected_, [0, 1, 2])


def test_larger_tables_are_sampled_and_the_seed_decides():
    X = moons(105, 4, n=400)
    fits = [GatedLaplacian(2, n_steps=20, max_samples=200, random_state=seed).fit(X) for seed in (0, 0, 1)]
    assert all(set(fit.selected_) == {0, 1} for fit in fits)
    assert_array_equal(fits[0].scores_, fits[1].scores_)
    assert not np.array_equal(fits[0].scores_, fits[2].scores_)


def test_noise_draws_gates_and_the_seed_decides():
    X = moons(106, 4)
    fits = [GatedLaplacian(2, n_steps=3, noise=0.3, random_state=seed).fit(X) for seed in (0, 0, 1)]
    assert_array_equal(fits[0].gates_, fits[1].gates_)
    assert not np.array_equal(fits[0].gates_, fits[2].gates_)
