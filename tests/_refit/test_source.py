"""How a table is read is decided in one place, by what the selector needs."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.feature_selection import VarianceThreshold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info, threadpool_limits

from stableselect import ColumnSubset, LaplacianScore, RandomSelector, ScorerSelectorNetwork, VarianceScore
from stableselect._core import Resample
from stableselect._refit import Source, resolve_names, seed_parameters, with_held_seed

PART = Resample(np.arange(5, 55))


@pytest.mark.parametrize(
    ("selector", "n_folds"),
    [
        (ColumnSubset(3, ridge=0), 0),
        (ColumnSubset(3), 5),
        (ScorerSelectorNetwork(3, solver="full_batch", epochs=3, random_state=0), 0),
        (ScorerSelectorNetwork(3, solver="minibatch", epochs=2, random_state=0), None),
        (LaplacianScore(3), None),
        (VarianceThreshold(), None),
        (make_pipeline(StandardScaler(), ColumnSubset(3)), None),
    ],
)
def test_moments_are_shared_where_the_selector_needs_no_more(selector, n_folds, tall):
    source = Source(selector, tall)
    assert (source.moments is None) == (n_folds is None)
    if n_folds is not None:
        assert source.moments.n_folds == n_folds and source.X is None
    for part, rows in ((None, slice(None)), (PART, slice(5, 55))):
        found, expected = source.fit(clone(selector), part), clone(selector).fit(tall[rows])
        ends = (model[-1] if hasattr(model, "steps") else model for model in (found, expected))
        one, other = (model.get_support() for model in ends)
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("selector", [ColumnSubset(3, ridge=0, include=["k"]), LaplacianScore(3)])
def test_feature_names_reach_every_fit(selector, tall):
    frame = pd.DataFrame(tall, columns=list("abcdefghijkl"))
    fitted = Source(selector, frame).fit(clone(selector), PART)
    assert list(fitted.feature_names_in_) == list(frame.columns)


def test_seeds_are_found_at_any_depth_and_held_where_unset():
    chain = make_pipeline(RandomSelector(5), RandomSelector(2, random_state=7))
    assert seed_parameters(chain) == ["randomselector-1__random_state", "randomselector-2__random_state"]
    held = with_held_seed(chain, 3)
    assert [held[0].random_state, held[1].random_state] == [3, 7] and chain[0].random_state is None


def test_names_become_indices_in_place():
    chain = make_pipeline(StandardScaler(), ColumnSubset(2, include="c", exclude=["a", -1]))
    assert resolve_names(chain, 4, list("abcd")) == ([2], [0, 3])
    assert chain[-1].include == [2] and chain[-1].exclude == [0, 3]


def test_each_fit_takes_one_thread_a_call(rng):
    """Sums of the samples left out are many small products; threads that share them are slow on a busy machine."""
    seen = []

    class Watching(VarianceScore):
        def fit(self, X, y=None):
            seen.extend(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
            return super().fit(X, y)

    selector = Watching(2)
    with threadpool_limits(2):
        Source(selector, rng.normal(size=(10, 4))).fit(selector)
    assert set(seen) == {1}
