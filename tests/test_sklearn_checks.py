"""scikit-learn's own estimator checks on every selector, none expected to fail."""

import pytest
from sklearn.utils.estimator_checks import check_param_validation, parametrize_with_checks

import stableselect as ss

QUICK = {
    "AEFS": {"epochs": 20},
    "AgnoSS": {"epochs": 20},
    "CAE": {"epochs": 50},
    "ConsensusSelector": {"n_resamples": 2},
    "FAE": {"epochs": 20},
    "GatedLaplacian": {"n_steps": 10},
    "KernelSubset": {"n_landmarks": 20, "max_sweeps": 1},
    "NDFS": {"max_iter": 10},
    "ScorerSelectorNetwork": {"epochs": 20},
}
"""Settings that only shorten the work."""
ROOMS = ("subset", "scorer", "graph", "filters", "neural", "ensemble")
"""Where every parameter has a declared constraint."""


ONE_OF_EACH = ("ColumnSubset", "ConsensusSelector", "LaplacianScore", "PFA", "RandomSelector", "ScorerSelectorNetwork")
"""Of every kind of base class, for the quick tests."""


def made(names):
    return [ss.all_selectors()[name](**QUICK.get(name, {})) for name in names]


@parametrize_with_checks(made(ONE_OF_EACH))
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(made(name for name in ss.all_selectors() if name not in ONE_OF_EACH))
def test_scikit_learn_checks_of_the_others(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "name", [name for name, cls in ss.all_selectors().items() if cls.__module__.split(".")[1] in ROOMS]
)
def test_every_parameter_is_constrained(name):
    check_param_validation(name, ss.all_selectors()[name]())
