import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneOut,
    RepeatedKFold,
    ShuffleSplit,
    cross_val_score,
)
from sklearn.tree import DecisionTreeRegressor

from stableselect._core._arrays import take_rows
from stableselect._core._resampling import resamples
from stableselect._core._splitters import Bootstrap, ComplementaryPairs, Subsample

OURS = [Subsample, Bootstrap, ComplementaryPairs]


def table(n):
    return np.zeros((n, 1))


def tensor(X):
    return pytest.importorskip("torch").as_tensor(X)


def drawn(cv, n=30, groups=None, **options):
    return [part.drawn for part in resamples(cv, table(n), groups, **options)]


def same(one, other):
    return len(one) == len(other) and all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_subsample_keeps_the_fraction_without_repeats():
    for part in resamples(Subsample(20, train_size=0.7), table(50)):
        assert part.counts is None
        assert len(part.drawn) == len(set(part.drawn)) == 35
        assert np.array_equal(part.rows, np.sort(part.rows))


def test_bootstrap_draws_as_many_samples_as_there_are():
    parts = resamples(Bootstrap(50), table(200))
    assert all(len(part.drawn) == 200 and part.counts.min() >= 1 for part in parts)
    # A sample is missed with probability (1 - 1/n)^n.
    fraction = np.mean([len(part.rows) / 200 for part in parts])
    assert fraction == pytest.approx(1 - (1 - 1 / 200) ** 200, abs=0.02)


@pytest.mark.parametrize("n", [60, 59])
def test_pairs_are_halves_without_a_common_sample(n):
    halves = drawn(ComplementaryPairs(10), n)
    for first, second in zip(halves[::2], halves[1::2], strict=True):
        assert len(first) == len(second) == n // 2 and not set(first) & set(second)
    assert len({tuple(rows) for rows in halves}) == 10


@pytest.mark.parametrize(
    "cv",
    [KFold(4), ShuffleSplit(5, train_size=0.6, random_state=1), LeaveOneOut(), RepeatedKFold(n_splits=3, n_repeats=2)],
    ids=str,
)
def test_the_training_part_of_any_splitter_is_kept(cv):
    if hasattr(cv, "random_state") and cv.random_state is None and not isinstance(cv, KFold):
        cv.random_state = 0
    assert same(drawn(cv), [np.sort(train) for train, _ in cv.split(table(30))])
    assert same(drawn(list(cv.split(table(30)))), drawn(cv))


@pytest.mark.parametrize("cv", [GroupKFold(3), GroupShuffleSplit(4, random_state=0)], ids=str)
def test_splitters_for_groups_get_them(cv):
    groups = np.repeat(list("abcde"), 6)
    assert same(drawn(cv, groups=groups), [np.sort(train) for train, _ in cv.split(table(30), groups=groups)])


def test_an_integer_is_a_number_of_shuffled_folds():
    left = [np.setdiff1d(np.arange(23), rows) for rows in drawn(5, 23)]
    assert sorted(np.concatenate(left)) == list(range(23))
    assert sorted(map(len, left)) == [4, 4, 5, 5, 5]
    assert any(np.any(np.diff(rows) > 1) for rows in left)
    assert same(drawn(5), drawn(5)) and not same(drawn(5), drawn(5, random_state=1))
    groups = np.repeat(np.arange(6), 5)
    for rows in drawn(3, groups=groups):
        assert len(rows) == 20 and len(set(groups[rows])) == 4


def test_masks_and_repeated_indices_are_taken():
    mask = np.arange(6) < 4
    found = resamples([(mask, ~mask), ([5, 0, 5], [1])], table(6))
    assert found[0].rows.tolist() == [0, 1, 2, 3] and found[0].counts is None
    assert found[1].rows.tolist() == [0, 5] and found[1].counts.tolist() == [1, 2]


@given(st.lists(st.integers(0, 7), min_size=10, max_size=40), st.sampled_from(OURS), st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_groups_are_never_split(labels, kind, seed):
    groups = np.array(["a", "b", *map(str, labels), "c", "c"])
    for rows in drawn(kind(4, random_state=seed), len(groups), groups):
        times = np.zeros(len(groups), dtype=int)
        np.add.at(times, rows, 1)
        for label in set(groups):
            assert len(set(times[groups == label])) == 1


def test_groups_are_the_units_of_every_splitter():
    groups = np.repeat(np.arange(10), 15)
    assert {len(rows) for rows in drawn(Subsample(4), 150, groups)} == {120}
    assert {len(rows) for rows in drawn(Bootstrap(4), 150, groups)} == {150}
    assert {len(rows) for rows in drawn(ComplementaryPairs(4), 150, groups)} == {75}


@pytest.mark.parametrize("kind", OURS)
def test_the_seed_decides_and_the_global_one_does_not(kind):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first = drawn(kind(6, random_state=3))
    assert same(first, drawn(kind(6, random_state=3)))
    assert not same(first, drawn(kind(6, random_state=4)))
    one, two = (drawn(kind(6, random_state=np.random.RandomState(1))) for _ in range(2))
    assert same(one, two)
    assert len(drawn(kind(6, random_state=None))) == 6
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize("kind", OURS)
def test_more_splits_leave_the_first_ones_as_they_were(kind):
    assert same(drawn(kind(4)), drawn(kind(10))[:4])


@pytest.mark.parametrize("kind", OURS)
def test_the_interface_is_that_of_scikit_learn(kind, rng):
    cv = kind(4)
    assert cv.get_n_splits() == 4 and repr(cv).startswith(f"{kind.__name__}(n_splits=4")
    for train, test in cv.split(table(20)):
        assert not set(train) & set(test)
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    assert len(cross_val_score(DecisionTreeRegressor(), X, y, cv=cv)) == 4
    assert clone(cv, safe=False) == cv


@pytest.mark.parametrize(
    ("n", "cv", "groups", "message"),
    [
        (20, "KFold", None, "cv must be a number of folds, a scikit-learn splitter or pairs"),
        (20, 2.5, None, "cv must be a number of folds"),
        (20, True, None, "cv must be a number of folds"),
        (20, [], None, "at least 2 splits but gives 0"),
        (20, [([0, 1], [2])], None, "at least 2 splits but gives 1"),
        (20, [([0, 20], [2]), ([0, 1], [2])], None, "indices of samples from 0 to 19"),
        (20, [([0, -1], [2]), ([0, 1], [2])], None, "indices of samples from 0 to 19"),
        (20, [([0.5, 1], [2]), ([0, 1], [2])], None, "indices of samples from 0 to 19"),
        (20, Subsample(1), None, "n_splits must be an integer of at least 2 but is 1"),
        (20, Bootstrap(2.5), None, "at least 2 but is 2.5"),
        (20, ComplementaryPairs(3), None, "must be even but is 3; add one"),
        (20, Subsample(train_size=1.0), None, "above 0 and below 1 but is 1.0"),
        (20, Subsample(train_size="half"), None, "above 0 and below 1"),
        (20, Subsample(train_size=0.01), None, "keeps 0 of 20; change train_size"),
        (2, Subsample(), None, "keeps 2 of 2; change train_size or give more samples"),
        (1, Subsample(), None, "at least 2 samples but there are 1"),
        (0, Bootstrap(), None, "at least 2 samples but there are 0"),
        (2, LeaveOneOut(), None, "keep at least 2 samples but one keeps 1 of 2; give more samples"),
        (6, 7, None, "n_splits=7 greater than the number of samples"),
        (6, 4, [0, 0, 1, 1, 2, 2], "n_splits=4 greater than the number of groups: 3"),
        (6, Subsample(), [1] * 6, "at least 2 groups but there are 1"),
        (6, Subsample(), [1, 2], r"one label for each of the 6 samples but has shape \(2,\)"),
        (3, Subsample(), [1.0, np.nan, 2.0], "holds NaN, None or infinity"),
        (4, Subsample(), np.array([1, np.nan, 1, 2], dtype=object), "holds NaN, None or infinity"),
        (4, Subsample(), np.array(["a", None, "a", "b"], dtype=object), "holds NaN, None or infinity"),
        (4, Subsample(), pd.Series([1, None, 1, 2], dtype="Int64"), "holds NaN, None or infinity"),
        (3, Subsample(), np.array(["2020-01-01", "NaT", "2020-01-01"], "M8[D]"), "holds NaN, None or infinity"),
        (3, Subsample(), np.array([1, "a", 2], dtype=object), "labels of one type"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_advice(n, cv, groups, message):
    with pytest.raises(ValueError, match=message):
        resamples(cv, table(n), groups)


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
@pytest.mark.parametrize("cv", [LeaveOneOut(), KFold(4, shuffle=True, random_state=0), ShuffleSplit()], ids=str)
def test_a_splitter_that_parts_groups_is_refused(cv):
    with pytest.raises(ValueError, match="cv parts them; use a splitter for groups, such as GroupKFold"):
        resamples(cv, table(30), np.repeat(np.arange(10), 3))


@pytest.mark.parametrize(
    "kind",
    [np.asarray, pd.DataFrame, pl.DataFrame, sparse.csr_array, sparse.csc_matrix, sparse.coo_array, tensor],
)
def test_rows_are_taken_from_any_kind_of_table(kind):
    X = np.arange(12.0).reshape(6, 2)
    rows = np.array([4, 0, 4])
    table = kind(X)
    taken = take_rows(table, rows)
    assert np.array_equal(taken.toarray() if sparse.issparse(taken) else np.asarray(taken), X[rows])
    assert hasattr(taken, "columns") == hasattr(table, "columns")
    assert len(resamples(KFold(3), table)) == len(resamples(Bootstrap(3), table)) == 3
