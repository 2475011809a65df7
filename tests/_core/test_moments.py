"""Moments against the definitions: block by block, merged, weighted, sparse, removed, scaled, in both forms."""

import tracemalloc

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from threadpoolctl import threadpool_limits

import stableselect._core._moment_sums as module
from stableselect import Moments, SketchedMoments
from stableselect._core import _arrays, _sums

SHAPES = {"primal": (50, 6), "dual": (7, 30)}


def definition(X, weights=None):
    w = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
    mean = w @ X / w.sum()
    return mean, (X - mean).T @ np.diag(w) @ (X - mean) / w.sum()


@pytest.fixture(params=SHAPES)
def form(request):
    return request.param


@pytest.fixture
def X(form, rng):
    return rng.normal(size=SHAPES[form]) * 3 + 5


def test_form_follows_the_shape(form, X):
    assert Moments.from_array(X).form == form


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, np.uint8])
def test_matches_the_definition_from_any_type(form, X, dtype):
    X = np.abs(X * 7).astype(dtype)
    moments = Moments.from_array(X)
    mean, C = definition(X.astype(np.float64))
    np.testing.assert_allclose(moments.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(moments.gram, C, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(moments.minimum, X.min(axis=0))
    np.testing.assert_array_equal(moments.maximum, X.max(axis=0))
    assert moments.weight_sum == moments.n_samples == len(X)


def test_float32_input_is_summed_in_double_precision(rng):
    X = (rng.normal(size=(4000, 3)) + 1000).astype(np.float32)
    np.testing.assert_allclose(Moments.from_array(X).gram, definition(X.astype(np.float64))[1], rtol=1e-9)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), n=st.integers(1, 40), m=st.integers(1, 25), seed=st.integers(0, 10_000))
def test_any_blocks_in_any_order_agree(data, n, m, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) * 10.0 ** rng.integers(-3, 4, size=m) + 100 * rng.normal(size=m)
    whole = Moments.from_array(X)
    cuts = sorted(data.draw(st.lists(st.integers(0, n), max_size=5)))
    blocks = [b for b in np.split(rng.permutation(X), cuts) if len(b)]
    parts = Moments()
    for i, block in enumerate(blocks):
        if i % 2:
            parts.merge(Moments.from_array(block))
        else:
            parts.update(block)
    scale = np.sqrt(np.outer(whole.variance, whole.variance)) + 1e-12
    np.testing.assert_allclose(parts.mean, whole.mean, rtol=1e-9, atol=1e-9)
    assert np.max(np.abs(parts.gram - whole.gram) / scale) < 1e-7
    assert parts.form == whole.form


@pytest.mark.parametrize("block_size", [1, 3, 1000])
def test_block_size_does_not_matter(X, block_size):
    np.testing.assert_allclose(
        Moments.from_array(X, block_size=block_size).gram, Moments.from_array(X).gram, rtol=1e-10, atol=1e-10
    )


def test_merge_leaves_the_other_object_alone_and_shares_nothing(X):
    first, second = Moments.from_array(X[:4]), Moments.from_array(X[4:])
    before = second.gram.copy()
    empty = Moments().merge(second)
    first.merge(second)
    empty.update(X[:2])
    np.testing.assert_array_equal(second.gram, before)
    assert second.n_samples == len(X) - 4


def test_weights_are_repetitions_and_zero_weights_are_absence(X, rng):
    weights = rng.integers(0, 4, size=len(X))
    weights[0] = 2
    weighted = Moments.from_array(X, weights)
    repeated = Moments.from_array(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.gram, repeated.gram, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(weighted.mean, repeated.mean)
    np.testing.assert_array_equal(weighted.minimum, repeated.minimum)
    assert weighted.weight_sum == weights.sum()


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array])
def test_sparse_blocks_equal_dense_ones(form, rng, kind):
    dense = rng.normal(size=SHAPES[form]) * (rng.uniform(size=SHAPES[form]) < 0.3)
    weights = rng.uniform(0.5, 2, size=len(dense))
    one, other = Moments.from_array(kind(dense), weights), Moments.from_array(dense, weights)
    np.testing.assert_allclose(one.gram, other.gram, atol=1e-12)
    np.testing.assert_array_equal(one.maximum, other.maximum)


def test_sparse_columns_far_from_zero_do_not_cancel(rng):
    X = rng.normal(size=(200, 4)) + np.array([0, 1e8, 0, 5])
    one, other = Moments.from_array(sparse.csr_array(X)), Moments.from_array(X)
    np.testing.assert_allclose(one.gram, other.gram, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", ["coo", "bsr", "dia", "dok", "lil", "csc"])
def test_every_sparse_format_is_read(rng, kind):
    X = rng.normal(size=(9, 5)) * (rng.uniform(size=(9, 5)) < 0.4)
    np.testing.assert_allclose(
        Moments.from_array(sparse.csr_array(X).asformat(kind)).gram, Moments.from_array(X).gram, atol=1e-12
    )


def test_lists_and_data_frames_are_read_and_vectors_refused(X):
    pd = pytest.importorskip("pandas")
    for table in (X.tolist(), pd.DataFrame(X)):
        np.testing.assert_allclose(Moments.from_array(table).gram, Moments.from_array(X).gram, atol=1e-12)
    with pytest.raises(ValueError, match="two dimensions"):
        Moments.from_array(X[0])


def test_merging_with_itself_doubles_the_weight(X):
    moments = Moments.from_array(X)
    before = moments.gram.copy()
    moments.merge(moments)
    assert moments.weight_sum == 2 * len(X)
    np.testing.assert_allclose(moments.gram, before, atol=1e-12)


def test_more_weight_than_was_added_cannot_be_removed(X):
    with pytest.raises(ValueError, match="Cannot remove a weight"):
        Moments.from_array(X).remove(X[:2], [1000.0, 1000.0])


def test_remove_takes_rows_out_again(X):
    moments = Moments.from_array(X).remove(X[2:4])
    rest = Moments.from_array(np.delete(X, [2, 3], axis=0))
    np.testing.assert_allclose(moments.mean, rest.mean, rtol=1e-10)
    np.testing.assert_allclose(moments.gram, rest.gram, rtol=1e-8, atol=1e-8)
    assert moments.n_samples == len(X) - 2 and not moments.range_is_exact
    np.testing.assert_array_equal(moments.maximum, X.max(axis=0))


def test_remove_everything_leaves_nothing_and_too_much_is_refused(X):
    assert Moments.from_array(X).remove(X).n_features is None
    with pytest.raises(ValueError, match="Cannot remove"):
        Moments.from_array(X[:2]).remove(X)


@pytest.mark.parametrize(("kind", "scaler"), [("minmax", MinMaxScaler()), ("standard", StandardScaler())])
def test_scaling_needs_no_second_pass(X, kind, scaler):
    X[:, 1] = 4.25
    scaled = Moments.from_array(X).scale(kind)
    expected = Moments.from_array(scaler.fit_transform(X))
    np.testing.assert_allclose(scaled.gram, expected.gram, atol=1e-12)
    np.testing.assert_allclose(scaled.mean, expected.mean, atol=1e-12)
    np.testing.assert_allclose(scaled.minimum, expected.minimum, atol=1e-12)


def test_no_scaling_is_a_copy(X):
    moments = Moments.from_array(X)
    copy = moments.scale(None).update(X[:1])
    assert copy.n_samples == moments.n_samples + 1


def test_constant_columns_have_exactly_no_variance(X):
    X[:, 2] = 0.1
    assert Moments.from_array(X).variance[2] == 0


def test_torch_tensors_give_the_same(X):
    torch = pytest.importorskip("torch")
    moments = Moments.from_array(torch.asarray(X))
    assert isinstance(moments.gram, torch.Tensor)
    np.testing.assert_allclose(moments.gram.numpy(), Moments.from_array(X).gram, rtol=1e-12, atol=1e-12)


def test_too_large_for_either_form_is_refused_with_the_memory_it_takes(monkeypatch):
    monkeypatch.setattr(module, "memory_limit", lambda: 8 * 100 * 50)
    moments = Moments.from_array(np.eye(50, 100))
    with pytest.raises(MemoryError, match=r"100 features need .* GiB .* 51 samples"):
        moments.update(np.ones((1, 100)))


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (np.ones(3), "two dimensions"),
        (np.ones((2, 5)), "Expected 3 features"),
        (np.array([[1.0, np.nan, 2.0]]), r"NaN in feature 1 \(1\).*SimpleImputer"),
        (np.array([[1.0, 2.0, np.inf]]), r"infinity in feature 2"),
    ],
)
def test_bad_blocks_are_refused_and_change_nothing(block, message):
    moments = Moments.from_array(np.arange(12.0).reshape(4, 3))
    with pytest.raises(ValueError, match=message):
        moments.update(block)
    assert moments.n_samples == 4


@pytest.mark.parametrize("weights", [[1.0], [1, 1, 1, -1], [1, 1, 1, np.nan], np.ones((4, 1))])
def test_bad_weights_are_refused(weights):
    with pytest.raises(ValueError, match="one finite, non-negative number"):
        Moments().update(np.ones((4, 3)), weights)


def test_empty_moments_say_so():
    with pytest.raises(ValueError, match="no samples yet"):
        _ = Moments().gram
    with pytest.raises(ValueError, match="'minmax', 'standard' or None"):
        Moments.from_array(np.eye(3)).scale("robust")


def test_a_weight_buffer_may_be_used_again(form, rng):
    X, weights = rng.normal(size=SHAPES[form]), rng.uniform(0.1, 2, size=SHAPES[form][0])
    moments, buffer = Moments(), np.empty(1)
    for row, weight in zip(X, weights, strict=True):
        buffer[:] = weight
        moments.update(row[None, :], buffer)
    np.testing.assert_allclose(moments.gram, definition(X, weights)[1], atol=1e-12)


def test_arrays_that_come_back_are_copies(form, X):
    torch = pytest.importorskip("torch")
    for table in (X, torch.asarray(X.copy())):
        moments = Moments.from_array(table)
        for name in ("mean", "minimum", "maximum", "variance", "gram"):
            before = getattr(moments, name).tolist()
            getattr(moments, name)[...] = -1.0
            assert getattr(moments, name).tolist() == before


def test_a_block_may_be_used_again(form, X):
    buffer = X.copy()
    moments = Moments.from_array(buffer)
    buffer[:] = 0.0
    np.testing.assert_allclose(moments.gram, definition(X)[1], atol=1e-12)


@pytest.mark.parametrize("ratio", [1e-3, 1e-7, 1e-12, 1e-100])
def test_remove_keeps_the_features_of_small_units(rng, ratio):
    X = rng.normal(size=(10, 40))
    X[:, 2:] *= ratio
    moments = Moments.from_array(X).remove(X[:1])
    assert moments.form == "dual"
    np.testing.assert_allclose(moments.variance, X[1:].var(axis=0), rtol=1e-10)
    np.testing.assert_allclose(moments.scale("standard").variance, 1.0, rtol=1e-10)
    np.testing.assert_allclose(moments.mean, X[1:].mean(axis=0), rtol=1e-10)


def test_remove_of_a_far_sample_leaves_no_trace_in_the_dual_form(rng):
    X = rng.normal(size=(10, 40))
    X[0] *= 1e6
    np.testing.assert_allclose(Moments.from_array(X).remove(X[:1]).gram, definition(X[1:])[1], atol=1e-8)


def test_remove_takes_part_of_a_weight_and_equal_samples_together(form, X):
    weights = np.ones(len(X))
    weights[1] = 3.0
    moments = Moments.from_array(np.vstack([X, X[:1]]), np.append(weights, 1.0))
    moments.remove(X[:2], [2.0, 1.5])
    mean, C = definition(X[1:], np.append(1.5, weights[2:]))
    np.testing.assert_allclose(moments.mean, mean, rtol=1e-10)
    np.testing.assert_allclose(moments.gram, C, atol=1e-8)
    assert moments.weight_sum == pytest.approx(len(X) - 1 + 0.5)


def test_only_samples_that_were_added_can_be_removed(form, X):
    moments = Moments.from_array(X)
    before = moments.gram
    for strangers in (X + 5.0, X[:1] + 100.0, X[::-1] - 50.0):
        with pytest.raises(ValueError, match="remove only what was added"):
            moments.remove(strangers)
    with pytest.raises(ValueError, match="remove only what was added"):
        moments.remove(X, np.full(len(X), 0.5))
    if form == "dual":
        with pytest.raises(ValueError, match="remove only what was added"):
            moments.remove(X[:1] + 0.01)
    np.testing.assert_array_equal(moments.gram, before)
    assert moments.remove(X[::-1]).n_features is None


@pytest.mark.parametrize("factor", [1e-139, 1e138])
@pytest.mark.parametrize("size", [1e-20, 1e19])
def test_digits_are_kept_up_to_the_limits(form, rng, factor, size):
    X, weights = rng.normal(size=SHAPES[form]), rng.uniform(0.5, 1, size=SHAPES[form][0])
    weights /= weights.sum() * (1 - 1e-12)
    parts = Moments.from_array(X * factor, weights * size * 1.001, block_size=3)
    np.testing.assert_allclose(parts.variance / factor / factor, np.diagonal(definition(X, weights)[1]), rtol=1e-9)
    np.testing.assert_allclose(parts.scale("standard").variance, 1.0, rtol=1e-9)


def test_blocks_may_vary_less_and_weigh_less_than_all_samples_together(form, X):
    X[:3] *= 1e-200
    weights = np.ones(len(X))
    weights[:3] = 1e-30
    parts = Moments.from_array(X, weights, block_size=3)
    np.testing.assert_allclose(parts.gram, definition(X, weights)[1], atol=1e-10)


def test_variances_beyond_double_precision_are_refused(form, X):
    with pytest.raises(ValueError, match=r"beyond 1e\+140 .*scale the table first"):
        Moments().update(X * 1e200)
    moments = Moments.from_array(X * 1e-160)
    for read in (lambda: moments.variance, lambda: moments.gram, lambda: moments.scale("standard")):
        with pytest.raises(ValueError, match=r"differs by less than 1e-140 .*scale the table first"):
            read()


@pytest.mark.parametrize("size", [-1, 0, 2.5, "3"])
def test_a_block_has_at_least_one_sample(X, size):
    with pytest.raises(ValueError, match=r"block_size must be a whole number of at least 1"):
        Moments.from_array(X, block_size=size)


def test_weights_are_as_many_as_samples_whatever_the_blocks(X):
    with pytest.raises(ValueError, match="one finite, non-negative number for each"):
        Moments.from_array(X, np.ones(len(X) + 4), block_size=1)


def test_a_table_without_features_and_merging_with_samples_are_refused(X):
    for read in (Moments.from_array, Moments().update):
        with pytest.raises(ValueError, match="at least one feature"):
            read(X[:, :0])
    with pytest.raises(TypeError, match=r"Expected Moments to merge, got ndarray.*update"):
        Moments().merge(X)
    torch = pytest.importorskip("torch")
    for use in (Moments.from_array(X).update, Moments.from_array(X).remove):
        with pytest.raises(TypeError, match="convert them first"):
            use(torch.asarray(X[:1].copy()))


@pytest.mark.parametrize("kind", [np.float64, np.float32, sparse.csr_array])
def test_memory_is_that_of_the_moments_and_one_block(rng, kind, monkeypatch):
    X, m = kind(rng.normal(size=(6000, 300)).astype(np.float32)), 300
    monkeypatch.setattr(_arrays, "BLOCK_ELEMENTS", 1)  # blocks of 1,024 samples
    tracemalloc.start()
    try:
        moments = Moments.from_array(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert moments.form == "primal"
    whole = 8 * 6000 * m
    assert peak < 8 * m * m + 8 * 1024 * m + 0.1 * whole + (12 * 1024 * m if kind is sparse.csr_array else 0)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
def test_parts_read_side_by_side_give_the_definition_whatever_the_threads(rng, monkeypatch, kind, weighted):
    monkeypatch.setattr(module, "_SHORT", 0)
    X = (3 + rng.normal(size=(203, 7))).astype(kind)
    weights = rng.integers(0, 3, size=203).astype(float) if weighted else None
    if weighted:
        weights[:60] = 0  # the first part has no samples
    mean, C = definition(X.astype(float), weights)
    found = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads):
            found.append(Moments.from_array(X, weights))
    np.testing.assert_allclose(found[0].mean, mean, rtol=1e-12)
    np.testing.assert_allclose(found[0].gram, C, rtol=1e-10, atol=1e-12)
    kept = X if weights is None else X[weights > 0]
    assert found[0].minimum.tolist() == kept.min(axis=0).tolist()
    assert found[0].maximum.tolist() == kept.max(axis=0).tolist()
    assert found[0].n_samples == len(kept)
    assert all(np.array_equal(found[0].gram, other.gram) for other in found[1:])


def test_parts_of_which_one_holds_a_value_that_is_none(rng, monkeypatch):
    monkeypatch.setattr(module, "_SHORT", 0)
    X = rng.normal(size=(50, 3))
    X[47, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        Moments.from_array(X)


@pytest.mark.parametrize("layout", ["C", "F", "strided", "float32", "int", "sparse"])
@pytest.mark.parametrize("weighted", [False, True])
def test_chunks_of_a_block_give_what_the_whole_gives(rng, monkeypatch, layout, weighted):
    X = rng.integers(-9, 9, size=(50, 6)).astype(float)
    weights = rng.integers(0, 3, size=50).astype(float) if weighted else None
    mean, C = definition(X, weights)
    monkeypatch.setattr(_sums, "_CACHED", 20)  # three samples, and two at the end
    table = {
        "C": X,
        "F": np.asfortranarray(X),
        "strided": np.repeat(X, 2, axis=1)[:, ::2],
        "float32": X.astype(np.float32),
        "int": X.astype(np.int8),
        "sparse": sparse.csr_array(X),
    }[layout]
    moments = Moments.from_array(table, weights)
    used = X if weights is None else X[weights > 0]
    np.testing.assert_allclose(moments.mean, mean, atol=1e-12)
    np.testing.assert_allclose(moments.gram, C, atol=1e-12)
    np.testing.assert_array_equal(moments.minimum, used.min(axis=0))
    np.testing.assert_array_equal(moments.maximum, used.max(axis=0))


@pytest.mark.parametrize("cost", [1e-9, 1e9])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_and_dense_products_agree(rng, monkeypatch, cost, weighted):
    monkeypatch.setattr(_sums, "_SPARSE_COST", cost)
    monkeypatch.setattr(_sums, "_ENTRY_COST", cost)
    X = rng.normal(size=(40, 7)) * (rng.uniform(size=(40, 7)) < 0.3) + np.array([0, 0, 0, 0, 0, 1e7, 0])
    weights = rng.uniform(0.5, 2, size=40) if weighted else None
    start = rng.normal(size=(20, 7)) + 3
    moments = Moments.from_array(start).update(sparse.csr_array(X), weights)
    everything = np.append(np.ones(20), np.ones(40) if weights is None else weights)
    mean, C = definition(np.vstack([start, X]), everything)
    np.testing.assert_allclose(moments.mean, mean, rtol=1e-12, atol=1e-12)
    assert np.all(np.abs(moments.gram - C) <= 1e-9 * np.sqrt(np.outer(C.diagonal(), C.diagonal())))


def test_sparse_products_are_made_where_they_cost_less(rng, monkeypatch):
    taken = []
    monkeypatch.setattr(_sums, "add_sparse_products", lambda *arguments: taken.append(True))
    for share in (0.02, 0.5):
        X = rng.normal(size=(400, 50)) * (rng.random((400, 50)) < share)
        Moments.from_array(sparse.csr_array(X))
    assert taken == [True]


def test_a_bad_value_late_in_a_large_block_changes_nothing(rng, monkeypatch):
    monkeypatch.setattr(_arrays, "BLOCK_ELEMENTS", 1)
    X = rng.normal(size=(3000, 3))
    moments = Moments.from_array(X)
    before = moments.gram
    X[-1, 0] = np.nan
    with pytest.raises(ValueError, match="NaN in feature 0"):
        moments.update(X)
    np.testing.assert_array_equal(moments.gram, before)
    assert moments.n_samples == 3000


def test_blocks_far_apart_keep_their_digits(rng):
    """The mean moves by a million deviations from block to block, and a feature varies in one block only."""
    X = rng.normal(size=(60, 3)) + np.repeat([0.0, 1e6, -3e6], 20)[:, None]
    X[:20, 2] = 7.0
    moments = Moments.from_array(X, block_size=10)
    np.testing.assert_allclose(moments.gram, np.cov(X.T, bias=True), rtol=1e-12)
    last = Moments.from_array(X[:20], block_size=5).update(X[20:40])
    np.testing.assert_allclose(last.gram, np.cov(X[:40].T, bias=True), rtol=1e-12)


def test_the_moments_are_symmetric_to_the_last_bit(form, X):
    parts = [Moments.from_array(X[:3]), Moments.from_array(X[3:5]), Moments.from_array(X[5:])]
    moments = parts[0].merge(parts[1]).merge(parts[2]).update(X[:2]).remove(X[4:5])
    np.testing.assert_array_equal(moments.gram, moments.gram.T)


@pytest.mark.parametrize("make", [Moments, lambda: SketchedMoments(30, part="a")])
def test_sums_in_a_file_that_is_mapped_can_be_added_to(rng, tmp_path, make):
    X = rng.normal(size=(90, 7))
    path = tmp_path / "moments.joblib"
    joblib.dump(make().update(X[:60]), path)
    other = Moments.from_array(X[60:]) if make is Moments else SketchedMoments(30, part="b").update(X[60:])
    for add in (lambda m: m.update(sparse.csr_array(X[60:])), lambda m: m.update(X[60:]), lambda m: m.merge(other)):
        found = add(joblib.load(path, mmap_mode="r"))
        np.testing.assert_allclose(found.variance, X.var(axis=0))
