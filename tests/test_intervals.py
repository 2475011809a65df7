"""The benchmark of intervals: its store and its page."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("the benchmarks are not in this copy", allow_module_level=True)


@pytest.fixture
def intervals(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("intervals")


def test_the_page_is_what_the_store_says(intervals):
    assert intervals.PAGE.read_text() == intervals.page()


def test_every_table_has_ten_splits(intervals):
    stored = intervals.Store("intervals").content["parts"]
    assert sorted(stored) == sorted(f"{name}; {seed}" for name in intervals.TABLES for seed in range(10))


@pytest.mark.parametrize("what", ["coverage", "width"])
def test_the_page_names_every_table_outside_the_goals(intervals, what):
    low, high = intervals.GOALS[what]
    for name, (title, _) in intervals.TABLES.items():
        inside = low <= intervals.means(name)[what] <= high
        assert inside != any(told.startswith(f"{title} ({what}") for told in intervals.short())


def test_what_is_stored_is_what_is_measured_today(intervals, load_data, data_home, monkeypatch):
    load_data("mice_protein")
    monkeypatch.setenv("STABLESELECT_DATA", data_home)
    today = intervals.measure("mice_protein", 3)
    stored = intervals.Store("intervals").content["parts"]["mice_protein; 3"]
    for key in ("coverage", "width", "marginal coverage", "novel"):
        assert today[key] == pytest.approx(stored[key], abs=1e-6)


def test_coverage_is_what_was_asked_for(intervals):
    for name in intervals.TABLES:
        assert 0.87 <= intervals.means(name)["coverage"] <= 0.93
        assert intervals.means(name)["width"] < 0.75
