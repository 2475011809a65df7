"""Chunks of Dask: what is gathered from them is that of the whole table, little of it comes here, errors say where."""

import numpy as np
import pytest
from scipy import sparse

from stableselect import PFA, ColumnSubset, Moments, PivotedQR, ScorerSelector, SketchedMoments, VarianceScore
from stableselect._core import Stream, open_table

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
CHUNKS = [((240,), 12), ((1, 239), 12), ((60, 60, 60, 60), 12), ((7,) * 34 + (2,), 12)]


@pytest.fixture(autouse=True)
def large(monkeypatch):
    """Take tables of more than twenty samples for large ones."""
    monkeypatch.setattr("stableselect._core._streams.FEWEST", 20)
    monkeypatch.setattr("stableselect._core._streams.BLOCK_ELEMENTS", 1)


@pytest.fixture
def X(rng):
    return rng.normal(size=(240, 5)) @ rng.normal(size=(5, 12)) + 0.5 * rng.normal(size=(240, 12))


def same(found, expected):
    np.testing.assert_array_equal(found.selected_, expected.selected_)
    np.testing.assert_allclose(found.reconstruction_coef_, expected.reconstruction_coef_, atol=1e-10)
    if hasattr(expected, "objective_"):
        assert found.objective_ == pytest.approx(expected.objective_, rel=1e-10)
    for value in vars(found).values():
        assert "dask" not in type(value).__module__


@pytest.mark.parametrize("chunks", CHUNKS, ids=lambda chunks: f"{len(chunks[0])} chunks")
@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_the_chunks_do_not_matter(X, chunks, scheduler):
    lazy = da.from_array(X, chunks=chunks)
    with dask.config.set(scheduler=scheduler):
        for make in (lambda: ColumnSubset(4), lambda: ScorerSelector(4), lambda: PivotedQR(4), lambda: PFA(4)):
            same(make().fit(lazy), make().fit(X))
        same(VarianceScore(4).fit(lazy), VarianceScore(4).fit(X))
        np.testing.assert_allclose(Moments.from_batches(lazy).gram, Moments.from_array(X).gram, atol=1e-12)


def test_sparse_chunks_and_empty_ones(X):
    few = np.where(np.abs(X) < 1, 0.0, X)
    lazy = da.from_array(few, chunks=(60, 12)).map_blocks(sparse.csr_matrix)
    same(ColumnSubset(4).fit(lazy), ColumnSubset(4).fit(few))
    unknown = (kept := da.from_array(X, chunks=(30, 12)))[(kept[:, 0] > 0.5)]  # chunks of unknown lengths
    same(ColumnSubset(4).fit(unknown), ColumnSubset(4).fit(X[X[:, 0] > 0.5]))
    with pytest.raises(ValueError, match="a Dask array and holds no samples"):
        ColumnSubset(4).fit(kept[kept[:, 0] > 1e9])


def test_only_what_is_gathered_comes_here(X, monkeypatch):
    """Every chunk is computed once, and its samples stay where they are."""
    computed, sizes = [], []

    def seen(block):
        if block.size:
            computed.append(len(block))
        return block

    lazy = da.from_array(X, chunks=(30, 12)).map_blocks(seen, meta=np.empty((0, 12)))
    compute = dask.compute

    def watched(*values, **how):
        found = compute(*values, **how)
        sizes.extend(sum(np.asarray(moments._second).size for moments in part) for part in found)
        return found

    monkeypatch.setattr(dask, "compute", watched)
    for weights in (None, np.linspace(1, 2, 240)):
        same(ColumnSubset(4).fit(lazy, sample_weight=weights), ColumnSubset(4).fit(X, sample_weight=weights))
    assert computed == [30] * 8 * 2
    assert sizes == [5 * 12 * 12] * 2  # five folds
    monkeypatch.undo()
    fitted = ColumnSubset(4).fit(X)
    with monkeypatch.context() as patch:
        patch.setattr("stableselect._core._streams.FEWEST", 20)
        patch.setattr("stableselect._core._streams.BLOCK_ELEMENTS", 1)
        patch.setattr(type(lazy), "compute", None)  # of which the blocks would be read here
        assert fitted.score(lazy) == pytest.approx(fitted.score(X), rel=1e-12)


def test_small_tables_are_read_at_once_and_sorted(X, monkeypatch, rng):
    monkeypatch.undo()
    lazy = da.from_array(X, chunks=(7, 12))
    samples, _ = open_table(lazy)
    np.testing.assert_array_equal(samples, X)
    for table in (lazy, lazy[lazy[:, 0] > -1e9], da.from_array(rng.permutation(X), chunks=(50, 12))):
        found = ColumnSubset(4).fit(table)
        assert found.objective_ == ColumnSubset(4).fit(X).objective_  # to the last bit


def test_weights_are_cut_along_the_chunks(X):
    weights = np.where(np.arange(240) % 7 == 0, 0.0, np.linspace(1, 3, 240))
    lazy = da.from_array(X, chunks=((1, 99, 140), 12))
    same(ColumnSubset(4).fit(lazy, sample_weight=weights), ColumnSubset(4).fit(X, sample_weight=weights))
    unknown = lazy[lazy[:, 0] > -1e9]
    lazy_weights = da.from_array(weights, chunks=50)
    for given in (weights, lazy_weights, lazy_weights.to_dask_dataframe()):
        same(ColumnSubset(4).fit(unknown, sample_weight=given), ColumnSubset(4).fit(X, sample_weight=weights))
    with pytest.raises(ValueError, match=r"but holds 239, and the table has 240 samples"):
        ColumnSubset(4).fit(lazy, sample_weight=weights[1:])


def test_sketches_of_chunks_have_the_exact_map(X):
    lazy = da.from_array(X, chunks=(60, 12))
    found = ColumnSubset(4, sketch=100).fit(lazy)
    assert found.sketch_size_ == 100
    centred = X - X.mean(axis=0)
    coef = np.linalg.lstsq(centred[:, found.support_], centred, rcond=None)[0]
    np.testing.assert_allclose(found.reconstruction_coef_, coef, atol=1e-8)
    twice = SketchedMoments(100).update(lazy).update(lazy)  # parts have names of their own
    assert twice.n_samples == 480
    np.testing.assert_allclose(twice.variance, X.var(axis=0))
    same(ColumnSubset(4).partial_fit(lazy).partial_fit(lazy), ColumnSubset(4).partial_fit(np.vstack([X, X])))


def test_frames_are_read_by_name(X):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(12)])
    lazy = dd.from_pandas(frame, npartitions=4)
    fitted = ColumnSubset(4).fit(lazy)
    same(fitted, ColumnSubset(4).fit(X))
    moments = Moments.from_batches(lazy).update(lazy[list(reversed(lazy.columns))])
    np.testing.assert_allclose(moments.gram, Moments.from_array(X).gram, atol=1e-12)
    with pytest.raises(ValueError, match="no feature 'c0', unlike the samples before"):
        moments.update(lazy.rename(columns={"c0": "other"}))
    with pytest.raises(ValueError, match="hold text or dates: 'c3'"):
        ColumnSubset(4).fit(lazy.assign(c3=lazy.c3.astype(str)))
    assert "dask" in type(fitted.transform(lazy)).__module__
    rebuilt = fitted.reconstruct(fitted.transform(lazy))
    assert "dask" in type(rebuilt).__module__ and list(rebuilt.columns) == list(frame.columns)


def test_a_chunk_with_a_missing_value_says_which(X):
    X[130, 4] = np.nan
    lazy = da.from_array(X, chunks=(60, 12))
    assert isinstance(open_table(lazy), Stream)
    with pytest.raises(ValueError, match=r"contains NaN in .*SimpleImputer \(in chunk 3 of 4 of a Dask array\)\.$"):
        ColumnSubset(4).fit(lazy)


@pytest.mark.parametrize("bad", [1, 3, 8])
def test_a_chunk_that_cannot_be_computed_says_which(X, bad):
    def fail(block, block_info=None):
        if block_info and block_info[0]["chunk-location"][0] == bad - 1:
            raise ZeroDivisionError("no such file")
        return block

    lazy = da.from_array(X, chunks=(30, 12)).map_blocks(fail, meta=np.empty((0, 12)))
    message = rf"Chunk {bad} of 8 of a Dask array cannot be computed \(ZeroDivisionError: no such file\)"
    with pytest.raises(RuntimeError, match=message):
        ColumnSubset(4).fit(lazy)


def test_chunks_of_features_are_refused_in_a_sentence(X):
    with pytest.raises(ValueError, match=r"12 features are in 2 chunks; pass X.rechunk\({1: -1}\)"):
        ColumnSubset(4).fit(da.from_array(X, chunks=(60, 6)))
