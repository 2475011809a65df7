"""PFA against its definition: full eigendecomposition of the covariance, k-means written out, nearest columns."""

import itertools

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from stableselect import Moments
from stableselect.filters import PFA
from stableselect.filters import _pfa as module


def loadings_by_definition(X, share, standardise=False, absolute=True):
    """Rows of the leading eigenvectors of the covariance that hold this share of its trace."""
    X = (X - X.mean(axis=0)) / (X.std(axis=0) if standardise else 1.0)
    values, vectors = np.linalg.eigh(X.T @ X / len(X))
    values, vectors = values[::-1], vectors[:, ::-1]
    q = 1
    while values[:q].sum() < share * values.sum():
        q += 1
    rows = vectors[:, :q]
    return np.abs(rows) if absolute else rows


def best_partition(rows, k):
    """The partition of least inertia, by trying every one."""
    labels = np.array(list(itertools.product(range(k), repeat=len(rows))))
    member = labels[:, :, None] == np.arange(k)
    member = member[member.any(axis=1).all(axis=1)].astype(float)  # no part is empty
    sizes, sums = member.sum(axis=1), np.einsum("pic,ij->pcj", member, rows)
    # Within a part, the squared distances to its mean are the squares less those of the sum over the size.
    inertia = (rows**2).sum() - ((sums**2).sum(axis=2) / sizes).sum(axis=1)
    return member[np.argmin(inertia)].argmax(axis=1)


@pytest.mark.parametrize("settings", [{}, {"standardise": True}, {"absolute": False}, {"retained_variance": 0.5}])
@pytest.mark.parametrize("rows", [40, 5])
def test_columns_are_the_nearest_to_the_centres_of_the_best_partition(rng, settings, rows):
    X = rng.normal(size=(rows, 8)) @ rng.normal(size=(8, 8)) + 3
    plain = {"standardise": False, "absolute": True, "retained_variance": 0.9} | settings
    V = loadings_by_definition(X, plain["retained_variance"], plain["standardise"], plain["absolute"])
    labels = best_partition(V, 3)
    selector = PFA(3, **settings).fit(X)
    assert selector.n_components_ == V.shape[1]
    assert sorted(labels[selector.selected_]) == [0, 1, 2]
    for column in selector.selected_:
        members = V[labels == labels[column]]
        distances = np.linalg.norm(members - members.mean(axis=0), axis=1)
        here = np.linalg.norm(V[column] - members.mean(axis=0))
        assert here <= distances.min() + 1e-9


def test_scores_are_cluster_shares_and_distances(rng):
    X = rng.normal(size=(40, 8)) @ rng.normal(size=(8, 8))
    selector = PFA(3).fit(X)
    V = loadings_by_definition(X, 0.9)
    labels = best_partition(V, 3)
    values = np.sort(np.linalg.eigvalsh(np.cov(X.T)))[::-1]
    held = V**2 @ (values[: V.shape[1]] / values.sum())
    for j in range(8):
        inside = labels == labels[j]
        centre = V[inside].mean(axis=0)
        expected = held[inside].sum() if selector.support_[j] else -np.linalg.norm(V[j] - centre)
        assert selector.scores_[j] == pytest.approx(expected, abs=1e-8)
    assert np.all(np.diff(selector.scores_[selector.selected_]) <= 0)
    assert selector.scores_[selector.selected_].sum() >= 0.9


def test_one_column_of_every_group_is_kept(rng):
    sources = rng.normal(size=(200, 5))
    signs = rng.choice([-1, 1], size=30)
    group = np.repeat(np.arange(5), 6)
    X = sources[:, group] * signs + 0.05 * rng.normal(size=(200, 30))
    # Spreads differ between groups so that the components are the groups.
    X *= np.array([1.0, 1.3, 1.7, 2.2, 2.9])[group]
    chosen = PFA(5, retained_variance=0.99).fit(X).selected_
    assert sorted(group[chosen]) == [0, 1, 2, 3, 4]


def test_wide_and_tall_forms_of_one_covariance_agree(rng):
    X = rng.normal(size=(10, 40))
    X = X - X.mean(axis=0)
    # Repeating the rows leaves the covariance and takes the table from the thin form to the m x m one.
    wide, tall = PFA(6).fit(X), PFA(6).fit(np.tile(X, (9, 1)))
    np.testing.assert_array_equal(wide.selected_, tall.selected_)
    np.testing.assert_allclose(wide.scores_, tall.scores_, atol=1e-7)


@pytest.mark.parametrize("k", [3, 5, 9, 12])
def test_k_is_exact_when_there_are_fewer_distinct_columns(rng, k):
    base = rng.normal(size=(30, 3)) * [1.0, 2.0, 3.0]
    X = np.hstack([base, -base, 1.0 * base, base])
    selected = PFA(k).fit(X).selected_
    assert len(set(selected.tolist())) == k
    assert set(selected[:3] % 3) == {0, 1, 2} and np.all(selected[:3] < 3)


def test_missing_clusters_are_made_up_by_columns_with_most_retained_variance(rng):
    x, y = np.linalg.qr(rng.normal(size=(50, 2)))[0].T
    X = np.column_stack([y, y, 3 * x, 3 * x])
    selected = PFA(3, retained_variance=1.0).fit(X - X.mean(axis=0)).selected_
    assert selected.tolist() == [2, 0, 3]


def test_k_is_exact_when_a_cluster_empties(tall, monkeypatch):
    class OneCluster:
        def __init__(self, k, **settings):
            pass

        def fit(self, rows):
            self.labels_, self.cluster_centers_ = np.full(len(rows), 2), np.tile(rows.mean(axis=0), (3, 1))
            return self

    monkeypatch.setattr(module, "KMeans", OneCluster)
    selector = PFA(5).fit(tall)
    assert len(set(selector.selected_.tolist())) == 5
    assert selector.scores_[selector.selected_[0]] >= 0.9 and not selector.scores_[selector.selected_[1:]].any()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("settings", [{}, {"retained_variance": 1.0, "standardise": True}, {"absolute": False}])
def test_neither_row_nor_column_order_matters(seed, settings):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 20)) @ rng.normal(size=(20, 20))
    rows, columns = rng.permutation(50), rng.permutation(20)
    expected = PFA(8, **settings).fit(X).selected_
    np.testing.assert_array_equal(PFA(8, **settings).fit(X[rows]).selected_, expected)
    np.testing.assert_array_equal(columns[PFA(8, **settings).fit(X[:, columns]).selected_], expected)


def test_default_is_repeatable_and_the_seed_is_used(rng):
    X = rng.normal(size=(100, 60))
    np.testing.assert_array_equal(PFA(20).fit(X).selected_, PFA(20).fit(X).selected_)
    others = [set(PFA(20, random_state=seed).fit(X).selected_) for seed in range(1, 5)]
    assert any(other != set(PFA(20).fit(X).selected_) for other in others)


def test_constant_columns_change_nothing_and_come_last(tall):
    X = np.insert(tall, [0, 5], 0.1, axis=1)
    varying = np.setdiff1d(np.arange(14), [0, 6])
    np.testing.assert_array_equal(PFA(4).fit(X).selected_, varying[PFA(4).fit(tall).selected_])
    everything = PFA(14).fit(X)
    assert everything.selected_[-2:].tolist() == [0, 6]
    assert everything.scores_[[0, 6]].max() < everything.scores_[varying].min()


def test_all_constant_gives_the_first_columns():
    selector = PFA(2).fit(np.ones((5, 4)))
    assert selector.selected_.tolist() == [0, 1] and selector.n_components_ == 0


@pytest.mark.parametrize(("share", "expected"), [(0.5, 1), (0.6, 2), (0.9, 3), (1.0, 3)])
def test_retained_variance_counts_components(rng, share, expected):
    Q = np.linalg.qr(rng.normal(size=(50, 4)))[0]
    Q = np.linalg.qr(Q - Q.mean(axis=0))[0][:, :3]
    X = Q * np.sqrt([50.0, 35.0, 15.0])
    assert PFA(2, retained_variance=share).fit(X - X.mean(axis=0)).n_components_ == expected


def test_published_settings():
    settings = PFA.published(5, random_state=3).get_params()
    assert settings == {
        "n_features_to_select": 5,
        "retained_variance": 0.5,
        "standardise": True,
        "absolute": False,
        "random_state": 3,
    }


@pytest.mark.parametrize("share", [0, 0.0, -0.1, 1.1, np.nan, "most", None])
def test_bad_share_is_refused_in_a_sentence(tall, share):
    with pytest.raises(ValueError, match="'retained_variance' parameter of"):
        PFA(2, retained_variance=share).fit(tall)


@pytest.mark.parametrize("name", ["standardise", "absolute"])
def test_bad_switch_is_refused_in_a_sentence(tall, name):
    with pytest.raises(ValueError, match=f"'{name}' parameter of PFA must be"):
        PFA(2, **{name: "yes"}).fit(tall)


def test_weights_moments_and_streams_agree(tall, rng):
    weights = rng.integers(0, 3, size=60)
    weighted = PFA(4).fit(tall, sample_weight=weights)
    repeated = PFA(4).fit(np.repeat(tall, weights, axis=0))
    whole = PFA(4).fit(tall)
    streamed = PFA(4).partial_fit(tall[:25]).partial_fit(tall[25:])
    gathered = PFA(4).fit_moments(Moments.from_array(tall))
    for one, other in ((weighted, repeated), (streamed, whole), (gathered, whole)):
        np.testing.assert_array_equal(one.selected_, other.selected_)
        np.testing.assert_allclose(one.reconstruction_coef_, other.reconstruction_coef_, rtol=1e-6, atol=1e-9)


def test_the_map_is_least_squares_and_an_explanation_needs_no_samples(tall):
    selector = PFA(4).fit(tall)
    kept = selector.transform(tall)
    expected = LinearRegression().fit(kept, tall).predict(kept)
    np.testing.assert_allclose(selector.reconstruct(kept), expected, atol=1e-9)
    assert selector.explain() == selector.explain(tall)
