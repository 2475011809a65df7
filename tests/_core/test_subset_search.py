"""Forward steps and swaps against brute force: every loss recomputed from the rows."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from stableselect import ColumnSubset, Moments
from stableselect._core import _subset_search, _swap_state, forward_search
from stableselect._core._dual_gram import DualGram
from stableselect._core._forward_search import open_columns
from stableselect._core._gram import Gram
from stableselect._core._subset_search import _descend, exchange_search
from stableselect._core._swap_state import _REFRESH, SwapState


def loss(X, S, alpha=0.0):
    """Ridge objective of predicting all centred columns from the columns S, by an augmented least-squares problem."""
    Xc = (X - X.mean(axis=0)) / np.sqrt(len(X))
    S = list(S)
    left = np.vstack([Xc[:, S], np.sqrt(alpha) * np.eye(len(S))])
    right = np.vstack([Xc, np.zeros((len(S), X.shape[1]))])
    B = np.linalg.lstsq(left, right, rcond=None)[0]
    return ((right - left @ B) ** 2).sum()


def greedy(X, k, alpha=0.0):
    chosen = []
    for _ in range(k):
        rest = [j for j in range(X.shape[1]) if j not in chosen]
        chosen.append(min(rest, key=lambda j: loss(X, [*chosen, j], alpha)))
    return chosen


@pytest.fixture(params=["tall", "wide"])
def X(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_forward_is_the_greedy_choice(X, alpha):
    gram = Moments.from_array(X).operator()
    assert forward_search(gram, 5, alpha) == greedy(X, 5, alpha)


def test_forward_stays_greedy_when_little_is_left(rng):
    """Columns whose scales span seven decades: the running residual alone would be rounding by the end."""
    X = (rng.normal(size=(40, 10)) @ rng.normal(size=(10, 10))) * 10.0 ** -np.arange(0, 5, 0.5)
    for gram in (Gram(Moments.from_array(X).gram), DualGram((X - X.mean(0)) / np.sqrt(40))):
        assert forward_search(gram, 8, 0.0) == greedy(X, 8)


@pytest.mark.parametrize("seed", range(4))
def test_forward_stays_greedy_beside_a_far_sample(seed):
    X = np.random.default_rng(seed).normal(size=(30, 4))
    X[4] += 5e4  # one feature explains all but 1e-9 of the others
    assert forward_search(Moments.from_array(X).operator().normalised()[0], 2, 0.0) == greedy(X, 2)


@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_every_swap_gain_is_the_true_change_of_the_loss(X, alpha):
    gram = Moments.from_array(X).operator()
    chosen = [0, 3, 5, 8]
    state = SwapState(gram, chosen, alpha)
    gains = state.swap_gains(open_columns(gram, chosen))
    assert state.loss == pytest.approx(loss(X, chosen, alpha), rel=1e-10)
    for a, c in enumerate(chosen):
        dropped = [b for b in chosen if b != c]
        assert state.drop_costs[a] == pytest.approx(loss(X, dropped, alpha) - loss(X, chosen, alpha), rel=1e-9)
        for j in range(X.shape[1]):
            if j in chosen:
                assert gains[a, j] == -np.inf
            else:
                true = loss(X, chosen, alpha) - loss(X, [*dropped, j], alpha)
                assert gains[a, j] == pytest.approx(true, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_a_thin_factor_needs_no_residual_unless_rounding_asks_for_it(wide, alpha):
    gram = Moments.from_array(wide).operator()
    chosen = [0, 3, 5, 8]

    def products(gram, chosen, alpha):
        return gram.swap_products(chosen, alpha, gram.rows(chosen), gram.square_rows(chosen))

    known = products(gram, chosen, alpha)
    formed = SwapState(Gram(gram.dense()), chosen, alpha)
    for ours, theirs in zip(known, (formed.P, formed.V, formed.Y, formed.g, formed.h), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * np.abs(theirs).max())
    assert products(gram, range(len(wide) - 1), 0.0) is None  # nothing is left
    twice = DualGram(np.hstack([gram.A, gram.A[:, :1] + 1e-6 * gram.A[:, 1:2]]))
    assert products(twice, [0, 40], 0.0) is None  # nearly the same feature


@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_projected_gains_are_the_change_within_the_directions(X, alpha, rng):
    gram = Moments.from_array(X).operator()
    chosen = [0, 3, 5, 8]
    G = np.linalg.qr(rng.normal(size=(X.shape[1], 2)))[0]
    gains = SwapState(gram, chosen, alpha).projected_gains(open_columns(gram, chosen), G)

    def projected_loss(S):
        return np.trace(G.T @ gram.split(S, alpha)[2].dense() @ G)

    for a, j in itertools.product(range(4), [1, 2, 9]):
        swapped = [j if b == a else c for b, c in enumerate(chosen)]
        assert gains[a, j] == pytest.approx(projected_loss(chosen) - projected_loss(swapped), rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_updated_state_equals_a_fresh_one(X, alpha):
    gram = Moments.from_array(X).operator()
    state = SwapState(gram, [0, 3, 5, 8], alpha)
    for a, j in [(1, 7), (0, 10), (3, 2), (1, 3)]:
        state.swap(a, j)
    fresh = SwapState(gram, state.chosen, alpha)
    assert state.chosen == [10, 3, 5, 2]
    for name in ("V", "Y", "P", "g", "h", "C_S", "drop_costs"):
        np.testing.assert_allclose(getattr(state, name), getattr(fresh, name), rtol=1e-8, atol=1e-9, err_msg=name)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), k=st.integers(1, 4), alpha=st.sampled_from([0.0, 0.2]), wide=st.booleans())
def test_exchange_ends_where_no_swap_helps(seed, k, alpha, wide):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(7, 16) if wide else (30, 8))
    gram = Moments.from_array(X).operator()
    start = forward_search(gram, k, alpha)
    chosen, n_swaps = exchange_search(gram, start, alpha)
    found = loss(X, chosen, alpha)
    assert len(set(chosen)) == k and found <= loss(X, start, alpha) * (1 + 1e-9)
    assert n_swaps > 0 or sorted(chosen) == sorted(start)
    for c in chosen:
        for j in set(range(X.shape[1])) - set(chosen):
            assert loss(X, [j if b == c else b for b in chosen], alpha) >= found * (1 - 1e-8)


def test_primal_and_dual_choose_alike(wide):
    dual = Moments.from_array(wide).operator()
    primal = Gram(dual.dense())
    assert isinstance(dual, DualGram)
    for alpha in (0.0, 0.3):
        first, second = forward_search(dual, 6, alpha), forward_search(primal, 6, alpha)
        assert first == second
        assert sorted(exchange_search(dual, first, alpha)[0]) == sorted(exchange_search(primal, first, alpha)[0])


def test_many_swaps_from_a_poor_start_stay_exact(rng):
    X = rng.normal(size=(300, 160)) @ rng.normal(size=(160, 160))
    gram = Moments.from_array(X).operator()
    chosen, n_swaps = exchange_search(gram, list(range(70)), 0.0)
    assert n_swaps > _REFRESH  # past one recomputation of the state
    gains = SwapState(gram, chosen, 0.0).swap_gains(open_columns(gram, chosen))
    assert gains.max() <= 1e-9 * loss(X, chosen)


def test_beyond_the_rank_goes_on_by_the_ridge_gain_with_constants_last(rng):
    base = rng.normal(size=(30, 3))
    X = np.column_stack([base, base @ rng.normal(size=(3, 3)), np.full(30, 7.0), np.zeros(30)])
    order = forward_search(Moments.from_array(X).operator(), 8, 0.0)
    assert sorted(order) == list(range(8)) and order[-2:] == [6, 7]
    alpha = 1e-3 * Moments.from_array(X).variance.mean()
    for t in range(3, 6):
        rest = [j for j in range(8) if j not in order[:t]]
        assert loss(X, order[: t + 1], alpha) <= min(loss(X, [*order[:t], j], alpha) for j in rest) * (1 + 1e-9)


def test_ties_go_to_the_lowest_index(rng):
    column = rng.normal(size=(20, 1))
    X = np.hstack([column, column, column])
    assert forward_search(Moments.from_array(X).operator(), 3, 0.0) == [0, 1, 2]


def test_include_comes_first_and_exclude_never(tall):
    gram = Moments.from_array(tall).operator()
    order = forward_search(gram, 4, 0.0, include=[9, 2], exclude=[0, 1])
    assert order[:2] == [9, 2] and not {0, 1} & set(order)
    chosen, _ = exchange_search(gram, order, 0.0, include=[9, 2], exclude=[0, 1])
    assert {9, 2} <= set(chosen) and not {0, 1} & set(chosen)


def test_floor_is_the_principal_component_error(X):
    gram = Moments.from_array(X).operator()
    Xc = (X - X.mean(axis=0)) / np.sqrt(len(X))
    singular = np.linalg.svd(Xc, compute_uv=False)
    assert gram.floor(3) == pytest.approx((singular[3:] ** 2).sum(), rel=1e-10)
    assert gram.floor(X.shape[1]) == 0


@pytest.mark.parametrize("alpha", [0.05, 2.0])
def test_ridge_floor_bounds_every_subset_and_is_attained_by_principal_components(tall, alpha):
    gram = Moments.from_array(tall).operator()
    values = [loss(tall, S, alpha) for S in itertools.combinations(range(12), 2)]
    assert gram.floor(2, alpha) <= min(values)
    rotated = (tall - tall.mean(axis=0)) @ gram.eigh()[1]
    assert gram.floor(2, alpha) == pytest.approx(loss(rotated, [0, 1], alpha), rel=1e-10)


@pytest.mark.parametrize("seed", [14, 1046, 1367, 1434])
def test_exchange_ends_close_to_the_rank(seed):
    """Where the running loss is mostly rounding, two swaps could undo each other for ever."""
    rng = np.random.default_rng(seed)
    if seed == 14:
        X, k = rng.normal(size=(30, 2)) @ rng.normal(size=(2, 6)) + 1e-4 * rng.normal(size=(30, 6)), 3
    else:
        n, m, k = int(rng.integers(20, 60)), int(rng.integers(6, 15)), int(rng.integers(3, 6))
        noise = 10.0 ** rng.integers(-6, -3)
        X = rng.normal(size=(n, 3)) @ rng.normal(size=(3, m)) + noise * rng.normal(size=(n, m))
    gram, _ = Moments.from_array(X).operator().normalised()
    for ridge in (0.0, 1e-3):
        chosen, _ = exchange_search(gram, forward_search(gram, k, ridge), ridge)
        assert len(set(chosen)) == k


def exact_loss(X, S):
    """Return the loss as a fraction of the total, by orthogonalisation in extended precision."""
    A = X.astype(np.longdouble)
    A = A - A.mean(axis=0)
    left = A
    for j in S:
        q = left[:, j] / np.sqrt(np.sum(left[:, j] ** 2))
        for _ in range(2):
            left = left - np.outer(q, q @ left)
    return float(np.sum(left**2) / np.sum(A**2))


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="needs extended precision")
def test_close_to_the_rank_losses_are_right_and_no_swap_makes_them_worse():
    """Kept features that nearly are combinations of each other must not leave the loss to rounding."""
    swapped = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, m, k = int(rng.integers(20, 60)), int(rng.integers(6, 15)), int(rng.integers(3, 6))
        X = rng.normal(size=(n, 3)) @ rng.normal(size=(3, m)) + 10.0 ** rng.uniform(-5.3, -3.5) * rng.normal(
            size=(n, m)
        )
        gram, _ = Moments.from_array(X).operator().normalised()
        start = forward_search(gram, k, 0.0)
        assert SwapState(gram, start, 0.0).loss / m == pytest.approx(exact_loss(X, start), rel=1e-4, abs=1e-13)
        chosen, n_swaps = exchange_search(gram, start, 0.0)
        assert exact_loss(X, chosen) <= exact_loss(X, start) * (1 + 1e-9)
        swapped += n_swaps > 0
    assert swapped > 20


def test_the_search_goes_on_past_its_first_optimum():
    """Over many tables the escape must find lower optima than plain descent at least sometimes, and never higher."""
    better = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        gram = Moments.from_array(rng.normal(size=(60, 25)) @ rng.normal(size=(25, 25))).operator()
        start = forward_search(gram, 6, 0.0)
        plain = SwapState(gram, start, 0.0)
        _descend(plain, gram.trace(), (), ())
        found = SwapState(gram, exchange_search(gram, start, 0.0)[0], 0.0).loss
        assert found <= plain.loss * (1 + 1e-12)
        better += found < plain.loss * (1 - 1e-9)
    assert better > 0


@pytest.mark.parametrize(("seed", "k"), [(3, 5), (29, 4), (49, 4)])
def test_a_copy_in_very_different_units_does_not_stop_the_search(seed, k):
    # Rounding leaves the loss and the best gain slightly below zero here.
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(24, 5))
    X = np.column_stack([X, X[:, 0]]) * 10.0 ** rng.integers(-6, 7, 6)
    assert len(set(ColumnSubset(k, ridge=0.0).fit(X).selected_)) == k


def test_a_swap_that_only_rounding_made_possible_is_refused(rng):
    X = rng.normal(size=(50, 8))
    X[:, 5] = X[:, 1]
    gram = Moments.from_array(X).operator().normalised()[0]
    state = SwapState(gram, [0, 1, 2], 0.0)
    loss = state.loss
    assert not state.swap(0, 5)  # column 1 stays, so its copy adds nothing
    assert state.chosen == [0, 1, 2] and state.loss == pytest.approx(loss)
    assert state.swap(1, 5) and state.chosen == [0, 5, 2] and state.loss == pytest.approx(loss)


@pytest.mark.parametrize("order", ["C", "F"])
def test_products_are_added_in_place_in_either_layout(rng, order):
    M, left, right = np.array(rng.normal(size=(5, 9)), order=order), rng.normal(size=(5, 2)), rng.normal(size=(2, 9))
    expected, view = M + left @ right, M[::2]
    _swap_state._add_product(M, left, right)
    np.testing.assert_allclose(M, expected, rtol=1e-13)
    np.testing.assert_array_equal(view, M[::2])
    _swap_state._add_product(M[:, ::2], left, right[:, ::2])
    np.testing.assert_allclose(M[:, ::2], (expected + left @ right)[:, ::2], rtol=1e-13)


def test_short_stretches_side_by_side_lead_to_the_same_swaps(rng, monkeypatch):
    X = rng.normal(size=(40, 300)) + rng.normal(size=(40, 5)) @ rng.normal(size=(5, 300))
    gram = Moments.from_array(X).operator().normalised()[0]
    start = list(range(8))
    expected = exchange_search(gram, start, 0.1)
    monkeypatch.setattr(_subset_search, "_STRETCH", 100)
    for fewest in (1, 10**6):
        monkeypatch.setattr(_subset_search, "MANY_FEATURES", fewest)
        with threadpool_limits(2):
            assert exchange_search(gram, start, 0.1) == expected


@pytest.mark.parametrize("alpha", [0.0, 0.1])
@pytest.mark.parametrize("priced", [False, True])
@pytest.mark.parametrize("many", [0, 2**15])
def test_the_best_gain_of_every_feature_is_the_largest_of_its_swaps(X, alpha, priced, rng, many, monkeypatch):
    monkeypatch.setattr(_swap_state, "_MANY", many)
    gram, _ = Moments.from_array(X).operator().normalised()
    prices = rng.uniform(size=gram.n_features) if priced else None
    state = SwapState(gram, [0, 3, 5, 7], alpha, prices)
    allowed = open_columns(gram, [*state.chosen, 2])
    for part in (slice(None), slice(1, 8)):
        gains = state.swap_gains(allowed, part)
        np.testing.assert_allclose(state.best_gains(allowed, part), gains.max(axis=0), rtol=1e-9)
        np.testing.assert_allclose(state.best_gains(allowed, part, [0, 2]), gains[[0, 2]].max(axis=0), rtol=1e-9)
