"""Fixtures shared by all tests: seeds, small tables, one thread."""

from __future__ import annotations

import gc
import os
import signal
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import scipy.linalg  # noqa: F401
from hypothesis import settings

from stableselect.io import Table

# Two busy thread pools on a small machine are many times slower than one. Torch reads this when it is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# With array-api-compat and SciPy 1.14, the checks of scikit-learn 1.6 load only where this is set; SciPy has read it by
# now and stays as it is.
if version("scikit-learn").startswith("1.6."):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCIPY_ARRAY_API", "1")
        import sklearn.utils._testing  # noqa: F401

# A busy machine may take long over an example. Where nobody watches, the same examples every time; elsewhere new ones.
settings.register_profile("project", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("project")

DATA = Path(os.environ.get("STABLESELECT_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark every test that loads a benchmark table, and examples of a package that is missing."""
    for item in items:
        if "stableselect.pp." in item.name and find_spec("anndata") is None:
            item.add_marker(pytest.mark.skip(reason="anndata is not installed"))
        if {"load_data", "real"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.data)


def pytest_collection_finish():
    """Spare the garbage collector what was made before the first test: modules, and thousands of tests."""
    gc.freeze()


@pytest.fixture
def rng():
    return np.random.default_rng(20211)


@pytest.fixture
def tall(rng):
    """60 x 12, correlated columns."""
    return rng.normal(size=(60, 12)) @ rng.normal(size=(12, 12))


@pytest.fixture
def wide(rng):
    """9 x 40: fewer rows than columns."""
    return rng.normal(size=(9, 40))


@pytest.fixture
def data_home():
    """The folder of the benchmark tables, which may be absent."""
    return str(DATA)


@pytest.fixture
def load_data():
    """Return a function that loads one of the benchmark tables, or skips where the folder is absent."""

    def load(name):
        path = DATA / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"the benchmark data folder has no {name}.npz; set STABLESELECT_DATA")
        with np.load(path) as stored:
            return stored["X"].astype(np.float64), stored["y"]

    return load


@pytest.fixture(scope="session")
def messy() -> Table:
    """Sixty rows: an identifier, text, three driving columns in very different units, mixtures, a constant, a flag."""
    rng = np.random.RandomState(0)
    drivers = rng.standard_normal((60, 3))
    columns = {
        "id": [f"{j:03d}" for j in range(60)],
        "price": 1e4 + 1e3 * drivers[:, 0],
        "noise": 1e-3 * rng.standard_normal(60),
        "share": 0.5 + 0.01 * drivers[:, 1],
        "count": np.round(100 * drivers[:, 2]).astype(np.int32),
        "mix": (drivers @ [1.0, 2.0, 3.0]).astype(np.float32),
        "same": np.full(60, 7, dtype=np.uint8),
        "flag": drivers[:, 0] > 0,
        "word": ["x", "y"] * 30,
    }
    return Table(pa.table(columns), "messy.csv")


@pytest.fixture
def interruptible():
    """Let Ctrl-C interrupt, also where the shell that started the tests ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
