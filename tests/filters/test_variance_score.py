"""VarianceScore against the variances of NumPy and scikit-learn."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_selection import VarianceThreshold
from sklearn.preprocessing import StandardScaler

from stableselect import VarianceScore


def test_the_largest_variances_are_selected(tall, wide):
    for X in (tall, wide, tall * 10.0 ** np.arange(-6, 6), tall + 1e4):
        selector = VarianceScore(5).fit(X)
        np.testing.assert_array_equal(selector.selected_, np.argsort(-X.var(axis=0))[:5])
        np.testing.assert_allclose(selector.scores_[selector.support_], X.var(axis=0)[selector.support_], rtol=1e-9)


def test_it_keeps_what_a_threshold_in_between_keeps(tall):
    variance = np.sort(tall.var(axis=0))
    kept = VarianceThreshold((variance[-4] + variance[-5]) / 2).fit(tall).get_support()
    np.testing.assert_array_equal(VarianceScore(4).fit(tall).support_, kept)
    np.testing.assert_array_equal(VarianceScore(4).fit(sparse.csr_matrix(tall)).support_, kept)


def test_standardised_features_tie(tall):
    Z = StandardScaler().fit_transform(tall * 10.0 ** np.arange(-6, 6))
    assert VarianceScore(4).fit(Z).selected_.tolist() == [0, 1, 2, 3]
    assert VarianceScore(4, exclude=[1], include=[7]).fit(Z).selected_.tolist() == [7, 0, 2, 3]


@pytest.mark.parametrize("value", [0.1, 1e8, -3.3])
def test_a_constant_feature_has_none(value, tall):
    X = np.column_stack([np.full(60, value), 1e-3 * tall])
    assert VarianceScore(3).fit(X).scores_[0] == 0.0
