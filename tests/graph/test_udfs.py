import tracemalloc

import numpy as np
import pytest

from stableselect.graph import UDFS
from stableselect.graph import _udfs as _local_scatter
from stableselect.graph._graph_selector import row_lengths
from stableselect.graph._neighbours import neighbour_indices


def plain_scatter(X, k, shrinkage):
    """M by its definition: every S_i and H written out, divided by its mean diagonal entry."""
    n, m = X.shape
    k = min(k, n - 1)
    H = np.eye(k + 1) - np.full((k + 1, k + 1), 1 / (k + 1))
    distances = np.array([[np.sum((a - b) ** 2) for b in X] for a in X])
    hoods = []
    for i in range(n):
        others = sorted((j for j in range(n) if j != i), key=lambda j: distances[i, j])
        hoods.append([i, *others[:k]])
    scatters = [H @ X[hood] @ X[hood].T @ H for hood in hoods]
    lam = shrinkage * np.mean([np.trace(scatter) for scatter in scatters]) / k
    M = np.zeros((m, m))
    for hood, scatter in zip(hoods, scatters, strict=True):
        S = np.zeros((n, k + 1))
        for position, row in enumerate(hood):
            S[row, position] = 1.0
        M += X.T @ S @ H @ np.linalg.inv(scatter + lam * np.eye(k + 1)) @ H @ S.T @ X
    return M / (np.trace(M) / m)


def plain_objective(W, M, gamma):
    c, m = W.shape[1], len(M)
    rows = sum(np.sqrt(np.sum(w**2) + 1e-6 * c / m) for w in W)
    return np.trace(W.T @ M @ W) + gamma * rows


def plain_udfs(M, c, gamma, steps):
    m = len(M)
    h = np.diag(np.linalg.inv(M + gamma * np.eye(m)))
    lengths = np.sqrt(c * h / h.sum() + 1e-6 * c / m)
    path = []
    for _ in range(steps):
        W = np.linalg.eigh(M + gamma * np.diag(1 / (2 * lengths)))[1][:, :c]
        lengths = np.sqrt(np.sum(W**2, axis=1) + 1e-6 * c / m)
        path.append(plain_objective(W, M, gamma))
    return W, path


@pytest.mark.parametrize("limit", [0, 300], ids=["structured", "dense"])
@pytest.mark.parametrize("shape", [(40, 15), (12, 30)], ids=["tall", "wide"])
@pytest.mark.parametrize("gamma", [0.01, 1.0])
def test_agrees_with_the_definition(rng, monkeypatch, limit, shape, gamma):
    monkeypatch.setattr(_local_scatter, "_DENSE_COLUMNS", limit)
    X = rng.normal(size=shape) * rng.uniform(0.5, 2.0, size=shape[1]) + 3.0
    selector = UDFS(5, n_clusters=3, n_neighbors=4, gamma=gamma, shrinkage=0.5, max_iter=6, tol=1e-12).fit(X)
    M = plain_scatter(X, 4, 0.5)
    W, path = plain_udfs(M, 3, gamma, selector.n_iter_)
    assert selector.n_iter_ == 6
    np.testing.assert_allclose(selector.objective_path_, path, rtol=1e-7)
    np.testing.assert_allclose(selector.coef_ @ selector.coef_.T, W @ W.T, atol=1e-5)
    np.testing.assert_array_equal(selector.selected_, np.argsort(-np.linalg.norm(W, axis=1))[:5])


@pytest.mark.parametrize("n", [12, 60])
@pytest.mark.parametrize("seed", range(3))
def test_structured_and_dense_paths_agree_on_copies_of_columns(monkeypatch, n, seed):
    half = np.random.default_rng(seed).normal(size=(n, 20))
    ends = []
    for limit in (0, 300):
        monkeypatch.setattr(_local_scatter, "_DENSE_COLUMNS", limit)
        selector = UDFS(5, n_clusters=3, gamma=0.1, max_iter=8, tol=1e-12).fit(np.hstack([half, half]))
        ends.append(selector.objective_path_[-1])  # rounding decides when to stop
    np.testing.assert_allclose(*ends, rtol=1e-8)


@pytest.mark.parametrize("limit", [0, 300], ids=["structured", "dense"])
@pytest.mark.parametrize("shape", [(60, 20), (15, 80)], ids=["tall", "wide"])
@pytest.mark.parametrize("gamma", [1e-4, 0.1, 100.0])
def test_objective_never_rises_and_weights_stay_orthonormal(rng, monkeypatch, limit, shape, gamma):
    monkeypatch.setattr(_local_scatter, "_DENSE_COLUMNS", limit)
    X = rng.normal(size=shape) ** 3
    scatter = _local_scatter.LocalScatter(X, _local_scatter.local_weights(X, neighbour_indices(X, 5), 1.0))
    m = shape[1]
    lengths, previous = rng.uniform(0.1, 1.0, size=m), np.inf
    for _ in range(30):  # without the stopping rule, from an arbitrary start
        W = scatter.smallest(gamma / (2 * lengths), 3, np.ones(m))
        np.testing.assert_allclose(W.T @ W, np.eye(3), atol=1e-8)
        lengths = row_lengths(W, 1e-3 * np.sqrt(3 / m))
        objective = scatter.energy(W) + gamma * lengths.sum()
        assert objective <= previous * (1 + 1e-9)
        previous = objective


def test_ends_in_a_stationary_point(rng):
    X = rng.normal(size=(50, 12))
    selector = UDFS(4, n_clusters=2, gamma=0.5, max_iter=20_000, tol=1e-15).fit(X)
    W, M = selector.coef_, plain_scatter(X, 5, 1.0)
    lengths = np.sqrt(np.sum(W**2, axis=1) + 1e-6 * 2 / 12)
    gradient = 2 * M @ W + 0.5 * W / lengths[:, None]
    along = W.T @ gradient
    np.testing.assert_allclose(gradient - W @ (along + along.T) / 2, 0.0, atol=1e-4)
    assert np.isclose(selector.objective_path_[-1], plain_objective(W, M, 0.5), rtol=1e-10)
    for _ in range(50):
        other = np.linalg.qr(W + 0.01 * rng.normal(size=W.shape))[0]
        assert plain_objective(other, M, 0.5) > selector.objective_path_[-1]


@pytest.mark.parametrize("seed", range(4))
def test_finds_the_columns_that_hold_the_clusters(planted, seed):
    X, informative = planted(seed)
    assert set(UDFS(10).fit(X).selected_) == set(informative)


def test_wide_tables_need_no_square_matrix_of_columns(rng):
    X = rng.normal(size=(20, 6000))
    tracemalloc.start()
    UDFS(5, n_clusters=2, max_iter=2).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6000 * 6000 * 8 / 8


def test_wide_tables_do_not_depend_on_the_order_of_rows_or_columns(rng):
    X = rng.normal(size=(15, 400)) * rng.uniform(0.5, 2.0, size=400)
    rows, columns = rng.permutation(15), rng.permutation(400)
    expected = UDFS(20).fit(X)
    found = UDFS(20).fit(X[rows][:, columns])
    np.testing.assert_array_equal(columns[found.selected_], expected.selected_)
    np.testing.assert_allclose(found.scores_, expected.scores_[columns], rtol=1e-3, atol=1e-6)


def test_shift_and_unit_do_not_matter(rng):
    X = rng.normal(size=(40, 10))
    expected = UDFS(4).fit(X)
    for other in (X * 1e-120, X * 1e90, 1000 * X + np.arange(10.0)):
        np.testing.assert_allclose(UDFS(4).fit(other).scores_, expected.scores_, rtol=1e-6)


def test_more_neighbours_than_rows_means_all_other_rows(rng):
    X = rng.normal(size=(8, 6))
    np.testing.assert_array_equal(UDFS(2, n_neighbors=100).fit(X).scores_, UDFS(2, n_neighbors=7).fit(X).scores_)


def test_columns_tie_where_none_varies_among_neighbours(rng):
    X = np.repeat(rng.normal(size=(3, 5)), 6, axis=0)
    selector = UDFS(2).fit(np.column_stack([np.ones(18), X]))
    assert selector.selected_.tolist() == [1, 2] and selector.n_iter_ == 0
    assert len(set(selector.scores_[1:])) == 1


def test_equal_rows_give_the_first_columns():
    selector = UDFS(2).fit(np.tile([1.0, 2.0, 3.0], (6, 1)))
    assert selector.selected_.tolist() == [0, 1]
    assert not selector.coef_.any()


def test_clusters_far_apart_and_given_number(rng):
    X = rng.normal(size=(30, 8))
    X[:15] += 1e6
    assert UDFS(3).fit(X).n_clusters_ == 2
    assert UDFS(3, n_clusters=50).fit(X).n_clusters_ == 7


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"gamma": 0.0}, "'gamma' parameter of"),
        ({"gamma": "1"}, "'gamma' parameter of"),
        ({"shrinkage": -1.0}, "'shrinkage' parameter of"),
        ({"tol": np.nan}, "'tol' parameter of"),
        ({"max_iter": 0}, "'max_iter' parameter of"),
        ({"n_neighbors": 2.5}, "'n_neighbors' parameter of"),
        ({"n_clusters": 0}, "'n_clusters' parameter of"),
    ],
)
def test_bad_parameters_are_refused(tall, wrong, message):
    with pytest.raises(ValueError, match=message):
        UDFS(3, **wrong).fit(tall)


def test_published_settings(tall):
    selector = UDFS.published(3).fit(tall)
    assert (selector.n_clusters_, selector.n_neighbors, selector.max_iter, selector.gamma) == (5, 5, 100, 0.1)
