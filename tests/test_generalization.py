"""The benchmark of single samples: the page has what it prints."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("the benchmarks are not in this copy", allow_module_level=True)

PAGE = ROOT / "docs" / "generalization.md"


@pytest.fixture
def generalization(monkeypatch, load_data, data_home):
    load_data("mice_protein")
    monkeypatch.setenv("STABLESELECT_DATA", data_home)
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("generalization")


@pytest.mark.slow
@pytest.mark.parametrize("by", ["search", "random"])
def test_the_page_has_the_figures_of_today(generalization, by):
    row, _ = generalization.bounds("mice_protein", by)
    assert row in PAGE.read_text(encoding="utf-8").splitlines()


@pytest.mark.slow
def test_the_page_has_the_slopes_of_today(generalization):
    assert generalization.slopes("mice_protein", "random") in PAGE.read_text(encoding="utf-8").splitlines()


def test_every_table_has_its_rows(generalization):
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    for by in generalization.SELECTORS:
        for name in generalization.TABLES:
            assert sum(line.startswith(f"| {name} | ") and f" | {by} | " in line for line in lines) == 1 + (
                name in generalization.SIZES
            )
