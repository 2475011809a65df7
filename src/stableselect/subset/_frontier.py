"""Choose features for stability: the votes of subsamples, few ordered settings, and how stable the whole choice is.

Everything comes from the moments of ten folds of the samples, gathered in one pass. Combinations of three folds *vote*:
the same search on each tells which features it selects. A search that charges for every feature by the votes it lacks
gives up a little error for features that other samples would select too. More ridge makes the choice more stable still,
and costs more error.

The settings are ordered by how much they give up. Each is measured on folds held out in turn: the sets found without
them give the stability, their samples the error. Which setting is chosen depends on the samples as well, so what is
stated as the stability of the result is that of the whole procedure: it is repeated without the folds held out, choice
of the setting included.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from .._core import Array, Gram, Moments, kept_samples, merged, nogueira
from ..base import TargetNotReachedWarning, TooFewSamplesError
from ._few_samples import search_few_samples
from ._fold_groups import held_out_groups, inner_groups, voting_groups
from ._ridge import RIDGE_GRID, compared, refit_errors
from ._search import Found, Setting, find_columns
from ._stability_frontier import Point, StabilityFrontier, first_stable, most_stable

STABILITY_FOLDS = 10
FEWEST_STABILITY_FOLDS = 6
"""Fewest folds with samples in them."""
VOTE_WEIGHT = 0.05
"""What a feature without a vote costs, as a fraction of the loss."""
RIDGES = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Relative ridge weights tried where the ridge is "auto" and a stability is asked for."""
FEW_SAMPLES_RIDGES = (1.0, 3.0, 10.0, 30.0)
"""Relative ridge weights of searches on the leave-one-out error; the last two only where a stability is asked for."""
MAP_RIDGES = tuple(ridge for ridge in RIDGE_GRID if ridge <= 1.0)
"""Relative ridge weights of the map tried where the ridge is "auto"."""


@dataclass(frozen=True)
class Round:
    """Some folds held out, and the others: the moments of these, and of those in the same units.

    ``shift`` is the difference of the means, and an error per sample times ``weight`` is one in the units of the
    samples, summed over the samples held out.
    """

    gram: Gram
    target: Gram
    shift: Array
    weight: float


Finish = Callable[[Round, Found, Setting], tuple[list[int], np.ndarray]]
"""From the features found in a round to those selected, and their held-out errors with each map ridge of the task."""


@dataclass(frozen=True)
class Task:
    """What is to be selected, and how.

    Attributes
    ----------
    k : int
        Number of features to select.
    include, exclude : list of int
        Features that must or must not be selected.
    ridges : tuple of float
        Ridge weights to try, smallest first.
    exchange : bool
        Whether features may be swapped.
    map_ridges : tuple of float or None
        Ridge weights of the map to try, None for that of the search; the one of least error counts.
    finish : callable
        See :data:`Finish`.
    max_error_increase : float
        Largest relative increase in held-out error accepted for stability.
    min_stability : float or None
        The stability asked for, if any.
    few_samples : bool
        Whether the samples are few and kept, so that the leave-one-out error can be searched on.
    """

    k: int
    include: list[int]
    exclude: list[int]
    ridges: tuple[float, ...]
    exchange: bool
    map_ridges: tuple[float | None, ...]
    finish: Finish
    max_error_increase: float
    min_stability: float | None
    few_samples: bool = False

    def settings(self) -> list[Setting]:
        """Return the settings, from the one that gives up nothing to the one that gives up most."""
        if self.few_samples:
            plain = Setting(None, self.exchange, search="few_samples")
            stable = [Setting(ridge, False, search="leave_one_out") for ridge in FEW_SAMPLES_RIDGES]
            return [plain, *(stable[:2] if self.min_stability is None else stable)]
        plain = Setting(self.ridges[0], self.exchange)
        ridges = self.ridges[:1] if self.min_stability is None else self.ridges
        return [plain, *(Setting(ridge, self.exchange, VOTE_WEIGHT) for ridge in ridges)]

    def choose(self, points: Sequence[Point]) -> int:
        """Return the number of the setting to take."""
        if self.min_stability is None:
            return most_stable(points, self.max_error_increase)
        return first_stable(points, self.max_error_increase, self.min_stability)


def choose_setting(folds: Sequence[Moments], task: Task) -> tuple[Setting, np.ndarray | None, StabilityFrontier]:
    """Choose the setting of a search by its held-out error and the stability of what it selects.

    Parameters
    ----------
    folds : sequence of Moments
        Moments of parts of the samples, six at least.
    task : Task
        What is to be selected, and how.

    Returns
    -------
    setting : Setting
        The one chosen.
    votes : ndarray of shape (m,) or None
        Fraction of subsamples that select each feature, where the setting uses it.
    frontier : StabilityFrontier
        All settings tried, and the stability of the whole procedure.
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
    procedure = Procedure(folds, task)
    points, chosen = procedure.choose(procedure.groups)
    frontier = StabilityFrontier.from_points(
        points, chosen, procedure.repeated(), task.max_error_increase, task.min_stability
    )
    if not frontier.reached:
        warnings.warn(
            f"The stability {task.min_stability:g} is not reached within {task.max_error_increase:.0%} more held-out "
            f"error: repeated on other samples, the choice made here has {frontier.procedure_stability:.2f}. "
            "Lower min_stability, raise max_error_increase, or select another number of features.",
            TargetNotReachedWarning,
            stacklevel=2,
        )
    setting = points[chosen].setting
    return setting, procedure.votes(setting) if setting.vote_weight else None, frontier


def refit_finisher(map_ridges: Sequence[float | None]) -> Finish:
    """Return what takes the features found in a round as they are, and tells their held-out errors."""

    def finish(part: Round, found: Found, setting: Setting) -> tuple[list[int], np.ndarray]:
        weights = [setting.refit if ridge is None else ridge for ridge in map_ridges]
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


class Procedure:
    """The whole choice, which can be repeated without some of the folds.

    Parameters
    ----------
    folds : sequence of Moments
        Six at least.
    task : Task
        What is to be selected, and how.
    """

    def __init__(self, folds: Sequence[Moments], task: Task) -> None:
        self.folds, self.task = folds, task
        self.settings = task.settings()
        self.groups = held_out_groups(len(folds))
        if task.few_samples:
            self.groups = self.groups[-len(folds) :]  # these searches take long
        self.voters = voting_groups(len(folds))
        self.n_features = int(folds[0].n_features or 0)
        self._ballots: dict[float | None, np.ndarray] = {}
        self._sets: dict[tuple[tuple[int, ...], Setting], np.ndarray] = {}
        # Features that nobody chose would make any choice look stable.
        self._free = np.setdiff1d(np.arange(self.n_features), [*task.include, *task.exclude])

    def choose(self, groups: Sequence[tuple[int, ...]], outside: tuple[int, ...] = ()) -> tuple[list[Point], int]:
        """Measure the settings with each group of folds held out, and choose one.

        Parameters
        ----------
        groups : sequence of tuples of int
            Folds held out together.
        outside : tuple of int
            Folds that are not looked at.

        Returns
        -------
        points : list of Point
            The settings tried: one after the other, until one is stable enough or its error too large.
        chosen : int
            The one chosen.
        """
        points = self._measured(self.settings[:2], groups, outside)
        for setting in self.settings[2:]:
            least = min(point.error for point in points)
            if points[-1].error > (1 + self.task.max_error_increase) * least:
                break
            wanted = self.task.min_stability
            if wanted is not None and points[self.task.choose(points)].stability >= wanted:
                break
            points += self._measured([setting], groups, outside)
        return points, self.task.choose(points)

    def repeated(self) -> np.ndarray:
        """Return what the whole procedure selects without each group of folds (runs x features that it may choose)."""
        sets = []
        for outside in self.groups:
            left = [fold for fold in range(len(self.folds)) if fold not in outside]
            inner = inner_groups(left, len(outside))
            points, chosen = self.choose(inner[:2] if self.task.few_samples else inner, outside)
            setting = replace(points[chosen].setting, map_ridge=None)
            if (outside, setting) not in self._sets:
                self._search([setting], outside, ())
            sets.append(self._sets[outside, setting])
        return np.array(sets)

    def votes(self, setting: Setting, outside: Sequence[int] = ()) -> np.ndarray:
        """Return for every feature the fraction of voters that select it, of those with no fold in ``outside``."""
        task = self.task
        if setting.ridge not in self._ballots:
            ballot = np.zeros((len(self.voters), self.n_features), dtype=bool)
            for number, voter in enumerate(self.voters):
                gram, _ = merged([self.folds[fold] for fold in voter]).operator().normalised()
                plain = Setting(setting.ridge, task.exchange)
                ballot[number, find_columns(gram, task.k, plain, task.include, task.exclude).chosen] = True
            self._ballots[setting.ridge] = ballot
        free = [not set(voter) & set(outside) for voter in self.voters]
        return np.asarray(self._ballots[setting.ridge][free].mean(axis=0))

    def _measured(
        self, settings: Sequence[Setting], groups: Sequence[tuple[int, ...]], outside: tuple[int, ...]
    ) -> list[Point]:
        """Return error and stability of settings, each with its best map."""
        masks = np.zeros((len(groups), len(settings), len(self._free)), dtype=bool)
        errors = np.zeros((len(settings), len(self.task.map_ridges)))
        cells = sum(self.folds[fold].weight_sum for group in groups for fold in group) * self.n_features
        for number, group in enumerate(groups):
            masks[number], error = self._search(settings, group, outside)
            errors += error
        points = []
        for row, setting in enumerate(settings):
            best = int(np.argmin(errors[row]))
            setting = replace(setting, map_ridge=self.task.map_ridges[best])
            points.append(Point(setting, float(errors[row, best]) / cells, *nogueira(masks[:, row])))
        return points

    def _search(
        self, settings: Sequence[Setting], group: tuple[int, ...], outside: tuple[int, ...]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what each setting selects without some folds, and the errors of every map on those of the group."""
        held = (*outside, *group)
        train = merged([part for fold, part in enumerate(self.folds) if fold not in held])
        part = Round(*compared(train, merged([self.folds[fold] for fold in group])))
        masks, errors = np.zeros((len(settings), self.n_features), dtype=bool), []
        starts: dict[float | None, list[int]] = {}
        for mask, setting in zip(masks, settings, strict=True):
            if setting.search == "training":
                found, used = self._find(part.gram, setting, held, starts.get(setting.ridge)), setting
                starts[setting.ridge] = found.chosen
            else:
                found, used = self._find_few(train, setting)
            chosen, error = self.task.finish(part, found, used)
            mask[chosen] = True
            # Below this an error is rounding, and a fraction of it means nothing.
            errors.append(part.weight * np.maximum(error, 1e-12 * self.n_features))
            if not outside:
                self._sets[group, setting] = mask[self._free]
        return masks[:, self._free], np.array(errors)

    def _find_few(self, moments: Moments, setting: Setting) -> tuple[Found, Setting]:
        """Return what a setting for few samples finds, and the setting with the ridge weight it took."""
        task, samples = self.task, kept_samples(moments)
        if samples is None:  # too few different samples are left to leave one out
            setting = replace(setting, search="training")
            return find_columns(
                moments.operator().normalised()[0], task.k, setting, task.include, task.exclude
            ), setting
        few, setting = search_few_samples(samples, task.k, setting, task.include, task.exclude)
        return few.found, setting

    def _find(self, gram: Gram, setting: Setting, held: Sequence[int], start: Sequence[int] | None) -> Found:
        task = self.task
        votes = self.votes(setting, held) if setting.vote_weight else None
        return find_columns(gram, task.k, setting, task.include, task.exclude, votes, start)
