"""Folds: a sample's own values decide its fold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from stableselect import ColumnSubset, Moments
from stableselect._core import _folds, _moment_sums, _sums
from stableselect._core._folds import fold_moments, hold_out_each, merged, row_folds, row_hashes


def test_folds_follow_the_rows_not_their_order(tall, rng):
    X = np.vstack([tall, tall[:10]])
    rows = rng.permutation(len(X))
    np.testing.assert_array_equal(row_hashes(X)[rows], row_hashes(X[rows]))
    np.testing.assert_array_equal(
        row_hashes(X), np.concatenate([row_hashes(X[row : row + 1]) for row in range(len(X))])
    )
    assert len(np.unique(row_hashes(tall))) == 60
    assert sum(part.n_samples for part in fold_moments(X, None, 5)) == 70
    folds = row_folds(X, 5)
    assert set(folds) == set(range(5))
    np.testing.assert_array_equal(row_folds(X, 10) % 5, folds)


def test_folds_do_not_follow_the_rounding_of_a_scaler(rng):
    X = rng.normal(size=(400, 20)) * rng.uniform(1, 100, 20) + 5
    order = rng.permutation(400)
    one, other = (row_folds(StandardScaler().fit_transform(rows), 10) for rows in (X, X[order]))
    assert np.mean(one[order] != other) < 0.02
    np.testing.assert_array_equal(row_folds(X.astype(np.float32), 5), row_folds(X.astype(np.float32).astype(float), 5))


@pytest.mark.parametrize("kind", ["one-hot", "ranks", "binary"])
def test_rows_of_the_same_values_in_other_places_fall_into_all_folds(rng, kind):
    if kind == "one-hot":
        X = np.hstack([np.eye(5)[rng.integers(5, size=500)] for _ in range(4)])
    elif kind == "ranks":
        X = np.argsort(rng.normal(size=(300, 20)), axis=1).astype(float)
    else:
        X = (rng.random((1000, 30)) < 0.3).astype(float)
    sizes = np.bincount(row_folds(X, 5), minlength=5)
    assert sizes.min() > 0.1 * len(X)
    np.testing.assert_array_equal(row_folds(sparse.csr_array(X), 5), row_folds(X, 5))


REPEATED = {
    "copies": lambda A: [A, A],
    "mirrored": lambda A: [A, -A],
    "copies and a constant": lambda A: [A, A, np.ones((300, 1))],
    "four copies": lambda A: [A, A, A, A],
}


@pytest.mark.parametrize("kind", REPEATED)
def test_columns_that_repeat_each_other_leave_no_fold_empty(rng, kind):
    X = np.hstack(REPEATED[kind](rng.normal(size=(300, 8))))
    sizes = np.bincount(row_folds(X, 10), minlength=10)
    assert sizes.min() > 10
    order = rng.permutation(300)
    np.testing.assert_array_equal(row_folds(X[order], 10), row_folds(X, 10)[order])


@pytest.mark.slow
@pytest.mark.parametrize("kind", REPEATED)
def test_columns_that_repeat_each_other_have_a_frontier(rng, kind):
    X = np.hstack(REPEATED[kind](rng.normal(size=(300, 8))))
    assert ColumnSubset(3, criterion="stability").fit(X).frontier_.error.size > 1


def test_a_sample_among_quite_different_ones_keeps_its_fold(rng):
    """What other samples hold (few values, repeated features) changed the hash of all samples once."""
    X = rng.normal(size=(40, 6))
    binary = (rng.random((100, 6)) < 0.5).astype(float)
    np.testing.assert_array_equal(row_folds(np.vstack([X, binary]), 5)[:40], row_folds(X, 5))
    np.testing.assert_array_equal(row_folds(np.vstack([X, binary]), 5)[40:], row_folds(binary, 5))


def test_a_table_read_in_parts_has_the_folds_of_the_whole(rng):
    X, weights = rng.normal(size=(90, 5)), rng.integers(3, size=90).astype(float)
    whole = fold_moments(X, weights, 5)
    gathered = [Moments() for _ in range(5)]
    for part in np.array_split(rng.permutation(90), 4):
        for fold, moments in zip(gathered, fold_moments(X[part], weights[part], 5), strict=True):
            fold.merge(moments)
    for one, other in zip(whole, gathered, strict=True):
        assert one.n_samples == other.n_samples
        np.testing.assert_allclose(one.gram, other.gram, atol=1e-12)


def test_folds_can_be_given_by_sample(rng):
    X, folds = rng.normal(size=(20, 4)), np.repeat([1, -1, 0, 3], 5)
    parts = fold_moments(X, None, folds)
    assert [part.n_samples for part in parts] == [5, 5, 0, 5]
    np.testing.assert_allclose(parts[3].mean, X[15:].mean(axis=0))


@pytest.mark.parametrize("weighted", [False, True])
def test_merged_parts_are_the_whole(rng, weighted):
    X = rng.normal(size=(60, 5)) * [1, 100, 1e-3, 1, 1] + [0, 1e3, 5, 0, 2]
    X[:, 4] = 2.0
    weights = rng.uniform(0.5, 2.0, size=60) if weighted else np.ones(60)
    cuts = [slice(0, 20), slice(20, 33), slice(33, 60)]
    parts = [Moments.from_array(X[cut], weights[cut]) for cut in cuts]
    before = [np.array(part.gram) for part in parts]
    found, whole = merged(parts), Moments.from_array(X, weights)
    assert {part.form for part in (*parts, found)} == {"primal"}
    np.testing.assert_allclose(found.gram, np.cov(X.T, aweights=weights, ddof=0), rtol=1e-10, atol=1e-12)
    for name in ("mean", "minimum", "maximum", "variance", "weight_sum", "n_samples"):
        np.testing.assert_allclose(getattr(found, name), getattr(whole, name), rtol=1e-12)
    assert all(np.array_equal(part.gram, old) for part, old in zip(parts, before, strict=True))


@pytest.mark.parametrize("weighted", [False, True])
def test_what_is_left_of_all_samples_is_the_other_folds(rng, weighted):
    X = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 9)) + np.arange(9)
    X[:, 3] = 2.0  # and a feature that does not vary
    folds = fold_moments(X, rng.uniform(0.5, 2, size=60) if weighted else None, 4)
    for split, plain in zip(hold_out_each(folds, merged(folds)), hold_out_each(folds), strict=True):
        left, expected = split.train, plain.train
        np.testing.assert_allclose(left.gram, expected.gram, rtol=1e-12, atol=1e-13)
        np.testing.assert_array_equal(left.gram, left.gram.T)
        for name in ("mean", "minimum", "maximum", "weight_sum", "n_samples"):
            np.testing.assert_array_equal(getattr(left, name), getattr(expected, name))


def test_a_fold_that_outweighs_the_others_is_not_taken_away(rng):
    """Nothing would be left of the others' digits."""
    X = rng.normal(size=(60, 5))
    X[:12, 2] *= 1e9
    folds = fold_moments(X, None, np.arange(60) // 12)
    splits = hold_out_each(folds, merged(folds))
    np.testing.assert_allclose(splits[0].train.gram, np.cov(X[12:].T, bias=True), rtol=1e-12)
    np.testing.assert_allclose(splits[3].train.gram[0, 0], np.var(np.delete(X[:, 0], np.arange(36, 48))), rtol=1e-12)


@pytest.mark.parametrize("n_folds", [2, 3])
def test_large_folds_are_gathered_side_by_side(rng, monkeypatch, n_folds):
    monkeypatch.setattr(_folds, "_SHORT", 1)
    X = rng.normal(size=(50, 6))
    labels = np.arange(50) % n_folds
    for fold, moments in enumerate(fold_moments(X, None, labels)):
        np.testing.assert_allclose(moments.gram, np.cov(X[labels == fold].T, bias=True), rtol=1e-12, atol=1e-14)
        assert moments.n_samples == np.count_nonzero(labels == fold)
    empty = fold_moments(X[:4], None, np.array([0, 1, 1, 2]))
    assert [moments.n_samples for moments in empty] == [1, 2, 1]


@pytest.mark.parametrize("density", [0.02, 0.3])
def test_folds_of_sparse_tables_are_those_of_dense_ones(rng, monkeypatch, density):
    monkeypatch.setattr(_folds, "_SHORT", 1)
    X = rng.normal(size=(300, 40)) * (rng.random((300, 40)) < density)
    kept = []
    read = _moment_sums.read_blocks

    def seen(*arguments, keep_sparse=None):
        kept.append(keep_sparse)
        return read(*arguments, keep_sparse=keep_sparse)

    monkeypatch.setattr(_moment_sums, "read_blocks", seen)
    labels = np.arange(300) % 3
    monkeypatch.setattr(_sums, "_ENTRY_COST", 0.0)
    found = fold_moments(sparse.csr_array(X), None, labels)
    assert set(kept) == {density < 0.1}
    for own, other in zip(found, fold_moments(X, None, labels), strict=True):
        np.testing.assert_allclose(own.gram, other.gram, rtol=1e-9, atol=1e-12)
