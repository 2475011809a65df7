from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from stableselect.datasets import Dataset, info
from stableselect.experiments import Store
from stableselect.paper._renamed import renamed
from stableselect.paper._revisions import current
from stableselect.paper.methods import _data


@pytest.fixture(scope="session")
def committed():
    """All stored runs of docs/results, which take long to read."""
    return Store(Path(__file__).parents[2] / "docs" / "results", rename=renamed, current=current).runs()


@pytest.fixture
def tiny(monkeypatch):
    """Put 50 rows of 20 columns in the place of every dataset; return the table and its labels."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 20)) + 0.1 * rng.normal(size=(50, 20))
    y = (X[:, 0] > 0).astype(np.int64)

    def load(name, protocol, data_home):
        # GLIOMA's rules of splitting and scaling do for all; only mice come in groups.
        groups = np.repeat(np.arange(10), 5) if name == "mice_protein" else None
        return Dataset(X, y, info("glioma"), groups=groups, protocol=protocol)

    monkeypatch.setattr(_data, "_load", load)
    return X, y


@pytest.fixture(scope="session")
def invented():
    """A stand-in for the evaluation of a run: numbers from a hash of its name, the same on every call."""

    def evaluate(run, data_home=None):
        digest = hashlib.sha256(run.key.encode()).digest()
        error, accuracy = 0.01 + digest[0] / 2560, 0.5 + digest[1] / 512
        found = {"least_squares": error, "ridge": error * 0.9, "accuracy": accuracy}
        return found | {
            "selected": list(range(run.k)),
            "seconds": digest[2] / 100,
            "own": {"selector": error, "scorer": error / 2},
            "validation": {"own": error, "least_squares": error * 0.9},
            "halves": {"upper": found, "lower": found},
            "versions": {"numpy": "1"},
            "machine": {"cores": 1},
        }

    return evaluate
