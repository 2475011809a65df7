"""Which ridge weights are tried on which folds, and the errors on these."""

import numpy as np
import pytest
from sklearn.model_selection import TimeSeriesSplit

from stableselect import ColumnSubset, Moments
from stableselect._core import fold_moments, hold_out_each
from stableselect.subset import _ridge, _round
from stableselect.subset._path_errors import path_errors
from stableselect.subset._ridge import RIDGE_GRID, Trial, ends_of_race, errors_by_ridge, least_ridge
from stableselect.subset._round import Round, errors_of_rounds


def test_a_weight_far_behind_on_the_first_fold_is_out_of_the_race():
    # Of 25 samples: more than a tenth behind is far.
    assert ends_of_race([[1.0], [1.09], [1.11], [1.2]], 7, 25) == [7, 7, 0, 0]
    paths = [[np.array([5.0, 4.0, 3.0, 3.0])], [np.array([5.0, 4.0, 3.4, 2.0])], [np.array([5.0, 4.5, 3.2, 2.3])]]
    assert ends_of_race(paths, 3, 25) == [2, 3, 2]
    assert ends_of_race([[0.0], [0.0]], 7, 25) == [7, 7]
    assert ends_of_race([[np.array([5.0, 1.0, -1e-16])], [np.array([5.0, 1.0, 1e-16])]], 2, 25) == [2, 2]
    assert ends_of_race([*paths, [np.array([5.0, 5.0, 5.0, 5.0])]], 3, 25)[-1] == 0


@pytest.fixture
def splits(rng):
    X = rng.normal(size=(60, 8)) @ rng.normal(size=(8, 700)) + rng.normal(size=(60, 700))
    return hold_out_each(fold_moments(X, None, 4))


@pytest.mark.parametrize("measure", [Round.errors, path_errors])
def test_who_is_in_the_race_has_the_error_of_a_full_search(splits, monkeypatch, measure):
    def errors(many):
        monkeypatch.setattr(_ridge, "_MANY_VALUES", many)
        found = [error for error, _ in errors_by_ridge(splits, lambda: 20, Trial([], [], measure))]
        return np.array(found).reshape(len(RIDGE_GRID), len(splits), -1)

    full, raced = errors(2**60), errors(1)
    ends = ends_of_race([[own[0]] for own in full], 20, splits[0].test.n_samples)
    assert 0 < sum(ends) < 20 * len(ends)
    np.testing.assert_allclose(raced[:, 0], full[:, 0], rtol=1e-9)
    for end, own, other in zip(ends, full[:, 1:], raced[:, 1:], strict=True):
        tried = end + 1 if measure is path_errors else min(end, 1)
        np.testing.assert_allclose(other[:, :tried], own[:, :tried], rtol=1e-9)
        assert np.all(np.isinf(other[:, max(tried, int(measure is path_errors)) :]))


@pytest.mark.parametrize("k", [5, "auto"])
@pytest.mark.parametrize("first", [0, 2, 4])
def test_folds_of_both_forms_are_searched_as_folds_of_sums(rng, k, first):
    X = rng.normal(size=(220, 10)) @ rng.normal(size=(10, 100)) + 0.3 * rng.normal(size=(220, 100))
    sizes = np.where(np.arange(5) == first, 60, 40)
    folds, sums = ([Moments.from_array(part) for part in np.split(X, np.cumsum(sizes)[:-1])] for _ in range(2))
    assert {fold.form for fold in folds} == {"primal", "dual"}
    for fold in sums:
        fold._to_primal()
    found, expected = (ColumnSubset(k).fit_moments(given) for given in (folds, sums))
    assert found.selected_.tolist() == expected.selected_.tolist()
    assert found.ridge_ == expected.ridge_


def held_out_error(X, train, test, ridge):
    """Return the summed error of five features by its definition."""
    fitted = ColumnSubset(5, ridge=ridge, exchange=False, search_criterion="training").fit(X[train])
    chosen, mean = fitted.selected_, X[train].mean(axis=0)
    rows = X[train] - mean
    C = rows.T @ rows / len(rows)
    alpha = ridge * np.trace(C) / len(C)
    coefficients = np.linalg.solve(C[np.ix_(chosen, chosen)] + alpha * np.eye(5), C[chosen])
    return np.sum((X[test] - mean - (X[test] - mean)[:, chosen] @ coefficients) ** 2)


@pytest.mark.parametrize("m", [100, 1_100])
def test_training_sets_may_grow_from_thin_to_whole(rng, m):
    X = rng.normal(size=(m, 8)) @ rng.normal(size=(8, m)) + 0.5 * rng.normal(size=(m, m))
    splits = list(TimeSeriesSplit(3).split(X))
    assert {Moments.from_array(X[train]).form for train, _ in splits} == {"primal", "dual"}
    errors = [sum(held_out_error(X, *split, ridge) for split in splits) for ridge in RIDGE_GRID]
    assert ColumnSubset(5, cv=splits).fit(X).ridge_ == RIDGE_GRID[int(np.argmin(errors))]


@pytest.mark.parametrize("noise", [0.3, 0.02])
def test_errors_of_several_choices_keep_their_digits(rng, noise):
    train, test = (rng.normal(size=(n, 1)) + noise * rng.normal(size=(n, 60)) for n in (400, 100))
    own = Round.of(Moments.from_array(train), Moments.from_array(test))
    found, ridges = [list(range(30)), list(range(20, 40))], [0.0, 1e-3]
    np.testing.assert_allclose(own.errors(found, ridges), list(map(own.error, found, ridges)), rtol=1e-10)


def test_errors_that_are_no_numbers_leave_no_ridge():
    assert least_ridge([(float("nan"), 1.0)] * 3) == 0.0


@pytest.mark.parametrize("values", [1, 2**18])
def test_errors_of_several_rounds_are_those_of_each(rng, monkeypatch, values):
    monkeypatch.setattr(_round, "_VALUES", values)
    rounds = [
        Round.of(*(Moments.from_array(rng.normal(size=(n, 40)) @ rng.normal(size=(40, 40))) for n in (300, 90)))
        for _ in range(3)
    ]
    ridges = [0.0, 0.1, 1.0]
    found = [[rng.permutation(40)[:6].tolist() for _ in ridges] for _ in rounds]
    expected = [list(map(own.error, chosen, ridges)) for own, chosen in zip(rounds, found, strict=True)]
    np.testing.assert_allclose(errors_of_rounds(rounds, found, ridges), expected, rtol=1e-10)
