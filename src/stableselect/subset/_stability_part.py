"""One round of a choice for stability: the samples without some folds, and what the settings find in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Protocol

import numpy as np

from .._core import Gram, HeldOut, KeptSamples, Moments, hold_out_each, kept_samples, merged
from ._default import Known, Searched, search_default, search_few_samples
from ._round import Round
from ._search import Setting, find_columns
from ._stability_task import Finished, Held, Search, Task


class Procedure(Protocol):
    """What is asked of a :class:`~stableselect.subset._frontier.Procedure`, and where results are noted."""

    task: Task
    groups: list[Held]
    voters: list[Held]
    prove_votes: bool
    searched: dict[Search, Searched]
    finished: dict[Search, Finished]
    known: dict[Held, Known]
    ballots: dict[Held, list[int]]

    @property
    def folds(self) -> Sequence[Moments]: ...

    def part(self, held: Held) -> Part: ...

    def voting(self, voter: Held) -> Gram: ...

    def votes(self, outside: Sequence[int] = ()) -> np.ndarray: ...


class Part:
    """The samples without some folds, and what the settings find in them.

    Parameters
    ----------
    procedure : Procedure
        The folds, and what is known already.
    held : tuple of int
        The folds held out.
    """

    def __init__(self, procedure: Procedure, held: Held) -> None:
        self.procedure, self.held, self.wanted = procedure, held, procedure.task.wanted
        self.left = [fold for fold in range(len(procedure.folds)) if fold not in held]
        self.known = procedure.known.setdefault(held, {})

    @cached_property
    def moments(self) -> Moments:
        """Those of the samples."""
        return merged([self.procedure.folds[fold] for fold in self.left])

    @cached_property
    def round(self) -> Round:
        """The samples, and those held out."""
        return Round.of(self.moments, merged([self.procedure.folds[fold] for fold in self.held]))

    @cached_property
    def gram(self) -> Gram:
        """The moments, of mean variance one."""
        return self.moments.operator().normalised()[0]

    @cached_property
    def samples(self) -> KeptSamples | None:
        """The samples, where they are few and the leave-one-out error decides."""
        return None if self.wanted.plain.search == "training" else kept_samples(self.moments, self.gram)

    @property
    def default(self) -> Searched:
        """What is selected without regard to stability."""
        return self.search(self.wanted.plain)

    def taken(self, setting: Setting) -> Setting:
        """Return a setting with the ridge weights it takes here."""
        own = self.default.setting
        if setting == self.wanted.plain:
            return own
        ridge, mapped = setting.ridge, own.ridge if self.procedure.task.own_map else None
        return replace(setting, ridge=own.ridge if ridge is None else ridge, map_ridge=mapped)

    def search(self, setting: Setting) -> Searched:
        """Return what a setting finds."""
        known = self.procedure.searched
        if (self.held, setting) not in known:
            known[self.held, setting] = self._search(setting)
        return known[self.held, setting]

    def _search(self, setting: Setting) -> Searched:
        wanted = self.wanted
        if setting == wanted.plain:
            return search_default(self.gram, self.samples, self.held_out(), wanted, self.known)
        taken = self.taken(setting)
        if taken.search != "training" and self.samples is not None:
            few, taken = search_few_samples(self.samples, wanted.k, taken, wanted.include, wanted.exclude, self.known)
            return Searched(few.found, taken, few)
        start = votes = None
        if taken.vote_weight:
            start, votes = self.default.found.chosen, self.procedure.votes(self.held)
        taken = replace(taken, search="training")
        return Searched(find_columns(self.gram, wanted.k, taken, wanted.include, wanted.exclude, votes, start), taken)

    def finish(self, setting: Setting) -> Finished:
        """Return what a setting selects, and its error summed over the samples held out."""
        if (self.held, setting) in self.procedure.finished:
            return self.procedure.finished[self.held, setting]
        searched, part = self.search(setting), self.round
        chosen, error = self.procedure.task.finish(part, searched.found, searched.setting)
        return chosen, part.summed(error)

    def held_out(self) -> list[HeldOut]:
        """Return the parts by whose error the default chooses its ridge."""
        if self.samples is not None or self.wanted.plain.ridge is not None:
            return []
        part_of = self.procedure.task.ridge_parts or tuple(range(len(self.procedure.folds)))
        parts = [[fold for fold in self.left if part_of[fold] == part] for part in range(max(part_of) + 1)]
        return hold_out_each([merged([self.procedure.folds[fold] for fold in part]) for part in parts if part])
