"""Every container gives what the plain array gives, whatever its chunks; the page about it says what the cases do."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from stableselect import PFA, ColumnSubset, Moments, PivotedQR, RandomSelector, ScorerSelector, VarianceScore

ROOT = Path(__file__).parents[1]
if not (ROOT / "tools" / "support.py").exists():
    pytest.skip("tools/ is not in this copy of the tests", allow_module_level=True)
from tools import support  # noqa: E402

OTHERS = (VarianceScore, ScorerSelector, PivotedQR, PFA, RandomSelector)
SOME_QUICK = [ColumnSubset, *(pytest.param(cls, marks=pytest.mark.slow) for cls in OTHERS)]
ONCE = ("Arrow stream", "generator of parts")
PARTS = ("list of parts", "generator of parts")


@pytest.fixture(params=support.INPUTS)
def name(request):
    why = support.missing(request.param, views=False)
    if why:
        pytest.skip(why)
    return request.param


def selector(cls):
    return cls(4, random_state=0) if cls is RandomSelector else cls(4)


@pytest.mark.parametrize("in_pieces", [False, True])
@pytest.mark.parametrize("cls", SOME_QUICK)
def test_fit_gives_what_the_array_gives(name, cls, in_pieces, tmp_path):
    X = support.table()
    expected = selector(cls).fit(X)
    if in_pieces and cls in (VarianceScore, RandomSelector) and name in ONCE:
        with pytest.raises(ValueError, match=r"second pass is needed, but an .* can be read only once; pass"):
            support.run(name, lambda: selector(cls), "fit, in pieces", tmp_path)
        return
    found, _ = support.run(name, lambda: selector(cls), "fit, in pieces" if in_pieces else "fit", tmp_path)
    np.testing.assert_array_equal(found.selected_, expected.selected_)
    if hasattr(expected, "objective_"):
        assert found.objective_ == pytest.approx(expected.objective_, rel=1e-10)
    np.testing.assert_allclose(found.scores_, expected.scores_, rtol=1e-8)
    np.testing.assert_allclose(found.reconstruction_coef_, expected.reconstruction_coef_, atol=1e-10)
    assert found.n_features_in_ == 12
    assert getattr(found, "feature_names_in_", np.array([])).tolist() == (
        support.NAMES if support.INPUTS[name].named else []
    )


@pytest.mark.parametrize("in_pieces", [pytest.param(False, marks=pytest.mark.slow), True])
def test_moments_keep_names_and_sums(name, in_pieces, tmp_path):
    X, held = support.table(), support.INPUTS[name]
    expected, weights = Moments.from_array(X), np.linspace(1, 2, 300)
    if in_pieces:
        with support.small_pieces():
            found = [Moments.from_batches(held.make(X, tmp_path)), Moments().update(held.make(X, tmp_path))]
            weighted = Moments.from_batches(held.make(X, tmp_path), weights)
    else:
        found = [Moments.from_batches(held.make(X, tmp_path)), Moments().update(held.make(X, tmp_path))]
        weighted = Moments.from_batches(held.make(X, tmp_path), weights)
    for moments in found:
        np.testing.assert_allclose(np.asarray(moments.gram), expected.gram, atol=1e-12)
        assert moments.feature_names == (tuple(support.NAMES) if held.named else None)
        kept = ColumnSubset(4).fit_moments(moments).get_feature_names_out().tolist()
        assert kept == [
            support.NAMES[j] if held.named else f"x{j}"
            for j in np.sort(ColumnSubset(4).fit_moments(expected).selected_)
        ]
    np.testing.assert_allclose(np.asarray(weighted.gram), Moments.from_array(X, weights).gram, atol=1e-12)


@pytest.mark.parametrize("in_pieces", [pytest.param(False, marks=pytest.mark.slow), True])
def test_weights_run_along_the_parts(name, in_pieces, tmp_path):
    X, weights = support.table(), np.where(np.arange(300) % 7 == 0, 0.0, np.linspace(1, 3, 300))
    expected = ColumnSubset(4).fit(X, sample_weight=weights)
    with support.small_pieces() if in_pieces else pytest.MonkeyPatch.context():
        found = ColumnSubset(4).fit(support.INPUTS[name].make(X, tmp_path), sample_weight=weights)
        for wrong in (weights[:-1], np.append(weights, 1.0), weights[:60]):
            with pytest.raises(ValueError, match="sample_weight must hold one finite, non-negative number for each"):
                ColumnSubset(4).fit(support.INPUTS[name].make(X, tmp_path), sample_weight=wrong)
    np.testing.assert_array_equal(found.selected_, expected.selected_)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-10)


def costs_of(explanation):
    return [kept.error_increase for kept in explanation.selected]


def test_partial_fit_score_and_explain(name, tmp_path):
    X, held = support.table(), support.INPUTS[name]
    expected = ColumnSubset(4).partial_fit(X)
    with support.small_pieces():
        found = ColumnSubset(4).partial_fit(held.make(X, tmp_path))
        np.testing.assert_array_equal(found.selected_, expected.selected_)
        assert found.objective_ == pytest.approx(expected.objective_, rel=1e-10)
        assert found.score(held.make(X, tmp_path)) == pytest.approx(expected.score(X), rel=1e-10)
        scored = VarianceScore(4).fit(support.frame(X) if held.named else X)
        costs = costs_of(scored.explain(held.make(X, tmp_path)))
    np.testing.assert_allclose(costs, costs_of(VarianceScore(4).fit(X).explain(X)), rtol=1e-8)


@pytest.mark.parametrize("cls", SOME_QUICK)
def test_transform_and_reconstruct_give_what_the_array_gives(name, cls, tmp_path):
    X = support.table()
    expected = selector(cls).fit(X)
    if name in PARTS:
        for operation in ("transform", "reconstruct"):
            with pytest.raises(TypeError, match=r"X is .* of a table; call this for each part"):
                getattr(expected, operation)(support.INPUTS[name].make(X, tmp_path))
        return
    if why := support.missing(name):
        pytest.skip(why)
    _, selected = support.run(name, lambda: selector(cls), "transform", tmp_path)
    np.testing.assert_allclose(support.values(selected), expected.transform(X), rtol=1e-14)
    _, rebuilt = support.run(name, lambda: selector(cls), "reconstruct", tmp_path)
    np.testing.assert_allclose(support.values(rebuilt), expected.reconstruct(expected.transform(X)), atol=1e-10)


LAZY = {
    "polars LazyFrame": r"a polars LazyFrame; pass X\.collect\(\)",
    "Arrow dataset": r"an Arrow dataset; pass X\.to_table\(\)",
    "DuckDB relation": r"a DuckDBPyRelation; pass pyarrow\.table\(X\)",
    "HDF5 dataset": r"an HDF5 dataset; pass X\[:\]",
    "AnnData, backed": r"an AnnData; pass X\.to_memory\(\)",
    "AnnData on Dask": r"an AnnData; pass X\.to_memory\(\)",
    "Dask array": r"a Dask array; pass X\.compute\(\)",
    "Dask dataframe": r"a Dask dataframe; pass X\.compute\(\)",
    "generator of parts": r"an iterator; pass one table of its parts",
}


@pytest.mark.parametrize("name", LAZY, indirect=True)
def test_selectors_of_rows_say_how_to_get_them(name, tmp_path):
    for make in support.KINDS["rows"]:
        with pytest.raises(
            TypeError, match=rf"{type(make()).__name__} needs all samples in memory, but X is {LAZY[name]}"
        ):
            support.run(name, make, "fit", tmp_path)


@pytest.mark.slow
def test_the_page_says_what_the_cases_do():
    stated = support.PAGE.read_text(encoding="utf-8").splitlines()
    assert f"| table | {' | '.join(support.HEAD)} |" in stated
    for line in support.lines():
        assert line in stated
    named = [line.split(" | ")[0].removeprefix("| ") for line in stated if line.startswith("| ")]
    assert named == ["table", *support.INPUTS]


@pytest.mark.slow
def test_no_package_is_imported_for_a_plain_array():  # but what scikit-learn imports
    code = (
        "import sys, numpy as np, stableselect as ss; X = np.random.default_rng(0).normal(size=(30, 4));"
        "s = ss.ColumnSubset(2).fit(X); s.reconstruct(s.transform(X)); ss.Moments.from_batches([X, X]);"
        "print(sorted({'polars', 'dask', 'anndata', 'duckdb', 'h5py', 'zarr'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
