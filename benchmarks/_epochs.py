"""The scorer-selector network and a plain autoencoder of the same sizes, ready to be trained epoch by epoch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stableselect.neural._scorer_minibatch import MinibatchTrainable
from stableselect.neural._scorer_parameters import Objective, random_parameters

_RATE = 1e-3


def _objective(k: int) -> Objective:
    return Objective(k, "abs", 1 / 128, False)


def numpy_trainable(X: np.ndarray, k: int, batch_size: int) -> MinibatchTrainable:
    """Return the linear scorer-selector in NumPy."""
    rng, every = np.random.RandomState(0), np.arange(len(X))
    return MinibatchTrainable(
        random_parameters(X.shape[1], k, True, rng),
        X,
        _objective(k),
        X.std(axis=0),
        (every, every[:0]),
        learning_rate=_RATE,
        batch_size=batch_size,
        rng=rng,
    )


def torch_makers(X: np.ndarray, k: int, batch_size: int, decoder: Any, device: str) -> dict[str, Callable[[], Any]]:
    """Return makers of a plain autoencoder and of a scorer-selector of the same sizes, in torch."""
    import torch

    from stableselect.neural._torch._device import Rows
    from stableselect.neural._torch._networks import build_network
    from stableselect.neural._torch._scorer import ScorerModel
    from stableselect.neural._torch._trainable import Model, TorchTrainable

    class Plain(Model):
        """An autoencoder of all features."""

        def __init__(self, encoder: Any, decoder: Any) -> None:
            super().__init__()
            self.encoder, self.decoder = encoder, decoder

        def form(self, progress: float) -> str:
            """Return one key for all steps, so that a GPU can replay them."""
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
            model = ScorerModel(scores, encoder, network, rows.deviation(), _objective(k))
        return TorchTrainable(model.to(where), rows, batch_size=batch_size, learning_rate=_RATE, rng=rng)

    return {"plain": lambda: make(True), "scorer-selector": lambda: make(False)}
