"""One search for k features with one setting: forward, exchange, a proof where subsets are few, and the ridge weight.

The setting is what trades error for stability: ridge, exchange, weight of the votes. All is done on second moments; the
ridge weight is the one of least error on folds held out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from .._core import (
    MANY_FEATURES,
    Array,
    Gram,
    HeldOut,
    Moments,
    exact_search,
    exchange_search,
    forward_search,
    forward_searches,
    in_lock_step,
    index,
    like,
    map_errors,
    memory_limit,
    order_within,
    parts_in_memory,
    side_by_side,
)

RIDGE_GRID = (0.0, 1e-3, 1e-2, 1e-1, 3e-1, 1.0, 3.0, 10.0)
"""Candidate ridge weights, relative to the mean variance of the features."""
N_FOLDS = 5
FEWEST_FOLDS = 3
"""Fewest folds with samples in them for a choice by held-out error."""
GIVE_UP = 1.05
"""Stop climbing the grid at an error this many times the least one so far."""
_AT_ONCE = 5
"""Ridge weights searched side by side: the error seldom falls beyond them."""
_LARGE = 1000
"""With at least as many features most time goes into reading the moments, which all ridge weights share."""
_TOGETHER = 10_000
"""Folds are searched side by side while their features, times the ridge weights, are no more than this."""

Measure = Callable[[Gram, Gram, Array, Sequence[int], float], Any]
"""From what :func:`compared` returns, the features found and the ridge weight to an error per sample."""


@dataclass(frozen=True)
class Setting:
    """How to search.

    Attributes
    ----------
    ridge : float or None
        Relative ridge weight of the search; None for the one of least leave-one-out error.
    exchange : bool
        Whether features are swapped after the forward search.
    vote_weight : float
        Weight of the votes: a feature that no subsample votes for costs this fraction of the loss more than
        one that all vote for.
    search : {"training", "few_samples", "leave_one_out"}
        What the search lowers: the training loss; what serves few samples best, with a ridge of its own; or the
        leave-one-out error.
    map_ridge : float or None
        Relative ridge weight of the map from the features found to all; None for that of the search.
    """

    ridge: float | None = 0.0
    exchange: bool = True
    vote_weight: float = 0.0
    search: Literal["training", "few_samples", "leave_one_out"] = "training"
    map_ridge: float | None = None

    @property
    def refit(self) -> float:
        """The relative ridge weight of the map."""
        return float(self.ridge or 0.0) if self.map_ridge is None else self.map_ridge


@dataclass(frozen=True)
class Found:
    """The result of a search: features in greedy order within the set, swaps made, and prices, if any.

    No features have a loss below ``lower_bound``; ``proven`` tells that none have a lower loss than these.
    """

    chosen: list[int]
    n_swaps: int
    prices: Array = None
    lower_bound: float = 0.0
    proven: bool = False


def find_columns(
    gram: Gram,
    k: int,
    setting: Setting,
    include: Sequence[int] = (),
    exclude: Sequence[int] = (),
    votes: np.ndarray | None = None,
    start: Sequence[int] | None = None,
) -> Found:
    """Return k features by forward search and exchange, both under prices where the votes have weight.

    Parameters
    ----------
    gram : Gram
        The moments, of mean variance one.
    k : int
        Number of features to select.
    setting : Setting
        Ridge, exchange, weight of the votes.
    include, exclude : sequence of int
        Features that must or must not be selected.
    votes : ndarray of shape (m,), optional
        Fraction of subsamples, from 0 to 1, on which the same search selects each feature.
    start : sequence of int, optional
        What the search without votes finds, where that is known.

    Returns
    -------
    Found
    """
    alpha = float(setting.ridge or 0.0)
    n_swaps = 0
    chosen = list(start) if start is not None else forward_search(gram, k, alpha, include, exclude)
    if setting.exchange and start is None:
        chosen, n_swaps = exchange_search(gram, chosen, alpha, include, exclude)
    prices = None
    if setting.vote_weight and votes is not None:
        loss = gram.split(chosen, alpha)[2].trace()
        prices = like(setting.vote_weight * loss * (1 - votes), gram.diagonal(), gram.xp)
        if not setting.exchange:
            return Found(forward_search(gram, k, alpha, include, exclude, prices), 0, prices)
        chosen, more = exchange_search(gram, chosen, alpha, include, exclude, prices)
        n_swaps += more
    if n_swaps or (setting.exchange and start is not None):
        chosen = order_within(gram, chosen, alpha, include)
    return Found(chosen, n_swaps, prices)


def prove_columns(gram: Gram, found: Found, setting: Setting, include: Sequence[int], exclude: Sequence[int]) -> Found:
    """Return the best features there are, with a proof; what was found, with a bound, where that would take too long.

    Parameters
    ----------
    gram : Gram
        The moments, of mean variance one.
    found : Found
        What forward search and exchange find, without votes.
    setting : Setting
        How they searched.
    include, exclude : sequence of int
        Features that must or must not be selected.

    Returns
    -------
    Found
        The features in greedy order within the set; those that are new count as swaps.
    """
    alpha, chosen, n_swaps = float(setting.ridge or 0.0), found.chosen, found.n_swaps
    exact = exact_search(gram, chosen, alpha, include, exclude)
    n_new = len(set(exact.chosen) - set(chosen))
    if n_new:
        chosen, n_swaps = order_within(gram, exact.chosen, alpha, include), n_swaps + n_new
    return replace(found, chosen=chosen, n_swaps=n_swaps, lower_bound=exact.lower_bound, proven=exact.proven)


def choose_ridge(held_out: Sequence[HeldOut], k: int, include: Sequence[int], exclude: Sequence[int]) -> float:
    """Return the grid's ridge weight of least held-out error.

    The grid is climbed until the error lies well above its least value so far: beyond that point the ridge shrinks the
    map too much, and more of it does not help.
    """
    searched = errors_by_ridge(held_out, lambda: k, include, exclude, RIDGE_GRID, held_out_error)
    return least_ridge((sum(part), scale) for part, scale in searched)


def least_ridge(searched: Iterable[tuple[float, float]]) -> float:
    """Return the grid's weight of least error, from the error and the scale of one after the other."""
    errors: list[float] = []
    for error, scale in searched:
        errors.append(error)
        if errors[-1] > GIVE_UP * min(errors) + 1e-12 * scale:
            break
    # Errors that differ by rounding only are ties, which go to the smaller ridge.
    limit = min(errors) + 1e-9 * abs(min(errors)) + 1e-12 * scale
    return next(ridge for ridge, error in zip(RIDGE_GRID, errors, strict=False) if error <= limit)


def errors_by_ridge(
    held_out: Sequence[HeldOut],
    reach: Callable[[], int],
    include: Sequence[int],
    exclude: Sequence[int],
    ridges: Sequence[float],
    measure: Measure,
) -> Iterator[tuple[list[Any], float]]:
    """Yield for every ridge weight the errors of what forward searches find, one for each part held out.

    Parameters
    ----------
    held_out : sequence of HeldOut
        Parts of the samples held out of the others.
    reach : callable
        Asked for the number of features before searches are made: a few ridge weights side by side.
    include, exclude : sequence of int
        Features that must or must not be selected.
    ridges : sequence of float
        The weights.
    measure : callable
        See :data:`Measure`.

    Yields
    ------
    errors : list
        In the units of the samples, summed over those held out.
    scale : float
        The variance of all features, in these units.
    """
    m, thin = int(held_out[0].test.n_features or 0), all(part.form == "dual" for part in held_out[0].parts)
    test = held_out[0].test
    if not thin and in_lock_step(test):
        yield from _by_ridge(errors_in_lock_step(held_out, reach(), include, exclude, ridges, measure), len(ridges))
        return
    step = len(ridges) if thin or m >= _LARGE else _AT_ONCE
    if not thin:  # each search may come to hold a residual, and two arrays of k x m
        step = max(1, min(step, int(memory_limit() / 4 / (8 * m * (m + 2 * reach())))))
    for start in range(0, len(ridges), step):
        part, k = ridges[start : start + step], reach()
        n = max(1, _TOGETHER // (len(part) * m))
        some = partial(errors_of, k=k, include=include, exclude=exclude, ridges=part, measure=measure)
        batches = [held_out[first : first + n] for first in range(0, len(held_out), n)]
        done = []
        if m >= _LARGE and not thin:  # the other folds will come to much the same features as the first
            done = [some(batches.pop(0))]
            some = partial(some, likely=sorted({j for chosen in done[0].found for j in chosen}))
        done += side_by_side(some, batches)
        yield from _by_ridge(done, len(part))


def errors_in_lock_step(
    held_out: Sequence[HeldOut],
    k: int,
    include: Sequence[int],
    exclude: Sequence[int],
    ridges: Sequence[float],
    measure: Measure,
) -> list[Batch]:
    """Search as many folds at a time as fit in memory, with all ridge weights, on tensors."""
    test, first = held_out[0].test, 0
    done: list[Batch] = []
    likely: list[int] = []
    if int(test.n_features or 0) >= MANY_FEATURES:  # the other folds will come to much the same features as the first
        done, first = [errors_of(held_out[:1], k, include, exclude, ridges, measure)], 1
        likely = sorted({j for chosen in done[0].found for j in chosen})
    others = held_out[first:]
    for part in parts_in_memory(test, len(others), 2):
        done.append(errors_of(others[part], k, include, exclude, ridges, measure, likely))
    return done


class Batch(NamedTuple):
    """What forward searches find on some folds, fold by fold and ridge by ridge; errors by ridge; the variances."""

    found: list[list[int]]
    errors: list[list[Any]]
    scales: list[float]


def _by_ridge(batches: Sequence[Batch], n_ridges: int) -> Iterator[tuple[list[Any], float]]:
    """Yield for every ridge weight the errors on all folds, and the variance of all."""
    scale = sum(scale for batch in batches for scale in batch.scales)
    return (([error for batch in batches for error in batch.errors[i]], scale) for i in range(n_ridges))


def errors_of(
    held_out: Sequence[HeldOut],
    k: int,
    include: Sequence[int],
    exclude: Sequence[int],
    ridges: Sequence[float],
    measure: Measure,
    likely: Sequence[int] = (),
) -> Batch:
    """Search some folds with every ridge weight, side by side; ``likely`` are features that may well be found."""
    rounds = [compared(split.train, split.test) for split in held_out]
    lanes = [gram.unscaled(ridge) for gram, _, _, _ in rounds for ridge in ridges]
    for gram in {id(gram): gram for gram, _ in lanes}.values() if likely else ():
        gram.expect(likely)
    found = forward_searches(lanes, k, include, exclude)
    each, weights = [part for part in rounds for _ in ridges], [*ridges] * len(rounds)
    if measure is held_out_error and in_lock_step(rounds[0][0]):
        measured = map_errors([part[:3] for part in each], found, weights)
    else:
        measured = [
            measure(*part[:3], *both) for part, both in zip(each, zip(found, weights, strict=True), strict=True)
        ]
    summed = [part[3] * error for part, error in zip(each, measured, strict=True)]
    errors = [summed[at :: len(ridges)] for at in range(len(ridges))]
    return Batch(found, errors, [weight * gram.n_features for gram, _, _, weight in rounds])


def compared(train: Moments, test: Moments) -> tuple[Gram, Gram, Array, float]:
    """Return the moments to fit on, scaled to mean variance one, and those of the samples held out in the same units.

    Also the difference of the means, and the weight that brings an error back to the units of the samples.
    """
    gram, unit = train.operator().normalised()
    return gram, test.operator().scaled(1 / unit), (test.mean - train.mean) / unit**0.5, test.weight_sum * unit


def held_out_error(gram: Gram, target: Gram, shift: Array, chosen: Sequence[int], ridge: float) -> float:
    """Return the squared error per sample, on other samples, of the ridge map fitted on the samples of ``gram``."""
    return map_error(gram.coefficients(chosen, ridge), target, shift, chosen)


def map_error(V: Array, target: Gram, shift: Array, chosen: Sequence[int]) -> float:
    """Return the squared error per sample of a map on samples other than those it was fitted on.

    With V (m x k) the map from the selected to all centred features, ``target`` the moments of the other samples,
    ``shift`` the difference of the means and T = C_target + shift shift', the error is tr(T - 2 V T_S + V T_SS V'), so
    no sample is needed.
    """
    xp, at = target.xp, index(chosen, V, target.xp)
    T_S = target.rows(chosen)
    T_S = T_S + shift[at][:, None] * shift[None, :]
    return target.trace() + float(xp.sum(shift * shift)) - float(xp.sum(V.T * (2 * T_S - T_S[:, at] @ V.T)))
