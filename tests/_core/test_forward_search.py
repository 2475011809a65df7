"""Forward searches side by side: each finds what it finds alone, and what the definition says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stableselect import _core
from stableselect._core import _forward_search
from stableselect._core._dual_gram import DualGram
from stableselect._core._forward_search import (
    BEYOND_RANK_RIDGE,
    EXHAUSTED,
    TIE,
    TRUST,
    absolute_ridge,
    first_of_best,
    forward_searches,
    gain_rounding,
)
from stableselect._core._gram import Gram
from stableselect._core._part_gram import PartGram

RIDGES = (0.0, 1e-3, 1e-2, 0.1, 1.0, 10.0)


def forward_search(gram, k, alpha, include=(), exclude=()):
    """Search by itself, whatever was found before."""
    return forward_searches([(gram, alpha)], k, include, exclude)[0]


def by_definition(gram, k, alpha, include=(), exclude=(), prices=0.0):
    """Choose each feature by what is left once the residual of those before it is computed afresh."""
    chosen, exhausted = [], False
    variance, total = gram.diagonal(), gram.trace()
    while len(chosen) < k:
        if len(chosen) < len(include):
            chosen.append(include[len(chosen)])
            continue
        V = gram.split(chosen, alpha)[1]
        R = gram.split(chosen, alpha)[2].dense() if chosen else gram.dense()
        g, h = (R * R).sum(axis=0), np.diagonal(R)
        allowed = ~np.isin(np.arange(gram.n_features), [*chosen, *exclude])
        usable = allowed & (g > 0) & (exhausted | (h > TRUST * variance))
        if not exhausted and (h.sum() <= EXHAUSTED * total or not usable.any()):
            exhausted, alpha = True, max(alpha, absolute_ridge(gram, BEYOND_RANK_RIDGE))
            continue
        usable = usable if usable.any() else allowed
        pivot = np.where(usable & (h + alpha > 0), h + alpha, 1.0)
        size = variance + (V * V) @ variance[chosen] if chosen else variance
        gain = g / pivot - prices
        slack = gain_rounding(g, pivot, size, size.sum(), gram.xp) + TIE * abs(gain)
        left = (h + alpha) / np.where(variance > 0, variance, 1.0)
        chosen.append(first_of_best(np.where(usable, gain, -np.inf), slack, left, gram.xp))
    return chosen


def table(rng, kind, n=30, m=14):
    if kind == "plain":
        return rng.normal(size=(n, m)) @ rng.normal(size=(m, m))
    if kind == "decades":
        return rng.normal(size=(n, m)) @ rng.normal(size=(m, m)) * 10.0 ** rng.uniform(-3, 0, m)
    if kind == "steep":  # the loss falls by decades, so that residuals are computed afresh on the way
        return rng.normal(size=(n, m)) * 10.0 ** -np.arange(0, m / 3, 1 / 3)[:m] @ rng.normal(size=(m, m))
    if kind == "rank":
        return rng.normal(size=(n, 4)) @ rng.normal(size=(4, m))
    X = rng.normal(size=(n, m))
    X[:, 1::3] = X[:, [0]]  # copies
    X[:, 2] = X[:, 3] + X[:, 5]
    X[:, -1] = 1.0
    return X


def grams(X, thin):
    A = (X - X.mean(axis=0)) / len(X) ** 0.5
    A /= (A**2).sum() ** 0.5 / X.shape[1] ** 0.5
    return DualGram(A) if thin else Gram(A.T @ A)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    kind=st.sampled_from(["plain", "decades", "steep", "rank", "ties"]),
    thin=st.booleans(),
    k=st.integers(1, 12),
    conditions=st.sampled_from([((), ()), ((3,), ()), ((4, 1), (0, 2)), ((), (0,))]),
)
def test_every_ridge_of_every_table_finds_what_it_finds_alone(seed, kind, thin, k, conditions):
    include, exclude = conditions
    k = max(k, len(include))
    rng = np.random.default_rng(seed)
    lanes = [(grams(table(rng, kind), thin), ridge) for _ in range(2) for ridge in RIDGES]
    lanes = [(lanes[len(RIDGES) * (i // len(RIDGES))][0], ridge) for i, (_, ridge) in enumerate(lanes)]
    together = forward_searches(lanes, k, include, exclude)
    assert together == [forward_search(gram, k, ridge, include, exclude) for gram, ridge in lanes]
    if kind != "steep":
        assert together == [by_definition(gram, k, ridge, include, exclude) for gram, ridge in lanes]


@pytest.mark.parametrize("thin", [False, True])
def test_prices_count_in_every_search(thin, rng):
    gram = grams(table(rng, "plain"), thin)
    prices = rng.uniform(0, 2, size=14)
    found = forward_searches([(gram, ridge) for ridge in RIDGES], 6, prices=prices)
    assert found == [by_definition(gram, 6, ridge, prices=prices) for ridge in RIDGES]
    assert found != [by_definition(gram, 6, ridge) for ridge in RIDGES]


def test_a_search_that_reaches_the_rank_does_not_disturb_the_others(rng):
    low, full = grams(table(rng, "rank"), False), grams(table(rng, "plain"), False)
    found = forward_searches([(low, 0.0), (full, 0.0), (low, 0.3), (full, 0.3)], 10)
    assert found == [
        by_definition(*lane[:1], 10, lane[1]) for lane in [(low, 0.0), (full, 0.0), (low, 0.3), (full, 0.3)]
    ]


def test_rows_of_the_square_are_computed_once_and_right(rng):
    gram = grams(table(rng, "plain"), False)
    square = gram.dense() @ gram.dense()
    gram.expect([3, 5])
    gram.expect([])
    for _ in range(2):
        rows, squares = gram.with_squares(np.array([3, 4, 5, 4]))
        np.testing.assert_array_equal(rows, gram.dense()[[3, 4, 5, 4]])
        np.testing.assert_allclose(squares, square[[3, 4, 5, 4]], rtol=1e-12)
        gram.expect_all()


@pytest.mark.parametrize("thin", [False, True])
def test_what_was_searched_is_not_searched_again(thin, rng, monkeypatch):
    gram = grams(table(rng, "plain"), thin)
    alone = forward_search(gram, 6, 0.1, [3], [0])
    calls = []
    own = _forward_search.forward_searches
    monkeypatch.setattr(_forward_search, "forward_searches", lambda *given: calls.append(given) or own(*given))
    assert _core.forward_search(gram, 6, 0.1, [3], [0]) == alone
    assert _core.forward_search(gram, 4, 0.1, [3], [0]) == alone[:4]
    assert len(calls) == 1
    for other in ((8, 0.1, [3], [0]), (6, 0.2, [3], [0]), (6, 0.1, [], [0]), (6, 0.1, [3], [])):
        _core.forward_search(gram, *other)
    assert len(calls) == 5
    both = _core.forward_with_each(gram, 6, [0.3, 0.2, 0.1], [3], [0])
    assert [alpha for _, alpha in calls[-1][0]] == [0.3]  # the others were known
    assert both == [forward_search(gram, 6, alpha, [3], [0]) for alpha in (0.3, 0.2, 0.1)]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    kind=st.sampled_from(["plain", "decades", "steep", "rank", "ties"]),
    thin=st.booleans(),
    k=st.integers(1, 14),
    ridge=st.sampled_from(RIDGES),
    n_first=st.integers(0, 2),
)
def test_features_found_are_put_in_order_without_the_others(seed, kind, thin, k, ridge, n_first):
    rng = np.random.default_rng(seed)
    gram = grams(table(rng, kind), thin)
    chosen = rng.choice(14, size=k, replace=False).tolist()
    first = chosen[:n_first]
    others = sorted(set(range(14)) - set(chosen))
    assert _core.order_within(gram, chosen, ridge, first) == _core.forward_search(gram, k, ridge, first, others)


@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("kind", ["plain", "decades"])
def test_an_order_that_is_clear_takes_no_search(rng, monkeypatch, kind, ridge):
    monkeypatch.setattr(_forward_search, "forward_searches", None)
    gram, chosen = grams(table(rng, kind), False), [1, 3, 4, 7, 9]
    ordered = _core.order_within(gram, chosen, ridge, [7])
    assert ordered[0] == 7
    for step in range(1, 5):
        left = [j for j in chosen if j not in ordered[:step]]
        losses = [gram.loss([*ordered[:step], j], ridge) for j in left]
        assert ordered[step] == left[int(np.argmin(losses))]


def test_no_order_is_clear_where_columns_are_copies(rng):
    X = rng.normal(size=(30, 4))
    C = np.cov(X[:, [0, 1, 2, 1]].T)
    assert PartGram(Gram(C), np.arange(3)).clear_order(0.0) is not None
    assert PartGram(Gram(C), np.arange(4)).clear_order(0.0) is None
    assert PartGram(Gram(np.eye(4)), np.arange(4)).clear_order(0.5) is None  # all gain as much


@pytest.mark.parametrize("thin", [False, True])
def test_lanes_that_end_early_find_the_first_features(rng, thin):
    X = rng.normal(size=(25, 6)) @ rng.normal(size=(6, 40)) + 0.3 * rng.normal(size=(25, 40))
    A = (X - X.mean(axis=0)) / 5
    grams = [DualGram(part) if thin else Gram(part.T @ part) for part in (A, A[:20], A[5:])]
    lanes = [(gram, alpha) for gram in grams for alpha in (0.0, 0.1)]
    ends = [3, 30, 1, 30, 12, 7]
    alone = [forward_searches([lane], 30)[0] for lane in lanes]
    assert forward_searches(lanes, ends) == [own[:end] for own, end in zip(alone, ends, strict=True)]
