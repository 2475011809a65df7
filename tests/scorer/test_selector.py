"""ScorerSelector: the autoencoder that it exposes, its parameters, and what it shares with ColumnSubset."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from stableselect import ColumnSubset, Moments, ScorerSelector
from stableselect.scorer import ScorerObjective


def table(n, m, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) @ rng.normal(size=(m, m)) + rng.normal(size=m)
    return X / X.std(axis=0)


@pytest.mark.parametrize("shape", [(80, 15), (10, 25)])
def test_selector_exposes_the_network_that_attains_its_objective(shape):
    X = table(*shape)
    selector = ScorerSelector(5, ridge=0.0, scorer_weight=0.25).fit(X)
    S = selector.selected_
    direct = np.mean((X - selector.forward(X)) ** 2) + 0.25 * np.mean((X - selector.forward(X, "scorer")) ** 2)
    assert direct == pytest.approx(selector.objective_, rel=1e-9, abs=1e-14)
    assert np.mean((X - selector.forward(X)) ** 2) == pytest.approx(selector.loss_selector_, rel=1e-8, abs=1e-14)
    assert set(np.argsort(-selector.score_weights_)[:5]) == set(S)
    discarded = ~selector.support_
    rebuilt = selector.reconstruct(selector.transform(X))
    np.testing.assert_allclose(rebuilt[:, discarded], selector.forward(X)[:, discarded], atol=1e-9)
    np.testing.assert_array_equal(rebuilt[:, selector.support_], X[:, selector.support_])
    assert selector.lower_bound_ <= selector.objective_


def test_default_search_is_at_least_as_good_as_plain_column_subset_for_its_own_objective():
    X = table(200, 30, seed=5)
    plain = ColumnSubset(6, ridge=0.0).fit(X)
    selector = ScorerSelector(6, ridge=0.0, scorer_weight=1.0).fit(X)
    objective = ScorerObjective(Moments.from_array(X).operator(), 6, 1.0, 0.0)
    assert selector.objective_ * 30 <= objective.exact(plain.selected_.tolist())[0] * (1 + 1e-12)
    assert selector.objective_ * 30 == pytest.approx(objective.exact(selector.selected_.tolist())[0], rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_network_attains_the_objective_when_units_differ_widely(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 8)) @ rng.normal(size=(8, 8)) * 10.0 ** rng.uniform(-4, 4, size=8)
    selector = ScorerSelector(3, ridge=0.0).fit(X)
    direct = np.mean((X - selector.forward(X)) ** 2) + np.mean((X - selector.forward(X, "scorer")) ** 2) / 128
    assert direct == pytest.approx(selector.objective_, rel=1e-3, abs=1e-8 * X.var(axis=0).mean())


@pytest.mark.parametrize(("seed", "decades"), [(89, 7.0), (26, 3.5), (41, 3.0)])
def test_objective_is_what_the_network_attains_beyond_the_precision_of_the_closed_form(seed, decades):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(5, 40)), int(rng.integers(4, 25))
    k = int(rng.integers(1, m))
    X = rng.normal(size=(n, m)) * 10 ** rng.uniform(-decades, decades, m)
    selector = ScorerSelector(k, ridge=0.1).fit(X)
    mean_variance = X.var(axis=0).mean()
    S = selector.support_
    product = (selector.score_weights_[:, None] * selector.encoder_)[S] @ selector.decoder_
    errors = [np.mean((X - selector.forward(X, path)) ** 2) for path in ("selector", "scorer")]
    direct = errors[0] + errors[1] / 128 + 0.1 * mean_variance * np.sum(product**2) / m
    assert selector.objective_ == pytest.approx(direct, rel=1e-9, abs=1e-12 * mean_variance)
    assert selector.lower_bound_ <= selector.objective_


def test_losses_are_not_negative_beyond_the_rank():
    for seed in range(20):
        X = table(8, 14, seed)
        selector = ScorerSelector(9, ridge=0.0).fit(X)
        assert 0 <= selector.loss_selector_ <= 1e-12 and 0 <= selector.loss_scorer_ <= 1e-12


def test_features_of_equal_score_come_in_their_own_order(rng):
    """Three copies of three features, all selected: scores of copies differ by rounding at most."""
    X = np.tile(rng.integers(0, 5, size=(40, 3)).astype(float), 3)
    for container in (np.ascontiguousarray, np.asfortranarray, sparse.csr_array):
        selector = ScorerSelector(9, ridge=0.0).fit(container(X[rng.permutation(40)]))
        assert selector.score_weights_[:3].tolist() * 3 == selector.score_weights_.tolist()
        for j in range(3):
            assert [i for i in selector.selected_ if i % 3 == j] == [j, j + 3, j + 6]


def test_forward_checks_its_arguments(rng):
    X = rng.normal(size=(20, 5))
    with pytest.raises(NotFittedError):
        ScorerSelector(2).forward(X)
    with pytest.raises(ValueError, match="path must be"):
        ScorerSelector(2).fit(X).forward(X, "decoder")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"score_function": "cube"}, "'score_function' parameter of ScorerSelector must be"),
        ({"scorer_weight": -1}, "'scorer_weight' parameter of ScorerSelector must be"),
        ({"latent_width": 0}, "'latent_width' parameter of ScorerSelector must be"),
    ],
)
def test_bad_scorer_parameters_get_one_sentence(tall, params, message):
    with pytest.raises(ValueError, match=message):
        ScorerSelector(3, **params).fit(tall)


def test_the_score_function_does_not_change_the_selection(tall):
    one, other = (ScorerSelector(4, score_function=name).fit(tall) for name in ("abs", "square"))
    np.testing.assert_array_equal(one.selected_, other.selected_)
    np.testing.assert_array_equal(one.forward(tall), other.forward(tall))


def test_without_a_scorer_and_with_full_width_it_is_column_subset(tall):
    plain = ColumnSubset(4, ridge=0.1).fit(tall)
    selector = ScorerSelector(4, ridge=0.1, scorer_weight=0.0).fit(tall)
    assert set(selector.selected_) == set(plain.selected_)
    assert selector.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    bound = ColumnSubset(4, ridge=0.1, exchange=False).fit(tall).lower_bound_
    assert selector.lower_bound_ == pytest.approx(bound, rel=1e-9)
    np.testing.assert_allclose(
        selector.reconstruct(selector.transform(tall)), plain.reconstruct(plain.transform(tall)), atol=1e-9
    )
