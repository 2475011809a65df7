import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from stableselect.graph import NDFS
from stableselect.graph import _ndfs as _indicators
from stableselect.graph._graph_selector import row_lengths
from stableselect.graph._neighbours import neighbour_graph
from stableselect.graph._spectrum import laplacian


def plain_laplacian(W):
    n = len(W)
    L = np.eye(n)
    for i in range(n):
        for j in range(n):
            L[i, j] -= W[i, j] / np.sqrt(W[i].sum() * W[j].sum())
    return L


def plain_objective(X, W, b, F, L, alpha, beta, gamma):
    value = np.trace(F.T @ L @ F) + gamma / 4 * np.linalg.norm(F.T @ F - np.eye(F.shape[1])) ** 2
    rows = sum(np.sqrt(np.sum(w**2) + 1e-8) for w in W)
    return value + alpha * (np.linalg.norm(X @ W + b - F) ** 2 + beta * rows)


def unit_columns(X):
    """Centre, and divide by the root mean square of the columns' lengths."""
    X = X - X.mean(axis=0)
    return X / np.sqrt(np.mean(np.sum(X**2, axis=0)))


def plain_weights(X, F, lengths, beta):
    """(X'X + beta D)^{-1} X'F with the m x m inverse written out."""
    return np.linalg.inv(X.T @ X + beta * np.diag(1 / (2 * lengths))) @ X.T @ F


@pytest.fixture(params=[(30, 8), (10, 25)], ids=["tall", "wide"])
def problem(request, rng):
    """Return a rescaled table, its graph, a start and the objective's constants."""
    X = unit_columns(rng.normal(size=request.param))
    graph = neighbour_graph(X, 3)
    F = rng.uniform(0.01, 0.5, size=(request.param[0], 3))
    return X, graph, F, _indicators.Terms(laplacian(graph, normalised=True), 0.7, 0.05, 20.0, 1e-4)


def test_agrees_with_plain_loops(problem, monkeypatch):
    X, graph, F, terms = problem
    monkeypatch.setattr(_indicators, "_INDICATOR_STEPS", 2)
    _, alpha, beta, gamma, _ = terms
    found_W, found_F, found_path = _indicators.minimise(_indicators.Regression(X, True), F, terms, 4, 1e-12)
    L = plain_laplacian(graph.toarray())
    W, path = plain_weights(X, F, np.ones(X.shape[1]), beta), []
    lengths = np.sqrt(np.sum(W**2, axis=1) + 1e-8)
    fit = X @ W + F.mean(axis=0)
    for _ in range(4):
        for _ in range(2):
            new = F.copy()
            for i in range(F.shape[0]):
                for a in range(3):
                    p = L[i, i] * F[i, a] + alpha * (F[i, a] + max(-fit[i, a], 0.0))
                    q = (F @ F.T @ F)[i, a]
                    s = sum(-L[i, j] * F[j, a] for j in range(len(F)) if j != i) + alpha * max(fit[i, a], 0.0)
                    roots = np.roots([gamma * q, 0.0, 2 * p, 0.0, -(2 * s + gamma * F[i, a])])
                    new[i, a] = F[i, a] * max(root.real for root in roots if abs(root.imag) < 1e-9)
            F = new
        W = plain_weights(X, F, lengths, beta)
        lengths = np.sqrt(np.sum(W**2, axis=1) + 1e-8)
        fit = X @ W + F.mean(axis=0)
        path.append(plain_objective(X, W, F.mean(axis=0), F, L, alpha, beta, gamma))
    np.testing.assert_allclose(found_path, path, rtol=1e-9)
    np.testing.assert_allclose(found_F, F, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(found_W, W, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize("gamma", [0.1, 10.0, 1e9])
def test_no_update_of_the_indicators_raises_the_objective(problem, rng, gamma):
    X, _, F, terms = problem
    terms = terms._replace(gamma=gamma)
    fit = rng.normal(size=F.shape)  # both signs
    L, lengths = terms.L, np.ones(X.shape[1])
    diagonal = L.diagonal()[:, None]
    adjacency = (np.diag(L.diagonal()) - L.toarray()).clip(0)
    value = _indicators.objective(F, fit, lengths, terms)
    for _ in range(200):
        F = _indicators.update_indicators(F, fit, diagonal, adjacency, terms)
        after = _indicators.objective(F, fit, lengths, terms)
        assert F.min() > 0 and after <= value * (1 + 1e-12)
        value = after


@pytest.mark.parametrize("gamma", [1.0, 100.0, 1e9])
@pytest.mark.parametrize("shape", [(60, 12), (15, 80)], ids=["tall", "wide"])
@pytest.mark.parametrize("rescale", [True, False])
def test_objective_never_rises_and_is_the_definition_at_the_end(rng, gamma, shape, rescale):
    X = rng.uniform(size=shape)
    selector = NDFS(4, n_clusters=3, gamma=gamma, rescale=rescale, tol=1e-9, max_iter=60, random_state=0).fit(X)
    path = selector.objective_path_
    assert len(path) > 3 and np.all(np.diff(path) <= 0) and path[-1] < path[0]
    if rescale:
        L = plain_laplacian(neighbour_graph(X, 5).toarray())
        F, W = selector.indicators_, selector.coef_
        assert np.isclose(path[-1], plain_objective(unit_columns(X), W, F.mean(axis=0), F, L, 1.0, 0.1, gamma))


def test_no_rise_is_hidden_by_the_stopping_rule(problem):
    X, _, F, terms = problem
    regression = _indicators.Regression(X, True)
    lengths, value = np.ones(X.shape[1]), np.inf
    L = terms.L
    diagonal, adjacency = L.diagonal()[:, None], (np.diag(L.diagonal()) - L.toarray()).clip(0)
    for _ in range(50):
        W, fit = regression.solve(F, lengths, terms.beta)
        lengths = row_lengths(W, terms.smoothing)
        after = _indicators.objective(F, fit, lengths, terms)
        assert after <= value * (1 + 1e-12)
        value = after
        F = _indicators.update_indicators(F, fit, diagonal, adjacency, terms)


def test_ends_where_no_small_change_lowers_the_objective(rng):
    X = unit_columns(rng.normal(size=(20, 6)))
    L = plain_laplacian(neighbour_graph(X, 5).toarray())
    selector = NDFS(2, n_clusters=2, gamma=5.0, tol=1e-14, max_iter=20_000, random_state=0).fit(X)
    F, W = selector.indicators_, selector.coef_
    fit = X @ W + F.mean(axis=0)
    slope = 2 * L @ F + 2 * (F - fit) + 5.0 * F @ (F.T @ F - np.eye(2))
    np.testing.assert_allclose(F * slope, 0.0, atol=1e-4)
    assert slope[F < 1e-8].min(initial=0.0) > -1e-4
    lengths = np.sqrt(np.sum(W**2, axis=1) + 1e-8)
    np.testing.assert_allclose(2 * X.T @ (fit - F) + 0.1 * W / lengths[:, None], 0.0, atol=1e-4)


@pytest.mark.parametrize("intercept", [True, False])
def test_both_systems_give_the_inverse_of_the_definition(rng, intercept):
    X, F = rng.normal(size=(14, 14)), rng.uniform(size=(14, 3))
    X -= X.mean(axis=0) if intercept else 0.0
    lengths = rng.uniform(1e-3, 1.0, size=14)
    columns, rows = _indicators.Regression(X, intercept), _indicators.Regression(X, intercept)
    rows.gram = None
    expected = plain_weights(X, F, lengths, 0.3)
    for regression in (columns, rows):
        W, fit = regression.solve(F, lengths, 0.3)
        np.testing.assert_allclose(W, expected, atol=1e-9)
        np.testing.assert_allclose(fit, X @ W + (F.mean(axis=0) if intercept else 0.0), atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_finds_the_columns_that_hold_the_clusters(planted, seed):
    X, informative = planted(seed)
    assert set(NDFS(10, random_state=0).fit(X).selected_) == set(informative)


def test_indicators_recover_clusters_far_apart(rng):
    labels = np.repeat([0, 1, 2], 12)
    X = 50.0 * np.eye(3)[labels] @ rng.normal(size=(3, 8)) + rng.normal(size=(36, 8))
    selector = NDFS(3, random_state=0).fit(X)
    assert selector.n_clusters_ == 3
    assert adjusted_rand_score(labels, selector.indicators_.argmax(axis=1)) == 1.0


@pytest.mark.parametrize("shape", [(60, 15), pytest.param((25, 120), marks=pytest.mark.slow)], ids=["tall", "wide"])
def test_order_of_rows_and_columns_does_not_matter(rng, shape):
    X = rng.normal(size=shape) * rng.uniform(0.5, 2.0, size=shape[1])
    rows, columns = rng.permutation(shape[0]), rng.permutation(shape[1])
    for seed in range(5):
        expected = NDFS(6, n_clusters=4, random_state=seed).fit(X)
        found = NDFS(6, n_clusters=4, random_state=seed).fit(X[rows][:, columns])
        np.testing.assert_array_equal(columns[found.selected_], expected.selected_)
        np.testing.assert_allclose(found.scores_, expected.scores_[columns], rtol=1e-6)


def test_shift_and_unit_do_not_matter(rng):
    X = rng.normal(size=(40, 10))
    expected = NDFS(4, random_state=0).fit(X)
    for other in (X * 1e-120, X * 1e90, 1000 * X + np.arange(10.0)):
        np.testing.assert_allclose(NDFS(4, random_state=0).fit(other).scores_, expected.scores_, rtol=1e-6)


def test_whole_numbers_in_another_unit_give_the_same_weights():
    """Samples at one distance from the mean start k-means in an order that must not depend on the unit."""
    for seed in range(6):
        X = np.random.default_rng(seed).integers(1, 6, (11, 30)).astype(float)
        expected, found = (NDFS(5, n_clusters=3, random_state=0).fit(np.ldexp(X, power)) for power in (0, -105))
        np.testing.assert_array_equal(found.coef_, expected.coef_)


def test_equal_rows_give_the_first_columns():
    selector = NDFS(2).fit(np.tile([1.0, 2.0, 3.0], (6, 1)))
    assert selector.selected_.tolist() == [0, 1]
    assert not selector.coef_.any() and selector.indicators_.shape == (6, 1)


def test_no_more_clusters_than_distinct_rows(rng):
    X = np.repeat(rng.normal(size=(3, 5)), 4, axis=0)
    assert NDFS(2, n_clusters=8, random_state=0).fit(X).n_clusters_ == 3


def test_more_neighbours_than_rows_means_all_other_rows(rng):
    X = rng.normal(size=(8, 6))
    np.testing.assert_array_equal(
        NDFS(2, n_neighbors=100, random_state=0).fit(X).scores_, NDFS(2, n_neighbors=7, random_state=0).fit(X).scores_
    )


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"alpha": 0.0}, "'alpha' parameter of"),
        ({"beta": -1.0}, "'beta' parameter of"),
        ({"gamma": np.inf}, "'gamma' parameter of"),
        ({"tol": "x"}, "'tol' parameter of"),
        ({"max_iter": 0}, "'max_iter' parameter of"),
        ({"n_neighbors": 0}, "'n_neighbors' parameter of"),
        ({"n_clusters": 2.0}, "'n_clusters' parameter of"),
        ({"weights": "flat"}, "'weights' parameter of"),
    ],
)
def test_bad_parameters_are_refused(tall, wrong, message):
    with pytest.raises(ValueError, match=message):
        NDFS(3, **wrong).fit(tall)


def test_published_settings(tall):
    selector = NDFS.published(3, n_clusters=4).fit(tall)
    assert (selector.alpha, selector.beta, selector.gamma, selector.weights) == (1.0, 1.0, 1e9, "binary")
    assert np.all(np.diff(selector.objective_path_) <= 0) and not selector.rescale


@pytest.mark.parametrize(
    "kind", ["binary", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("ratings", "repeated rows"))]
)
def test_whole_numbers_in_any_order_give_the_same_weights_and_indicators(kind):
    """Samples at one distance from the mean used to start k-means in the order they came in."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = (
            (rng.random((50, 12)) < 0.3).astype(float)
            if kind == "binary"
            else rng.integers(1, 6, (50, 12)).astype(float)
        )
        X = X[rng.integers(0, 25, 50)] if kind == "repeated rows" else X
        rows = rng.permutation(50)
        expected, found = (NDFS(5, random_state=0).fit(table) for table in (X, X[rows]))
        np.testing.assert_array_equal(found.coef_, expected.coef_)
        distinct = np.flatnonzero(np.unique(X, axis=0, return_counts=True)[1] == 1)
        alone = np.isin(np.unique(X, axis=0, return_inverse=True)[1].ravel(), distinct)
        np.testing.assert_array_equal(found.indicators_[alone[rows]], expected.indicators_[rows][alone[rows]])
