"""The command line with a table of 50 samples in the place of every dataset."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from stableselect.cli import main
from stableselect.datasets import Dataset, info
from stableselect.paper.methods import _data


def _load(name: str, protocol: Any, data_home: Any) -> Dataset:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(50, 9)) @ rng.normal(size=(9, 90)) + 0.1 * rng.normal(size=(50, 90))
    return Dataset(X, (X[:, 0] > 0).astype(np.int64), info("glioma"), protocol=protocol)


if __name__ == "__main__":
    _data._load = _load
    sys.exit(main())
