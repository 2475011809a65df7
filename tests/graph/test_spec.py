"""SPEC's three criteria against the full eigendecomposition."""

import numpy as np
import pytest

from stableselect.graph import SPEC, LaplacianScore
from stableselect.graph._neighbours import neighbour_graph
from stableselect.graph._spectrum import default_clusters

CRITERIA = ["phi1", "phi2", "phi3"]


def definition(X, W, criterion, c=None):
    """Zhao & Liu (2007), eq. 8-10 with the identity as spectral function; small is good but for phi3."""
    d = W.sum(axis=1)
    L = np.eye(len(d)) - W / np.sqrt(np.outer(d, d))
    values, vectors = np.linalg.eigh(L)
    trivial = np.sqrt(d) / np.linalg.norm(np.sqrt(d))
    result = []
    for f in X.T:
        g = np.sqrt(d) * f
        g = g / np.linalg.norm(g)
        a = vectors.T @ g
        if criterion == "phi1":
            result.append(np.sum(a**2 * values))
        elif criterion == "phi2":
            result.append(np.sum(a[1:] ** 2 * values[1:]) / (1 - (g @ trivial) ** 2))
        else:
            # Less the trivial eigenvector by name: where 0 is a multiple eigenvalue it need not come first.
            result.append(np.sum(a[:c] ** 2 * (2 - values[:c])) - 2 * (g @ trivial) ** 2)
    return np.array(result)


@pytest.mark.parametrize("weights", ["heat", "binary", "cosine"])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_scores_equal_the_definition(tall, criterion, weights):
    X = tall + np.arange(12)  # phi1 and phi3 count the mean
    W = neighbour_graph(X, 6, weights=weights).toarray()
    expected = definition(X, W, criterion, 4) * (1 if criterion == "phi3" else -1)
    selector = SPEC(12, criterion=criterion, n_neighbors=6, weights=weights, n_clusters=4).fit(X)
    np.testing.assert_allclose(selector.scores_, expected, rtol=1e-8)
    np.testing.assert_array_equal(selector.selected_, np.argsort(-expected))


def test_phi2_is_the_laplacian_score(tall):
    np.testing.assert_allclose(SPEC(12).fit(tall).scores_, LaplacianScore(12).fit(tall).scores_, rtol=1e-12)


def test_default_number_of_clusters_is_that_of_the_gap(tall):
    c = default_clusters(neighbour_graph(tall))
    expected = SPEC(12, criterion="phi3", n_clusters=c).fit(tall).scores_
    np.testing.assert_array_equal(SPEC(12, criterion="phi3").fit(tall).scores_, expected)


def test_phi3_of_a_disconnected_graph_uses_all_eigenvectors_of_zero(rng):
    X = rng.normal(size=(80, 6))
    X[:, 1] += np.repeat([0, 40, 80, 120], 20)
    W = neighbour_graph(X, 6).toarray()
    expected = definition(X, W, "phi3", 4)
    for c in (2, 3, 4):
        np.testing.assert_allclose(SPEC(6, criterion="phi3", n_neighbors=6, n_clusters=c).fit(X).scores_, expected)
    beyond = definition(X, W, "phi3", 6)
    found = SPEC(6, criterion="phi3", n_neighbors=6, n_clusters=6).fit(X).scores_
    np.testing.assert_allclose(found, beyond, rtol=1e-8)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("seed", range(3))
def test_finds_the_columns_that_hold_the_clusters(planted, criterion, seed):
    X, informative = planted(seed)
    assert set(SPEC(10, criterion=criterion).fit(X).selected_) == set(informative)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_good_end_is_the_smooth_one(rng, criterion):
    angle = np.linspace(0, 2 * np.pi, 120, endpoint=False)
    ring = 10 * np.column_stack([np.cos(angle), np.sin(angle)])
    X = np.column_stack([rng.normal(size=120), ring[:, 0], rng.normal(size=120), ring[:, 1]])
    assert set(SPEC(2, criterion=criterion, n_clusters=3).fit(X).selected_) == {1, 3}


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("k", [1, 9])
def test_constant_columns_come_last(tall, criterion, k):
    X = np.where(np.arange(12) % 4 == 0, 0.1, tall)
    selector = SPEC(k, criterion=criterion).fit(X)
    assert not set(selector.selected_) & {0, 4, 8}
    assert np.all(selector.scores_[[0, 4, 8]] == -3)


@pytest.mark.parametrize("criterion", ["phi1", "phi3"])
def test_order_of_rows_and_columns_does_not_matter(tall, rng, criterion):
    expected = SPEC(5, criterion=criterion).fit(tall)
    rows, columns = rng.permutation(60), rng.permutation(12)
    moved = SPEC(5, criterion=criterion).fit(tall[rows][:, columns])
    np.testing.assert_array_equal(columns[moved.selected_], expected.selected_)


@pytest.mark.parametrize("criterion", ["phi1", "phi3"])
@pytest.mark.parametrize(
    "change",
    [
        lambda X: X[:1],
        lambda X: X[:2],
        lambda X: X[:, :1],
        lambda X: np.ones_like(X),
        lambda X: X * 1e-130,
        lambda X: X * 1e130,
        lambda X: np.vstack([X[:5]] * 8),
        lambda X: X + 1e7,
    ],
    ids=["one row", "two rows", "one column", "equal rows", "tiny", "huge", "repeated rows", "far from zero"],
)
def test_awkward_tables_still_rank_all_columns(tall, criterion, change):
    X = change(tall)
    selector = SPEC(1.0, criterion=criterion).fit(X)
    assert sorted(selector.selected_) == list(range(X.shape[1])) and np.all(np.isfinite(selector.scores_))


def test_published_settings(tall):
    selector = SPEC.published(3)
    assert (selector.criterion, selector.bandwidth, selector.weights) == ("phi2", 1.0, "heat")
    assert selector.fit(tall).selected_.shape == (3,)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"criterion": "phi4"}, "'criterion' parameter of"),
        ({"n_clusters": 0}, "'n_clusters' parameter of"),
        ({"n_clusters": 2.0}, "'n_clusters' parameter of"),
        ({"criterion": "phi3", "n_clusters": 1}, "n_clusters must be at least 2"),
        ({"n_neighbors": 0}, "'n_neighbors' parameter of"),
    ],
)
def test_bad_settings_are_refused(tall, given, message):
    with pytest.raises(ValueError, match=message):
        SPEC(**given).fit(tall)


def test_no_cosines_at_all_are_a_tie_and_not_rounding(tall):
    X = np.vstack([tall, np.full(12, 1e6), np.full(12, -1e6)])  # two samples that nothing joins take both places
    selector = SPEC(3, criterion="phi3", n_clusters=3).fit(X)
    np.testing.assert_array_equal(selector.scores_, 0)
    np.testing.assert_array_equal(selector.selected_, [0, 1, 2])
