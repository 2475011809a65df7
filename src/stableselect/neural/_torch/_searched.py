"""The scorer-selector network that starts from a search: it learns what a linear map leaves.

The features S that the search found stay selected, and x_S B + b is a ridge regression from them to all features. The
network reconstructs the rest:

    x_S B + b + c f(g(x s masked)).

Its last layer starts at zero. The held-out samples decide on c: the factor of least error on them, or 0, which leaves
the linear map, if it gains no more than one standard error.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from .._scorer_parameters import LinearMap, Objective, Parameters
from .._specs import Networks
from ._device import Rows
from ._networks import build_network
from ._scorer import ScorerModel


class SearchedModel(ScorerModel):
    """The network, and the linear map that it adds to.

    Parameters
    ----------
    *network
        As in :class:`ScorerModel`.
    maps : tuple of two LinearMap
        The map fitted without the held-out samples, for the training, and with them, for the end.
    groups : ndarray of int
        The group of every held-out sample.
    """

    coefficients: torch.Tensor
    intercept: torch.Tensor
    selected: torch.Tensor

    def __init__(self, *network: Any, maps: tuple[LinearMap, LinearMap], groups: np.ndarray) -> None:
        super().__init__(*network)
        for name, value in maps[0]._asdict().items():
            self.register_buffer(name, torch.from_numpy(value), persistent=False)
        self.final, self.groups, self.network_weight = maps[1], groups, 1.0
        last = list(self.decoder.modules())[-1]
        if isinstance(last, nn.Linear):
            nn.init.zeros_(last.weight)

    @torch.no_grad()
    def standardise(self, rows: Rows) -> None:
        """Let the units of the first layer start with mean 0 and variance 1 over the samples, where it is linear."""
        if self._first is None or self._first.bias is None:
            return
        batch = next(rows.batches(4096)).to(self.coefficients)[:, self.selected]  # the rows may be on a device already
        weight = self._first.weight[:, self.selected].to(batch.dtype) * self.score_weights()[self.selected]
        values = batch @ weight.T
        spread, mean = values.std(dim=0, correction=0), values.mean(dim=0)
        spread = torch.where(spread > 1e-6 * values.abs().max(), spread, 1.0)
        self._first.weight.div_(spread[:, None])
        self._first.bias.copy_(-mean / spread)

    def finish(self, rows: Rows, held_out: Rows | None) -> None:
        """Decide on c, the ``network_weight``, and compute ``errors``."""
        if held_out is not None:
            self.network_weight = self._weight(held_out)
            self.coefficients.copy_(torch.from_numpy(self.final.coefficients))
            self.intercept.copy_(torch.from_numpy(self.final.intercept))
        super().finish(rows, held_out)

    def _errors(self, batch: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        outputs = self.network_weight * self._outputs(batch, self.selected)
        selector, scorer = (outputs - self._left(batch)).square().mean(dim=(1, 2))
        return selector, scorer

    def _left(self, batch: torch.Tensor) -> torch.Tensor:
        """Return what the linear map leaves of samples."""
        return batch - torch.addmm(self.intercept, batch.index_select(1, self.selected), self.coefficients)

    def _weight(self, held_out: Rows) -> float:
        """Return c; a sample gains 2 c <left, output> - c^2 |output|^2."""
        parts = []
        for batch in held_out.batches(4096):
            left, output = self._left(batch).double(), self._outputs(batch, self.selected)[0].double()
            parts.append(torch.stack([(left * output).sum(1), output.square().sum(1)]).cpu())
        # Sums over groups: so many samples are independent.
        products, squares = (np.bincount(self.groups, weights=part) for part in torch.cat(parts, dim=1).numpy())
        sizes = np.bincount(self.groups)
        c = float(np.clip(products.sum() / (squares.sum() or 1.0), 0.0, 1.0))
        gains = 2 * c * products - c**2 * squares
        spread = gains - sizes * (gains.sum() / sizes.sum())
        n = np.count_nonzero(sizes)
        return c if n > 1 and gains.sum() > np.sqrt(spread @ spread * n / (n - 1)) else 0.0


def scorer_model(
    networks: Networks,
    objective: Objective,
    w: np.ndarray,
    start: Parameters | None,
    rows: Rows,
    rng: np.random.RandomState,
    maps: tuple[LinearMap, LinearMap] | None,
    groups: np.ndarray,
) -> ScorerModel:
    """Return the network with its initial weights.

    Parameters
    ----------
    networks : Networks
        Encoder and decoder.
    objective : Objective
        What to train for.
    w : ndarray of shape (m,)
        Initial raw scores.
    start : Parameters or None
        Initial weights of a linear network; None to draw them.
    rows : Rows
        Samples to train on.
    rng : RandomState
        Draws the weights.
    maps : tuple of two LinearMap, or None
        What the network adds to.
    groups : ndarray of int
        The group of every held-out sample.
    """
    m, d = len(w), networks.width
    draw = rng if start is None else np.random.RandomState(0)  # a given start must not change the batches
    encoder = build_network(networks.encoder, m, d, networks.activation, draw, role="encoder")
    decoder = build_network(networks.decoder, d, m, networks.activation, draw, role="decoder")
    if start is not None:
        parts = (start.encoder.T, start.encoder_bias, start.decoder[:, :d], start.decoder[:, d])
        with torch.no_grad():
            for place, value in zip((*encoder.parameters(), *decoder.parameters()), parts, strict=True):
                place.copy_(torch.from_numpy(np.array(value)))
    if maps is None:
        return ScorerModel(w, encoder, decoder, rows.deviation(), objective)
    model = SearchedModel(w, encoder, decoder, rows.deviation(), objective, maps=maps, groups=groups)
    model.standardise(rows)
    return model
