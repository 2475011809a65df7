"""Few samples against features: ridge and search by the exact leave-one-out error."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, LeaveOneOut

from stableselect import ColumnSubset, Moments, ScorerSelector
from stableselect._core import fold_moments
from stableselect.metrics import reconstruction_error
from stableselect.subset import _default
from stableselect.subset._default import RIDGES


def genes(rng, n=40, m=600):
    """Six factors in heavy noise, of another size in every feature."""
    loadings = rng.normal(size=(6, m)) * (rng.uniform(size=(6, m)) < 0.3)
    return rng.normal(size=(n, 6)) @ loadings + rng.uniform(0.2, 2.0, size=m) * rng.normal(size=(n, m))


def curves(rng, n=40, m=200):
    """Smooth functions of the position: neighbouring features are nearly equal."""
    position = np.arange(m) / m
    waves = [np.sin((j + 1) * np.pi * position + j) / (j + 1) for j in range(8)]
    return rng.normal(size=(n, 8)) @ np.array(waves) + 0.01 * rng.normal(size=(n, m))


def refitted_error(X, selected, ridge):
    """Mean squared error on every sample of scikit-learn's ridge regression fitted on the others."""
    penalty = ridge * len(X) * X.var(axis=0).mean()
    S, total = np.sort(selected), 0.0
    for train, test in LeaveOneOut().split(X):
        model = Ridge(alpha=penalty, solver="cholesky").fit(X[train][:, S], X[train])
        total += np.mean((model.predict(X[test][:, S]) - X[test]) ** 2)
    return total / len(X)


@pytest.fixture
def X(rng):
    return genes(rng)


def test_genes_are_searched_on_the_leave_one_out_error_and_reconstruct_other_samples_better(rng):
    table = genes(rng, n=240)
    X, other = table[:40], table[40:]
    default, training = ColumnSubset(20).fit(X), ColumnSubset(20, search_criterion="training").fit(X)
    assert default.search_criterion_ == "leave_one_out" and training.search_criterion_ == "training"
    assert not hasattr(training, "leave_one_out_error_")
    errors = [reconstruction_error(X, other, s.selected_, refit="ridge") for s in (default, training)]
    assert errors[0] < 0.98 * errors[1]


def test_curves_are_searched_on_the_training_loss_with_a_ridge_by_leave_one_out(rng):
    X = curves(rng)
    default = ColumnSubset(6).fit(X)
    assert default.search_criterion_ == "training"
    assert default.n_swaps_ > 0
    assert default.ridge_ in RIDGES
    same = ColumnSubset(6, ridge=default.ridge_, search_criterion="training").fit(X)
    np.testing.assert_array_equal(default.selected_, same.selected_)
    assert default.leave_one_out_error_ == pytest.approx(refitted_error(X, same.selected_, same.ridge_), rel=1e-9)


def test_the_search_is_tried_with_many_features_a_sample_only(rng, monkeypatch):
    tried = []
    search = _default.forward_leave_one_out
    monkeypatch.setattr(_default, "forward_leave_one_out", lambda *given: tried.append(1) or search(*given))
    ColumnSubset(5).fit(curves(rng, m=159))
    assert not tried
    ColumnSubset(5).fit(curves(rng, m=160))
    assert tried


def test_a_long_search_is_made_where_its_last_quarter_promises_something(rng, monkeypatch):
    monkeypatch.setattr(_default, "_LARGE", 0)
    X = rng.normal(size=(60, 40)) @ rng.normal(size=(40, 300)) + rng.normal(size=(60, 300))
    monkeypatch.setattr(_default, "_MANY", 100)
    whole = ColumnSubset(20).fit(X)
    tried, own = [], _default.forward_leave_one_out

    def search(*given, start=None):
        tried.append(0 if start is None else len(start.chosen))
        return own(*given, start=start)

    monkeypatch.setattr(_default, "forward_leave_one_out", search)
    monkeypatch.setattr(_default, "_MANY", 10)
    monkeypatch.setattr(_default, "_HOPELESS_AT_LAST", 0.9)
    np.testing.assert_array_equal(ColumnSubset(20).fit(X).selected_, whole.selected_)
    assert tried == [15]
    monkeypatch.setattr(_default, "_HOPELESS_AT_LAST", 2.0)
    again = ColumnSubset(20).fit(genes(np.random.default_rng(5)))
    assert tried[1:3] == [15, 0]
    monkeypatch.setattr(_default, "_MANY", 100)
    np.testing.assert_array_equal(again.selected_, ColumnSubset(20).fit(genes(np.random.default_rng(5))).selected_)


def test_a_search_that_promises_nothing_is_made_with_one_ridge_weight(rng, monkeypatch):
    tried, own = [], _default.forward_leave_one_out
    monkeypatch.setattr(_default, "forward_leave_one_out", lambda *given: tried.append(given[2]) or own(*given))
    X = rng.normal(size=(40, 20)) @ rng.normal(size=(20, 200)) + rng.normal(size=(40, 200))
    default = ColumnSubset(6).fit(X)
    assert default.search_criterion_ == "training" and tried == [default.ridge_]
    tried.clear()
    chosen = ColumnSubset(20).fit(genes(rng))
    assert chosen.search_criterion_ == "leave_one_out" and len(tried) > 1
    assert len(set(tried)) == len(tried)  # none is made twice


@pytest.mark.parametrize("exchange", [False, True])
def test_the_error_reported_is_that_of_refitting(X, exchange):
    selector = ColumnSubset(8, search_criterion="leave_one_out", exchange=exchange).fit(X)
    assert selector.leave_one_out_error_ == pytest.approx(
        refitted_error(X, selector.selected_, selector.ridge_), rel=1e-9
    )
    assert (selector.n_swaps_ > 0) is exchange


def test_swaps_lower_the_error(X):
    plain, swapped = (ColumnSubset(8, search_criterion="leave_one_out", exchange=e).fit(X) for e in (False, True))
    assert swapped.leave_one_out_error_ < plain.leave_one_out_error_


def test_the_ridge_is_the_one_of_least_leave_one_out_error(X):
    found = ColumnSubset(8, search_criterion="leave_one_out", exchange=False).fit(X)
    errors = {
        ridge: ColumnSubset(8, ridge=ridge, search_criterion="leave_one_out", exchange=False).fit(X) for ridge in RIDGES
    }
    assert found.ridge_ == min(errors, key=lambda ridge: errors[ridge].leave_one_out_error_)


def test_bounds_are_about_the_training_loss(X):
    selector = ColumnSubset(8).fit(X)
    S = np.sort(selector.selected_)
    penalty = selector.ridge_ * X.var(axis=0).mean()
    model = Ridge(alpha=penalty * len(X), solver="cholesky").fit(X[:, S], X)
    loss = np.mean((model.predict(X[:, S]) - X) ** 2) + penalty * np.sum(model.coef_**2) / X.shape[1]
    assert selector.objective_ == pytest.approx(loss, rel=1e-9)
    assert selector.lower_bound_ <= selector.objective_ < selector.leave_one_out_error_


def test_every_way_to_give_the_samples_finds_the_same(X, rng):
    whole = ColumnSubset(20).fit(X)
    stream = ColumnSubset(20)
    for block in np.array_split(X, 3):
        stream.partial_fit(block)
    others = [
        ColumnSubset(20).fit(X[rng.permutation(len(X))]),
        ColumnSubset(20).fit_moments(Moments.from_array(X)),
        ColumnSubset(20).fit_moments(fold_moments(X, None, 5)),
        ColumnSubset(20).fit(np.repeat(X, 2, axis=0)),
        ColumnSubset(20).fit(np.vstack([X, X[:3]]), sample_weight=np.r_[np.ones(40), np.zeros(3)]),
        stream,
    ]
    for other in others:
        np.testing.assert_array_equal(other.selected_, whole.selected_)
        assert other.leave_one_out_error_ == pytest.approx(whole.leave_one_out_error_, rel=1e-9)
        assert other.search_criterion_ == "leave_one_out" and other.fold_sizes_.size == 1


def test_a_weight_is_a_number_of_repetitions(X):
    weights = np.arange(len(X)) % 3
    weighted = ColumnSubset(20).fit(X, sample_weight=weights)
    repeated = ColumnSubset(20).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_array_equal(weighted.selected_, repeated.selected_)
    assert weighted.leave_one_out_error_ == pytest.approx(repeated.leave_one_out_error_, rel=1e-9)


def test_include_and_exclude_hold(X):
    free = ColumnSubset(20).fit(X)
    bound = ColumnSubset(20, include=[5, 3], exclude=free.selected_[:4]).fit(X)
    assert bound.selected_[:2].tolist() == [5, 3]
    assert not set(bound.selected_) & set(free.selected_[:4].tolist())


def test_sums_alone_and_folds_of_ones_own_are_searched_on_the_training_loss(X, tall):
    cases = [
        ColumnSubset(5).fit(tall),
        ColumnSubset(5, cv=5).fit(X),
        ColumnSubset(5, cv=KFold(4)).fit(X),
        ColumnSubset(5, ridge=0.0).fit(X),
    ]
    assert [case.search_criterion_ for case in cases] == ["training"] * 4
    assert not any(hasattr(case, "leave_one_out_error_") for case in cases)


def test_a_refit_forgets_the_error_of_the_fit_before(X, tall):
    assert not hasattr(ColumnSubset(5).fit(X).fit(tall), "leave_one_out_error_")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ridge": 0}, "needs a ridge of at least 1e-06, got 0"),
        ({"cv": 3}, "cv holds out folds"),
        ({"criterion": "stability", "ridge": 0.1}, "goes with stability only where ridge is 'auto'"),
    ],
)
def test_what_does_not_go_with_the_leave_one_out_error_raises(X, given, message):
    with pytest.raises(ValueError, match=message):
        ColumnSubset(5, search_criterion="leave_one_out", **given).fit(X)


def test_the_leave_one_out_error_needs_the_samples(tall):
    with pytest.raises(ValueError, match=r"needs the samples themselves.*60 samples of 12 features in primal form"):
        ColumnSubset(5, search_criterion="leave_one_out").fit(tall)


def test_a_feature_that_rests_on_one_sample_is_not_selected(X):
    X[:, 100] = 0.0
    X[7, 100] = 20.0
    assert 100 in ColumnSubset(20, ridge=1.0, search_criterion="training").fit(X).selected_
    selector = ColumnSubset(20).fit(X)
    assert selector.search_criterion_ == "leave_one_out"
    assert 100 not in selector.selected_


def test_the_number_of_features_comes_from_folds_and_the_search_from_the_leave_one_out_error(X):
    selector = ColumnSubset("auto", min_explained_variance=0.3, max_features=30).fit(X)
    fixed = ColumnSubset(selector.path_.n_features).fit(X)
    np.testing.assert_array_equal(selector.selected_, fixed.selected_)
    assert selector.fold_sizes_.size == 5


def test_scorer_starts_from_the_same_set(X):
    plain, scorer = ColumnSubset(20).fit(X), ScorerSelector(20).fit(X)
    assert scorer.search_criterion_ == "leave_one_out"
    assert set(scorer.selected_) == set(plain.selected_)
    assert scorer.ridge_ == plain.ridge_


def test_torch_finds_the_same(X):
    torch = pytest.importorskip("torch")
    expected, found = ColumnSubset(6).fit(X), ColumnSubset(6).fit(torch.asarray(X))
    np.testing.assert_array_equal(found.selected_, expected.selected_)
    assert found.leave_one_out_error_ == pytest.approx(expected.leave_one_out_error_, rel=1e-10)
    assert isinstance(found.leave_one_out_error_, float)
