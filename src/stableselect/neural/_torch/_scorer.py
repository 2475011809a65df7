"""The scorer-selector network in torch, with any encoder and decoder.

Model (2) of Wu & Cheng (2021): the features are multiplied by s = phi(w); the *scorer* reconstructs the data from all
of them, the *selector* from the k best, through the same encoder g and decoder f:

    mean (x - f(g(x s masked)))^2  +  scorer_weight * mean (x - f(g(x s)))^2.

The mask is a constant in the gradient.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from ..._core import Array
from .._scorer_parameters import Parameters, Score, n_selected_at
from .._scorer_settings import NetworkSettings
from ._networks import build_network, first_linear
from ._rows import Rows
from ._trainable import Model, TorchTrainable


class ScorerModel(Model):
    """The two paths and their errors.

    Parameters
    ----------
    w : ndarray of shape (m,)
        Initial raw scores.
    encoder, decoder : torch.nn.Module
        g and f.
    deviation : tensor of shape (m,)
        Standard deviations of the features, for the ranking while annealing.
    k : int
        Number of features to select.
    score : {"abs", "square"}
        phi.
    scorer_weight : float
        Weight of the scorer's error.
    anneal : bool
        Reduce the number of selected features from m to k, and rank by a feature's reach through the first layer.
    levels : int or None
        Maximum number of changes of the number of selected features over the schedule; None for no limit.
    """

    deviation: torch.Tensor

    def __init__(
        self,
        w: np.ndarray,
        encoder: nn.Module,
        decoder: nn.Module,
        deviation: torch.Tensor,
        *,
        k: int,
        score: Score,
        scorer_weight: float,
        anneal: bool,
        levels: int | None = 100,
    ) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.as_tensor(w, dtype=deviation.dtype))
        self.encoder, self.decoder = encoder, decoder
        self.register_buffer("deviation", deviation, persistent=False)
        self.k, self.score, self.scorer_weight, self.anneal = k, score, scorer_weight, anneal
        self.levels = levels
        self._first = first_linear(encoder, len(w))
        self._rest = nn.Identity() if self._first is None else nn.Sequential(*list(encoder.children())[1:])

    def score_weights(self) -> torch.Tensor:
        """Return s = phi(w)."""
        return self.w.abs() if self.score == "abs" else self.w.square()

    @torch.no_grad()
    def ranks(self) -> torch.Tensor:
        """Return the ranking scores: s, or when annealing s_j |E_j| sigma_j (s_j sigma_j if E is not known)."""
        s = self.score_weights()
        if not self.anneal:
            return s
        reach = s * self.deviation
        return reach if self._first is None else reach * self._first.weight.norm(dim=0)

    def losses(self, batch: torch.Tensor, progress: float) -> torch.Tensor:
        """Return the objective, the selector's and the scorer's mean squared error at this point of the schedule."""
        selector, scorer = self._errors(batch, self.form(progress))
        return torch.stack([selector + self.scorer_weight * scorer, selector, scorer])

    def is_settled(self, progress: float) -> bool:
        """Tell whether exactly k features are selected."""
        return self.form(progress) == self.k

    def form(self, progress: float) -> int:
        """Return how many features are selected at this point of the schedule."""
        if self.levels is not None:
            progress = int(progress * self.levels) / self.levels
        return n_selected_at(progress, len(self.w), self.k, self.anneal)

    def validation_loss(self, batch: torch.Tensor) -> torch.Tensor:
        """Return the selector's error with exactly k features."""
        return self._errors(batch, self.k)[0]

    def path_errors(self, batch: torch.Tensor) -> torch.Tensor:
        """Return the selector's error with exactly k features, and the scorer's error."""
        return torch.stack(self._errors(batch, self.k))

    def _errors(self, batch: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        s, m = self.score_weights(), batch.shape[1]
        selected = torch.sort(self.ranks(), descending=True, stable=True).indices[:count]
        if self._first is None:
            scored = batch * s
            mask = torch.zeros_like(s).index_fill(0, selected, 1.0)
            latent = self.encoder(torch.cat([scored * mask, scored]))
        else:
            # The scores multiply the first layer's weights; the selector's product needs the selected features only.
            weight, bias = self._first.weight * s, self._first.bias
            selector = functional.linear(batch.index_select(1, selected), weight.index_select(1, selected), bias)
            latent = self._rest(torch.cat([selector, functional.linear(batch, weight, bias)]))
        reconstructed = self.decoder(latent).view(2, -1, m)
        selector, scorer = (reconstructed - batch).square().mean(dim=(1, 2))
        return selector, scorer


def scorer_trainable(
    X: Array,
    k: int,
    settings: NetworkSettings,
    *,
    w: np.ndarray,
    start: Parameters | None,
    rows: np.ndarray,
    held_out: np.ndarray,
    rng: np.random.RandomState,
    device: torch.device,
) -> TorchTrainable:
    """Return the network with its samples, ready to train.

    Parameters
    ----------
    X : array of shape (n, m)
        The data.
    k : int
        Number of features to select.
    settings : NetworkSettings
        Encoder, decoder and training.
    w : ndarray of shape (m,)
        Initial raw scores.
    start : Parameters or None
        Initial weights of a linear network; None to draw them.
    rows, held_out : ndarray of int
        Samples to train on and samples to validate on.
    rng : RandomState
        Draws the weights and the batches.
    device : torch.device
        Where to train.
    """
    m, d = int(X.shape[1]), settings.width
    table = Rows(X, rows, dtype=torch.float32, device=device)
    held = Rows(X, held_out, dtype=torch.float32, device=device) if len(held_out) else None
    draw = rng if start is None else np.random.RandomState(0)  # a given start must not change the batches
    encoder = build_network(settings.encoder, m, d, settings.activation, draw, role="encoder")
    decoder = build_network(settings.decoder, d, m, settings.activation, draw, role="decoder")
    if start is not None:
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
    ).to(device)
    return TorchTrainable(
        model,
        table,
        held,
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate or 1e-3,
        decay=settings.decay,
        rng=rng,
    )
