"""Selectors on the neighbour graph take one thread for each product, and give the same for every number of threads."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from stableselect.graph import MCFS, NDFS, SPEC, UDFS, LaplacianScore
from stableselect.graph._graph_selector import GraphSelector


def test_one_thread_while_scoring(rng):
    seen = set()

    class Watching(GraphSelector):
        def _score_features(self, X, k):
            seen.update(library["num_threads"] for library in threadpool_info())
            return np.arange(X.shape[1], dtype=float)

    with threadpool_limits(2):
        Watching(1).fit(rng.normal(size=(5, 3)))
    assert seen == {1}


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
