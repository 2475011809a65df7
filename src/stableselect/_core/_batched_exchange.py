"""Exchanges of many searches in lock step on torch tensors.

Each search goes its own way, as in :mod:`stableselect._core._subset_search`: it is a generator that asks for one change
of its subset at a time and is told what follows from it. The changes that all searches ask for are made by the same
calls, and one small array brings the answers to the host. A search that is done is left out.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch

from ._batched_split import parted, room, stacked
from ._batched_swaps import Looked, Swaps
from ._forward_search import EXHAUSTED, TIE
from ._gram import Gram
from ._subset_search import _ESCAPE as ESCAPE
from ._swap_state import _REFRESH as REFRESH
from ._threads import MANY_FEATURES

Start = tuple[Gram, Sequence[int], float, torch.Tensor | None]
"""Where a search begins: its moments, subset, ridge weight, and prices (length m) if there are any."""


class Change(NamedTuple):
    """What a search asks for: all to be computed afresh, or position ``a`` to hold feature ``j``, or nothing (-1)."""

    refresh: bool = False
    a: int = -1
    j: int = -1


Steps = Generator[Change, Looked, Looked]


def exchange_in_lock_step(
    starts: Sequence[Start], include: Sequence[int] = (), exclude: Sequence[int] = ()
) -> list[tuple[list[int], int]]:
    """Return what an exchange leads to from every start, as many at a time as fit in memory.

    Parameters
    ----------
    starts : sequence of (Gram, sequence of int, float, tensor or None)
        Moments held whole in tensors, subset, ridge weight and prices of each search; all of as many features, as many
        of them kept.
    include, exclude : sequence of int
        Features that must or must not be kept.

    Returns
    -------
    list of (list of int, int)
        As :func:`~stableselect._core._subset_search.exchange_search`.
    """
    gram, chosen, *_ = starts[0]
    m, k, device = gram.n_features, len(chosen), gram.C.device
    found: list[tuple[list[int], int]] = []
    limit = room(device) if m <= MANY_FEATURES else 0.0  # one at a time, without a copy of its moments
    for part in parted([8.0 * m * (3 * m + 16 * k)] * len(starts), limit):
        found += _exchanged(starts[part], include, exclude)
    return found


def _exchanged(starts: Sequence[Start], include: Sequence[int], exclude: Sequence[int]) -> list[tuple[list[int], int]]:
    m = starts[0][0].n_features
    totals = [gram.trace() for gram, *_ in starts]
    found: list[tuple[list[int], int]] = [(list(chosen), 0) for _, chosen, *_ in starts]
    running = [at for at, total in enumerate(totals) if total != 0 and len(starts[at][1]) not in (0, m)]
    if not running:
        return found
    C = stacked([starts[at][0] for at in running])
    swaps = Swaps(C, [starts[at][2] for at in running], [starts[at][3] for at in running], exclude)
    searches = {at: _Search(list(starts[at][1]), totals[at], include) for at in running}
    work = {at: search.run() for at, search in searches.items()}
    changes = {at: next(steps) for at, steps in work.items()}
    while changes:
        if 2 * len(changes) <= len(running):  # the others are done
            swaps.keep([place for place, at in enumerate(running) if at in changes])
            running = [at for at in running if at in changes]
        asked = [changes.get(at, Change()) for at in running]
        own = [searches[at] for at in running]
        swaps.make([(change.a, change.j) for change in asked])
        swaps.choose(*zip(*((search.chosen, search.dropped, search.locked()) for search in own), strict=True))
        swaps.refresh([place for place, change in enumerate(asked) if change.refresh])
        for at, looked in zip(running, swaps.look(), strict=True):
            if at in changes:
                try:
                    changes[at] = work[at].send(looked)
                except StopIteration:
                    del changes[at]
                    found[at] = searches[at].found
    return found


@dataclass
class _Search:
    """One exchange: its subset now, and what it may not do."""

    chosen: list[int]
    total: float
    include: Sequence[int]
    stale: int = 0
    n_swaps: int = 0
    dropped: list[int] = field(default_factory=list)
    added: list[int] = field(default_factory=list)
    found: tuple[list[int], int] = ([], 0)

    def locked(self) -> list[int]:
        """Return the features that may not be given up."""
        return [*self.include, *self.added[-ESCAPE // 2 :]]

    def run(self) -> Steps:
        """Swap to an optimum, and from there on to lower ones for as long as they are found soon."""
        looked = yield from self._refresh()
        n_swaps, looked = yield from self._descend(looked)
        while True:
            best, cost = list(self.chosen), looked.cost
            moves, looked = yield from self._escape(looked)
            if moves:
                more, looked = yield from self._descend(looked)
            if not moves or looked.cost > cost * (1 - TIE) - looked.rounding:  # the fall was rounding
                self.found = best, n_swaps
                return looked
            n_swaps += moves + more

    def _refresh(self) -> Steps:
        self.stale = 0
        return (yield Change(refresh=True))

    def _swap(self, a: int, j: int) -> Generator[Change, Looked, tuple[bool, Looked]]:
        before, self.chosen[a] = self.chosen[a], j
        self.stale += 1
        looked = yield Change(a=a, j=j)
        if not looked.possible:  # the feature is a combination of the kept ones after all
            self.chosen[a] = before
            return False, (yield from self._refresh())
        if self.stale >= REFRESH:
            looked = yield from self._refresh()
        return True, looked

    def _descend(self, looked: Looked) -> Generator[Change, Looked, tuple[int, Looked]]:
        """Make the best swap until none helps; leave the subset's arrays fresh, and return the number of swaps."""
        n_swaps = 0
        checked = float("inf"), list(self.chosen), 0
        while True:
            if self.stale == 0:
                # Close to the rank a running loss is mostly rounding: one that has not really fallen ends the search.
                if looked.cost >= checked[0]:
                    self.chosen = checked[1]
                    return checked[2], (yield from self._refresh())
                checked = looked.cost, list(self.chosen), n_swaps
            if looked.loss > EXHAUSTED * self.total and looked.gain > max(looked.slack, looked.rounding):
                fresh = self.stale == 0
                made, looked = yield from self._swap(looked.a, looked.j)
                if made:
                    n_swaps += 1
                elif fresh:
                    return n_swaps, looked
            elif self.stale:
                looked = yield from self._refresh()
            else:
                return n_swaps, looked

    def _escape(self, looked: Looked) -> Generator[Change, Looked, tuple[int, Looked]]:
        """Leave an optimum by the swaps that raise the cost least; return their number once below it, 0 if not soon."""
        cost = looked.cost
        if looked.loss <= EXHAUSTED * self.total:
            return 0, looked
        for moves in range(1, ESCAPE + 1):
            if looked.a < 0:
                return 0, looked
            a, j = looked.a, looked.j
            self.dropped.append(self.chosen[a])
            self.added.append(j)
            made, looked = yield from self._swap(a, j)
            if not made:
                return 0, looked
            if looked.cost < cost * (1 - TIE) - looked.rounding:
                self.dropped, self.added = [], []
                return moves, (yield Change())  # any swap is open again
        return 0, looked
