"""The laws of stableselect, those of scikit-learn, and the definition."""

import numpy as np
from scipy import stats
from sklearn.utils.estimator_checks import check_estimator
from stableselect_spread import SpreadScore

from stableselect.testing import check_selector


def test_laws():
    check_selector(SpreadScore())


def test_scikit_learn():
    check_estimator(SpreadScore())


def test_definition():
    X = np.random.default_rng(0).normal(size=(50, 6)) * [1, 5, 2, 9, 3, 1]
    assert set(SpreadScore(2).fit(X).selected_) == set(np.argsort(stats.iqr(X, axis=0))[-2:])
