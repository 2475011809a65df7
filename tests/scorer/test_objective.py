"""J(S) and its weights against a numerical minimum of the network's own objective, computed from the rows."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from stableselect import Moments
from stableselect.scorer._objective import ScorerObjective
from stableselect.scorer._search import search_scorer


def table(n, m, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) @ rng.normal(size=(m, m)) + rng.normal(size=m)
    return X / X.std(axis=0)


def network_objective(X, S, M, W, weight, alpha):
    """The definition, row by row: both paths of the network and the ridge on the selector's map."""
    Xc = X - X.mean(axis=0)
    selector = ((Xc - Xc[:, S] @ M[S] @ W) ** 2).sum()
    scorer = ((Xc - Xc @ M @ W) ** 2).sum()
    return (selector + weight * scorer) / len(X) + alpha * ((M[S] @ W) ** 2).sum()


def numerical_minimum(X, S, d, weight, alpha, starts=3):
    """Minimise the definition over M and W with L-BFGS from random starts."""
    m, n = X.shape[1], len(X)
    Xc = X - X.mean(axis=0)
    C = Xc.T @ Xc / n
    mask = np.isin(np.arange(m), S)[:, None]

    def value_and_gradient(flat):
        M, W = flat[: m * d].reshape(m, d), flat[m * d :].reshape(d, m)
        total, dM, dW = 0.0, np.zeros_like(M), np.zeros_like(W)
        for part, factor in ((M * mask, 1.0), (M, weight)):
            B = part @ W
            slope = 2 * factor * (C @ B - C)
            total += factor * (np.trace(C) - 2 * np.sum(C * B) + np.sum(B * (C @ B)))
            if factor == 1.0 and part is not M:
                total += alpha * np.sum(B * B)
                slope = slope + 2 * alpha * B
                dM += mask * (slope @ W.T)
            else:
                dM += slope @ W.T
            dW += part.T @ slope
        return total, np.concatenate([dM.ravel(), dW.ravel()])

    best = np.inf
    for seed in range(starts):
        start = np.random.default_rng(seed).normal(size=2 * m * d) * 0.3
        options = {"maxiter": 20000, "maxfun": 40000, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 50}
        best = min(best, minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options).fun)
    return best


CASES = [
    # n, m, k, d, weight, alpha
    (40, 8, 3, 3, 1 / 128, 0.0),
    (40, 8, 3, 3, 1.0, 0.0),
    (40, 8, 3, 2, 0.5, 0.0),
    (40, 8, 3, 5, 1.0, 0.0),
    (40, 8, 3, 3, 0.5, 0.2),
    (6, 12, 3, 3, 1 / 128, 0.0),  # n < m, kept columns in the span of the others
    (6, 12, 3, 2, 1.0, 0.1),
    (9, 10, 4, 4, 1.0, 0.0),  # n < m, but too few other columns to span the kept ones
]


@pytest.mark.parametrize("n, m, k, d, weight, alpha", CASES)
def test_closed_form_is_the_numerical_minimum(n, m, k, d, weight, alpha):
    X = table(n, m)
    S = [1, 4, 6, 7][:k]
    objective = ScorerObjective(Moments.from_array(X).operator(), d, weight, alpha)
    J, _ = objective.exact(S)
    assert J == pytest.approx(numerical_minimum(X, S, d, weight, alpha), rel=2e-7)


@pytest.mark.parametrize("n, m, k, d, weight, alpha", CASES)
def test_closed_form_weights_attain_the_objective(n, m, k, d, weight, alpha):
    X = table(n, m)
    S = [1, 4, 6, 7][:k]
    objective = ScorerObjective(Moments.from_array(X).operator(), d, weight, alpha)
    J, top = objective.exact(S)
    M, W = objective.weights(S, top)
    assert network_objective(X, S, M, W, weight, alpha) == pytest.approx(J, rel=1e-10)
    selector, scorer, attained = objective.losses(M, W, S)
    assert attained == pytest.approx(J / m, rel=1e-10)
    Xc = X - X.mean(axis=0)
    assert selector == pytest.approx(np.mean((Xc - Xc[:, S] @ M[S] @ W) ** 2), rel=1e-9)
    assert scorer == pytest.approx(np.mean((Xc - Xc @ M @ W) ** 2), rel=1e-9, abs=1e-12)


def test_without_scorer_and_ridge_it_is_column_subset_selection():
    X = table(40, 8)
    S = [0, 2, 5]
    objective = ScorerObjective(Moments.from_array(X).operator(), 3, 0.0, 0.0)
    Xc = X - X.mean(axis=0)
    residual = Xc - Xc[:, S] @ np.linalg.lstsq(Xc[:, S], Xc, rcond=None)[0]
    assert objective.exact(S)[0] == pytest.approx((residual**2).sum() / len(X), rel=1e-11)


@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("width", [2, 3, 5])
def test_floor_bounds_every_subset(alpha, width):
    X = table(40, 7)
    objective = ScorerObjective(Moments.from_array(X).operator(), width, 0.5, alpha)
    values = [objective.exact(list(S))[0] for S in itertools.combinations(range(7), 3)]
    assert 0.3 * min(values) <= objective.floor(3) <= min(values)


def test_bound_is_never_below_the_exact_value_and_comes_close():
    X = table(60, 12)
    objective = ScorerObjective(Moments.from_array(X).operator(), 4, 0.5, 0.0)
    top = objective.exact([0, 1, 2, 3])[1]
    exact = objective.exact([0, 1, 2, 9])[0]
    bounds = [objective.bound([0, 1, 2, 9], top, steps)[0] for steps in (1, 2, 40)]
    assert min(bounds) >= exact * (1 - 1e-12)
    assert bounds[0] >= bounds[1] >= bounds[2]
    assert bounds[2] == pytest.approx(exact, rel=1e-4)


def test_search_never_raises_the_objective_and_finds_the_optimum_of_a_small_table():
    X = table(50, 9, seed=3)
    gram = Moments.from_array(X).operator()
    objective = ScorerObjective(gram, 3, 2.0, 0.0)
    start = [0, 1, 2]
    chosen, n_swaps = search_scorer(objective, start, (), ())
    assert n_swaps > 0
    assert objective.exact(chosen)[0] < objective.exact(start)[0]
    values = {S: objective.exact(list(S))[0] for S in itertools.combinations(range(9), 3)}
    neighbours = [v for S, v in values.items() if len(set(S) & set(chosen)) >= 2]
    assert objective.exact(chosen)[0] <= min(neighbours) * (1 + 1e-9)


def test_search_keeps_included_and_avoids_excluded_columns():
    X = table(50, 9, seed=3)
    objective = ScorerObjective(Moments.from_array(X).operator(), 3, 2.0, 0.0)
    chosen, _ = search_scorer(objective, [0, 1, 2], include=[0], exclude=[8, 7])
    assert 0 in chosen and not {7, 8} & set(chosen)


def test_closed_form_is_exact_beside_a_far_sample(rng):
    X = rng.normal(size=(30, 6))
    X[4] += 1e4
    X -= X.mean(axis=0)
    S = [0, 2, 3]
    left = X - X[:, S] @ np.linalg.lstsq(X[:, S], X, rcond=None)[0]
    J, _ = ScorerObjective(Moments.from_array(X).operator(), 6, 0.0, 0.0).exact(S)
    assert abs(J - np.sum(left**2) / 30) <= 1e-13 * np.sum(X**2) / 30


@pytest.mark.parametrize(("alpha", "weight", "d"), [(0.0, 0.3, 2), (0.2, 0.3, 3), (0.1, 0.0, 2)])
def test_weights_of_targets_against_scaled_features_and_the_definition(alpha, weight, d):
    X, S = table(40, 6), [1, 4, 5]
    w = np.array([0.5, 2.0, 1.0, 3.0, 0.2, 1.0])
    gram = Moments.from_array(X).operator()
    objective = ScorerObjective(gram, d, weight, alpha, targets=w)
    J, top = objective.exact(S)
    M, W = objective.weights(S, top)
    Xc = X - X.mean(axis=0)
    errors = [((Xc - Xc[:, rows] @ M[rows] @ W) ** 2 @ w).sum() / len(X) for rows in (S, list(range(6)))]
    ridge = alpha * ((M[S] @ W) ** 2 @ w).sum()
    assert errors[0] + weight * errors[1] + ridge == pytest.approx(J)
    selector, scorer, total = objective.losses(M, W, S)
    assert [selector, scorer, total] == pytest.approx([*(error / w.sum() for error in errors), J / w.sum()])
    assert objective.floor(3) <= J + 1e-12
    for _ in range(20):  # no other weights do better
        other = M + 0.01 * np.random.default_rng(_).normal(size=M.shape)
        D = W + 0.01 * np.random.default_rng(99 - _).normal(size=W.shape)
        assert objective.losses(other, D, S)[2] >= J / w.sum() - 1e-12
    assert objective.bound(S, top)[0] == pytest.approx(J)
    if alpha == 0:  # a weight is then a scale of the feature
        scaled = ScorerObjective(Moments.from_array(X * np.sqrt(w)).operator(), d, weight, 0.0)
        assert scaled.exact(S)[0] == pytest.approx(J)


def test_a_target_of_no_weight_is_the_limit_of_small_ones():
    X, S = table(40, 6), [1, 4]
    gram = Moments.from_array(X).operator()
    none, little = (ScorerObjective(gram, 2, 0.3, 0.1, targets=np.array([1, 1, 1, 1, 1, last])) for last in (0.0, 1e-9))
    assert none.exact(S)[0] == pytest.approx(little.exact(S)[0])
    maps = [M[S] @ W for M, W in (one.weights(S, one.exact(S)[1]) for one in (none, little))]
    np.testing.assert_allclose(*maps, atol=1e-6)
