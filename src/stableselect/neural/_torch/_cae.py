"""The concrete autoencoder on mini-batches."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from .._cae_moments import assign, gumbel, temperature_at
from ._trainable import Model

_MIXING_FRACTION = 0.8
"""Fraction of the schedule over which T falls if the decoder is afterwards trained on the selected features."""


class ConcreteModel(Model):
    """Nodes that mix features, and a decoder.

    Parameters
    ----------
    decoder : Module
        From the nodes to all features.
    start : Tensor of shape (nodes, features)
        Initial logits.
    allowed : Tensor of bool, shape (features,)
        Features that nodes may select.
    temperature : tuple of float
        T at the start and at the end of the mixing.
    penalty : float
        Weight of the penalty on features that get a total weight above one from all nodes.
    logit_scale : float
        Ratio of the logits to the weights that Adam moves: the logits move this many times faster.
    fine_tune : bool
        Train the decoder on the selected features over the last fifth of the schedule.
    source : Generator
        Draws the noise on the host, so that every device sees the same.
    """

    settled = False
    barred: torch.Tensor

    def __init__(
        self,
        decoder: nn.Module,
        start: torch.Tensor,
        allowed: torch.Tensor,
        *,
        temperature: tuple[float, float],
        penalty: float,
        logit_scale: float,
        fine_tune: bool,
        source: np.random.Generator,
    ) -> None:
        super().__init__()
        self.decoder = decoder
        self.weight = nn.Parameter(start / logit_scale)
        self.register_buffer("barred", torch.where(allowed, 0.0, -torch.inf).to(start), persistent=False)
        self._temperature, self._penalty, self._scale = temperature, penalty, logit_scale
        self._mixing = _MIXING_FRACTION if fine_tune else float("inf")
        self._length = _MIXING_FRACTION if fine_tune else 1.0
        self._source = source
        self._features: torch.Tensor | None = None

    @property
    def logits(self) -> torch.Tensor:
        """The logits of the nodes, minus infinity for features that may not be selected."""
        return self.weight * self._scale + self.barred

    def losses(self, batch: torch.Tensor, progress: float) -> torch.Tensor:
        """Return the objective and the mean squared error."""
        if progress >= self._mixing:
            error = (self.decoder(batch[:, self._choose()]) - batch).square().mean()
            return torch.stack([error, error])
        T = temperature_at(progress / self._length, self._temperature)
        noise = torch.from_numpy(gumbel(self._source, tuple(self.weight.shape))).to(self.weight)
        P = torch.softmax((self.logits + noise) / T, dim=1)
        error = (self.decoder(batch @ P.T) - batch).square().mean()
        if not self._penalty:
            return torch.stack([error, error])
        excess = (P.sum(0) - 1).clamp(min=0).square().sum() / len(P)
        return torch.stack([error + self._penalty * excess, error])

    def validation_loss(self, batch: torch.Tensor) -> torch.Tensor:
        """Return the error from the selected features, or from the most probable ones before they are selected."""
        features = self.logits.argmax(1) if self._features is None else self._features
        return (self.decoder(batch[:, features]) - batch).square().mean()

    def _choose(self) -> torch.Tensor:
        """Return the features of the nodes, selected once: the logits no longer move afterwards."""
        if self._features is None:
            allowed = np.flatnonzero(np.isfinite(self.barred.cpu().numpy()))
            logits = self.logits.detach().cpu().double().numpy()[:, allowed]
            self._features = torch.as_tensor(allowed[assign(logits)], device=self.weight.device)
            self.settled = True
        return self._features
