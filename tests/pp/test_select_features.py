"""Genes selected in an AnnData are those of the matrix, wherever that is, and what is written survives its files."""

import numpy as np
import pytest
from scipy import sparse

from stableselect import ColumnSubset, LaplacianScore, VarianceScore, pp

ad = pytest.importorskip("anndata")
pd = pytest.importorskip("pandas")
N, M, K = 120, 10, 4
NAMES = [f"gene {j}" for j in range(M)]
MASK = np.arange(M) % 3 > 0


@pytest.fixture
def X(rng):
    X = rng.normal(size=(N, 4)) @ rng.normal(size=(4, M)) + 0.3 * rng.normal(size=(N, M))
    return np.where(np.abs(X) < 0.5, 0.0, X)


def genes(X, **more):
    obs, var = (pd.DataFrame(index=pd.Index(names, dtype=object)) for names in (map(str, range(N)), NAMES))
    return ad.AnnData(X, obs=obs, var=var, **more)


def in_file(X, folder):
    genes(X).write_h5ad(folder / "genes.h5ad")
    return ad.read_h5ad(folder / "genes.h5ad", backed="r")


def in_sparse_file(X, folder):
    return in_file(sparse.csr_matrix(X), folder)


def on_dask(X, folder):
    da = pytest.importorskip("dask.array")
    return genes(da.from_array(X, chunks=(50, M)))


HELD = {
    "dense": lambda X, _: genes(X),
    "CSR": lambda X, _: genes(sparse.csr_matrix(X)),
    "CSC": lambda X, _: genes(sparse.csc_matrix(X)),
    "backed": in_file,
    "backed, sparse": in_sparse_file,
    "Dask": on_dask,
}


def check(adata, X, considered, key="stableselect", estimator=None):
    """Compare what was written with a fit on the plain matrix."""
    expected = (ColumnSubset(K) if estimator is None else estimator).fit(X[:, considered])
    chosen = adata.var[key].to_numpy()
    assert chosen.dtype == bool
    np.testing.assert_array_equal(np.flatnonzero(chosen), np.flatnonzero(considered)[expected.support_])
    np.testing.assert_array_equal(adata.var[f"{key}_rank"][considered], expected.ranking_)
    np.testing.assert_allclose(adata.var[f"{key}_score"][considered], expected.scores_, rtol=1e-8)
    for name in ("rank", "score", "intercept"):
        assert adata.var[f"{key}_{name}"][~considered].isna().all()
    coef, intercept = adata.varm[key], adata.var[f"{key}_intercept"].to_numpy()
    assert np.isnan(coef[~considered]).all()
    predicted = X[:, chosen] @ coef[considered].T + intercept[considered]
    kept = X[:, considered][:, expected.support_]
    rebuilt = expected.reconstruct(kept)
    others = ~expected.support_
    np.testing.assert_allclose(predicted[:, others], rebuilt[:, others], atol=1e-10)


@pytest.mark.parametrize("mask", [None, MASK, "wanted"], ids=["all", "array", "name"])
@pytest.mark.parametrize("held", HELD)
def test_genes_are_those_of_the_matrix(X, held, mask, tmp_path):
    adata = HELD[held](X, tmp_path)
    if isinstance(mask, str):
        adata.var[mask] = MASK
    assert pp.select_features(adata, K, mask_var=mask) is None
    check(adata, X, np.ones(M, dtype=bool) if mask is None else MASK)
    assert adata.uns["stableselect"]["params"].get("mask_var") == (
        None if mask is None else mask if isinstance(mask, str) else "an array"
    )


def test_sparse_matrices_are_never_made_dense(X, monkeypatch):
    adata = genes(sparse.csr_matrix(X), layers={"logs": sparse.csr_matrix(2 * X)})
    seen = []
    fit = ColumnSubset.fit

    def watched(self, table):
        seen.append(sparse.issparse(table.X))
        return fit(self, table)

    monkeypatch.setattr(ColumnSubset, "fit", watched)
    pp.select_features(adata, K)
    pp.select_features(adata, K, mask_var=MASK)
    pp.select_features(adata, K, layer="logs")
    assert seen == [True, True, True]


@pytest.mark.parametrize("mask", [None, MASK], ids=["all", "some"])
def test_a_file_is_read_chunk_by_chunk(X, mask, tmp_path, monkeypatch):
    from stableselect._core import _containers, _streams

    monkeypatch.setattr(_containers, "BLOCK_ELEMENTS", 200)
    monkeypatch.setattr(_streams, "BLOCK_ELEMENTS", 200)
    monkeypatch.setattr(_streams, "FEWEST", 20)
    adata, rows = in_file(X, tmp_path), []
    read = type(adata.X).__getitem__

    def watched(self, key, *rest):
        part = read(self, key, *rest)
        rows.append(np.shape(part)[0])
        return part

    monkeypatch.setattr(type(adata.X), "__getitem__", watched)
    pp.select_features(adata, K, mask_var=mask)
    monkeypatch.undo()
    assert len(rows) >= 6 and max(rows) <= 20
    check(adata, X, np.ones(M, dtype=bool) if mask is None else MASK)


def test_a_layer_and_a_key_of_its_own(X, rng):
    other = rng.normal(size=(N, M)) * np.arange(1, M + 1)
    adata = genes(X, layers={"other": other})
    pp.select_features(adata, K)
    pp.select_features(adata, K, layer="other", key_added="panel")
    check(adata, X, np.ones(M, dtype=bool))
    check(adata, other, np.ones(M, dtype=bool), key="panel")
    assert adata.uns["panel"]["params"]["layer"] == "other"


def test_any_selector_and_its_settings(X):
    adata, estimator = genes(X), VarianceScore(2, include=["gene 3"])
    pp.select_features(adata, K, estimator=estimator)
    check(adata, X, np.ones(M, dtype=bool), estimator=VarianceScore(K, include=[3]))
    assert estimator.n_features_to_select == 2 and not hasattr(estimator, "support_")
    assert adata.uns["stableselect"]["params"] == {
        "estimator": "VarianceScore",
        "n_features_to_select": K,
        "include": "['gene 3']",
    }
    pp.select_features(adata, estimator=estimator)
    assert adata.var["stableselect"].sum() == 2 and adata.varm["stableselect"].shape == (M, 2)


def test_a_data_frame_instead(X):
    adata = genes(X)
    frame = pp.select_features(adata, K, inplace=False)
    assert not len(adata.var.columns) and not adata.varm and not adata.uns
    pp.select_features(adata, K)
    pd.testing.assert_frame_equal(frame, adata.var)
    chosen = pp.select_features(adata, K, inplace=False, subset=True)
    pd.testing.assert_frame_equal(chosen, frame[frame["stableselect"]])


def test_the_selected_genes_only(X):
    adata = genes(sparse.csr_matrix(X), layers={"twice": 2 * X})
    pp.select_features(adata, K, subset=True)
    expected = ColumnSubset(K).fit(X)
    assert adata.shape == (N, K) and sparse.issparse(adata.X)
    np.testing.assert_array_equal(adata.X.toarray(), expected.transform(X))
    np.testing.assert_array_equal(adata.layers["twice"], 2 * expected.transform(X))
    np.testing.assert_array_equal(adata.var["stableselect_rank"], expected.ranking_[expected.support_])
    assert adata.varm["stableselect"].shape == (K, K)


def test_what_is_written_survives_a_file(X, tmp_path):
    adata = genes(sparse.csr_matrix(X))
    pp.select_features(adata, np.int64(K), mask_var=MASK, estimator=ColumnSubset(include=["gene 1"]))
    adata.write_h5ad(tmp_path / "written.h5ad")
    again = ad.read_h5ad(tmp_path / "written.h5ad")
    pd.testing.assert_frame_equal(again.var, adata.var, check_index_type=False)
    np.testing.assert_array_equal(again.varm["stableselect"], adata.varm["stableselect"])
    written = again.uns["stableselect"]
    assert written == adata.uns["stableselect"]
    assert set(written["versions"]) == {"stableselect", "anndata", "numpy", "scikit-learn"}
    assert written["params"]["estimator"] == "ColumnSubset" and written["params"]["n_features_to_select"] == K
    assert written["objective"] == pytest.approx(ColumnSubset(K, include=[0]).fit(X[:, MASK]).objective_, rel=1e-10)


@pytest.mark.parametrize("held", ["dense", "CSR", "backed"])
def test_batches_are_those_of_fit(X, held, tmp_path):
    donor = np.repeat(["a", "b"], N // 2)
    X[donor == "b", 3] += 50.0
    adata = HELD[held](X, tmp_path)
    adata.obs["donor"] = donor
    pp.select_features(adata, K, batch_key="donor")
    expected = ColumnSubset(K).fit(X, batch=donor)
    np.testing.assert_array_equal(np.flatnonzero(adata.var["stableselect"]), np.sort(expected.selected_))
    assert adata.uns["stableselect"]["objective"] == pytest.approx(expected.objective_, rel=1e-10)
    assert adata.uns["stableselect"]["params"]["batch_key"] == "donor"


@pytest.mark.parametrize(
    "given, kind, message",
    [
        ({"batch_key": "donor"}, ValueError, "adata.obs has no such column"),
        ({"batch_key": "donor", "estimator": VarianceScore()}, ValueError, "VarianceScore takes no batches"),
        ({"layer": "raw"}, ValueError, "layer is 'raw', but adata has 'logs'"),
        ({"mask_var": "highly_variable"}, ValueError, "adata.var has no such column"),
        ({"mask_var": MASK[1:]}, ValueError, "True or False for each of the 10 genes"),
        ({"mask_var": np.arange(M)}, ValueError, "True or False for each of the 10 genes"),
        ({"mask_var": ~np.ones(M, dtype=bool)}, ValueError, "True for some of them"),
        ({"key_added": None}, TypeError, "key_added must be a name"),
        ({"estimator": ColumnSubset}, TypeError, "estimator must be a selector"),
        ({"n_top_genes": M + 1}, ValueError, "n_features_to_select"),
    ],
)
def test_errors_leave_everything_as_it_was(X, given, kind, message):
    adata = genes(X, layers={"logs": X})
    with pytest.raises(kind, match=message):
        pp.select_features(adata, **{"n_top_genes": K, **given})
    assert not len(adata.var.columns) and not adata.varm and not adata.uns


def test_what_cannot_be_done_is_said(X, tmp_path):
    with pytest.raises(TypeError, match="Expected an AnnData, got a ndarray"):
        pp.select_features(X, K)
    with pytest.raises(ValueError, match="has no X; name the layer"):
        pp.select_features(genes(None, layers={"logs": X}), K, mask_var=MASK)
    backed = in_file(X, tmp_path)
    with pytest.raises(ValueError, match=r"A file keeps all of its genes; pass adata.to_memory\(\)"):
        pp.select_features(backed, K, subset=True)
    with pytest.raises(ValueError, match="Nothing can be written to a view of a file"):
        pp.select_features(backed[:60], K)
    assert pp.select_features(backed[:60], K, inplace=False)["stableselect"].sum() == K
    with pytest.raises(TypeError, match=r"LaplacianScore needs all samples in memory, but X is an AnnData"):
        pp.select_features(backed, K, estimator=LaplacianScore())
