"""Search for the features that reconstruct all others best among the sets that rules allow.

The notation is that of :mod:`stableselect._core._swap_state`; the loss is tr WR, and the cost of a set is its loss
and the prices of its features. Forward search adds the unit that lowers the cost most, or most for what it uses of the
budget; both are tried. Exchange makes the best of all single moves (swap, add, drop) while one helps. From an optimum
one or two units are taken out and the set is completed without them. Where there are few sets, all are tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, combinations, islice

import numpy as np

from ._all_sets import UnitResult, try_all
from ._forward_search import ROUNDING, TIE, TRUST
from ._rules import Rules, Undecided
from ._unit_state import UnitProblem, UnitState

_TRIES = 300
"""Sets of one or two units taken out of an optimum before it is taken as final."""
_NEAR = 1e-3
"""Quick costs that are higher than another by less than this fraction are computed again."""
_REFUSED = 20
"""Units tried in vain at one step before one is taken that is known to lead on."""
_WORK = 2e9
"""No more of them are tried than take about this many multiplications, but at least a few."""


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
    best, n_moves, proven, bound = min(known.values(), key=problem.cost), 0, False, 0.0
    if exchange:
        ends = [exchange_units(problem, start) for start in known.values()]
        best, n_moves = min(ends, key=lambda end: problem.cost(end[0]))
        all_tried = try_all(problem, best)
        if all_tried is not None:
            n_moves += len(set(all_tried.units) - set(best))
            best, proven, bound = all_tried.units, all_tried.proven, all_tried.least_loss
    return UnitResult(sorted(best), n_moves, proven, bound)


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
    try:
        plan = rules.complete(chosen, banned)
    except Undecided:
        return None
    if plan is None:
        return None
    least = TIE * problem.total()
    closed = np.zeros(len(rules.units), dtype=bool)
    closed[banned] = True
    while True:
        enough = bool(rules.enough(rules.sums(chosen)))
        open_ = (rules.addable(chosen) if enough else rules.promising(chosen)) & ~closed
        if not open_.any():
            break
        gains = UnitState(problem, rules.features(chosen)).gains(open_)
        if enough:
            gains = np.where(gains > least, gains, -np.inf)
        worth = gains / np.maximum(problem.spending, 1e-12) if by_spending and problem.spending is not None else gains
        worth = np.where(np.isfinite(gains), worth, -np.inf)
        u, plan = _best_to_add(rules, chosen, worth, plan, banned, enough)
        if u is None:
            break
        chosen.append(u)
    return chosen if rules.met(chosen) else plan


def _best_to_add(
    rules: Rules, chosen: list[int], worth: np.ndarray, plan: list[int], banned: list[int], enough: bool
) -> tuple[int | None, list[int]]:
    """Return the unit of most worth with which the rules can be met, and how; ``plan`` is one way to meet them."""
    for _ in range(_REFUSED):
        if not np.isfinite(worth).any():
            break
        top = worth.max()
        u = int(np.argmax(worth >= top - TIE * abs(top)))
        if u in plan or enough:
            return u, plan
        with suppress(Undecided):
            found = rules.complete([*chosen, u], banned)
            if found is not None:
                return u, found
        worth[u] = -np.inf
    left = [u for u in plan if u not in chosen]
    return (None if enough or not left else max(left, key=lambda u: (worth[u], -u))), plan


def greedy_order(problem: UnitProblem, features: Sequence[int], first: Sequence[int]) -> list[int]:
    """Return some features in the order in which they lower the loss most, after those that come first."""
    order = [j for j in first if j in set(features)]
    left = sorted(set(features) - set(order))
    while left:
        state = UnitState(problem, order)
        g, h = state.g[left], state.h[left]
        usable = h > TRUST * problem.variance[left]
        gains = np.where(usable, g / np.where(usable, h + problem.alpha, 1.0), 0.0)
        order.append(left.pop(int(np.argmax(gains >= gains.max() * (1 - TIE)))))
    return order


def exchange_units(problem: UnitProblem, chosen: Sequence[int]) -> tuple[list[int], int]:
    """Return units after moves that each lower the cost, and the number of moves."""
    best, n_moves = list(chosen), 0
    while True:
        best, moves = _descend(problem, best)
        n_moves += moves
        limit = problem.cost(best) * (1 - TIE) - ROUNDING * problem.total()
        near = limit + _NEAR * abs(limit)
        for out in _taken_out(problem, best):
            start = [u for u in best if u not in out]
            trials = [forward_units(problem, by, start, out) for by in {False, problem.spending is not None}]
            close = [trial for trial in trials if trial is not None and problem.quick_cost(trial) < near]
            better = [trial for trial in close if problem.cost(trial) < limit]
            if better:
                best, n_moves = min(better, key=problem.cost), n_moves + len(out)
                break
        else:
            return best, n_moves


def _taken_out(problem: UnitProblem, chosen: list[int]) -> Iterator[tuple[int, ...]]:
    """Yield one or two units to take out, those that matter least first."""
    free = [u for u in chosen if not problem.rules.required[u]]
    rise = {u: problem.quick_cost([v for v in chosen if v != u]) for u in free}
    free.sort(key=lambda u: (rise[u], u))
    pairs = sorted(combinations(free, 2), key=lambda pair: rise[pair[0]] + rise[pair[1]])
    # Where a unit can only be swapped, every swap has been tried.
    alone = ((u,) for u in free if problem.joint or problem.spending is not None)
    size = len(problem.rules.features(chosen))
    tries = int(min(_TRIES, max(20, _WORK / (8 * problem.gram.n_features * size**2))))
    yield from islice(chain(alone, pairs), tries)


def _descend(problem: UnitProblem, chosen: list[int]) -> tuple[list[int], int]:
    """Make the best move while one lowers the cost."""
    rules, total = problem.rules, problem.total()
    cost, n_moves = problem.cost(chosen), 0
    while True:
        gains, moves = [], []
        state = UnitState(problem, rules.features(chosen))
        table = _swap_gains(state, chosen, cost)
        if table.size and np.isfinite(table).any():
            a, u = np.unravel_index(np.argmax(table >= table.max() - TIE * cost), table.shape)
            gains.append(table[a, u])
            moves.append([*chosen[:a], *chosen[a + 1 :], int(u)])
        added = state.gains(rules.addable(chosen))
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


def _swap_gains(state: UnitState, chosen: list[int], cost: float) -> np.ndarray:
    """Return by how much every swap that is allowed lowers the cost, c x u; minus infinity for others."""
    problem, rules = state.problem, state.problem.rules
    allowed = rules.swappable(chosen)
    if rules.single:
        return np.where(allowed, state.swap_gains(), -np.inf) if allowed.any() else np.full(allowed.shape, -np.inf)
    gains = np.full(allowed.shape, -np.inf)
    for a in np.flatnonzero(allowed.any(axis=1)):
        without = UnitState(problem, rules.features([*chosen[:a], *chosen[a + 1 :]]))
        gains[a] = without.gains(allowed[a]) + cost - without.cost
    return gains
