"""What is selected near and beyond the rank, where gains tie: nothing but the table decides."""

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from stableselect import ColumnSubset, Moments, ScorerSelector


def whole_numbers(seed):
    """Return a wide table of ratings from 1 to 5."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 30))
    return rng.integers(1, 6, size=(n, int(rng.integers(n + 2, 70)))).astype(float)


def binary(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 30))
    return (rng.random((n, 3 * n)) < 0.3).astype(float)


def low_rank(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(60, 5)) @ rng.normal(size=(5, 25))


def one_hot(seed):
    rng = np.random.default_rng(seed)
    return np.hstack([np.eye(q)[rng.integers(0, q, 28)] for q in rng.integers(2, 6, size=15)])


def copies(seed):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, size=(30, 6)).astype(float)[:, rng.integers(0, 6, 14)]


TABLES = {
    "whole numbers": (whole_numbers, (5, 8, 11, 21)),
    "binary": (binary, (0, 4, 7)),
    "low rank": (low_rank, (5, 8, 9)),
    "one hot": (one_hot, (0, 1, 2)),
    "copies": (copies, (0, 1, 2)),
}


def ways(X, make, rng):
    """Yield the same table fitted in other row orders, layouts, blocks, threads and forms of the moments."""
    n = len(X)
    for _ in range(4):
        yield make().fit(X[rng.permutation(n)])
    yield make().fit(np.asfortranarray(X))
    yield make().fit(sparse.csr_array(X))
    with threadpool_limits(2):
        yield make().fit(X)
    selector = make()
    for start in range(0, n, max(2, n // 3)):
        selector.partial_fit(X[start : start + max(2, n // 3)])
    yield selector
    dual, primal = Moments.from_array(X), Moments.from_array(X)
    primal._to_primal()
    yield make().fit_moments(dual)
    yield make().fit_moments(primal)


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize(
    "beyond", [pytest.param(-1, marks=pytest.mark.slow), 0, pytest.param(2, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("family", [ColumnSubset, pytest.param(ScorerSelector, marks=pytest.mark.slow)])
def test_only_the_table_decides_near_and_beyond_the_rank(kind, beyond, family, rng):
    make_table, seeds = TABLES[kind]
    for seed in seeds:
        X = make_table(seed)
        k = min(np.linalg.matrix_rank(X - X.mean(axis=0)) + beyond, X.shape[1])
        expected = family(int(k), ridge=0.0).fit(X).selected_
        for selector in ways(X, lambda k=k: family(int(k), ridge=0.0), rng):
            np.testing.assert_array_equal(selector.selected_, expected)


@pytest.mark.parametrize("seed", [199, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (427, 255, 495))])
def test_the_automatic_ridge_does_not_follow_the_order_of_the_samples(seed, rng):
    """With k close to the number of samples in a training fold the folds' searches end in a tie of all features."""
    make = np.random.default_rng(seed)
    n, m = int(make.integers(8, 30)), int(make.integers(10, 60))
    k = int(make.integers(min(m, max(1, n // 2)), min(m, n + 5) + 1))
    X = make.integers(1, 6, size=(n, m)).astype(float)
    first = ColumnSubset(k).fit(X)
    for _ in range(4):
        other = ColumnSubset(k).fit(X[rng.permutation(n)])
        assert other.ridge_ == first.ridge_
        np.testing.assert_array_equal(other.selected_, first.selected_)
