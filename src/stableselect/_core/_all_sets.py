"""All sets that rules allow, tried one by one where there are few.

With M = C W C the loss of a set S is tr WC - tr (C_SS + alpha I)^-1 M_SS, so that small matrices are all it takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ._arrays import to_numpy
from ._forward_search import ROUNDING, TIE
from ._rules import Rules
from ._unit_state import UnitProblem, small_falls

MAX_SETS = 100_000
"""Where there are more sets that the rules allow, not all are tried."""
MOST_UNITS = 1000
"""Nor where there are more units."""
MAX_WORK = 3e7
"""Nor where they take more than this many multiplications."""
_CERTAIN = 1e-6
"""A proof leaves no more than this fraction of the cost in doubt."""


@dataclass(frozen=True)
class UnitResult:
    """The best units found, how many moves led there, whether no others cost less, and the least loss of any."""

    units: list[int]
    n_moves: int
    proven: bool
    least_loss: float = 0.0


def try_all(problem: UnitProblem, best: Sequence[int]) -> UnitResult | None:
    """Return the best of all sets that the rules allow; None where there are too many."""
    sets = _all_sets(problem.rules)
    if sets is None:
        return None
    candidates = np.array(sorted(problem.rules.features(range(len(problem.rules.units)))))
    masks = np.concatenate([_features_of(problem, part)[:, candidates] for part in sets])
    counts = masks.sum(axis=1)
    if float((counts.astype(float) ** 3).sum()) > MAX_WORK:
        return None
    rows = to_numpy(problem.gram.rows(candidates))
    C, CWC = rows[:, candidates], (rows * problem.w) @ rows.T
    variance, prices, total = np.diagonal(C), masks @ problem.prices[candidates], problem.total()
    costs, errors = total + prices, np.zeros(len(masks))
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
    proven = bool((costs - errors >= least - _CERTAIN * abs(least) - slack).all())
    return UnitResult(units, 0, proven, float((costs - errors - prices).min()) if proven else 0.0)


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
    if len(others) > MOST_UNITS:
        return None
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
