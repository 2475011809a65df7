"""The benchmarks of tables with gaps, of samples that belong together, and of large tables: their stores and pages."""

import importlib
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("the benchmarks are not in this copy", allow_module_level=True)


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module


@pytest.mark.parametrize("name", ["missing", "together", "any_size"])
def test_the_pages_are_what_the_stores_say(bench, name):
    module = bench(name)
    assert module.PAGE.read_text() == module.page()


def test_gaps_are_as_many_as_asked_for_and_blocks_are_runs(bench, rng):
    missing, X = bench("missing"), rng.normal(size=(200, 30))
    for pattern in missing.PATTERNS:
        for fraction in missing.FRACTIONS:
            gone = np.isnan(missing.gapped(X, pattern, fraction, 0))
            assert gone.mean() == pytest.approx(fraction, abs=0.02)
            assert not gone.all(axis=0).any()
            follow = np.mean(gone[1:][gone[:-1]])  # how often a gap goes on
            assert follow > 0.8 if pattern == "in blocks" else follow < 0.4


def test_completing_is_not_worse_than_mean_imputation(bench):
    missing = bench("missing")
    stored = missing.Store("missing").content["parts"]
    cases = list(missing.measured())
    assert len(cases) == 36
    for *_, parts in cases:
        mean, error = missing.excess(parts)
        assert mean < 2 * error
        assert all(part["`em`"]["filled"] < 1 for part in parts)
    parts = [stored[f"own gaps; {seed}"] for seed in missing.splits()]
    assert missing.rise(parts, "`em`", "error", "mean imputation") < 0


def test_random_folds_flatter_and_blocks_do_not(bench):
    together = bench("together")
    stored = together.Store("together").content["parts"]
    for name in together.CASES:
        random, blocks, later = (np.mean(stored[name][key]) for key in ("random", "together", "later"))
        if name == "a series, correlation 0":
            assert random == pytest.approx(later, rel=0.05)
        else:
            assert random < 0.9 * later
            assert blocks > 0.9 * later
