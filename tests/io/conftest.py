from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from stableselect.io import Table


@pytest.fixture
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
