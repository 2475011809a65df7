"""Where the network starts, and how many features it selects."""

import numpy as np

from stableselect.neural._scorer_parameters import (
    Objective,
    random_parameters,
    top_features,
    top_features_with_ties,
)


def test_published_start_has_few_distinct_scores_so_the_first_mask_keeps_more_than_k():
    w = random_parameters(784, 50, True, np.random.RandomState(0)).w
    assert len(np.unique(w)) <= 17
    assert len(top_features_with_ties(w, 50)) > 50
    assert len(np.unique(top_features(w, 50))) == 50


def test_number_of_selected_features_shrinks_from_all_to_k_and_stays():
    annealed, plain = (Objective(4, "abs", 0.1, anneal) for anneal in (True, False))
    counts = [annealed.n_selected(t / 100, 64) for t in range(100)]
    assert counts[0] == 64
    assert counts == sorted(counts, reverse=True)
    assert counts[35] == 16
    assert set(counts[70:]) == {4}
    assert {plain.n_selected(t / 100, 64) for t in range(100)} == {4}
