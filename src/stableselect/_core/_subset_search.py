"""Search for the k features that reconstruct all others best: forward steps, then exchanges to a local optimum.

With S the kept features, C the moments and a ridge weight alpha, the loss of S is tr R with R = C - V C_S',
V = C_S P and P = (C_SS + alpha I)^-1. Adding feature j lowers it by |R_j|^2 / (R_jj + alpha). Dropping the a-th kept
feature turns R into R + v v'/p with v = V_a, p = P_aa and raises the loss by |v|^2 / p. Every swap's effect follows
from R's column norms g, its diagonal h, and the one product Y = R V.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ._arrays import Array, index, to_numpy
from ._gram import Deflation, Gram
from ._swap_state import TRUST, SwapState

TIE = 1e-10
"""Gains within this relative distance are ties; the lowest feature index wins."""
EXHAUSTED = 1e-10
"""Once the loss falls below this fraction of the total, the kept features span the table."""
BEYOND_RANK_RIDGE = 1e-3
"""Ridge, relative to the mean variance, by whose gain features are chosen beyond the rank."""
_ROUNDING = 1e-11
"""Gains that differ by less than this fraction of the total are ties before the kept features span the table."""
_DEFLATE = 1e-3
"""Recompute the residual afresh when the loss has fallen this much since the last time."""
_ESCAPE = 6
"""Swaps tried beyond an optimum before it is taken as final."""
_STRETCH = 4096
"""Features per stretch of the table of swaps."""


def absolute_ridge(gram: Gram, ridge: float) -> float:
    """Return the ridge weight alpha for one stated relative to the mean variance of the features."""
    return ridge * gram.trace() / gram.n_features


def first_of_best(gain: Array, gram: Gram, rounding: float = 0.0) -> int:
    """Return the lowest index whose gain ties with the largest: within TIE of it, or within ``rounding``."""
    xp = gram.xp
    top = float(xp.max(gain))
    return int(xp.argmax(xp.astype(gain >= top - max(TIE * abs(top), rounding), xp.int32)))


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
    allowed = open_columns(gram, [*include, *exclude])
    exhausted = False
    deflation, g, h = _restart(gram, chosen, alpha)
    reference = total
    while len(chosen) < k:
        if len(chosen) < len(include):
            j = include[len(chosen)]
        else:
            left = float(xp.sum(h))
            usable = allowed if exhausted else allowed & (h > TRUST * variance) & (g > 0)
            if not exhausted and (left <= EXHAUSTED * total or not bool(xp.any(usable))):
                exhausted, usable = True, allowed
                alpha = max(alpha, absolute_ridge(gram, BEYOND_RANK_RIDGE))
                deflation, g, h = _restart(gram, chosen, alpha)
            elif not exhausted and left < _DEFLATE * reference:
                reference = left
                deflation, g, h = _restart(gram, chosen, alpha)
            gain = g / xp.where(h + alpha > 0, h + alpha, 1.0)
            gain = gain if prices is None else gain - prices
            j = first_of_best(xp.where(usable, gain, -float("inf")), gram, 0.0 if exhausted else _ROUNDING * total)
        chosen.append(j)
        allowed[j] = False
        directions = deflation.step(j, alpha, TRUST * float(variance[j]))
        if directions is not None:
            w, Rw = directions
            g = g - 2 * w * Rw + xp.sum(w * w) * (w * w)
            h = h - w * w
    return chosen


def _restart(gram: Gram, chosen: Sequence[int], alpha: float) -> tuple[Deflation, Array, Array]:
    """Return the residual of the chosen features afresh, ready for more steps, and its column norms and diagonal."""
    R = gram.split(chosen, alpha)[2] if chosen else gram
    return R.deflation(), R.squared_norms(), R.diagonal()


def best_swap(state: SwapState, allowed: Array, fixed: Sequence[int]) -> tuple[float, int, int]:
    """Return the largest gain and its swap (position to drop, feature to add); ties go to the lowest features.

    Features are looked at in stretches that stay in the processor's cache.
    """
    xp, m = state.gram.xp, state.gram.n_features
    free = [a for a, c in enumerate(state.chosen) if c not in set(fixed)]
    if not free:
        return -float("inf"), -1, -1
    rows = index(free, state.V, xp)
    best = []
    for start in range(0, m, _STRETCH):
        gains = state.swap_gains(allowed, start, min(m, start + _STRETCH))
        best.append(xp.max(xp.take(gains, rows, axis=0) if fixed else gains, axis=0))
    best = xp.concat(best)
    top = float(xp.max(best))
    if top == -float("inf"):
        return top, -1, -1
    slack = TIE * max(state.cost, top, 0.0)  # rounding may leave both slightly below zero
    j = int(xp.argmax(xp.astype(best >= top - slack, xp.int32)))
    gains = to_numpy(state.swap_gains(allowed, j, j + 1))[:, 0]
    largest = max(gains[free])
    return top, min((a for a in free if gains[a] >= largest - slack), key=lambda a: state.chosen[a]), j


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
        if state.cost > cost * (1 - TIE):  # the fall was rounding
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
        gain, a, j = best_swap(state, allowed, include)
        if state.loss > EXHAUSTED * total and gain > max(TIE * state.cost, 1e-13 * total):
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
        _, a, j = best_swap(state, allowed, [*include, *added[-_ESCAPE // 2 :]])
        if a < 0:
            return None
        dropped.append(state.chosen[a])
        added.append(j)
        if not state.swap(a, j):
            return None
        if state.cost < cost * (1 - TIE):
            return moves
    return None
