import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from stableselect._core._resampling import SCHEMES, resamples, take_rows


def same(one, other):
    return len(one) == len(other) and all(np.array_equal(a.drawn, b.drawn) for a, b in zip(one, other, strict=True))


def test_subsample_keeps_the_share_without_repeats():
    for part in resamples(50, "subsample", 20, fraction=0.7):
        assert part.counts is None
        assert len(part.drawn) == len(set(part.drawn)) == 35
        assert np.array_equal(part.rows, np.sort(part.rows))


def test_bootstrap_draws_as_many_rows_as_there_are():
    parts = resamples(200, "bootstrap", 50)
    assert all(len(part.drawn) == 200 and part.counts.min() >= 1 for part in parts)
    # A row is missed with probability (1 - 1/n)^n.
    share = np.mean([len(part.rows) / 200 for part in parts])
    assert share == pytest.approx(1 - (1 - 1 / 200) ** 200, abs=0.02)


def test_leave_one_out_leaves_out_another_row_every_time():
    left = [np.setdiff1d(np.arange(12), part.rows) for part in resamples(12, "leave-one-out", 5)]
    assert [len(rows) for rows in left] == [1] * 5
    assert len({int(rows[0]) for rows in left}) == 5


@pytest.mark.parametrize("n_repeats", [None, 12, 100])
def test_leave_one_out_goes_through_all_rows_and_no_further(n_repeats):
    left = [int(np.setdiff1d(np.arange(12), part.rows)[0]) for part in resamples(12, "leave-one-out", n_repeats)]
    assert sorted(left) == list(range(12))


def test_splits_leave_out_every_row_once_in_parts_of_even_size():
    left = [np.setdiff1d(np.arange(23), part.rows) for part in resamples(23, "splits", 5)]
    assert sorted(np.concatenate(left)) == list(range(23))
    assert sorted(map(len, left)) == [4, 4, 5, 5, 5]


@given(st.lists(st.integers(0, 7), min_size=10, max_size=40), st.sampled_from(SCHEMES), st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_groups_are_never_split(labels, scheme, seed):
    groups = np.array(["a", "b", *map(str, labels), "c", "c"])
    for part in resamples(len(groups), scheme, 3, fraction=0.6, groups=groups, random_state=seed):
        times = np.zeros(len(groups), dtype=int)
        np.add.at(times, part.drawn, 1)
        for label in set(groups):
            assert len(set(times[groups == label])) == 1


def test_groups_are_the_units_of_each_scheme():
    groups = np.repeat(np.arange(10), 15)
    assert {len(part.rows) for part in resamples(150, "subsample", 4, groups=groups)} == {120}
    assert {len(part.rows) for part in resamples(150, "leave-one-out", 4, groups=groups)} == {135}
    assert len(resamples(150, "leave-one-out", None, groups=groups)) == 10
    assert {len(part.drawn) for part in resamples(150, "bootstrap", 4, groups=groups)} == {150}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_seed_decides_and_the_global_one_does_not(scheme):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first = resamples(30, scheme, 5, random_state=3)
    assert same(first, resamples(30, scheme, 5, random_state=3))
    assert not same(first, resamples(30, scheme, 5, random_state=4))
    assert same(
        resamples(30, scheme, 5, random_state=np.random.RandomState(1)),
        resamples(30, scheme, 5, random_state=np.random.RandomState(1)),
    )
    assert len(resamples(30, scheme, 5, random_state=None)) == 5
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize("scheme", ["bootstrap", "subsample", "leave-one-out"])
def test_more_repeats_leave_the_first_ones_as_they_were(scheme):
    assert same(resamples(30, scheme, 4), resamples(30, scheme, 9)[:4])


@pytest.mark.parametrize(
    ("n", "options", "message"),
    [
        (20, {"scheme": "jackknife"}, "scheme must be one of bootstrap, subsample, leave-one-out, splits"),
        (20, {"n_repeats": 1}, "n_repeats must be a whole number of at least 2 but is 1"),
        (20, {"n_repeats": None}, "at least 2 but is None"),
        (20, {"n_repeats": 2.5}, "at least 2 but is 2.5"),
        (20, {"fraction": 1.0}, "above 0 and below 1 but is 1.0"),
        (20, {"fraction": "half"}, "above 0 and below 1"),
        (20, {"fraction": 0.01}, "keeps 0 of 20; change fraction"),
        (2, {"fraction": 0.8}, "keeps 2 of 2; change fraction or give more rows"),
        (1, {}, "at least 2 rows but there are 1"),
        (1, {"scheme": "leave-one-out", "n_repeats": None}, "at least 2 rows but there are 1"),
        (0, {"scheme": "bootstrap"}, "at least 2 rows but there are 0"),
        (2, {"scheme": "leave-one-out"}, "keep at least 2 rows but one keeps 1 of 2; give more rows"),
        (6, {"scheme": "splits", "n_repeats": 7}, "7 splits must leave out one of the rows .* 6 rows; lower n_repeats"),
        (6, {"scheme": "splits", "n_repeats": 4, "groups": [0, 0, 1, 1, 2, 2]}, "there are 3 groups; lower n_repeats"),
        (6, {"groups": [1, 1, 1, 1, 1, 1]}, "at least 2 groups but there are 1"),
        (6, {"groups": [1, 2]}, r"one label for each of the 6 rows but has shape \(2,\)"),
        (3, {"groups": [1.0, np.nan, 2.0]}, "holds NaN, None or infinity"),
        (4, {"groups": np.array([1, np.nan, 1, 2], dtype=object)}, "holds NaN, None or infinity"),
        (4, {"groups": np.array(["a", None, "a", "b"], dtype=object)}, "holds NaN, None or infinity"),
        (4, {"groups": pd.Series([1, None, 1, 2], dtype="Int64")}, "holds NaN, None or infinity"),
        (3, {"groups": np.array(["2020-01-01", "NaT", "2020-01-01"], "M8[D]")}, "holds NaN, None or infinity"),
        (3, {"groups": np.array([1, "a", 2], dtype=object)}, "labels of one type"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_advice(n, options, message):
    with pytest.raises(ValueError, match=message):
        resamples(n, **options)


@pytest.mark.parametrize(
    "kind",
    [np.asarray, pd.DataFrame, pl.DataFrame, sparse.csr_array, sparse.csc_matrix, sparse.coo_array, torch.as_tensor],
)
def test_rows_are_taken_from_any_kind_of_table(kind):
    X = np.arange(12.0).reshape(6, 2)
    rows = np.array([4, 0, 4])
    table = kind(X)
    taken = take_rows(table, rows)
    assert np.array_equal(taken.toarray() if sparse.issparse(taken) else np.asarray(taken), X[rows])
    assert hasattr(taken, "columns") == hasattr(table, "columns")
