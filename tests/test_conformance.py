"""This project's own checks, run on every selector on top of scikit-learn's."""

from importlib.util import find_spec

import numpy as np
import pytest
import skops.io
from sklearn.base import clone
from threadpoolctl import threadpool_info, threadpool_limits

import stableselect as ss
from stableselect import testing
from stableselect._core import _arrays, _folds
from stableselect.base import BaseSelector

SELECTORS = {name: cls() for name, cls in ss.all_selectors().items()}
LONG = {"AEFS", "AgnoSS", "CAE", "FAE", "GatedLaplacian", "KernelSubset", "NDFS"}
"""Take long with their default settings. Tests of numbers hold these too, slowly; for all other tests there are brief
ones, with settings that only shorten the work."""
SELECTORS |= {
    "AEFS short": ss.AEFS(epochs=20),
    "AgnoSS short": ss.AgnoSS(epochs=20),
    "CAE short": ss.CAE(epochs=50),
    "FAE short": ss.FAE(epochs=40),
    "FAE minibatch": ss.FAE(solver="minibatch", epochs=3, batch_size=8),
    "GatedLaplacian short": ss.GatedLaplacian(n_steps=10, max_samples=200),
    "KernelSubset short": ss.KernelSubset(n_landmarks=20, n_candidates=2, max_sweeps=1),
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


@pytest.fixture(params=[name for name in SELECTORS if name not in LONG])
def name(request):
    return request.param


with_defaults = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in SELECTORS]
)


@pytest.fixture
def make(name):
    """Return a function that makes the selector for k columns, seeded."""

    def build(k=None):
        selector = clone(SELECTORS[name]).set_params(n_features_to_select=k)
        if "random_state" in selector.get_params():
            selector.set_params(random_state=0)
        return selector

    return build


EXEMPT = {
    "sample_order_does_not_matter": NETWORKS,
    "feature_order_does_not_matter": BLIND | SEEDED | {"ConsensusSelector"},
    "extreme_scales_give_k_features": NETWORKS,
    "constant_features_come_last": BLIND | SEEDED,
}
"""Trained on batches of raw samples or too briefly to tell, or drawn by position."""
OF_NUMBERS = {
    "sample_order_does_not_matter",
    "feature_order_does_not_matter",
    "awkward_tables_give_k_features",
    "extreme_scales_give_k_features",
    "constant_features_come_last",
    "sparse_agrees_with_dense",
    "single_precision_agrees_with_double",
}
"""Laws that a long fit could break where a brief one of the same method keeps them."""
LAWS = [
    pytest.param(name, law, marks=[pytest.mark.slow] * (name in LONG or law.endswith("_give_k_features")))
    for name in SELECTORS
    for law in testing.selector_checks()
    if name not in LONG or law in OF_NUMBERS
]


@pytest.mark.parametrize(("name", "law"), LAWS)
def test_laws(name, law):
    if name in EXEMPT.get(law, ()):
        pytest.skip("exempt by design")
    testing.selector_checks()[law](SELECTORS[name])


def repeated_rows(rng):
    return rng.integers(0, 3, size=(40, 12)).astype(float)[rng.integers(0, 20, 40)]


def one_hot(rng):
    return np.hstack([np.eye(q)[rng.integers(0, q, 40)] for q in (3, 4, 2, 3)])


def binary_and_wide(rng):
    return (rng.random((14, 30)) < 0.3).astype(float)


@pytest.mark.slow
@with_defaults
@pytest.mark.parametrize("table", [repeated_rows, one_hot, binary_and_wide])
def test_row_order_does_not_matter_where_there_are_many_ties(make, name, table, rng):
    if name in NETWORKS:
        pytest.skip("mini-batches depend on the order of rows by design")
    X = table(rng)
    expected = make(4).fit(X)
    for _ in range(3):
        found = make(4).fit(X[rng.permutation(len(X))])
        np.testing.assert_array_equal(found.selected_, expected.selected_)
        np.testing.assert_allclose(found.scores_, expected.scores_, rtol=1e-9, atol=1e-12)


def test_block_size_does_not_matter(make, name, rng, monkeypatch):
    X = rng.normal(size=(1100, 12)) @ rng.normal(size=(12, 12))
    # A few steps of training are enough, and the kernel's search reads no blocks.
    settings = {"batch_size": 256, "init": "search"} if name.endswith(" nonlinear") else {}
    whole = make(4).set_params(**settings).fit(X)
    for module in (_arrays, _folds):
        monkeypatch.setattr(module, "BLOCK_ELEMENTS", 1)
    assert len(_arrays.row_blocks(*X.shape)) == 2  # blocks of 1,024 samples at least
    parts = make(4).set_params(**settings).fit(X)
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


sorted_or_not = pytest.mark.parametrize(
    "most", [_folds._MOST, pytest.param(0, marks=pytest.mark.slow)], ids=["sorted", "as they come"]
)


@pytest.mark.slow
@with_defaults
def test_sparse_agrees_with_dense_as_the_samples_come(name, monkeypatch):
    monkeypatch.setattr(_folds, "_MOST", 0)
    testing.selector_checks()["sparse_agrees_with_dense"](SELECTORS[name])


@sorted_or_not
def test_torch_tensors_agree_with_numpy(make, tall, monkeypatch, most):
    monkeypatch.setattr(_folds, "_MOST", most)
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


def test_the_map_is_exact_when_every_column_is_kept(make, name, tall):
    selector = make(12).fit(tall)
    if name in SEEDED | {"ScorerSelectorNetwork annealed"}:
        return  # the trained network's own map is not exact
    if "ridge" in selector.get_params() and not name.startswith("CAE"):  # whose ridge is that of its training, above 0
        selector = selector.set_params(ridge=0.0).fit(tall)
    predicted = tall @ selector.reconstruction_coef_ + selector.reconstruction_intercept_
    np.testing.assert_allclose(predicted, tall, atol=1e-8)


def test_a_weak_included_feature_does_not_flatten_the_ranking(make, rng):
    selector = make(4)
    if "include" not in selector.get_params():
        pytest.skip("takes neither include nor exclude")
    X = np.hstack([rng.normal(size=(200, 11)) @ rng.normal(size=(11, 11)), 1e-9 * rng.normal(size=(200, 1))])
    chosen = selector.set_params(include=[11]).fit(X)
    assert np.unique(chosen.scores_[~chosen.support_]).size >= 6
    assert np.all(np.diff(chosen.scores_[np.argsort(chosen.ranking_)][4:]) <= 0)


def test_polars_frames_keep_names(make, tall):
    pl = pytest.importorskip("polars")
    names = [f"gene {j}" for j in range(12)]
    frame = pl.DataFrame(tall, schema=names)
    selector = make(3).set_output(transform="polars").fit(frame)
    kept = selector.transform(frame)
    assert list(kept.columns) == [names[j] for j in sorted(selector.selected_)]
    shuffled = kept[list(kept.columns)[::-1]]
    np.testing.assert_allclose(selector.reconstruct(shuffled), selector.reconstruct(kept.to_numpy()))
    with pytest.raises(ValueError, match="is missing"):
        selector.reconstruct(kept[list(kept.columns)[:2]])


def test_tensors_that_cannot_be_used_are_refused(make, tall):
    torch = pytest.importorskip("torch")
    holes = tall.copy()
    holes[:3, 4] = np.nan
    with pytest.raises(ValueError, match=r"NaN in feature 4 \(3\)"):
        make(3).fit(torch.asarray(holes))
    with pytest.raises(ValueError, match="12"):
        make(3).fit(tall).transform(torch.asarray(tall[:, :5].copy()))


def test_skops_round_trip(make, tall):
    selector = make(4).fit(tall)
    blob = skops.io.dumps(selector)
    own = skops.io.get_untrusted_types(data=blob)
    assert all(kind.startswith("stableselect.") for kind in own)
    copy = skops.io.loads(blob, trusted=own)
    np.testing.assert_array_equal(copy.scores_, selector.scores_)
    np.testing.assert_array_equal(copy.reconstruct(tall[:, :4]), selector.reconstruct(tall[:, :4]))


def test_explanations_print_and_become_frames(make, tall):
    selector = make(4).fit(tall)
    explanation = selector.explain(tall)
    assert "best replacement" in str(explanation)
    assert explanation.to_frame()["feature"].tolist() == [lost.feature for lost in explanation.discarded]
    assert explanation.to_frame("selected")["feature"].tolist() == selector.selected_.tolist()


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
