"""PivotedQR against LAPACK's pivoted factorisation of the singular vectors, and python-sensors where that is there."""

import numpy as np
import pytest
from scipy.linalg import qr

from stableselect import Moments, PivotedQR


def by_lapack(X, k):
    V = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:k]
    return qr(V, mode="r", pivoting=True)[1][:k]


@pytest.mark.parametrize("k", [1, 3, 7])
def test_the_features_are_lapack_s_pivots(tall, wide, k):
    for X in (tall, wide, tall * 10.0 ** np.arange(-3, 3, 0.5)):
        np.testing.assert_array_equal(PivotedQR(k).fit(X).selected_, by_lapack(X, k))


def test_the_features_are_those_of_python_sensors(tall):
    sensors = pytest.importorskip("pysensors")
    model = sensors.reconstruction.SSPOR(
        n_sensors=4, basis=sensors.basis.SVD(n_basis_modes=4), optimizer=sensors.optimizers.QR()
    )
    model.fit(tall - tall.mean(axis=0), quiet=True)
    np.testing.assert_array_equal(PivotedQR(4).fit(tall).selected_, model.get_selected_sensors())


def test_scores_are_the_squared_diagonal_of_the_factor(tall):
    selector = PivotedQR(5).fit(tall)
    V = np.linalg.svd(tall - tall.mean(axis=0), full_matrices=False)[2][:5]
    R = qr(V, mode="r", pivoting=True)[0]
    np.testing.assert_allclose(selector.scores_[selector.selected_], np.diag(R) ** 2, rtol=1e-8)
    assert selector.scores_[~selector.support_].max() < 1e-12
    assert selector.n_components_ == 5


def test_included_features_are_the_first_pivots(tall):
    selector = PivotedQR(4, include=[9, 2], exclude=[0]).fit(tall)
    assert selector.selected_[:2].tolist() == [9, 2] and 0 not in selector.selected_
    V = np.linalg.svd(tall - tall.mean(axis=0), full_matrices=False)[2][:4].T
    Q = np.linalg.qr(V[[9, 2]].T)[0]
    left = ((V - V @ Q @ Q.T) ** 2).sum(axis=1)
    left[0] = 0
    assert selector.selected_[2] == np.argmax(left)


def test_beyond_the_rank_the_largest_variances_follow(rng):
    X = rng.normal(size=(30, 2)) @ rng.normal(size=(2, 8))
    X[:, 5] = 1.0
    selector = PivotedQR(6).fit(X)
    assert selector.n_components_ == 2
    rest = np.setdiff1d(np.arange(8), selector.selected_[:2])
    expected = rest[np.argsort(-X[:, rest].var(axis=0), kind="stable")][:4]
    np.testing.assert_array_equal(selector.selected_[2:], expected)
    assert 5 not in selector.selected_
    assert PivotedQR(3).fit(np.ones((5, 4))).selected_.tolist() == [0, 1, 2]


def test_equal_columns_resolve_to_the_first(rng):
    X = rng.normal(size=(40, 4))
    twice = np.column_stack([X, -X])
    assert set(PivotedQR(4).fit(twice).selected_) == {0, 1, 2, 3}


def test_moments_and_weights_replace_the_samples(tall, rng):
    expected = PivotedQR(4).fit(tall).selected_
    np.testing.assert_array_equal(PivotedQR(4).fit_moments(Moments.from_array(tall)).selected_, expected)
    weights = rng.integers(0, 3, size=60)
    repeated = PivotedQR(4).fit(np.repeat(tall, weights, axis=0))
    np.testing.assert_array_equal(PivotedQR(4).fit(tall, sample_weight=weights).selected_, repeated.selected_)
