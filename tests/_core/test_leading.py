"""Bounds on sums of leading eigenvalues hold whatever the spectrum, and are close where it falls quickly."""

from __future__ import annotations

import numpy as np
import pytest

from stableselect._core._gram import Gram
from stableselect._core._leading import leading_floor, leading_sums


def moments(kind: str, m: int, rng: np.random.Generator) -> np.ndarray:
    """Return a matrix with a spectrum of some kind, of mean variance one."""
    spectrum = {
        "falling": 0.7 ** np.arange(m),
        "flat": np.ones(m),
        "steps": np.where(np.arange(m) < 5, 50.0, 1.0),
        "slow": 1 / np.sqrt(1 + np.arange(m)),
        "low rank": np.where(np.arange(m) < 7, 1.0, 0.0),
    }[kind]
    Q, _ = np.linalg.qr(rng.normal(size=(m, m)))
    return (Q * (spectrum / spectrum.mean())) @ Q.T


@pytest.mark.parametrize("kind", ["falling", "flat", "steps", "slow", "low rank"])
@pytest.mark.parametrize("k", [1, 6, 20])
def test_no_eigenvalues_exceed_the_sums(kind: str, k: int) -> None:
    for m in (60, 150):
        C = moments(kind, m, np.random.default_rng(k))
        exact = np.cumsum(np.linalg.eigvalsh(C)[::-1])[:k]
        bound = leading_sums(Gram(C), k)
        assert np.all(bound >= exact)
        if kind in ("falling", "low rank"):
            assert np.all(bound <= exact + 1e-6 * m)
        for alpha in (0.0, 0.1, 3.0):
            floor = Gram(C).floor(k, alpha)
            assert leading_floor(Gram(C), k, alpha) <= floor + 1e-12 * m
            if kind in ("falling", "low rank"):
                assert leading_floor(Gram(C), k, alpha) >= floor - 1e-6 * m


def test_no_features_explain_nothing() -> None:
    assert leading_floor(Gram(np.eye(4)), 0, 0.1) == 4.0
