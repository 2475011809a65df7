"""The leave-one-out error and its search against refitting without every sample."""

import numpy as np
import pytest

from stableselect import Moments
from stableselect._core import (
    LeaveOneOutState,
    exchange_leave_one_out,
    forward_leave_one_out,
    kept_samples,
    leave_one_out_error,
)
from stableselect._core._leave_one_out import _REFRESH


def refitted(X, S, ridge, weights=None):
    """Squared error, summed over the features, of the ridge map and mean refitted without every sample in turn."""
    w = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
    penalty = ridge * w.sum() * np.cov(X.T, aweights=w, ddof=0).trace() / X.shape[1]
    S, total = list(S), 0.0
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        mean = w[others] @ X[others] / w[others].sum()
        left = np.sqrt(w[others])[:, None] * (X[others] - mean)
        B = np.linalg.solve(left[:, S].T @ left[:, S] + penalty * np.eye(len(S)), left[:, S].T @ left)
        total += w[i] * np.sum((X[i] - mean - (X[i] - mean)[S] @ B) ** 2)
    return total / w.sum()


def state_of(X, ridge, chosen=(), weights=None):
    """Return the state and the factor from its units to those of the samples."""
    moments = Moments.from_array(X, weights)
    return LeaveOneOutState(kept_samples(moments), ridge, chosen), float(np.mean(moments.variance))


def outside(m, chosen):
    return np.setdiff1d(np.arange(m), chosen)


@pytest.fixture
def weights(rng, wide):
    return rng.uniform(0.2, 3.0, size=len(wide))


@pytest.mark.parametrize("ridge", [1e-3, 0.1, 3.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_error_is_that_of_refitting_without_every_sample(wide, weights, ridge, weighted):
    w = weights if weighted else None
    for chosen in ([], [4], [4, 0, 17], list(range(0, 40, 2))):
        state, unit = state_of(wide, ridge, chosen, w)
        # Every sample is divided by a number of the size of the ridge, which costs as many digits.
        expected = pytest.approx(refitted(wide, chosen, ridge, w), rel=1e-13 / min(ridge, 0.1))
        assert state.error * unit == expected
        assert leave_one_out_error(state.samples, chosen, ridge) * unit == expected


@pytest.mark.parametrize("ridge", [1e-2, 1.0])
def test_every_addition_drop_and_swap_is_foreseen(wide, weights, ridge):
    state, unit = state_of(wide, ridge, [3], weights)
    for new in (5, 7, 1, 30):
        rest = outside(40, state.chosen)
        expected = [refitted(wide, [*state.chosen, j], ridge, weights) for j in rest]
        np.testing.assert_allclose(state.errors_with()[rest] * unit, expected, rtol=1e-11)
        state.add(new)
    for old in (7, 3):
        left = [j for j in state.chosen if j != old]
        rest = outside(40, left)
        expected = [refitted(wide, [*left, j], ridge, weights) for j in rest]
        np.testing.assert_allclose(state.errors_without(old)[rest] * unit, expected, rtol=1e-10)
    state.swap(7, 20)
    assert state.chosen == [3, 5, 20, 1, 30]
    assert state.error * unit == pytest.approx(refitted(wide, state.chosen, ridge, weights), rel=1e-11)


@pytest.mark.parametrize("ridge", [1e-2, 0.3, 10.0])
@pytest.mark.parametrize("priced", [False, True])
def test_errors_left_out_are_above_the_least(wide, weights, rng, ridge, priced):
    """Those that are computed are right, ties of the best are among them, and the bounds are below all errors."""
    X = np.column_stack([wide, wide[:, :5]])  # copies tie
    state, _ = state_of(X, ridge, [], weights)
    prices = rng.uniform(0, 0.1, size=45) * priced
    n_left = 0
    for new in (5, 7, 1, 30, 22):
        for without in (None, *state.chosen[:1]):
            usable = ~np.isin(np.arange(45), [3, *state.chosen])
            every = state.errors_with() if without is None else state.errors_without(without)
            few = state.least_errors(usable, prices, without)
            known = np.isfinite(few)
            np.testing.assert_allclose(few[known], every[known], rtol=1e-12)
            cost = np.where(usable, every + prices, np.inf)
            assert known[cost <= cost.min() * (1 + 1e-10)].all()
            n_left += known.sum()
        low = state.low if state.low is not None else state._each(state._bounds, None)
        assert (low[usable] <= state.errors_with()[usable] * (1 + 1e-12)).all()
        state.add(new)
    assert n_left < 9 * 45


def test_training_gains_are_the_falls_of_the_training_loss(wide):
    gram = Moments.from_array(wide).operator().normalised()[0]
    state, _ = state_of(wide, 0.1, [2, 9])
    loss = [gram.split([2, 9, *more], 0.1)[2].trace() for more in ([], [0], [30])]
    gains = state.training_gains()
    assert gains[0] == pytest.approx(loss[0] - loss[1], rel=1e-10)
    assert gains[30] == pytest.approx(loss[0] - loss[2], rel=1e-10)


def test_rounding_does_not_build_up(wide, rng):
    state, unit = state_of(wide, 1e-2, list(range(8)))
    for _ in range(_REFRESH // 2 - 1):
        state.swap(state.chosen[0], int(rng.choice(outside(40, state.chosen))))
    assert state.stale
    assert state.error * unit == pytest.approx(refitted(wide, state.chosen, 1e-2), rel=1e-8)
    state.swap(state.chosen[0], int(outside(40, state.chosen)[0]))
    assert not state.stale


@pytest.mark.parametrize("priced", [False, True])
def test_forward_search_takes_the_best_of_all_candidates_at_every_step(wide, rng, priced):
    ridge = 0.3
    unit = float(np.mean(wide.var(axis=0)))
    prices = rng.uniform(0, 0.5, size=40) if priced else np.zeros(40)
    assert kept_samples(Moments.from_array(wide)).shared_variance.all()
    state = forward_leave_one_out(kept_samples(Moments.from_array(wide)), 6, ridge, [11], [0, 1, 2], prices)
    expected = [11]
    while len(expected) < 6:
        cost = {j: refitted(wide, [*expected, j], ridge) / unit + prices[j] for j in range(3, 40) if j not in expected}
        expected.append(min(cost, key=cost.get))
    assert state.chosen == expected
    samples = kept_samples(Moments.from_array(wide))
    few = forward_leave_one_out(samples, 3, ridge, [11], [0, 1, 2], prices)
    assert forward_leave_one_out(samples, 6, ridge, [11], [0, 1, 2], prices, start=few).chosen == expected


@pytest.mark.parametrize("priced", [False, True])
def test_no_swap_helps_after_the_exchange(wide, rng, priced):
    ridge, include, exclude = 0.3, [11], [0, 1, 2]
    unit = float(np.mean(wide.var(axis=0)))
    prices = rng.uniform(0, 0.5, size=40) if priced else np.zeros(40)
    state = LeaveOneOutState(kept_samples(Moments.from_array(wide)), ridge, [11, 20, 21, 22, 23])
    before = state.error + prices[state.chosen].sum()
    assert exchange_leave_one_out(state, include, exclude, prices) > 0
    assert 11 in state.chosen and not {0, 1, 2} & set(state.chosen)
    cost = refitted(wide, state.chosen, ridge) / unit + prices[state.chosen].sum()
    assert cost < before
    for old in set(state.chosen) - {11}:
        left = [j for j in state.chosen if j != old]
        for new in outside(40, [*state.chosen, *exclude]):
            swapped = [*left, int(new)]
            assert refitted(wide, swapped, ridge) / unit + prices[swapped].sum() >= cost * (1 - 1e-9)


def test_a_weight_of_two_is_a_sample_listed_twice(wide):
    weights = np.ones(len(wide))
    weights[[2, 5]] = 2, 3
    repeated = np.repeat(wide, weights.astype(int), axis=0)[np.random.default_rng(0).permutation(12)]
    blocks = Moments.from_array(repeated, block_size=5)  # every block is centred by a mean of its own
    for other in (Moments.from_array(repeated), blocks):
        one, two = (LeaveOneOutState(kept_samples(m), 0.1, [1, 2]) for m in (Moments.from_array(wide, weights), other))
        assert two.error == pytest.approx(one.error, rel=1e-12)
        assert two.gram.A.shape == wide.shape


def test_the_order_of_the_samples_does_not_matter_for_ties(rng):
    X = rng.normal(size=(12, 20))
    X = np.hstack([X, X])[:, rng.permutation(40)]
    found = [
        forward_leave_one_out(kept_samples(Moments.from_array(X[rng.permutation(12)])), 8, 0.1).chosen for _ in range(4)
    ]
    assert all(chosen == found[0] for chosen in found)


def test_features_that_rest_on_one_sample_come_late_and_constant_ones_last(rng):
    X = rng.normal(size=(20, 45))
    X[:, 7] = 0.0
    X[3, 7] = 50.0
    X[:, 8] = 1.0
    samples = kept_samples(Moments.from_array(X))
    assert np.flatnonzero(~samples.shared_variance).tolist() == [7, 8]
    assert forward_leave_one_out(samples, 45, 0.1).chosen[-2:] == [7, 8]
    state = LeaveOneOutState(samples, 0.1, [0, 1, 2])
    assert exchange_leave_one_out(state) > 0
    assert not {7, 8} & set(state.chosen)


def test_what_holds_no_samples_has_no_leave_one_out_error(tall, wide):
    assert kept_samples(Moments.from_array(tall)) is None  # sums only
    rest = kept_samples(Moments.from_array(wide).remove(wide[:2]))
    assert leave_one_out_error(rest, [0, 3], 0.1) == pytest.approx(
        leave_one_out_error(kept_samples(Moments.from_array(wide[2:])), [0, 3], 0.1)
    )
    assert kept_samples(Moments()) is None
    assert kept_samples(Moments.from_array(wide[[0, 1, 0, 1]])) is None  # two samples
    assert kept_samples(Moments.from_array(wide[[0, 1, 0, 2]])).gram.A.shape == (3, 40)
    assert kept_samples(Moments.from_array(np.ones((5, 20)))) is None


def test_a_feature_just_at_the_limit_of_one_sample_does_not_follow_rounding():
    X = np.random.default_rng(0).integers(0, 2, size=(6, 28)).astype(float)
    X[:, 4], X[:, 26] = [1, 0, 1, 1, 1, 1], [0, 1, 0, 0, 0, 0]
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(6)
        moments = Moments()
        for rows in np.array_split(X[order], 3):
            moments.update(rows)
        assert kept_samples(moments).shared_variance[[4, 26]].all()
