"""The benchmark of what the search with few samples does not try: its store and its page."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("the benchmarks are not in this copy", allow_module_level=True)


@pytest.fixture
def shortcuts(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("shortcuts")


def test_the_page_is_what_the_store_says(shortcuts):
    assert shortcuts.PAGE.read_text() == shortcuts.page()


def test_every_table_is_measured(shortcuts):
    assert [(name, len(parts)) for name, parts in shortcuts.rows()] == [
        (name, case.seeds) for name, case in shortcuts.CASES.items()
    ]


def test_every_shortcut_is_taken_somewhere(shortcuts):
    every = [part for _, parts in shortcuts.rows() for part in parts]
    counting = [part for part in every if part["k"] == "auto"]
    large = [part for part in every if part not in counting and part["shape"][0] * part["shape"][1] >= 4e6]
    small = [part for part in every if part not in counting and part not in large]
    assert len(large) == 15 and all(part["k"] >= 32 for part in large)
    assert len(counting) == 9 and all(part["shape"][0] * part["shape"][1] >= 2**20 for part in counting)
    for parts, what in ((large, "searches"), (small, "searches"), (counting, "cut short")):
        assert any(shortcuts.differs(part, what) for part in parts)


def test_what_is_stored_is_what_is_measured_today(shortcuts):
    stored = shortcuts.Store("shortcuts").content["parts"]["digits; 3"]
    today = shortcuts.measured(shortcuts.CASES["digits"], 3)
    for how in ("with", "without"):
        for what in ("selected", "ridge", "criterion", "searches"):
            assert today[how][what] == stored[how][what]
        assert today[how]["error"] == pytest.approx(stored[how]["error"], rel=1e-6)
