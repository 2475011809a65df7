"""scikit-learn's own estimator checks on every selector, none expected to fail."""

from sklearn.utils.estimator_checks import parametrize_with_checks

import stableselect as ss

QUICK = {"ConsensusSelector": {"n_resamples": 4}}
"""Settings that only shorten the work."""


@parametrize_with_checks([cls(**QUICK.get(name, {})) for name, cls in ss.all_selectors().items()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
