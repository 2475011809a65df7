"""Tables of which it is known what to select, and the refits that selections are compared by."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neural_network import MLPRegressor

K = {
    "mice_protein": 10,
    "coil20": 50,
    "isolet": 50,
    "mnist_fashion": 50,
    "usps": 50,
    "glioma": 64,
    "prostate_ge": 64,
    "arcene": 64,
}
"""Features selected in the paper."""
ROWS = 2000
"""Training samples of a refit, drawn once for a table and split."""


def functions(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return eight features that are functions of two: u, v, u^2, v^2, sin 3u, uv, exp v, cos 3v."""
    u, v = rng.uniform(-1, 1, size=(2, n))
    return np.column_stack([u, v, u**2, v**2, np.sin(3 * u), u * v, np.exp(v), np.cos(3 * v)])


def swiss_roll(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return a rolled-up sheet: its three coordinates x, h, z, then the angle t, sin t/2 and h^2."""
    t, h = 1.5 * np.pi * (1 + 2 * rng.random(n)), rng.random(n)
    return np.column_stack([t * np.cos(t), h, t * np.sin(t), t, np.sin(t / 2), h**2])


def periodic(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return sensors of a turning shaft: sines and cosines of one, two and three times its angle, and two distorted."""
    angle = rng.uniform(0, 2 * np.pi, n)
    waves = [wave(times * angle) for times in (1, 2, 3) for wave in (np.sin, np.cos)]
    return np.column_stack([*waves, np.tanh(3 * np.sin(angle)), np.abs(np.sin(2 * angle))])


PLANTED: dict[str, tuple[Callable[..., np.ndarray], tuple[set[int], ...], float]] = {
    "functions": (functions, ({0, 1}, {0, 6}), 0.05),
    "swiss roll": (swiss_roll, ({1, 3}, {3, 5}), 0.02),
    "periodic sensors": (periodic, ({0, 1}, {1, 6}), 0.05),
}
"""By name: the features, the pairs that all others follow from, and the noise added to unit variance."""


def planted(name: str, seed: int, n: int = 400) -> np.ndarray:
    """Return a table of mean 0 and variance 1, with noise."""
    make, _, noise = PLANTED[name]
    rng = np.random.default_rng(seed)
    X = make(rng, n)
    return (X - X.mean(axis=0)) / X.std(axis=0) + noise * rng.normal(size=X.shape)


def refit_rows(train: np.ndarray, split: int) -> np.ndarray:
    """Return the training samples of refits."""
    if len(train) <= ROWS:
        return train
    return train[np.sort(np.random.default_rng(split).permutation(len(train))[:ROWS])]


def _inputs(train: np.ndarray, test: np.ndarray, selected: list[int]) -> tuple[np.ndarray, np.ndarray]:
    mean, spread = train[:, selected].mean(axis=0), train[:, selected].std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    return (train[:, selected] - mean) / spread, (test[:, selected] - mean) / spread


def _error(test: np.ndarray, predicted: np.ndarray, selected: list[int]) -> float:
    predicted[:, selected] = test[:, selected]
    return float(np.mean((test - predicted) ** 2))


def kernel_error(train: np.ndarray, test: np.ndarray, selected: list[int]) -> float:
    """Return the test error of scikit-learn's Gaussian kernel ridge on standardised features.

    One rule for every selection: width and ridge out of nine by three folds.
    """
    Z, T = _inputs(train, test, selected)
    mean, k = train.mean(axis=0), len(selected)
    grid = {"gamma": [0.02 / k, 0.1 / k, 0.5 / k], "alpha": [1e-3, 1e-2, 1e-1]}
    folds = KFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=folds, scoring="neg_mean_squared_error")
    return _error(test, search.fit(Z, train - mean).predict(T) + mean, selected)


def network_error(train: np.ndarray, test: np.ndarray, selected: list[int]) -> float:
    """Return the test error of scikit-learn's network with one hidden layer of 256 units, stopped early."""
    Z, T = _inputs(train, test, selected)
    mean, unit = train.mean(axis=0), float(np.sqrt(train.var(axis=0).mean()))
    model = MLPRegressor(
        hidden_layer_sizes=(256,), early_stopping=len(train) > 100, max_iter=150, n_iter_no_change=20, random_state=0
    )
    return _error(test, model.fit(Z, (train - mean) / unit).predict(T) * unit + mean, selected)
