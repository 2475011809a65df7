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

from .._scorer_parameters import Objective
from ._device import Rows
from ._networks import first_linear
from ._trainable import Model

_LEVELS = 100
"""Maximum number of changes of the number of selected features over the schedule."""


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
    objective : Objective
        What to train for.
    """

    deviation: torch.Tensor

    def __init__(
        self, w: np.ndarray, encoder: nn.Module, decoder: nn.Module, deviation: torch.Tensor, objective: Objective
    ) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.as_tensor(w, dtype=deviation.dtype))
        self.encoder, self.decoder = encoder, decoder
        self.register_buffer("deviation", deviation, persistent=False)
        self.objective = objective
        self._first = first_linear(encoder, len(w))
        self._rest = nn.Identity() if self._first is None else nn.Sequential(*list(encoder.children())[1:])

    def score_weights(self) -> torch.Tensor:
        """Return s = phi(w)."""
        return self.w.abs() if self.objective.score == "abs" else self.w.square()

    @torch.no_grad()
    def ranks(self) -> torch.Tensor:
        """Return the ranking scores: s, or when annealing s_j |E_j| sigma_j (s_j sigma_j if E is not known)."""
        s = self.score_weights()
        if not self.objective.anneal:
            return s
        reach = s * self.deviation
        return reach if self._first is None else reach * self._first.weight.norm(dim=0)

    def losses(self, batch: torch.Tensor, progress: float) -> torch.Tensor:
        """Return the objective, the selector's and the scorer's mean squared error at this point of the schedule."""
        selector, scorer = self._errors(batch, self.form(progress))
        return torch.stack([selector + self.objective.scorer_weight * scorer, selector, scorer])

    def is_settled(self, progress: float) -> bool:
        """Tell whether exactly k features are selected."""
        return self.form(progress) == self.objective.k

    def form(self, progress: float) -> int:
        """Return how many features are selected at this point of the schedule."""
        return self.objective.n_selected(int(progress * _LEVELS) / _LEVELS, len(self.w))

    def validation_loss(self, batch: torch.Tensor) -> torch.Tensor:
        """Return the selector's error with exactly k features."""
        return self._errors(batch, self.objective.k)[0]

    def finish(self, rows: Rows, held_out: Rows | None) -> None:
        """Compute ``errors``: the selector's with exactly k features, and the scorer's."""
        total = torch.zeros(2)
        for batch in rows.batches(4096):
            total = total + torch.stack(self._errors(batch, self.objective.k)).cpu() * (len(batch) / rows.n_rows)
        self.errors = tuple(total.tolist())

    def _errors(self, batch: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        selected = torch.sort(self.ranks(), descending=True, stable=True).indices[:count]
        selector, scorer = (self._outputs(batch, selected) - batch).square().mean(dim=(1, 2))
        return selector, scorer

    def _outputs(self, batch: torch.Tensor, selected: torch.Tensor) -> torch.Tensor:
        """Return what the network makes of a batch in the selector and in the scorer path, 2 x n x m."""
        s, m = self.score_weights(), batch.shape[1]
        if self._first is None:
            scored = batch * s
            mask = torch.zeros_like(s).index_fill(0, selected, 1.0)
            latent = self.encoder(torch.cat([scored * mask, scored]))
        else:
            # The scores multiply the first layer's weights; the selector's product needs the selected features only.
            weight, bias = self._first.weight * s, self._first.bias
            selector = functional.linear(batch.index_select(1, selected), weight.index_select(1, selected), bias)
            latent = self._rest(torch.cat([selector, functional.linear(batch, weight, bias)]))
        return self.decoder(latent).view(2, -1, m)
