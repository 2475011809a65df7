"""The benchmark of nuisance features: its tables, its store and its page."""

import importlib
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("the benchmarks are not in this copy", allow_module_level=True)


@pytest.fixture
def nuisance(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("nuisance")


def stored(nuisance):
    return nuisance.Store("nuisance").content["parts"]


def test_the_page_is_what_the_store_says(nuisance):
    assert nuisance.PAGE.read_text() == nuisance.page()


def test_the_store_holds_every_method_and_table_of_the_reported_seeds(nuisance):
    parts = stored(nuisance)
    made_up = [part for part in parts.values() if "selected" in part]
    assert len(made_up) == len(nuisance.METHODS) * 8
    assert all(len(part["selected"]) == 10 and np.shape(part["selected"]) == (10, 2) for part in made_up)
    assert list(nuisance.SEEDS) == list(range(10))


def test_both_features_of_the_moons_are_found(nuisance):
    parts = stored(nuisance)
    for kind in nuisance.KINDS:
        assert nuisance.hits(parts[f"moons; {kind}; 5; `GatedLaplacian`"]["selected"]) >= 9
        assert nuisance.hits(parts[f"moons; {kind}; 20; `GatedLaplacian`"]["selected"]) >= 7


def test_what_is_stored_is_what_the_selectors_select_today(nuisance):
    for method in ("`GatedLaplacian`", "`ColumnSubset`"):
        X = nuisance.made_up("moons", "permuted", 5, 3)
        selected = sorted(nuisance.METHODS[method](2, 3).fit(X).selected_.tolist())
        assert stored(nuisance)[f"moons; permuted; 5; {method}"]["selected"][3] == selected


@pytest.mark.parametrize("kind", ["uniform", "permuted"])
def test_tables_hold_the_shape_first_and_nothing_of_it_in_the_rest(nuisance, kind):
    X = nuisance.made_up("moons", kind, 20, 0)
    assert X.shape == (200, 22)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), 1)
    correlation = np.corrcoef(X, rowvar=False)
    assert abs(correlation[0, 1]) > 0.3
    assert np.abs(correlation[:2, 2:]).max() < 0.3
    if kind == "permuted":
        np.testing.assert_allclose(np.sort(X[:, 2]), np.sort(X[:, 0]))
        np.testing.assert_allclose(np.sort(X[:, 3]), np.sort(X[:, 1]))
