"""Search for the features with the least leave-one-out error of the ridge map: forward steps, and swaps."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

from ._arrays import Array
from ._forward_search import TIE, open_columns
from ._kept_samples import KeptSamples
from ._leave_one_out import LeaveOneOutState


def forward_leave_one_out(
    samples: KeptSamples,
    k: int,
    alpha: float,
    include: Sequence[int] = (),
    exclude: Sequence[int] = (),
    prices: Array = None,
    start: LeaveOneOutState | None = None,
) -> LeaveOneOutState:
    """Choose k features one at a time, each by the least leave-one-out error, and its price where features have one.

    Features whose variance rests on one sample come after all others, and constant ones last. Where no feature lowers
    the error, the one that lowers the training loss most is taken.

    Parameters
    ----------
    samples : KeptSamples
        The samples.
    k : int
        Number of features.
    alpha : float
        Ridge weight, above zero.
    include, exclude : sequence of int
        Features that come first, in this order, and features that are never chosen.
    prices : array of length m, optional
        What keeping a feature costs beside the error, in its units; none below zero.
    start : LeaveOneOutState, optional
        What this search found for fewer features; it is changed in place.

    Returns
    -------
    LeaveOneOutState
        ``chosen`` holds the features in order of selection.
    """
    gram, xp = samples.gram, samples.gram.xp
    state = start or LeaveOneOutState(samples, alpha, include)
    price = xp.zeros_like(state.s) if prices is None else prices
    allowed = open_columns(gram, [*state.chosen, *exclude])
    while len(state.chosen) < k:
        usable = _first_tier(samples, allowed)
        falls = state.error - state.least_errors(usable, price)
        helps = bool(xp.any(usable & (falls > TIE * state.error)))
        if not helps and prices is not None:  # one that lowers the error may be too dear
            falls = state.error - state.errors_with()
            helps = bool(xp.any(usable & (falls > TIE * state.error)))
        gain = xp.where(usable, (falls if helps else state.training_gains()) - price, -float("inf"))
        j = _first_of_best(gain, TIE * state.error if helps else 0.0, xp)
        allowed[j] = False
        state.add(j, last=len(state.chosen) == k - 1)
    return state


def exchange_leave_one_out(
    state: LeaveOneOutState, include: Sequence[int] = (), exclude: Sequence[int] = (), prices: Array = None
) -> int:
    """Swap kept features for others until no single swap lowers the leave-one-out error and prices.

    Kept features are tried in turn, each against its best replacement.

    Parameters
    ----------
    state : LeaveOneOutState
        The start, changed in place.
    include, exclude, prices
        As for :func:`forward_leave_one_out`.

    Returns
    -------
    int
        Number of swaps made.
    """
    gram, xp = state.gram, state.gram.xp
    price = xp.zeros_like(state.s) if prices is None else prices
    n_swaps, unchanged = 0, 0
    free = [position for position, feature in enumerate(state.chosen) if feature not in set(include)]
    while unchanged < len(free):
        for position in free:
            old, error = state.chosen[position], state.error
            usable = _first_tier(state.samples, open_columns(gram, [*state.chosen, *exclude]))
            errors = state.least_errors(usable, price, old)
            gain = xp.where(usable, error - errors + price[old] - price, -float("inf"))
            new = _first_of_best(gain, TIE * error, xp)
            unchanged += 1
            if float(gain[new]) > TIE * error:
                state.swap(old, new)
                n_swaps, unchanged = n_swaps + 1, 0
            if unchanged >= len(free):
                break
    return n_swaps


def _first_of_best(gain: Array, rounding: float, xp: ModuleType) -> int:
    """Return the lowest index whose gain ties with the largest: within TIE of it, or within ``rounding``."""
    top = float(xp.max(gain))
    return int(xp.argmax(xp.astype(gain >= top - max(TIE * abs(top), rounding), xp.int32)))


def _first_tier(samples: KeptSamples, allowed: Array) -> Array:
    """Return which allowed features come first: those that several samples vary, else all that vary, else all."""
    xp = samples.gram.xp
    for tier in (samples.shared_variance, samples.gram.diagonal() > 0):
        if bool(xp.any(allowed & tier)):
            return allowed & tier
    return allowed
