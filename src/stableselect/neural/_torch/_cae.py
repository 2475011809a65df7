"""The concrete autoencoder on mini-batches."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import torch
from torch import nn

from .._cae_moments import assign, gumbel, noise_source, temperature_at
from ._networks import build_network, to_arrays
from ._rows import Rows
from ._session import resolve_device, session
from ._trainable import Model, TorchTrainable

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

    def noise(self) -> torch.Tensor:
        """Draw Gumbel noise."""
        return torch.from_numpy(gumbel(self._source, tuple(self.weight.shape))).to(self.weight)

    def losses(self, batch: torch.Tensor, progress: float) -> torch.Tensor:
        """Return the objective and the mean squared error."""
        if progress >= self._mixing:
            error = (self.decoder(batch[:, self._choose()]) - batch).square().mean()
            return torch.stack([error, error])
        T = temperature_at(progress / self._length, self._temperature)
        P = torch.softmax((self.logits + self.noise()) / T, dim=1)
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


class ConcreteTask:
    """Samples, settings and device of one fit.

    Parameters
    ----------
    X : array of shape (n, m)
        The data.
    rows, held_out : ndarray of int
        Samples to train on and samples to validate on.
    varying : ndarray of int
        Features that may be selected.
    n_nodes, decoder, activation, temperature, penalty, logit_rate, decoder_rate, batch_size, device
        As :class:`ConcreteModel` and the selector describe them.
    """

    def __init__(
        self,
        X: Any,
        rows: np.ndarray,
        held_out: np.ndarray,
        varying: np.ndarray,
        *,
        n_nodes: int,
        decoder: Any,
        activation: str,
        temperature: tuple[float, float],
        penalty: float,
        logit_rate: float,
        decoder_rate: float,
        batch_size: int,
        device: str,
    ) -> None:
        self._X, self._rows, self._held_out, self._varying = X, rows, held_out, varying
        self._n_nodes, self._decoder, self._activation = n_nodes, decoder, activation
        self._temperature, self._penalty = temperature, penalty
        self._logit_rate, self._decoder_rate, self._batch_size = logit_rate, decoder_rate, batch_size
        self._device = resolve_device(device, X)

    def session(self, rng: np.random.RandomState) -> AbstractContextManager[None]:
        """Return the context to train in."""
        return session(self._device, self._batch_size, rng)

    def trainable(self, rng: np.random.RandomState) -> TorchTrainable:
        """Return a model with its initial weights: Glorot-normal logits, a Glorot-uniform decoder."""
        m, k = int(self._X.shape[1]), self._n_nodes
        start = torch.from_numpy(rng.normal(scale=(2 / (m + k)) ** 0.5, size=(k, m)).astype(np.float32))
        allowed = torch.zeros(m, dtype=torch.bool)
        allowed[torch.from_numpy(self._varying)] = True
        model = ConcreteModel(
            build_network(self._decoder, k, m, self._activation, rng, role="decoder").float(),
            start,
            allowed,
            temperature=self._temperature,
            penalty=self._penalty,
            logit_scale=self._logit_rate / self._decoder_rate,
            fine_tune=self._decoder != "linear",
            source=noise_source(rng),
        )
        return TorchTrainable(
            model.to(self._device),
            self._batches(self._rows),
            self._batches(self._held_out) if len(self._held_out) else None,
            batch_size=self._batch_size,
            learning_rate=self._decoder_rate,
            rng=rng,
        )

    def result(self, trained: TorchTrainable) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return the logits of the varying features and the weights of the decoder."""
        model = trained.model
        assert isinstance(model, ConcreteModel)
        logits = model.logits.detach().cpu().double().numpy()
        return logits[:, self._varying], to_arrays(model.decoder)

    def _batches(self, rows: np.ndarray) -> Rows:
        return Rows(self._X, rows, dtype=torch.float32, device=self._device)
