"""``batch=`` of the moments selectors: the choice is made on what varies within batches."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit

from stableselect import ColumnSubset, Moments, ScorerSelector, load, save
from stableselect._core import Stream


def within(X, batch, weights=None):
    """Return every sample less the mean of its batch, plus that of all samples, by definition."""
    weights = np.ones(len(X)) if weights is None else weights
    out = X + np.average(X, axis=0, weights=weights)
    for label in set(batch):
        rows = np.array([one == label for one in batch])
        out[rows] -= np.average(X[rows], axis=0, weights=weights[rows])
    return out


@pytest.fixture
def planted(rng):
    """Two sources drive all features within every batch; four features mark the batch and vary little within it."""
    sources = rng.normal(size=(90, 2))
    batch = np.repeat(["a", "b", "c"], 30)
    X = np.column_stack([sources, sources @ rng.normal(size=(2, 8)) + 0.1 * rng.normal(size=(90, 8))])
    offsets = np.repeat(rng.normal(size=(3, 4)) * 20, 30, axis=0)
    return np.column_stack([X, offsets + 0.01 * rng.normal(size=(90, 4))]), batch


@pytest.mark.parametrize("cls", [ColumnSubset, ScorerSelector])
def test_pooling_misleads_and_batches_do_not(planted, cls):
    X, batch = planted
    assert set(cls(2).fit(X).selected_) <= set(range(10, 14))
    selector = cls(2).fit(X, batch=batch)
    assert not set(selector.selected_) & set(range(10, 14))
    assert (selector.batch_explained_variance_ > 0.95).all()


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2, 90)])
@pytest.mark.parametrize("parameters", [{"ridge": 0.0}, {"ridge": 0.1, "scale": "standard"}, {"cv": KFold(4)}])
def test_selects_as_from_samples_centred_by_hand(planted, parameters, weights):
    X, batch = planted
    expected = ColumnSubset(3, **parameters).fit(within(X, batch, weights), sample_weight=weights)
    found = ColumnSubset(3, **parameters).fit(X, batch=batch, sample_weight=weights)
    np.testing.assert_array_equal(found.selected_, expected.selected_)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-8)
    np.testing.assert_allclose(found.reconstruction_coef_, expected.reconstruction_coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.reconstruction_intercept_, expected.reconstruction_intercept_, atol=1e-8)


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_what_is_constant_within_batches_does_not_vary(planted, rng, scale):
    X, batch = planted
    X = np.column_stack([X[:, :10], np.repeat(rng.normal(size=(3, 6)) * 1e3, 30, axis=0)])
    for n in (90, 7):  # sums, and samples that are kept
        rows = np.arange(90) % 15 < (15 if n == 90 else 1)
        selector = ColumnSubset(2, scale=scale).fit(X[rows], batch=batch[rows])
        np.testing.assert_array_equal(selector.scale_[10:], 1.0)
        assert set(selector.selected_) <= set(range(10))


def test_few_samples_are_left_out_one_at_a_time(rng):
    X, batch = rng.normal(size=(12, 60)), np.arange(12) % 3
    X[:, :5] += 10 * batch[:, None]
    found, expected = ColumnSubset(3).fit(X, batch=batch), ColumnSubset(3).fit(within(X, batch))
    np.testing.assert_array_equal(found.selected_, expected.selected_)
    assert found.leave_one_out_error_ == pytest.approx(expected.leave_one_out_error_, rel=1e-8)


def test_streams_and_sparse_tables_give_the_same(planted):
    support = pytest.importorskip("tools.support")
    X, batch = planted
    expected = ColumnSubset(3).fit(X, batch=batch)
    with support.small_pieces():
        parts = np.array_split(X, 7)
        assert isinstance(ColumnSubset(3)._open_table(parts), Stream)
        streamed = ColumnSubset(3).fit(parts, batch=batch)
        with pytest.raises(ValueError, match="batch must hold one label for each sample"):
            ColumnSubset(3).fit(parts, batch=batch[:-1])
    for found in (streamed, ColumnSubset(3).fit(sparse.csr_array(X), batch=batch)):
        np.testing.assert_array_equal(found.selected_, expected.selected_)
        assert found.objective_ == pytest.approx(expected.objective_, rel=1e-9)
        np.testing.assert_allclose(found.batch_means_, expected.batch_means_, atol=1e-10)
        np.testing.assert_allclose(found.batch_explained_variance_, expected.batch_explained_variance_, atol=1e-10)


@pytest.mark.parametrize("cv", [KFold(4), GroupKFold(3), ShuffleSplit(3, random_state=0)])
def test_splits_of_a_table_in_parts_are_those_of_the_whole(planted, cv):
    support = pytest.importorskip("tools.support")
    X, batch = planted
    given = {"batch": batch, "groups": np.arange(90) % 9 if isinstance(cv, GroupKFold) else None}
    expected = ColumnSubset("auto", cv=cv).fit(X, **given)
    with support.small_pieces():
        parts = np.array_split(X, 7)
        for table in (parts, iter(parts)):  # the labels say how many samples there are: one pass is enough
            found = ColumnSubset("auto", cv=cv).fit(table, **given)
            np.testing.assert_array_equal(found.selected_, expected.selected_)
            np.testing.assert_array_equal(found.fold_sizes_, expected.fold_sizes_)
            assert found.ridge_ == expected.ridge_
            np.testing.assert_allclose(
                found.path_.explained_variance_ratio, expected.path_.explained_variance_ratio, rtol=1e-8
            )
        with pytest.raises(ValueError, match="batch must hold one label for each sample, but holds 89"):
            ColumnSubset(3, cv=KFold(4)).fit(parts, batch=batch[:-1])
        with pytest.raises(ValueError, match="groups holds 88 labels and batch 90; give both one for each sample"):
            ColumnSubset(3, cv=GroupKFold(3)).fit(parts, batch=batch, groups=np.arange(88) % 9)
        # Where nothing is held out, the splits have no say.
        one, other = (ColumnSubset(3, ridge=0.1, cv=cv).fit(table, batch=batch) for table in (parts, X))
        assert one.objective_ == pytest.approx(other.objective_, rel=1e-9)


def test_batches_that_take_too_much_memory_are_refused_before_a_table_is_read(planted, monkeypatch):
    X, batch = planted
    monkeypatch.setattr("stableselect._core._batches.memory_limit", lambda: 8.0 * 14 * 60)
    with pytest.raises(ValueError, match=r"3 batches in 5 folds .* GiB of the .*; join batches, give a ridge"):
        ColumnSubset(3).fit(X, batch=batch)
    assert ColumnSubset(3, ridge=0.1).fit(X, batch=batch).selected_.size == 3


def test_pooled_moments_are_those_within_parts(planted):
    X, batch = planted
    parts = [Moments.from_array(X[batch == label]) for label in "abc"]
    pooled = Moments.pooled(parts)
    centred = within(X, batch)
    np.testing.assert_allclose(pooled.gram, np.cov(centred.T, bias=True), atol=1e-10)
    np.testing.assert_allclose(pooled.mean, X.mean(axis=0), atol=1e-12)
    assert pooled.n_samples == 90
    np.testing.assert_allclose(parts[0].mean, X[:30].mean(axis=0))  # the parts are left as they were
    with pytest.raises(ValueError, match="no samples"):
        Moments.pooled([])


def test_explained_variance_of_every_batch_is_that_of_the_shared_map(planted):
    X, batch = planted
    selector = ColumnSubset(2, ridge=0.0).fit(X, batch=batch)
    centred = within(X, batch)
    fit = LinearRegression().fit(centred[:, selector.support_], centred)
    for label, found in zip(selector.batches_, selector.batch_explained_variance_, strict=True):
        rows = batch == label
        left = centred[rows] - fit.predict(centred[rows][:, selector.support_])
        expected = 1 - np.sum(left**2) / np.sum((centred[rows] - centred[rows].mean(axis=0)) ** 2)
        assert found == pytest.approx(expected, rel=1e-8)


def test_a_feature_that_serves_one_batch_is_named(rng):
    batch = np.repeat([0, 1, 2], 40)
    shared, own = rng.normal(size=(120, 1)), rng.normal(size=(120, 1)) * (batch == 1)[:, None]
    noise = 0.05 * rng.normal(size=(120, 8))
    X = np.column_stack([np.repeat(shared, 4, axis=1), np.repeat(own, 4, axis=1)]) + noise
    selector = ColumnSubset(2, ridge=0.0).fit(X, batch=batch)
    (serves_one,) = [j for j in selector.selected_ if j >= 4]
    assert selector.batch_specific_.tolist() == [serves_one]


def test_reconstruct_takes_the_mean_of_the_batch(planted):
    X, batch = planted
    selector = ColumnSubset(2).fit(X, batch=batch)
    kept = selector.transform(X)
    by_batch = selector.reconstruct(kept, batch=batch)
    assert np.mean((X - by_batch) ** 2) < 0.05
    assert np.mean((X - selector.reconstruct(kept)) ** 2) > 1
    np.testing.assert_array_equal(by_batch[:, selector.support_], kept)
    assert -selector.score(X, batch=batch) == pytest.approx(np.mean((X - by_batch) ** 2))
    with pytest.raises(ValueError, match="batch 'd' was not among those fitted on"):
        selector.reconstruct(kept[:1], batch=["d"])
    with pytest.raises(ValueError, match="without batches"):
        ColumnSubset(2).fit(within(X, batch)).reconstruct(kept, batch=batch)


def test_saved_with_the_model(planted, tmp_path):
    X, batch = planted
    selector = ColumnSubset(2).fit(X, batch=batch)
    save(selector, tmp_path / "b.sselect")
    again, kept = load(tmp_path / "b.sselect"), selector.transform(X)
    np.testing.assert_array_equal(again.reconstruct(kept, batch=batch), selector.reconstruct(kept, batch=batch))
    assert not hasattr(again.fit(within(X, batch)), "batch_means_")


def test_labels_that_do_not_do(planted):
    X, batch = planted
    single = batch.copy()
    single[0] = "z"
    with pytest.raises(ValueError, match=r"Batch 'z' has one sample, .*; join it to another batch or leave it out"):
        ColumnSubset(2).fit(X, batch=single)
    with pytest.raises(ValueError, match=r"batch must hold one label for each sample, but holds 3, .* 90 samples"):
        ColumnSubset(2).fit(X, batch=["a", "b", "c"])
    with pytest.raises(ValueError, match=r"batch .* missing label"):
        ColumnSubset(2).fit(X, batch=np.r_[np.nan, np.zeros(89)])
    with pytest.raises(ValueError, match="sketch"):
        ColumnSubset(2, sketch=True).fit(X, batch=batch)
