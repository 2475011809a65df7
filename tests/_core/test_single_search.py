"""Forward searches in single precision find what those in double precision find."""

import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stableselect._core import Moments, _single_search
from stableselect._core._forward_search import forward_searches
from stableselect._core._gram import Gram
from stableselect._core._settled_steps import Steps, _gains, certain_features
from stableselect._core._single_search import SinglePrecision, _Search

RIDGES = (0.0, 1e-3, 1e-2, 0.1, 1.0)


def table(rng, kind, m):
    """Return 3 m samples."""
    n = 3 * m
    if kind == "plain":
        return rng.normal(size=(n, m)) @ rng.normal(size=(m, m))
    if kind == "noise":
        return rng.normal(size=(n, m))
    if kind == "decades":
        return rng.normal(size=(n, m)) @ rng.normal(size=(m, m)) * 10.0 ** rng.uniform(-3, 0, m)
    if kind == "steep":
        return rng.normal(size=(n, m)) * 0.8 ** np.arange(m) @ rng.normal(size=(m, m))
    if kind == "rank":
        return rng.normal(size=(n, 6)) @ rng.normal(size=(6, m))
    if kind == "pair":  # two readings of a strong signal that differ by a little of another, which all others hold
        strong, weak = 3 * rng.normal(size=n), rng.normal(size=n)
        others = rng.uniform(0, 0.8, m - 2) * weak[:, None] + rng.uniform(0.8, 1, m - 2) * rng.normal(size=(n, m - 2))
        return np.column_stack([strong, strong + 3 * 10 ** rng.uniform(-3, -1) * weak, others])
    if kind == "spectra":
        places = np.abs(np.linspace(0, 1, m // 2) - rng.uniform(0, 1, (12, 1))) / rng.uniform(0.05, 0.4, (12, 1))
        spectra = 3 * rng.normal(size=(n, 12)) @ np.exp(-(places**2)) + 0.01 * rng.normal(size=(n, m // 2))
        return np.hstack([spectra, rng.normal(size=(n, m - m // 2))])
    if kind == "one hot":
        return np.eye(m)[rng.integers(0, m, n)]
    X = rng.normal(size=(n, m // 2)) @ rng.normal(size=(m // 2, m))
    X[:, 1::3] = X[:, [0]]  # copies
    X[:, 2] = X[:, 3] + X[:, 5]
    X[:, 7] = -X[:, 4]
    X[:, -1] = 1.0
    return X


def moments(X):
    C = np.cov(X.T, bias=True)
    return Gram(C / C.trace() * len(C))


def held(grams):
    found = SinglePrecision(len(grams), grams[0].n_features)
    for at, gram in enumerate(grams):
        found.hold(at, gram)
    return found


def in_double(grams, k, include=(), exclude=()):
    return forward_searches([(gram, ridge) for gram in grams for ridge in RIDGES], k, include, exclude)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    kind=st.sampled_from(["plain", "noise", "decades", "steep", "rank", "pair", "spectra", "one hot", "ties"]),
    k=st.integers(1, 30),
    conditions=st.sampled_from([((), ()), ((3,), ()), ((4, 1), (0, 2)), ((), (0,))]),
)
def test_finds_what_double_precision_finds(seed, kind, k, conditions):
    rng, (include, exclude) = np.random.default_rng(seed), conditions
    k = max(k, len(include))
    grams = [moments(table(rng, kind, 40)) for _ in range(2)]
    assert held(grams).search(RIDGES, k, include, exclude) == in_double(grams, k, include, exclude)


def test_near_combinations_let_rounding_grow(rng):
    # With what rounding adds to |C_j|^2 and C_jj as its only measure, a seventh of these searches went astray.
    m, k = 60, 10
    grams = []
    for _ in range(40):
        L = np.zeros((m, m))
        L[:2, 0] = 2.5
        L[:, 1] = 0.2
        L[:2, 1], L[2:4, 1] = (0, 2.5 * 10 ** rng.uniform(-2.1, -1.8)), (rng.uniform(0.5, 0.8), 0)
        left = rng.uniform(0.3, 0.9, m)
        left[:4] = 0, 0, 1.2 * (1 + 10 ** rng.uniform(-4, -3) * rng.choice([-1, 1])), 1.2
        L += np.diag(left**0.5)
        C = L @ L.T
        grams.append(Gram((C + C.T) / 2 * (m / C.trace())))
    assert held(grams).search(RIDGES, k) == in_double(grams, k)


def test_features_excluded_stay_out_where_no_gain_is_certain(rng):
    excluded = range(40, 90)
    for noise in (0.01, 0.03, 0.1):
        X = rng.normal(size=(500, 12)) @ rng.normal(size=(12, 40)) + noise * rng.normal(size=(500, 40))
        grams = [moments(np.hstack([X, rng.normal(size=(500, 50))]))]
        assert held(grams).search(RIDGES, 13, (), excluded) == in_double(grams, 13, (), excluded)


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e150])
def test_the_unit_does_not_matter(scale, rng):
    X = table(rng, "plain", 40)
    own = Moments.from_array(X * scale**0.5).operator().normalised()[0]
    assert held([own]).search(RIDGES, 10) == in_double([moments(X)], 10)


def test_what_rounding_changes_is_settled(rng, monkeypatch):
    # Three features each with almost the same variance, and norms with errors that are larger than the differences.
    variances = [np.repeat(1 - 0.03 * np.arange(20), 3) * (1 + 1e-6 * rng.uniform(size=60)) for _ in range(3)]
    grams = [Gram(np.diag(own / own.mean())) for own in variances]
    single, seen, own = held(grams), [], _Search.run
    single.norms *= (1 + rng.uniform(-1e-6, 1e-6, size=60)).astype(np.float32)
    monkeypatch.setattr(_Search, "run", lambda search, known: seen.append(own(search, known)) or seen[-1])
    expected = in_double(grams, 30)
    assert single.search(RIDGES, 30) == expected
    assert len(seen) > 1  # some searches were made again
    assert seen[0].trusted.all()
    assert seen[0].order.tolist() != expected


def test_a_search_that_goes_wrong_again_and_again_is_made_in_double_precision(rng, monkeypatch):
    grams = [moments(table(rng, "plain", 40))]
    monkeypatch.setattr(_single_search, "certain_features", lambda lanes, steps: [[] for _ in lanes])
    assert held(grams).search(RIDGES, 10) == in_double(grams, 10)


@pytest.mark.parametrize("kind", ["rank", "steep"])
def test_tables_that_few_features_explain_are_left_to_double_precision(kind, rng):
    grams = [moments(table(rng, kind, 60)) for _ in range(2)]
    single = held(grams)
    assert single.search(RIDGES[:2], 30) == forward_searches([(gram, r) for gram in grams for r in RIDGES[:2]], 30)
    assert not single.usable
    assert single.search(RIDGES[:1], 30) == forward_searches([(gram, 0.0) for gram in grams], 30)


def test_variances_that_single_precision_cannot_hold(rng):
    X = table(rng, "plain", 40)
    X[:, 3] *= 1e-9
    grams = [moments(X)]
    single = held(grams)
    assert not single.usable
    assert single.search(RIDGES, 10) == in_double(grams, 10)


def test_many_searches_go_in_parts(rng, monkeypatch):
    monkeypatch.setattr(_single_search, "_TOGETHER", 7 * 40)
    grams = [moments(table(rng, "plain", 40)) for _ in range(4)]
    assert held(grams).search(RIDGES, 10) == in_double(grams, 10)


@pytest.mark.parametrize(
    ("kind", "k"),
    [("plain", 24), ("noise", 24), ("decades", 24), ("steep", 7), ("pair", 20), ("spectra", 14), ("one hot", 24)],
)
def test_errors_stay_within_what_is_allowed(kind, k, rng):
    n_trusted = 0
    for _ in range(5):
        gram = moments(table(rng, kind, 120))
        search = _Search(held([gram]), [(0, ridge) for ridge in RIDGES], k, ())
        steps = search.run([[] for _ in RIDGES])
        C = gram.dense() * (120 / gram.trace())
        for lane in np.flatnonzero(steps.trusted):
            ridge, S = RIDGES[lane], steps.order[lane, :-1]  # nobody asks what is left after the last feature
            R = C - C[:, S] @ np.linalg.solve(C[np.ix_(S, S)] + ridge * np.eye(k - 1), C[S])
            others = np.setdiff1d(np.arange(120), S)
            others = others[np.isfinite(search.p[lane, others])]
            left = search._left(np.full(len(others), lane), others, k - 1)
            assert np.all(np.abs(left.g - (R * R).sum(axis=0)[others]) <= left.off_g / 2)
            assert np.all(np.abs(left.p - np.diag(R)[others] - ridge) <= left.off_p / 2)
        n_trusted += np.count_nonzero(steps.trusted)
    assert n_trusted >= 10


def test_what_is_given_up_takes_no_memory(rng):
    single = held([moments(table(rng, "rank", 60))])
    both = weakref.ref(single.C.base)  # C and C^2 are parts of one array
    single.search(RIDGES[:1], 30)
    assert not single.usable
    assert both() is None


@pytest.mark.parametrize("kind", ["plain", "decades"])
def test_gains_are_those_of_the_definition(kind, rng):
    gram = moments(table(rng, kind, 30))
    C, lanes = gram.dense(), [(gram, ridge) for ridge in RIDGES]
    order = np.array([rng.permutation(15)[:8] for _ in lanes])
    steps, others = np.tile([0, 3, 7, 5], (5, 1)), np.tile([20, 21, 29, 15], (5, 1))
    found = _gains(lanes, order, np.ones((5, 8)), steps, others)
    for lane, (_, ridge) in enumerate(lanes):
        for at in range(4):
            S, j = order[lane, : steps[lane, at]], others[lane, at]
            R = C - C[:, S] @ np.linalg.solve(C[np.ix_(S, S)] + ridge * np.eye(len(S)), C[S])
            gain, left = R[:, j] @ R[:, j] / (R[j, j] + ridge), (R[j, j] + ridge) / C[j, j]
            np.testing.assert_allclose(found[:, lane, at][[0, 2]], [gain, left], rtol=1e-9)


def test_features_that_are_combinations_cannot_be_settled(rng):
    gram = moments(table(rng, "ties", 30))
    order = np.array([[0, 1, 4]])  # the second is a copy of the first
    trusted, one = np.ones(1, dtype=bool), np.zeros(1, dtype=np.intp)
    steps = Steps(order, np.ones((1, 3)), trusted, one, one + 2, one + 9)
    assert certain_features([(gram, 0.0)], steps) == [None]
    assert certain_features([(gram, 0.0)], steps._replace(trusted=~trusted)) == [None]
    certain = certain_features([(gram, 0.1)], steps)[0]
    assert certain == [0, 1, 4] or certain == [0, 1, 9]


def test_lanes_in_question_at_few_steps_ask_for_no_feature_that_does_not_vary(rng):
    X = table(rng, "plain", 30)
    X[:, 0] = 1.0
    lanes = [(moments(X), ridge) for ridge in (0.1, 0.2)]
    order = np.array(forward_searches(lanes, 4))
    others = np.setdiff1d(np.arange(1, 30), order)
    lane, step = np.array([0, 0, 0, 1]), np.array([1, 2, 3, 3])
    steps = Steps(order, np.ones((2, 4)), np.ones(2, dtype=bool), lane, step, others[lane])
    assert certain_features(lanes, steps) == order.tolist()
