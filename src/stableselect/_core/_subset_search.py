"""Search for the k features that reconstruct all others best: exchanges to a local optimum."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ._arrays import Array, index, to_numpy
from ._forward_search import EXHAUSTED, TIE, open_columns
from ._gram import Gram
from ._swap_state import SwapState
from ._threads import MANY_FEATURES, side_by_side

_NEAR, _NOT_FAR = 1e-7, 1e-4
"""Swaps are looked at for ties when their gains are this close, relative to the cost: where the kept features are
clearly independent, and where they are not and rounding may move gains by more."""
_ESCAPE = 6
"""Swaps tried beyond an optimum before it is taken as final."""
_STRETCH = 2**17
"""Entries per stretch of the table of swaps."""


def best_swap(state: SwapState, allowed: Array, fixed: Sequence[int]) -> tuple[float, float, int, int]:
    """Return the largest gain, its rounding, and its swap (position to drop, feature to add).

    Ties go to the lowest features. Features are looked at in stretches that stay in the processor's cache.
    """
    xp, m = state.gram.xp, state.gram.n_features
    free = [a for a, c in enumerate(state.chosen) if c not in set(fixed)]
    if not free:
        return -float("inf"), 0.0, -1, -1
    step = max(1, _STRETCH // len(state.chosen))

    def best_of(start: int) -> Array:
        return state.best_gains(allowed, slice(start, min(m, start + step)), free if fixed else None)

    starts = range(0, m, step)
    best = xp.concat(side_by_side(best_of, starts) if m >= MANY_FEATURES else [best_of(start) for start in starts])
    top = float(xp.max(best))
    if top == -float("inf"):
        return top, 0.0, -1, -1
    size = max(state.cost, top, 0.0)  # rounding may leave both slightly below zero
    near = np.flatnonzero(to_numpy(best) >= top - (_NEAR if state.independent else _NOT_FAR) * size)
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
        As for :func:`~stableselect._core._forward_search.forward_searches`.
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
