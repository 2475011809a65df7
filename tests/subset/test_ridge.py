"""Which ridge weights are tried on which folds."""

import numpy as np
import pytest

from stableselect._core import fold_moments, hold_out_each
from stableselect.subset import _ridge
from stableselect.subset._path_errors import path_errors
from stableselect.subset._ridge import RIDGE_GRID, Trial, ends_of_race, errors_by_ridge
from stableselect.subset._round import Round


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
