"""The held-out report: its figures by hand, and what it does with scalers, names and roles."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import StandardScaler

from stableselect import ColumnSubset, ConsensusSelector, RandomSelector
from stableselect.base import TooFewSamplesError
from stableselect.inspection import held_out_report
from stableselect.metrics import reconstruction_error


class Fixed(BaseEstimator):
    """Select given features, and remember the samples seen."""

    seen = ()

    def __init__(self, features=(0,), include=None, exclude=None):
        self.features, self.include, self.exclude = features, include, exclude

    def fit(self, X):
        Fixed.seen = X
        self.selected_ = np.array(self.features)
        return self


def test_errors_by_hand():
    rng = np.random.RandomState(3)
    X = rng.standard_normal((50, 3)) @ rng.standard_normal((3, 8)) + 0.1 * rng.standard_normal((50, 8))
    before = X.copy()
    errors = held_out_report(Fixed((4, 1, 6)), X, scaler=StandardScaler(copy=False), random_state=9)
    np.testing.assert_array_equal(X, before)
    assert (errors.n_train, errors.n_test, errors.n_selected) == (40, 10, 3)
    # The split as documented: a seeded permutation whose first fifth is held out.
    order = np.random.RandomState(9).permutation(50)
    scaler = StandardScaler().fit(X[order[10:]])
    train, test = scaler.transform(X[order[10:]]), scaler.transform(X[order[:10]])
    np.testing.assert_allclose(Fixed.seen, train, atol=1e-12)
    fitted = LinearRegression().fit(train[:, [1, 4, 6]], train)
    assert errors.selection_least_squares == pytest.approx(np.mean((fitted.predict(test[:, [1, 4, 6]]) - test) ** 2))
    assert errors.mean_predictor == pytest.approx(np.mean(test**2))
    axes = np.linalg.svd(train)[2][:3]
    assert errors.pca == pytest.approx(np.mean((test - test @ axes.T @ axes) ** 2))


def test_refits_of_many_samples_use_a_part_of_them():
    rng = np.random.RandomState(7)
    X = rng.standard_normal((13_000, 2)) @ rng.standard_normal((2, 3))
    errors = held_out_report(Fixed((0,)), X)
    assert (errors.n_train, errors.n_refit, errors.n_test) == (10_400, 10_000, 2_600)
    order = np.random.RandomState(0).permutation(13_000)
    refit, test = X[order[2_600:12_600]], X[order[:2_600]]
    predicted = LinearRegression().fit(refit[:, [0]], refit).predict(test[:, [0]])
    assert errors.selection_least_squares == pytest.approx(np.mean((predicted - test) ** 2))


def test_random_features_obey_include_and_exclude():
    X = np.random.RandomState(4).standard_normal((30, 4))
    errors = held_out_report(Fixed((0, 3), include=[0], exclude=[1, 2]), X)
    assert errors.random == pytest.approx(errors.selection)
    assert errors.random_std == pytest.approx(0)


def test_names_of_a_data_frame_are_understood(tall):
    frame = pytest.importorskip("pandas").DataFrame(tall, columns=list("abcdefghijkl"))
    named = held_out_report(ColumnSubset(4, include=["c"], exclude=["a"]), frame, random_state=1)
    assert named == held_out_report(ColumnSubset(4, include=[2], exclude=[0]), tall, random_state=1)


def test_every_feature_selected_leaves_no_error(tall):
    errors = held_out_report(RandomSelector(12, random_state=0), tall)
    assert (errors.selection, errors.random, errors.pca, errors.n_selected) == (0, 0, 0, 12)
    assert errors.mean_predictor > 0


def test_bad_samples_raise(tall):
    with pytest.raises(ValueError, match="at least 2 samples, got 1"):
        held_out_report(ColumnSubset(2), tall[:1])
    with pytest.raises(ValueError, match="X must hold finite numbers"):
        held_out_report(ColumnSubset(2), np.where(tall > 1, np.nan, tall))
    with pytest.raises(TooFewSamplesError, match="fit on more samples") as caught:
        held_out_report(ColumnSubset(2, criterion="stability"), tall[:6])
    assert caught.value.n_folds < caught.value.n_needed


def test_any_splitter_gives_the_mean_over_its_splits(tall):
    cv = GroupKFold(3)
    groups = np.arange(60) // 5
    found = held_out_report(ColumnSubset(4, ridge=0.1), tall, cv=cv, groups=groups)
    errors = [
        reconstruction_error(
            tall[train], tall[test], ColumnSubset(4, ridge=0.1).fit(tall[train]).selected_, refit="ridge"
        )
        for train, test in cv.split(tall, groups=groups)
    ]
    assert found.selection == pytest.approx(np.mean(errors))
    assert (found.n_train, found.n_test, found.n_selected) == (40, 20, 4)
    assert found == held_out_report(ColumnSubset(4, ridge=0.1), tall, cv=list(cv.split(tall, groups=groups)))


def test_a_consensus_draws_whole_groups(tall, monkeypatch):
    given, fit = [], ConsensusSelector.fit

    def noted(self, X, y=None, groups=None):
        given.append(groups)
        return fit(self, X, y, groups)

    groups = np.arange(60) // 5
    selector = ConsensusSelector(ColumnSubset(ridge=0.1), n_features_to_select=4, n_resamples=4).fit(tall)
    monkeypatch.setattr(ConsensusSelector, "fit", noted)
    held_out_report(selector, tall, cv=GroupKFold(3), groups=groups)
    selector.calibrate(tall, cv=GroupKFold(3), groups=groups)
    assert [len(np.unique(own)) for own in given] == [8] * 6  # of 12 groups
    held_out_report(selector.set_params(perturb="seed", estimator=RandomSelector()), tall, groups=groups)
    assert given[6:] == [None]  # every fit sees all samples


def test_residuals_are_in_the_units_of_the_samples(tall):
    X = tall * 10.0 ** np.arange(12)
    for scaler in (None, StandardScaler()):
        left = []
        errors = held_out_report(ColumnSubset(4), X, scaler=scaler, residuals=left)
        assert len(left) == 1 and left[0].residuals.shape == (errors.n_test, 12)
    test = np.random.RandomState(0).permutation(60)[:12]
    train = np.setdiff1d(np.arange(60), test)
    scaler = StandardScaler().fit(X[train])
    model = ColumnSubset(4).fit(scaler.transform(X[train]))
    rebuilt = scaler.inverse_transform(model.reconstruct(model.transform(scaler.transform(X[test]))))
    out = ~model.support_
    np.testing.assert_allclose(left[0].residuals[:, out], (X[test] - rebuilt)[:, out])


def test_all_samples_can_be_held_out_in_turn(tall):
    once, turns = [], []
    alone = held_out_report(ColumnSubset(4), tall, residuals=once)
    both = held_out_report(ColumnSubset(4), tall, residuals=turns, all_folds=True)
    assert alone == both
    assert [len(part.leverage) for part in turns] == [12] * 5
    np.testing.assert_array_equal(turns[0].residuals, once[0].residuals)
