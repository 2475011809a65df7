"""The exact search against brute force: every subset refitted from the rows."""

import itertools

import numpy as np
import pytest

from stableselect import Moments
from stableselect._core import DualGram, Gram, exchange_search, forward_search
from stableselect._core._exact_search import _Search, exact_search


def all_losses(X, k, alpha=0.0, include=(), exclude=(), weights=None):
    """The ridge objective of every allowed subset, by least squares on the rows (augmented by the ridge)."""
    weights = np.ones(len(X)) if weights is None else weights
    Xc = (X - np.average(X, axis=0, weights=weights)) * np.sqrt(weights / weights.sum())[:, None]
    losses = {}
    for S in itertools.combinations(sorted(set(range(X.shape[1])) - set(exclude)), k):
        if set(include) <= set(S):
            left = np.vstack([Xc[:, S], np.sqrt(alpha) * np.eye(k)])
            right = np.vstack([Xc, np.zeros((k, X.shape[1]))])
            U, s, _ = np.linalg.svd(left, full_matrices=False)
            U = U[:, s > 1e-7 * s.max(initial=0.0)]
            losses[S] = (right**2).sum() - ((U.T @ right) ** 2).sum()
    return losses


def searched(gram, k, alpha=0.0, include=(), exclude=()):
    start = forward_search(gram, k, alpha, include, exclude)
    return exchange_search(gram, start, alpha, include, exclude)[0]


def check(X, k, alpha=0.0, include=(), exclude=(), weights=None):
    """Compare with brute force; return whether the exact search improved on forward search and exchange."""
    gram = Moments.from_array(X, weights).operator()
    losses = all_losses(X, k, alpha, include, exclude, weights)
    start = searched(gram, k, alpha, include, exclude)
    found = exact_search(gram, start, alpha, include, exclude)
    total, least = gram.trace(), min(losses.values())
    assert found.proven
    if k - len(include) > 1 and least > 1e-9 * total:  # from the worst start the search has to find all by itself
        assert exact_search(gram, max(losses, key=losses.get), alpha, include, exclude).chosen == found.chosen
    assert len(found.chosen) == k and tuple(found.chosen) in losses
    assert losses[tuple(found.chosen)] == pytest.approx(least, rel=1e-8, abs=1e-9 * total)
    assert found.lower_bound == pytest.approx(least, rel=1e-8, abs=1e-9 * total)
    if least > 1e-9 * total:
        first = min(S for S, loss in losses.items() if loss <= least + max(1e-10 * least, 1e-12 * total))
        assert len(include) + 1 >= k or tuple(found.chosen) == first
    return losses[tuple(sorted(start))] > least * (1 + 1e-8) + 1e-9 * total


def random_problem(seed):
    """A table of up to 20 columns and a problem on it; ranks, repeated columns, weights and ridges vary."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(3, 21))
    k = int(rng.integers(1, min(m, 4) + 1))
    n = int(rng.integers(4, 40))
    rank = int(rng.integers(2, m + 3))
    X = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, m))
    noise = rng.choice([0.0, 0.1, 1.0])
    X = X + noise * rng.normal(size=(n, m))
    for _ in range(int(rng.choice([0, 0, 1, 3]))):
        i, j = rng.integers(0, m, size=2)
        X[:, j] = rng.choice([1.0, -2.0]) * X[:, i]
    if rng.random() < 0.2:
        X[:, rng.integers(m)] = 1.5
    if rng.random() < 0.2:
        X = np.round(X)
    if rng.random() < 0.2:
        X *= 10.0 ** rng.integers(-2, 3, size=m)
    columns = rng.permutation(m)
    include = columns[: int(rng.integers(0, min(k, 2) + 1))].tolist() if rng.random() < 0.4 else []
    n_out = int(rng.integers(0, m - max(k, len(include)) + 1)) if rng.random() < 0.4 else 0
    exclude = columns[m - n_out :].tolist()
    weights = rng.integers(0, 3, size=n).astype(float) if rng.random() < 0.3 else None
    if weights is not None and weights.sum() < 3:
        weights = None
    alpha = float(rng.choice([0.0, 0.0, 0.01, 0.3])) * X.var(axis=0).mean()
    return X, k, alpha, include, exclude, weights


@pytest.fixture(params=["all sets", "bounds"])
def bounding(request, monkeypatch):
    """Small tables are quicker to try than to bound; here also with bounds wherever there can be any."""
    if request.param == "bounds":
        monkeypatch.setattr(_Search, "_worth_bounding", lambda self, depth, c: 2 < self.k - depth <= c)


@pytest.mark.parametrize("seed", range(15))
def test_small_tables_are_proven_as_by_brute_force(seed, bounding):
    check(*random_problem(seed))


@pytest.mark.slow
def test_two_hundred_small_tables_are_proven_as_by_brute_force(bounding):
    improved = [check(*random_problem(seed)) for seed in range(1000, 1200)]
    assert sum(improved) > 0


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.0, 0.2])
@pytest.mark.parametrize(("n", "m", "k"), [(30, 11, 6), (30, 12, 10), (40, 10, 9), (6, 13, 5), (200, 13, 7)])
def test_many_features_of_few(n, m, k, alpha, bounding):
    """Long branches, where bounds do most of the work."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        check(rng.normal(size=(n, m)) @ rng.normal(size=(m, m)), k, m * alpha)
        check(rng.normal(size=(n, m)), k, alpha, include=[3], exclude=[0])


def test_whole_and_thin_form_agree(rng):
    A = rng.normal(size=(9, 16))
    A -= A.mean(axis=0)
    for k, alpha in [(2, 0.0), (4, 0.0), (4, 1.0)]:
        start = searched(Gram(A.T @ A), k, alpha)
        whole, thin = (exact_search(gram, start, alpha) for gram in (Gram(A.T @ A), DualGram(A)))
        assert whole.proven and thin.proven and whole.chosen == thin.chosen
        assert whole.lower_bound == pytest.approx(thin.lower_bound, rel=1e-10)


@pytest.mark.parametrize("C", [np.eye(30), np.kron(np.eye(6), np.full((5, 5), 0.9) + 0.1 * np.eye(5))])
def test_of_equal_sets_the_first_is_taken_whatever_the_start(C):
    """All subsets of an orthogonal table are equally good: as many ties as there can be."""
    first = [0, 1, 2, 3] if C[0, 1] == 0 else [0, 5, 10, 15]
    for start in ([26, 27, 28, 29], [0, 5, 10, 29], [0, 7, 12, 18]):
        found = exact_search(Gram(C), start, 0.0)
        assert found.proven and found.chosen == first


def test_repeated_columns_and_the_order_of_rows(rng):
    X = rng.normal(size=(50, 6)) @ rng.normal(size=(6, 12))
    X = np.column_stack([X, -X[:, ::-1]])[:, rng.permutation(24)] + 3.0
    check(X, 3)
    found = []
    for rows in (np.arange(50), rng.permutation(50), np.arange(50)[::-1]):
        gram = Moments.from_array(X[rows]).operator()
        found.append(exact_search(gram, searched(gram, 4), 0.0).chosen)
    assert found[0] == found[1] == found[2]


@pytest.mark.slow
@pytest.mark.parametrize("size", [1e-2, 1e-3, 1e-4, 1e-5])
def test_columns_that_almost_repeat_one_another(size):
    """Their moments hold few digits of the loss of both; a proof is claimed only where that does not matter."""
    proven = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(40, 5)) @ rng.normal(size=(5, 9))
        X = np.column_stack([X, X[:, :4] + size * rng.normal(size=(40, 4)), X[:, 4] + size * X[:, 5]])
        X = X[:, rng.permutation(14)]
        gram = Moments.from_array(X).operator()
        losses = all_losses(X, 4)
        found = exact_search(gram, searched(gram, 4), 0.0)
        assert not found.proven or losses[tuple(found.chosen)] <= min(losses.values()) * (1 + 1e-6)
        assert found.lower_bound <= min(losses.values()) * (1 + 1e-6)
        proven += found.proven
    assert proven >= 8 or size < 1e-3


def test_where_work_ends_the_bound_still_holds():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 14)) @ rng.normal(size=(14, 14))
    gram = Moments.from_array(X).operator()
    losses = all_losses(X, 5)
    start = searched(gram, 5)
    for max_work in (1e4, 1e5, 1e6, 3e6, 1e7):
        found = exact_search(gram, start, 0.0, max_work=max_work)
        assert found.lower_bound <= min(losses.values()) * (1 + 1e-10)
        assert losses[tuple(found.chosen)] <= losses[tuple(sorted(start))] * (1 + 1e-10)
        if found.proven:
            assert losses[tuple(found.chosen)] == pytest.approx(min(losses.values()), rel=1e-9)
    assert found.proven and not exact_search(gram, start, 0.0, max_work=1e5).proven
    assert exact_search(gram, start, 0.0, max_work=1e6).lower_bound > 0


def test_a_poor_start_does_not_matter(tall):
    gram = Moments.from_array(tall).operator()
    best = exact_search(gram, searched(gram, 4), 0.0).chosen
    for start in ([0, 1, 2, 3], [8, 9, 10, 11]):
        assert exact_search(gram, start, 0.0).chosen == best


def test_too_many_subsets_are_not_tried(rng):
    gram = Moments.from_array(rng.normal(size=(200, 60))).operator()
    found = exact_search(gram, list(range(30)), 0.0)
    assert not found.proven and found.chosen == list(range(30)) and found.lower_bound == 0.0


def test_without_a_choice_the_given_set_is_proven(rng):
    gram = Moments.from_array(rng.normal(size=(200, 60))).operator()
    assert exact_search(gram, searched(gram, 1), 0.0).proven
    assert exact_search(gram, range(30), 0.0, include=range(30)).proven
    assert exact_search(gram, range(30), 0.0, exclude=range(30, 60)).proven
    spanned = Moments.from_array(rng.normal(size=(200, 3)) @ rng.normal(size=(3, 60))).operator()
    assert exact_search(spanned, searched(spanned, 20), 0.0).proven
