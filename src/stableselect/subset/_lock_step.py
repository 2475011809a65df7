"""A choice for stability on tensors: the searches of all rounds and votes go in lock step.

What :class:`~stableselect.subset._frontier.Procedure` would search round by round is found here beforehand, for as many
rounds at a time as fit in memory, and noted where the rounds look for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from .._core import (
    Gram,
    HeldOut,
    exchange_each,
    forward_search,
    forward_searches,
    like,
    losses_each,
    map_errors,
    order_each,
    parts_in_memory,
)
from ._default import Searched, Wanted
from ._ridge import RIDGE_GRID, Trial, errors_in_lock_step, least_ridge
from ._search import Found, Setting, prove_columns
from ._stability_part import Part, Procedure
from ._stability_task import refit_finish


def find_each(
    grams: Sequence[Gram],
    settings: Sequence[Setting],
    wanted: Wanted,
    votes: Sequence[np.ndarray] | None = None,
    starts: Sequence[list[int]] | None = None,
) -> list[Found]:
    """Return what :func:`~stableselect.subset._search.find_columns` finds for each of several moments.

    Parameters
    ----------
    grams : sequence of Gram
        The moments, held whole in tensors.
    settings : sequence of Setting
        How to search each of them; all of them exchange features, or none does.
    wanted : Wanted
        What is to be selected.
    votes : sequence of ndarray, optional
        The votes of each.
    starts : sequence of list of int, optional
        What each search without votes finds; given with the votes.

    Returns
    -------
    list of Found
    """
    k, include, exclude = wanted.k, wanted.include, wanted.exclude
    lanes = [(gram, float(setting.ridge or 0.0)) for gram, setting in zip(grams, settings, strict=True)]
    exchange = settings[0].exchange
    if starts is None or votes is None:
        chosen, prices = forward_searches(lanes, k, include, exclude), [None] * len(lanes)
    else:
        chosen = [list(start) for start in starts]
        losses = losses_each(lanes, chosen)
        prices = [
            like(setting.vote_weight * loss * (1 - own), gram.diagonal(), gram.xp)
            for (gram, _), setting, loss, own in zip(lanes, settings, losses, votes, strict=True)
        ]
        if not exchange:
            chosen = [
                forward_search(gram, k, alpha, include, exclude, price)
                for (gram, alpha), price in zip(lanes, prices, strict=True)
            ]
    n_swaps = [0] * len(lanes)
    if exchange:
        begin = [(*lane, own, price) for lane, own, price in zip(lanes, chosen, prices, strict=True)]
        ended = exchange_each([(gram, own, alpha, price) for gram, alpha, own, price in begin], include, exclude)
        n_swaps = [n for _, n in ended]
        moved = [at for at, n in enumerate(n_swaps) if n or starts is not None]
        if moved:
            ordered = order_each([lanes[at] for at in moved], [ended[at][0] for at in moved], include)
            for at, order in zip(moved, ordered, strict=True):
                chosen[at] = order
    return [Found(own, n, price) for own, n, price in zip(chosen, n_swaps, prices, strict=True)]


def choose_ridges(
    held_out: Sequence[Sequence[HeldOut]], k: int, include: Sequence[int], exclude: Sequence[int]
) -> list[float]:
    """Return what ``choose_ridge`` chooses for each of several divisions of samples, all in lock step."""
    every = [split for splits in held_out for split in splits]
    batches = errors_in_lock_step(every, k, Trial(include, exclude))
    errors = [[error for batch in batches for error in batch.errors[i]] for i in range(len(RIDGE_GRID))]
    scales = [scale for batch in batches for scale in batch.scales]
    ends = np.cumsum([len(splits) for splits in held_out]).tolist()
    parts = [slice(start, end) for start, end in pairwise([0, *ends])]
    return [least_ridge((sum(own[part]), sum(scales[part])) for own in errors) for part in parts]


def search_ahead(procedure: Procedure, settings: Sequence[Setting]) -> None:
    """Search all rounds and all samples, and let the votes be cast if the settings need them.

    Parameters
    ----------
    procedure : Procedure
        Its folds hold whole moments in tensors, and its searches are on the training loss.
    settings : sequence of Setting
        What is to be tried.
    """
    wanted, every = procedure.task.wanted, [(), *procedure.groups]
    for some in parts_in_memory(procedure.folds[0], len(every), 12):
        parts = [procedure.part(held) for held in every[some]]
        _defaults(procedure, parts, bool(settings[-1].vote_weight))
        new = [
            (part, setting)
            for part in parts
            for setting in settings
            if setting.vote_weight and (part.held, setting) not in procedure.searched
        ]
        if new:
            taken = [replace(part.taken(setting), search="training") for part, setting in new]
            votes = [procedure.votes(part.held) for part, _ in new]
            starts = [part.default.found.chosen for part, _ in new]
            found = find_each([part.gram for part, _ in new], taken, wanted, votes, starts)
            for (part, setting), own, how in zip(new, found, taken, strict=True):
                procedure.searched[part.held, setting] = Searched(own, how)
        if procedure.task.finish is refit_finish:
            _finish(procedure, [(part, setting) for part in parts if part.held for setting in settings])


def _defaults(procedure: Procedure, parts: Sequence[Part], votes: bool) -> None:
    """Search what parts select without regard to stability, and what voters do, if they are to vote."""
    wanted = procedure.task.wanted
    parts = [part for part in parts if (part.held, wanted.plain) not in procedure.searched]
    ridges = [0.0 if wanted.plain.ridge is None else wanted.plain.ridge] * len(parts)
    if wanted.plain.ridge is None:
        held_out = [part.held_out() for part in parts]
        enough = [at for at, splits in enumerate(held_out) if len(splits) >= wanted.fewest_folds]
        if enough:
            chosen = choose_ridges([held_out[at] for at in enough], wanted.k, wanted.include, wanted.exclude)
            for at, ridge in zip(enough, chosen, strict=True):
                ridges[at] = ridge
    settings = [replace(wanted.plain, ridge=ridge, search="training") for ridge in ridges]
    voters = [voter for voter in procedure.voters if votes and voter not in procedure.ballots]
    if voters:  # with the ridge of all samples, which come first
        whole = settings[0] if settings else procedure.searched[(), wanted.plain].setting
        settings += [Setting(whole.ridge, wanted.plain.exchange)] * len(voters)
    n = len(parts)
    for some in parts_in_memory(procedure.folds[0], len(settings), 4):
        lanes = range(some.start, some.stop)
        grams = [parts[lane].gram if lane < n else procedure.voting(voters[lane - n]) for lane in lanes]
        found = find_each(grams, settings[some], wanted)
        for lane, gram, own in zip(lanes, grams, found, strict=True):
            if settings[lane].exchange if lane < n else procedure.prove_votes:
                own = prove_columns(gram, own, settings[lane], wanted.include, wanted.exclude)
            if lane < n:
                procedure.searched[parts[lane].held, wanted.plain] = Searched(own, settings[lane])
            else:
                procedure.ballots[voters[lane - n]] = own.chosen


def _finish(procedure: Procedure, searches: Sequence[tuple[Part, Setting]]) -> None:
    """Note what :func:`~stableselect.subset._stability_task.refit_finish` returns for searches of rounds."""
    found = [part.search(setting) for part, setting in searches]
    rounds = [part.round for part, _ in searches]
    chosen, ridges = [own.found.chosen for own in found], [own.setting.refit for own in found]
    errors = map_errors([(own.gram, own.target, own.shift) for own in rounds], chosen, ridges)
    for (part, setting), own, features, error in zip(searches, rounds, chosen, errors, strict=True):
        procedure.finished[part.held, setting] = features, own.summed(error)
