"""Which sets of features may be selected: sums between limits, and features that exclude one another.

Features that come and go together are one unit. Everything that is counted or added up over the selected units (their
number, their cost, members of a group) is a row of one matrix, with a lower and an upper limit. Whether a partial set
can be completed, and why no set exists, is decided by integer programming (HiGHS through SciPy) where a quick greedy
completion does not settle it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

_SLACK = 1e-9
"""Sums within this distance of a limit, relative to its size, meet it."""
_SOLVER = 4e-6
"""The solver may break a limit by about this fraction of its size."""
_MOST_APART = 200_000
"""With more entries for units that exclude one another no integer program is solved."""
_NODES = 20_000
"""Branches after which an integer program is given up."""


class Undecided(RuntimeError):
    """An integer program that was given up."""


@dataclass(frozen=True)
class Rules:
    """Units of features, and which sets of them may be selected.

    Attributes
    ----------
    units : tuple of tuples of int
        The features of every unit that may be selected.
    rows : ndarray of shape (q, u)
        What every unit adds to each of the sums that are limited.
    low, high : ndarray of shape (q,)
        The limits.
    names : tuple of str
        What each row sums up.
    required : ndarray of bool, shape (u,)
        Units that must be selected.
    apart : sparse matrix of int, shape (u, u)
        1 for two units that may not both be selected.
    """

    units: tuple[tuple[int, ...], ...]
    rows: np.ndarray
    low: np.ndarray
    high: np.ndarray
    names: tuple[str, ...]
    required: np.ndarray
    apart: sparse.csr_matrix = field(repr=False)

    @cached_property
    def _tolerance(self) -> np.ndarray:
        limits = np.stack([self.low, self.high])
        size = np.where(np.isfinite(limits), np.abs(limits), 0.0).max(axis=0)
        return np.asarray(_SLACK * np.maximum(size, np.abs(self.rows).max(axis=1, initial=0.0)))

    @cached_property
    def single(self) -> bool:
        """Whether every unit is one feature."""
        return all(len(unit) == 1 for unit in self.units)

    def features(self, chosen: Iterable[int]) -> list[int]:
        """Return the features of some units."""
        return [j for u in chosen for j in self.units[u]]

    def sums(self, chosen: Sequence[int]) -> np.ndarray:
        """Return what the rows sum up to."""
        return np.asarray(self.rows[:, list(chosen)].sum(axis=1))

    def enough(self, sums: np.ndarray) -> np.ndarray:
        """Tell whether sums (..., q) reach the lower limits."""
        return np.asarray((sums >= self.low - self._tolerance).all(axis=-1))

    def within(self, sums: np.ndarray) -> np.ndarray:
        """Tell whether sums (..., q) keep to the upper limits."""
        return np.asarray((sums <= self.high + self._tolerance).all(axis=-1))

    def blocked(self, chosen: Sequence[int]) -> np.ndarray:
        """Return by how many of the chosen units each unit is excluded."""
        mask = np.zeros(len(self.units), dtype=int)
        mask[list(chosen)] = 1
        return np.asarray(self.apart @ mask)

    def met(self, chosen: Sequence[int]) -> bool:
        """Tell whether a set of units may be selected."""
        sums = self.sums(chosen)
        mask = np.zeros(len(self.units), dtype=bool)
        mask[list(chosen)] = True
        apart = not self.blocked(chosen)[mask].any()
        return bool(self.enough(sums) and self.within(sums) and apart and mask[self.required].all())

    def addable(self, chosen: Sequence[int]) -> np.ndarray:
        """Return which units can join without breaking an upper limit or coming too close."""
        fits = self.within(self.sums(chosen)[None, :] + self.rows.T) & (self.blocked(chosen) == 0)
        fits[list(chosen)] = False
        return fits

    def promising(self, chosen: Sequence[int]) -> np.ndarray:
        """Return which units leave room for what the lower limits still need, as far as two limits at a time tell."""
        sums = self.sums(chosen)
        fits = self.addable(chosen)
        need = np.maximum((self.low - self._tolerance - sums)[:, None] - self.rows, 0.0)
        room = (self.high + self._tolerance - sums)[:, None] - self.rows
        for q in np.flatnonzero(np.isfinite(self.low) & (self.low - self._tolerance > sums)):
            gives = np.flatnonzero(fits & (self.rows[q] > 0))
            if not gives.size:
                return np.zeros_like(fits)
            for p in np.flatnonzero(np.isfinite(self.high)):
                use = (self.rows[p, gives] / self.rows[q, gives]).min()
                fits &= need[q] * use <= room[p]
        return fits

    def swappable(self, chosen: Sequence[int]) -> np.ndarray:
        """Return which unit can take the place of each chosen one, as a table of c x u."""
        chosen = list(chosen)
        fits = (self.blocked(chosen)[None, :] == self.apart[chosen].toarray()) & ~self.required[chosen, None]
        limits = zip(self.rows, self.sums(chosen), self.low - self._tolerance, self.high + self._tolerance, strict=True)
        for row, total, low, high in limits:
            sums = (total - row[chosen])[:, None] + row[None, :]
            fits &= (sums >= low) & (sums <= high)
        fits[:, chosen] = False
        return np.asarray(fits)

    def droppable(self, chosen: Sequence[int]) -> np.ndarray:
        """Return which of the chosen units can be left out."""
        chosen = list(chosen)
        return self.enough(self.sums(chosen)[None, :] - self.rows[:, chosen].T) & ~self.required[chosen]

    def without(self, row: int | None) -> Rules:
        """Return the rules without one of the limits; with None, without the units that exclude one another."""
        if row is None:
            return replace(self, apart=sparse.csr_matrix(self.apart.shape, dtype=int))
        low, high = self.low.copy(), self.high.copy()
        low[row], high[row] = -np.inf, np.inf
        return replace(self, low=low, high=high)

    def complete(
        self,
        chosen: Sequence[int] = (),
        banned: Iterable[int] = (),
        values: np.ndarray | None = None,
        *,
        tighter: float = 0.0,
    ) -> list[int] | None:
        """Return units, the chosen ones first, that may be selected together; None where there are none.

        With ``values`` those of the largest sum are returned. ``tighter`` is a fraction by which limits are kept away
        from.
        """
        start = [*chosen, *np.setdiff1d(np.flatnonzero(self.required), chosen).tolist()]
        banned = np.array(sorted(set(banned)), dtype=int)
        if set(start) & set(banned):
            return None
        if values is None:
            for careful in (False, True) if self.apart.nnz else (False,):
                quick = self._quick(start, banned, careful)
                if quick is not None:
                    return quick
        if self.apart.nnz > _MOST_APART:
            raise Undecided("Too many units exclude one another.")
        least, most = np.zeros(len(self.units)), np.ones(len(self.units))
        most[banned] = 0
        least[start] = 1
        scale = np.maximum(self._tolerance / _SLACK, 1e-300)
        margin = _SLACK - tighter
        limits = [LinearConstraint(self.rows / scale[:, None], self.low / scale - margin, self.high / scale + margin)]
        pairs = sparse.triu(self.apart).tocoo()
        if pairs.nnz:
            which = np.repeat(np.arange(pairs.nnz), 2)
            at = np.column_stack([pairs.row, pairs.col]).ravel()
            both = sparse.csr_matrix((np.ones(2 * pairs.nnz), (which, at)), shape=(pairs.nnz, len(self.units)))
            limits.append(LinearConstraint(both, -np.inf, 1))
        aim = np.zeros(len(self.units)) if values is None else -values
        options = {"node_limit": _NODES}
        found = milp(
            aim, integrality=np.ones(len(aim)), bounds=Bounds(least, most), constraints=limits, options=options
        )
        if found.x is None:
            if found.status != 2 or tighter:
                raise Undecided(found.message)
            return None
        taken = np.flatnonzero(np.round(found.x) > 0)
        made = [*start, *np.setdiff1d(taken, start).tolist()]
        if self.met(made):
            return made
        if tighter:
            raise Undecided("The solver meets the limits to a few digits only.")
        return self.complete(chosen, banned, values, tighter=_SOLVER)

    def _quick(self, start: list[int], banned: np.ndarray, careful: bool) -> list[int] | None:
        """Return a completion by the units that help most and use up least, if that leads to one.

        A careful one prefers units that exclude few others.
        """
        sums, blocked = self.sums(start), self.blocked(start)
        if not self.within(sums) or blocked[start].any():
            return None
        spare = np.where(np.isfinite(self.high), np.maximum(self.high, 1e-300), np.inf)
        uses = (np.maximum(self.rows, 0) / spare[:, None]).sum(axis=0)
        open_ = np.ones(len(self.units), dtype=bool)
        open_[banned] = open_[start] = False
        found = list(start)
        while not self.enough(sums):
            helps = np.minimum(self.rows, np.maximum(self.low - sums, 0.0)[:, None]).sum(axis=0)
            fits = open_ & (blocked == 0) & self.within(sums[None, :] + self.rows.T) & (helps > 0)
            if not fits.any():
                return None
            spoils = self.apart @ fits if careful else np.zeros(len(fits))
            u = int(np.argmax(np.where(fits, helps / (uses + 1e-9) / (1 + spoils), -np.inf)))
            found.append(u)
            open_[u] = False
            sums, blocked = sums + self.rows[:, u], blocked + self.apart[[u]].toarray()[0]
        return found
