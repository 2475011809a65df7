"""Conditions on the choice: every selection meets them, and few sets that do are better."""

from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import stableselect._core._unit_search as unit_search
from stableselect import (
    ColumnSubset,
    Conditions,
    ConsensusSelector,
    Group,
    InfeasibleConditionsError,
    Moments,
    ScorerSelector,
    load,
    save,
)
from stableselect.inspection import held_out_report, stability_analysis
from stableselect.scorer import ScorerObjective


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
def test_100_small_cases_against_all_sets():
    check_cases(100)


@pytest.mark.slow
def test_larger_cases_by_search_alone(monkeypatch):
    monkeypatch.setattr(unit_search, "try_all", lambda problem, best: None)
    above, fitted = judged(50, smallest=9, largest=11)
    optimal = np.mean(np.array(above) < 1e-8)
    print(f"50 cases by search alone: {optimal:.1%} optimal, the worst {max(above):.2%} above")
    assert optimal >= 0.9
    assert max(above) < 0.02
    assert not any(selector.proven_optimal_ for _, selector in fitted)


def names_of(m):
    return [f"f{j}" for j in range(m)]


def named_table(seed=0, n=60, m=10):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) @ rng.normal(size=(3, m)) + 0.5 * rng.normal(size=(n, m))
    return pd.DataFrame(X, columns=names_of(m))


ALL = Conditions(
    cost={f"f{j}": 1.0 + j % 3 for j in range(10)},
    budget=8,
    groups=[Group(["f0", "f1", "f2"], at_most=1, name="first"), Group(["f8", "f9"], at_least=1)],
    blocks=[["f3", "f4"]],
    coordinates={f"f{j}": (j, 0.0) for j in range(8)},
    min_distance=1.5,
    penalty={"f9": 0.1},
    target_weight={"f5": 3.0},
    only_reconstruct=["f7"],
    only_choose=["f6"],
    choose_from=[f"f{j}" for j in range(10)],
)


@pytest.mark.parametrize("kind", [ColumnSubset, ScorerSelector])
def test_names_and_indices_say_the_same(kind):
    X = named_table()
    by_name = kind(conditions=ALL).fit(X)
    in_numbers = ALL.mapped(lambda name: int(name[1:]))
    by_index = kind(conditions=in_numbers).fit(X.to_numpy())
    np.testing.assert_array_equal(by_name.selected_, by_index.selected_)
    assert by_name.conditions_cost_.free_selected == tuple(f"f{j}" for j in by_index.conditions_cost_.free_selected)
    cost = by_name.conditions_cost_
    assert cost.spent == sum(ALL.cost[name] for name in by_name.get_feature_names_out()) <= 8
    assert cost.explained_variance < cost.free_explained_variance
    assert f"{cost.explained_variance:.1%}" in str(cost)


@pytest.mark.parametrize("kind", [ColumnSubset, ScorerSelector])
def test_clones_parameters_and_files(kind, tmp_path):
    X = named_table()
    for conditions in (ALL, ALL.mapped(lambda name: int(name[1:])), Conditions(penalty=np.arange(10) / 100)):
        selector = kind(5, conditions=conditions)
        assert clone(selector).get_params()["conditions"] == conditions
        selector.fit(X)
        save(selector, path := tmp_path / "made.sselect", overwrite=True)
        again = load(path)
        assert again.conditions == conditions
        assert again.conditions_cost_ == selector.conditions_cost_
        np.testing.assert_array_equal(again.transform(X), selector.transform(X))
        assert Conditions.from_plain(conditions.as_plain()) == conditions
        assert "conditions=Conditions(" in repr(selector)


def test_an_empty_choice_and_no_choice_are_written_apart():
    assert Conditions().as_plain() == {}
    assert Conditions(choose_from=[]).as_plain() == {"choose_from": []}
    assert Conditions.from_plain({"choose_from": []}) == Conditions(choose_from=[])


def test_coordinates_of_a_frame_are_its_rows():
    places = {"f2": (0.0, 1.0), "f0": (3.0, 4.0), "f5": (0.5, 1.0)}
    frame = pd.DataFrame.from_dict(places, orient="index", columns=["x", "y"])
    conditions = Conditions(coordinates=frame, min_distance=1)
    assert conditions == Conditions(coordinates=places, min_distance=1)
    assert not {"f2", "f5"} <= set(ColumnSubset(3, conditions=conditions).fit(named_table()).get_feature_names_out())
    whole = Conditions(coordinates=frame.set_axis([2, 0, 5]), min_distance=1)
    assert whole.coordinates == {2: (0.0, 1.0), 0: (3.0, 4.0), 5: (0.5, 1.0)}


def test_coordinates_of_a_tensor_are_those_of_the_array():
    torch = pytest.importorskip("torch")
    for places in (np.arange(10.0), np.arange(20.0).reshape(10, 2)):
        tensor = Conditions(coordinates=torch.as_tensor(places), min_distance=1)
        assert tensor == Conditions(coordinates=places, min_distance=1)


def test_rows_in_any_order_and_folds_as_moments():
    X = named_table(n=80)
    first = ColumnSubset(conditions=ALL).fit(X)
    other = ColumnSubset(conditions=ALL).fit(X.iloc[::-1])
    np.testing.assert_array_equal(first.selected_, other.selected_)
    assert first.ridge_ == other.ridge_
    moments = ColumnSubset(ridge=first.ridge_, conditions=ALL).fit_moments(Moments.from_array(X), list(X.columns))
    np.testing.assert_array_equal(np.sort(moments.selected_), np.sort(first.selected_))


def test_few_samples_search_the_training_loss():
    X = named_table(n=12, m=40).to_numpy()
    selector = ColumnSubset(4, conditions=Conditions(groups=[Group(range(20), at_most=1)])).fit(X)
    assert selector.search_criterion_ == "training" and not hasattr(selector, "leave_one_out_error_")
    assert (selector.selected_ < 20).sum() <= 1


def test_the_ridge_is_that_of_the_free_choice():
    X = named_table(n=40)
    free = ColumnSubset(3, search_criterion="training").fit(X)
    bound = ColumnSubset(3, conditions=Conditions(groups=[Group(["f0", "f1"], at_most=1)])).fit(X)
    assert bound.ridge_ == free.ridge_


def test_empty_conditions_are_the_free_choice():
    X = named_table()
    free, empty = ColumnSubset(4).fit(X), ColumnSubset(4, conditions=Conditions()).fit(X)
    np.testing.assert_array_equal(free.selected_, empty.selected_)
    assert empty.conditions_cost_.loss == pytest.approx(empty.conditions_cost_.free_loss)
    assert empty.objective_ == pytest.approx(free.objective_) and empty.proven_optimal_
    np.testing.assert_allclose(empty.reconstruction_coef_, free.reconstruction_coef_, atol=1e-9)
    np.testing.assert_allclose(empty.scores_, free.scores_, atol=1e-9)


def test_must_haves_have_a_cost_too():
    X = named_table()
    selector = ColumnSubset(4, include=["f0", "f1"]).fit(X)
    cost = selector.conditions_cost_
    assert cost.loss == pytest.approx(selector.objective_)
    assert cost.free_loss == pytest.approx(ColumnSubset(4, ridge=selector.ridge_).fit(X).objective_)
    with pytest.raises(AttributeError, match="fit it with conditions or include"):
        selector.set_params(include=None).fit(X).conditions_cost_  # noqa: B018


def test_replacements_keep_to_the_conditions():
    X = named_table()
    conditions = Conditions(groups=[Group(["f0", "f1", "f2"], exactly=1)], blocks=[["f3", "f4"]])
    explained = ColumnSubset(5, include=["f3"], conditions=conditions).fit(X).explain()
    group, block = {"f0", "f1", "f2"}, {"f3", "f4"}
    for kept in explained.selected:
        offered = {one.feature for one in kept.replacements}
        if kept.feature in block:
            assert not offered
        elif kept.feature in group:
            assert offered <= group
        else:
            assert offered and not offered & (group | block)


def test_duplicates_and_constants():
    X = named_table().assign(f1=lambda t: t["f0"], f2=1.0)
    conditions = Conditions(groups=[Group(["f0", "f1", "f2"], exactly=3)])
    selector = ColumnSubset(4, ridge=0, conditions=conditions).fit(X)
    assert {0, 1, 2} < set(selector.selected_.tolist())
    assert np.isfinite(selector.reconstruction_coef_).all()


@pytest.mark.parametrize(
    ("conditions", "k", "more", "words"),
    [
        (Conditions(cost=range(1, 11), budget=0.5), None, {}, "the cheapest selection costs 1 and the budget is 0.5"),
        (
            Conditions(cost=range(1, 11), budget=9),
            None,
            {"include": [8, 7]},
            "costs 17 and the budget is 9; raise it by 8",
        ),
        (
            Conditions(groups=[Group([0, 1], exactly=2, name="two")]),
            4,
            {"exclude": [1]},
            "2 of group 'two' .* at most 1",
        ),
        (Conditions(groups=[Group(range(8), at_most=1)]), 5, {}, "at most 1 of group 0 .* need at least 3"),
        (Conditions(blocks=[range(5), range(5, 10)]), 4, {}, "4 features .* allow 0 to 10 but not this number"),
        (
            Conditions(blocks=[[0, 1]]),
            4,
            {"include": [0], "exclude": [1]},
            "feature 0 is included but is in a block with 1",
        ),
        (
            Conditions(coordinates=np.arange(10), min_distance=3),
            5,
            {},
            "5 features are to be selected, and the other conditions allow at most 4",
        ),
        (Conditions(coordinates=np.arange(10), min_distance=3), 3, {"include": [4, 5]}, "4 and 5 are both included"),
        (Conditions(choose_from=[1, 2]), 3, {}, "3 features .* at most 2"),
        (Conditions(choose_from=[]), 2, {}, "they leave no feature to select"),
        (Conditions(choose_from=[1], blocks=[[1, 8]]), 1, {}, "they leave no feature to select"),
        (Conditions(choose_from=[1, 2], only_reconstruct=[1, 2, 3]), 1, {}, "they leave no feature to select"),
    ],
)
def test_conditions_that_cannot_be_met_say_why(conditions, k, more, words):
    with pytest.raises(InfeasibleConditionsError, match=f"The conditions cannot be met: .*{words}"):
        ColumnSubset(k, conditions=conditions, **more).fit(named_table().to_numpy())


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Conditions(cost={"a": 1}), "cost but no budget"),
        (lambda: Conditions(min_distance=1), "min_distance but no coordinates"),
        (lambda: Conditions(cost={"a": -1}, budget=1), "cost of 'a' must be a number from 0"),
        (lambda: Conditions(penalty={"a": float("nan")}), "penalty of 'a' must be a number from 0"),
        (lambda: Conditions(coordinates={"a": (1, 2), "b": (1,)}, min_distance=1), "as many for one feature"),
        (lambda: Conditions(coordinates={"a": ["x"]}, min_distance=1), "coordinates of 'a' must be finite numbers"),
        (lambda: Conditions(coordinates={"a": [[1]]}, min_distance=1), "coordinates of 'a' must be finite numbers"),
        (lambda: Conditions(coordinates={"a": "12"}, min_distance=1), "coordinates of 'a' must be finite numbers"),
        (lambda: Conditions(coordinates=[[1], [np.inf]], min_distance=1), "coordinates of 1 must be finite numbers"),
        (lambda: Conditions(cost={"a": 10**400}, budget=1), "cost of 'a' must be a number from 0"),
        (lambda: Conditions(groups=[["a", "b"]]), "groups must hold stableselect.Group"),
        (lambda: Conditions(blocks=["ab"]), "a block must be a list of names"),
        (lambda: Group(["a"], at_least=2, at_most=1, name="x"), "group 'x' asks for at least 2 and at most 1"),
        (lambda: Group(["a"], exactly=1, at_most=1), "give exactly alone"),
        (lambda: Group(["a"], at_most=1.5), "at_most of a group must be a whole number"),
    ],
)
def test_what_conditions_refuse(make, words):
    with pytest.raises((ValueError, TypeError), match=words):
        make()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"n_features_to_select": "auto"}, "conditions do not go with n_features_to_select='auto'"),
        ({"criterion": "stability"}, "conditions do not go with criterion='stability'"),
        ({"sketch": 50}, "conditions are searched on exact moments"),
        ({"conditions": Conditions(penalty={"f77": 1})}, "Unknown feature 'f77' in penalty"),
        ({"conditions": Conditions(penalty=[1, 2])}, "penalty has 2 numbers for 10 features"),
        ({"conditions": Conditions(cost={"f0": 1}, budget=5)}, "cost lacks 'f1'"),
        ({"conditions": Conditions(blocks=[["f0", "f1"], ["f1", "f2"]])}, "'f1' is in two blocks"),
        ({"conditions": Conditions(target_weight=[0] * 10)}, "no feature to reconstruct"),
    ],
)
def test_what_a_fit_with_conditions_refuses(more, words):
    given = {"n_features_to_select": 3, "conditions": Conditions()} | more
    with pytest.raises(ValueError, match=words):
        ColumnSubset(**given).fit(named_table())


def test_votes_refuse_conditions():
    with pytest.raises(ValueError, match="Votes do not keep to the conditions"):
        ConsensusSelector(ColumnSubset(conditions=Conditions()), n_features_to_select=3).fit(named_table())


def test_inspections_take_a_selector_with_conditions():
    X = named_table()
    runs = stability_analysis(ColumnSubset(4, ridge=0.1, conditions=Conditions(blocks=[["f3", "f4"]])), X, cv=4)
    assert (runs.supports[:, 3] == runs.supports[:, 4]).all()
    report = held_out_report(ColumnSubset(ridge=0.1, conditions=ALL), X)
    assert report.selection < report.mean_predictor


def check_scorer_cases(count: int) -> None:
    """Hold that selections by the scorer-selector's objective are allowed and nearly all the best by it."""
    above, seed = [], 0
    while len(above) < count:
        case, seed = draw_case(seed, largest=8), seed + 1
        sets = [chosen for chosen in case.sets() if case.allowed(chosen)]
        if not sets:
            continue
        selector = case.selector(ScorerSelector).fit(case.X)
        chosen = tuple(np.flatnonzero(selector.support_).tolist())
        assert chosen in sets
        gram, unit = Moments.from_array(case.X).operator().normalised()
        penalty, total = case.conditions.penalty or {}, float(case.weights() @ gram.diagonal())

        def cost(chosen):
            J = ScorerObjective(gram, len(chosen), 1 / 128, case.ridge, targets=case.weights()).exact(list(chosen))[0]  # noqa: B023
            return J / total + sum(penalty.get(j, 0.0) for j in chosen)  # noqa: B023

        above.append(cost(chosen) / min(map(cost, sets)) - 1)
        charged = sum(penalty.get(j, 0.0) for j in chosen)
        size = case.weights().sum() / total / unit
        assert selector.objective_ * size == pytest.approx(cost(chosen) - charged, abs=1e-9)
        least = min(cost(other) - sum(penalty.get(j, 0.0) for j in other) for other in sets)
        assert selector.lower_bound_ * size <= least + 1e-9
    optimal = np.mean(np.array(above) < 1e-8)
    print(f"{count} cases of the scorer, all allowed; {optimal:.1%} optimal, the worst {max(above):.2%} above")
    assert optimal >= 0.9 and max(above) < 0.02


def test_some_cases_of_the_scorer_against_all_sets():
    check_scorer_cases(6)


@pytest.mark.slow
def test_50_cases_of_the_scorer_against_all_sets():
    check_scorer_cases(50)


@pytest.mark.parametrize("kind", [ColumnSubset, ScorerSelector])
@pytest.mark.parametrize("n", [6, 60])
def test_tensors_give_the_same(kind, n):
    torch = pytest.importorskip("torch")
    X, conditions = named_table(n=n).to_numpy(), ALL.mapped(lambda name: int(name[1:]))
    ours, theirs = (kind(ridge=0.1, conditions=conditions).fit(table) for table in (X, torch.tensor(X)))
    np.testing.assert_array_equal(ours.selected_, theirs.selected_)
    assert ours.objective_ == pytest.approx(theirs.objective_)


def test_missing_values_and_batches():
    X = named_table(n=90)
    within = ColumnSubset(conditions=ALL).fit(X, batch=np.arange(90) % 3)
    X.iloc[3, 4] = np.nan
    completed = ColumnSubset(conditions=ALL, missing="em").fit(X)
    for selector in (within, completed):
        kept = set(selector.get_feature_names_out())
        assert len(kept & {"f0", "f1", "f2"}) <= 1 and kept & {"f8", "f9"} and "f7" not in kept
        assert ("f3" in kept) == ("f4" in kept) and selector.conditions_cost_.spent <= 8


@pytest.mark.parametrize("plain", [{"nope": 1}, {"cost": ["pairs", 3], "budget": 1}, {"groups": [{"features": "ab"}]}])
def test_damaged_conditions_are_refused(plain):
    with pytest.raises((ValueError, TypeError)):
        Conditions.from_plain(plain)
