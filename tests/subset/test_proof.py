"""ColumnSubset on small tables: the best subset, and that it says so."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from stableselect import ColumnSubset, Moments, ScorerSelector
from stableselect.subset._search import Setting, find_columns

WINE = StandardScaler().fit_transform(load_wine().data)


def objective(X, S, ridge):
    """The ridge objective of the columns S, refitted by scikit-learn."""
    alpha = ridge * X.var(axis=0).mean()
    model = Ridge(alpha=max(alpha, 1e-12) * len(X)).fit(X[:, S], X)
    return np.mean((X - model.predict(X[:, S])) ** 2) + alpha * (model.coef_**2).sum() / X.shape[1]


@pytest.mark.parametrize("ridge", [0.3, *(pytest.param(ridge, marks=pytest.mark.slow) for ridge in (0.0, "auto"))])
def test_the_best_of_all_subsets_is_found_and_said_to_be(ridge):
    selector = ColumnSubset(3, ridge=ridge).fit(WINE)
    losses = {S: objective(WINE, S, selector.ridge_) for S in itertools.combinations(range(13), 3)}
    assert tuple(sorted(selector.selected_)) == min(losses, key=losses.get)
    assert selector.proven_optimal_ is True and selector.optimality_gap_ == 0.0
    assert selector.lower_bound_ == selector.objective_ == pytest.approx(min(losses.values()), rel=1e-9)


def test_where_the_exchange_misses_the_best_set_the_proof_finds_it():
    missed = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 16)) @ rng.normal(size=(16, 16))
        selector = ColumnSubset(4, ridge=0.0).fit(X)
        exchanged = find_columns(Moments.from_array(X).operator(), 4, Setting()).chosen
        assert selector.proven_optimal_
        assert selector.objective_ <= objective(X, exchanged, 0.0) * (1 + 1e-9)
        missed += set(selector.selected_) != set(exchanged)
    assert missed > 0


@pytest.mark.slow
def test_without_exchange_nothing_is_proven_and_for_stability_the_default_is(tall):
    forward = ColumnSubset(4, ridge=0.0, exchange=False).fit(tall)
    assert forward.proven_optimal_ is False and forward.n_swaps_ == 0
    assert forward.lower_bound_ <= ColumnSubset(4, ridge=0.0).fit(tall).objective_
    stable = ColumnSubset(4, ridge=0.0, criterion="stability").fit(tall)
    assert stable.proven_optimal_ is (stable.frontier_.chosen == 0)


def test_the_order_is_the_greedy_one_within_the_set():
    rng = np.random.default_rng(5)
    for _ in range(6):
        X = rng.normal(size=(60, 16)) @ rng.normal(size=(16, 16))
        selector = ColumnSubset(4, ridge=0.0, include=[7]).fit(X)
        discarded = np.flatnonzero(~selector.support_)
        again = ColumnSubset(4, ridge=0.0, include=[7], exclude=discarded, exchange=False).fit(X)
        assert selector.selected_.tolist() == again.selected_.tolist()
        assert selector.selected_[0] == 7 and selector.ranking_[selector.selected_].tolist() == [1, 2, 3, 4]


def test_the_order_of_samples_does_not_matter(rng):
    X = rng.normal(size=(50, 7))
    X = np.column_stack([X, X[:, ::-1], X[:, :4] + X[:, 3:]])
    expected = ColumnSubset(3, ridge=0.0).fit(X).selected_
    for other in (X[::-1], X[rng.permutation(50)]):
        np.testing.assert_array_equal(ColumnSubset(3, ridge=0.0).fit(other).selected_, expected)
    np.testing.assert_array_equal(ColumnSubset(3).fit_moments(Moments.from_array(X)).selected_, expected)


def test_a_tensor_is_proven_too():
    torch = pytest.importorskip("torch")
    selector = ColumnSubset(3, ridge=0.0).fit(torch.asarray(WINE))
    assert selector.proven_optimal_ and set(selector.selected_) == set(ColumnSubset(3, ridge=0.0).fit(WINE).selected_)


def test_many_subsets_leave_a_gap_smaller_than_that_of_principal_components(rng):
    X = rng.normal(size=(300, 50)) @ (np.eye(50) + 0.1 * rng.normal(size=(50, 50)))
    selector = ColumnSubset(38, ridge=0.0).fit(X)
    floor = np.linalg.eigvalsh(np.cov(X.T, bias=True))[:12].sum() / 50
    assert selector.proven_optimal_ is False
    assert 1.05 * floor < selector.lower_bound_ < selector.objective_
    assert selector.optimality_gap_ == pytest.approx(1 - selector.lower_bound_ / selector.objective_)


def test_without_a_choice_and_with_nothing_left_there_is_a_proof():
    X = load_breast_cancer().data
    assert ColumnSubset(1).fit(X).proven_optimal_
    assert ColumnSubset(30).fit(X).proven_optimal_
    assert ColumnSubset(3, include=[0, 1, 2]).fit(X).proven_optimal_
    assert not ColumnSubset(15).fit(X).proven_optimal_


def test_the_scorer_starts_from_the_best_subset():
    selector = ScorerSelector(2, scorer_weight=0.0, ridge=0.0).fit(load_iris().data)
    best = ColumnSubset(2, ridge=0.0).fit(load_iris().data)
    assert set(selector.selected_) == set(best.selected_)
