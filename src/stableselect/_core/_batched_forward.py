"""Forward searches in lock step on torch tensors: what a step takes is shared by all, and the host waits for little.

The searches are those of :mod:`stableselect._core._forward_search`, with the same rules for ties and rounding. After a
step the host is told two numbers of every lane: its loss, and whether a feature is left that may be chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from ._batched_split import Tensor, at_rows, maps, parted, residuals, room, rows_of, stacked
from ._forward_search import BEYOND_RANK_RIDGE, EXHAUSTED, ROUNDING, TIE, TRUST, Lane
from ._forward_search import DEFLATE as DEFLATE
from ._forward_search import DETERMINED as DETERMINED
from ._gram import Gram
from ._threads import MANY_FEATURES

_STACK = 2**32
"""Most bytes of moments that are copied into one array, so that one call serves them all."""


def forward_in_lock_step(
    lanes: Sequence[Lane],
    k: int,
    include: Sequence[int] = (),
    exclude: Sequence[Sequence[int]] = ((),),
    prices: Tensor | None = None,
) -> list[list[int]]:
    """Return what a forward search finds in every lane, as many lanes at a time as fit in memory.

    Parameters
    ----------
    lanes : sequence of (Gram, float)
        The moments, held whole in tensors, and the ridge weight of each search.
    k : int
        Number of features.
    include : sequence of int
        Features that come first, in this order.
    exclude : sequence of sequences of int
        Features that are never chosen: one list for all lanes, or one for each.
    prices : tensor of length m, optional
        What keeping a feature costs beside the loss.

    Returns
    -------
    list of list of int
    """
    m, device, found = lanes[0][0].n_features, lanes[0][0].C.device, []
    # Of every lane the directions and what a step computes; a residual of its own too, where that is not large: few
    # lanes come to one.
    size = 8.0 * m * (4 * k + 20 + (3 * m if m <= MANY_FEATURES else 0))
    for part in parted([size] * len(lanes), room(device)):
        own = exclude if len(exclude) == 1 else exclude[part]
        found += _found(lanes[part], k, include, own, prices)
    return found


def _found(
    lanes: Sequence[Lane],
    k: int,
    include: Sequence[int],
    exclude: Sequence[Sequence[int]],
    prices: Tensor | None,
) -> list[list[int]]:
    """Return what every lane finds; where memory does not last for all of them, for one half after the other."""
    try:
        return _LockStep(lanes, k, include, exclude, prices).run(k, include)
    except torch.cuda.OutOfMemoryError:  # too many lanes came to hold residuals of their own
        if len(lanes) == 1:
            raise
    torch.cuda.empty_cache()
    half = len(lanes) // 2
    parts = (exclude, exclude) if len(exclude) == 1 else (exclude[:half], exclude[half:])
    return [
        *_found(lanes[:half], k, include, parts[0], prices),
        *_found(lanes[half:], k, include, parts[1], prices),
    ]


class _Group(NamedTuple):
    """Matrices C (f x m x m), and for each of them the r lanes that search it (f x r).

    A single matrix that takes long to read comes with the moments that keep rows of C^2 once they are computed.
    """

    C: Tensor
    lanes: Tensor
    gram: Gram | None = None

    def rows(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Return the rows of C and of C^2 that belong to the lanes' features, f x r x m each."""
        own = features[self.lanes]
        rows = self.C[torch.arange(len(self.C), device=own.device)[:, None], own]
        if self.gram is None:
            return rows, rows @ self.C
        return rows, self.gram.square_rows(own[0].tolist())[None]


class _LockStep:
    """What is left of the features of every lane: a row of every tensor for each lane."""

    def __init__(
        self,
        lanes: Sequence[Lane],
        k: int,
        include: Sequence[int],
        exclude: Sequence[Sequence[int]],
        prices: Tensor | None,
    ) -> None:
        self.device, self.prices, self.n_steps = lanes[0][0].C.device, prices, 0
        self.groups = [_Group(C, self._index(rows), own) for C, rows, own in _grouped([gram for gram, _ in lanes])]
        n, m = len(lanes), lanes[0][0].n_features
        self.searched = [gram.C for gram, _ in lanes]
        self.rows = torch.arange(n, device=self.device)
        self.alphas = np.array([alpha for _, alpha in lanes], dtype=np.float64)
        self.variance, self.g = self._empty(n, m), self._empty(n, m)
        for C, own, _ in self.groups:
            self.variance[own] = C.diagonal(dim1=1, dim2=2)[:, None, :]
            self.g[own] = torch.linalg.vecdot(C, C)[:, None, :]
        self.h, self.size = self.variance.clone(), self.variance.clone()
        self.ridges = torch.tensor(self.alphas, device=self.device)
        closed = np.zeros((len(exclude), m), dtype=bool)
        for row, features in zip(closed, exclude, strict=True):
            row[[*include, *features]] = True
        shut = torch.as_tensor(closed, device=self.device).expand(n, m)
        # A feature with no more than this left is a combination of the chosen ones; infinite where it is not allowed.
        self.least = torch.where(shut, float("inf"), TRUST * self.variance)
        self.taken = self._empty(n, 2, k, m)  # W and Z of :class:`~stableselect._core._deflation.Deflation`
        self.lengths = self._empty(n, k)
        self.order = torch.zeros((n, k), dtype=torch.int64, device=self.device)
        self.sum = self.variance.sum(dim=1)  # the loss
        self.total = self.sum.cpu().numpy().copy()
        self.watched = DEFLATE * self.total
        self.exhausted = np.zeros(n, dtype=bool)

    def _empty(self, *shape: int) -> Tensor:
        return torch.empty(shape, dtype=torch.float64, device=self.device)

    def _index(self, numbers: object) -> Tensor:
        return torch.as_tensor(np.asarray(numbers, dtype=np.int64), device=self.device)

    def run(self, k: int, include: Sequence[int]) -> list[list[int]]:
        """Return the k features of every lane, in their order."""
        for step in range(k):
            self.take(torch.full_like(self.rows, include[step]) if step < len(include) else self.best())
        found: list[list[int]] = self.order.tolist()
        return found

    def best(self) -> Tensor:
        """Return the best next feature of every lane."""
        usable = self._restarted()
        alpha = self.ridges[:, None]
        pivot = torch.where(usable & (self.h + alpha > 0), self.h + alpha, 1.0)
        gain = self.g / pivot
        terms = 2 * (self.g.clamp_min(0) * (self.size * self.size.sum(dim=1, keepdim=True))).sqrt()
        slack = ROUNDING / pivot * (terms + self.g.abs() * self.size / pivot)
        if self.prices is not None:
            gain = gain - self.prices
        slack += TIE * gain.abs()
        gain = torch.where(usable, gain, -float("inf"))
        left = (self.h + alpha) / torch.where(self.variance > 0, self.variance, 1.0)
        tied = gain + slack >= (gain - slack).amax(dim=1, keepdim=True)
        most = torch.where(tied, left, 0.0).amax(dim=1, keepdim=True)
        return (tied & (left >= DETERMINED * most)).to(torch.int32).argmax(dim=1)

    def _usable(self) -> tuple[Tensor, np.ndarray, np.ndarray]:
        """Return which features may be chosen and are no combinations, in which lanes there are any, and the losses."""
        usable = (self.h > self.least) & (self.g > 0)
        told = torch.stack([usable.any(dim=1).to(torch.float64), self.sum]).cpu().numpy()
        return usable, told[0] > 0, told[1]

    def _restarted(self) -> Tensor:
        """Compute residuals afresh where that is due; return which features may be chosen."""
        usable, some, loss = self._usable()
        due = np.flatnonzero(loss < self.watched)
        if due.size:
            self._restart(due)
            usable, some, loss = self._usable()
            spent = due[loss[due] <= EXHAUSTED * self.total[due]]
            if spent.size:
                self._exhaust(spent)
                usable, some, _ = self._usable()
        empty = np.flatnonzero(~some & ~self.exhausted)
        if empty.size:
            self._exhaust(empty)
            usable, some, _ = self._usable()
        if some.all():
            return usable
        # Constant features come last.
        return torch.where(torch.as_tensor(some, device=self.device)[:, None], usable, self.least < float("inf"))

    def take(self, features: Tensor) -> None:
        """Choose a feature in every lane."""
        t, rows = self.n_steps, self.rows
        both = self._empty(len(rows), 2, self.g.shape[1])
        for group in self.groups:  # later ones hold what lanes of earlier ones go on with
            both[group.lanes, 0], both[group.lanes, 1] = group.rows(features)
        if t:
            before = self.taken[:, :, :t]
            own = before[rows, :, :, features]  # W_j and Z_j
            own[:, 1] -= self.lengths[:, :t] * own[:, 0]
            both -= own @ before[:, 0]
            both[:, 1] -= (own[:, :1] @ before[:, 1])[:, 0]
        variance = at_rows(self.variance, features)
        pivots = at_rows(both[:, 0], features) + self.ridges
        inverse = 1 / torch.where(pivots > TRUST * variance, pivots, float("inf"))
        both *= inverse.sqrt()[:, None, None]
        w, z = both[:, 0], both[:, 1]
        lengths = torch.linalg.vecdot(w, w)
        self.taken[:, :, t], self.lengths[:, t] = both, lengths
        squares = w * w
        self.g += squares * lengths[:, None]
        self.g -= 2 * w * z
        self.h -= squares
        self.size += squares * (variance * inverse)[:, None]
        self.sum = self.sum - lengths
        self.least[rows, features] = float("inf")
        self.order[:, t] = features
        self.n_steps += 1

    def _exhaust(self, lanes: np.ndarray) -> None:
        """Go on by the gain under a small ridge, since the features chosen in some lanes span the table."""
        self.exhausted[lanes] = True
        at = self._index(lanes)
        self.alphas[lanes] = np.maximum(self.alphas[lanes], BEYOND_RANK_RIDGE * self.total[lanes] / self.g.shape[1])
        self.ridges[at] = torch.as_tensor(self.alphas[lanes], device=self.device)
        allowed = self.least[at] < float("inf")
        self.least[at] = torch.where(allowed, -float("inf"), self.least[at])
        self._restart(lanes)

    def _restart(self, lanes: np.ndarray) -> None:
        """Compute the residuals of some lanes afresh, and go on from them."""
        t = self.n_steps
        if t:
            found, first = [], self._index([0])
            for lane in lanes.tolist():
                C, one = self.searched[lane][None], self._index([lane])
                rows = rows_of(C, first, self.order[one, :t])
                _, V = maps(rows, self.order[one, :t], self.ridges[one])
                found.append(residuals(C, first, rows, V))
            R, at = torch.cat(found), self._index(lanes)
            self.g[at], self.h[at] = torch.linalg.vecdot(R, R), R.diagonal(dim1=1, dim2=2)
            self.taken[at, :, :t], self.lengths[at, :t] = 0.0, 0.0
            self.groups.append(_Group(R, at[:, None]))
            self._drop_groups()
        at = self._index(lanes)
        self.sum[at] = self.h[at].sum(dim=1)
        loss = self.sum[at].cpu().numpy()
        self.watched[lanes] = np.maximum(DEFLATE * loss, (1 + TIE) * EXHAUSTED * self.total[lanes])
        self.watched[lanes[self.exhausted[lanes]]] = -np.inf

    def _drop_groups(self) -> None:
        """Forget residuals that no lane goes on with."""
        later: set[int] = set()
        kept = []
        for group in reversed(self.groups):
            own = set(group.lanes.flatten().tolist())
            if own - later:
                kept.append(group)
            later |= own
        self.groups = kept[::-1]


def _grouped(grams: Sequence[Gram]) -> list[tuple[Tensor, list[list[int]], Gram | None]]:
    """Return the moments of the lanes, each with its lanes: in one array where that is small, else one by one."""
    lanes: dict[int, list[int]] = {}
    for lane, gram in enumerate(grams):
        lanes.setdefault(id(gram), []).append(lane)
    own = [grams[rows[0]] for rows in lanes.values()]
    alike = len({len(rows) for rows in lanes.values()}) == 1
    if alike and own[0].n_features <= MANY_FEATURES and 8 * len(own) * own[0].n_features ** 2 <= _STACK:
        return [(stacked(own), list(lanes.values()), None)]
    return [(gram.C[None], [rows], gram) for gram, rows in zip(own, lanes.values(), strict=True)]
