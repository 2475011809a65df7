"""MCFS and its least angle regression against brute force."""

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.linear_model import lars_path

from stableselect.graph import MCFS, _spectrum
from stableselect.graph._mcfs import least_angle, mcfs_scores, spectral_embedding
from stableselect.graph._neighbours import neighbour_graph
from stableselect.graph._spectrum import default_clusters


def regress(X, y, k):
    gram = X.T @ X
    return least_angle(lambda j: gram[j], np.diag(gram).copy(), X.T @ y, k)


@pytest.mark.parametrize("k", [1, 3, 7])
def test_scores_equal_the_definition(tall, k):
    W = neighbour_graph(tall, 8).toarray()
    D = np.diag(W.sum(axis=1))
    _, Y = eigh(D - W, D)
    Y = Y[:, 1:4] * np.sqrt(D.sum())
    centred = tall - tall.mean(axis=0)
    largest = np.zeros(12)
    for y in Y.T:
        _, _, path = lars_path(centred, y - y.mean(), max_iter=k, method="lar")
        largest = np.maximum(largest, np.abs(path[:, -1]))
    selector = MCFS(k, n_clusters=3, n_neighbors=8).fit(tall)
    taken = largest > 0
    np.testing.assert_array_equal(selector.selected_, np.argsort(-largest, kind="stable")[:k])
    np.testing.assert_allclose(selector.scores_[selector.selected_], largest[selector.selected_], rtol=1e-7)
    assert np.all(selector.scores_[~taken] <= 0)


@pytest.mark.parametrize(("n", "m", "k"), [(60, 12, 5), (60, 40, 40), (15, 40, 10), (15, 40, 30)])
def test_least_angle_keeps_its_optimality_conditions(rng, n, m, k):
    X = rng.normal(size=(n, m)) * rng.uniform(0.5, 2, m)
    X -= X.mean(axis=0)
    y = rng.normal(size=n)
    coefficients, active = regress(X, y - y.mean(), k)
    assert len(active) == min(k, m, n - 1) == len(set(active))
    assert set(np.flatnonzero(coefficients)) == set(active)
    correlation = np.abs(X.T @ (y - y.mean() - X @ coefficients))
    start = np.abs(X.T @ y).max()
    # Active columns are equally correlated with what is left, the others at most as much.
    np.testing.assert_allclose(correlation[active], correlation[active].max(), atol=1e-10 * start)
    assert correlation.max() <= correlation[active].max() + 1e-10 * start
    if len(active) < m and k < n - 1:
        idle = np.delete(correlation, active)
        np.testing.assert_allclose(idle.max(), correlation[active].max(), atol=1e-10 * start)
    else:
        np.testing.assert_allclose(correlation, 0, atol=1e-9 * start)


def test_least_angle_follows_the_order_of_scikit_learn(rng):
    X = rng.normal(size=(80, 20))
    X -= X.mean(axis=0)
    y = X[:, :4] @ np.array([3.0, -2.0, 1.0, 0.5]) + rng.normal(size=80)
    _, expected, path = lars_path(X, y - y.mean(), max_iter=8, method="lar")
    coefficients, active = regress(X, y - y.mean(), 8)
    assert active.tolist() == list(expected)
    np.testing.assert_allclose(coefficients, path[:, -1], atol=1e-12)


def test_least_angle_passes_over_spanned_columns(rng):
    X = rng.normal(size=(50, 5))
    X -= X.mean(axis=0)
    y = X @ np.array([5.0, 4.0, 3.0, 2.0, 1.0])
    doubled = np.column_stack([X, X, X[:, :2].sum(axis=1), np.zeros(50)])
    coefficients, active = regress(doubled, y, 12)
    assert len(active) == 5 and 11 not in active and max(a for a in active if a != 10) < 5
    np.testing.assert_allclose(doubled @ coefficients, y, atol=1e-9)


def test_least_angle_of_nothing_is_nothing(rng):
    X = rng.normal(size=(20, 4))
    coefficients, active = regress(X, np.zeros(20), 3)
    assert len(active) == 0 and not coefficients.any()


def test_negative_coefficients_count(rng):
    X, labels = rng.normal(size=(120, 8)), np.repeat([0, 1], 60)
    X[:, 2] -= 12 * labels
    X[:, 5] += 12 * labels
    for sign in (1, -1):
        assert set(MCFS(2, n_clusters=1).fit(sign * X).selected_) == {2, 5}


@pytest.mark.parametrize("seed", range(3))
def test_finds_the_columns_that_hold_the_clusters(planted, seed):
    # The regression may leave out a column that the other nine explain.
    X, informative = planted(seed)
    assert len(set(MCFS(10).fit(X).selected_) & set(informative)) >= 9


def test_default_takes_the_eigenvectors_below_the_gap(tall):
    selector = MCFS(4).fit(tall)
    assert selector.n_eigenvectors_ == default_clusters(neighbour_graph(tall)) - 1
    np.testing.assert_array_equal(selector.scores_, MCFS(4, n_clusters=selector.n_eigenvectors_).fit(tall).scores_)


def test_fewer_rows_than_columns_wanted(wide):
    selector = MCFS(30, n_clusters=1).fit(wide)
    assert len(set(selector.selected_)) == 30
    scores = selector.scores_[selector.selected_]
    taken = scores > 0
    assert taken.sum() == 8  # rank of nine centred rows
    assert np.all(taken[:8]) and np.all(np.diff(scores) <= 0)
    Y = spectral_embedding(neighbour_graph(wide), 1)
    correlation = np.array([abs(np.corrcoef(f, Y[:, 0])[0, 1]) for f in wide.T])
    rest = selector.selected_[8:]
    np.testing.assert_allclose(selector.scores_[rest], correlation[rest] - 1, atol=1e-9)


def test_wide_and_long_paths_agree(rng):
    X = rng.normal(size=(30, 50))
    Y = rng.normal(size=(30, 2))
    wide = mcfs_scores(X, Y, 6)
    # Every row twice, and twice more: the same moments up to a factor, but a long table.
    long = mcfs_scores(np.vstack([X] * 4), np.vstack([Y] * 4), 6)
    np.testing.assert_allclose(wide, long, rtol=1e-9)


def test_components_are_the_targets_of_a_disconnected_graph(rng):
    X = rng.normal(size=(90, 5))
    X[:, 3] += np.repeat([0, 100, 300], [20, 30, 40])
    W = neighbour_graph(X)
    Y = spectral_embedding(W, 2)
    assert Y.shape == (90, 3)
    d = W.sum(axis=1)
    np.testing.assert_allclose(d @ Y, 0, atol=1e-9 * d.sum())
    np.testing.assert_allclose(d @ Y**2, d.sum())
    for y, rows in zip(Y.T, (slice(50, 90), slice(20, 50), slice(0, 20)), strict=True):
        assert np.ptp(y[rows]) == 0 and len(np.unique(y)) == 2 and np.all(y[rows] > 0)
    assert spectral_embedding(W, 1).shape == (90, 1)
    assert spectral_embedding(W, 4).shape == (90, 5)
    assert MCFS(1).fit(X).selected_.tolist() == [3]


def test_order_of_rows_does_not_matter_to_the_iterative_eigensolver(planted, rng, monkeypatch):
    X, _ = planted(0)
    expected = MCFS(10, n_clusters=3).fit(X)
    monkeypatch.setattr(_spectrum, "_DENSE_ROWS", 0)
    moved = MCFS(10, n_clusters=3).fit(X[rng.permutation(300)])
    np.testing.assert_array_equal(moved.selected_, expected.selected_)
    np.testing.assert_allclose(moved.scores_, expected.scores_, atol=1e-7)


def test_an_eigenvalue_that_many_samples_share_is_found():
    # LAPACK's search for a part of the spectrum fails where nineteen of the samples are the same.
    X = np.zeros((22, 3))
    X[7, 2], X[16, 2], X[10, 1:] = -1, 1, [1, -1]
    assert sorted(MCFS(2, n_neighbors=2, weights="cosine").fit(X).selected_) == [1, 2]


def test_constant_columns_score_lowest(tall):
    X = np.where(np.arange(12) % 4 == 0, 0.1, tall)
    scores = MCFS(3).fit(X).scores_
    assert np.all(scores[[0, 4, 8]] == -2) and np.all(np.delete(scores, [0, 4, 8]) >= -1)


def test_scores_are_in_the_units_of_the_table(tall):
    once, larger = MCFS(4).fit(tall), MCFS(4).fit(1000 * tall)
    np.testing.assert_allclose(once.scores_[once.selected_], 1000 * larger.scores_[once.selected_], rtol=1e-8)


def test_published_settings(tall):
    selector = MCFS.published(3, n_clusters=2)
    assert (selector.weights, selector.n_neighbors, selector.n_clusters) == ("binary", 5, 2)
    assert selector.fit(tall).selected_.shape == (3,)


@pytest.mark.parametrize("given", [{"n_clusters": 0}, {"n_clusters": 1.5}, {"n_neighbors": "all"}, {"weights": None}])
def test_bad_settings_are_refused(tall, given):
    with pytest.raises(ValueError, match=f"'{next(iter(given))}' parameter of MCFS must be"):
        MCFS(**given).fit(tall)


@pytest.mark.parametrize(
    "far", [18.0, 60.0, *(pytest.param(far, marks=pytest.mark.slow) for far in (20, 22, 25, 65, 70, 75, 80, 85))]
)
def test_a_far_sample_does_not_turn_scores_into_rounding(far):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 10))
    X[7, 3] = far
    assert neighbour_graph(X, 5).sum(axis=1).min() < 1e-15  # its edges weigh next to nothing
    scores = MCFS(4).fit(X).scores_
    for _ in range(3):
        nudged = MCFS(4).fit(X * (1 + 1e-13 * rng.normal(size=X.shape))).scores_
        np.testing.assert_allclose(nudged, scores, rtol=1e-6, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_groups_far_off_do_not_turn_scores_into_rounding(load, rng):
    """In these units a few samples are far from the others, some of them close together."""
    X = load().data
    expected = MCFS(4).fit(X)
    for _ in range(2):
        nudged = MCFS(4).fit(X * (1 + 1e-13 * rng.normal(size=X.shape)))
        np.testing.assert_array_equal(nudged.selected_, expected.selected_)
        np.testing.assert_allclose(nudged.scores_, expected.scores_, rtol=1e-6, atol=1e-7 * expected.scores_.max())


def test_the_embedding_solves_its_equation_at_a_far_sample_too(rng):
    X = rng.normal(size=(60, 4))
    X[5] = 9.0
    W = neighbour_graph(X, 5)
    d = W.sum(axis=1)
    assert 0 < d.min() < 1e-15
    Y = spectral_embedding(W, 2)
    values = _spectrum.lowest_spectrum(W, 2).values
    np.testing.assert_allclose(Y - (W @ Y) / d[:, None], values * Y, atol=1e-9)  # L y = l D y over D
