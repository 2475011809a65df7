"""Choose features for stability: the votes of subsamples, few ordered settings, and how stable the whole choice is.

Everything comes from the moments of ten folds of the samples, gathered in one pass. Combinations of four folds *vote*:
the same search on each tells which features it selects. A search that charges for every feature by the votes it lacks
gives up a little error for features that other samples would select too, and more the more it charges.

The settings are ordered by how much they give up; the first is the default, which gives up nothing. Each is measured on
folds held out in turn: the sets found without them give the stability, their samples the error. In every such round the
default is found anew on the samples left, its ridge included, and only combinations of these vote (with the ridge of
all samples, so that each votes once). A setting takes the place of one before it only if its error stays within what is
allowed and its stability exceeds that one's.

Which setting is chosen depends on the samples as well, so what is stated as the stability of the result is that of the
whole procedure: for every round the setting is chosen anew by the rounds that hold out other folds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import comb
from typing import Any, TypeVar

import numpy as np
from array_api_compat import is_numpy_array

from .._core import (
    MAX_SUBSETS,
    Gram,
    HeldOut,
    KeptSamples,
    Moments,
    hold_out_each,
    in_lock_step,
    kept_samples,
    memory_limit,
    merged,
)
from ..base import TargetNotReachedWarning, TooFewSamplesError, in_processes, in_threads
from ._default import Known, Searched, search_default, search_few_samples
from ._lock_step import search_ahead
from ._search import N_FOLDS, Setting, compared, find_columns, prove_columns
from ._stability_frontier import Measured, StabilityFrontier, choose
from ._stability_task import (
    LONG_PROOFS,
    PROVEN_VOTES,
    SMALL_SET,
    Round,
    Task,
    held_out_groups,
    voting_groups,
    warn_without_choice,
)

Result = TypeVar("Result")

STABILITY_FOLDS = 10
FEWEST_STABILITY_FOLDS = 6
"""Fewest folds with samples in them."""
_MOST_THREADS = 4
_FEW_FEATURES = 200
"""With fewer features than this, most of a search is Python's own work, which threads cannot share."""
_ARRAYS = 12
"""Arrays of the size of the moments that a round may hold."""


@dataclass(frozen=True)
class Chosen:
    """What the chosen setting selects on all samples, the votes it used, and all settings tried."""

    searched: Searched
    votes: np.ndarray | None
    frontier: StabilityFrontier


def choose_stable(folds: Sequence[Moments], task: Task) -> Chosen:
    """Select features by the most stable setting whose held-out error is within what is allowed.

    Parameters
    ----------
    folds : sequence of Moments
        Moments of parts of the samples, six at least.
    task : Task
        What is to be selected, and how.

    Returns
    -------
    Chosen
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
        if task.ridge_parts is not None:
            task = replace(task, ridge_parts=tuple(number % N_FOLDS for number in range(STABILITY_FOLDS)))
    warn_without_choice(task.wanted, int(folds[0].n_features or 0))
    procedure = Procedure(folds, task)
    settings, measured = procedure.measure()
    chosen = procedure.choose(measured)
    frontier = StabilityFrontier.from_measured(
        [procedure.whole.taken(setting) for setting in settings],
        measured,
        chosen,
        procedure.repeated(measured),
        task.max_error_increase,
        task.min_stability,
    )
    if not frontier.reached:
        warnings.warn(
            f"The stability {task.min_stability:g} is not reached within {task.max_error_increase:.0%} more held-out "
            f"error: repeated on other samples, the choice made here has {frontier.procedure_stability:.2f}. "
            "Lower min_stability, raise max_error_increase, or select another number of features.",
            TargetNotReachedWarning,
            stacklevel=2,
        )
    searched = procedure.whole.search(settings[chosen])
    votes = procedure.votes() if searched.setting.vote_weight else None
    return Chosen(searched, votes, frontier)


@dataclass(frozen=True)
class Ended:
    """What settings select in a round and their errors, its default, and the searches of few samples made for it."""

    found: list[tuple[list[int], float]]
    default: Searched
    known: Known


class Procedure:
    """The settings, measured with folds held out in turn.

    Parameters
    ----------
    folds : sequence of Moments
        Six at least.
    task : Task
        What is to be selected, and how.
    """

    def __init__(self, folds: Sequence[Moments], task: Task) -> None:
        self.folds, self.task = folds, task
        wanted = task.wanted
        self.n_features = int(folds[0].n_features or 0)
        # Features that nobody chose would make any choice look stable.
        self._free = np.setdiff1d(np.arange(self.n_features), [*wanted.include, *wanted.exclude])
        n_subsets = comb(len(self._free), wanted.k - len(wanted.include))
        self.prove_votes = wanted.plain.exchange and n_subsets <= PROVEN_VOTES
        few = wanted.plain.search != "training"
        quick = not few and not LONG_PROOFS < n_subsets <= MAX_SUBSETS
        self.groups = held_out_groups(len(folds), every=quick and wanted.k <= SMALL_SET)
        if few:
            self.groups = self.groups[-len(folds) :]  # these searches take longest
        self.voters = voting_groups(len(folds))
        self.defaults: dict[tuple[int, ...], Searched] = {}
        self.searched: dict[tuple[tuple[int, ...], Setting], Searched] = {}
        self.known: dict[tuple[int, ...], Known] = {}
        self.ballots: dict[tuple[int, ...], list[int]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the arrays of all samples, which rounds and votes in other processes do not need."""
        return {name: value for name, value in vars(self).items() if name != "whole"}

    @cached_property
    def whole(self) -> Part:
        """All samples."""
        return self.part(())

    def part(self, held: tuple[int, ...]) -> Part:
        """Return the samples without some folds."""
        return Part(self, held)

    def measure(self) -> tuple[list[Setting], Measured]:
        """Return the settings tried, part by part until one is stable enough, and what was measured of them."""
        cells = [sum(self.folds[fold].weight_sum for fold in group) * self.n_features for group in self.groups]
        settings: list[Setting] = []
        masks: list[np.ndarray] = []
        errors: list[np.ndarray] = []
        for step in self.task.steps():
            if self.task.wanted.plain.search == "training" and in_lock_step(self.folds[0]):
                search_ahead(self, step)
            if step[-1].vote_weight and not self.ballots:
                vote = partial(self._ballot, self.whole.default.setting.ridge)
                self.ballots.update(zip(self.voters, self._searched(vote, self.voters, "votes"), strict=True))
            found = np.zeros((len(step), len(self.groups), self.n_features), dtype=bool)
            error = np.zeros((len(step), len(self.groups)))
            rounds = self._searched(partial(self._round, step), self.groups, "rounds")
            for number, (group, ended) in enumerate(zip(self.groups, rounds, strict=True)):
                self.defaults[group], self.known[group] = ended.default, ended.known
                for row, (chosen, loss) in enumerate(ended.found):
                    found[row, number, chosen], error[row, number] = True, loss
            settings += step
            masks.append(found[:, :, self._free])
            errors.append(error)
            measured = Measured(np.concatenate(masks), np.concatenate(errors), np.array(cells))
            if all(self._ends(measured.of(rounds)) for rounds in (range(len(self.groups)), *self._others())):
                break
        return settings, measured

    def choose(self, measured: Measured) -> int:
        """Return the number of the setting to take."""
        return choose(measured, self.task.max_error_increase, self.task.min_stability)

    def repeated(self, measured: Measured) -> np.ndarray:
        """Return what the whole procedure selects in every round (rounds x features that it may choose)."""
        chosen = [self.choose(measured.of(rounds)) for rounds in self._others()]
        return np.array([measured.masks[setting, number] for number, setting in enumerate(chosen)])

    def votes(self, outside: Sequence[int] = ()) -> np.ndarray:
        """Return for every feature the fraction of voters that select it, of those with no fold in ``outside``."""
        free = [voter for voter in self.voters if not set(voter) & set(outside)]
        votes = np.zeros(self.n_features)
        for voter in free:
            votes[self.ballots[voter]] += 1
        return votes / len(free)

    def _ballot(self, ridge: float | None, voter: tuple[int, ...]) -> list[int]:
        """Return what a voter selects."""
        wanted = self.task.wanted
        gram, _ = merged([self.folds[fold] for fold in voter]).operator().normalised()
        plain = Setting(ridge, wanted.plain.exchange)
        found = find_columns(gram, wanted.k, plain, wanted.include, wanted.exclude)
        if self.prove_votes:
            found = prove_columns(gram, found, plain, wanted.include, wanted.exclude)
        return found.chosen

    def _round(self, settings: Sequence[Setting], group: tuple[int, ...]) -> Ended:
        part = self.part(group)
        return Ended([part.finish(setting) for setting in settings], part.default, part.known)

    def _searched(
        self, search: Callable[[tuple[int, ...]], Result], groups: Sequence[tuple[int, ...]], what: str
    ) -> list[Result]:
        """Return what a search gives for each of several groups of folds."""
        if not is_numpy_array(self.folds[0].mean):  # arrays on a device stay in this process
            return in_processes(search, groups, what, None)
        if self.task.n_jobs is None:
            return in_threads(search, groups, what, self._threads())
        return in_processes(search, groups, what, self.task.n_jobs)

    def _threads(self) -> int:
        """Return how many rounds may be searched at a time: Python's own part of the work and memory limit them."""
        if self.n_features < _FEW_FEATURES:
            return 1
        n = sum(fold.n_samples for fold in self.folds)
        round_memory = _ARRAYS * 8 * self.n_features * min(n, self.n_features)
        return max(1, min(_MOST_THREADS, int(memory_limit() / round_memory)))

    def _others(self) -> list[list[int]]:
        """Return for every round those that hold out none of its folds."""
        return [
            [number for number, other in enumerate(self.groups) if not set(group) & set(other)] for group in self.groups
        ]

    def _ends(self, measured: Measured) -> bool:
        """Tell whether no further setting needs to be tried."""
        wanted = self.task.min_stability
        if wanted is None or not measured.within(self.task.max_error_increase)[-1]:
            return True
        return not measured.stability(self.choose(measured)) < wanted


class Part:
    """The samples without some folds, and what the settings find in them.

    Parameters
    ----------
    procedure : Procedure
        The folds, and what is known already.
    held : tuple of int
        The folds held out.
    """

    def __init__(self, procedure: Procedure, held: tuple[int, ...]) -> None:
        self.procedure, self.held, self.wanted = procedure, held, procedure.task.wanted
        self.left = [fold for fold in range(len(procedure.folds)) if fold not in held]
        self.moments = merged([procedure.folds[fold] for fold in self.left])
        self.known = procedure.known.setdefault(held, {})

    @cached_property
    def gram(self) -> Gram:
        """The moments, of mean variance one."""
        return self.moments.operator().normalised()[0]

    @cached_property
    def samples(self) -> KeptSamples | None:
        """The samples, where they are few and the leave-one-out error decides."""
        return None if self.wanted.plain.search == "training" else kept_samples(self.moments, self.gram)

    @cached_property
    def round(self) -> Round:
        """These samples, and those held out."""
        test = merged([self.procedure.folds[fold] for fold in self.held])
        return Round(*compared(self.moments, test))

    @property
    def default(self) -> Searched:
        """What is selected without regard to stability."""
        known = self.procedure.defaults
        if self.held not in known:
            known[self.held] = search_default(self.gram, self.samples, self.held_out(), self.wanted, self.known)
        return known[self.held]

    def taken(self, setting: Setting) -> Setting:
        """Return a setting with the ridge weights it takes here."""
        own = self.default.setting
        if setting == self.wanted.plain:
            return own
        ridge, mapped = setting.ridge, own.ridge if self.procedure.task.own_map else None
        return replace(setting, ridge=own.ridge if ridge is None else ridge, map_ridge=mapped)

    def search(self, setting: Setting) -> Searched:
        """Return what a setting finds."""
        wanted, taken = self.wanted, self.taken(setting)
        if setting == wanted.plain:
            return self.default
        if (self.held, setting) in self.procedure.searched:
            return self.procedure.searched[self.held, setting]
        if taken.search != "training" and self.samples is not None:
            few, taken = search_few_samples(self.samples, wanted.k, taken, wanted.include, wanted.exclude, self.known)
            return Searched(few.found, taken, few)
        start = votes = None
        if taken.vote_weight:
            start, votes = self.default.found.chosen, self.procedure.votes(self.held)
        taken = replace(taken, search="training")
        return Searched(find_columns(self.gram, wanted.k, taken, wanted.include, wanted.exclude, votes, start), taken)

    def finish(self, setting: Setting) -> tuple[list[int], float]:
        """Return what a setting selects, and its error summed over the samples held out."""
        searched, part = self.search(setting), self.round
        chosen, error = self.procedure.task.finish(part, searched.found, searched.setting)
        # Below this an error is rounding, and a fraction of it means nothing.
        return chosen, part.weight * max(error, 1e-12 * self.procedure.n_features)

    def held_out(self) -> list[HeldOut]:
        """Return the parts by whose error the default chooses its ridge."""
        if self.samples is not None or self.wanted.plain.ridge is not None:
            return []
        part_of = self.procedure.task.ridge_parts or tuple(range(len(self.procedure.folds)))
        parts = [[fold for fold in self.left if part_of[fold] == part] for part in range(max(part_of) + 1)]
        return hold_out_each([merged([self.procedure.folds[fold] for fold in part]) for part in parts if part])
