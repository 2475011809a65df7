"""The frontier of held-out error against stability over ridge, search depth, weight of votes and latent width.

Everything comes from the moments of ten folds of the rows, gathered in one pass. Pairs of folds are held out in turn:
the sets found without them give the stability, their rows the error. Combinations of about half of the other folds
*vote*: the same search on each tells which columns it keeps. A search that charges for every column by the votes it
lacks gives up a little error for columns that other rows would choose too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from .._arrays import Array
from .._folds import merged
from .._gram import Gram
from .._nogueira import nogueira
from ..moments import Moments
from ._ridge import leave_out, map_error
from ._search import Found, Setting, find_columns

N_FOLDS = 10
FEWEST_FOLDS = 6
"""Folds with rows in them at least."""
RIDGES = (0.0, 0.1, 0.3, 1.0, 3.0)
"""Relative ridge weights looked at where the ridge is "auto"."""
CONSENSUS = (0.01, 0.03, 0.1, 0.3)
"""Weights of the votes looked at."""
_MOST_VOTERS = 44

Finish = Callable[[Gram, Found, Setting], tuple[list[int], Array]]
"""From the columns found to those kept, and the map (m x k) from them to all columns."""


@dataclass(frozen=True)
class Point:
    """A setting, the error per cell on held-out rows, and the stability of the sets with its standard error."""

    setting: Setting
    error: float
    stability: float
    standard_error: float


@dataclass(frozen=True)
class Task:
    """What the frontier is measured for.

    Attributes
    ----------
    k : int
        Columns to keep.
    include, exclude : list of int
        Columns that must or must not be kept.
    ridges : tuple of float
        Ridge weights to look at, smallest first.
    exchange : bool
        Whether columns may be swapped; without, only the ridge is left to choose.
    widths : tuple of int or None
        Latent widths to look at.
    map_ridges : tuple of float or None
        Ridge weights of the map to look at, None for that of the search; the one of least error counts.
    limit : float
        Settings whose error is above this multiple of the least are not followed up.
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
    limit: float
    finish: Finish


@dataclass(frozen=True)
class _Round:
    """Some folds held out, and the others."""

    held: tuple[int, ...]
    gram: Gram
    target: Gram
    shift: Array
    weight: float


class FrontierSearch:
    """Measure settings on the folds of one table.

    Parameters
    ----------
    folds : sequence of Moments
        Six at least.
    task : Task
        What for.
    """

    def __init__(self, folds: Sequence[Moments], task: Task) -> None:
        self.task, self.folds = task, folds
        self.rounds = [_Round(held, *leave_out(folds, held)) for held in held_out_groups(len(folds))]
        self.voters = voting_groups(len(folds))
        self._cells = sum(part.weight_sum for part in folds) * self.rounds[0].gram.n_features
        self._ballots: dict[float, np.ndarray] = {}

    def points(self) -> list[Point]:
        """Return the points, in the order in which they were measured."""
        task = self.task
        points: list[Point] = []
        starts: dict[float, list[list[int]]] = {}
        for ridge in task.ridges:
            depths = (False, True) if task.exchange else (False,)
            for exchange in depths:
                found = [self._find(part, Setting(ridge, exchange)) for part in self.rounds]
                points += self._measure(Setting(ridge, exchange), found)
            starts[ridge] = [item.chosen for item in found]
            if self._worth(points, ridge) > task.limit:
                break
        if not task.exchange:
            return points
        promising = [ridge for ridge in starts if self._worth(points, ridge) <= task.limit]
        self._vote(promising)
        for ridge in promising:
            for consensus in CONSENSUS:
                setting = Setting(ridge, True, consensus)
                # The set under a smaller weight is close by, and the one without votes is the same for all weights.
                found = [
                    self._find(part, setting, start) for part, start in zip(self.rounds, starts[ridge], strict=True)
                ]
                more = list(self._measure(setting, found))
                points += more
                if min(point.error for point in more) > task.limit * min(point.error for point in points):
                    break
        return points

    def votes(self, ridge: float, outside: Iterable[int] = ()) -> np.ndarray:
        """Return for every column the share of voters that keep it, of those with no fold in ``outside``."""
        if ridge not in self._ballots:
            self._vote([ridge])
        free = [not set(voter) & set(outside) for voter in self.voters]
        return np.asarray(self._ballots[ridge][free].mean(axis=0))

    def _worth(self, points: Sequence[Point], ridge: float) -> float:
        """Return the least error with a ridge weight, as a multiple of the least of all."""
        least = min(point.error for point in points)
        own = min(point.error for point in points if point.setting.ridge == ridge)
        return own / least if least > 0 else 1.0

    def _find(self, part: _Round, setting: Setting, start: Sequence[int] | None = None) -> Found:
        task = self.task
        votes = self.votes(setting.ridge, part.held) if setting.consensus else None
        return find_columns(part.gram, task.k, setting, task.include, task.exclude, votes, start)

    def _vote(self, ridges: Sequence[float]) -> None:
        """Let the voters search with every ridge weight."""
        task, m = self.task, self.rounds[0].gram.n_features
        ballots = {ridge: np.zeros((len(self.voters), m), dtype=bool) for ridge in ridges}
        for number, voter in enumerate(self.voters):
            moments = merged([self.folds[fold] for fold in voter])
            gram, _ = moments.operator().normalised()
            for ridge, ballot in ballots.items():
                # With few rows against columns exchange costs most, and changes the choice no more than chance does.
                setting = Setting(ridge, exchange=moments.form == "primal")
                found = find_columns(gram, task.k, setting, task.include, task.exclude)
                ballot[number, found.chosen] = True
        self._ballots |= ballots

    def _measure(self, setting: Setting, found: Sequence[Found]) -> Iterator[Point]:
        """Return a point for every latent width, each with its best map."""
        for width in self.task.widths:
            tried = [
                self._point(replace(setting, width=width, map_ridge=ridge), found) for ridge in self.task.map_ridges
            ]
            yield min(tried, key=lambda point: point.error)

    def _point(self, setting: Setting, found: Sequence[Found]) -> Point:
        masks = np.zeros((len(self.rounds), self.rounds[0].gram.n_features), dtype=bool)
        error = 0.0
        for number, (part, item) in enumerate(zip(self.rounds, found, strict=True)):
            chosen, V = self.task.finish(part.gram, item, setting)
            masks[number, chosen] = True
            error += part.weight * map_error(V, part.target, part.shift, chosen)
        return Point(setting, error / self._cells, *nogueira(masks))


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


def choose_point(points: Sequence[Point], tolerance: float, target: float | None) -> tuple[int, bool]:
    """Return the number of the point to take, and whether it meets what was asked for.

    Without a target: the most stable within the tolerance of the least error. With one: the least error among those at
    least so stable, or the most stable of all where none is.
    """
    stability = np.array([point.stability for point in points])
    error = np.array([point.error for point in points])
    if np.isnan(stability).all():  # every column is kept
        return int(np.argmin(error)), True
    if target is None:
        near = error <= (1 + tolerance) * error.min()
        return int(np.lexsort((error, -np.where(near, stability, -np.inf)))[0]), True
    good = stability >= target
    if not good.any():
        return int(np.lexsort((error, -stability))[0]), False
    return int(np.argmin(np.where(good, error, np.inf))), True
