"""This project's own checks, run on every selector on top of scikit-learn's."""

import pickle
from importlib.util import find_spec

import numpy as np
import pytest
import skops.io
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info, threadpool_limits

import stableselect as ss
from stableselect._core import _arrays, _folds, _sorted_samples
from stableselect.base import BaseSelector

SELECTORS = {name: cls() for name, cls in ss.all_selectors().items()}
LONG = {"AEFS", "AgnoSS", "CAE", "FAE", "GatedLaplacian", "NDFS"}
"""Take long with their default settings: here slow tests, and brief ones with settings that only shorten the work."""
SELECTORS |= {
    "AEFS short": ss.AEFS(epochs=20),
    "AgnoSS short": ss.AgnoSS(epochs=20),
    "CAE short": ss.CAE(epochs=50),
    "FAE short": ss.FAE(epochs=40),
    "FAE minibatch": ss.FAE(solver="minibatch", epochs=3, batch_size=8),
    "GatedLaplacian short": ss.GatedLaplacian(n_steps=10, max_samples=200),
    "NDFS short": ss.NDFS(max_iter=10),
    "ConsensusSelector": ss.ConsensusSelector(n_resamples=4),
    "ColumnSubset ridge=0": ss.ColumnSubset(ridge=0.0),
    "ScorerSelector ridge=0": ss.ScorerSelector(ridge=0.0, score_function="square"),
    "ScorerSelectorNetwork": ss.ScorerSelectorNetwork(epochs=40),
    "ScorerSelectorNetwork annealed": ss.ScorerSelectorNetwork(epochs=40, anneal=True, init="pca"),
    "ScorerSelectorNetwork minibatch": ss.ScorerSelectorNetwork(solver="minibatch", epochs=3, batch_size=8),
    "ScorerSelectorNetwork nonlinear": ss.ScorerSelectorNetwork(decoder=(8,), epochs=3, batch_size=16, n_starts=1),
}
if find_spec("torch") is None:
    del SELECTORS["ScorerSelectorNetwork nonlinear"]
NETWORKS = {"FAE minibatch", "ScorerSelectorNetwork minibatch", "ScorerSelectorNetwork nonlinear"}
"""Train on batches of samples."""
BLIND = {"RandomSelector"}
"""Draw columns by position, so a permutation of the columns means another draw."""
SEEDED = {"ScorerSelectorNetwork"} | NETWORKS
"""Start from random weights tied to column positions; those on batches also draw samples by position."""


@pytest.fixture(params=[pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in SELECTORS])
def name(request):
    return request.param


@pytest.fixture
def make(name):
    """Return a function that makes the selector for k columns, seeded."""

    def build(k=None):
        selector = clone(SELECTORS[name]).set_params(n_features_to_select=k)
        if "random_state" in selector.get_params():
            selector.set_params(random_state=0)
        return selector

    return build


def check_result(selector, m, k, included=()):
    """Hold what every fitted selector promises."""
    assert selector.selected_.shape == (k,) and len(set(selector.selected_.tolist())) == k
    assert selector.support_.dtype == bool and selector.support_.sum() == k
    assert set(np.flatnonzero(selector.support_)) == set(selector.selected_.tolist())
    assert sorted(selector.ranking_) == list(range(1, m + 1))
    np.testing.assert_array_equal(np.argsort(selector.ranking_)[:k], selector.selected_)
    assert np.all(np.isfinite(selector.scores_)) and selector.scores_.shape == (m,)
    earned = np.setdiff1d(selector.selected_, included)
    if k < m and earned.size:
        assert selector.scores_[earned].min() >= selector.scores_[~selector.support_].max()
    assert selector.reconstruction_coef_.shape == (k, m)
    assert np.all(np.isfinite(selector.reconstruction_coef_)) and np.all(
        np.isfinite(selector.reconstruction_intercept_)
    )


@pytest.mark.parametrize(("wanted", "k"), [(1, 1), (5, 5), (12, 12), (0.25, 3), (0.3, 4), (1.0, 12), (None, 6)])
def test_exactly_k_distinct_columns(make, tall, wanted, k):
    check_result(make(wanted).fit(tall), 12, k)


@pytest.mark.parametrize("wanted", [0, -1, 13, 0.0, -0.5, 1.5, "all", True, np.nan])
def test_bad_k_is_refused_in_a_sentence(make, tall, wanted):
    with pytest.raises(ValueError, match=r"n_features_to_select'?( parameter of \w+)? must be"):
        make(wanted).fit(tall)


def ratings(rng):
    return rng.integers(1, 6, size=(40, 12)).astype(float)


def repeated_rows(rng):
    return rng.integers(0, 3, size=(40, 12)).astype(float)[rng.integers(0, 20, 40)]


def one_hot(rng):
    return np.hstack([np.eye(q)[rng.integers(0, q, 40)] for q in (3, 4, 2, 3)])


def binary_and_wide(rng):
    return (rng.random((14, 30)) < 0.3).astype(float)


WHOLE_NUMBERS = (ratings, repeated_rows, one_hot, binary_and_wide)
"""Tables of many ties."""


@pytest.mark.parametrize(
    "table", [None, ratings, *(pytest.param(table, marks=pytest.mark.slow) for table in WHOLE_NUMBERS[1:])]
)
def test_row_order_does_not_matter(make, name, table, tall, rng):
    if name in NETWORKS:
        pytest.skip("mini-batches depend on the order of rows by design")
    X = tall if table is None else table(rng)
    expected = make(4).fit(X)
    for _ in range(1 if table is None else 3):
        found = make(4).fit(X[rng.permutation(len(X))])
        np.testing.assert_array_equal(found.selected_, expected.selected_)
        np.testing.assert_allclose(found.scores_, expected.scores_, rtol=1e-9, atol=1e-12)


def test_block_size_does_not_matter(make, name, rng, monkeypatch):
    X = rng.normal(size=(1100, 12)) @ rng.normal(size=(12, 12))
    whole = make(4).fit(X)
    for module in (_arrays, _folds):
        monkeypatch.setattr(module, "BLOCK_ELEMENTS", 1)
    assert len(_arrays.row_blocks(*X.shape)) == 2  # blocks of 1,024 samples at least
    parts = make(4).fit(X)
    np.testing.assert_array_equal(whole.selected_, parts.selected_)
    np.testing.assert_allclose(whole.reconstruction_coef_, parts.reconstruction_coef_, rtol=1e-6, atol=1e-9)
    assert parts.score(X) == pytest.approx(whole.score(X), rel=1e-6)


@pytest.mark.slow
def test_thread_count_does_not_matter(make, rng):
    X = rng.normal(size=(300, 40)) @ rng.normal(size=(40, 40))
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            results.append(make(7).fit(X).selected_)
    np.testing.assert_array_equal(*results)


def test_selecting_takes_one_thread_a_call(make, tall, monkeypatch):
    """Threads that share small products are slow on a busy machine."""
    seen, store = [], BaseSelector._store

    def watch(self, *found):
        seen.append({library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"})
        store(self, *found)

    monkeypatch.setattr(BaseSelector, "_store", watch)
    with threadpool_limits(2):
        make(4).fit(tall)
    assert seen[0] == {1}


def test_permuting_columns_permutes_the_choice(make, name, tall, rng):
    if name in BLIND | SEEDED | {"ConsensusSelector"}:
        pytest.skip("draws by feature position")
    order = rng.permutation(tall.shape[1])
    # The folds that choose the ridge follow the positions of the features.
    ridge = {"ridge": 0.1} if make(4).get_params().get("ridge") == "auto" else {}
    one, other = (make(4).set_params(**ridge).fit(table).selected_ for table in (tall[:, order], tall))
    np.testing.assert_array_equal(order[one], other)


def test_same_seed_same_result_and_no_global_state(make, tall):
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first, second = make(4).fit(tall), make(4).fit(tall)
    np.testing.assert_array_equal(first.scores_, second.scores_)
    np.testing.assert_array_equal(state, np.random.get_state()[1])  # noqa: NPY002


def test_input_is_left_alone_and_may_be_read_only_or_fortran(make, tall):
    expected = make(4).fit(tall).selected_
    frozen = tall.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(make(4).fit(frozen).selected_, expected)
    np.testing.assert_array_equal(make(4).fit(np.asfortranarray(tall)).selected_, expected)
    np.testing.assert_array_equal(frozen, tall)


def test_float32_agrees_with_float64(make, tall):
    single = tall.astype(np.float32)
    np.testing.assert_array_equal(make(4).fit(single).selected_, make(4).fit(single.astype(np.float64)).selected_)


sorted_or_not = pytest.mark.parametrize(
    "most", [_sorted_samples._MOST, pytest.param(0, marks=pytest.mark.slow)], ids=["sorted", "as they come"]
)


@sorted_or_not
def test_sparse_agrees_with_dense(make, tall, monkeypatch, most):
    monkeypatch.setattr(_sorted_samples, "_MOST", most)
    dense = np.where(np.abs(tall) > 1.5, tall, 0.0)
    expected = make(4).fit(dense)
    selector = make(4).fit(sparse.csr_array(dense))
    np.testing.assert_array_equal(selector.selected_, expected.selected_)
    kept = selector.transform(sparse.csr_array(dense))
    assert sparse.issparse(kept)
    np.testing.assert_allclose(selector.reconstruct(kept), expected.reconstruct(expected.transform(dense)), atol=1e-6)


@sorted_or_not
def test_torch_tensors_agree_with_numpy(make, tall, monkeypatch, most):
    monkeypatch.setattr(_sorted_samples, "_MOST", most)
    torch = pytest.importorskip("torch")
    expected = make(4).fit(tall)
    tensor = torch.asarray(tall)
    selector = make(4).fit(tensor)
    np.testing.assert_array_equal(selector.selected_, expected.selected_)
    kept = selector.transform(tensor)
    assert isinstance(kept, torch.Tensor) and isinstance(selector.scores_, np.ndarray)
    rebuilt = selector.reconstruct(kept)
    assert isinstance(rebuilt, torch.Tensor)
    np.testing.assert_allclose(rebuilt.numpy(), expected.reconstruct(expected.transform(tall)), atol=1e-6)


AWKWARD = {
    "duplicates": lambda X: np.hstack([X[:, :4], X[:, :4], X[:, :4]]),
    "constants": lambda X: np.where(np.arange(12) % 3 == 0, 0.1, X),
    "zeros": lambda X: np.where(np.arange(12) < 5, 0.0, X),
    "all zero": lambda X: np.zeros_like(X),
    "near collinear": lambda X: X[:, [0] * 12] + 1e-9 * X,
    "rank three": lambda X: X[:, :3] @ np.arange(36.0).reshape(3, 12) ** 0.5,
    "tiny": lambda X: X * 1e-139,
    "huge": lambda X: X * 1e138,
    "units apart": lambda X: X * np.where(np.arange(12) % 2, 1e-139, 1e138),
    "far from zero": lambda X: X + 1e7,
    "few rows": lambda X: X[:4],
    "two rows": lambda X: X[:2],
    "one row": lambda X: X[:1],
    "one value": lambda X: np.ones((1, 12)),
}


@pytest.mark.parametrize("kind", AWKWARD)
@pytest.mark.parametrize("k", [1, 6, 12])
@pytest.mark.slow
def test_awkward_tables_still_give_k_columns(make, name, tall, kind, k):
    if name in NETWORKS and kind in ("tiny", "huge", "units apart", "far from zero"):
        pytest.skip("mini-batch training on raw rows expects columns near unit scale")
    X = AWKWARD[kind](tall)
    selector = make(k).fit(X)
    check_result(selector, 12, k)
    assert selector.reconstruct(selector.transform(X)).shape == X.shape


@pytest.mark.parametrize("kind", ["constants", "zeros"])
def test_constant_columns_come_last(make, name, tall, kind):
    if name in BLIND | SEEDED:
        pytest.skip("blind to the values, or trained too briefly here to tell")
    X = AWKWARD[kind](tall)
    varying = np.flatnonzero(X.std(axis=0) > 1e-12)
    assert set(make(len(varying)).fit(X).selected_) == set(varying)


def test_one_column(make, rng):
    X = rng.normal(size=(8, 1))
    selector = make(1).fit(X)
    check_result(selector, 1, 1)


def test_reconstruction_is_exact_when_every_column_is_kept(make, name, tall):
    selector = make(12).fit(tall)
    np.testing.assert_array_equal(selector.reconstruct(selector.transform(tall)), tall)
    if name in SEEDED | {"ScorerSelectorNetwork annealed"}:
        return  # the trained network's own map is not exact
    if "ridge" in selector.get_params() and not name.startswith("CAE"):  # whose ridge is that of its training, above 0
        selector = selector.set_params(ridge=0.0).fit(tall)
    predicted = tall @ selector.reconstruction_coef_ + selector.reconstruction_intercept_
    np.testing.assert_allclose(predicted, tall, atol=1e-8)


def test_reconstruction_leaves_the_selected_features_unchanged(make, name, tall):
    selector = make(4)
    if "ridge" in selector.get_params():
        selector.set_params(ridge=1.0)
    kept = selector.fit(tall).transform(tall)
    rebuilt = selector.reconstruct(kept)
    np.testing.assert_array_equal(rebuilt[:, selector.support_], kept)
    assert not np.allclose(rebuilt[:, ~selector.support_], tall[:, ~selector.support_])


def test_score_is_minus_the_mean_squared_error(make, tall, rng):
    other = rng.normal(size=(7, 12))
    selector = make(4).fit(tall)
    expected = -np.mean((selector.reconstruct(selector.transform(other)) - other) ** 2)
    assert selector.score(other) == pytest.approx(expected)
    assert selector.score(sparse.csr_array(other)) == pytest.approx(expected)


def test_included_features_are_selected_and_excluded_ones_are_not(make, tall):
    selector = make(4)
    if "include" not in selector.get_params():
        pytest.skip("takes neither include nor exclude")
    free = selector.fit(tall)
    last, best = np.argsort(-free.ranking_)[:2].tolist(), free.selected_[0]
    chosen = make(4).set_params(include=last, exclude=[best]).fit(tall)
    check_result(chosen, 12, 4, included=last)
    assert chosen.support_[last].all() and not chosen.support_[best]
    with pytest.raises(ValueError, match="both include and exclude"):
        make(4).set_params(include=[1], exclude=[1]).fit(tall)


def test_a_weak_included_feature_does_not_flatten_the_ranking(make, rng):
    selector = make(4)
    if "include" not in selector.get_params():
        pytest.skip("takes neither include nor exclude")
    X = np.hstack([rng.normal(size=(200, 11)) @ rng.normal(size=(11, 11)), 1e-9 * rng.normal(size=(200, 1))])
    chosen = selector.set_params(include=[11]).fit(X)
    assert np.unique(chosen.scores_[~chosen.support_]).size >= 6
    assert np.all(np.diff(chosen.scores_[np.argsort(chosen.ranking_)][4:]) <= 0)


def test_data_frames_keep_names(make, tall):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    names = [f"gene {j}" for j in range(12)]
    frame = pd.DataFrame(tall, columns=names)
    for kind, table in (("pandas", frame), ("polars", pl.from_pandas(frame))):
        selector = make(3).set_output(transform=kind).fit(table)
        kept = selector.transform(table)
        assert list(kept.columns) == [names[j] for j in sorted(selector.selected_)]
        assert list(selector.get_feature_names_out()) == list(kept.columns)
        shuffled = kept[list(kept.columns)[::-1]]
        np.testing.assert_allclose(selector.reconstruct(shuffled), selector.reconstruct(kept.to_numpy()))
        with pytest.raises(ValueError, match="is missing"):
            selector.reconstruct(kept[list(kept.columns)[:2]])


def test_text_and_missing_values_are_named(make, tall):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(tall, columns=[f"c{j}" for j in range(12)])
    with pytest.raises(ValueError, match=r"text or dates: 'c1'"):
        make(3).fit(frame.assign(c1="a"))
    holes = frame.copy()
    holes.loc[:2, "c4"] = np.nan
    with pytest.raises(ValueError, match=r"NaN in 'c4' \(3\).*SimpleImputer"):
        make(3).fit(holes)
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"NaN in feature 4 \(3\)"):
        make(3).fit(torch.asarray(holes.to_numpy().copy()))


def test_wrong_width_is_refused(make, tall):
    torch = pytest.importorskip("torch")
    selector = make(3).fit(tall)
    for table in (tall[:, :5], torch.asarray(tall[:, :5])):
        with pytest.raises(ValueError, match="12"):
            selector.transform(table)
    with pytest.raises(ValueError, match="expects the 3 selected features"):
        selector.reconstruct(tall)


def test_clone_pickle_and_skops_round_trip(make, tall):
    selector = make(4).fit(tall)
    assert clone(selector).get_params() == selector.get_params()
    blob = skops.io.dumps(selector)
    own = skops.io.get_untrusted_types(data=blob)
    assert all(kind.startswith("stableselect.") for kind in own)
    for copy in (pickle.loads(pickle.dumps(selector)), skops.io.loads(blob, trusted=own)):
        np.testing.assert_array_equal(copy.scores_, selector.scores_)
        np.testing.assert_array_equal(copy.reconstruct(tall[:, :4]), selector.reconstruct(tall[:, :4]))


def test_works_in_a_pipeline(make, tall):
    pipeline = make_pipeline(StandardScaler(), make(4)).fit(tall)
    assert pipeline.transform(tall).shape == (60, 4)


def test_explanation_covers_every_column(make, tall):
    selector = make(4).fit(tall)
    explanation = selector.explain(tall)
    assert [kept.feature for kept in explanation.selected] == selector.selected_.tolist()
    assert sorted(dropped.feature for dropped in explanation.discarded) == sorted(np.flatnonzero(~selector.support_))
    assert "best replacement" in str(explanation)
    assert explanation.to_frame()["feature"].tolist() == [lost.feature for lost in explanation.discarded]
    assert explanation.to_frame("selected")["feature"].tolist() == selector.selected_.tolist()


def test_a_refused_table_changes_nothing(make, tall):
    selector = make(4).fit(tall)
    before = selector.selected_.copy()
    bad = tall[:, :7].copy()
    bad[0, 0] = np.nan
    for table in (bad, np.ones((3, 2)), [["a", "b"]]):
        with pytest.raises(ValueError):
            selector.fit(table)
    np.testing.assert_array_equal(selector.selected_, before)
    assert selector.transform(tall).shape == (60, 4)


def test_odd_tensors_are_read_or_refused_in_a_sentence(make, tall):
    torch = pytest.importorskip("torch")
    tensor = torch.asarray(tall.copy())
    expected = make(4).fit(tensor).selected_
    np.testing.assert_array_equal(make(4).fit(tensor.clone().requires_grad_()).selected_, expected)
    assert make(4).fit(tensor.to(torch.bfloat16)).selected_.shape == (4,)
    with pytest.raises(ValueError, match="Complex"):
        make(4).fit(tensor.to(torch.complex64))
    with pytest.raises(ValueError, match="Sparse tensors"):
        make(4).fit(tensor.to_sparse())


def test_repeated_column_names_are_refused(make, tall):
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="More than one feature is named 'a'"):
        make(2).fit(pd.DataFrame(tall[:, :3], columns=list("aab")))


def test_a_tiny_share_keeps_one_column(make, tall):
    assert make(1e-12).fit(tall).selected_.shape == (1,)
