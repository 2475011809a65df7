"""The ridge weight of least error on held-out folds, and that error for every weight of a grid.

All is done on second moments. Forward searches on all folds but one give the features; the ridge map from them is
measured on the fold held out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .._core import (
    MANY_FEATURES,
    Gram,
    HeldOut,
    SinglePrecision,
    forward_searches,
    in_lock_step,
    keep_paths,
    map_errors,
    memory_limit,
    parts_in_memory,
    share_rows,
    side_by_side,
    stays_thin,
)
from ._round import Round, errors_of_rounds

RIDGE_GRID = (0.0, 1e-3, 1e-2, 1e-1, 3e-1, 1.0, 3.0, 10.0)
"""Candidate ridge weights, relative to the mean variance of the features."""
_SHRINKS = 0.1
"""From this weight on errors rise since the map is shrunk too much, below it by chance."""
_GIVE_UP, _GIVE_UP_SHRUNK = 1.05, 1.015
"""Stop climbing the grid at an error this many times the least one so far, below that weight and from there on."""
_BEHIND = 0.5
"""A weight this far behind the best on the first fold, over the root of its samples, is not tried on the others."""
_MANY_VALUES = 2**20
"""With fewer values in a table of few samples all weights are tried on all folds."""
_FIRST, _NEXT = 4, 2
"""Ridge weights searched side by side: the error seldom falls beyond them. Then two at a time."""
_LONG = 384
"""With fewer features no part of the work takes long enough for another thread."""
_NARROW = 128
"""With fewer features searches are short in double precision too."""
_SQUARED = 20
"""With at most so many features for each to select, all of C^2 takes no longer than the rows that searches ask for."""
_LARGE = 1000
"""With at least as many features most time goes into reading the moments, which all ridge weights share."""
_TOGETHER, _WITH_WHOLE = 10_000, 12_000
"""Folds are searched side by side while their features, times the ridge weights, are no more than this; the second is
for folds with all samples beside them."""

Measure = Callable[[Round, Sequence[Sequence[int]], Sequence[float]], list[Any]]
"""From a round, and the features found with each of several ridge weights, to the errors per sample."""


@dataclass(frozen=True)
class Trial:
    """What is tried on every fold.

    Attributes
    ----------
    include, exclude : sequence of int
        Features that must or must not be selected.
    measure : callable
        See :data:`Measure`.
    ridges : sequence of float
        The ridge weights.
    whole : Gram or None
        The moments of all samples, where these will be searched with one of the weights. With few features they are
        searched beside the folds, which takes less time than by itself.
    """

    include: Sequence[int]
    exclude: Sequence[int]
    measure: Measure = Round.errors
    ridges: Sequence[float] = RIDGE_GRID
    whole: Gram | None = None

    def search(self, grams: Sequence[Gram], k: int | Sequence[int]) -> list[list[int]]:
        """Return what forward searches find, gram by gram and ridge by ridge: k features, or as many as each has."""
        lanes = [gram.unscaled(ridge) for gram in grams for ridge in self.ridges]
        return forward_searches(lanes, k if isinstance(k, int) else [*k] * len(grams), self.include, self.exclude)

    def errors(self, own: Round, found: Sequence[Sequence[int]]) -> list[Any]:
        """Return the errors of one round, ridge by ridge, in the units of the samples."""
        return [own.weight * error for error in self.measure(own, found, self.ridges)]

    def errors_of_rounds(
        self, rounds: Sequence[Round], found: Sequence[Sequence[Sequence[int]]], at_most: int | None
    ) -> list[list[Any]]:
        """Return the errors of several rounds, ridge by ridge, in as many threads at most."""
        if self.measure != Round.errors:
            return side_by_side(lambda own: self.errors(*own), zip(rounds, found, strict=True), at_most)
        errors = errors_of_rounds(rounds, found, self.ridges, at_most)
        return [[own.weight * error for error in errors] for own, errors in zip(rounds, errors, strict=True)]


def choose_ridge(
    held_out: Sequence[HeldOut],
    k: int,
    include: Sequence[int],
    exclude: Sequence[int],
    whole: Gram | None = None,
    beside: Callable[[], None] = lambda: None,
) -> float:
    """Return the grid's ridge weight of least held-out error.

    The grid is climbed until the error lies well above its least value so far: beyond that point the ridge shrinks the
    map too much, and more of it does not help. For ``whole`` see :class:`Trial`, for ``beside``
    :func:`errors_by_ridge`.
    """
    searched = errors_by_ridge(held_out, lambda: k, Trial(include, exclude, whole=whole), beside)
    return least_ridge((sum(part), scale) for part, scale in searched)


def least_ridge(searched: Iterable[tuple[float, float]]) -> float:
    """Return the grid's weight of least error, from the error and the scale of one after the other."""
    errors: list[float] = []
    for error, scale in searched:
        errors.append(error)
        if errors[-1] > give_up(RIDGE_GRID[len(errors) - 1]) * min(errors) + 1e-12 * scale:
            break
    # Errors that differ by rounding only are ties, which go to the smaller ridge.
    limit = min(errors) + 1e-9 * abs(min(errors)) + 1e-12 * scale
    return next((ridge for ridge, error in zip(RIDGE_GRID, errors, strict=False) if error <= limit), RIDGE_GRID[0])


def give_up(ridge: float) -> float:
    """Return at how many times the least error so far the grid is climbed no further than a weight."""
    return _GIVE_UP_SHRUNK if ridge >= _SHRINKS else _GIVE_UP


def errors_by_ridge(
    held_out: Sequence[HeldOut], reach: Callable[[], int], trial: Trial, beside: Callable[[], None] = lambda: None
) -> Iterator[tuple[list[Any], float]]:
    """Yield for every ridge weight the errors of what forward searches find, one for each part held out.

    Parameters
    ----------
    held_out : sequence of HeldOut
        Parts of the samples held out of the others.
    reach : callable
        Asked for the number of features before searches are made: a few ridge weights side by side.
    trial : Trial
        What is tried.
    beside : callable
        Called once, before the searches: begins what other threads can do beside them.

    Yields
    ------
    errors : list
        In the units of the samples, summed over those held out.
    scale : float
        The variance of all features, in these units.
    """
    # Searches side by side need moments of one form.
    m, thin = int(held_out[0].test.n_features or 0), all(stays_thin(split.parts) for split in held_out)
    test = held_out[0].test
    if not thin and in_lock_step(test):
        beside()
        yield from _by_ridge(errors_in_lock_step(held_out, reach(), trial))
        return
    if not thin and m < _LARGE:
        yield from _of_few_features(held_out, reach, trial, beside)
        return
    beside()
    step = len(trial.ridges)
    if not thin:  # each search may come to hold a residual, and two arrays of k x m
        step = max(1, min(step, int(memory_limit() / 4 / (8 * m * (m + 2 * reach())))))
    for start in range(0, len(trial.ridges), step):
        part, k = replace(trial, ridges=trial.ridges[start : start + step]), reach()
        n = max(1, _TOGETHER // (len(part.ridges) * m))
        some = partial(errors_of, k=k, trial=part, thin=thin)
        batches = [held_out[first : first + n] for first in range(0, len(held_out), n)]
        done = []
        if not thin:  # the other folds will come to much the same features as the first
            done = [some(batches.pop(0))]
            some = partial(some, likely=sorted({j for chosen in done[0].found for j in chosen}))
        elif n == 1 and m * sum(split.test.n_samples for split in held_out) >= _MANY_VALUES:
            done = [some(batches.pop(0))]
            some = partial(_in_the_race, k=k, trial=part, ends=ends_of_race(done[0].errors, k, test.n_samples))
            batches = [held_out[1:]]  # which share one pass over the samples at every step
        done += side_by_side(some, batches)
        yield from _by_ridge(done)


def ends_of_race(errors: Sequence[Sequence[Any]], k: int, n_samples: int) -> list[int]:
    """Return how many features each ridge weight is tried with on further folds, from the errors on the first.

    Parameters
    ----------
    errors : sequence
        By ridge weight, the error on the first fold, as the one element of a sequence: of k features, or of all numbers
        of features up to k.
    k : int
        Number of features, or the largest.
    n_samples : int
        Samples of the first fold.

    Returns
    -------
    list of int
        The largest number for which a weight comes close to the best; 0 where it never does.
    """
    first = np.array([np.atleast_1d(own) for (own,) in errors])
    close = first <= (1 + _BEHIND / n_samples**0.5) * first.min(axis=0) + 1e-12 * first.max()
    close[:, 0] &= first.shape[1] == 1  # no features leave the same, whatever the ridge
    return [(k if own.size == 1 else int(np.flatnonzero(own)[-1])) if own.any() else 0 for own in close]


def _in_the_race(held_out: Sequence[HeldOut], k: int, trial: Trial, ends: Sequence[int]) -> Batch:
    """Search folds with every ridge weight up to so many features; what is not tried has an infinite error."""
    tried = [at for at, end in enumerate(ends) if end]
    part = replace(trial, ridges=[trial.ridges[at] for at in tried])
    batch = errors_of(held_out, [ends[at] for at in tried], part, thin=True)
    paths = bool(np.ndim(batch.errors[0][0]))
    errors: list[list[Any]] = [[np.inf] * len(held_out) for _ in ends]
    for at, found in zip(tried, batch.errors, strict=True):
        errors[at] = list(found)
    for own in errors if paths else ():
        for fold, error in enumerate(own):
            known = error[1:] if np.ndim(error) else []
            own[fold] = np.concatenate([batch.errors[0][fold][:1], known, np.full(k - len(known), np.inf)])
    return Batch([], errors, batch.scales)


def _of_few_features(
    held_out: Sequence[HeldOut], reach: Callable[[], int], trial: Trial, beside: Callable[[], None]
) -> Iterator[tuple[list[Any], float]]:
    """Yield the same for tables of so few features that all folds are searched at once.

    The searches are many short steps, in which threads would wait for each other: they take one. Before and after them
    the folds are shared among all.
    """
    m, n = int(held_out[0].test.n_features or 0), len(held_out)
    at_most = None if m >= _LONG else 1
    few = m <= _SQUARED * reach()
    n_grams = n if trial.whole is None else n + 1
    single = SinglePrecision(n_grams, m) if few and m >= _NARROW else None

    def prepare(fold: int) -> tuple[Round | None, Gram]:
        """Return a round, None for all samples, and its moments."""
        own = None if fold == n else Round.held_out(held_out[fold], thin=False)
        gram: Any = trial.whole if own is None else own.gram
        if single is not None:
            single.hold(fold, gram)
        elif few:
            gram.unscaled(0.0)[0].expect_all()
        return own, gram

    prepared = side_by_side(prepare, range(n_grams), at_most)
    rounds, grams = [own for own, _ in prepared[:n] if own is not None], [gram for _, gram in prepared]
    scale = sum(own.weight * m for own in rounds)
    beside()
    for start, stop in pairwise([0, *range(_FIRST, len(trial.ridges), _NEXT), len(trial.ridges)]):
        part, k = replace(trial, ridges=trial.ridges[start:stop]), reach()
        if single is not None:
            found = single.search(part.ridges, k, trial.include, trial.exclude)
        else:
            some = max(1, _WITH_WHOLE // (len(part.ridges) * m))
            found = [own for first in range(0, len(grams), some) for own in part.search(grams[first : first + some], k)]
        each = _each(found, len(grams))
        if trial.whole is not None:
            keep_paths(trial.whole, part.ridges, trial.include, trial.exclude, each[-1])
        yield from ((list(own), scale) for own in zip(*part.errors_of_rounds(rounds, each[:n], at_most), strict=True))


def _each(found: list[Any], n_rounds: int) -> list[list[Any]]:
    """Return what belongs to each round, of what is in a row."""
    n = len(found) // n_rounds
    return [found[start : start + n] for start in range(0, len(found), n)]


def errors_in_lock_step(held_out: Sequence[HeldOut], k: int, trial: Trial) -> list[Batch]:
    """Search as many folds at a time as fit in memory, with all ridge weights, on tensors."""
    test, first = held_out[0].test, 0
    done: list[Batch] = []
    likely: list[int] = []
    if int(test.n_features or 0) >= MANY_FEATURES:  # the other folds will come to much the same features as the first
        done, first = [errors_of(held_out[:1], k, trial)], 1
        likely = sorted({j for chosen in done[0].found for j in chosen})
    others = held_out[first:]
    for part in parts_in_memory(test, len(others), 2):
        done.append(errors_of(others[part], k, trial, likely))
    return done


class Batch(NamedTuple):
    """What forward searches find on some folds, fold by fold and ridge by ridge; errors by ridge; the variances."""

    found: list[list[int]]
    errors: list[list[Any]]
    scales: list[float]


def _by_ridge(batches: Sequence[Batch]) -> Iterator[tuple[list[Any], float]]:
    """Yield for every ridge weight the errors on all folds, and the variance of all."""
    scale = sum(scale for batch in batches for scale in batch.scales)
    for errors in zip(*(batch.errors for batch in batches), strict=True):
        yield [error for own in errors for error in own], scale


def errors_of(
    held_out: Sequence[HeldOut], k: int | Sequence[int], trial: Trial, likely: Sequence[int] = (), *, thin: bool = False
) -> Batch:
    """Search some folds with every ridge weight, side by side; ``likely`` are features that may well be found.

    ``thin`` tells whether all folds keep their samples.
    """
    rounds = [Round.held_out(split, thin=thin) for split in held_out]
    if thin:
        units = [own.weight / split.test.weight_sum for split, own in zip(held_out, rounds, strict=True)]
        share_rows([split.parts for split in held_out], [own.gram for own in rounds], units)
    for own in rounds if likely else ():
        own.gram.unscaled(0.0)[0].expect(likely)
    found = trial.search([own.gram for own in rounds], k)
    if trial.measure == Round.errors and in_lock_step(rounds[0].gram):
        each, ridges = [own for own in rounds for _ in trial.ridges], [*trial.ridges] * len(rounds)
        measured = map_errors([(own.gram, own.target, own.shift) for own in each], found, ridges)
        summed = _each([own.weight * error for own, error in zip(each, measured, strict=True)], len(rounds))
    else:
        summed = [trial.errors(*own) for own in zip(rounds, _each(found, len(rounds)), strict=True)]
    return Batch(
        found,
        [list(errors) for errors in zip(*summed, strict=True)],
        [own.weight * own.gram.n_features for own in rounds],
    )
