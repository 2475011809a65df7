"""Asking for stability: the frontier against its definition, the choice among its points, and what a user may ask."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from stableselect import ColumnSubset, Moments, ScorerSelector, load, save
from stableselect._core._folds import fold_moments, row_folds
from stableselect._core._gram import Gram
from stableselect._core._subset_search import exchange_search, forward_search
from stableselect.metrics import stability
from stableselect.subset._frontier import (
    CONSENSUS,
    MAP_RIDGES,
    RIDGES,
    FrontierSearch,
    Task,
    held_out_groups,
    voting_groups,
)
from stableselect.subset._ridge import held_out_error, leave_out, refit_errors
from stableselect.subset._search import Setting, find_columns
from stableselect.subset._stability_frontier import ABOUT, Point, cheapest_stable, good_points


@pytest.fixture
def twins(rng):
    """Eight groups of columns, each four near copies of one factor: which copy is kept is almost a toss-up."""
    factors = rng.normal(size=(240, 8)) * np.linspace(2, 1, 8)
    return np.repeat(factors, 4, axis=1) + 0.4 * rng.normal(size=(240, 32))


def columns_task(k, ridges=(0.0, 0.1), map_ridges=(None,)):
    def finish(part, found, setting):
        ridges = [setting.ridge if ridge is None else ridge for ridge in map_ridges]
        return found.chosen, refit_errors(part.gram, part.target, part.shift, found.chosen, ridges)

    return Task(k, [], [], ridges, True, (None,), map_ridges, finish)


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


def test_held_out_groups_cover_every_fold_once_and_voters_stay_outside():
    for n_folds in range(6, 13):
        groups = held_out_groups(n_folds)
        assert sorted(itertools.chain(*groups)) == list(range(n_folds))
        voters = voting_groups(n_folds)
        for held in groups:
            assert sum(not set(voter) & set(held) for voter in voters) >= 2


@pytest.mark.slow
def test_a_point_is_what_refits_without_the_folds_give(twins):
    k, folds = 8, row_folds(twins, 10)
    search = FrontierSearch(fold_moments(twins, None, 10), columns_task(k), np.inf)
    setting = Setting(0.1, True, 0.03)
    point = next(p for p in search.points() if p.setting == setting)
    sets, error = [], 0.0
    for held in held_out_groups(10):
        out = np.isin(folds, held)
        votes = np.zeros(32)
        voters = [voter for voter in voting_groups(10) if not set(voter) & set(held)]
        for voter in voters:
            votes[ColumnSubset(k, ridge=0.1).fit(twins[np.isin(folds, voter)]).selected_] += 1 / len(voters)
        train, test = twins[~out], twins[out]
        mean, unit = train.mean(axis=0), train.var(axis=0).mean()
        centred = (train - mean) / unit**0.5
        C = centred.T @ centred / len(centred)
        plain = ColumnSubset(k, ridge=0.1).fit(train)
        loss = np.trace(C) - np.trace(
            C[:, plain.selected_]
            @ np.linalg.solve(C[np.ix_(plain.selected_, plain.selected_)] + 0.1 * np.eye(k), C[plain.selected_])
        )
        S, _ = exchange_search(Gram(C), plain.selected_.tolist(), 0.1, prices=0.03 * loss * (1 - votes))
        B = np.linalg.solve(C[np.ix_(S, S)] + 0.1 * np.eye(k), C[S])
        error += (((test - mean) - (test - mean)[:, S] @ B) ** 2).sum()
        sets.append(S)
    assert point.error == pytest.approx(error / twins.size, rel=1e-9)
    found = stability(sets, n_features=32)
    assert (point.stability, point.standard_error) == pytest.approx((found.nogueira, found.standard_error))


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


def test_good_points_are_near_the_least_error_and_about_as_stable_as_the_best_of_those():
    points = [
        Point(Setting(ridge, True, consensus), error, value, 0.0)
        for ridge, consensus, error, value in [
            (0.0, 0.0, 1.00, 0.10),
            (0.0, 0.1, 1.04, 0.55),
            (0.3, 0.1, 1.06, 0.90),
            (0.1, 0.1, 1.02, 0.50),
            (0.1, 0.3, 1.03, 0.30),
        ]
    ]
    assert good_points(points, 0.05) == [1, 3]
    assert good_points(points, 0.1) == [2]
    assert good_points(points, 0.0) == [0]
    assert good_points([Point(Setting(), 1.0, np.nan, np.nan)], 0.05) == []
    assert cheapest_stable(points, 0.4) == (3, True)
    assert cheapest_stable(points, 0.95) == (2, False)


@pytest.mark.slow
def test_the_compromise_has_the_mean_ridge_all_votes_and_as_much_weight_for_them_as_is_allowed(twins):
    folds = row_folds(twins, 10)
    search = FrontierSearch(fold_moments(twins, None, 10), columns_task(8, ridges=RIDGES, map_ridges=MAP_RIDGES), 1.05)
    points = search.points()
    every, taken = search.compromise(points, 0.05)
    good, more = good_points(points, 0.05), every[len(points) :]
    ridges = [points[i].setting.ridge for i in good]
    assert every[: len(points)] == points and len(set(ridges)) > 1
    expected = np.exp(np.mean(np.log(np.array(ridges) + 0.03))) - 0.03
    for point in more:
        assert point.setting.ridge == pytest.approx(expected, rel=0.05)
    limit = 1.05 * min(point.error for point in every)
    assert [point.setting.consensus for point in more] == [0.0, *CONSENSUS][: len(more)]
    near = [point for point in every if point.error <= limit]
    stable = max(point.stability for point in near) - ABOUT
    assert every[taken] == [point for point in more if point in near and point.stability >= stable][-1]
    votes = np.zeros(32)
    for ridge in ridges:
        for voter in voting_groups(10):
            votes[ColumnSubset(8, ridge=ridge).fit(twins[np.isin(folds, voter)]).selected_] += 1
    votes /= len(ridges) * len(voting_groups(10))
    np.testing.assert_allclose(search.votes(every[taken].setting), votes)
    fitted = ColumnSubset(8, criterion="stability").fit(twins)
    np.testing.assert_allclose(fitted.selection_frequency_, votes)
    frontier = fitted.frontier_
    assert frontier.chosen == taken and frontier.ridge[taken] == every[taken].setting.ridge


def test_without_a_compromise_within_the_tolerance_the_next_good_point_is_taken(twins, monkeypatch):
    search = FrontierSearch(fold_moments(twins, None, 10), columns_task(8, ridges=RIDGES), 1.05)
    points = search.points()
    measure = search._measure
    monkeypatch.setattr(
        search, "_measure", lambda *given: (replace(point, error=9 * point.error) for point in measure(*given))
    )
    every, taken = search.compromise(points, 0.05)
    good = good_points(points, 0.05)
    assert len(every) == len(points) + 1 and taken in good

    def distance(i):
        return abs(np.log((points[i].setting.ridge + 0.03) / (every[-1].setting.ridge + 0.03)))

    assert distance(taken) == min(map(distance, good))


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
    assert np.mean(gain) > 0.15
    assert errors["stability"] < 1.05 * errors["error"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [ColumnSubset, ScorerSelector])
def test_the_frontier_is_kept_and_names_the_setting_taken(twins, kind, tmp_path):
    selector = kind(8, criterion="stability").fit(twins)
    frontier = selector.frontier_
    assert frontier.error[frontier.chosen] <= 1.05 * frontier.error.min()
    assert frontier.pareto_optimal[np.argmin(frontier.error)]
    near = frontier.error <= 1.05 * frontier.error.min()
    assert frontier.stability[frontier.chosen] >= frontier.stability[near].max() - 0.2
    assert selector.ridge_ == frontier.map_ridge[frontier.chosen]
    if kind is ScorerSelector:
        assert selector.latent_width_ == frontier.latent_width[frontier.chosen]
        assert set(frontier.latent_width) == {4, 8}
    save(selector, tmp_path / "kept.sselect")
    again = load(tmp_path / "kept.sselect")
    np.testing.assert_array_equal(again.frontier_.stability, frontier.stability)
    assert again.frontier_.describe(frontier.chosen) == frontier.describe(frontier.chosen)
    assert f"of {len(frontier.error)} settings, {frontier.describe(frontier.chosen)} was chosen" in str(frontier)
    assert len(str(frontier)) < 200
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
def test_a_target_takes_the_least_error_that_meets_it(twins):
    free = ColumnSubset(8, criterion="stability", max_error_increase=1e9).fit(twins).frontier_
    wanted = float(np.nanmax(free.stability)) - 0.1
    frontier = ColumnSubset(8, min_stability=wanted).fit(twins).frontier_
    assert frontier.reached and frontier.stability[frontier.chosen] >= wanted
    assert frontier.error[frontier.chosen] == frontier.error[frontier.stability >= wanted].min()


@pytest.mark.slow
def test_an_unreachable_target_warns_and_takes_the_most_stable(rng):
    with pytest.warns(UserWarning, match="No setting reaches the stability 1"):
        selector = ColumnSubset(5, min_stability=1.0).fit(rng.normal(size=(60, 20)))
    frontier = selector.frontier_
    assert not frontier.reached and frontier.stability[frontier.chosen] == frontier.stability.max()


@pytest.mark.slow
def test_includes_and_excludes_are_kept_to(twins):
    selector = ColumnSubset(8, criterion="stability", include=[3], exclude=[0, 4]).fit(twins)
    assert selector.support_[3] and not selector.support_[[0, 4]].any()


@pytest.mark.slow
def test_columns_that_are_decided_do_not_make_noise_look_stable(rng):
    tables = [rng.normal(size=(200, 20)) for _ in range(4)]
    for roles in ({"include": [0, 1, 2, 3]}, {"exclude": list(range(13))}):
        selectors = [ColumnSubset(5, criterion="stability", **roles).fit(noise) for noise in tables]
        # Counted among all columns, sets drawn at random would have 0.75 and 0.6.
        assert np.mean([selector.frontier_.stability.mean() for selector in selectors]) < 0.5


@pytest.mark.parametrize("roles", [{"include": [0, 5, 7]}, {"exclude": list(range(3, 20))}])
def test_roles_that_leave_no_choice_make_stability_nan(rng, roles):
    with pytest.warns(UserWarning, match="The same 3 features .* include or exclude fewer"):
        selector = ColumnSubset(3, criterion="stability", **roles).fit(rng.normal(size=(100, 20)))
    assert np.isnan(selector.frontier_.stability).all() and selector.support_.sum() == 3


def test_without_exchange_no_setting_swaps(twins, rng):
    assert not ColumnSubset(8, exchange=False, criterion="stability").fit(twins).frontier_.exchange.any()
    few_rows = rng.normal(size=(40, 120))
    assert not ColumnSubset(4, criterion="stability").fit(few_rows).frontier_.exchange.any()
    assert set(ColumnSubset(8, ridge=0.5, criterion="stability").fit(twins).frontier_.ridge) == {0.5}


@pytest.mark.slow
def test_high_ridges_are_tried_where_they_may_be_of_use(twins, rng):
    assert ColumnSubset(8, criterion="stability").fit(twins).frontier_.ridge.max() == 3
    assert ColumnSubset(4, criterion="stability").fit(rng.normal(size=(40, 120))).frontier_.ridge.max() == 30
    assert ColumnSubset(8, min_stability=0.5).fit(twins).frontier_.ridge.max() == 30


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
    assert ColumnSubset(8, criterion="stability").fit_moments(parts).frontier_.error.size > 5


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
