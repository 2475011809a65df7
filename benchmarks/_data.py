"""The benchmark tables: loading, the scaling of the paper, and splits."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path(os.environ.get("STABLESELECT_DATA", ROOT.parent / "shared" / "data"))
RESULTS = ROOT / "benchmarks" / "results"

COLUMNS = {
    "mice_protein": 10,
    "coil20": 50,
    "isolet": 50,
    "mnist_fashion": 50,
    "usps": 50,
    "glioma": 64,
    "prostate_ge": 64,
    "arcene": 64,
}
"""Number of columns the paper keeps on each table."""

BATCH = {
    "mice_protein": 128,
    "coil20": 128,
    "isolet": 64,
    "mnist_fashion": 256,
    "usps": 16,
    "glioma": 16,
    "prostate_ge": 16,
    "arcene": 16,
}
"""The paper's batch sizes."""


def available() -> bool:
    """Tell whether the data folder is there, with a message when it is not."""
    if all((FOLDER / f"{name}.npz").exists() for name in COLUMNS):
        return True
    print("skipped: the benchmark data is not at hand; point STABLESELECT_DATA at the folder with the .npz files")
    return False


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the table in double precision, missing values filled by column means, and the labels."""
    with np.load(FOLDER / f"{name}.npz") as stored:
        X, y = stored["X"].astype(np.float64), stored["y"]
    return np.where(np.isnan(X), np.nanmean(X, axis=0), X), y


def minmax(X: np.ndarray) -> np.ndarray:
    """Scale every column to [0, 1] over all rows, as the paper does; constant columns become 0."""
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / np.where(high > low, high - low, 1.0)


def random_split(name: str, split: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return X_train, y_train, X_test, y_test: 80/20, for Fashion-MNIST 6,000 and 4,000 random images."""
    X, y = load(name)
    order = np.random.default_rng(split).permutation(len(X))
    if name == "mnist_fashion":
        X, y = X[order[:10_000]], y[order[:10_000]]
        order, train = np.arange(10_000), 6_000
    else:
        train = round(0.8 * len(X))
    X = minmax(X)
    return X[order[:train]], y[order[:train]], X[order[train:]], y[order[train:]]
