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
from functools import partial
from math import comb
from typing import Any, TypeVar

import numpy as np
from array_api_compat import is_numpy_array

from .._core import (
    MAX_SUBSETS,
    Gram,
    Moments,
    in_lock_step,
    memory_limit,
    merged,
)
from ..base import SentOnce, TargetNotReachedWarning, TooFewSamplesError, in_processes, in_threads
from ._default import Known, Searched
from ._lock_step import search_ahead
from ._search import N_FOLDS, Setting, find_columns, prove_columns
from ._stability_frontier import Measured, StabilityFrontier, choose
from ._stability_part import Part
from ._stability_task import (
    LONG_PROOFS,
    PROVEN_VOTES,
    SMALL_SET,
    Finished,
    Held,
    Search,
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
_FEW_FEATURES = 1000
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
    with procedure.shared:
        settings, measured = procedure.measure()
    chosen, whole = procedure.choose(measured), procedure.part(())
    frontier = StabilityFrontier.from_measured(
        [whole.taken(setting) for setting in settings],
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
    searched = whole.search(settings[chosen])
    votes = procedure.votes() if searched.setting.vote_weight else None
    return Chosen(searched, votes, frontier)


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
        self.shared, self.task = SentOnce(folds), task
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
        self._most = 2 * (len(folds) + 1) if few else len(self.voters)  # searches to be shared out at a time
        self.searched: dict[Search, Searched] = {}
        self.finished: dict[Search, Finished] = {}
        self.known: dict[Held, Known] = {}
        self.ballots: dict[Held, list[int]] = {}

    @property
    def folds(self) -> Sequence[Moments]:
        """Moments of the folds."""
        return self.shared.value

    def part(self, held: Held) -> Part:
        """Return the samples without some folds."""
        return Part(self, held)

    def voting(self, voter: Held) -> Gram:
        """Return the moments of the samples of a voter, of mean variance one."""
        return merged([self.folds[fold] for fold in voter]).operator().normalised()[0]

    def measure(self) -> tuple[list[Setting], Measured]:
        """Return the settings tried, part by part until one is stable enough, and what was measured of them."""
        cells = [sum(self.folds[fold].weight_sum for fold in group) * self.n_features for group in self.groups]
        settings: list[Setting] = []
        masks: list[np.ndarray] = []
        errors: list[np.ndarray] = []
        plain, parts = self.task.wanted.plain, [(), *self.groups]
        # With several processes it is not waited for which setting all samples are to be searched with.
        later = self.groups if self.task.n_jobs in (None, 1) else parts
        for step in self.task.steps():
            if plain.search == "training" and in_lock_step(self.folds[0]):
                search_ahead(self, step)
            self._search([(held, plain) for held in parts], "defaults")
            if step[-1].vote_weight and not self.ballots:
                vote = partial(self._ballot, self.searched[(), plain].setting.ridge)
                self.ballots.update(zip(self.voters, self._each(vote, self.voters, "votes"), strict=True))
            self._search([(held, setting) for setting in step if setting != plain for held in later], "searches")
            found = np.zeros((len(step), len(self.groups), self.n_features), dtype=bool)
            error = np.zeros((len(step), len(self.groups)))
            for number, ended in enumerate(self._each(partial(self._round, step), self.groups, "rounds")):
                for row, (chosen, loss) in enumerate(ended):
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

    def _ballot(self, ridge: float | None, voter: Held) -> list[int]:
        """Return what a voter selects."""
        wanted = self.task.wanted
        gram = self.voting(voter)
        plain = Setting(ridge, wanted.plain.exchange)
        found = find_columns(gram, wanted.k, plain, wanted.include, wanted.exclude)
        if self.prove_votes:
            found = prove_columns(gram, found, plain, wanted.include, wanted.exclude)
        return found.chosen

    def _round(self, settings: Sequence[Setting], group: Held) -> list[Finished]:
        """Return what settings select in a round, and their errors."""
        part = self.part(group)
        return [part.finish(setting) for setting in settings]

    def _search(self, searches: Sequence[Search], what: str) -> None:
        """Note what searches find."""
        searches = [search for search in searches if search not in self.searched]
        found = self._each(self._found, searches, what)
        for (held, setting), (searched, known) in zip(searches, found, strict=True):
            self.searched[held, setting] = searched
            self.known.setdefault(held, {}).update(known)

    def _found(self, search: Search) -> tuple[Searched, Known]:
        """Return what a search finds, and the searches of few samples made for it."""
        part = self.part(search[0])
        return part.search(search[1]), part.known

    def _each(self, function: Callable[[Any], Result], items: Sequence[Any], what: str) -> list[Result]:
        """Return a function of every item."""
        if not is_numpy_array(self.folds[0].mean):  # arrays on a device stay in this process
            return in_processes(function, items, what, None)
        if self.task.n_jobs is None:
            return in_threads(function, items, what, self._threads())
        return in_processes(function, items, what, self.task.n_jobs, self._most)

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
