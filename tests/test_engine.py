"""The benchmark of the engine: its store has what is measured today, and the fits that two threads share take long."""

import importlib
import json
from pathlib import Path

import pytest

from stableselect import all_selectors

ROOT = Path(__file__).parents[1]
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("the benchmarks are not in this copy", allow_module_level=True)


@pytest.fixture
def threads(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("_engine_threads")


@pytest.fixture
def stored():
    parts = json.loads((ROOT / "benchmarks/results/engine.json").read_text())["parts"]
    return {key.removeprefix("threads | "): part for key, part in parts.items() if key.startswith("threads | ")}


def test_every_selector_that_takes_long_is_timed_with_one_and_two_threads(threads):
    timed = {case.selector for case in threads.CASES.values()}
    assert set(all_selectors()) - timed == {"RandomSelector", "VarianceScore"}  # which search nothing


def test_the_stored_fits_are_those_of_today_and_long_enough_to_count(threads, stored):
    assert {name: (tuple(part["shape"]), part["k"]) for name, part in stored.items()} == {
        name: (case.shape, case.k) for name, case in threads.CASES.items()
    }
    assert all(part["alone_wall"][0] >= threads.SHORTEST and part["same_columns"] for part in stored.values())
    assert "too short" not in threads.table(stored)
