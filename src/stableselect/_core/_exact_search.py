"""The best k features, proven: branch and bound over all subsets of a small table.

A branch is a set S of kept features and the candidates c that may still join it, t of them. With R what S leaves
unexplained (see :mod:`stableselect._core._swap_state`), M = R^2 and A = R + alpha I, the candidates T lower the loss
by tr A_TT^-1 M_TT. No set that the branch leads to can have less than

- the loss of S less the sum of the t largest eigenvalues of the pencil (M_cc, A_cc), since T spans a coordinate
  subspace (Ky Fan); with the candidate j in T it is the fall that j brings and the t - 1 largest eigenvalues;
- the loss of S and all of c, and for every candidate left out what the others cannot say of it, v_j = 1 / (A_cc^-1)_jj
  - alpha, instead of what a kept one leaves under the ridge, u_j = alpha - alpha^2 (A_cc^-1)_jj.

The last two features of a set are tried all at once: with A_jj = A_ll = 1 (the pencil may be scaled) they bring
(M_jj - 2 A_jl M_jl + M_ll) / (1 - A_jl^2).

The features have an order, and a branch goes on with later ones only. All branches of a depth are followed together,
those with the same last feature, hence the same candidates, as one batch. What is counted is the work, never the time,
so that the result does not depend on the machine.

Where kept features almost replace one another their loss is known to few digits only. Every bound is lowered by that
error, and a set whose loss might be below the best by it leaves that in doubt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from ._arrays import to_numpy
from ._forward_search import EXHAUSTED, TIE, TRUST
from ._gram import Gram

MAX_SUBSETS = 10**7
"""Where there are more subsets, none but the given one is looked at."""
MAX_WORK = 2 * 10**9
"""The search stops, without a proof, after about this many multiplications, a second or two."""
_ROUNDING = 1e-12
"""Losses that differ by less than this fraction of the total variance are equal."""
_EPSILON = 1e-15
"""Error of a loss relative to the total variance, times the largest ratio of a feature's variance to what is left."""
_CERTAIN = 1e-6
"""A proof leaves no more than this fraction of the loss in doubt."""
_BATCH = 2**20
"""Numbers in the largest array of a batch."""

_Branches = list[tuple[np.ndarray, np.ndarray]]
"""Sets of kept features, a row each, and their lower bounds."""


@dataclass(frozen=True)
class ExactResult:
    """The best features found, sorted; a bound that no other set's loss is below; whether they are proven the best."""

    chosen: list[int]
    lower_bound: float
    proven: bool


def exact_search(
    gram: Gram,
    chosen: Sequence[int],
    alpha: float,
    include: Sequence[int] = (),
    exclude: Sequence[int] = (),
    *,
    max_work: float = MAX_WORK,
) -> ExactResult:
    """Find the features of least loss, or prove that the given ones have it.

    Of sets whose losses differ by rounding only, the one whose sorted indices come first is taken. Where the given
    features leave nothing, or all but one are prescribed and no swap helps, they are the best as they are.

    Parameters
    ----------
    gram, alpha, include, exclude
        As for :func:`~stableselect._core._forward_search.forward_searches`.
    chosen : sequence of int
        The best features known: no swap improves them.
    max_work : float
        Where the search stops.

    Returns
    -------
    ExactResult
    """
    given = sorted(int(j) for j in chosen)
    loss, m, free = gram.loss(given, alpha), gram.n_features, len(given) - len(include)
    n_open = m - len(include) - len(exclude)
    if free < 2 or free == n_open or loss <= EXHAUSTED * gram.trace():
        return ExactResult(given, loss, True)
    if comb(n_open, free) > MAX_SUBSETS or m**3 > max_work:
        return ExactResult(given, 0.0, False)
    return _Search(gram, given, alpha, include, exclude, max_work).run()


class _Search:
    """The best set so far, and how branches are followed."""

    def __init__(
        self,
        gram: Gram,
        chosen: Sequence[int],
        alpha: float,
        include: Sequence[int],
        exclude: Sequence[int],
        max_work: float,
    ) -> None:
        self.gram, self.alpha = gram, alpha
        self.C = np.asarray(to_numpy(gram.dense()), dtype=np.float64)
        self.variance = np.diagonal(self.C)
        self.total = float(self.variance.sum())
        self.k, self.include = len(chosen), np.asarray(include, dtype=np.int64)
        self.order = np.setdiff1d(np.arange(len(self.C)), [*include, *exclude])
        self.best = np.asarray(chosen, dtype=np.int64)
        self.least = self._loss(self.best)
        self.left = max_work
        self.doubt = np.inf

    def run(self) -> ExactResult:
        """Follow all branches, a depth at a time."""
        first = len(self.include)
        start = self.include[None, :]
        self._sort_out(start)
        level: dict[int, _Branches] = {-1: [(start, np.zeros(1))]}
        for depth in range(first, self.k - 1):
            following: dict[int, _Branches] = {}
            for last in sorted(level):
                sets, bounds = (np.concatenate(part) for part in zip(*level.pop(last), strict=True))
                for j, kept, low in self._follow(sets, bounds, self.order[last + 1 :], self.k - depth):
                    following.setdefault(last + 1 + j, []).append((kept, low))
            level = following
        proven = self.doubt >= (1 - _CERTAIN) * self.least
        return ExactResult(self.best.tolist(), self.least if proven else max(0.0, self.doubt), proven)

    @property
    def tie(self) -> float:
        """Losses this close are equal."""
        return max(TIE * self.least, _ROUNDING * self.total)

    def _loss(self, chosen: np.ndarray) -> float:
        return self.gram.split(chosen, self.alpha)[2].trace()

    def _sort_out(self, start: np.ndarray) -> None:
        """Drop the features that are in no set as good as the best, and put those that promise most first."""
        m, depth = len(self.order), start.shape[1] + 1
        if not self._worth_bounding(depth, m) or not self._afford(m * self._bound_cost(depth, m)):
            return
        with_one = np.column_stack([np.repeat(start, m, axis=0), self.order])
        bounds = np.concatenate(
            [self._bounds(part, self.order, self.k - depth)[0] for part in self._batches(with_one, m)]
        )
        kept = bounds <= self.least + self.tie
        self.order = self.order[kept][np.argsort(bounds[kept], kind="stable")]

    def _follow(
        self, sets: np.ndarray, bounds: np.ndarray, candidates: np.ndarray, n_more: int
    ) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Try the last two features, or return the branches one feature on: its place, the sets and their bounds."""
        c, depth = len(candidates), sets.shape[1]
        if c < n_more:
            return
        bounding = n_more > 2 and self._worth_bounding(depth, c)
        cost = self._bound_cost(depth, c) if bounding else self._cost(depth, c) if n_more == 2 else 0.0
        for rows in self._batches(np.arange(len(sets)), c):
            rows = rows[self._alive(sets[rows], bounds[rows], candidates, n_more)]
            if not rows.size:
                continue
            if not self._afford(len(rows) * cost):
                self.doubt = min(self.doubt, float(bounds[rows].min()))
                continue
            if n_more == 2:
                self._try_pairs(sets[rows], candidates)
                continue
            low = np.repeat(bounds[rows][:, None], c, axis=1)
            if bounding:
                low = np.maximum(low, self._bounds(sets[rows], candidates, n_more)[1])
            for j in range(c - n_more + 1):
                kept = low[:, j] <= self.least + self.tie
                if kept.any():
                    joined = np.column_stack([sets[rows[kept]], np.full(int(kept.sum()), candidates[j])])
                    yield j, joined, low[kept, j]

    def _alive(self, sets: np.ndarray, bounds: np.ndarray, candidates: np.ndarray, n_more: int) -> np.ndarray:
        """Tell which branches may lead to a better set, or to one as good that comes before the best."""
        alive = bounds <= self.least + self.tie
        close = np.flatnonzero(alive & (bounds >= self.least - self.tie))
        if close.size:
            first = np.repeat(np.sort(candidates)[None, :n_more], len(close), axis=0)
            alive[close] = _before(np.column_stack([sets[close], first]), self.best)
        return alive

    def _pencil(self, sets: np.ndarray, candidates: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return for every set its loss, M and A of the candidates scaled to A_jj = 1, and A_jj before.

        A candidate that the set replaces has zeros only. Last comes the largest ratio of a kept feature's variance to
        what is left of it once those before it are kept.
        """
        rows = np.arange(len(sets))
        ratio = np.ones(len(sets))
        W = np.zeros((*sets.shape, len(self.C)))  # R = C - W'W
        for i, j in enumerate(sets.T):
            column = self.C[j] - (W[rows, :i, j][:, None, :] @ W[:, :i])[:, 0] if i else self.C[j]
            unit = self._unit(column[rows, j] + self.alpha, j)
            W[:, i] = column * unit[:, None]
            ratio = np.maximum(ratio, self.variance[j] * unit**2)
        loss = self.total - (W * W).sum(axis=(1, 2))
        R = self.C[:, candidates] - W.transpose(0, 2, 1) @ W[:, :, candidates]
        pivots = R[:, candidates, np.arange(len(candidates))] + self.alpha
        unit = self._unit(pivots, candidates)
        R *= unit[:, None, :]
        A = R[:, candidates] * unit[:, :, None]
        A[:, np.arange(len(candidates)), np.arange(len(candidates))] = unit > 0
        return loss, R.transpose(0, 2, 1) @ R, A, np.where(unit > 0, pivots, 0.0), ratio

    def _unit(self, pivots: np.ndarray, features: np.ndarray) -> np.ndarray:
        """Return one over the root of the pivots, zero for features that others replace."""
        usable = pivots > TRUST * self.variance[features]
        return np.where(usable, 1 / np.sqrt(np.where(usable, pivots, 1.0)), 0.0)

    def _bounds(self, sets: np.ndarray, candidates: np.ndarray, n_more: int) -> tuple[np.ndarray, np.ndarray]:
        """Return lower bounds of the branches, and of each of them with each of its candidates kept."""
        loss, M, A, pivots, ratio = self._pencil(sets, candidates)
        values, U = np.linalg.eigh(A)
        smallest = TRUST * len(candidates)
        ratio = ratio + 1 / np.where(values > smallest, values, 1.0).min(axis=1)
        inverse = (U * U / np.maximum(values, smallest)[:, None, :]).sum(axis=2)
        U *= np.where(values > smallest, 1 / np.sqrt(np.maximum(values, smallest)), 0.0)[:, None, :]
        values = np.linalg.eigvalsh(U.transpose(0, 2, 1) @ M @ U)
        top = values[:, -n_more:]
        # v_j - u_j, with (A^-1)_jj = inverse / pivot
        alpha, scaled = self.alpha, np.where(pivots > 0, inverse / np.where(pivots > 0, pivots, 1.0), np.inf)
        extra = np.where(pivots > 0, 1 / scaled - 2 * alpha + alpha**2 * np.where(pivots > 0, scaled, 0.0), 0.0)
        extra = np.sort(np.maximum(extra, 0.0), axis=1)[:, : len(candidates) - n_more]
        loss = loss - _EPSILON * self.total * ratio
        bound = np.maximum(loss - top.sum(axis=1), loss - values.sum(axis=1) + extra.sum(axis=1))
        with_one = loss[:, None] - np.diagonal(M, axis1=1, axis2=2) - top[:, 1:].sum(axis=1)[:, None]
        return bound, np.maximum(bound[:, None], with_one)

    def _try_pairs(self, sets: np.ndarray, candidates: np.ndarray) -> None:
        """Complete the sets by every two of the candidates, and keep the best set if it is better than that so far."""
        loss, M, A, pivots, ratio = self._pencil(sets, candidates)
        i, j = np.triu_indices(len(candidates), 1)
        gains, a = np.diagonal(M, axis1=1, axis2=2), A[:, i, j]
        left = 1 - a * a
        # As everywhere, a feature is replaced by others once TRUST of its variance is left; most are far from that.
        single = np.where(pivots > 0, self.variance[candidates] / np.where(pivots > 0, pivots, 1.0), 1.0)
        usable = left > TRUST * single.max(axis=1)[:, None]
        for row in np.flatnonzero(~usable.all(axis=1)):
            usable[row] = left[row] > TRUST * np.maximum(single[row, i], single[row, j])
        left = np.where(usable, left, 1.0)
        fall = np.where(usable, gains[:, i] + gains[:, j] - 2 * a * M[:, i, j], np.maximum(gains[:, i], gains[:, j]))
        losses = loss[:, None] - fall / left
        self._keep_best(
            losses, lambda at: np.sort(np.column_stack([sets[at[0]], candidates[i[at[1]]], candidates[j[at[1]]]]))
        )
        share, single = _EPSILON * self.total / left, np.maximum(single, ratio[:, None])
        worst = losses.min(axis=1) - share.max(axis=1) * single.max(axis=1)
        for row in np.flatnonzero(worst < (1 - _CERTAIN) * self.least):
            error = share[row] * np.maximum(single[row, i], single[row, j])
            self.doubt = min(self.doubt, float((losses[row] - error).min()))

    def _keep_best(self, losses: np.ndarray, sets_at: Callable[[tuple[np.ndarray, ...]], np.ndarray]) -> None:
        """Keep the set of least loss, if that is below the best so far; if it is equal, the one that comes first.

        Where features almost replace one another rounding may deceive, so that every loss is computed again.
        """
        while losses.min() < self.least - self.tie:
            at = tuple(np.argwhere(losses == losses.min())[:1].T)
            found = sets_at(at)[0]
            losses[at] = self._loss(found)
            if losses[at] < self.least - self.tie:
                self.best, self.least = found, float(losses[at][0])
        at = np.nonzero(losses <= self.least + self.tie)
        if at[0].size:
            ties = sets_at(at)
            ties = ties[_before(ties, self.best)]
            for found in ties[np.lexsort(ties.T[::-1])]:
                if self._loss(found) <= self.least + self.tie:
                    self.best = found
                    break

    def _batches(self, rows: np.ndarray, c: int) -> list[np.ndarray]:
        size = max(1, _BATCH // (len(self.C) * c))
        return [rows[at : at + size] for at in range(0, len(rows), size)]

    def _afford(self, cost: float) -> bool:
        """Take the cost off what work is left, if there is as much."""
        if cost > self.left:
            return False
        self.left -= cost
        return True

    def _cost(self, depth: int, c: int) -> float:
        """Return the work of :meth:`_pencil` and of all pairs, for one set."""
        m = len(self.C)
        return 2000 + m * depth * (depth + c) + (m + 10) * c * c

    def _bound_cost(self, depth: int, c: int) -> float:
        return self._cost(depth, c) + 5000 + 50 * c**3

    def _worth_bounding(self, depth: int, c: int) -> bool:
        """Tell whether bounds cost less than to try all sets that the branch leads to."""
        m, n_more = len(self.C), self.k - depth
        if not 2 < n_more <= c:
            return False
        return comb(c - 2, n_more - 2) * (2000 + m * self.k**2) + comb(c, n_more) * 2 * (m + 10) > self._bound_cost(
            depth, c
        )


def _before(sets: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Tell which sets come before the best when their sorted features are compared one by one."""
    difference = np.sort(sets, axis=1) - best
    first = np.argmax(difference != 0, axis=1)
    return np.asarray(difference[np.arange(len(sets)), first] < 0)
