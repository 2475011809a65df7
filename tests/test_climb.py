"""The benchmark of how far the ridge weights are climbed: its store and its page."""

import importlib
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("the benchmarks are not in this copy", allow_module_level=True)


@pytest.fixture
def climb(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("climb")


def test_the_page_is_what_the_store_says(climb):
    assert climb.PAGE.read_text() == climb.page()


def test_every_kind_of_table_is_measured(climb):
    stored = climb.Store("climb").content["parts"]
    assert {name: len(found) for name, found in stored.items()} == dict.fromkeys(climb.KINDS, climb.SEEDS)


def test_what_is_stored_is_what_is_measured_today(climb, monkeypatch):
    monkeypatch.setattr(climb, "SEEDS", 4)
    stored = climb.Store("climb").content["parts"]["counts"][:4]
    for now, before in zip(climb.measured(climb.KINDS["counts"]), stored, strict=True):
        for rule in climb.RULES:
            assert now[rule][0] == before[rule][0]
            assert now[rule][1] == pytest.approx(before[rule][1], rel=1e-6)


def test_a_climb_ends_at_a_rise_beyond_its_limit(climb):
    ratios = np.array([1, 0.9, 0.8, 0.81, 0.85, 0.9, 1, 1.1])
    errors = [(ratio, 1.0) for ratio in ratios]
    assert climb.climbed(errors) == (5, 1.0)  # 0.81 is below 1.015 times 0.8 and 0.85 above
    assert climb.climbed(errors, _GIVE_UP_SHRUNK=1.2) == (7, 1.0)
    assert climb.climbed(errors, _GIVE_UP=1.0) == (5, 1.0)
    assert climb.climbed([(1.1, 1.0), (1.0, 1.0), (1.06, 1.0), *errors[:5]]) == (3, pytest.approx(1.25))
