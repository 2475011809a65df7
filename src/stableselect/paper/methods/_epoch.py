"""The time of a training epoch: the scorer-selector network beside a plain autoencoder of the same sizes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ...neural import SgdTrainee, Stopping, random_parameters, train

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
        Selected features and latent width.
    batch_size : int
        Rows per batch.

    Returns
    -------
    dict
        ``seconds`` in all; ``epoch`` with the median seconds of an epoch and, for the networks, the median ratio to
        the plain autoencoder's in the same round, so that a slow moment of the machine falls on both.
    """
    plain, network = torch_makers(X, k, batch_size)
    makers = {PLAIN: plain, NETWORKS[0]: network, NETWORKS[1]: lambda: numpy_trainee(X, k, batch_size)}
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


def numpy_trainee(X: np.ndarray, k: int, batch_size: int) -> SgdTrainee:
    """Return the linear scorer-selector in NumPy."""
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


def torch_makers(
    X: np.ndarray, k: int, batch_size: int, decoder: Any = "linear", device: str = "cpu"
) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Return makers of a plain autoencoder and of a scorer-selector of the same sizes, in torch."""
    import torch

    from ...neural._torch._networks import build_network
    from ...neural._torch._rows import Rows
    from ...neural._torch._scorer import ScorerModel
    from ...neural._torch._trainee import Model, TorchTrainee

    class Plain(Model):
        """An autoencoder of all features."""

        def __init__(self, encoder: Any, decoder: Any) -> None:
            super().__init__()
            self.encoder, self.decoder = encoder, decoder

        def form(self, progress: float) -> str:
            """Say that all steps are alike, so that a GPU may replay them."""
            return "plain"

        def losses(self, batch: Any, progress: float) -> Any:
            """Return the mean squared error."""
            return (self.decoder(self.encoder(batch)) - batch).square().mean()[None]

    where, m = torch.device(device), X.shape[1]
    rows = Rows(X, np.arange(len(X)), dtype=torch.float32, device=where)

    def make(plain: bool) -> Any:
        rng = np.random.RandomState(0)
        encoder = build_network("linear", m, k, "relu", rng, role="encoder").float()
        network = build_network(decoder, k, m, "relu", rng, role="decoder").float()
        if plain:
            model: Any = Plain(encoder, network)
        else:
            scores = np.asarray(rng.uniform(0.999, 1.0, m))
            model = ScorerModel(scores, encoder, network, rows.deviation(), k=k, **_SETTINGS)
        return TorchTrainee(model.to(where), rows, batch_size=batch_size, learning_rate=_RATE, rng=rng)

    return lambda: make(True), lambda: make(False)
