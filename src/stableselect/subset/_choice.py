"""From conditions on names to rules on the features of one table; and why no selection meets them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree

from .._core import Rules, Undecided
from ..base import resolve_columns, resolve_include_exclude, resolve_k
from ._conditions import Conditions, InfeasibleConditionsError

_MOST_PAIRS = 20_000_000
"""More pairs of features that are too close take too much memory."""


@dataclass(frozen=True)
class Choice:
    """What conditions mean for one table.

    Attributes
    ----------
    rules : Rules
        Which sets of features may be selected.
    weights : ndarray of shape (m,) or None
        How much the error of every feature counts.
    penalty : ndarray of shape (m,)
        Fraction of the variance that a feature is charged.
    spending : ndarray of shape (u,) or None
        What every unit costs.
    exclude, never : list of int
        Features that the conditions do not allow, and those that not even the free choice has.
    most : int
        No more features than this are selected.
    """

    rules: Rules
    weights: np.ndarray | None
    penalty: np.ndarray
    spending: np.ndarray | None
    exclude: list[int]
    never: list[int]
    most: int

    def without_conditions(self, k: int) -> Choice:
        """Return the choice of k features with nothing to regard but what is to be reconstructed, and from what."""
        units = tuple((int(j),) for j in np.setdiff1d(np.arange(len(self.penalty)), self.never))
        size = np.ones((1, len(units)))
        none = np.zeros(len(units), dtype=bool)
        apart = sparse.csr_matrix((len(units), len(units)), dtype=int)
        rules = Rules(units, size, np.array([float(k)]), np.array([float(k)]), ("features",), none, apart)
        return replace(self, rules=rules, penalty=np.zeros_like(self.penalty), spending=None, most=k)


def resolve_choice(
    conditions: Conditions,
    k: int | None,
    m: int,
    names: Sequence[str] | None,
    include: list[int],
    exclude: list[int],
    *,
    called: str = "feature",
) -> Choice:
    """Return what conditions mean for m features; InfeasibleConditionsError where no selection meets them.

    Parameters
    ----------
    conditions : Conditions
        As a person states them.
    k : int or None
        Number of features to select; with a budget the largest, None for any.
    m : int
        Number of features.
    names : sequence of str or None
        Their names.
    include, exclude : list of int
        Features that must or must not be selected.
    called : str
        What a feature is called in messages.

    Returns
    -------
    Choice
    """
    resolve = _Resolver(m, names, called)
    closed = {*exclude, *resolve.features(conditions.only_reconstruct, "only_reconstruct")}
    never = sorted(closed)
    if conditions.choose_from is not None:
        closed |= set(range(m)) - set(resolve.features(conditions.choose_from, "choose_from"))
    weights = None
    unseen = resolve.features(conditions.only_choose, "only_choose")
    if conditions.target_weight is not None or unseen:
        weights = resolve.numbers(conditions.target_weight, "target_weight", 1.0)
        weights[unseen] = 0.0
        if not weights.any():
            raise ValueError(f"The conditions leave no {called} to reconstruct; give one a target_weight above 0.")
    units, required = _units(conditions, resolve, closed, include)
    if not units:
        raise InfeasibleConditionsError(
            f"The conditions cannot be met: they leave no {called} to select; loosen choose_from, only_reconstruct, "
            "the blocks or what is excluded."
        )
    sizes = np.array([len(unit) for unit in units], dtype=float)
    rows, low, high, texts = [sizes], [float(k or 1)], [float(k or m)], [f"{called}s"]
    spending = None
    if conditions.cost is not None and conditions.budget is not None:
        if isinstance(conditions.cost, dict):
            known = resolve.features(conditions.cost, "cost")
            if missing := sorted(set(range(m)) - closed - set(known)):
                raise ValueError(
                    f"cost lacks {resolve.name(missing[0])}, which may be selected; give it a cost, 0 where it is free."
                )
        cost = resolve.numbers(conditions.cost, "cost", 0.0)
        spending = np.array([cost[list(unit)].sum() for unit in units])
        low[0] = 1.0
        rows, low, high, texts = [*rows, spending], [*low, 0.0], [*high, conditions.budget], [*texts, "budget"]
    home = np.full(m, len(units))
    for u, unit in enumerate(units):
        home[list(unit)] = u
    for number, group in enumerate(conditions.groups):
        this = f"group {group.name!r}" if group.name else f"group {number}"
        members = resolve.features(group.features, this)
        rows.append(np.bincount(home[members], minlength=len(units) + 1)[:-1].astype(float))
        limits, texts = group.limits, [*texts, this]
        low, high = [*low, float(limits[0])], [*high, float(limits[1])]
    apart = _apart(conditions, resolve, units)
    rules = Rules(units, np.array(rows), np.array(low), np.array(high), tuple(texts), required, apart)
    check_feasible(rules, resolve, conditions)
    penalty = resolve.numbers(conditions.penalty, "penalty", 0.0)
    return Choice(rules, weights, penalty, spending, sorted(closed), never, _most(rules, sizes))


def _most(rules: Rules, sizes: np.ndarray) -> int:
    """Return a number of features that no allowed selection exceeds."""
    most = min(sizes.sum(), rules.high[0])
    if most > rules.low[0]:
        with suppress(Undecided):
            most = sizes[rules.complete(values=sizes) or []].sum()
    return round(most)


def in_indices(conditions: Conditions, m: int, names: Sequence[str] | None) -> Conditions:
    """Return conditions with indices for names, for fits on tables without names."""
    return conditions.mapped(lambda feature: resolve_columns([feature], m, names, "conditions")[0])


class _Resolver:
    """Names and numbers of a table's features, and what a feature is called."""

    def __init__(self, m: int, names: Sequence[str] | None, called: str) -> None:
        self.m, self.names, self.called = m, names, called

    def features(self, given: Any, what: str) -> list[int]:
        return resolve_columns(list(given), self.m, self.names, what)

    def name(self, j: int) -> str:
        return str(j) if self.names is None else repr(str(self.names[j]))

    def numbers(self, given: Any, what: str, default: float) -> np.ndarray:
        if given is not None and not isinstance(given, dict):
            if len(given) != self.m:
                raise ValueError(
                    f"{what} has {len(given)} numbers for {self.m} {self.called}s; give one for each, or a dict."
                )
            return np.array(given, dtype=np.float64)
        values = np.full(self.m, default)
        for key, value in (given or {}).items():
            values[self.features([key], what)] = value
        return values

    def points(self, given: Any) -> dict[int, tuple[float, ...]]:
        if isinstance(given, dict):
            return {self.features([key], "coordinates")[0]: point for key, point in given.items()}
        if len(given) != self.m:
            raise ValueError(
                f"coordinates has {len(given)} points for {self.m} {self.called}s; give one for each, or a dict."
            )
        return dict(enumerate(given))


def _units(
    conditions: Conditions, resolve: _Resolver, closed: set[int], include: list[int]
) -> tuple[tuple[tuple[int, ...], ...], np.ndarray]:
    """Return what may be selected together, and which of it must be."""
    home: dict[int, tuple[int, ...]] = {j: (j,) for j in range(resolve.m)}
    taken: set[int] = set()
    for block in conditions.blocks:
        members = tuple(sorted(resolve.features(block, "a block")))
        if both := sorted(taken & set(members)):
            which = f"{resolve.called.capitalize()} {resolve.name(both[0])}"
            raise ValueError(f"{which} is in two blocks; put it in one, or join the blocks.")
        taken |= set(members)
        home |= dict.fromkeys(members, members)
    units = tuple(dict.fromkeys(home[j] for j in range(resolve.m) if not closed & set(home[j])))
    for j in include:
        if home[j] not in units:
            other = next(i for i in home[j] if i in closed)
            why = "may not be selected" if other == j else f"is in a block with {resolve.name(other)}, which may not be"
            which = f"{resolve.called} {resolve.name(j)}"
            raise InfeasibleConditionsError(
                f"The conditions cannot be met: {which} is included but {why}; change one of the two."
            )
    must = {home[j] for j in include}
    return units, np.array([unit in must for unit in units], dtype=bool)


def _apart(conditions: Conditions, resolve: _Resolver, units: tuple[tuple[int, ...], ...]) -> sparse.csr_matrix:
    """Return which units are too close to each other."""
    size = (len(units), len(units))
    if conditions.coordinates is None or not conditions.min_distance:
        return sparse.csr_matrix(size, dtype=int)
    points = resolve.points(conditions.coordinates)
    home = {j: u for u, unit in enumerate(units) for j in unit if j in points}
    features = list(home)
    if not features:
        return sparse.csr_matrix(size, dtype=int)
    places = np.array([points[j] for j in features])
    tree = cKDTree(places)
    if (count := (tree.count_neighbors(tree, conditions.min_distance) - len(places)) // 2) > _MOST_PAIRS:
        raise ValueError(
            f"min_distance={conditions.min_distance:g} keeps {count} pairs of {resolve.called}s apart, more than "
            f"{_MOST_PAIRS}; lower it, or name fewer {resolve.called}s in choose_from."
        )
    pairs = tree.query_pairs(conditions.min_distance, output_type="ndarray")
    near = np.linalg.norm(places[pairs[:, 0]] - places[pairs[:, 1]], axis=1) < conditions.min_distance * (1 - 1e-12)
    at = np.array([home[j] for j in features])[pairs[near]]
    at = at[at[:, 0] != at[:, 1]]
    both = np.concatenate([at, at[:, ::-1]])
    found = sparse.csr_matrix((np.ones(len(both), dtype=int), (both[:, 0], both[:, 1])), shape=size)
    found.data[:] = 1  # entries for the same two units were added up
    return found


def check_feasible(rules: Rules, resolve: _Resolver, conditions: Conditions) -> None:
    """Raise where no selection meets the rules, and say which condition is in the way, and by how much."""
    try:
        reason = None if rules.complete() is not None else _why(rules, resolve, conditions)
    except Undecided:
        raise InfeasibleConditionsError(
            "No selection that meets the conditions was found, nor a proof that there is none; loosen one of them."
        ) from None
    if reason is not None:
        raise InfeasibleConditionsError(f"The conditions cannot be met: {reason}")


def _why(rules: Rules, resolve: _Resolver, conditions: Conditions) -> str:
    must = np.flatnonzero(rules.required)
    close = rules.apart[must][:, must].tocoo()
    if close.nnz:
        one, other = (resolve.name(rules.units[must[at]][0]) for at in (close.row[0], close.col[0]))
        return (
            f"{one} and {other} are both included but closer than min_distance={conditions.min_distance:g}; "
            "include one of them or lower it."
        )
    for row in (*range(1, len(rules.rows)), 0):
        loose = rules.without(row)
        if loose.complete() is None:
            continue
        ends = [loose.complete(values=sign * rules.rows[row]) or [] for sign in (-1, 1)]
        least, most = (float(rules.rows[row][end].sum()) for end in ends)
        low, high, what = rules.low[row], rules.high[row], rules.names[row]
        if what == "budget":
            return f"the cheapest selection costs {least:g} and the budget is {high:g}; raise it by {least - high:g}."
        asked = f"at least {low:g}" if most < low else f"at most {high:g}"
        asked = f"{low:g}" if low == high else asked
        asked = f"{asked} {what} are to be selected" if row == 0 else f"{asked} of {what} are asked for"
        if most < low:
            return f"{asked}, and the other conditions allow at most {most:g}; ask for fewer or loosen one of them."
        if least > high:
            return f"{asked}, and the other conditions need at least {least:g}; ask for more or loosen one of them."
        return f"{asked}, and the other conditions allow {least:g} to {most:g} but not this number; ask for another."
    if rules.apart.nnz and rules.without(None).complete() is not None:
        return f"no selection that meets the others keeps min_distance={conditions.min_distance:g}; lower it."
    return f"at least two of them contradict each other ({', '.join(rules.names)}); loosen them one at a time."


def check_alone(n_features: Any, stable: bool, search_criterion: str) -> None:
    """Raise if parameters are given that do not go with conditions."""
    for given, what in (
        (isinstance(n_features, str), "n_features_to_select='auto'; give a number"),
        (stable, "criterion='stability' and min_stability; leave them out"),
        (search_criterion == "leave_one_out", "search_criterion='leave_one_out'; leave it out"),
    ):
        if given:
            raise ValueError(f"conditions do not go with {what}, or leave the conditions out.")


def wanted_under(
    conditions: Conditions, n_features: Any, include: Any, exclude: Any, m: int, names: Sequence[str] | None
) -> tuple[int, list[int], list[int], Choice]:
    """Return how many features to select (0 where conditions leave that open), those prescribed and ruled out, and all.

    Parameters
    ----------
    conditions : Conditions
        The conditions.
    n_features, include, exclude
        Parameters of the selector.
    m : int
        Number of features of the table.
    names : sequence of str or None
        Their names.
    """
    open_ = conditions.budget is not None
    k = None if open_ and n_features is None else resolve_k(n_features, m)
    included, excluded = resolve_include_exclude(include, exclude, m, None, names)
    choice = resolve_choice(conditions, k, m, names, included, excluded)
    return 0 if open_ else int(k or 0), included, choice.exclude, choice
