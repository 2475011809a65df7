from dataclasses import FrozenInstanceError
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stableselect.metrics import clustering_quality
from stableselect.metrics._clustering import _matched_fraction


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 30)
    centres = np.array([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0]])
    return np.column_stack([centres[y] + rng.normal(size=(90, 2)), rng.normal(size=(90, 2))]), y


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=25))
@settings(max_examples=60, deadline=None)
def test_matching_is_the_best_of_all_one_to_one_matchings(pairs):
    classes, clusters = np.array(pairs).T
    brute = max(np.mean(np.array(naming)[clusters] == classes) for naming in permutations(range(4)))
    assert _matched_fraction(classes, clusters) == pytest.approx(brute)


def test_clusters_without_a_class_count_as_errors():
    assert _matched_fraction(np.zeros(10, dtype=int), np.repeat([0, 1], [6, 4])) == 0.6
    assert _matched_fraction(np.repeat([0, 1], [6, 4]), np.zeros(10, dtype=int)) == 0.6


def test_separated_classes_are_found_from_the_right_columns_only(blobs):
    X, y = blobs
    good, bad = clustering_quality(X, y, [0, 1], n_repeats=5), clustering_quality(X, y, [2, 3], n_repeats=5)
    assert good.nmi > 0.8
    assert good.accuracy > 0.8
    assert bad.nmi < 0.2
    assert bad.accuracy < 0.6
    assert (good.n_clusters, good.n_repeats) == (3, 5)


def test_single_cluster_has_no_information_and_the_largest_class_as_accuracy():
    X = np.random.default_rng(0).normal(size=(10, 2))
    quality = clustering_quality(X, np.repeat([0, 1], [7, 3]), [0, 1], n_clusters=1, n_repeats=2)
    assert quality.nmi == 0.0
    assert quality.accuracy == 0.7
    assert quality.accuracy_std == 0.0


def test_repeats_differ_and_the_seed_repeats_them(blobs):
    X, y = blobs
    first = clustering_quality(X, y, [2, 3], n_repeats=6, random_state=1)
    assert first.nmi_std > 0
    assert first == clustering_quality(X, y, [3, 2], n_repeats=6, random_state=1)
    assert first != clustering_quality(X, y, [2, 3], n_repeats=6, random_state=2)
    with pytest.raises(FrozenInstanceError):
        first.nmi = 1.0


def test_frames_masks_and_text_labels_agree_with_arrays(blobs):
    X, y = blobs
    framed = clustering_quality(
        pd.DataFrame(X), pd.Series(np.array(["a", "b", "c"])[y]), [True, True, False, False], n_repeats=3
    )
    assert framed == clustering_quality(X, y, [0, 1], n_repeats=3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": [0, 1]}, "one label per row of X, 90, but holds 2"),
        ({"selected": [0, 0]}, "repeats 1 of 2"),
        ({"selected": []}, "is empty"),
        ({"X": np.full((90, 4), np.nan)}, "X must hold finite numbers"),
        ({"n_clusters": 91}, "n_clusters must be an integer from 1 to 90"),
        ({"n_repeats": 0}, "n_repeats must be an integer of at least 1"),
    ],
)
def test_bad_input_is_refused(blobs, change, message):
    X, y = blobs
    with pytest.raises(ValueError, match=message):
        clustering_quality(**({"X": X, "y": y, "selected": [0, 1]} | change))
