"""Search for the k features that reconstruct all others best: forward steps, then exchanges to a local optimum.

With S the kept features, C the moments and a ridge weight alpha, the loss of S is tr R with R = C - V C_S',
V = C_S P and P = (C_SS + alpha I)^-1. Adding feature j lowers it by |R_j|^2 / (R_jj + alpha). Dropping the a-th kept
feature turns R into R + v v'/p with v = V_a, p = P_aa and raises the loss by |v|^2 / p. Every swap's effect follows
from R's column norms g, its diagonal h, and the one product Y = R V.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

import numpy as np

from ._arrays import Array, index, to_numpy
from ._gram import Deflation, Gram
from ._swap_state import TRUST, SwapState, gain_rounding

TIE = 1e-10
"""Gains within this relative distance are ties, as are those that rounding can move past each other."""
EXHAUSTED = 1e-10
"""Once the loss falls below this fraction of the total, the kept features span the table."""
BEYOND_RANK_RIDGE = 1e-3
"""Ridge, relative to the mean variance, by whose gain features are chosen beyond the rank."""
_DETERMINED = 1e-2
"""Ties go to the lowest index of those that have at least this fraction of the most that is left of any of them."""
_NEAR = 1e-4
"""Swaps are looked at for ties when their gains are this close, relative to the cost."""
_DEFLATE = 1e-2
"""Recompute the residual afresh when the loss has fallen this much since the last time."""
_ESCAPE = 6
"""Swaps tried beyond an optimum before it is taken as final."""
_STRETCH = 4096
"""Features per stretch of the table of swaps."""


def absolute_ridge(gram: Gram, ridge: float) -> float:
    """Return the ridge weight alpha for one stated relative to the mean variance of the features."""
    return ridge * gram.trace() / gram.n_features


def first_of_best(gain: Array, slack: Array, left: Array, xp: ModuleType) -> int:
    """Return the lowest index whose gain, with ``slack`` either way, ties with the largest.

    ``left`` is what is left of every feature, relative to its variance. A feature of which little is left is badly
    determined, so it does not win a tie with others of which much is.
    """
    tied = gain + slack >= xp.max(gain - slack)
    most = xp.max(xp.where(tied, left, 0.0))
    return int(xp.argmax(xp.astype(tied & (left >= _DETERMINED * most), xp.int32)))


def open_columns(gram: Gram, closed: Sequence[int]) -> Array:
    """Return a boolean array, true for the features that may still be chosen."""
    mask = np.ones(gram.n_features, dtype=bool)
    mask[list(closed)] = False
    return gram.xp.asarray(mask, device=gram.device)


def forward_search(
    gram: Gram,
    k: int,
    alpha: float,
    include: Sequence[int] = (),
    exclude: Sequence[int] = (),
    prices: Array = None,
) -> list[int]:
    """Choose k features one at a time, each by the largest fall of the loss, less its price where features have one.

    With w = R_j / sqrt(R_jj + alpha) the step turns R into R - w w', so R's column norms g lose
    2 w * (R w) - |w|^2 w * w and its diagonal h loses w * w; R itself is not formed.

    Parameters
    ----------
    gram : Gram
        The moments C.
    k : int
        Number of features.
    alpha : float
        Ridge weight.
    include, exclude : sequence of int
        Features that come first, in this order, and features that are never chosen.
    prices : array of length m, optional
        What keeping a feature costs beside the loss, in its units; none below zero.

    Returns
    -------
    list of int
        The features in order of selection.
    """
    xp = gram.xp
    chosen: list[int] = []
    variance = gram.diagonal()
    total = float(xp.sum(variance))
    size = variance  # the terms that cancel in h
    allowed = open_columns(gram, [*include, *exclude])
    exhausted = False
    deflation, g, h = _restart(gram, chosen, alpha)
    reference = total
    while len(chosen) < k:
        if len(chosen) < len(include):
            j = include[len(chosen)]
        else:
            if not exhausted and float(xp.sum(h)) < _DEFLATE * reference:
                deflation, g, h = _restart(gram, chosen, alpha)
                reference = float(xp.sum(h))
            usable = allowed & (g > 0) & (exhausted | (h > TRUST * variance))
            if not exhausted and (float(xp.sum(h)) <= EXHAUSTED * total or not bool(xp.any(usable))):
                exhausted = True
                alpha = max(alpha, absolute_ridge(gram, BEYOND_RANK_RIDGE))
                deflation, g, h = _restart(gram, chosen, alpha)
                usable = allowed & (g > 0)
            usable = usable if bool(xp.any(usable)) else allowed  # constant features come last
            pivot = xp.where(usable & (h + alpha > 0), h + alpha, 1.0)
            gain = g / pivot if prices is None else g / pivot - prices
            slack = gain_rounding(g, pivot, size, float(xp.sum(size)), xp) + TIE * xp.abs(gain)
            share = (h + alpha) / xp.where(variance > 0, variance, 1.0)
            j = first_of_best(xp.where(usable, gain, -float("inf")), slack, share, xp)
        chosen.append(j)
        allowed[j] = False
        directions = deflation.step(j, alpha, TRUST * float(variance[j]))
        if directions is not None:
            w, Rw = directions
            pivot = max(float(h[j]) + alpha, TRUST * float(variance[j]))
            g = g - 2 * w * Rw + xp.sum(w * w) * (w * w)
            h = h - w * w
            size = size + w * w * (float(variance[j]) / pivot)
    return chosen


def _restart(gram: Gram, chosen: Sequence[int], alpha: float) -> tuple[Deflation, Array, Array]:
    """Return the residual of the chosen features afresh, ready for more steps, and its column norms and diagonal."""
    R = gram.split(chosen, alpha)[2] if chosen else gram
    return R.deflation(), R.squared_norms(), R.diagonal()


def best_swap(state: SwapState, allowed: Array, fixed: Sequence[int]) -> tuple[float, float, int, int]:
    """Return the largest gain, its rounding, and its swap (position to drop, feature to add).

    Ties go to the lowest features. Features are looked at in stretches that stay in the processor's cache.
    """
    xp, m = state.gram.xp, state.gram.n_features
    free = [a for a, c in enumerate(state.chosen) if c not in set(fixed)]
    if not free:
        return -float("inf"), 0.0, -1, -1
    rows = index(free, state.V, xp)
    best = []
    for start in range(0, m, _STRETCH):
        gains = state.swap_gains(allowed, slice(start, min(m, start + _STRETCH)))
        best.append(xp.max(xp.take(gains, rows, axis=0) if fixed else gains, axis=0))
    best = xp.concat(best)
    top = float(xp.max(best))
    if top == -float("inf"):
        return top, 0.0, -1, -1
    size = max(state.cost, top, 0.0)  # rounding may leave both slightly below zero
    near = np.flatnonzero(to_numpy(best) >= top - _NEAR * size)
    part = index(near, state.V, xp)
    gains = to_numpy(state.swap_gains(allowed, part))[free]
    slack = to_numpy(state.swap_rounding(part))[free] + TIE * size
    tied = gains + slack >= np.max(gains - slack)
    column = int(np.argmax(tied.any(axis=0)))
    row = min(np.flatnonzero(tied[:, column]), key=lambda i: state.chosen[free[i]])
    return float(gains[row, column]), float(slack[row, column]), free[row], int(near[column])


def exchange_search(
    gram: Gram,
    chosen: Sequence[int],
    alpha: float,
    include: Sequence[int] = (),
    exclude: Sequence[int] = (),
    prices: Array = None,
) -> tuple[list[int], int]:
    """Swap kept features for others until none lowers the cost: a certified 1-swap optimum.

    The cost is the loss and, where features have ``prices``, those of the kept ones. From an optimum a few swaps are
    made that raise the cost least, none of them undone; where they lead below it, the search goes on from there, else
    the optimum stands.

    Parameters
    ----------
    gram, alpha, include, exclude
        As for :func:`forward_search`.
    chosen : sequence of int
        The start.
    prices : array of length m, optional
        What keeping a feature costs beside the loss, in its units; none below zero.

    Returns
    -------
    chosen : list of int
        The features, in no particular order.
    n_swaps : int
        Number of swaps made.
    """
    total = gram.trace()
    if len(chosen) in (0, gram.n_features) or total == 0:
        return list(chosen), 0
    state = SwapState(gram, chosen, alpha, prices)
    n_swaps = _descend(state, total, include, exclude)
    while True:
        best, cost = list(state.chosen), state.cost
        moves = _escape(state, total, include, exclude)
        if moves is None:
            return best, n_swaps
        moves += _descend(state, total, include, exclude)
        if state.cost > cost * (1 - TIE) - state.rounding:  # the fall was rounding
            return best, n_swaps
        n_swaps += moves


def _descend(state: SwapState, total: float, include: Sequence[int], exclude: Sequence[int]) -> int:
    """Make the best swap until none helps; leave the state fresh, and return the number of swaps."""
    n_swaps = 0
    checked = float("inf"), list(state.chosen), 0
    while True:
        if state.stale == 0:
            # Close to the rank a running loss is mostly rounding: one that has not really fallen ends the search.
            if state.cost >= checked[0]:
                state.chosen = checked[1]
                state.refresh()
                return checked[2]
            checked = state.cost, list(state.chosen), n_swaps
        allowed = open_columns(state.gram, [*state.chosen, *exclude])
        gain, rounding, a, j = best_swap(state, allowed, include)
        if state.loss > EXHAUSTED * total and gain > max(rounding, state.rounding):
            fresh = state.stale == 0
            if state.swap(a, j):
                n_swaps += 1
            elif fresh:
                return n_swaps
        elif state.stale:
            state.refresh()
        else:
            return n_swaps


def _escape(state: SwapState, total: float, include: Sequence[int], exclude: Sequence[int]) -> int | None:
    """Leave an optimum by the swaps that raise the cost least; return their number once below it, None if not soon."""
    cost = state.cost
    if state.loss <= EXHAUSTED * total:
        return None
    dropped: list[int] = []
    added: list[int] = []
    for moves in range(1, _ESCAPE + 1):
        allowed = open_columns(state.gram, [*state.chosen, *exclude, *dropped])
        _, _, a, j = best_swap(state, allowed, [*include, *added[-_ESCAPE // 2 :]])
        if a < 0:
            return None
        dropped.append(state.chosen[a])
        added.append(j)
        if not state.swap(a, j):
            return None
        if state.cost < cost * (1 - TIE) - state.rounding:
            return moves
    return None
