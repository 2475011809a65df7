"""The neighbour graph, its Laplacians and their spectrum against dense definitions."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors

from stableselect._core import sorted_samples
from stableselect.graph import MCFS, NDFS, _neighbours, _spectrum
from stableselect.graph._neighbours import neighbour_graph, neighbour_indices
from stableselect.graph._spectrum import default_clusters, degrees, laplacian, lowest_spectrum


def dense_graph(X, k, weights="heat", bandwidth=None):
    """The definition, row by row, for tables without ties."""
    n = len(X)
    squared = np.array([[np.sum((x - y) ** 2) for y in X] for x in X])
    chosen, V = [], np.zeros((n, n))
    for i in range(n):
        nearest = [j for j in np.argsort(squared[i], kind="stable") if j != i][:k]
        chosen += [(i, j) for j in nearest]
    if bandwidth is None:
        bandwidth = np.median([squared[i, j] for i, j in chosen])
    for i, j in chosen:
        if weights == "heat":
            V[i, j] = np.exp(-squared[i, j] / bandwidth)
        elif weights == "binary":
            V[i, j] = 1
        else:
            V[i, j] = max(0, X[i] @ X[j] / np.linalg.norm(X[i]) / np.linalg.norm(X[j]))
    return np.maximum(V, V.T)


@pytest.fixture(params=["double", "single"])
def precision(request, monkeypatch):
    """Small tables go through double precision in one block; force single precision in several."""
    if request.param == "single":
        monkeypatch.setattr(_neighbours, "_DOUBLE_BELOW", 0)
        monkeypatch.setattr(_neighbours, "_BLOCK_ROWS", 16)
        monkeypatch.setattr(_neighbours, "_CHUNK_ELEMENTS", 50)
    return request.param


@pytest.mark.parametrize("weights", ["heat", "binary", "cosine"])
@pytest.mark.parametrize("k", [1, 4, 20])
def test_graph_equals_its_definition(precision, tall, weights, k):
    W = neighbour_graph(tall, k, weights=weights)
    np.testing.assert_allclose(W.toarray(), dense_graph(tall, k, weights), rtol=1e-12, atol=1e-300)


def test_bandwidth_is_in_the_units_of_the_table(tall):
    W = neighbour_graph(tall, 3, bandwidth=7.0).toarray()
    np.testing.assert_allclose(W, dense_graph(tall, 3, bandwidth=7.0), rtol=1e-12)
    np.testing.assert_allclose(neighbour_graph(tall * 1e100, 3, bandwidth=7e200).toarray(), W, rtol=1e-9)


@pytest.mark.parametrize("change", [lambda X: X * 1e-150, lambda X: X * 1e100, lambda X: X + 1e7])
def test_scale_and_offset_do_not_matter(precision, tall, change):
    W = neighbour_graph(change(tall), 5).toarray()
    np.testing.assert_allclose(W, neighbour_graph(tall, 5).toarray(), rtol=1e-6)


def test_neighbours_agree_with_scikit_learn(precision, rng):
    X = rng.normal(size=(150, 9))
    expected = NearestNeighbors(n_neighbors=6, algorithm="brute").fit(X).kneighbors(return_distance=False)
    np.testing.assert_array_equal(neighbour_indices(X, 6), expected)


def test_an_outlier_does_not_spoil_single_precision(monkeypatch, rng):
    monkeypatch.setattr(_neighbours, "_DOUBLE_BELOW", 0)
    monkeypatch.setattr(_neighbours, "_BLOCK_ROWS", 64)
    X = rng.normal(size=(400, 5))
    X[17] += 1e8
    expected = NearestNeighbors(n_neighbors=5, algorithm="kd_tree").fit(X).kneighbors(return_distance=False)
    np.testing.assert_array_equal(neighbour_indices(X, 5), expected)
    assert _neighbours._screen(X / np.abs(X).max(), 5, np.float32) is None  # so the other branch ran


def test_sparse_and_single_precision_tables_give_the_same_graph(tall):
    single = np.where(np.abs(tall) > 1, tall, 0).astype(np.float32)
    expected = neighbour_graph(single.astype(np.float64)).toarray()
    np.testing.assert_array_equal(neighbour_graph(single).toarray(), expected)
    np.testing.assert_array_equal(neighbour_graph(sparse.csr_array(single)).toarray(), expected)


def test_equal_rows_are_neighbours_with_weight_one_and_no_row_is_its_own(precision, tall):
    X = np.vstack([tall, tall[:10], tall[:10]])
    W = neighbour_graph(X, 2).toarray()
    assert np.all(np.diag(W) == 0)
    for i in range(10):
        assert W[i, 60 + i] == W[i, 70 + i] == W[60 + i, 70 + i] == 1
        assert np.flatnonzero(neighbour_indices(X, 2)[i] == i).size == 0
    assert neighbour_graph(X, 2, weights="cosine")[0, 60] == 1


def test_all_rows_equal(precision):
    W = neighbour_graph(np.full((200, 3), 0.1), 5)
    assert W.nnz < 200 * 2 * 5 and np.all(W.data == 1) and np.all(W.diagonal() == 0)
    assert neighbour_indices(np.zeros((200, 3)), 5).shape == (200, 5)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_neighbours_are_clipped_to_the_other_rows(rng, n):
    W = neighbour_graph(rng.normal(size=(n, 4)), 10, weights="binary")
    np.testing.assert_array_equal(W.toarray(), 1 - np.eye(n))


def test_bandwidth_rule():
    assert _neighbours._median_rule(np.array([1.0, 2.0, 4.0])) == 2.0
    assert _neighbours._median_rule(np.array([0.0, 0.0, 0.0, 1.0, 5.0])) == 3.0
    assert _neighbours._median_rule(np.zeros(3)) == 1.0


def test_ties_do_not_depend_on_the_order_of_rows_or_columns(precision, rng):
    grid = np.stack(np.meshgrid(np.arange(6.0), np.arange(6.0), np.arange(2.0)), -1).reshape(-1, 3) * 0.1
    W = neighbour_graph(grid, 3).toarray()
    rows, columns = rng.permutation(len(grid)), [2, 0, 1]
    moved = neighbour_graph(grid[rows][:, columns], 3).toarray()
    np.testing.assert_allclose(moved, W[np.ix_(rows, rows)], rtol=1e-9)
    # Every point has three to five neighbours at distance 0.1, equal only up to rounding: all are kept.
    steps = np.abs(np.round(grid[:, None] * 10) - np.round(grid[None] * 10)).sum(axis=2)
    np.testing.assert_array_equal(W > 0, steps == 1)


@pytest.mark.parametrize(("excess", "kept"), [(5e-11, 3), (1e-9, 2)])
def test_a_tie_is_a_relative_difference_below_1e_10(precision, excess, kept):
    # From the first row, rows 1 and 2 are at squared distance 1 and row 3 nearly so.
    X = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, np.sqrt(1 + excess)]])
    rows, columns, _ = _neighbours._directed(_neighbours.dense_rows(X)[0], 1, ties=True)
    assert np.sum(rows == 0) == len(set(columns[rows == 0])) == kept


def test_many_ties_are_cut_the_same_way_for_every_order_of_rows(precision, rng):
    X = rng.integers(0, 2, size=(300, 6)).astype(float)
    rows = rng.permutation(300)
    first, second = neighbour_graph(X, 2), neighbour_graph(X[rows], 2)
    assert first.nnz == second.nnz <= 300 * 2 * (4 * 2 + 16)
    code = X @ 2 ** np.arange(6)
    for value in np.unique(code):  # which of several equal rows is joined may differ, their degrees together not
        one, other = degrees(first)[code == value], degrees(second)[code[rows] == value]
        np.testing.assert_allclose(np.sort(one), np.sort(other))


def test_far_outlier_has_no_weight_but_stays_in_the_graph(tall):
    X = tall.copy()
    X[3] += 1e6
    W = neighbour_graph(X, 5)
    assert W.shape == (60, 60) and degrees(W)[3] == 0 and np.all(np.delete(degrees(W), 3) > 0)


@pytest.fixture
def two_parts(rng):
    """Two components and an isolated row."""
    A = np.abs(rng.normal(size=(12, 12))) * (rng.uniform(size=(12, 12)) < 0.6)
    A = np.triu(A, 1)
    A[:7, 7:] = 0
    A[:, 11] = 0
    return A + A.T


def test_laplacians_equal_their_definition(two_parts):
    W = sparse.csr_array(two_parts)
    d = two_parts.sum(axis=1)
    np.testing.assert_allclose(degrees(W), d)
    np.testing.assert_allclose(laplacian(W).toarray(), np.diag(d) - two_parts, atol=1e-15)
    expected = np.zeros((12, 12))
    for i in range(12):
        for j in range(12):
            if d[i] > 0 and d[j] > 0:
                expected[i, j] = (i == j) - two_parts[i, j] / np.sqrt(d[i] * d[j])
    np.testing.assert_allclose(laplacian(W, normalised=True).toarray(), expected, atol=1e-14)


@pytest.mark.parametrize("dense_rows", [0, 300])
def test_spectrum_equals_a_full_decomposition(two_parts, rng, monkeypatch, dense_rows):
    monkeypatch.setattr(_spectrum, "_DENSE_ROWS", dense_rows)
    blobs = rng.normal(size=(80, 3)) + 5 * np.repeat(np.eye(3)[:2], 40, axis=0)
    for W in (sparse.csr_array(two_parts), neighbour_graph(blobs, 8), neighbour_graph(blobs, 2)):
        L = laplacian(W, normalised=True).toarray()
        spectrum = lowest_spectrum(W, 3)
        zeros = spectrum.n_components
        expected = np.linalg.eigvalsh(L)
        np.testing.assert_allclose(expected[:zeros], 0, atol=1e-12)
        np.testing.assert_allclose(spectrum.values, expected[zeros : zeros + 3], atol=1e-9)
        np.testing.assert_allclose(L @ spectrum.vectors, spectrum.vectors * spectrum.values, atol=1e-8)
        np.testing.assert_allclose(spectrum.vectors.T @ spectrum.vectors, np.eye(3), atol=1e-9)
        volume = np.bincount(spectrum.labels, degrees(W))
        assert np.all(np.diff(volume) <= 0)


def test_default_clusters_counts_clear_groups(rng):
    for groups in (2, 3, 5):
        X = (
            rng.normal(size=(150, 4)) * 0.3
            + 3 * rng.permutation(np.eye(6)[:groups, :4] + np.arange(groups)[:, None])[np.arange(150) % groups]
        )
        assert default_clusters(neighbour_graph(X, 10)) == groups


def test_default_clusters_of_small_empty_and_scattered_graphs(rng):
    for n in range(1, 15):
        c = default_clusters(neighbour_graph(rng.normal(size=(n, 3)), 5))
        assert min(n, 2) <= c <= max(2, n - 1) or c == n == 1
        assert default_clusters(sparse.csr_array((n, n))) == (min(10, n - 1) if n > 2 else n)
    pairs = sparse.csr_array(np.kron(np.eye(30), [[0, 1], [1, 0]]))
    assert default_clusters(pairs) == 10
    assert default_clusters(pairs, limit=4) == 4


@pytest.mark.parametrize("weights", ["heat", "binary", "cosine"])
def test_the_order_of_the_features_changes_no_bit_of_the_graph(rng, weights):
    X = rng.standard_cauchy((40, 9))
    samples, _ = sorted_samples(X)
    expected = neighbour_graph(samples, 3, weights=weights).toarray()
    for _ in range(5):
        moved, _ = sorted_samples(X[:, rng.permutation(9)])
        np.testing.assert_array_equal(neighbour_graph(moved, 3, weights=weights).toarray(), expected)


@pytest.mark.parametrize(
    "selector",
    [
        MCFS(3, n_clusters=3),
        MCFS(3, n_clusters=12),
        pytest.param(NDFS(3, random_state=0), marks=pytest.mark.slow),
    ],
)
def test_parts_of_equal_volume_and_equal_eigenvalues_do_not_let_the_order_of_the_features_decide(rng, selector):
    selector = clone(selector).set_params(n_neighbors=1, weights="binary")  # many parts of two and three samples
    for _ in range(3):
        X = rng.normal(size=(32, 9))
        expected = clone(selector).fit(X)
        for _ in range(4):
            order = rng.permutation(9)
            found = clone(selector).fit(X[:, order])
            assert set(order[found.selected_]) == set(expected.selected_)
            np.testing.assert_allclose(found.scores_, expected.scores_[order], rtol=1e-7, atol=1e-9)
