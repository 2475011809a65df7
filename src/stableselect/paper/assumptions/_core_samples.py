"""Core samples of Assumption 2: a few rows of a table from which all others are rebuilt, searched or as published.

References
----------
Wu & Cheng (2021), Algorithmic stability and generalization of an unsupervised feature selection algorithm, NeurIPS,
Assumption 2 and the supplement's core-subspace procedure.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core import DualGram, PrimalGram, exchange_search, forward_search
from ...neural._adam import Adam
from ...neural._scorer_minibatch import batch_gradient
from ...neural._scorer_parameters import Parameters, random_parameters, top_features, top_features_with_ties

_BATCH, _EPOCHS, _RATE = 256, 200, 1e-3
_PENALTY = 0.1
"""Weight of the sum of the scores."""
_SELECTOR, _SCORER = 2.0, 1.0
"""Weights of the two errors."""


def core_rows(X: np.ndarray, u: int) -> np.ndarray:
    """Return u rows that rebuild all rows best without intercept, by forward search and exchange on the transpose."""
    gram = DualGram(np.ascontiguousarray(X.T)) if X.shape[1] < X.shape[0] else PrimalGram(X @ X.T)
    scaled, _ = gram.normalised()
    chosen, _ = exchange_search(scaled, forward_search(scaled, u, 0.0), 0.0)
    return np.sort(np.array(chosen))


def representation(Z: np.ndarray, X: np.ndarray) -> dict[str, float]:
    """Measure x = sum alpha_i z_i + eta for every row x, alpha by least squares (of least norm where there are many).

    Returns
    -------
    dict
        ``eta_max``, ``eta_99``, ``eta_median`` and ``alpha_max``, ``alpha_median`` of the norms, and ``mse`` per entry.
    """
    alpha = np.linalg.lstsq(Z.T, X.T, rcond=None)[0]
    rest = X - alpha.T @ Z
    eta, size = np.linalg.norm(rest, axis=1), np.linalg.norm(alpha, axis=0)
    return {
        "eta_max": float(eta.max()),
        "eta_99": float(np.quantile(eta, 0.99)),
        "eta_median": float(np.median(eta)),
        "alpha_max": float(size.max()),
        "alpha_median": float(np.median(size)),
        "mse": float(np.mean(rest**2)),
    }


def published_core_rows(
    X: np.ndarray, u: int, rng: np.random.RandomState, epochs: int = _EPOCHS
) -> tuple[np.ndarray, np.ndarray]:
    """Return u rows by the published network on the transposed table, and all its scores.

    The table's columns are the rows of the network, its rows the columns that are scored. Scores are not negative and
    have no function around them; their sum, times 0.1, is added to the scorer's error plus twice the selector's.
    """
    table = np.ascontiguousarray(X.T, dtype=np.float32)
    begin = random_parameters(len(X), u, True, rng)
    at = begin.around(begin.flat.astype(np.float32))
    gradient = at.around(np.zeros_like(at.flat))
    adam = Adam(at.flat)
    for batch in _batches(table.shape[0], rng, epochs):
        # The magnitude of a score is the score itself, since none is negative.
        kept = top_features_with_ties(at.w, u)
        batch_gradient(table[batch], at, kept, gradient, score="abs", scorer_weight=_SCORER / _SELECTOR)
        gradient.flat *= _SELECTOR
        gradient.w += _PENALTY
        adam.step(at.flat, gradient.flat, _RATE)
        np.maximum(at.w, 0, out=at.w)
    return np.sort(top_features(at.w, u)), at.w.astype(np.float64)


def published_rebuilding(Z: np.ndarray, X: np.ndarray, rng: np.random.RandomState, epochs: int = _EPOCHS) -> float:
    """Return the error per entry with which the published second network makes the rows X of the rows Z.

    It is linear, u to u to the number of rows, has biases, and is trained on the rows it is judged on.
    """
    inputs, outputs = Z.T.astype(np.float32), X.T.astype(np.float32)
    at = _TwoLayers(len(Z), len(X), np.float32)
    for part in (at.first, at.second):
        limit = (6 / sum(part.shape)) ** 0.5
        part[:] = rng.uniform(-limit, limit, part.shape)
    gradient = _TwoLayers(len(Z), len(X), np.float32)
    adam = Adam(at.flat)
    for batch in _batches(len(inputs), rng, epochs):
        latent = inputs[batch] @ at.first + at.first_bias
        error = latent @ at.second + at.second_bias - outputs[batch]
        error *= 2 / error.size
        back = error @ at.second.T
        gradient.second[:], gradient.second_bias[:] = latent.T @ error, error.sum(axis=0)
        gradient.first[:], gradient.first_bias[:] = inputs[batch].T @ back, back.sum(axis=0)
        adam.step(at.flat, gradient.flat, _RATE)
    found = (inputs @ at.first + at.first_bias) @ at.second + at.second_bias
    return float(np.mean((found - outputs).astype(np.float64) ** 2))


def best_rebuilding(Z: np.ndarray, X: np.ndarray) -> float:
    """Return the least error per entry that the second network can reach: least squares with an intercept per row."""
    inputs = np.vstack([Z, np.ones(Z.shape[1])])
    return representation(inputs, X)["mse"]


class _TwoLayers(Parameters):
    """The second network's weights in one flat vector, as the optimiser wants them."""

    def __init__(self, width: int, n_outputs: int, dtype: type) -> None:
        shapes = [(width, width), (width,), (width, n_outputs), (n_outputs,)]
        ends = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes)])
        self.flat = np.zeros(ends[-1], dtype=dtype)
        parts: list[Any] = [
            self.flat[start:end].reshape(shape) for start, end, shape in zip(ends, ends[1:], shapes, strict=False)
        ]
        self.first, self.first_bias, self.second, self.second_bias = parts


def _batches(n_rows: int, rng: np.random.RandomState, epochs: int) -> list[np.ndarray]:
    orders = [rng.permutation(n_rows) for _ in range(epochs)]
    return [order[first : first + _BATCH] for order in orders for first in range(0, n_rows, _BATCH)]
