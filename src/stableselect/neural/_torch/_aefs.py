"""The autoencoder of AEFS in torch, and its common part with AgnoS-S: features dropped during training."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import torch
from torch import nn

from .._elimination import Elimination
from ._networks import first_linear, to_arrays
from ._rows import Rows
from ._trainable import Model


class SparseInputModel(Model):
    """An encoder and a decoder whose input features are penalised and dropped.

    Parameters
    ----------
    encoder, decoder : Module
        f and g.
    elimination : Elimination
        Which features are left.
    factor : float
        Factor of the squared error of a sample, summed over the features.
    """

    present: torch.Tensor

    def __init__(self, encoder: nn.Module, decoder: nn.Module, elimination: Elimination, factor: float) -> None:
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
        self.elimination, self._factor = elimination, factor
        self.register_buffer("present", torch.zeros(len(elimination.varying)))
        self.present[elimination.left] = 1.0

    @property
    def settled(self) -> bool:  # type: ignore[override]
        """Whether only k features are left."""
        return self.elimination.done

    @abstractmethod
    def penalty(self) -> torch.Tensor:
        """Return the penalty added to the error."""

    @abstractmethod
    def strength(self) -> torch.Tensor:
        """Return the strength of each of the m features."""

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        """Return all features reconstructed from those left."""
        return self.decoder(self.encoder(batch * self.present))

    def losses(self, batch: torch.Tensor, progress: float) -> torch.Tensor:
        """Return the objective and the mean squared error."""
        if self.training and self.elimination.count(progress) < len(self.elimination.left):
            self.elimination.update(self._of_those_left(), progress)
            self.present.zero_()
            self.present[self.elimination.left] = 1.0
        error = (self(batch) - batch).square().sum() / len(batch)
        return torch.stack([self._factor * error + self.penalty(), error / batch.shape[1]])

    def validation_loss(self, batch: torch.Tensor) -> torch.Tensor:
        """Return the mean squared error, without the penalty."""
        return (self(batch) - batch).square().mean()

    def weights(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Return the weights of encoder and decoder."""
        return to_arrays(self.encoder), to_arrays(self.decoder)

    def finish(self, rows: Rows) -> None:
        """Pass the final strengths of the features left to the elimination."""
        self.elimination.record(self._of_those_left())

    @torch.no_grad()
    def _of_those_left(self) -> np.ndarray:
        return self.strength().detach().cpu().double().numpy()[self.elimination.left]


def squared(weights: list[nn.Parameter]) -> torch.Tensor | float:
    """Return the sum of squares of all weights, 0 if there are none."""
    return torch.stack([weight.square().sum() for weight in weights]).sum() if weights else 0.0


class AEFSModel(SparseInputModel):
    """factor |x - g(f(x))|^2 + alpha |W_1|_{2,1} + beta/2 sum_{l > 1} |W_l|_F^2.

    The subgradient of the row penalty is zero at a row of zeros, as published.

    Parameters
    ----------
    encoder, decoder, elimination, factor
        As in :class:`SparseInputModel`.
    alpha, beta : float
        Weights of the penalties.
    """

    def __init__(
        self,
        encoder: nn.Module,
        decoder: nn.Module,
        elimination: Elimination,
        factor: float,
        *,
        alpha: float,
        beta: float,
    ) -> None:
        super().__init__(encoder, decoder, elimination, factor)
        first = first_linear(encoder, len(elimination.varying))
        if first is None:
            raise ValueError(
                "AEFS penalises the first layer of the encoder, which must be a torch.nn.Linear that takes all "
                "features; put one first in a torch.nn.Sequential."
            )
        self._alpha, self._beta = alpha, beta
        self._first = [first]
        self._others = [p for p in self.parameters() if p.ndim > 1 and p is not first.weight]

    def strength(self) -> torch.Tensor:
        """Return the lengths of the rows of W_1."""
        return torch.linalg.vector_norm(self._first[0].weight, dim=0)

    def penalty(self) -> torch.Tensor:
        """Return alpha |W_1|_{2,1} over the features left, plus the decay."""
        return self._alpha * (self.strength() * self.present).sum() + 0.5 * self._beta * squared(self._others)

    def finish(self, rows: Rows) -> None:
        """Set the first layer to zero for the features dropped, then as in the base class."""
        self._first[0].weight.mul_(self.present)
        super().finish(rows)
