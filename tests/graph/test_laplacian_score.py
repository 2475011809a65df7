"""The Laplacian score against its definition."""

import numpy as np
import pytest

from stableselect.graph import LaplacianScore
from stableselect.graph import _laplacian_score as module
from stableselect.graph._laplacian_score import GraphMoments
from stableselect.graph._neighbours import neighbour_graph


def laplacian_scores(values, W):
    moments = GraphMoments(values, W)
    return moments.scores(moments.spread)


def definition(X, W):
    n = len(X)
    D = np.diag(W.sum(axis=1))
    L = D - W
    one = np.ones(n)
    scores = []
    for f in X.T:
        centred = f - (f @ D @ one) / (one @ D @ one) * one
        scores.append((centred @ L @ centred) / (centred @ D @ centred))
    return np.array(scores)


@pytest.mark.parametrize("weights", ["heat", "binary", "cosine"])
def test_scores_equal_the_definition(tall, weights):
    expected = definition(tall, neighbour_graph(tall, 4, weights=weights).toarray())
    selector = LaplacianScore(12, n_neighbors=4, weights=weights).fit(tall)
    np.testing.assert_allclose(selector.scores_, -expected, rtol=1e-10)
    np.testing.assert_array_equal(selector.selected_, np.argsort(expected))


def test_wide_tables_equal_the_definition(wide):
    expected = definition(wide, neighbour_graph(wide).toarray())
    np.testing.assert_allclose(LaplacianScore(40).fit(wide).scores_, -expected, rtol=1e-10)


def test_blocks_of_columns_do_not_matter(tall, monkeypatch):
    whole = LaplacianScore(12).fit(tall).scores_
    monkeypatch.setattr(module, "_BLOCK_ELEMENTS", 130)
    np.testing.assert_allclose(LaplacianScore(12).fit(tall).scores_, whole, rtol=1e-12)


def test_score_ignores_scale_and_offset_of_a_column(tall, rng):
    W = neighbour_graph(tall)
    scaled = tall * 10.0 ** rng.uniform(-200, 100, size=12) + 0.0
    np.testing.assert_allclose(laplacian_scores(scaled, W), laplacian_scores(tall, W), rtol=1e-9)
    np.testing.assert_allclose(laplacian_scores(tall + 1e6, W), laplacian_scores(tall, W), rtol=1e-6)


def test_disconnected_graph_likes_the_column_that_tells_the_parts_apart(rng):
    X = rng.normal(size=(60, 4))
    X[:, 2] = np.repeat([-50.0, 50.0], 30)
    selector = LaplacianScore(1).fit(X)
    assert selector.selected_.tolist() == [2]
    np.testing.assert_allclose(selector.scores_[2], 0, atol=1e-12)


def test_constant_columns_score_below_columns_that_vary_on_rows_without_edges_only(tall):
    X = tall.copy()
    X[:, 4] = 0.1
    X[:, 7] = 0.0
    X[5, 7] = 1e6  # the row is far from all others, so none of its edges has weight
    scores = LaplacianScore(12).fit(X).scores_
    assert scores[4] == -3 and scores[7] == -2 and np.all(np.delete(scores, [4, 7]) > -2)


def test_all_rows_equal_takes_the_first_columns():
    assert LaplacianScore(3).fit(np.ones((20, 6))).selected_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("seed", range(3))
def test_finds_the_columns_that_hold_the_clusters(planted, seed):
    X, informative = planted(seed)
    assert set(LaplacianScore(10).fit(X).selected_) == set(informative)


def test_published_settings(tall):
    selector = LaplacianScore.published(3)
    assert selector.get_params() == {
        "n_features_to_select": 3,
        "n_neighbors": 5,
        "weights": "heat",
        "bandwidth": 2.0,
        "include": None,
        "exclude": None,
        "verbose": False,
    }
    assert selector.fit(tall).selected_.shape == (3,)


def test_bad_settings_are_refused(tall):
    with pytest.raises(ValueError, match="'n_neighbors' parameter of"):
        LaplacianScore(n_neighbors=-1).fit(tall)
    with pytest.raises(ValueError, match="'weights' parameter of"):
        LaplacianScore(weights="gauss").fit(tall)
