"""The scorer-selector network in torch, with any encoder and decoder.

Model (2) of Wu & Cheng (2021): s = phi(w) multiplies the columns, the *scorer* rebuilds the table from all of them, the
*selector* from the k best, through one encoder g and one decoder f:

    mean (x - f(g(x s masked)))^2  +  scorer_weight * mean (x - f(g(x s)))^2.

The mask is a constant to the gradient.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from .._scorer_parameters import Score, kept_count
from ._networks import first_linear
from ._trainee import Model


class ScorerModel(Model):
    """The two paths and their errors.

    Parameters
    ----------
    w : ndarray of shape (m,)
        Raw scores at the start.
    encoder, decoder : torch.nn.Module
        g and f.
    deviation : tensor of shape (m,)
        Standard deviations of the columns, for ranking while annealing.
    k : int
        Columns to keep.
    score : {"abs", "square"}
        phi.
    scorer_weight : float
        Weight of the scorer's error.
    anneal : bool
        Shrink the number of kept columns from m to k, and rank by a column's reach through the first layer.
    levels : int or None
        The number of kept columns changes so many times at most over the schedule; None for as often as it can.
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
        """Return what columns are ranked by: s, or while annealing s_j |E_j| sigma_j (s_j sigma_j for own modules)."""
        s = self.score_weights()
        if not self.anneal:
            return s
        reach = s * self.deviation
        return reach if self._first is None else reach * self._first.weight.norm(dim=0)

    def losses(self, batch: torch.Tensor, progress: float) -> torch.Tensor:
        """Return objective, selector's and scorer's mean squared error; ``progress`` sets how many columns are kept."""
        selector, scorer = self._errors(batch, self.form(progress))
        return torch.stack([selector + self.scorer_weight * scorer, selector, scorer])

    def is_settled(self, progress: float) -> bool:
        """Tell whether exactly k columns are kept."""
        return self.form(progress) == self.k

    def form(self, progress: float) -> int:
        """Return how many columns are kept at this point of the schedule."""
        if self.levels is not None:
            progress = int(progress * self.levels) / self.levels
        return kept_count(progress, 1, len(self.w), self.k, self.anneal)

    def validation_loss(self, batch: torch.Tensor) -> torch.Tensor:
        """Return the selector's error with exactly k columns."""
        return self._errors(batch, self.k)[0]

    def path_errors(self, batch: torch.Tensor) -> torch.Tensor:
        """Return the selector's error with exactly k columns, and the scorer's."""
        return torch.stack(self._errors(batch, self.k))

    def _errors(self, batch: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        s, m = self.score_weights(), batch.shape[1]
        kept = torch.sort(self.ranks(), descending=True, stable=True).indices[:count]
        if self._first is None:
            scored = batch * s
            mask = torch.zeros_like(s).index_fill(0, kept, 1.0)
            latent = self.encoder(torch.cat([scored * mask, scored]))
        else:
            # Scores go onto the first layer's weights, and the selector's product needs the kept columns only.
            weight, bias = self._first.weight * s, self._first.bias
            selector = functional.linear(batch.index_select(1, kept), weight.index_select(1, kept), bias)
            latent = self._rest(torch.cat([selector, functional.linear(batch, weight, bias)]))
        rebuilt = self.decoder(latent).view(2, -1, m)
        selector, scorer = (rebuilt - batch).square().mean(dim=(1, 2))
        return selector, scorer
