"""The autoencoders of AEFS and AgnoS-S in torch: input features are penalised and dropped during training."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import torch
from torch import nn

from .._elimination import Elimination
from ._device import Rows
from ._networks import ACTIVATIONS, first_linear, to_arrays
from ._trainable import Model

Networks = tuple[nn.Module, nn.Module]
Scales = tuple[float, float, float]


class SparseInputModel(Model):
    """An encoder and a decoder whose input features are penalised and dropped.

    Parameters
    ----------
    networks : tuple of two Modules
        f and g.
    elimination : Elimination
        Which features are left.
    scales : tuple of three floats
        Factor of the squared error of a sample, summed over the features; of the strengths; and of half the decay.
    """

    present: torch.Tensor

    def __init__(self, networks: Networks, elimination: Elimination, scales: Scales) -> None:
        super().__init__()
        self.encoder, self.decoder = networks
        self.elimination = elimination
        self._factor, self._weight, self._beta = scales
        self._decayed = [p for p in self.parameters() if p.ndim > 1]
        self.register_buffer("present", torch.zeros(len(elimination.varying)))
        self.present[elimination.left] = 1.0

    @property
    def settled(self) -> bool:  # type: ignore[override]
        """Whether only k features are left."""
        return self.elimination.done

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

    def penalty(self) -> torch.Tensor:
        """Return the weighted sum of the strengths of the features left, plus the decay."""
        total = self._weight * (self.strength().abs() * self.present).sum()
        if self._beta and self._decayed:
            total = total + 0.5 * self._beta * torch.stack([weight.square().sum() for weight in self._decayed]).sum()
        return total

    def validation_loss(self, batch: torch.Tensor) -> torch.Tensor:
        """Return the mean squared error, without the penalty."""
        return (self(batch) - batch).square().mean()

    def weights(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Return the weights of encoder and decoder."""
        return to_arrays(self.encoder), to_arrays(self.decoder)

    def finish(self, rows: Rows, held_out: Rows | None) -> None:
        """Pass the final strengths of the features left to the elimination."""
        self.elimination.record(self._of_those_left())

    @torch.no_grad()
    def _of_those_left(self) -> np.ndarray:
        return self.strength().detach().cpu().double().numpy()[self.elimination.left]


class AEFSModel(SparseInputModel):
    """factor |x - g(f(x))|^2 + alpha |W_1|_{2,1} + beta/2 sum_{l > 1} |W_l|_F^2.

    The subgradient of the row penalty is zero at a row of zeros, as published.

    Parameters
    ----------
    networks, elimination, scales
        As in :class:`SparseInputModel`; the scales are factor, alpha and beta.
    """

    def __init__(self, networks: Networks, elimination: Elimination, scales: Scales) -> None:
        super().__init__(networks, elimination, scales)
        first = first_linear(self.encoder, len(elimination.varying))
        if first is None:
            raise ValueError(
                "AEFS penalises the first layer of the encoder, which must be a torch.nn.Linear that takes all "
                "features; put one first in a torch.nn.Sequential."
            )
        self._first = [first]  # in a list, so that torch does not count the layer twice
        self._decayed = [p for p in self._decayed if p is not first.weight]

    def strength(self) -> torch.Tensor:
        """Return the lengths of the rows of W_1."""
        return torch.linalg.vector_norm(self._first[0].weight, dim=0)

    def finish(self, rows: Rows, held_out: Rows | None) -> None:
        """Set the first layer to zero for the features dropped, then as in the base class."""
        self._first[0].weight.mul_(self.present)
        super().finish(rows, held_out)


class AgnoSSModel(SparseInputModel):
    """factor |x - g(f(a * x))|^2 + l1 sum_j a_j + beta/2 sum_l |W_l|_F^2 with a >= 0 by projection after every step.

    The slope of |a| at zero is zero, as published: a slack that was projected to zero can grow again.

    Parameters
    ----------
    networks, elimination, scales
        As in :class:`SparseInputModel`; the scales are factor, l1 and beta.
    slack : ndarray of shape (m,)
        Initial a.
    output_activation : str or None
        After the encoder and after the decoder.
    """

    def __init__(
        self,
        networks: Networks,
        elimination: Elimination,
        scales: Scales,
        slack: np.ndarray,
        output_activation: str | None,
    ) -> None:
        super().__init__(networks, elimination, scales)
        self.slack = nn.Parameter(torch.from_numpy(np.array(slack)))
        self._final = nn.Identity() if output_activation is None else ACTIVATIONS[output_activation]()

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        """Return all features reconstructed from those left, each times its slack."""
        hidden = self._final(self.encoder(batch * (self.slack * self.present)))
        return self._final(self.decoder(hidden))

    def strength(self) -> torch.Tensor:
        """Return the slacks."""
        return self.slack

    @torch.no_grad()
    def project(self) -> None:
        """Keep the slacks at or above zero."""
        self.slack.clamp_(min=0.0)
