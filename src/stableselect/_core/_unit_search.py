"""Search for the features that reconstruct all others best among the sets that rules allow.

The notation is that of :mod:`stableselect._core._subset_search`; the loss is tr WR, and the cost of a set is its loss
and the prices of its features. Forward search adds the unit that lowers the cost most, or most for what it uses of the
budget; both are tried. Exchange makes the best of all single moves (swap, add, drop) while one helps. From an optimum
one or two units are taken out and the set is completed without them. Where there are few sets, all are tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations

import numpy as np

from ._all_sets import UnitProblem, UnitResult, small_falls, try_all
from ._arrays import Array, index, like, to_numpy
from ._forward_search import ROUNDING, TIE, TRUST
from ._subset_search import SwapState, weighted_norms

_TRIES = 300
"""Sets of one or two units taken out of an optimum before it is taken as final."""
_AFRESH = 1e-2
"""The residual is computed afresh when the loss has fallen this much since the last time."""


class _Growth:
    """What some features leave of all, as features are added one at a time."""

    def __init__(self, problem: UnitProblem, features: Sequence[int] = ()) -> None:
        self.problem, self.gram, self.xp = problem, problem.gram, problem.gram.xp
        self.w = problem.weights if problem.weights is not None else self.xp.ones_like(self.gram.diagonal())
        self.variance = to_numpy(self.gram.diagonal())
        self.restart(features)

    def restart(self, features: Sequence[int]) -> None:
        """Compute the residual of some features afresh."""
        self.features = list(features)
        self.R = self.gram.split(self.features, self.problem.alpha)[2] if self.features else self.gram
        self.g, self.h = weighted_norms(self.R, self.w), self.xp.asarray(self.R.diagonal(), copy=True)
        self.steps: list[Array] = []  # R = self.R - sum of w w'
        self.start = self.loss

    @property
    def loss(self) -> float:
        return float(self.xp.sum(self.w * self.h))

    def rows(self, features: Sequence[int]) -> Array:
        """Return rows of the residual."""
        rows = self.R.rows(features)
        if self.steps:
            W = self.xp.stack(self.steps)
            rows = rows - W[:, index(features, W, self.xp)].T @ W
        return rows

    def add(self, features: Iterable[int]) -> None:
        """Add features, one after another."""
        for j in features:
            row = self.rows([j])[0, :]
            pivot = float(row[j]) + self.problem.alpha
            self.features.append(j)
            if pivot <= TRUST * self.variance[j] or pivot <= 0:
                continue
            w = row / pivot**0.5
            z = self.R.dot(self.w * w)
            if self.steps:
                W = self.xp.stack(self.steps)
                z = z - (W @ (self.w * w)) @ W
            self.g = self.g - 2 * w * z + float(self.xp.sum(self.w * w * w)) * w * w
            self.h = self.h - w * w
            self.steps.append(w)
        if self.loss < _AFRESH * self.start:
            self.restart(self.features)

    def gains(self, open_: np.ndarray) -> np.ndarray:
        """Return by how much adding each unit lowers the cost; minus infinity for units that are not open."""
        problem, units = self.problem, self.problem.rules.units
        g, h = to_numpy(self.g), to_numpy(self.h)
        usable = h > TRUST * self.variance
        single = np.where(usable, g / np.where(usable, h + problem.alpha, 1.0), 0.0) - problem.prices
        gains = np.full(len(units), -np.inf)
        for u in np.flatnonzero(open_):
            unit = list(units[u])
            gains[u] = single[unit[0]] if len(unit) == 1 else self._joint(unit) - problem.prices[unit].sum()
        return gains

    def _joint(self, unit: list[int]) -> float:
        """Return by how much several features together lower the loss, tr (R_UU + alpha I)^-1 R_U W R_U'."""
        rows = to_numpy(self.rows(unit))
        A, M = rows[:, unit] + self.problem.alpha * np.eye(len(unit)), (rows * to_numpy(self.w)) @ rows.T
        return float(small_falls(A[None], M[None], self.variance[unit][None])[0][0])


def search_units(problem: UnitProblem, *, exchange: bool = True) -> UnitResult | None:
    """Return the units of least cost that the rules allow; None where they allow none.

    Parameters
    ----------
    problem : UnitProblem
        What is searched.
    exchange : bool
        Whether units are exchanged after the forward search, and all sets tried where there are few.

    Returns
    -------
    UnitResult or None
    """
    starts = [forward_units(problem, by_spending) for by_spending in (False, *[True] * (problem.spending is not None))]
    known = {tuple(sorted(start)): start for start in starts if start is not None}
    if not known:
        return None
    best, n_moves, proven = min(known.values(), key=problem.cost), 0, False
    if exchange:
        ends = [exchange_units(problem, start) for start in known.values()]
        best, n_moves = min(ends, key=lambda end: problem.cost(end[0]))
        all_tried = try_all(problem, best)
        if all_tried is not None:
            n_moves += len(set(all_tried.units) - set(best))
            best, proven = all_tried.units, all_tried.proven
    return UnitResult(sorted(best), n_moves, proven)


def forward_units(
    problem: UnitProblem, by_spending: bool, start: Sequence[int] = (), banned: Iterable[int] = ()
) -> list[int] | None:
    """Return units added one at a time, each by the largest fall of the cost, such that the rules can still be met.

    Parameters
    ----------
    problem : UnitProblem
        What is searched.
    by_spending : bool
        Whether the fall of the cost counts relative to what the unit uses up of the budget.
    start, banned : sequence of int
        Units that come first, and units that are never added.

    Returns
    -------
    list of int or None
        None where the rules cannot be met.
    """
    rules, banned = problem.rules, list(banned)
    chosen = [*start, *np.setdiff1d(np.flatnonzero(rules.required), start).tolist()]
    plan = rules.complete(chosen, banned)
    if plan is None:
        return None
    growth, least = _Growth(problem, rules.features(chosen)), TIE * problem.total()
    closed = np.zeros(len(rules.units), dtype=bool)
    closed[banned] = True
    while True:
        open_ = rules.addable(chosen) & ~closed
        if not open_.any():
            break
        gains = growth.gains(open_)
        enough = bool(rules.enough(rules.sums(chosen)))
        if enough:
            gains = np.where(gains > least, gains, -np.inf)
        worth = gains / np.maximum(problem.spending, 1e-12) if by_spending and problem.spending is not None else gains
        worth = np.where(np.isfinite(gains), worth, -np.inf)
        while np.isfinite(worth).any():
            top = worth.max()
            u = int(np.argmax(worth >= top - TIE * abs(top)))
            if u in plan or enough:
                break
            found = rules.complete([*chosen, u], banned)
            if found is not None:
                plan = found
                break
            worth[u], closed[u] = -np.inf, True
        else:
            break
        chosen.append(u)
        growth.add(rules.units[u])
    return chosen


def greedy_order(problem: UnitProblem, features: Sequence[int], first: Sequence[int]) -> list[int]:
    """Return some features in the order in which they lower the loss most, after those that come first."""
    order = [j for j in first if j in set(features)]
    growth, left = _Growth(problem, order), sorted(set(features) - set(order))
    while left:
        g, h = to_numpy(growth.g)[left], to_numpy(growth.h)[left]
        usable = h > TRUST * growth.variance[left]
        gains = np.where(usable, g / np.where(usable, h + problem.alpha, 1.0), 0.0)
        growth.add([left.pop(int(np.argmax(gains >= gains.max() * (1 - TIE))))])
    return growth.features


def exchange_units(problem: UnitProblem, chosen: Sequence[int]) -> tuple[list[int], int]:
    """Return units after moves that each lower the cost, and the number of moves."""
    best, n_moves = list(chosen), 0
    while True:
        best, moves = _descend(problem, best)
        n_moves += moves
        limit = problem.cost(best) * (1 - TIE) - ROUNDING * problem.total()
        for out in _taken_out(problem, best):
            start = [u for u in best if u not in out]
            trials = [forward_units(problem, by, start, out) for by in {False, problem.spending is not None}]
            better = [trial for trial in trials if trial is not None and problem.cost(trial) < limit]
            if better:
                best, n_moves = min(better, key=problem.cost), n_moves + len(out)
                break
        else:
            return best, n_moves


def _taken_out(problem: UnitProblem, chosen: list[int]) -> Iterator[tuple[int, ...]]:
    """Yield one or two units to take out, those that matter least first."""
    free = [u for u in chosen if not problem.rules.required[u]]
    rise = {u: problem.cost([v for v in chosen if v != u]) for u in free}
    free.sort(key=lambda u: (rise[u], u))
    pairs = sorted(combinations(free, 2), key=lambda pair: rise[pair[0]] + rise[pair[1]])
    yield from list(chain(((u,) for u in free), pairs))[:_TRIES]


def _descend(problem: UnitProblem, chosen: list[int]) -> tuple[list[int], int]:
    """Make the best move while one lowers the cost."""
    rules, total = problem.rules, problem.total()
    cost, n_moves = problem.cost(chosen), 0
    while True:
        gains, moves = [], []
        table = _swap_gains(problem, chosen, cost)
        if table.size and np.isfinite(table).any():
            a, u = np.unravel_index(np.argmax(table >= table.max() - TIE * cost), table.shape)
            gains.append(table[a, u])
            moves.append([*chosen[:a], *chosen[a + 1 :], int(u)])
        added = _Growth(problem, rules.features(chosen)).gains(rules.addable(chosen))
        gains.append(added.max())
        moves.append([*chosen, int(np.argmax(added))])
        for a in np.flatnonzero(rules.droppable(chosen)) if problem.prices.any() else ():
            moves.append([*chosen[:a], *chosen[a + 1 :]])
            gains.append(cost - problem.cost(moves[-1]) if len(moves[-1]) else -np.inf)
        best = int(np.argmax(gains))
        slack = TIE * cost + ROUNDING * total
        if not gains[best] > slack or (after := problem.cost(moves[best])) > cost - slack:
            return chosen, n_moves
        chosen, cost, n_moves = moves[best], after, n_moves + 1


def _swap_gains(problem: UnitProblem, chosen: list[int], cost: float) -> np.ndarray:
    """Return by how much every swap that is allowed lowers the cost, c x u; minus infinity for others."""
    rules, gram = problem.rules, problem.gram
    allowed = rules.swappable(chosen)
    gains = np.full(allowed.shape, -np.inf)
    if not allowed.any():
        return gains
    if rules.single:
        prices = like(problem.prices, gram.diagonal(), gram.xp)
        state = SwapState(gram, rules.features(chosen), problem.alpha, prices, problem.weights)
        anything = gram.xp.astype(gram.xp.ones_like(gram.diagonal()), gram.xp.bool)
        features = np.array([unit[0] for unit in rules.units])
        table = to_numpy(state.swap_gains(anything))[:, features]
        # A feature that the others replace brings nothing, but may be the one that the rules want.
        nothing = -to_numpy(state.drop_costs)[:, None] + (
            problem.prices[features[chosen]][:, None] - problem.prices[features]
        )
        return np.where(allowed, np.where(np.isfinite(table), table, nothing), -np.inf)
    for a in np.flatnonzero(allowed.any(axis=1)):
        rest = [*chosen[:a], *chosen[a + 1 :]]
        growth = _Growth(problem, rules.features(rest))
        fall = cost - growth.loss - problem.prices[growth.features].sum()
        gains[a] = growth.gains(allowed[a]) + fall
    return gains
