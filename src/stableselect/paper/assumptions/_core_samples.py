"""Core samples of Assumption 2: a few samples from which all others are reconstructed, searched or as published.

References
----------
Wu & Cheng (2021), Algorithmic stability and generalization of an unsupervised feature selection algorithm, NeurIPS,
Assumption 2 and the supplement's core-subspace procedure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...subset import ColumnSubset

_BATCH, _EPOCHS, _RATE = 256, 200, 1e-3
_PENALTY = 0.1
"""Weight of the sum of the scores."""
_SELECTOR, _SCORER = 2.0, 1.0
"""Weights of the two errors."""


def core_samples(X: np.ndarray, u: int) -> np.ndarray:
    """Return the u samples that best reconstruct all samples without intercept: a column subset of the transpose."""
    # The mirrored copy makes every mean zero, so that the selector, which centres its features, has no intercept.
    mirrored = np.vstack([X.T, -X.T])
    return np.sort(ColumnSubset(u, ridge=0.0).fit(mirrored).selected_)


def representation(Z: np.ndarray, X: np.ndarray) -> dict[str, float]:
    """Measure x = sum alpha_i z_i + eta for every sample x, alpha by least squares (of least norm if not unique).

    Returns
    -------
    dict
        ``eta_max``, ``eta_99``, ``eta_median`` and ``alpha_max``, ``alpha_median`` of the norms, and ``mse``, the mean
        squared error.
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


def best_reconstruction(Z: np.ndarray, X: np.ndarray) -> float:
    """Return the least error that the second network can reach: least squares with an intercept for each sample."""
    return representation(np.vstack([Z, np.ones(Z.shape[1])]), X)["mse"]


def published_core_samples(
    X: np.ndarray, u: int, rng: np.random.RandomState, epochs: int = _EPOCHS
) -> tuple[np.ndarray, np.ndarray]:
    """Return u samples by the published network on the transposed table, and the scores of all samples.

    The network sees the table's features as its samples, and scores the table's samples. Unlike
    :class:`~stableselect.ScorerSelector`, the scores themselves are the weights and are kept at or above zero; their
    sum, times 0.1, is added to the scorer's error plus twice the selector's.
    """
    table = np.ascontiguousarray(X.T, dtype=np.float32)
    scores = rng.uniform(0.999999, 0.9999999, len(X)).astype(np.float32)
    network = _random_network(len(X), u, len(X), rng)
    adam = _Adam([scores, *network])
    for batch in _batches(len(table), rng, epochs):
        x = table[batch]
        kept = (scores >= np.partition(scores, -u)[-u]).astype(np.float32)
        total = [np.full_like(scores, _PENALTY), *(np.zeros_like(part) for part in network)]
        for path, weight in ((kept, _SELECTOR), (np.ones_like(kept), _SCORER)):
            found, back = _gradient(x * (scores * path), x, network, weight)
            of_scores = np.sum((x.T @ back) * network[0], axis=1) * path
            for part, piece in zip(total, [of_scores, *found], strict=True):
                part += piece
        adam.step(total)
        np.maximum(scores, 0, out=scores)
    chosen = np.argsort(-scores, kind="stable")[:u]
    return np.sort(chosen), scores.astype(np.float64)


def published_reconstruction(Z: np.ndarray, X: np.ndarray, rng: np.random.RandomState, epochs: int = _EPOCHS) -> float:
    """Return the mean squared error with which the published second network makes the samples X of the samples Z.

    It is linear, u to u to the number of samples, has biases, and is trained on the samples it is judged on.
    """
    inputs, outputs = Z.T.astype(np.float32), X.T.astype(np.float32)
    network = _random_network(len(Z), len(Z), len(X), rng)
    adam = _Adam(network)
    for batch in _batches(len(inputs), rng, epochs):
        adam.step(_gradient(inputs[batch], outputs[batch], network, 1.0)[0])
    E, b, G, c = network
    found = (inputs @ E + b) @ G + c
    return float(np.mean((found - outputs).astype(np.float64) ** 2))


def _random_network(n_inputs: int, width: int, n_outputs: int, rng: np.random.RandomState) -> list[np.ndarray]:
    """Return encoder, its bias, decoder and its bias: Glorot uniform and zero, in single precision."""
    parts = []
    for shape in ((n_inputs, width), (width, n_outputs)):
        limit = (6 / sum(shape)) ** 0.5
        parts += [rng.uniform(-limit, limit, shape).astype(np.float32), np.zeros(shape[1], dtype=np.float32)]
    return parts


def _gradient(
    x: np.ndarray, target: np.ndarray, network: Sequence[np.ndarray], weight: float
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the gradient of ``weight`` times the mean squared error, by part of the network and by latent unit."""
    E, b, G, c = network
    latent = x @ E + b
    error = latent @ G + c - target
    error *= 2 * weight / error.size
    back = error @ G.T
    return [x.T @ back, back.sum(axis=0), latent.T @ error, error.sum(axis=0)], back


class _Adam:
    """Adam as Keras writes it, on a list of arrays that it moves in place."""

    def __init__(self, parts: Sequence[np.ndarray]) -> None:
        self._parts, self._steps = parts, 0
        self._first, self._second = ([np.zeros_like(part) for part in parts] for _ in range(2))

    def step(self, gradients: Sequence[np.ndarray]) -> None:
        """Take one step against the gradients."""
        self._steps += 1
        rate = _RATE * (1 - 0.999**self._steps) ** 0.5 / (1 - 0.9**self._steps)
        for part, first, second, g in zip(self._parts, self._first, self._second, gradients, strict=True):
            first += 0.1 * (g - first)
            second += 0.001 * (g * g - second)
            part -= rate * first / (np.sqrt(second) + 1e-7)


def _batches(n: int, rng: np.random.RandomState, epochs: int) -> Iterator[np.ndarray]:
    orders = [rng.permutation(n) for _ in range(epochs)]
    return (order[first : first + _BATCH] for order in orders for first in range(0, n, _BATCH))
