"""The frontier of held-out error against stability over ridge, search depth, weight of votes and latent width.

Everything comes from the moments of ten folds of the samples, gathered in one pass. Pairs of folds are held out in
turn: the sets found without them give the stability, their samples the error. Combinations of half of the other folds
*vote*: the same search on each tells which features it selects. A search that charges for every feature by the votes it
lacks gives up a little error for features that other samples would select too.

Several settings are usually about as good, as far as a few sets can tell, and lead to different features. Which of them
is best changes with the samples, so the setting chosen is a compromise between all of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from .._core import Array, DualGram, Gram, Moments, merged, nogueira
from ..base import TargetNotReachedWarning, TooFewSamplesError
from ._ridge import RIDGE_GRID, leave_out, refit_errors
from ._search import Found, Setting, find_columns
from ._stability_frontier import Point, StabilityFrontier, cheapest_stable, good_points

STABILITY_FOLDS = 10
FEWEST_STABILITY_FOLDS = 6
"""Fewest folds with samples in them."""
RIDGES = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Relative ridge weights tried where the ridge is "auto"."""
_HIGH = 3.0
"""Larger ones are tried where samples are few against features, and elsewhere while the one before is worth it."""
MAP_RIDGES = tuple(ridge for ridge in RIDGE_GRID if ridge <= 1.0)
"""Relative ridge weights of the map tried where the ridge is "auto"."""
CONSENSUS = (0.01, 0.03, 0.1, 0.3)
"""Weights of the votes tried."""
_SMALL = 0.03
"""Added to ridge weights before their geometric mean is taken, since one of them is zero."""
_MOST_VOTERS = 44


@dataclass(frozen=True)
class Round:
    """Some folds held out, and the others: the moments of these, and of those in the same units.

    ``shift`` is the difference of the means, and an error per sample times ``weight`` is one in the units of the
    samples, summed over the samples held out.
    """

    held: tuple[int, ...]
    gram: Gram
    target: Gram
    shift: Array
    weight: float


Finish = Callable[[Round, Found, Setting], tuple[list[int], np.ndarray]]
"""From the features found in a round to those selected, and their held-out errors with each map ridge of the task."""


@dataclass(frozen=True)
class Task:
    """The settings to compare, and for which selection.

    Attributes
    ----------
    k : int
        Number of features to select.
    include, exclude : list of int
        Features that must or must not be selected.
    ridges : tuple of float
        Ridge weights to try, smallest first.
    exchange : bool
        Whether features may be swapped. With few samples against features they are not in any case: there swaps cost
        most, and move error and stability less than chance does.
    widths : tuple of int or None
        Latent widths to try.
    map_ridges : tuple of float or None
        Ridge weights of the map to try, None for that of the search; the one of least error counts.
    finish : callable
        See :data:`Finish`.
    """

    k: int
    include: list[int]
    exclude: list[int]
    ridges: tuple[float, ...]
    exchange: bool
    widths: tuple[int | None, ...]
    map_ridges: tuple[float | None, ...]
    finish: Finish


def choose_setting(
    folds: Sequence[Moments], task: Task, max_error_increase: float, min_stability: float | None
) -> tuple[Setting, np.ndarray | None, StabilityFrontier]:
    """Choose the setting of a search by its held-out error and the stability of what it selects.

    Parameters
    ----------
    folds : sequence of Moments
        Moments of parts of the samples, six at least.
    task : Task
        The settings to compare.
    max_error_increase : float
        Largest relative increase in held-out error accepted for stability.
    min_stability : float or None
        Where given, choose the setting of least error that is at least this stable instead.

    Returns
    -------
    setting : Setting
        The one chosen.
    votes : ndarray of shape (m,) or None
        Fraction of subsamples that select each feature, where the setting uses it.
    frontier : StabilityFrontier
        All settings tried.
    """
    if len(folds) < FEWEST_STABILITY_FOLDS:
        raise TooFewSamplesError(
            f"Stability is measured on folds of the samples and needs at least {FEWEST_STABILITY_FOLDS} folds, got "
            f"{len(folds)}; fit on more samples, give a cv with more folds that hold every sample once, or give "
            "fit_moments a list of Moments, one for each fold.",
            len(folds),
            FEWEST_STABILITY_FOLDS,
        )
    if len(folds) > STABILITY_FOLDS:
        folds = [merged(folds[number::STABILITY_FOLDS]) for number in range(STABILITY_FOLDS)]
    _warn_without_choice(task, int(folds[0].n_features or 0))
    search = FrontierSearch(folds, task, 1 + max_error_increase if min_stability is None else float("inf"))
    points, reached = search.points(), True
    if min_stability is None:
        points, chosen = search.compromise(points, max_error_increase)
    else:
        chosen, reached = cheapest_stable(points, float(min_stability))
    if not reached:
        warnings.warn(
            f"No setting reaches the stability {min_stability:g} on held-out samples; the most stable has "
            f"{points[chosen].stability:.3g} and is used. Lower min_stability, or select another number of features.",
            TargetNotReachedWarning,
            stacklevel=2,
        )
    target = None if min_stability is None else float(min_stability)
    frontier = StabilityFrontier.from_points(points, chosen, max_error_increase, target, reached)
    setting = points[chosen].setting
    return setting, search.votes(setting) if setting.consensus else None, frontier


def refit_finisher(map_ridges: Sequence[float | None]) -> Finish:
    """Return what takes the features found in a round as they are, and tells their held-out errors."""

    def finish(part: Round, found: Found, setting: Setting) -> tuple[list[int], np.ndarray]:
        weights = [setting.ridge if ridge is None else ridge for ridge in map_ridges]
        return found.chosen, refit_errors(part.gram, part.target, part.shift, found.chosen, weights)

    return finish


def _warn_without_choice(task: Task, m: int) -> None:
    """Warn where the same features are selected in any case."""
    if task.k - len(task.include) in (0, m - len(task.include) - len(task.exclude)):
        selected, advice = ("All", "select fewer") if task.k == m else ("The same", "include or exclude fewer")
        warnings.warn(
            f"{selected} {task.k} features are selected in any case, so there is no choice to repeat and its stability "
            f"is NaN; {advice}.",
            UndefinedMetricWarning,
            stacklevel=2,
        )


class FrontierSearch:
    """Measure settings on the folds of the samples.

    Parameters
    ----------
    folds : sequence of Moments
        Six at least.
    task : Task
        The settings.
    limit : float
        Settings whose error is above this multiple of the least are not followed up.
    """

    def __init__(self, folds: Sequence[Moments], task: Task, limit: float) -> None:
        self.task, self.folds, self.limit = task, folds, limit
        self.rounds = [Round(held, *leave_out(folds, held)) for held in held_out_groups(len(folds))]
        self.voters = voting_groups(len(folds))
        self._cells = sum(part.weight_sum for part in folds) * self.rounds[0].gram.n_features
        # Below this an error is rounding, and a fraction of it means nothing.
        self._nothing = 1e-12 * sum(part.weight * part.gram.n_features for part in self.rounds)
        self._ballots: dict[float, np.ndarray] = {}
        self._pool = np.zeros((0, 0))
        # Features that nobody chose would make any choice look stable.
        self._free = np.setdiff1d(np.arange(self.rounds[0].gram.n_features), [*task.include, *task.exclude])
        self._primal = not isinstance(self.rounds[0].gram, DualGram)
        self._exchange = task.exchange and self._primal

    def points(self) -> list[Point]:
        """Return the points, in the order in which they were measured."""
        points: list[Point] = []
        starts: dict[float, list[list[int]]] = {}
        for ridge in self.task.ridges:
            if starts and self._primal and ridge > _HIGH and self._worth(points, max(starts)) > self.limit:
                break
            for exchange in (False, True) if self._exchange else (False,):
                setting = Setting(ridge, exchange)
                found = [self._find(part, setting) for part in self.rounds]
                points += self._measure(setting, found)
            starts[ridge] = [item.chosen for item in found]
        promising = [ridge for ridge in starts if self._worth(points, ridge) <= self.limit]
        self._vote(promising)
        for ridge in promising:
            for consensus in CONSENSUS:
                setting = Setting(ridge, self._exchange, consensus)
                found = [
                    self._find(part, setting, start) for part, start in zip(self.rounds, starts[ridge], strict=True)
                ]
                more = list(self._measure(setting, found))
                points += more
                if min(point.error for point in more) > self.limit * min(point.error for point in points):
                    break
        return points

    def compromise(self, points: Sequence[Point], max_error_increase: float) -> tuple[list[Point], int]:
        """Return the points with those of a compromise behind them, and the number of the one to take.

        Good are the points within max_error_increase of the least error that are about as stable as the best of these.
        The compromise has the geometric mean of their ridge weights, the votes of all of them, and as much weight for
        the votes as leaves it good. Where it is not good with any weight, the good point next to it is taken.
        """
        good = good_points(points, max_error_increase)
        if not good:  # there is one set only
            return list(points), int(np.argmin([point.error for point in points]))
        ridge = mean_ridge([points[i].setting.ridge for i in good])
        self._pool = np.mean([self._ballots[points[i].setting.ridge] for i in good], axis=0)
        more: list[Point] = []
        starts: list[Sequence[int] | None] = [None] * len(self.rounds)
        for consensus in (0.0, *CONSENSUS):
            setting = Setting(ridge, self._exchange, consensus, pooled=True)
            found = [self._find(part, setting, start) for part, start in zip(self.rounds, starts, strict=True)]
            if not consensus:
                starts = [item.chosen for item in found]
            here = list(self._measure(setting, found))
            more += here
            limit = (1 + max_error_increase) * min(point.error for point in (*points, *more))
            if min(point.error for point in here) > limit:
                break
        every = [*points, *more]
        kept = [i for i in good_points(every, max_error_increase) if i >= len(points)]
        if kept:
            return every, max(kept, key=lambda i: (every[i].setting.consensus, every[i].setting.width or 0))
        return every, min(good, key=lambda i: (abs(np.log((points[i].setting.ridge + _SMALL) / (ridge + _SMALL))), i))

    def votes(self, setting: Setting, outside: Iterable[int] = ()) -> np.ndarray:
        """Return for every feature the fraction of voters that select it, of those with no fold in ``outside``."""
        if not setting.pooled and setting.ridge not in self._ballots:
            self._vote([setting.ridge])
        ballots = self._pool if setting.pooled else self._ballots[setting.ridge]
        free = [not set(voter) & set(outside) for voter in self.voters]
        return np.asarray(ballots[free].mean(axis=0))

    def _worth(self, points: Sequence[Point], ridge: float) -> float:
        """Return the least error with a ridge weight, as a multiple of the least of all."""
        least = min(point.error for point in points)
        own = min(point.error for point in points if point.setting.ridge == ridge)
        return own / least if least > 0 else 1.0

    def _find(self, part: Round, setting: Setting, start: Sequence[int] | None = None) -> Found:
        task = self.task
        votes = self.votes(setting, part.held) if setting.consensus else None
        return find_columns(part.gram, task.k, setting, task.include, task.exclude, votes, start)

    def _vote(self, ridges: Sequence[float]) -> None:
        """Let the voters search with every ridge weight."""
        task, m = self.task, self.rounds[0].gram.n_features
        ballots = {ridge: np.zeros((len(self.voters), m), dtype=bool) for ridge in ridges}
        for number, voter in enumerate(self.voters):
            gram, _ = merged([self.folds[fold] for fold in voter]).operator().normalised()
            for ridge, ballot in ballots.items():
                setting = Setting(ridge, self._exchange)
                ballot[number, find_columns(gram, task.k, setting, task.include, task.exclude).chosen] = True
        self._ballots |= ballots

    def _measure(self, setting: Setting, found: Sequence[Found]) -> Iterator[Point]:
        """Return a point for every latent width, each with its best map."""
        for width in self.task.widths:
            here = replace(setting, width=width)
            masks = np.zeros((len(self.rounds), self.rounds[0].gram.n_features), dtype=bool)
            errors = np.zeros(len(self.task.map_ridges))
            for number, (part, item) in enumerate(zip(self.rounds, found, strict=True)):
                chosen, per_row = self.task.finish(part, item, here)
                masks[number, chosen] = True
                errors += part.weight * per_row
            errors = np.maximum(errors, self._nothing)
            best = int(np.argmin(errors))
            here = replace(here, map_ridge=self.task.map_ridges[best])
            yield Point(here, float(errors[best]) / self._cells, *nogueira(masks[:, self._free]))


def held_out_groups(n_folds: int) -> list[tuple[int, ...]]:
    """Return the folds held out together: pairs, and a last one alone where their number is odd.

    Examples
    --------
    >>> held_out_groups(7)
    [(0, 3), (1, 4), (2, 5), (6,)]
    """
    half = n_folds // 2
    groups: list[tuple[int, ...]] = [(fold, fold + half) for fold in range(half)]
    return [*groups, (n_folds - 1,)] if n_folds % 2 else groups


def voting_groups(n_folds: int) -> list[tuple[int, ...]]:
    """Return combinations of about half of the folds that are left when a pair is held out.

    Combinations that touch few pairs come into question, since each votes in all rounds that hold out none of its
    folds; of these an evenly spaced selection.

    Examples
    --------
    >>> voters = voting_groups(10)
    >>> len(voters), [sum(not set(voter) & set(held) for voter in voters) for held in held_out_groups(10)]
    (44, [18, 19, 25, 15, 15])
    """
    groups = held_out_groups(n_folds)
    group_of = {fold: number for number, group in enumerate(groups) for fold in group}
    most = max(2, len(groups) - 2)
    fitting = [
        voter
        for voter in combinations(range(n_folds), max(1, (n_folds - 2) // 2))
        if len({group_of[fold] for fold in voter}) <= most
    ]
    step = max(1, -(-len(fitting) // _MOST_VOTERS))
    return fitting[::step]


def mean_ridge(ridges: Sequence[float]) -> float:
    """Return the geometric mean of ridge weights, to two digits; zeros are allowed.

    Examples
    --------
    >>> mean_ridge([0.1, 0.1]), mean_ridge([0.0, 0.1, 0.3]), mean_ridge([0.0])
    (0.1, 0.079, 0.0)
    """
    if len(set(ridges)) == 1:
        return ridges[0]
    mean = float(np.exp(np.mean(np.log(np.asarray(ridges) + _SMALL)))) - _SMALL
    return float(f"{max(mean, 0.0):.2g}")
