"""InfFS against its definition: plain loops for A, a full eigendecomposition for rho(A), an inverse for the energy."""

import tracemalloc

import numpy as np
import pytest
from scipy.stats import spearmanr
from threadpoolctl import threadpool_limits

from stableselect.filters import InfFS
from stableselect.filters import _inf_fs as module


def definition(X, alpha=0.5):
    """Energy of every column and rho(A), from the formula."""
    m = X.shape[1]
    deviation = X.std(axis=0)
    low, high = deviation.min(), deviation.max()
    s = [(d - low) / (high - low) for d in deviation]
    A = np.empty((m, m))
    for i in range(m):
        for j in range(m):
            rho = 1.0 if i == j else spearmanr(X[:, i], X[:, j])[0]
            A[i, j] = alpha * max(s[i], s[j]) + (1 - alpha) * (1 - abs(rho))
    radius = np.abs(np.linalg.eigvals(A)).max()
    r = 0.9 / radius
    return (np.linalg.inv(np.eye(m) - r * A) - np.eye(m)).sum(axis=1), radius


@pytest.fixture
def mixed(rng):
    """40 x 15: correlated columns of different spread, some with tied values."""
    X = rng.normal(size=(40, 15)) @ rng.normal(size=(15, 15)) * rng.uniform(0.5, 3, 15)
    X[:, 3:6] = np.round(X[:, 3:6])
    return X


@pytest.fixture(params=["stored", "blocks"])
def path(request, monkeypatch):
    """Run with A stored, and with blocks that do not divide the number of columns."""
    if request.param == "blocks":
        monkeypatch.setattr(module, "_STORED", 0)
        monkeypatch.setattr(module, "_BLOCK", 4)
        monkeypatch.setattr(module, "_RANK_ELEMENTS", 100)
    return request.param


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.5, 1.0])
def test_energy_is_the_row_sum_of_the_inverse_less_one(mixed, alpha, path):
    energy, radius = definition(mixed, alpha)
    selector = InfFS(15, alpha=alpha).fit(mixed)
    np.testing.assert_allclose(selector.scores_, energy, rtol=1e-8)
    np.testing.assert_allclose(selector.spectral_radius_, radius, rtol=1e-10)
    np.testing.assert_array_equal(selector.selected_, np.argsort(-energy))


def test_energy_is_the_sum_over_path_lengths(mixed):
    selector = InfFS(15).fit(mixed)
    product = module._stored_product(module._relative_deviations(mixed), module.standardised_ranks(mixed), 0.5)
    term, total = np.ones(15), np.zeros(15)
    for _ in range(400):
        term = 0.9 / selector.spectral_radius_ * product(term)
        total += term
    np.testing.assert_allclose(selector.scores_, total, rtol=1e-8)


def test_stored_and_blocked_products_agree(rng):
    X = rng.normal(size=(30, 2500)) * rng.uniform(0.5, 2, 2500)
    s, Z = module._relative_deviations(X), module.standardised_ranks(X)
    v = rng.normal(size=2500)
    stored, blocked = module._stored_product(s, Z, 0.4)(v), module.blocked_product(s, Z, 0.4)(v)
    np.testing.assert_allclose(stored, blocked, atol=1e-10)


def test_stored_and_blocked_selections_agree_on_a_wide_table(rng, monkeypatch):
    X = rng.normal(size=(30, 2500)) * rng.uniform(0.5, 2, 2500)
    stored = InfFS(50).fit(X)
    monkeypatch.setattr(module, "_STORED", 2499)
    blocked = InfFS(50).fit(X)
    np.testing.assert_array_equal(stored.selected_, blocked.selected_)
    np.testing.assert_allclose(stored.scores_, blocked.scores_, rtol=1e-8)


def test_blocks_hold_no_array_of_columns_by_columns(rng, monkeypatch):
    monkeypatch.setattr(module, "_STORED", 0)
    monkeypatch.setattr(module, "_BLOCK", 64)
    X = rng.normal(size=(10, 2000))
    tracemalloc.start()
    s, Z = module._relative_deviations(X), module.standardised_ranks(X)
    module._energy(module.blocked_product(s, Z, 0.5), 2000, lambda: None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 2000 * 2000 / 10


def test_scores_do_not_depend_on_units_and_shift(mixed):
    expected = InfFS(15).fit(mixed).scores_
    for factor, shift in ((1e-130, 0.0), (1e130, 0.0), (-3.0, 50.0)):
        np.testing.assert_allclose(InfFS(15).fit(factor * mixed + shift).scores_, expected, rtol=1e-8)


def test_standardised_columns_are_ranked_by_correlation_alone(mixed):
    X = (mixed - mixed.mean(axis=0)) / mixed.std(axis=0)
    np.testing.assert_allclose(InfFS(15).fit(X).scores_, InfFS(15, alpha=0.0).fit(X).scores_, rtol=1e-8)
    single = X.astype(np.float32) * 7
    np.testing.assert_allclose(InfFS(15).fit(single).scores_, InfFS(15, alpha=0.0).fit(single).scores_, rtol=1e-8)


def test_alpha_one_ranks_by_deviation(mixed, path):
    np.testing.assert_array_equal(InfFS(15, alpha=1.0).fit(mixed).selected_[:5], np.argsort(-mixed.std(axis=0))[:5])


def test_alpha_zero_prefers_the_column_that_repeats_no_other(rng):
    base = rng.normal(size=(80, 1))
    X = np.hstack([base + 0.1 * rng.normal(size=(80, 6)), rng.normal(size=(80, 1))])
    assert InfFS(1, alpha=0.0).fit(X).selected_.tolist() == [6]


def test_equal_columns_tie_and_the_lowest_index_wins(mixed, path):
    X = np.hstack([mixed, mixed, mixed])
    selector = InfFS(9).fit(X)
    first = selector.selected_[::3]
    assert np.all(first < 15)
    np.testing.assert_array_equal(selector.selected_, np.stack([first, first + 15, first + 30], axis=1).ravel())


def test_constant_columns_change_nothing_and_come_last(mixed, path):
    X = np.insert(mixed, [0, 7], 0.1, axis=1)
    varying = np.setdiff1d(np.arange(17), [0, 8])
    selector = InfFS(17).fit(X)
    np.testing.assert_allclose(selector.scores_[varying], InfFS(15).fit(mixed).scores_, rtol=1e-12)
    assert selector.selected_[-2:].tolist() == [0, 8]
    assert set(InfFS(15).fit(X).selected_) == set(varying)


@pytest.mark.parametrize("kind", ["one varying column", "all constant", "all equal", "one row"])
def test_tables_without_edges_give_equal_scores(rng, kind, path):
    x = rng.normal(size=(20, 1))
    X = {
        "one varying column": np.hstack([np.ones((20, 2)), x]),
        "all constant": np.ones((20, 3)),
        "all equal": np.hstack([x, -x, x]),
        "one row": x[:3].T,
    }[kind]
    selector = InfFS(3).fit(X)
    assert selector.spectral_radius_ == 0.0
    expected = {"one varying column": [2, 0, 1]}.get(kind, [0, 1, 2])
    assert selector.selected_.tolist() == expected


def test_one_scaling_ranks_otherwise_than_the_widespread_two(rng):
    # Scaling A twice leaves the row sums of A; the energy also counts longer paths.
    X = rng.normal(size=(12, 60)) @ rng.normal(size=(60, 60)) * rng.uniform(0.1, 3, 60)
    product = module._stored_product(module._relative_deviations(X), module.standardised_ranks(X), 0.5)
    A = product(np.eye(60))
    largest = A.sum(axis=1).max()
    twice = np.linalg.solve(np.eye(60) - A / largest / largest, np.ones(60))
    np.testing.assert_array_equal(np.argsort(-twice), np.argsort(-A.sum(axis=1)))
    assert not np.array_equal(InfFS(60).fit(X).selected_, np.argsort(-twice))


def test_published_settings():
    assert InfFS.published(5).get_params() == {
        "n_features_to_select": 5,
        "alpha": 0.5,
        "include": None,
        "exclude": None,
        "verbose": False,
    }


@pytest.mark.parametrize("alpha", [-0.1, 1.1, np.nan, "half", None])
def test_bad_alpha_is_refused_in_a_sentence(mixed, alpha):
    with pytest.raises(ValueError, match="'alpha' parameter of"):
        InfFS(2, alpha=alpha).fit(mixed)


@pytest.mark.slow
@pytest.mark.parametrize("m", [1500, 5000], ids=["stored", "by blocks"])
def test_threads_change_no_bit_of_the_scores(rng, m):
    X = rng.normal(size=(30, m))
    with threadpool_limits(1):
        one = InfFS(5).fit(X).scores_
    with threadpool_limits(3):
        three = InfFS(5).fit(X).scores_
    np.testing.assert_array_equal(three, one)
