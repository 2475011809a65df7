"""The time of a training epoch: the scorer-selector network beside a plain autoencoder of the same sizes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .._training import Stopping, train
from ..reconstruction._scorer_network import random_parameters
from ..reconstruction._scorer_sgd import SgdTrainee

PLAIN = "plain autoencoder, torch"
NETWORKS = ("scorer-selector, torch", "scorer-selector, NumPy")

_EPOCHS = 3
_ROUNDS = 5
_SETTINGS: dict[str, Any] = {"score": "abs", "scorer_weight": 1 / 128, "anneal": False}
_RATE = 1e-3


def epoch_times(X: np.ndarray, k: int, batch_size: int) -> dict[str, Any]:
    """Measure the epochs of all three in turn, several times over.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        Rows to train on.
    k : int
        Kept columns and latent width.
    batch_size : int
        Rows per batch.

    Returns
    -------
    dict
        ``seconds`` in all; ``epoch`` with the median seconds of an epoch and, for the networks, the median ratio to
        the plain autoencoder's in the same round, so that a slow moment of the machine falls on both.
    """
    makers = _torch_makers(X, k, batch_size) | {NETWORKS[1]: lambda: _numpy_trainee(X, k, batch_size)}
    start = time.perf_counter()
    for make in makers.values():
        _seconds(make)
    rounds = [{name: _seconds(make) for name, make in makers.items()} for _ in range(_ROUNDS)]
    return {
        "selected": None,
        "seconds": time.perf_counter() - start,
        "epoch": {
            "seconds": {name: float(np.median([found[name] for found in rounds])) for name in makers},
            "ratio": {name: float(np.median([found[name] / found[PLAIN] for found in rounds])) for name in NETWORKS},
        },
    }


def _seconds(make: Callable[[], Any]) -> float:
    trainee = make()
    start = time.perf_counter()
    train(trainee, Stopping(_EPOCHS))
    return (time.perf_counter() - start) / _EPOCHS


def _numpy_trainee(X: np.ndarray, k: int, batch_size: int) -> SgdTrainee:
    rng = np.random.RandomState(0)
    every = np.arange(len(X))
    return SgdTrainee(
        random_parameters(X.shape[1], k, True, rng),
        X,
        k,
        X.std(axis=0),
        learning_rate=_RATE,
        batch_size=batch_size,
        rng=rng,
        rows=every,
        held_out=every[:0],
        **_SETTINGS,
    )


def _torch_makers(X: np.ndarray, k: int, batch_size: int) -> dict[str, Callable[[], Any]]:
    """Return makers of the two linear networks in torch."""
    import torch

    from ..neural._torch._networks import build_network
    from ..neural._torch._rows import Rows
    from ..neural._torch._scorer import ScorerModel
    from ..neural._torch._trainee import Model, TorchTrainee

    class Plain(Model):
        """An autoencoder of all columns."""

        def __init__(self, encoder: Any, decoder: Any) -> None:
            super().__init__()
            self.encoder, self.decoder = encoder, decoder

        def losses(self, batch: Any, progress: float) -> Any:
            """Return the mean squared error."""
            return (self.decoder(self.encoder(batch)) - batch).square().mean()[None]

    cpu, m = torch.device("cpu"), X.shape[1]
    rows = Rows(X, np.arange(len(X)), dtype=torch.float32, device=cpu)

    def make(plain: bool) -> Any:
        rng = np.random.RandomState(0)
        encoder = build_network("linear", m, k, "relu", rng, role="encoder").float()
        decoder = build_network("linear", k, m, "relu", rng, role="decoder").float()
        if plain:
            model: Any = Plain(encoder, decoder)
        else:
            scores = np.asarray(rng.uniform(0.999, 1.0, m))
            model = ScorerModel(scores, encoder, decoder, rows.deviation(), k=k, **_SETTINGS)
        return TorchTrainee(model, rows, batch_size=batch_size, learning_rate=_RATE, rng=rng)

    return {PLAIN: lambda: make(True), NETWORKS[0]: lambda: make(False)}
