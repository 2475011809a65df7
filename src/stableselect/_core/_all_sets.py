"""All sets that rules allow, tried one by one where there are few; and what a search among such sets is given.

With M = C W C the loss of a set S is tr WC - tr (C_SS + alpha I)^-1 M_SS, so that small matrices are all it takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ._arrays import Array, to_numpy
from ._forward_search import ROUNDING, TIE, TRUST
from ._gram import Gram
from ._rules import Rules
from ._subset_search import SwapState

MAX_SETS = 100_000
"""Where there are more sets that the rules allow, not all are tried."""
MAX_WORK = 3e7
"""Nor where they take more than this many multiplications."""
_CERTAIN = 1e-6
"""A proof leaves no more than this fraction of the cost in doubt."""


@dataclass(frozen=True)
class UnitProblem:
    """What is searched.

    Attributes
    ----------
    gram : Gram
        The moments C.
    alpha : float
        Ridge weight.
    rules : Rules
        Which sets are allowed.
    weights : array of length m or None
        How much the error of every feature counts; None for 1.
    prices : ndarray of shape (m,)
        What keeping a feature costs beside the loss, in its units; none below zero.
    spending : ndarray of shape (u,) or None
        What every unit uses up of a budget.
    """

    gram: Gram
    alpha: float
    rules: Rules
    weights: Array
    prices: np.ndarray
    spending: np.ndarray | None = None

    def total(self) -> float:
        """Return the variance to be explained, tr WC."""
        diagonal = self.gram.diagonal()
        return float(self.gram.xp.sum(diagonal if self.weights is None else diagonal * self.weights))

    def cost(self, units: Iterable[int]) -> float:
        """Return the loss of some units and their prices."""
        features = self.rules.features(units)
        loss = SwapState(self.gram, features, self.alpha, None, self.weights).loss if features else self.total()
        return loss + float(self.prices[features].sum())


@dataclass(frozen=True)
class UnitResult:
    """The best units found, how many moves led there, and whether no others cost less."""

    units: list[int]
    n_moves: int
    proven: bool


def small_falls(A: np.ndarray, M: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return tr A^+ M of many small matrices, and the smallest eigenvalue of each A used, scaled to unit variance."""
    unit = 1 / np.sqrt(np.where(variance > 0, variance, 1.0))
    scale = unit[:, :, None] * unit[:, None, :]
    values, vectors = np.linalg.eigh(A * scale)
    usable = values > TRUST * A.shape[1]
    inside = np.einsum("nij,nik,nkj->nj", vectors, M * scale, vectors, optimize=True)
    falls = np.where(usable, inside / np.where(usable, values, 1.0), 0.0).sum(axis=1)
    return falls, np.where(usable, values, 1.0).min(axis=1)


def try_all(problem: UnitProblem, best: Sequence[int]) -> UnitResult | None:
    """Return the best of all sets that the rules allow; None where there are too many."""
    sets = _all_sets(problem.rules)
    if sets is None:
        return None
    masks = np.concatenate([_features_of(problem, part) for part in sets])
    counts = masks.sum(axis=1)
    if float((counts.astype(float) ** 3).sum()) > MAX_WORK:
        return None
    C = np.asarray(to_numpy(problem.gram.dense()))
    w = np.ones(len(C)) if problem.weights is None else to_numpy(problem.weights)
    CWC, variance, total = (C * w) @ C, np.diagonal(C), problem.total()
    costs, errors = total + masks @ problem.prices, np.zeros(len(masks))
    for count in np.unique(counts[counts > 0]):
        at = np.flatnonzero(counts == count)
        features = np.nonzero(masks[at])[1].reshape(-1, count)
        pairs = features[:, :, None], features[:, None, :]
        falls, smallest = small_falls(C[pairs] + problem.alpha * np.eye(count), CWC[pairs], variance[features])
        costs[at] -= falls
        errors[at] = 1e-14 * total / smallest
    least = costs.min()
    slack = TIE * abs(least) + ROUNDING * total
    first = int(np.flatnonzero(costs <= least + slack)[0])
    places = np.cumsum([len(part) for part in sets])
    part = int(np.searchsorted(places, first, side="right"))
    units = sets[part][first - (places[part - 1] if part else 0)].tolist()
    if problem.cost(units) > problem.cost(best) + slack:  # rounding deceived
        return UnitResult(list(best), 0, False)
    return UnitResult(units, 0, bool((costs - errors >= least - _CERTAIN * abs(least) - slack).all()))


def _features_of(problem: UnitProblem, sets: np.ndarray) -> np.ndarray:
    """Return the features of every set of units as a mask."""
    member = np.zeros((len(problem.rules.units), problem.gram.n_features), dtype=bool)
    for u, unit in enumerate(problem.rules.units):
        member[u, list(unit)] = True
    return member[sets].any(axis=1) if sets.shape[1] else np.zeros((len(sets), member.shape[1]), dtype=bool)


def _all_sets(rules: Rules) -> list[np.ndarray] | None:
    """Return all sets that the rules allow, those of one size together, a row each; None where there are too many."""
    start = np.flatnonzero(rules.required).tolist()
    if not rules.within(rules.sums(start)) or rules.blocked(start)[start].any():
        return []
    others = np.flatnonzero(~rules.required & (rules.blocked(start) == 0))
    apart = rules.apart[others][:, others].toarray() > 0
    added = np.empty((1, 0), dtype=np.int64)  # of the others, in increasing order
    sums = rules.sums(start)[None, :]
    found = []
    while len(added):
        enough = rules.enough(sums)
        if enough.any():
            found.append(np.column_stack([np.repeat([start], enough.sum(), axis=0).astype(int), others[added[enough]]]))
        if len(added) * len(others) > 50 * MAX_SETS or sum(map(len, found)) > MAX_SETS:
            return None
        later = np.arange(len(others))[None, :] > (added[:, -1:] if added.shape[1] else -1)
        later &= ~apart[added].any(axis=1) if added.shape[1] else True
        row, more = np.nonzero(later)
        reached = sums[row] + rules.rows[:, others[more]].T
        fits = rules.within(reached)
        added, sums = np.column_stack([added[row[fits]], more[fits]]), reached[fits]
    return found
