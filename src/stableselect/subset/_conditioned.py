"""The features selected under conditions, and what the conditions cost against the free choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._core import (
    Array,
    DualGram,
    Gram,
    HeldOut,
    UnitProblem,
    exchange_search,
    greedy_order,
    like,
    loss_bound,
    search_units,
)
from ._choice import Choice
from ._default import Searched, Wanted
from ._problem import Problem
from ._ridge import choose_ridge
from ._search import Found, Setting, find_columns, prove_columns


@dataclass(frozen=True)
class ConditionsCost:
    """What conditions cost: the selection beside the free choice of as many features.

    The free choice has the same features to reconstruct, with the same weights, and does without those that are never
    selected (``exclude``, ``only_reconstruct``). Nothing else binds it, not even ``include``. Both are for the samples
    fitted on, with the same ridge weight.

    Attributes
    ----------
    loss, free_loss : float
        Weighted mean squared error and ridge term, as ``objective_`` of ColumnSubset: what the search lowers.
    explained_variance, free_explained_variance : float
        Fraction of the (weighted) variance that the map from the features explains.
    free_selected : tuple of str or int
        The features of the free choice: names where the samples had them, else indices.
    spent : float or None
        What the selected features cost; None without a budget.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from stableselect import ColumnSubset
    >>> X = load_wine(as_frame=True).data
    >>> print(ColumnSubset(4, scale="standard", include=["hue", "ash"]).fit(X).conditions_cost_)  # doctest: +ELLIPSIS
    The selection explains 63.2% of the variance, ... 64.1%: the conditions cost 0.9 points.
    """

    loss: float
    free_loss: float
    explained_variance: float
    free_explained_variance: float
    free_selected: tuple[str | int, ...]
    spent: float | None

    def __str__(self) -> str:
        """Return both explained variances in a sentence."""
        lost = 100 * max(0.0, self.free_explained_variance - self.explained_variance)  # the ridge term may differ more
        return (
            f"The selection explains {self.explained_variance:.1%} of the variance, as many features without "
            f"conditions {self.free_explained_variance:.1%}: the conditions cost {lost:.1f} points."
        )


def search_conditions(
    gram: Gram, held_out: Sequence[HeldOut], wanted: Wanted, choice: Choice
) -> tuple[Searched, list[int]]:
    """Return what is selected under conditions, and the free choice of as many features.

    The search is on the training loss. A ridge weight that is left open is that of the free choice.

    Parameters
    ----------
    gram : Gram
        The moments, of mean variance one.
    held_out : sequence of HeldOut
        The parts by whose error the ridge is chosen.
    wanted : Wanted
        What is to be selected; its k is that of the ridge, 0 where it is open.
    choice : Choice
        The conditions.

    Returns
    -------
    Searched
    free : list of int
    """
    ridge, k, include = wanted.plain.ridge, wanted.k, wanted.include
    exchange = wanted.plain.exchange
    if ridge is None and len(held_out) >= wanted.fewest_folds:
        if not k:
            k = len(_search(gram, choice, 0.0, False).chosen)
        ridge = choose_ridge(held_out, k, include, choice.exclude)
    ridge = float(ridge or 0.0)
    found = _search(gram, choice, ridge, exchange)
    chosen = greedy_order(_problem(gram, choice, ridge), found.chosen, include)
    setting = replace(wanted.plain, ridge=ridge, search="training")
    return Searched(replace(found, chosen=chosen), setting), free_choice(gram, choice, setting.refit, exchange, chosen)


def _search(gram: Gram, choice: Choice, ridge: float, exchange: bool) -> Found:
    problem = _problem(gram, choice, ridge)
    found = search_units(problem, exchange=exchange)
    assert found is not None  # conditions that cannot be met are refused before
    prices = like(problem.prices, gram.diagonal(), gram.xp) if problem.prices.any() else None
    return Found(choice.rules.features(found.units), found.n_moves, prices, found.least_loss, found.proven)


def _problem(gram: Gram, choice: Choice, ridge: float) -> UnitProblem:
    weights = weights_of(gram, choice)
    problem = UnitProblem(gram, ridge, choice.rules, weights, choice.penalty, choice.spending)
    return replace(problem, prices=choice.penalty * problem.total())


def weights_of(gram: Gram, choice: Choice | None) -> Array | None:
    """Return how much the error of every feature counts, beside the moments; None for 1."""
    return None if choice is None or choice.weights is None else like(choice.weights, gram.diagonal(), gram.xp)


def free_choice(gram: Gram, choice: Choice, ridge: float, exchange: bool, chosen: list[int]) -> list[int]:
    """Return the best features found without conditions, as many as those chosen under them, and no worse."""
    k, weights = len(chosen), weights_of(gram, choice)
    if weights is None:
        setting = Setting(ridge, exchange)
        plain = find_columns(gram, k, setting, (), choice.never)
        if exchange:
            plain = prove_columns(gram, plain, setting, (), choice.never)
        others, loss = [plain.chosen], _problem(gram, choice, ridge).loss
        if loss(plain.chosen) > loss(chosen):
            others.append(exchange_search(gram, chosen, ridge, (), choice.never)[0])
    else:
        free = choice.without_conditions(k)
        found = search_units(_problem(gram, free, ridge), exchange=exchange)
        others = [] if found is None else [free.rules.features(found.units)]
    candidates = [*others, chosen]
    return min(candidates, key=_problem(gram, choice, ridge).loss)


def conditions_cost(
    problem: Problem, choice: Choice, free: list[int], chosen: list[int], names: Sequence[str] | None
) -> ConditionsCost:
    """Return what conditions cost, in the units of the samples; ``free`` is the free choice."""
    gram, unit, ridge = problem.gram, problem.unit, problem.ridge
    size = gram.n_features if choice.weights is None else float(choice.weights.sum())
    searched = _problem(gram, choice, ridge)
    losses = [max(0.0, searched.loss(features)) for features in (chosen, free)]
    explained = [searched.explained(features) for features in (chosen, free)]
    spent = None
    if choice.spending is not None:
        home = {j: u for u, members in enumerate(choice.rules.units) for j in members}
        spent = float(choice.spending[sorted({home[j] for j in chosen})].sum())
    called = tuple(j if names is None else str(names[j]) for j in free)
    (loss, free_loss), (own, other) = (loss * unit / size for loss in losses), explained
    return ConditionsCost(loss, free_loss, own, other, called, spent)


def bound_under_conditions(gram: Gram, choice: Choice, ridge: float, include: Sequence[int]) -> float:
    """Return a bound that the loss tr WR of no allowed features is below: one of the free problem."""
    if choice.weights is None:
        return loss_bound(gram, choice.most, ridge, include, choice.exclude)
    root = like(np.sqrt(choice.weights), gram.diagonal(), gram.xp)
    if isinstance(gram, DualGram):
        return DualGram(gram.A * root[None, :]).floor(choice.most)
    return Gram(gram.dense() * root[None, :] * root[:, None]).floor(choice.most)


def replaceable(choice: Choice, chosen: list[int]) -> np.ndarray:
    """Return which feature may take the place of each chosen one by itself, k x m."""
    rules = choice.rules
    home = {j: u for u, unit in enumerate(rules.units) for j in unit}
    chosen_units = list(dict.fromkeys(home[j] for j in chosen))
    table = rules.swappable(chosen_units)
    single = np.array([len(unit) == 1 for unit in rules.units])
    features = np.array([unit[0] for unit in rules.units])
    allowed = np.zeros((len(chosen), len(choice.penalty)), dtype=bool)
    for a, j in enumerate(chosen):
        if single[home[j]]:
            allowed[a, features[table[chosen_units.index(home[j])] & single]] = True
    return allowed


def replacing_costs(choice: Choice, chosen: list[int]) -> np.ndarray:
    """Return the penalty of a feature less that of the chosen one it may replace, k x m; inf where it may not."""
    return np.where(replaceable(choice, chosen), choice.penalty - choice.penalty[chosen][:, None], np.inf)
