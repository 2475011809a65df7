"""The scorer-selector network with any encoder and decoder: training in torch, running without it where it can."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .._core import Array
from ._lazy import require_torch
from ._training import Trainee


@dataclass(frozen=True)
class TorchSettings:
    """What the torch engine needs to know.

    Attributes
    ----------
    encoder, decoder : "linear", sizes or factory
        g and f.
    activation : str
        Between the layers.
    width : int
        Latent width.
    score : {"abs", "square"}
        phi.
    scorer_weight : float
        Weight of the scorer's error.
    anneal : bool
        Shrink the kept columns from m to k.
    batch_size : int
        Rows a step.
    learning_rate, decay : float
        Adam's first rate, and the share of it left at the end.
    device : torch.device
        Where to train.
    """

    encoder: Any
    decoder: Any
    activation: str
    width: int
    score: Literal["abs", "square"]
    scorer_weight: float
    anneal: bool
    batch_size: int
    learning_rate: float
    decay: float
    device: Any


def torch_trainee(
    X: Array,
    k: int,
    settings: TorchSettings,
    *,
    w: np.ndarray | None,
    start: Any,
    rows: np.ndarray,
    held_out: np.ndarray,
    rng: np.random.RandomState,
) -> Trainee:
    """Return the network with its rows, ready to train.

    ``w`` are the raw scores to start from, drawn near one where None. ``start``, of a linear network, are the weights
    (``Parameters``) to start from.
    """
    torch = require_torch()
    from ._torch._networks import build_network
    from ._torch._rows import Rows
    from ._torch._scorer import ScorerModel
    from ._torch._trainee import TorchTrainee

    m = int(X.shape[1])
    table = Rows(X, rows, dtype=torch.float32, device=settings.device)
    held = Rows(X, held_out, dtype=torch.float32, device=settings.device) if len(held_out) else None
    if w is None:
        w = rng.uniform(0.999999, 0.9999999, m).astype(np.float32)
    draw = rng if start is None else np.random.RandomState(0)  # a given start leaves the batches as they would be
    encoder = build_network(settings.encoder, m, settings.width, settings.activation, draw, role="encoder")
    decoder = build_network(settings.decoder, settings.width, m, settings.activation, draw, role="decoder")
    if start is not None:
        d = settings.width
        parts = (start.encoder.T, start.encoder_bias, start.decoder[:, :d], start.decoder[:, d])
        with torch.no_grad():
            for place, value in zip((*encoder.parameters(), *decoder.parameters()), parts, strict=True):
                place.copy_(torch.from_numpy(np.array(value)))
    model = ScorerModel(
        w,
        encoder.float(),
        decoder.float(),
        table.deviation(),
        k=k,
        score=settings.score,
        scorer_weight=settings.scorer_weight,
        anneal=settings.anneal,
    ).to(settings.device)
    return TorchTrainee(
        model,
        table,
        held,
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        decay=settings.decay,
        rng=rng,
    )
