"""The arrays of many subsets under swaps, all changed by the same calls; torch tensors only.

What :class:`~stableselect._core._swap_state.SwapState` holds for one subset is here a row of every tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from ._batched_split import Tensor, at_rows, maps, parted, residuals, room, rows_of
from ._forward_search import ROUNDING, TIE, TRUST
from ._subset_search import _NEAR as NEAR


class Looked(NamedTuple):
    """What the host is told of one subset: its best swap, and numbers of the subset itself.

    ``gain`` and ``slack`` are the best swap's, from position ``a`` (-1 where there is none) to feature ``j``; ``loss``,
    ``cost`` and ``rounding`` are of the subset; ``possible`` tells whether the last swap was.
    """

    gain: float
    slack: float
    a: int
    j: int
    loss: float
    cost: float
    rounding: float
    possible: bool


class Swaps:
    """R, V and what follows from them for b subsets of k features.

    Parameters
    ----------
    C : tensor of shape (b, m, m)
        The moments of every search.
    alphas : sequence of float
        Their ridge weights.
    prices : sequence of tensors of length m, or None
        What keeping features costs, where it does.
    exclude : sequence of int
        Features that may never come in.
    """

    def __init__(
        self, C: Tensor, alphas: Sequence[float], prices: Sequence[Tensor | None], exclude: Sequence[int] = ()
    ) -> None:
        self.C, self.device, self.room = C, C.device, room(C.device) / 2
        allowed = np.ones(C.shape[1], dtype=bool)
        allowed[list(exclude)] = False
        self.allowed = torch.as_tensor(allowed, device=C.device)
        self.variance = C.diagonal(dim1=1, dim2=2).clone()
        self.trace = self.variance.sum(dim=1)
        self.alpha = torch.tensor(alphas, dtype=C.dtype, device=C.device)
        free = torch.zeros_like(self.variance[0])
        self.prices = torch.stack([free if own is None else own for own in prices])
        self.possible = torch.ones_like(self.trace, dtype=torch.bool)
        self.rows = torch.arange(len(C), device=C.device)
        self.P = self.V = self.Y = self.C_S = self.g = self.h = self.chosen = self.open = self.free = torch.empty(0)

    def keep(self, places: Sequence[int]) -> None:
        """Go on with some of the subsets."""
        at = torch.as_tensor(places, device=self.device)
        for name in ("C", "variance", "trace", "alpha", "prices", "possible", "P", "V", "Y", "C_S", "g", "h"):
            setattr(self, name, getattr(self, name)[at])
        self.rows = self.rows[: len(places)]

    def choose(
        self, chosen: Sequence[Sequence[int]], closed: Sequence[Sequence[int]], locked: Sequence[Sequence[int]]
    ) -> None:
        """Note which features every subset holds, in their order, and what it may not do.

        Parameters
        ----------
        chosen : sequence of sequences of int
            The features of each.
        closed : sequence of sequences of int
            Further features that may not come in.
        locked : sequence of sequences of int
            Features that may not be given up.
        """
        k, n_closed = len(chosen[0]), max(map(len, closed))
        numbers = np.full((len(chosen), k + n_closed + max(map(len, locked))), -1)
        numbers[:, : k + n_closed] = np.array([own[0] for own in chosen])[:, None]  # closed already
        for row, own, shut, kept in zip(numbers, chosen, closed, locked, strict=True):
            row[:k], row[k : k + len(shut)], row[k + n_closed : k + n_closed + len(kept)] = own, shut, kept
        told = torch.as_tensor(numbers, device=self.device)  # one transfer for all
        self.chosen = told[:, :k].contiguous()
        self.open = self.allowed.expand(len(told), -1).scatter(1, told[:, : k + n_closed], False)
        self.free = ~(self.chosen[:, :, None] == told[:, None, k + n_closed :]).any(dim=2)

    def refresh(self, places: Sequence[int]) -> None:
        """Compute everything afresh for some of the subsets."""
        if not places:
            return
        b, m = self.variance.shape
        k = self.chosen.shape[1]
        if not self.V.numel():
            self.P, self.V, self.Y, self.C_S = (self.C.new_zeros((b, k, width)) for width in (k, m, m, m))
            self.g, self.h = torch.zeros_like(self.variance), torch.zeros_like(self.variance)
        for part in parted([16.0 * m * m] * len(places), self.room):
            at = torch.as_tensor(places[part], device=self.device)
            rows = rows_of(self.C, at, self.chosen[at])
            P, V = maps(rows, self.chosen[at], self.alpha[at])
            R = residuals(self.C, at, rows, V)
            self.P[at], self.V[at], self.C_S[at], self.Y[at] = P, V, rows, V @ R
            self.h[at] = R.diagonal(dim1=1, dim2=2)
            self.g[at] = R.square_().sum(dim=2)

    def look(self) -> list[Looked]:
        """Return the best swap of every subset."""
        (b, k, m), inf = self.V.shape, float("inf")
        V, alpha, variance = self.V, self.alpha[:, None, None], self.variance[:, None, :]
        p, costs, kept, total = self._dropping()
        prices = self.prices.gather(1, self.chosen)
        loss = self.h.sum(dim=1)
        cost = loss + prices.sum(dim=1)
        scaled = V / p[:, :, None]
        fall = self.g[:, None, :] + scaled * (2 * self.Y + V * costs[:, :, None])
        pivot = self.h[:, None, :] + alpha + V * scaled
        trusted = pivot > TRUST * variance
        usable = trusted & self.open[:, None, :] & self.free[:, :, None]
        gains = fall / torch.where(usable, pivot, 1.0) - costs[:, :, None]
        gains = gains + prices[:, :, None] - self.prices[:, None, :]
        gains = torch.where(usable, gains, -inf)
        best = gains.amax(dim=1)
        top = best.amax(dim=1)
        size = torch.maximum(cost, top).clamp_min(0.0)
        near = best >= (top - NEAR * size)[:, None]
        # By how much rounding may have moved the gains: of the features that come in, and of those that go.
        terms = self.variance + (kept[:, None, :] @ (V * V))[:, 0]
        pivot = torch.where(trusted, pivot, inf)
        slack = _gain_rounding(fall, pivot, terms[:, None, :], total[:, None, None])
        inverse = torch.where(p < inf, 1 / p, inf)
        slack += _gain_rounding(costs / p, inverse, kept, total[:, None])[:, :, None]
        slack += (TIE * size)[:, None, None]
        low = torch.where(near[:, None, :], gains - slack, -inf).amax(dim=(1, 2))
        tied = (gains + slack >= low[:, None, None]) & near[:, None, :]
        j = tied.any(dim=1).to(torch.int32).argmax(dim=1)
        column = j[:, None, None].expand(b, k, 1)
        a = torch.where(tied.gather(2, column)[:, :, 0], self.chosen, m).argmin(dim=1)
        gain = at_rows(gains.gather(2, column)[:, :, 0], a)
        slack = at_rows(slack.gather(2, column)[:, :, 0], a)
        none = top == -inf
        told = torch.stack(
            [
                torch.where(none, -inf, gain),
                torch.where(none, 0.0, slack),
                torch.where(none, -1, a).to(gain.dtype),
                j.to(gain.dtype),
                loss,
                cost,
                ROUNDING * total,
                self.possible.to(gain.dtype),
            ],
            dim=1,
        )
        return [
            Looked(gain, slack, int(a), int(j), loss, cost, rounding, bool(possible))
            for gain, slack, a, j, loss, cost, rounding, possible in told.tolist()
        ]

    def make(self, swaps: Sequence[tuple[int, int]]) -> None:
        """Make a swap (position, feature) in every subset; none where the position is -1.

        The formulas are those of :meth:`~stableselect._core._swap_state.SwapState.swap`. Where a swap turns out to
        be impossible, the subset's arrays are to be computed afresh.
        """
        if all(a < 0 for a, _ in swaps):
            self.possible = torch.ones_like(self.possible)
            return
        a, j = torch.as_tensor(np.array(swaps, dtype=np.int64).T.copy(), device=self.device)
        go, rows = a >= 0, self.rows
        a, j = a.clamp_min(0), j.clamp_min(0)
        V, Y, P = self.V, self.Y, self.P
        p = torch.where(go, P[rows, a, a], 1.0)
        v, y = V[rows, a], Y[rows, a]
        row = torch.where(go[:, None], P[rows, a] / p[:, None], 0.0)
        V -= row[:, :, None] * v[:, None, :]
        pull = _times(V, v) / p[:, None]
        length = (v * v).sum(dim=1, keepdim=True)
        g = self.g + 2 * v * y / p[:, None] + length / p[:, None] ** 2 * (v * v)
        h = self.h + v * v / p[:, None]
        P = P - p[:, None, None] * row[:, :, None] * row[:, None, :]

        column = self.C[rows, j]
        r = column - _times(V.mT, self.C_S[rows, :, j])
        tau = at_rows(r, j) + self.alpha
        self.possible = ~go | (tau > TRUST * at_rows(self.variance, j))
        tau = torch.where(go & self.possible, tau, 1.0)[:, None]
        q = _times(self.C, r) - _times(V.mT, _times(self.C_S, r))
        self.C_S[rows, a] = torch.where(go[:, None], column, self.C_S[rows, a])
        last = -V[rows, :, j] / tau
        last[rows, a] = (1 / tau)[:, 0]
        last = torch.where(go[:, None], last, 0.0)
        V += last[:, :, None] * r[:, None, :]
        push = _times(V, r) / tau
        pull, push = (torch.where(go[:, None], both, 0.0) for both in (pull, -push))
        Y += torch.stack([-row, pull, last, push], dim=2) @ torch.stack([y, v, q, r], dim=1)
        length = (r * r).sum(dim=1, keepdim=True)
        self.g = torch.where(go[:, None], g - 2 * r * q / tau + length / tau**2 * (r * r), self.g)
        self.h = torch.where(go[:, None], h - r * r / tau, self.h)
        self.P = P + tau[:, :, None] * last[:, :, None] * last[:, None, :]

    def _dropping(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return p = diag P, what dropping every kept feature costs, their variances, and the sizes' sum."""
        p = self.P.diagonal(dim1=1, dim2=2)
        p = torch.where(p > 0, p, float("inf"))
        squares = torch.linalg.vecdot(self.V, self.V)
        costs, kept = squares / p, self.variance.gather(1, self.chosen)
        total = self.trace + (kept * torch.where(p < float("inf"), squares, 0.0)).sum(dim=1)
        return p, costs, kept, total


def _times(M: Tensor, v: Tensor) -> Tensor:
    """Return the product of every matrix with its vector."""
    return (M @ v[:, :, None])[:, :, 0]


def _gain_rounding(g: Tensor, pivot: Tensor, size: Tensor, total: Tensor) -> Tensor:
    """Return :func:`~stableselect._core._forward_search.gain_rounding` of every subset."""
    return ROUNDING / pivot * (2 * (g.clamp_min(0) * (size * total)).sqrt() + g.abs() * size / pivot)
