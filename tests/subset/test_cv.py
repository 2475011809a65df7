"""``cv``: how samples are held out for what is chosen by held-out error."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    ShuffleSplit,
    TimeSeriesSplit,
)

from stableselect import ColumnSubset, Moments, ScorerSelector
from stableselect._core._folds import fold_moments, row_folds
from stableselect.base import UnevenFoldsWarning
from stableselect.inspection import BlockKFold, stability_analysis
from stableselect.subset._ridge import RIDGE_GRID, give_up


@pytest.fixture
def X(rng):
    """Forty groups of three near copies."""
    drawn = rng.normal(size=(40, 5)) @ rng.normal(size=(5, 15)) + 0.8 * rng.normal(size=(40, 15))
    return np.repeat(drawn, 3, axis=0) + 0.05 * rng.normal(size=(120, 15))


GROUPS = np.repeat(np.arange(40), 3)
SPLITTERS = [
    KFold(4),
    ShuffleSplit(3, random_state=0),
    TimeSeriesSplit(3),
    GroupKFold(5),
    pytest.param(LeaveOneGroupOut(), marks=pytest.mark.slow),
]


def ridge_by_hand(X, splits, k):
    """Return the ridge of least error on the samples held out, by fits on the others."""
    errors = []
    for ridge in RIDGE_GRID:
        errors.append(0.0)
        for train, test in splits:
            found = ColumnSubset(k, ridge=ridge, exchange=False).fit(X[train])
            predicted = X[test][:, found.support_] @ found.reconstruction_coef_ + found.reconstruction_intercept_
            errors[-1] += np.sum((X[test] - predicted) ** 2)
        if errors[-1] > give_up(ridge) * min(errors):
            break
    return RIDGE_GRID[int(np.argmin(errors))]


@pytest.mark.parametrize("cv", SPLITTERS, ids=lambda cv: type(cv).__name__)
def test_the_ridge_is_that_of_the_splits(X, cv):
    groups = GROUPS if "Group" in type(cv).__name__ else None
    splits = list(cv.split(X, groups=groups))
    expected = ridge_by_hand(X, splits, 4)
    for table in (X, sparse.csr_array(X)):
        selector = ColumnSubset(4, cv=cv).fit(table, groups=groups)
        assert selector.ridge_ == expected
        np.testing.assert_array_equal(selector.fold_sizes_, [len(test) for _, test in splits])
    given = ColumnSubset(4, cv=splits).fit(X)
    np.testing.assert_array_equal(given.selected_, selector.selected_)
    np.testing.assert_array_equal(ScorerSelector(4, cv=cv).fit(X, groups=groups).ridge_, expected)


def test_groups_change_what_samples_alone_would_choose(rng):
    """Near copies on both sides of a split make any ridge look needless."""
    X = np.repeat(rng.normal(size=(12, 20)), 5, axis=0) + 0.01 * rng.normal(size=(60, 20))
    groups = np.repeat(np.arange(12), 5)
    alone = ColumnSubset(8, cv=KFold(5, shuffle=True, random_state=0)).fit(X)
    together = ColumnSubset(8, cv=GroupShuffleSplit(5, random_state=0)).fit(X, groups=groups)
    assert alone.ridge_ < together.ridge_


def test_the_number_of_features_follows_the_splits(X):
    path = ColumnSubset("auto", cv=TimeSeriesSplit(3)).fit(X).path_
    assert path.fold_explained_variance_ratio.shape[0] == 3
    two = ColumnSubset("auto", cv=KFold(2)).fit(X)
    assert two.path_.fold_explained_variance_ratio.shape[0] == 2 and two.fold_sizes_.tolist() == [60, 60]


@pytest.mark.slow
def test_stability_takes_splitters_that_hold_every_sample_once(X):
    selector = ColumnSubset(4, criterion="stability", cv=GroupKFold(10)).fit(X, groups=GROUPS)
    folds = np.empty(120, dtype=int)
    for fold, (_, test) in enumerate(GroupKFold(10).split(X, groups=GROUPS)):
        folds[test] = fold
    expected = ColumnSubset(4, criterion="stability", cv=10).fit_moments(fold_moments(X, None, folds))
    np.testing.assert_allclose(selector.frontier_.error, expected.frontier_.error)
    with pytest.raises(ValueError, match=r"needs at least 6 folds, .*give a cv"):
        ColumnSubset(4, criterion="stability", cv=ShuffleSplit(10)).fit(X)


def test_an_integer_gives_so_many_folds_of_the_samples_own(X):
    selector = ColumnSubset(4, cv=3).fit(X)
    np.testing.assert_array_equal(selector.fold_sizes_, np.bincount(row_folds(X, 3)))
    expected = ColumnSubset(4, cv=3).fit_moments(fold_moments(X, None, 3))
    assert selector.ridge_ == expected.ridge_
    np.testing.assert_array_equal(stability_analysis(selector, X).supports.shape, (10, 15))


def test_repeated_fits_split_their_own_samples(X):
    selector = ColumnSubset(4, cv=KFold(3))
    analysis = stability_analysis(selector, X, cv=KFold(2))
    expected = [clone(selector).fit(X[train]).support_ for train, _ in KFold(2).split(X)]
    np.testing.assert_array_equal(analysis.supports, expected)


def test_uneven_folds_are_told(rng):
    X = rng.normal(size=(14, 4))
    sizes = np.bincount(row_folds(X, 5), minlength=5)
    assert 10 * sizes.min() < 14
    with pytest.warns(UnevenFoldsWarning, match=f"14 samples hold {sizes.min()} to {sizes.max()} of them.*KFold"):
        selector = ColumnSubset(2).fit(X)
    np.testing.assert_array_equal(selector.fold_sizes_, sizes[sizes > 0])
    assert ColumnSubset(2, ridge=0.1).fit(X).fold_sizes_.tolist() == [14]
    assert ColumnSubset(2).fit_moments(Moments.from_array(X)).fold_sizes_.tolist() == [14]


@pytest.mark.parametrize(
    ("cv", "groups", "message"),
    [
        ("five", None, "cv"),
        (1, None, "The 'cv' parameter"),
        ([(np.arange(5), np.arange(5, 10))], None, "cv must give at least 2 splits"),
        ([(np.arange(5), [])] * 2, None, "cv must give"),
        ([(np.arange(5), [120])] * 2, None, "indices of samples from 0 to 119"),
        (None, GROUPS, "groups need a cv"),
        (GroupKFold(3), GROUPS[:7], "one label for each of the 120 samples"),
    ],
)
def test_what_cannot_be_split_gets_a_sentence(X, cv, groups, message):
    with pytest.raises(ValueError, match=message):
        ColumnSubset(4, cv=cv).fit(X, groups=groups)


@pytest.mark.parametrize("cls", [ColumnSubset, ScorerSelector])
@pytest.mark.parametrize("cv", [KFold(4), ShuffleSplit(3, random_state=0), GroupKFold(5), BlockKFold(4)])
def test_tables_read_piece_by_piece_are_split_like_arrays(X, cv, cls, monkeypatch):
    monkeypatch.setattr("stableselect._core._streams.FEWEST", 20)
    monkeypatch.setattr("stableselect._core._streams.BLOCK_ELEMENTS", 1)
    groups = GROUPS if isinstance(cv, GroupKFold) else None
    weights = np.linspace(0, 2, len(X))
    expected = cls(4, cv=cv).fit(X, sample_weight=weights, groups=groups)
    found = cls(4, cv=cv).fit([X[:50], X[50:71], X[71:]], sample_weight=weights, groups=groups)
    assert found.ridge_ == expected.ridge_
    np.testing.assert_array_equal(found.selected_, expected.selected_)
    np.testing.assert_array_equal(found.fold_sizes_, expected.fold_sizes_)
    if groups is not None:  # then one pass is enough
        once = cls(4, cv=cv).fit(iter([X[:50], X[50:]]), sample_weight=weights, groups=groups)
        np.testing.assert_array_equal(once.selected_, expected.selected_)


def test_streams_refuse_splits_that_take_too_much(X, monkeypatch):
    monkeypatch.setattr("stableselect._core._streams.FEWEST", 20)
    monkeypatch.setattr("stableselect._core._streams.BLOCK_ELEMENTS", 1)
    parts = [X[:50], X[50:]]
    with pytest.raises(
        ValueError, match=r"The 30 splits of cv divide the samples into \d+ parts, .*such as KFold\(5\)"
    ):
        ColumnSubset(4, cv=ShuffleSplit(30, random_state=0)).fit(parts)
    for labels in (GROUPS[:-1], [*GROUPS, 40]):
        with pytest.raises(
            ValueError, match=rf"one label for each sample, but holds {len(labels)}, and the table has 120"
        ):
            ColumnSubset(4, cv=GroupKFold(4)).fit(parts, groups=labels)
    with pytest.raises(ValueError, match="A second pass is needed, but an iterator can be read only once"):
        ColumnSubset(4, cv=KFold(4)).fit(iter(parts))
    with pytest.raises(ValueError, match="groups need a cv that keeps them together"):
        ColumnSubset(4).fit(parts, groups=GROUPS)
