"""The autoencoder of AgnoS-S in torch: a slack variable for every feature."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from .._elimination import Elimination
from ._aefs import SparseInputModel, squared
from ._networks import ACTIVATIONS


class AgnoSSModel(SparseInputModel):
    """factor |x - g(f(a * x))|^2 + l1 sum_j a_j + beta/2 sum_l |W_l|_F^2 with a >= 0 by projection after every step.

    Parameters
    ----------
    slack : ndarray of shape (m,)
        Initial a.
    encoder, decoder, elimination, factor
        As in :class:`SparseInputModel`.
    l1, beta : float
        Weights of the penalties.
    output_activation : str or None
        After the encoder and after the decoder.
    """

    def __init__(
        self,
        slack: np.ndarray,
        encoder: nn.Module,
        decoder: nn.Module,
        elimination: Elimination,
        factor: float,
        *,
        l1: float,
        beta: float,
        output_activation: str | None,
    ) -> None:
        super().__init__(encoder, decoder, elimination, factor)
        self._l1, self._beta = l1, beta
        self._decayed = [p for p in self.parameters() if p.ndim > 1]
        self.slack = nn.Parameter(torch.from_numpy(np.array(slack)))
        self._final = nn.Identity() if output_activation is None else ACTIVATIONS[output_activation]()

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        """Return all features reconstructed from those left, each times its slack."""
        hidden = self._final(self.encoder(batch * (self.slack * self.present)))
        return self._final(self.decoder(hidden))

    def strength(self) -> torch.Tensor:
        """Return the slacks."""
        return self.slack

    def penalty(self) -> torch.Tensor:
        """Return l1 sum a_j over the features left, plus the decay."""
        # The slope of |a| at zero is zero, as published: a slack that was projected to zero can grow again.
        total = self._l1 * (self.slack.abs() * self.present).sum()
        if self._beta:
            total = total + 0.5 * self._beta * squared(self._decayed)
        return total

    @torch.no_grad()
    def project(self) -> None:
        """Keep the slacks at or above zero."""
        self.slack.clamp_(min=0.0)
