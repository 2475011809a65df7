"""Pairs of interchangeable features, packed and unpacked."""

from __future__ import annotations

import numpy as np
import pytest

from stableselect.experiments import Run
from stableselect.paper._measure import evaluate
from stableselect.paper.stability._plan import packed, unpacked

PAIRS = Run("mice_protein", "all columns", "corrected", 0, 0, 10).of_task("interchangeable")


def test_pairs_survive_packing(rng):
    for m in (1, 2, 3, 8, 21):
        alike = rng.random((m, m)) < 0.3
        alike = alike | alike.T | np.eye(m, dtype=bool)
        np.testing.assert_array_equal(unpacked(packed(alike), m), alike)
    with pytest.raises(ValueError, match="run it again"):
        unpacked(packed(alike), 20)


def test_the_pairs_of_a_run_are_those_of_the_correlations(tiny):
    X, _ = tiny
    record = evaluate(PAIRS)
    expected = np.abs(np.corrcoef(X.T)) >= 0.8
    assert 0 < record["n_pairs"] == (expected.sum() - 20) // 2
    np.testing.assert_array_equal(unpacked(record["pairs"], 20), expected)
