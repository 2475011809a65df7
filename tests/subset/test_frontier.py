"""Asking for stability: the frontier against its definition, the choice among its points, and what a user may ask."""

import itertools

import numpy as np
import pytest

from stableselect import ColumnSubset, Moments, ScorerSelector, load, save
from stableselect._core._folds import fold_moments, row_folds
from stableselect._core._gram import Gram
from stableselect._core._subset_search import exchange_search, forward_search
from stableselect.metrics import stability
from stableselect.subset._fold_groups import held_out_groups, inner_groups, voting_groups
from stableselect.subset._frontier import VOTE_WEIGHT, Procedure, Task
from stableselect.subset._ridge import held_out_error, leave_out, refit_errors
from stableselect.subset._search import Setting, find_columns
from stableselect.subset._stability_frontier import Point, first_stable, most_stable


@pytest.fixture
def twins(rng):
    """Eight groups of columns, each four near copies of one factor: which copy is kept is almost a toss-up."""
    factors = rng.normal(size=(240, 8)) * np.linspace(2, 1, 8)
    return np.repeat(factors, 4, axis=1) + 0.4 * rng.normal(size=(240, 32))


def columns_task(k, ridges=(0.1,), map_ridges=(None,), max_error_increase=0.05, min_stability=None):
    def finish(part, found, setting):
        ridges = [setting.ridge if ridge is None else ridge for ridge in map_ridges]
        return found.chosen, refit_errors(part.gram, part.target, part.shift, found.chosen, ridges)

    return Task(k, [], [], ridges, True, map_ridges, finish, max_error_increase, min_stability)


def test_exchange_under_prices_ends_where_no_swap_lowers_loss_and_prices(tall, rng):
    gram = Moments.from_array(tall).operator().normalised()[0]
    prices = rng.random(12)

    def cost(S):
        C = gram.dense()
        R = C - C[:, S] @ np.linalg.solve(C[np.ix_(S, S)] + 0.2 * np.eye(len(S)), C[S])
        return np.trace(R) + prices[list(S)].sum()

    chosen, _ = exchange_search(gram, [0, 1, 2, 3], 0.2, prices=prices)
    swaps = [[*(c for c in chosen if c != a), j] for a in chosen for j in range(12) if j not in chosen]
    assert cost(chosen) <= min(map(cost, swaps)) + 1e-9
    best = min(map(list, itertools.combinations(range(12), 4)), key=cost)
    assert cost(chosen) == pytest.approx(cost(best))


def test_prices_of_zero_change_nothing_and_high_ones_decide(tall):
    gram = Moments.from_array(tall).operator().normalised()[0]
    start = forward_search(gram, 4, 0.0)
    assert set(exchange_search(gram, start, 0.0)[0]) == set(exchange_search(gram, start, 0.0, prices=np.zeros(12))[0])
    dear = np.full(12, 1e6)
    dear[[1, 5, 8, 11]] = 0
    assert set(exchange_search(gram, start, 0.0, prices=dear)[0]) == {1, 5, 8, 11}


def test_folds_are_held_out_equally_often_and_voters_are_left_in_every_round():
    for n_folds in range(6, 11):
        groups = held_out_groups(n_folds)
        assert len(set(groups)) == len(groups)
        assert len(set(np.bincount(list(itertools.chain(*groups))))) == 1
        for outside in groups:
            left = [fold for fold in range(n_folds) if fold not in outside]
            inner = inner_groups(left, len(outside))
            assert sorted(itertools.chain(*inner)) == left
            for group in inner:
                assert sum(not set(voter) & {*outside, *group} for voter in voting_groups(n_folds)) >= 3


def by_hand(X, folds, held, k, vote_weight):
    """What the samples outside the held folds give: features under the votes of subsamples, and their map's error."""
    out = np.isin(folds, held)
    train = X[~out]
    mean, unit = train.mean(axis=0), train.var(axis=0).mean()
    centred = (train - mean) / unit**0.5
    C = centred.T @ centred / len(centred)
    S = ColumnSubset(k, ridge=0.1).fit(train).selected_.tolist()
    if vote_weight:
        votes = np.zeros(X.shape[1])
        voters = [voter for voter in voting_groups(10) if not set(voter) & set(held)]
        for voter in voters:
            votes[ColumnSubset(k, ridge=0.1).fit(X[np.isin(folds, voter)]).selected_] += 1 / len(voters)
        loss = np.trace(C) - np.trace(C[:, S] @ np.linalg.solve(C[np.ix_(S, S)] + 0.1 * np.eye(k), C[S]))
        S, _ = exchange_search(Gram(C), S, 0.1, prices=vote_weight * loss * (1 - votes))
    return S, mean, np.linalg.solve(C[np.ix_(S, S)] + 0.1 * np.eye(k), C[S])


@pytest.mark.slow
def test_a_point_is_what_refits_without_the_folds_give(twins):
    folds = row_folds(twins, 10)
    points, _ = Procedure(fold_moments(twins, None, 10), columns_task(8)).choose(held_out_groups(10))
    for point, vote_weight in zip(points, (0.0, VOTE_WEIGHT), strict=True):
        sets, error, count = [], 0.0, 0
        for held in held_out_groups(10):
            S, mean, B = by_hand(twins, folds, held, 8, vote_weight)
            test = twins[np.isin(folds, held)] - mean
            error, count = error + ((test - test[:, S] @ B) ** 2).sum(), count + test.size
            sets.append(S)
        assert point.error == pytest.approx(error / count, rel=1e-9)
        found = stability(sets, n_features=32)
        assert (point.stability, point.standard_error) == pytest.approx((found.nogueira, found.standard_error))


@pytest.mark.slow
def test_the_stated_stability_is_that_of_the_whole_procedure_repeated(twins):
    folds, moments = row_folds(twins, 10), fold_moments(twins, None, 10)
    sets = []
    for outside in held_out_groups(10):
        left = [fold for fold in range(10) if fold not in outside]
        # The choice between the two settings, by hand, on the folds that are left.
        points = []
        for vote_weight in (0.0, VOTE_WEIGHT):
            inner, error = [], 0.0
            for group in inner_groups(left, 2):
                S, mean, B = by_hand(twins, folds, (*outside, *group), 8, vote_weight)
                test = twins[np.isin(folds, group)] - mean
                error += ((test - test[:, S] @ B) ** 2).sum()
                inner.append(S)
            points.append((error, stability(inner, n_features=32).nogueira))
        (plain, repeats), (voted, agreed) = points
        votes = voted <= 1.05 * plain and (voted < plain or agreed > repeats or (voted, agreed) == (plain, repeats))
        sets.append(by_hand(twins, folds, outside, 8, VOTE_WEIGHT if votes else 0.0)[0])
    masks = Procedure(moments, columns_task(8)).repeated()
    assert [set(np.flatnonzero(mask)) for mask in masks] == [set(S) for S in sets]
    frontier = ColumnSubset(8, ridge=0.1, criterion="stability").fit(twins).frontier_
    assert frontier.procedure_stability == pytest.approx(stability(sets, n_features=32).nogueira)
    low, high = frontier.procedure_interval
    assert -1 <= low < frontier.procedure_stability < high <= 1


def points_of(*figures):
    return [Point(Setting(float(number)), error, value, 0.0) for number, (error, value) in enumerate(figures)]


def test_the_most_stable_setting_within_the_allowed_error_is_taken_unless_another_beats_it():
    assert most_stable(points_of((1.0, 0.3), (1.04, 0.5)), 0.05) == 1
    assert most_stable(points_of((1.0, 0.3), (1.06, 0.5)), 0.05) == 0
    assert most_stable(points_of((1.0, 0.5), (1.04, 0.5)), 0.05) == 0
    assert most_stable(points_of((1.0, np.nan), (1.0, np.nan)), 0.05) == 1


def test_a_wish_is_met_by_the_first_setting_that_is_stable_enough():
    points = points_of((1.0, 0.3), (1.01, 0.5), (1.03, 0.45), (1.04, 0.7), (1.2, 0.9))
    assert first_stable(points, 0.05, 0.2) == 0
    assert first_stable(points, 0.05, 0.4) == 1
    assert first_stable(points, 0.05, 0.6) == 3
    assert first_stable(points, 0.05, 0.8) == 3
    assert first_stable(points, 0.3, 0.8) == 4


@pytest.mark.slow
def test_a_wish_the_default_meets_costs_nothing(twins):
    default = ColumnSubset(8, ridge=0.1).fit(twins)
    asked = ColumnSubset(8, ridge=0.1, min_stability=0.01).fit(twins)
    np.testing.assert_array_equal(asked.selected_, default.selected_)
    assert asked.frontier_.chosen == 0 and asked.frontier_.reached


@pytest.mark.slow
def test_a_wish_that_is_not_met_warns_with_what_can_be_had(rng):
    with pytest.warns(UserWarning, match="The stability 1 is not reached") as caught:
        selector = ColumnSubset(5, min_stability=1.0).fit(rng.normal(size=(60, 20)))
    frontier = selector.frontier_
    assert not frontier.reached and f"{frontier.procedure_stability:.2f}" in str(caught[0].message)
    assert frontier.error[frontier.chosen] <= 1.05 * frontier.error.min()


@pytest.mark.slow
def test_more_error_buys_more_ridge(twins):
    with pytest.warns(UserWarning, match="not reached"):
        little = ColumnSubset(8, min_stability=1.0, max_error_increase=0.001).fit(twins).frontier_
    with pytest.warns(UserWarning, match="not reached"):
        much = ColumnSubset(8, min_stability=1.0, max_error_increase=9.0).fit(twins).frontier_
    assert len(much.error) > len(little.error) and much.ridge.max() > little.ridge.max()
    assert set(ColumnSubset(8, ridge=0.5, criterion="stability").fit(twins).frontier_.ridge) == {0.5}


@pytest.mark.parametrize("name", ["tall", "wide"])
def test_errors_of_several_ridges_are_those_of_each(request, name):
    gram, target, shift, _ = leave_out(fold_moments(request.getfixturevalue(name), None, 4), [1])
    ridges = (0.0, 1e-3, 0.3, 2.0)
    each = [held_out_error(gram, target, shift, [2, 0, 5], ridge) for ridge in ridges]
    np.testing.assert_allclose(refit_errors(gram, target, shift, [2, 0, 5], ridges), each, rtol=1e-9)


def test_forward_under_prices_takes_the_largest_gain_less_price(tall, rng):
    gram = Moments.from_array(tall).operator().normalised()[0]
    C, prices = gram.dense(), rng.random(12)

    def loss(S):
        return np.trace(C - C[:, S] @ np.linalg.solve(C[np.ix_(S, S)] + 0.2 * np.eye(len(S)), C[S]))

    chosen: list[int] = []
    for _ in range(5):
        chosen.append(min(set(range(12)) - set(chosen), key=lambda j: loss([*chosen, j]) + prices[j]))
    assert forward_search(gram, 5, 0.2, prices=prices) == chosen


@pytest.mark.slow
def test_votes_make_the_choice_among_neighbours_repeat():
    """Columns along a line, each almost as good as its neighbours, as pixels or wavelengths are."""
    x = np.arange(60)
    root = np.linalg.cholesky(np.exp(-(((x[:, None] - x) / 6) ** 2) / 2) + 0.02 * np.eye(60))
    gain, errors = [], {"error": 0.0, "stability": 0.0}
    for seed in (1, 2, 3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(200, 60)) @ root.T
        sets = {"error": [], "stability": []}
        for _ in range(5):
            rows = rng.permutation(200)
            train, test = X[rows[:160]], X[rows[160:]]
            for criterion, found in sets.items():
                selector = ColumnSubset(10, ridge=0.0, criterion=criterion).fit(train)
                found.append(selector.selected_)
                errors[criterion] += np.mean((selector.reconstruct(selector.transform(test)) - test) ** 2)
        plain, stable = (stability(found, n_features=60).nogueira for found in sets.values())
        gain.append(stable - plain)
    assert np.mean(gain) > 0.1
    assert errors["stability"] < 1.05 * errors["error"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [ColumnSubset, ScorerSelector])
def test_the_frontier_is_kept_and_names_the_setting_taken(twins, kind, tmp_path):
    selector = kind(8, criterion="stability").fit(twins)
    frontier = selector.frontier_
    assert frontier.error[frontier.chosen] <= 1.05 * frontier.error.min()
    assert frontier.pareto_optimal[np.argmin(frontier.error)]
    assert frontier.pareto_optimal[frontier.chosen]
    assert selector.ridge_ == frontier.map_ridge[frontier.chosen]
    save(selector, tmp_path / "kept.sselect")
    again = load(tmp_path / "kept.sselect")
    np.testing.assert_array_equal(again.frontier_.stability, frontier.stability)
    assert again.frontier_.describe(frontier.chosen) == frontier.describe(frontier.chosen)
    assert f"of {len(frontier.error)} settings, {frontier.describe(frontier.chosen)} was chosen" in str(frontier)
    assert len(str(frontier)) < 250
    frame = frontier.to_frame()
    assert frame["chosen"].sum() == 1 and frame["error"][frame["chosen"]].item() == frontier.error[frontier.chosen]
    np.testing.assert_array_equal(frame["pareto_optimal"], frontier.pareto_optimal)
    selector.set_params(criterion="error").fit(twins)
    with pytest.raises(AttributeError, match="criterion='stability'"):
        _ = selector.frontier_
    assert not hasattr(selector, "selection_frequency_")


@pytest.mark.slow
def test_moments_of_folds_give_the_same_choice_as_the_rows(twins):
    rows = ColumnSubset(8, criterion="stability").fit(twins)
    moments = ColumnSubset(8, criterion="stability").fit_moments(fold_moments(twins, None, 10))
    np.testing.assert_array_equal(rows.selected_, moments.selected_)
    shuffled = ColumnSubset(8, criterion="stability").fit(twins[::-1])
    np.testing.assert_array_equal(rows.selected_, shuffled.selected_)


@pytest.mark.slow
def test_includes_and_excludes_are_kept_to(twins):
    selector = ColumnSubset(8, criterion="stability", include=[3], exclude=[0, 4]).fit(twins)
    assert selector.support_[3] and not selector.support_[[0, 4]].any()


@pytest.mark.slow
def test_columns_that_are_decided_do_not_make_noise_look_stable(rng):
    noise = rng.normal(size=(200, 20))
    for roles, free in (({"include": [0, 1, 2, 3]}, range(4, 20)), ({"exclude": [*range(13)]}, range(13, 20))):
        frontier = ColumnSubset(5, ridge=0.0, criterion="stability", **roles).fit(noise).frontier_
        folds = row_folds(noise, 10)
        sets = [
            ColumnSubset(5, ridge=0.0, **roles).fit(noise[~np.isin(folds, held)]).support_[free]
            for held in held_out_groups(10)
        ]
        assert frontier.stability[0] == pytest.approx(stability(sets).nogueira)


@pytest.mark.parametrize("roles", [{"include": [0, 5, 7]}, {"exclude": list(range(3, 20))}])
def test_roles_that_leave_no_choice_make_stability_nan(rng, roles):
    with pytest.warns(UserWarning, match="The same 3 features .* include or exclude fewer"):
        selector = ColumnSubset(3, criterion="stability", **roles).fit(rng.normal(size=(100, 20)))
    assert np.isnan(selector.frontier_.stability).all() and selector.support_.sum() == 3


def test_keeping_every_column_is_no_choice_and_no_crash(rng):
    with pytest.warns(UserWarning, match="no choice to repeat"):
        selector = ColumnSubset(6, criterion="stability").fit(rng.normal(size=(60, 6)))
    assert selector.support_.all() and np.isnan(selector.frontier_.stability).all()


def test_columns_that_span_the_table_leave_an_error_of_nothing(rng):
    X = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 12))
    frontier = ColumnSubset(3, criterion="stability").fit(X).frontier_
    assert 0 < frontier.error[frontier.chosen] < 1e-10


@pytest.mark.slow
def test_many_parts_are_brought_together(twins):
    parts = [Moments.from_array(twins[start::30]) for start in range(30)]
    assert ColumnSubset(8, criterion="stability").fit_moments(parts).frontier_.error.size == 2


@pytest.mark.parametrize("settings", [{"scorer_weight": "x"}, {"scorer_weight": np.nan}, {"latent_width": "a"}])
def test_settings_of_the_network_are_looked_at_first(twins, settings):
    with pytest.raises(ValueError, match=f"'{next(iter(settings))}' parameter of ScorerSelector must be"):
        ScorerSelector(8, criterion="stability", **settings).fit(twins)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"criterion": "speed"}, "'criterion' parameter of ColumnSubset must be"),
        ({"max_error_increase": -0.1}, "'max_error_increase' parameter of ColumnSubset must be a float"),
        ({"max_error_increase": "5 %"}, "'max_error_increase' parameter of ColumnSubset must be a float"),
        ({"min_stability": 1.5}, r"'min_stability' parameter of .* must be a float in the range \(0.0, 1.0\]"),
    ],
)
def test_bad_preferences_are_refused(tall, parameters, message):
    with pytest.raises(ValueError, match=message):
        ColumnSubset(3, **parameters).fit(tall)


def test_too_few_rows_and_single_moments_are_refused(tall):
    with pytest.raises(ValueError, match="fit on more samples"):
        ColumnSubset(2, criterion="stability").fit(tall[:4])
    with pytest.raises(ValueError, match="a list of Moments"):
        ColumnSubset(2, criterion="stability").fit_moments(Moments.from_array(tall))


def test_a_known_start_gives_the_set_that_a_whole_search_gives(twins, rng):
    gram = Moments.from_array(twins).operator().normalised()[0]
    votes, setting = rng.random(32), Setting(0.1, True, 0.05)
    plain = find_columns(gram, 8, Setting(0.1)).chosen
    one = find_columns(gram, 8, setting, votes=votes)
    other = find_columns(gram, 8, setting, votes=votes, start=plain)
    assert one.chosen == other.chosen
