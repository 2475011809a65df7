"""Selectors on the neighbour graph give the same for every number of threads."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from stableselect.graph import MCFS, NDFS, SPEC, UDFS, LaplacianScore


@pytest.mark.slow
@pytest.mark.parametrize(
    "selector", [LaplacianScore(5), SPEC(5, criterion="phi3"), MCFS(5), UDFS(5, max_iter=3), NDFS(5, random_state=0)]
)
def test_threads_change_no_bit_of_the_scores(selector, rng):
    """A wide table: several blocks of features."""
    X = rng.normal(size=(60, 8)) @ rng.normal(size=(8, 5000)) + rng.normal(size=(60, 5000))
    with threadpool_limits(1):
        one = selector.fit(X).scores_.copy()
    with threadpool_limits(3):
        three = selector.fit(X).scores_
    np.testing.assert_array_equal(three, one)


@pytest.mark.slow
def test_threads_change_no_bit_of_the_neighbours(rng):
    """A long table: several strips of samples in a block, and several blocks."""
    X = rng.normal(size=(2600, 30))
    with threadpool_limits(1):
        one = LaplacianScore(5).fit(X).scores_
    with threadpool_limits(3):
        three = LaplacianScore(5).fit(X).scores_
    np.testing.assert_array_equal(three, one)
