"""The base classes: the contract, reconstruction, scores, rankings, and a selector written by a user."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stableselect import PFA, BaseSelector, ColumnSubset, LaplacianScore, RandomSelector, all_selectors
from stableselect.base import SamplesSelector, ScoreSelector, Selection, StreamingSelector


class Fixed(ScoreSelector):
    """Scores that do not depend on the samples."""

    def __init__(self, n_features_to_select=None, scores=(), include=None, exclude=None):
        self.n_features_to_select = n_features_to_select
        self.scores = scores
        self.include = include
        self.exclude = exclude

    def _score_features(self, X, k):
        return np.asarray(self.scores, dtype=float)


class First(SamplesSelector):
    """The first k features, with or without a map."""

    def __init__(self, n_features_to_select=None):
        self.n_features_to_select = n_features_to_select

    def _select(self, X, k):
        return Selection(list(range(k)), np.arange(X.shape[1], dtype=float))


def test_every_selector_follows_one_of_the_contracts():
    for name, cls in all_selectors().items():
        assert issubclass(cls, BaseSelector) and not getattr(cls, "__abstractmethods__", None), name
    with pytest.raises(TypeError, match="abstract"):
        BaseSelector()


def test_moments_folds_tells_whether_moments_are_enough():
    assert RandomSelector()._moments_folds() is None
    assert PFA()._moments_folds() == 0
    assert ColumnSubset(ridge=0.1)._moments_folds() == 0
    assert ColumnSubset()._moments_folds() == 5
    assert ColumnSubset(criterion="stability")._moments_folds() == 10
    assert all(cls()._moments_folds() is None for cls in all_selectors().values() if issubclass(cls, SamplesSelector))
    assert issubclass(ColumnSubset, StreamingSelector) and issubclass(PFA, StreamingSelector)


def test_scores_choose_with_include_and_exclude(tall):
    scores = np.arange(12.0)
    plain = Fixed(3, scores).fit(tall)
    assert plain.selected_.tolist() == [11, 10, 9]
    forced = Fixed(3, scores, include=[0], exclude=[11]).fit(tall)
    assert forced.selected_.tolist() == [0, 10, 9]
    # The ranks of the discarded features follow their own scores, which the weak one does not cap.
    assert forced.ranking_.tolist() == [1, 12, 11, 10, 9, 8, 7, 6, 5, 3, 2, 4]
    np.testing.assert_array_equal(forced.scores_, [*scores[:11], 9.0])  # what is excluded stays below what was earned
    assert Fixed(12, scores, include=range(12)).fit(tall).selected_.tolist() == list(range(12))


def test_a_score_never_puts_a_discarded_feature_above_one_that_earned_its_place(tall):
    chosen = First(3).fit(tall)
    assert chosen.scores_.tolist() == [0, 1, 2] + [0] * 9
    assert chosen.ranking_.tolist() == [1, 2, 3, *range(12, 3, -1)]


def test_ridge_does_not_alter_the_selected_features(tall):
    selector = ColumnSubset(4, ridge=10.0).fit(tall)
    kept = selector.transform(tall)
    raw = kept @ selector.reconstruction_coef_ + selector.reconstruction_intercept_
    assert np.abs(raw[:, selector.support_] - kept).max() > 0.5
    rebuilt = selector.reconstruct(kept)
    np.testing.assert_array_equal(rebuilt[:, selector.support_], kept)
    np.testing.assert_array_equal(rebuilt[:, ~selector.support_], raw[:, ~selector.support_])


def test_grid_search_works_without_labels(tall, rng):
    noisy, cv, grid = tall + 3 * rng.normal(size=tall.shape), KFold(4), [0.0, 0.3, 1e6]
    search = GridSearchCV(ColumnSubset(4), {"ridge": grid}, cv=cv).fit(noisy)
    for ridge, score in zip(grid, search.cv_results_["mean_test_score"], strict=True):
        errors = []
        for train, test in cv.split(noisy):
            model = ColumnSubset(4, ridge=ridge).fit(noisy[train])
            errors.append(np.mean((model.reconstruct(model.transform(noisy[test])) - noisy[test]) ** 2))
        assert score == pytest.approx(-np.mean(errors))
    assert search.best_params_["ridge"] != 1e6
    pipeline = make_pipeline(StandardScaler(), ColumnSubset())
    found = GridSearchCV(pipeline, {"columnsubset__n_features_to_select": [1, 6]}, cv=3).fit(tall)
    assert found.best_params_ == {"columnsubset__n_features_to_select": 6}


def test_score_of_tensors_and_of_an_unfitted_selector(tall):
    torch = pytest.importorskip("torch")
    selector = LaplacianScore(4).fit(tall)
    assert selector.score(torch.asarray(tall)) == pytest.approx(selector.score(tall))
    with pytest.raises(NotFittedError):
        LaplacianScore(4).score(tall)
    with pytest.raises(ValueError, match="12 features"):
        selector.score(tall[:, :5])
