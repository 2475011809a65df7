"""Conditions on the choice: every selection meets them, and few sets that do are better."""

from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
import pytest

import stableselect._core._unit_search as unit_search
from stableselect import ColumnSubset, Conditions, Group, InfeasibleConditionsError


@dataclass
class Case:
    """A small table and conditions on it, with the definition of both, feature by feature."""

    X: np.ndarray
    k: int | None
    ridge: float
    include: list[int]
    exclude: list[int]
    conditions: Conditions

    def allowed(self, chosen: tuple[int, ...]) -> bool:
        """Tell whether a set meets the conditions, by their definition."""
        one, kept = self.conditions, set(chosen)
        if not set(self.include) <= kept or kept & {*self.exclude, *one.only_reconstruct}:
            return False
        if one.choose_from is not None and not kept <= set(one.choose_from):
            return False
        if one.budget is None:
            sized = len(kept) == self.k
        else:
            price = sum(one.cost[j] for j in kept)
            sized = price <= one.budget + 1e-9 and 1 <= len(kept) <= (self.k or len(one.cost))
        counted = all(g.limits[0] <= len(kept & set(g.features)) <= g.limits[1] for g in one.groups)
        together = all(kept >= set(block) or not kept & set(block) for block in one.blocks)
        home = {j: b for b, block in enumerate(one.blocks) for j in block}
        apart = one.coordinates is None or all(
            np.hypot(*np.subtract(one.coordinates[i], one.coordinates[j])) >= one.min_distance - 1e-9
            for i, j in combinations(chosen, 2)
            if i not in home or home[i] != home.get(j)
        )
        return sized and counted and together and apart

    def weights(self) -> np.ndarray:
        weights = np.ones(self.X.shape[1])
        if self.conditions.target_weight is not None:
            weights[list(self.conditions.target_weight)] = list(self.conditions.target_weight.values())
        weights[list(self.conditions.only_choose)] = 0
        return weights

    def loss(self, chosen: tuple[int, ...]) -> float:
        """Return the weighted squared error of ridge regression on the samples, ridge term included."""
        n, m = self.X.shape
        X = self.X - self.X.mean(axis=0)
        alpha = self.ridge * X.var(axis=0).mean()
        above = np.vstack([X[:, chosen], np.sqrt(alpha * n) * np.eye(len(chosen))])
        target = np.vstack([X, np.zeros((len(chosen), m))])
        left = target - above @ np.linalg.lstsq(above, target, rcond=None)[0]
        return float(self.weights() @ (left**2).sum(axis=0) / n)

    def cost(self, chosen: tuple[int, ...]) -> float:
        """Return the loss and the penalties, in units of the variance to be explained."""
        total = float(self.weights() @ self.X.var(axis=0))
        penalty = self.conditions.penalty or {}
        return self.loss(chosen) / total + sum(penalty.get(j, 0.0) for j in chosen)

    def best(self) -> float | None:
        """Return the least cost of all sets that are allowed."""
        return min((self.cost(chosen) for chosen in self.sets() if self.allowed(chosen)), default=None)

    def sets(self):
        m = self.X.shape[1]
        return chain.from_iterable(combinations(range(m), size) for size in range(1, m + 1))

    def selector(self, kind=ColumnSubset, **more):
        return kind(
            self.k, ridge=self.ridge, include=self.include, exclude=self.exclude, conditions=self.conditions, **more
        )


def draw_case(seed: int, smallest: int = 6, largest: int = 9) -> Case:
    """Draw a table and a mixture of conditions of all kinds."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(smallest, largest + 1))
    rank = int(rng.integers(2, m))
    X = rng.normal(size=(40, rank)) @ rng.normal(size=(rank, m)) + 0.4 * rng.normal(size=(40, m))
    X *= rng.uniform(0.5, 2, size=m)

    def some(size: int) -> list[int]:
        return rng.choice(m, size=size, replace=False).tolist()

    def wanted(chance: float) -> bool:
        return bool(rng.random() < chance)

    given = {}
    k = int(rng.integers(2, m - 1))
    if wanted(0.5):
        cost = rng.integers(1, 8, size=m).astype(float) if wanted(0.5) else rng.uniform(0.5, 3, size=m)
        given |= {"cost": cost, "budget": float(cost.sum() * rng.uniform(0.3, 0.6))}
        k = k if wanted(0.4) else None
    if wanted(0.5):
        low = int(rng.integers(0, 3))
        limits = [{"at_most": 1}, {"at_least": 1}, {"exactly": low}, {"at_least": 1, "at_most": 2}]
        given["groups"] = [
            Group(some(int(rng.integers(2, 5))), **limits[int(rng.integers(4))]) for _ in range(rng.integers(1, 3))
        ]
    if wanted(0.4):
        members = some(5)
        given["blocks"] = [members[:2], members[2:]] if wanted(0.5) else [members[:2]]
    if wanted(0.4):
        given |= {"coordinates": rng.uniform(0, 1, size=(m, 2)), "min_distance": float(rng.uniform(0.1, 0.5))}
    if wanted(0.4):
        given["penalty"] = {j: float(rng.uniform(0, 0.2)) for j in some(3)}
    if wanted(0.4):
        given["target_weight"] = {j: float(rng.uniform(0, 5)) for j in some(3)}
    if wanted(0.3):
        given["only_reconstruct"] = some(1)
    if wanted(0.3):
        given["only_choose"] = some(1)
    if wanted(0.2):
        given["choose_from"] = some(m - 1)
    include, exclude = (some(1) if wanted(0.3) else [] for _ in range(2))
    exclude = [j for j in exclude if j not in include]
    return Case(X, k, 0.1 if wanted(0.5) else 0.0, include, exclude, Conditions(**given))


def judged(count: int, kind=ColumnSubset, **size) -> tuple[list[float], list]:
    """Fit random cases until so many can be met; return how far above the best each is, and the selectors."""
    above, fitted, seed = [], [], 0
    while len(above) < count:
        case = draw_case(seed, **size)
        best, seed = case.best(), seed + 1
        if best is None:
            with pytest.raises(InfeasibleConditionsError, match="cannot be met"):
                case.selector(kind).fit(case.X)
            continue
        selector = case.selector(kind).fit(case.X)
        chosen = tuple(np.flatnonzero(selector.support_).tolist())
        assert case.allowed(chosen), f"case {seed - 1} selects {chosen}"
        above.append(case.cost(chosen) / best - 1)
        fitted.append((case, selector))
    return above, fitted


def check_cases(count: int) -> None:
    """Hold that the selections of random cases are allowed, nearly all the best, and say of themselves what is true."""
    above, fitted = judged(count)
    optimal = np.mean(np.array(above) < 1e-8)
    print(f"{count} cases, all allowed; {optimal:.1%} optimal, the worst {max(above):.2%} above")
    assert optimal >= 0.9
    assert max(above) < 0.02
    proven = np.array([selector.proven_optimal_ for _, selector in fitted])
    assert proven.mean() > 0.9
    assert max(np.array(above)[proven]) < 1e-6
    for case, selector in fitted:
        chosen, size = tuple(np.flatnonzero(selector.support_).tolist()), case.weights().sum()
        assert selector.objective_ == pytest.approx(case.loss(chosen) / size, rel=1e-7, abs=1e-10)
        allowed = [case.loss(other) / size for other in case.sets() if case.allowed(other)]
        assert selector.lower_bound_ <= min(allowed) * (1 + 1e-6)
        cost = selector.conditions_cost_
        assert cost.loss == pytest.approx(selector.objective_, rel=1e-7, abs=1e-10)
        assert cost.free_loss == pytest.approx(case.loss(cost.free_selected) / size, rel=1e-7, abs=1e-10)
        assert cost.free_loss <= cost.loss * (1 + 1e-9)
        assert len(cost.free_selected) == len(chosen)
        assert not set(cost.free_selected) & {*case.exclude, *case.conditions.only_reconstruct}


def test_some_small_cases_against_all_sets():
    check_cases(8)


@pytest.mark.slow
def test_200_small_cases_against_all_sets():
    check_cases(200)


@pytest.mark.slow
def test_larger_cases_by_search_alone(monkeypatch):
    monkeypatch.setattr(unit_search, "try_all", lambda problem, best: None)
    above, fitted = judged(100, smallest=9, largest=11)
    optimal = np.mean(np.array(above) < 1e-8)
    print(f"100 cases by search alone: {optimal:.1%} optimal, the worst {max(above):.2%} above")
    assert optimal >= 0.9
    assert max(above) < 0.02
    assert not any(selector.proven_optimal_ for _, selector in fitted)
