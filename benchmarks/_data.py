"""The tables that speed is measured on: those of the paper, scaled and split by the corrected protocol."""

from __future__ import annotations

from functools import cache

import numpy as np

from stableselect import datasets
from stableselect.datasets import resolve_home

NAMES = ("mnist_fashion", "isolet", "arcene")
"""What the benchmarks load."""


def available(*names: str) -> bool:
    """Tell whether tables are there, all that are used by default, with a message when they are not."""
    home = resolve_home(None)
    missing = [name for name in names or NAMES if not (home / f"{name}.npz").exists()]
    if missing:
        print(f"skipped: {', '.join(missing)} not in {home}; name the folder of the .npz files in STABLESELECT_DATA")
    return not missing


@cache
def table(name: str) -> np.ndarray:
    """Return the whole table in double precision, every column scaled to [0, 1]."""
    X = datasets.load(name).raw.astype(np.float64)
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / np.where(high > low, high - low, 1.0)


@cache
def split_rows(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the training and the test rows of the first split."""
    dataset = datasets.load(name, protocol="corrected")
    split = dataset.split(kind="random" if dataset.groups is None else "group", seed=0, protocol="corrected")
    return np.concatenate([split.X_train, split.X_valid]), split.X_test
