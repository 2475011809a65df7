"""The door for tables: names, order and kind of the parts, and what is refused, each with one sentence."""

import warnings

import numpy as np
import pytest
from scipy import sparse

import stableselect as ss
from stableselect import ColumnSubset, LaplacianScore, Moments, SketchedMoments
from stableselect._core import container_of
from stableselect.inspection import stability_analysis
from stableselect.metrics import reconstruction_error

pd = pytest.importorskip("pandas")
NAMES = [f"c{j}" for j in range(12)]


def frame(X, names=NAMES):
    return pd.DataFrame(X, columns=names)


def test_what_is_one_table_in_memory_is_no_container(tall, tmp_path):
    np.save(tmp_path / "t.npy", tall)
    for table in (
        tall,
        tall.tolist(),
        [list(row) for row in tall],
        [row for row in tall],
        tuple(map(tuple, tall)),
        np.load(tmp_path / "t.npy", mmap_mode="r"),
        sparse.csr_array(tall),
        frame(tall),
        memoryview(tall),
        "text",
        None,
        3.0,
        {"a": [1.0]},
        [],
    ):
        assert container_of(table) is None
    for parts in ([tall, tall], (frame(tall),), [sparse.csr_array(tall)], iter([tall]), map(np.asarray, [tall])):
        assert container_of(parts) is not None


def test_a_class_of_ones_own_that_hands_out_parts_is_read(tall):
    class Parts:
        def __iter__(self):
            return iter(np.array_split(tall, 4))

    np.testing.assert_array_equal(ColumnSubset(3).fit(Parts()).selected_, ColumnSubset(3).fit(tall).selected_)


def test_readers_of_other_packages_are_read(tall, tmp_path):
    whole, expected = frame(tall), ColumnSubset(3).fit(tall)
    whole.to_csv(tmp_path / "t.csv", index=False)
    with pd.read_csv(tmp_path / "t.csv", chunksize=7) as reader:
        found = ColumnSubset(3).fit(reader)
    np.testing.assert_array_equal(found.selected_, expected.selected_)
    assert found.feature_names_in_.tolist() == NAMES
    torch, pq = pytest.importorskip("torch"), pytest.importorskip("pyarrow.parquet")
    data = torch.utils.data.TensorDataset(torch.asarray(tall))
    loader = torch.utils.data.DataLoader(data, batch_size=7)
    np.testing.assert_array_equal(ColumnSubset(3).fit(loader).selected_, expected.selected_)
    pq.write_table(pytest.importorskip("pyarrow").Table.from_pandas(whole), tmp_path / "t.parquet")
    with pq.ParquetFile(tmp_path / "t.parquet") as file:
        np.testing.assert_array_equal(ColumnSubset(3).fit(file).selected_, expected.selected_)
    pl = pytest.importorskip("polars")
    batches = pl.LazyFrame(whole).collect_batches() if hasattr(pl.LazyFrame, "collect_batches") else iter([whole])
    np.testing.assert_array_equal(ColumnSubset(3).fit(batches).selected_, expected.selected_)


def test_names_come_from_the_first_part_and_order_the_others(tall):
    whole = frame(tall)
    parts = [whole[:20], whole[20:21][NAMES[::-1]], whole[21:][[*NAMES[5:], *NAMES[:5]]]]
    found = ColumnSubset(3).fit(parts)
    np.testing.assert_array_equal(found.selected_, ColumnSubset(3).fit(whole).selected_)
    assert found.feature_names_in_.tolist() == NAMES
    moments = Moments()
    for part in parts:
        moments.update(part)
    np.testing.assert_allclose(moments.gram, Moments.from_array(tall).gram, atol=1e-12)
    assert moments.feature_names == tuple(NAMES)
    stream = ColumnSubset(3)
    for part in parts:  # scikit-learn's rule for data frames: another order is an error
        if list(part.columns) == NAMES:
            stream.partial_fit(part)
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        stream.partial_fit(parts[1])
    stream.partial_fit([parts[1]]).partial_fit([parts[2]])
    np.testing.assert_array_equal(stream.selected_, ColumnSubset(3).partial_fit(whole).selected_)


BAD = {
    "ragged": (
        lambda X: [X[:5], X[5:9], X[9:, :11]],
        r"Expected 12 features as in the parts before, but part 3 has 11;",
    ),
    "another name": (
        lambda X: [frame(X[:5]), frame(X[5:], [*NAMES[:-1], "z"])],
        r"Part 2 has no feature 'c11', unlike the parts before; all must",
    ),
    "one name more": (
        lambda X: [frame(X[:5]), frame(np.hstack([X, X[:, :1]]), [*NAMES, "z"])],
        r"Part 2 has a feature 'z', unlike the parts before",
    ),
    "names are gone": (
        lambda X: [frame(X[:5]), X[5:]],
        r"part 2 have no names, those of the parts before names",
    ),
    "names appear": (
        lambda X: [X[:5], frame(X[5:])],
        r"part 2 have names, those of the parts before no names",
    ),
    "text": (
        lambda X: [frame(X[:5]), frame(X[5:]).assign(c3="a")],
        r"Part 2: .*hold text or dates: 'c3'; drop or encode",
    ),
    "an array of text": (lambda X: [X[:5], X[5:].astype(str)], r"Part 2: .*must hold numbers, but holds text"),
    "a missing value": (
        lambda X: [frame(X[:5]), frame(X[5:]).assign(c3=np.nan)],
        r"NaN in 'c3' \(55\); fill in",
    ),
    "no parts": (lambda X: (part for part in []), r"X is an iterator and holds no samples .*; pass at least one"),
    "only parts without samples": (lambda X: [X[:0], X[:0]], r"X is a series of parts and holds no samples; pass"),
    "no features": (lambda X: [X[:, :0]], r"at least one feature, got none"),
    "repeated names": (lambda X: [frame(X, ["a"] * 12)], r"Part 1: More than one feature is named 'a'; rename"),
    "parts of one dimension": (lambda X: (row for row in X), r"Expected a table \(two dimensions\), got 1"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_parts_are_refused_with_a_sentence_and_change_nothing(kind, tall):
    make, message = BAD[kind]
    for selector in (ColumnSubset(3), ss.VarianceScore(3)):
        with pytest.raises(ValueError, match=message):
            selector.fit(make(tall))
        assert not hasattr(selector, "n_features_in_")
    moments = Moments.from_array(tall)
    before = moments.gram
    if not kind.startswith("names"):  # what has no names goes by position there
        with pytest.raises(ValueError):
            moments.update(make(tall))
    with pytest.raises(ValueError, match=message if "missing" not in kind else "NaN in"):
        Moments.from_batches(make(tall))
    np.testing.assert_array_equal(moments.gram, before)
    assert moments.n_samples == 60


def test_names_of_two_types_are_refused(tall):
    with pytest.raises(TypeError, match="Some feature names are text and some are not; turn"):
        ColumnSubset(3).fit([frame(tall, [*NAMES[:-1], 3])])
    assert not hasattr(ColumnSubset(3).fit([frame(tall, range(12))]), "feature_names_in_")


def test_tensors_and_arrays_are_not_mixed(tall):
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match="Part 2 is a tensor, the parts before are none; turn all into one kind"):
        ColumnSubset(3).fit([tall[:30], torch.asarray(tall[30:])])
    with pytest.raises(ValueError, match="Part 2 is no tensor, the parts before are tensors"):
        Moments.from_batches([torch.asarray(tall[:30]), tall[30:]])


def test_parts_without_samples_are_passed_over_and_dense_and_sparse_ones_mix(tall):
    parts = [tall[:0], tall[:30], sparse.csr_array(tall[30:31]), tall[:0], tall[31:]]
    found, expected = ColumnSubset(3).fit(parts), ColumnSubset(3).fit(tall)
    np.testing.assert_array_equal(found.selected_, expected.selected_)
    assert found.objective_ == expected.objective_


def test_an_iterator_is_read_once_and_then_empty(tall):
    parts = iter(np.array_split(tall, 3))
    ColumnSubset(3).fit(parts)
    with pytest.raises(ValueError, match="holds no samples that it has not handed out yet"):
        ColumnSubset(3).fit(parts)


def test_numbers_of_any_type_in_frames(tall):
    whole = frame(np.round(tall))
    typed = whole.astype({"c0": "Int64", "c1": "Float64", "c2": "int8", "c3": "float32"})
    typed["c4"] = typed["c4"] > 0
    typed["c5"] = (typed["c5"] > 0).astype("boolean")
    plain = typed.astype(np.float64)
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    for table in (typed, pa.Table.from_pandas(typed), pl.from_pandas(typed), pl.from_pandas(typed).lazy()):
        np.testing.assert_allclose(Moments.from_batches(table).gram, Moments.from_array(plain).gram, atol=1e-12)
    holes = pa.table({"a": [1.0, None, 3.0], "b": [True, False, None], "c": [1, 2, 3]})
    with pytest.raises(ValueError, match=r"NaN in 'a' \(1\), 'b' \(1\); fill in"):
        ColumnSubset(1).fit(holes)
    with pytest.raises(ValueError, match=r"text or dates: 'a'; drop"):
        ColumnSubset(1).fit(pa.table({"a": ["1", "2"], "b": [1.0, 2.0]}))


def test_moments_with_names_are_merged_only_with_their_like(tall, tmp_path):
    import joblib

    one, two = Moments.from_array(frame(tall[:30])), Moments.from_array(tall[30:])
    assert (one.feature_names, two.feature_names) == (tuple(NAMES), None)
    whole = Moments().merge(two).merge(one)
    assert whole.feature_names == tuple(NAMES)
    for names in (NAMES[::-1], [f"d{j}" for j in range(12)]):
        with pytest.raises(ValueError, match="other names, or in another order, cannot be merged"):
            Moments.from_array(frame(tall[30:], names)).merge(one)
        with pytest.raises(ValueError, match="other names, or in another order"):
            ColumnSubset(3).fit_moments([one, Moments.from_array(frame(tall[30:], names))])
    joblib.dump(whole, tmp_path / "m")
    for moments in (joblib.load(tmp_path / "m"), whole.scale("standard"), SketchedMoments(50).update(frame(tall))):
        assert ColumnSubset(3).fit_moments(moments).feature_names_in_.tolist() == NAMES
    named = ColumnSubset(3).fit_moments(whole, feature_names=[f"d{j}" for j in range(12)])
    assert named.feature_names_in_[0] == "d0"
    old = dict(vars(two))
    del old["feature_names"]  # stored before moments had names
    again = Moments()
    again.__dict__.clear()
    again.__dict__.update(old)
    assert ColumnSubset(3).fit_moments(again).n_features_in_ == 12


def test_names_of_moments_are_saved_and_damaged_ones_refused(tall, tmp_path):
    selector = ColumnSubset(3).partial_fit([frame(tall[:30]), frame(tall[30:])])
    ss.save(selector, tmp_path / "s.sselect")
    loaded = ss.load(tmp_path / "s.sselect")
    assert loaded.moments_.feature_names == selector.moments_.feature_names
    for names in (("a",), (1,) * 12, list(NAMES)):
        selector.moments_.feature_names = names
        ss.save(selector, tmp_path / "s.sselect", overwrite=True)
        with pytest.raises(ValueError):
            ss.load(tmp_path / "s.sselect")


def test_dask_arrays_need_their_features_in_one_chunk(tall):
    da = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match=r"its 12 features are in 3 chunks; pass X\.rechunk\(\{1: -1\}\)"):
        ColumnSubset(3).fit(da.from_array(tall, chunks=(20, 4)))
    with pytest.raises(ValueError, match="two dimensions"):
        ColumnSubset(3).fit(da.from_array(tall[0], chunks=4))
    with pytest.raises(TypeError, match="A Dask Bag is no table; pass"):
        ColumnSubset(3).fit(pytest.importorskip("dask.bag").from_sequence([1, 2]))


def test_dask_is_computed_block_by_block(tall):
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    largest = []

    def block(part):
        largest.append(len(part))
        return part

    X = da.from_array(np.vstack([tall] * 10), chunks=(50, 12)).map_blocks(block, dtype=float)
    largest.clear()
    selector = ColumnSubset(3).fit(X)
    assert sum(largest) == 600 and max(largest) == 50  # one pass
    largest.clear()
    made = selector.reconstruct(selector.transform(X))
    assert largest == [] and isinstance(made, da.Array)
    with dask.config.set(scheduler="synchronous"):
        assert made.compute().shape == (600, 12)


def test_groups_of_arrays_and_missing_matrices_are_told(tall, tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["X"], file["y"] = tall, tall[0]
        with pytest.raises(TypeError, match=r"A File may hold many arrays; pass one of them, for instance X\['name'\]"):
            ColumnSubset(3).fit(file)
        with pytest.raises(ValueError, match="two dimensions"):
            ColumnSubset(3).fit(file["y"])
        np.testing.assert_array_equal(ColumnSubset(3).fit(file["X"]).selected_, ColumnSubset(3).fit(tall).selected_)
    anndata = pytest.importorskip("anndata")
    with pytest.raises(ValueError, match="This AnnData has no X; set its X to the layer"):
        ColumnSubset(3).fit(anndata.AnnData(obs=pd.DataFrame(index=["a"])))


def test_anndata_stays_sparse_and_names_are_used(tall, monkeypatch):
    anndata = pytest.importorskip("anndata")
    counts = sparse.csr_matrix(np.where(np.abs(tall) > 2, tall, 0.0))
    data = anndata.AnnData(counts, var=pd.DataFrame(index=NAMES))
    selector = ColumnSubset(3, include=["c7"]).fit(data)
    assert "c7" in selector.get_feature_names_out()
    kept = selector.transform(data[:, NAMES[::-1]])  # found by name
    assert kept.var_names.tolist() == selector.get_feature_names_out().tolist()
    assert sparse.issparse(kept.X)
    with pytest.raises(ValueError, match="X has no feature 'c0', unlike the table fitted on"):
        selector.transform(data[:, NAMES[1:]])
    rebuilt = selector.reconstruct(data)  # the selected ones are found among all
    np.testing.assert_allclose(rebuilt, selector.reconstruct(kept.X))
    with pytest.raises(ValueError, match="reconstruct needs the selected features, but 'c7' is missing"):
        selector.reconstruct(data[:, [name for name in NAMES if name != "c7"]])
    np.testing.assert_array_equal(LaplacianScore(3).fit(data).selected_, LaplacianScore(3).fit(counts).selected_)


def test_several_anndata_and_raw_ones_are_read(tall):
    anndata = pytest.importorskip("anndata")
    experimental = pytest.importorskip("anndata.experimental")
    data = anndata.AnnData(sparse.csr_matrix(tall), var=pd.DataFrame(index=NAMES))
    data.raw = data
    together = experimental.AnnCollection([data[:20].copy(), data[20:].copy()], index_unique="-")
    for table in (together, data.raw):
        selector = ColumnSubset(3).fit(table)
        np.testing.assert_array_equal(selector.selected_, ColumnSubset(3).fit(tall).selected_)
        assert selector.feature_names_in_.tolist() == NAMES
        assert selector.reconstruct(selector.transform(table)).shape == (60, 12)
        with pytest.raises(TypeError, match=r"in memory, but X is an anndata .*; pass X\[:\]\.to_adata\(\)"):
            LaplacianScore(3).fit(table)


def test_what_holds_no_table_is_refused_at_once():
    class Endless:
        def __len__(self):
            return 3

        def __getitem__(self, key):
            return self

    for use in (ColumnSubset(1).fit, LaplacianScore(1).fit, Moments().update, Moments.from_batches):
        with pytest.raises(TypeError, match="is of type Endless, which holds no table; pass an array or a data frame"):
            use(Endless())


def test_dask_collections_of_unknown_length_and_with_empty_parts_are_read(tall):
    dd = pytest.importorskip("dask.dataframe")
    lazy = dd.from_pandas(frame(tall[np.argsort(tall[:, 0])]), npartitions=6)
    some = lazy[lazy["c0"] > 0]  # the first partitions are empty
    kept = tall[tall[:, 0] > 0]
    expected = ColumnSubset(3).fit(kept)
    for table in (some, some.values):
        selector = ColumnSubset(3).fit(table)
        np.testing.assert_array_equal(selector.selected_, expected.selected_)
        assert selector.objective_ == expected.objective_
        made = selector.reconstruct(selector.transform(table)).compute()
        assert made.shape == kept.shape
    assert made.dtype == np.float64


def test_transform_and_reconstruct_of_parts_are_checked(tall):
    pa, dd = pytest.importorskip("pyarrow"), pytest.importorskip("dask.dataframe")
    selector = ColumnSubset(3).fit(frame(tall))
    gap = tall.copy()
    gap[7, 2] = np.nan
    with pytest.raises(ValueError, match=r"NaN in 'c2' \(1\)"):
        selector.transform(pa.Table.from_pandas(frame(gap)))
    kept = selector.get_feature_names_out()
    lacking = frame(tall)[[name for name in NAMES if name != kept[1]]]
    for table in (pa.Table.from_pandas(lacking), dd.from_pandas(lacking, npartitions=2), lacking):
        with pytest.raises(ValueError, match=f"reconstruct needs the selected features, but '{kept[1]}' is missing"):
            selector.reconstruct(table)
    for table in (pa.Table.from_pandas(frame(tall)), dd.from_pandas(frame(tall), npartitions=2)):
        rebuilt = selector.reconstruct(table)  # the selected ones are found among all
        np.testing.assert_allclose(np.asarray(rebuilt), selector.reconstruct(frame(tall)), atol=1e-12)


def test_chunked_arrays_are_read_by_whole_chunks_of_rows(rng, monkeypatch):
    monkeypatch.setattr("stableselect._core._containers.BLOCK_ELEMENTS", 1000)
    X, read = rng.normal(size=(500, 12)), []

    class Chunked:
        shape, dtype, chunks = X.shape, X.dtype, (20, 5)

        def __getitem__(self, rows):
            read.append((rows.start, rows.stop))
            return X[rows]

    found = Moments.from_batches(Chunked())
    assert read == [(start, min(500, start + 80)) for start in range(0, 500, 80)]
    np.testing.assert_allclose(found.gram, Moments.from_array(X).gram, atol=1e-12)


def test_a_sketch_goes_on_with_parts(tall):
    one, two = SketchedMoments(30).update(tall[:20]), SketchedMoments(30).update(tall[:20])
    np.testing.assert_allclose(one.update([tall[20:40], tall[40:]]).gram, two.update(tall[20:]).gram, atol=1e-12)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stableselect._core._streams.FEWEST", 5)
        patch.setattr("stableselect._core._streams.BLOCK_ELEMENTS", 1)
        three = SketchedMoments(30).update(tall[:20]).update(iter(np.array_split(tall[20:], 4)))
    np.testing.assert_allclose(three.gram, two.gram, atol=1e-12)


def test_a_lazy_frame_gives_no_warning(tall):
    pl = pytest.importorskip("polars")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lazy = pl.LazyFrame(tall, schema=NAMES)
        selector = ColumnSubset(3).fit(lazy)
        made = selector.transform(lazy.select(NAMES[::-1]))
        assert made.collect_schema().names() == selector.get_feature_names_out().tolist()
        assert selector.reconstruct(made).shape == (60, 12)
        with pytest.raises(TypeError, match=r"LaplacianScore needs all samples in memory, but X is a polars LazyFrame"):
            LaplacianScore(3).fit(lazy)


def test_a_lazy_frame_without_batches_is_read_in_slices(tall, monkeypatch):
    pl = pytest.importorskip("polars")
    monkeypatch.delattr(pl.LazyFrame, "collect_batches", raising=False)
    monkeypatch.setattr("stableselect._core._containers._SLICE", 20)
    found = Moments.from_batches(pl.LazyFrame(tall, schema=NAMES))
    assert found.n_samples == 60
    np.testing.assert_allclose(found.gram, Moments.from_array(tall).gram, atol=1e-12)


def test_measures_and_procedures_take_what_is_in_memory_and_say_what_is_not(tall):
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    lazy, table = pl.LazyFrame(tall, schema=NAMES), pa.table(dict(zip(NAMES, tall.T, strict=True)))
    with pytest.raises(TypeError, match=r"in memory, but X_train is a polars LazyFrame; pass X_train\.collect"):
        reconstruction_error(lazy, tall, [0, 1])
    assert reconstruction_error(table, tall, [0, 1]) == reconstruction_error(tall, tall, [0, 1])
    for selector in (ColumnSubset(3), LaplacianScore(3)):
        with pytest.raises(TypeError, match=r"stability_analysis needs all samples in memory, but X is .*X\.collect"):
            stability_analysis(selector, lazy)
        expected, found = (stability_analysis(selector, X, n_repeats=4) for X in (tall, table))
        np.testing.assert_array_equal(found.supports, expected.supports)


def test_set_output_makes_data_frames_of_any_table(tall):
    pl, da = pytest.importorskip("polars"), pytest.importorskip("dask.array")
    selector = ColumnSubset(3).fit(frame(tall)).set_output(transform="pandas")
    expected = selector.transform(frame(tall))
    for table in (pl.LazyFrame(tall, schema=NAMES), da.from_array(tall, chunks=(20, 12)), iter([])):
        if hasattr(table, "__next__"):
            with pytest.raises(TypeError, match="call this for each part"):
                selector.transform(table)
        else:
            pd.testing.assert_frame_equal(selector.transform(table), expected)
