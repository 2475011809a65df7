"""scikit-learn's own estimator checks on every selector, none expected to fail."""

from sklearn.utils.estimator_checks import parametrize_with_checks

import stableselect as ss


@parametrize_with_checks([cls() for cls in ss.all_selectors().values()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
