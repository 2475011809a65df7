"""The order in which features are dropped."""

import numpy as np

from stableselect.neural._elimination import Elimination


def test_elimination_follows_its_schedule():
    varying = np.array([True] * 8 + [False] * 2)
    elimination = Elimination(varying, 2, fraction=0.5)
    assert [elimination.count(p) for p in (0.0, 0.25, 0.5, 1.0)] == [8, 4, 2, 2]
    stays = elimination.update(np.arange(8.0) + 1, 0.25)
    np.testing.assert_array_equal(elimination.left, [4, 5, 6, 7])
    assert stays.sum() == 4 and not elimination.done
    elimination.update(np.array([9.0, 1.0, 8.0, 2.0]), 0.5)
    assert elimination.done
    order, scores = elimination.ranking()
    np.testing.assert_array_equal(order, [4, 6, 7, 5, 3, 2, 1, 0, 8, 9])
    np.testing.assert_array_equal(scores[order], [9, 8, 2, 1, 1, 1, 1, 1, -1, -1])


def test_elimination_drops_what_the_network_gave_up():
    elimination = Elimination(np.ones(4, dtype=bool), 2, enabled=False)
    elimination.update(np.array([1.0, 0.0, 1e-12, 0.5]), 0.0, least=1e-10)
    np.testing.assert_array_equal(elimination.left, [0, 3])
    np.testing.assert_array_equal(elimination.ranking()[0], [0, 3, 2, 1])


def test_strengths_that_differ_by_rounding_are_ties_and_the_lowest_feature_stays():
    elimination = Elimination(np.ones(4, dtype=bool), 1)
    strength = np.array([0.3, 0.7, 0.7 + 1e-15, 0.1])
    assert elimination.update(strength, 1.0).tolist() == [False, True, False, False]
    whole = Elimination(np.ones(4, dtype=bool), 4)
    whole.record(strength)
    assert whole.ranking()[0].tolist() == [1, 2, 0, 3]
