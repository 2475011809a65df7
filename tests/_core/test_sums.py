"""Symmetric sums in place, against plain products."""

import numpy as np
import pytest
from scipy import sparse

from stableselect import Moments
from stableselect._core import HeldOut, _sums, hold_out_each, merged
from stableselect._core._sums import add_outer, add_products, add_sparse_products, mirror


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Work on a few rows at a time, so that small arrays take several pieces."""
    for name, value in (("_TILE", 3), ("_CACHED", 20), ("_PANEL", 4)):
        monkeypatch.setattr(_sums, name, value)


def symmetric(rng, m=7):
    A = rng.normal(size=(m, m))
    return A + A.T


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_products_are_added_in_place(rng, order, sign):
    start, rows = symmetric(rng), np.asarray(rng.normal(size=(5, 7)), order=order)
    second = start.copy()
    found = add_products(second, rows, sign)
    assert np.shares_memory(found, second)
    mirror(found)
    np.testing.assert_allclose(found, start + sign * rows.T @ rows, atol=1e-12)
    np.testing.assert_array_equal(found, found.T)


def test_sums_that_may_not_be_written_or_lie_in_columns_are_copied(rng):
    start, rows = symmetric(rng), rng.normal(size=(5, 7))
    locked, columns = start.copy(), np.asfortranarray(start)
    locked.flags.writeable = False
    for second in (locked, columns):
        found = mirror(add_products(second, rows))
        np.testing.assert_allclose(found, start + rows.T @ rows, atol=1e-12)
    np.testing.assert_array_equal(locked, start)
    np.testing.assert_array_equal(mirror(locked), start)


@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_products_are_added_in_place(rng, weighted):
    start = symmetric(rng, 9)
    X = rng.normal(size=(12, 9)) * (rng.uniform(size=(12, 9)) < 0.4)
    weights = rng.uniform(0.5, 2, size=12) if weighted else None
    second = start.copy()
    add_sparse_products(second, sparse.csr_array(X), weights)
    mirror(second)
    np.testing.assert_allclose(second, start + X.T @ np.diag(np.ones(12) if weights is None else weights) @ X)


@pytest.mark.parametrize("factor", [0.0, 2.5, -2.5])
def test_an_outer_product_is_sums_to_the_last_bit(rng, factor):
    start, row = symmetric(rng), rng.normal(size=7)
    second = start.copy()
    add_outer(second, factor, row)
    np.testing.assert_allclose(second, start + factor * np.outer(row, row), atol=1e-12)
    np.testing.assert_array_equal(second, second.T)


@pytest.mark.parametrize("n_folds", [2, 3, 5])
def test_each_fold_held_out_leaves_the_moments_of_the_others(rng, n_folds):
    X = rng.normal(size=(60, 7)) * 10.0 ** rng.integers(-3, 4, size=7) + 1e4 * rng.normal(size=7)
    X[:, 3] = 1.0
    X[:4, 3] = rng.normal(size=4)  # constant without the first fold
    weights = rng.uniform(0.5, 2, size=60)
    rows = np.array_split(np.arange(60), n_folds)
    folds = [Moments.from_array(X[part], weights[part]) for part in rows]
    held_out = hold_out_each(folds)
    assert all(isinstance(split, HeldOut) for split in held_out)
    for part, split in zip(rows, held_out, strict=True):
        expected = Moments.from_array(np.delete(X, part, axis=0), np.delete(weights, part))
        assert split.train.n_samples == expected.n_samples
        assert split.train.weight_sum == pytest.approx(expected.weight_sum)
        np.testing.assert_allclose(split.train.mean, expected.mean, rtol=1e-12)
        scale = np.sqrt(np.outer(expected.variance, expected.variance))
        assert np.all(np.abs(split.train.gram - expected.gram) <= 1e-9 * scale)
        np.testing.assert_array_equal(split.train.gram, split.train.gram.T)
        np.testing.assert_array_equal(split.train.minimum, expected.minimum)
        np.testing.assert_array_equal(split.train.maximum, expected.maximum)
        assert split.test.n_samples == len(part)
    whole, expected = merged(folds), Moments.from_array(X, weights)
    scale = np.sqrt(np.outer(expected.variance, expected.variance))
    assert np.all(np.abs(whole.gram - expected.gram) <= 1e-9 * scale)
    np.testing.assert_allclose(
        whole.update(X[:9]).mean, np.average(np.vstack([X, X[:9]]), 0, np.append(weights, np.ones(9)))
    )
