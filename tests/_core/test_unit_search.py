"""Gains of a search among units against losses computed one by one."""

import numpy as np
import pytest
from scipy import sparse

from stableselect._core import Moments, UnitProblem
from stableselect._core._rules import Rules
from stableselect._core._swap_state import SwapState
from stableselect._core._unit_state import UnitState


def problem(form: str, weighted: bool, units=tuple((j,) for j in range(12))) -> UnitProblem:
    rng = np.random.default_rng(3)
    n = 60 if form == "primal" else 5
    gram = Moments.from_array(rng.normal(size=(n, 12)) @ rng.normal(size=(12, 12))).operator().normalised()[0]
    u = len(units)
    free = np.zeros(u, dtype=bool), sparse.csr_matrix((u, u), dtype=int)
    rules = Rules(units, np.ones((1, u)), np.array([1.0]), np.array([12.0]), ("features",), *free)
    weights = rng.uniform(0, 3, size=12) * (rng.random(12) < 0.8) if weighted else None
    return UnitProblem(gram, 0.1, rules, weights, rng.uniform(0, 0.2, size=12))


def cost(made: UnitProblem, features: list[int]) -> float:
    """Return the weighted loss and the prices by the residual itself."""
    R = np.asarray(made.gram.split(features, made.alpha)[2].dense())
    return float(made.w @ np.diagonal(R)) + made.prices[features].sum()


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("weighted", [False, True])
def test_gains_of_features(form, weighted):
    made, chosen = problem(form, weighted), [7, 2, 4]
    state, now = UnitState(made, chosen), cost(made, chosen)
    assert state.cost == pytest.approx(now)
    assert made.cost(chosen) == pytest.approx(now) and made.quick_cost(chosen) == pytest.approx(now)
    others = [j for j in range(12) if j not in chosen]
    gains, swaps = state.gains(np.ones(12, dtype=bool)), state.swap_gains()
    for j in others:
        assert gains[j] == pytest.approx(now - cost(made, [*chosen, j]), abs=1e-9)
        for a in range(3):
            rest = [*chosen[:a], *chosen[a + 1 :], j]
            assert swaps[a, j] == pytest.approx(now - cost(made, rest), abs=1e-9)


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_gains_of_blocks(form):
    units = ((0, 5), (1, 8, 9), (2,), (3, 4), (6,), (7,), (10,), (11,))
    made = problem(form, True, units)
    state, now = UnitState(made, [2, 7]), cost(made, [2, 7])
    gains = state.gains(np.array([True, True, False, True, True, False, True, True]))
    assert np.isneginf(gains[[2, 5]]).all()
    for u in (0, 1, 3, 4):
        assert gains[u] == pytest.approx(now - cost(made, [2, 7, *units[u]]), abs=1e-9)


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_swaps_with_weights_keep_the_state(form):
    made = problem(form, True)
    state = SwapState(made.gram, [7, 2], 0.1, None, made.weights)
    for a, j in ((0, 4), (1, 9), (0, 1)):
        gain = state.swap_gains(np.ones(12, dtype=bool))[a, j]
        before = state.loss
        assert state.swap(a, j)
        fresh = SwapState(made.gram, state.chosen, 0.1, None, made.weights)
        assert state.loss == pytest.approx(fresh.loss) and before - fresh.loss == pytest.approx(gain)
        np.testing.assert_allclose(state.g, fresh.g, atol=1e-9)
        np.testing.assert_allclose(state.Y, fresh.Y, atol=1e-9)
