"""Asking for stability: the frontier against its definition, the choice among its points, and what a user may ask."""

import itertools
import warnings
from copy import copy
from functools import cache

import numpy as np
import pytest

from stableselect import ColumnSubset, Moments, ScorerSelector, load, save
from stableselect._core import forward_leave_one_out, forward_search, nogueira, stability_interval
from stableselect._core._folds import fold_moments, row_folds
from stableselect._core._gram import Gram
from stableselect._core._subset_search import exchange_search
from stableselect.metrics import stability
from stableselect.subset._default import Wanted
from stableselect.subset._frontier import Part, Procedure
from stableselect.subset._search import Setting, find_columns
from stableselect.subset._stability_frontier import Measured, choose, repeated_interval
from stableselect.subset._stability_task import Task, held_out_groups, vote_weights, voting_groups


@pytest.fixture(scope="module")
def twins():
    """Eight groups of columns, each four near copies of one factor: which copy is kept is almost a toss-up."""
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(240, 8)) * np.linspace(2, 1, 8)
    table = np.repeat(factors, 4, axis=1) + 0.4 * rng.normal(size=(240, 32))
    table.flags.writeable = False
    return table


@pytest.fixture(scope="module")
def steady(twins):
    """Return a function that gives ColumnSubset fitted for stability on the twins, once for every ridge."""
    return cache(lambda ridge="auto": ColumnSubset(8, ridge=ridge, criterion="stability").fit(twins))


def columns_task(k, ridge=0.1, search="training", **given):
    plain = Setting(ridge, search=search)
    return Task(Wanted(k, [], [], plain), 0.05, None, tuple(fold % 5 for fold in range(10)), **given)


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
    for n_folds, every in itertools.product(range(6, 11), (False, True)):
        groups = held_out_groups(n_folds, every)
        assert len(set(groups)) == len(groups)
        assert len(set(np.bincount(list(itertools.chain(*groups))))) == 1
        for held in groups:
            assert sum(not set(voter) & set(held) for voter in voting_groups(n_folds)) >= 5
            assert sum(not set(other) & set(held) for other in groups) >= 5


@pytest.mark.parametrize("held", [(0, 5), (1, 2), (0, 9)])
@pytest.mark.parametrize(("kind", "shape", "k"), [(ColumnSubset, (150, 12), 4), (ColumnSubset, (60, 240), 6)])
def test_the_first_setting_is_the_default_on_the_same_samples(rng, kind, shape, k, held):
    """Ridge by five folds and the proven best of few subsets; with few samples, the leave-one-out error."""
    X = rng.normal(size=(shape[0], 3)) @ rng.normal(size=(3, shape[1])) + rng.normal(size=shape)
    train = X[~np.isin(row_folds(X, 10), held)]
    default = kind(k).fit(train)
    search = "training" if shape[0] > shape[1] else "few_samples"
    procedure = Procedure(fold_moments(X, None, 10), columns_task(k, None, search))
    searched = Part(procedure, held).search(procedure.task.wanted.plain)
    assert searched.found.chosen == default.selected_.tolist()
    assert searched.setting.ridge == default.ridge_ and searched.criterion == default.search_criterion_
    assert searched.found.proven == (default.proven_optimal_ and search == "training")


def by_hand(X, folds, held, k, vote_weight, ballots):
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
            votes[ballots[voter]] += 1 / len(voters)
        loss = np.trace(C) - np.trace(C[:, S] @ np.linalg.solve(C[np.ix_(S, S)] + 0.1 * np.eye(k), C[S]))
        S, _ = exchange_search(Gram(C), S, 0.1, prices=vote_weight * loss * (1 - votes))
    return S, mean, np.linalg.solve(C[np.ix_(S, S)] + 0.1 * np.eye(k), C[S])


@pytest.fixture(scope="module")
def rounds(twins):
    """The sets and errors of every setting in every round, by hand."""
    folds = row_folds(twins, 10)
    ballots = {v: ColumnSubset(8, ridge=0.1).fit(twins[np.isin(folds, v)]).selected_ for v in voting_groups(10)}
    sets, errors, cells = [], [], []
    for vote_weight in (0.0, *vote_weights(8)):
        found = [by_hand(twins, folds, held, 8, vote_weight, ballots) for held in held_out_groups(10, every=True)]
        tests = [
            twins[np.isin(folds, held)] - mean
            for held, (_, mean, _) in zip(held_out_groups(10, every=True), found, strict=True)
        ]
        errors.append([((test - test[:, S] @ B) ** 2).sum() for test, (S, _, B) in zip(tests, found, strict=True)])
        cells = [test.size for test in tests]
        sets.append([S for S, _, _ in found])
    return sets, np.array(errors), np.array(cells)


@pytest.mark.slow
def test_a_setting_is_measured_by_refits_without_the_folds(steady, rounds):
    sets, errors, cells = rounds
    frontier = steady(0.1).frontier_
    assert frontier.vote_weight.tolist() == [0.0, *vote_weights(8)]
    np.testing.assert_allclose(frontier.error, errors.sum(axis=1) / cells.sum(), rtol=1e-9)
    found = [stability(each, n_features=32) for each in sets]
    np.testing.assert_allclose(frontier.stability, [each.nogueira for each in found])
    np.testing.assert_allclose(frontier.standard_error, [each.standard_error for each in found])


def chosen_by_hand(sets, errors, m=32):
    """The most stable setting within 5 % of the least error."""
    values = [stability(each, n_features=m).nogueira for each in sets]
    within = errors.sum(axis=1) <= 1.05 * errors.sum(axis=1).min()
    return int(np.argmax(np.where(within | (np.arange(len(sets)) == 0), values, -np.inf)))


@pytest.mark.slow
def test_the_stated_stability_is_that_of_rounds_that_choose_by_the_others(steady, rounds):
    sets, errors, _ = rounds
    groups, repeats = held_out_groups(10, every=True), []
    for number, held in enumerate(groups):
        others = [at for at, other in enumerate(groups) if not set(other) & set(held)]
        setting = chosen_by_hand([[each[at] for at in others] for each in sets], errors[:, others])
        repeats.append(sets[setting][number])
    frontier = steady(0.1).frontier_
    assert frontier.chosen == chosen_by_hand(sets, errors)
    assert frontier.procedure_stability == pytest.approx(stability(repeats, n_features=32).nogueira)
    low, high = frontier.procedure_interval
    assert -1 <= low < frontier.procedure_stability < high <= 1


def sets_that_differ(rng, n_rounds, often, k=5, m=20):
    """The same k features, one of them swapped for another in a fraction of the rounds."""
    masks = np.zeros((n_rounds, m), dtype=bool)
    masks[:, :k] = True
    for mask in masks[: round(often * n_rounds)]:
        mask[rng.integers(k)], mask[k + rng.integers(m - k)] = False, True
    return masks


def measured(rng, *figures, n_rounds=15):
    """Settings by their mean error and how often their sets differ."""
    errors = np.array([np.full(n_rounds, error) for error, _ in figures])
    return Measured(
        np.array([sets_that_differ(rng, n_rounds, often) for _, often in figures]), errors, np.ones(n_rounds)
    )


def test_a_steadier_setting_within_the_allowed_error_is_taken(rng):
    assert choose(measured(rng, (1.0, 0.9), (1.04, 0.2)), 0.05, None) == 1
    assert choose(measured(rng, (1.0, 0.9), (1.06, 0.2)), 0.05, None) == 0
    assert choose(measured(rng, (1.0, 0.9), (1.01, 0.2), (1.02, 0.0), (1.03, 0.5)), 0.05, None) == 2


def test_a_default_as_stable_as_any_other_is_kept(rng):
    same = sets_that_differ(rng, 15, 0.5)
    less = sets_that_differ(rng, 15, 0.9)
    assert choose(Measured(np.array([same, same, less]), np.ones((3, 15)), np.ones(15)), 0.05, None) == 0
    every = np.ones((2, 15, 20), dtype=bool)
    assert choose(Measured(every, np.ones((2, 15)), np.ones(15)), 0.05, None) == 0


def test_a_wish_is_met_by_the_first_setting_that_is_stable_enough(rng):
    some = measured(rng, (1.0, 0.9), (1.01, 0.5), (1.03, 0.2), (1.2, 0.0))
    values = [some.stability(setting) for setting in range(4)]
    assert values == sorted(values)
    assert choose(some, 0.05, values[0] - 0.01) == 0
    assert choose(some, 0.05, values[0] + 0.01) == 1
    assert choose(some, 0.05, values[2]) == 2
    assert choose(some, 0.05, 1.0) == 2
    assert choose(some, 0.3, 1.0) == 3


def test_rounds_that_share_samples_say_less_than_as_many_that_do_not(rng):
    masks = sets_that_differ(rng, 15, 0.6)
    value, error = nogueira(masks)
    low, high = repeated_interval(masks)
    naive = stability_interval(value, error, 15)
    assert -1 <= low < naive[0] < value < naive[1] < high <= 1


def test_rounds_that_agree_do_not_prove_that_all_would(rng):
    low, high = repeated_interval(sets_that_differ(rng, 15, 0.0))
    assert 0.75 < low < 0.95 and high == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("kind", [ColumnSubset, ScorerSelector])
def test_a_wish_the_default_meets_costs_nothing(twins, kind):
    X = twins[:, ::2]  # few enough subsets for a proof
    default, asked = kind(6).fit(X), kind(6, min_stability=0.01).fit(X)
    np.testing.assert_array_equal(asked.selected_, default.selected_)
    assert asked.frontier_.chosen == 0 and asked.frontier_.reached
    assert asked.ridge_ == default.ridge_ and asked.objective_ == pytest.approx(default.objective_)
    if kind is ColumnSubset:
        assert asked.proven_optimal_ and default.proven_optimal_


@pytest.mark.slow
def test_the_first_setting_of_the_scorer_is_its_default_on_the_same_samples(twins):
    X, folds = twins[:, ::2], row_folds(twins[:, ::2], 10)
    sets = [ScorerSelector(6).fit(X[~np.isin(folds, held)]).selected_ for held in held_out_groups(10, every=True)]
    frontier = ScorerSelector(6, criterion="stability").fit(X).frontier_
    assert frontier.stability[0] == pytest.approx(stability(sets, n_features=16).nogueira)


@pytest.mark.slow
def test_a_wish_that_is_not_met_warns_with_what_can_be_had(rng):
    with pytest.warns(UserWarning, match="The stability 1 is not reached") as caught:
        selector = ColumnSubset(5, min_stability=1.0).fit(rng.normal(size=(60, 20)))
    frontier = selector.frontier_
    assert not frontier.reached and f"{frontier.procedure_stability:.2f}" in str(caught[0].message)
    assert frontier.error[frontier.chosen] <= 1.05 * frontier.error.min()


@pytest.mark.slow
def test_a_higher_wish_lets_votes_weigh_more(twins, steady):
    with pytest.warns(UserWarning, match="not reached"):
        frontier = ColumnSubset(8, min_stability=1.0, max_error_increase=9.0).fit(twins).frontier_
    assert frontier.vote_weight.tolist() == [0.0, 0.125, 0.25, 0.5, 1.0]
    assert set(steady(0.1).frontier_.ridge) == {0.1}


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
    for seed in (1, 2):
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
def test_few_samples_are_not_searched_twice_with_one_ridge(rng, monkeypatch):
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 260)) + rng.normal(size=(60, 260))
    calls = []

    def counted(samples, k, ridge, include=(), exclude=()):
        calls.append((samples.gram.A.tobytes(), ridge))
        return forward_leave_one_out(samples, k, ridge, include, exclude)

    monkeypatch.setattr("stableselect.subset._default.forward_leave_one_out", counted)
    frontier = ColumnSubset(6, criterion="stability").fit(X).frontier_
    assert len(calls) == len(set(calls))
    assert len({samples for samples, _ in calls}) == frontier.n_repeats + 1
    assert frontier.leave_one_out.tolist() == [False, True, True]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [ColumnSubset, ScorerSelector])
def test_the_frontier_is_kept_and_names_the_setting_taken(twins, steady, kind, tmp_path):
    selector = copy(steady()) if kind is ColumnSubset else kind(8, criterion="stability").fit(twins)
    frontier = selector.frontier_
    assert frontier.error[frontier.chosen] <= 1.05 * frontier.error.min()
    assert frontier.pareto_optimal[np.argmin(frontier.error)]
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
def test_moments_of_folds_give_the_same_choice_as_the_rows(twins, steady):
    rows = steady()
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
            for held in held_out_groups(10, every=True)
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
    assert ColumnSubset(8, criterion="stability").fit_moments(parts).frontier_.error.size == 1 + len(vote_weights(8))


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


def tables_with_an_empty_fold():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(24, 4)) @ rng.normal(size=(4, 12)) + 0.5 * rng.normal(size=(24, 12))
        sizes = [fold.n_samples for fold in fold_moments(X, None, 10)]
        if 0 in sizes and sum(size > 0 for size in sizes) >= 6:
            yield X


@pytest.mark.parametrize(("most", "least"), [(1, 1), pytest.param(3, 3, marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore")
def test_the_first_setting_is_the_default_where_a_fold_is_empty(most, least):
    tables = list(itertools.islice(tables_with_an_empty_fold(), most))
    assert len(tables) >= least
    for X in tables:
        first = ColumnSubset(4, criterion="stability").fit(X).frontier_.ridge[0]
        assert first == ColumnSubset(4).fit(X).ridge_


def test_the_leave_one_out_error_is_that_of_the_fitted_map(rng):
    X = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 300)) + 0.5 * rng.normal(size=(40, 300))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        selector = ColumnSubset(5, criterion="stability", search_criterion="leave_one_out").fit(X)
    assert selector.frontier_.ridge[selector.frontier_.chosen] != selector.ridge_
    kept, alpha, error = selector.selected_, selector.ridge_ * X.var(axis=0).mean(), 0.0
    for i in range(40):
        others = np.delete(X, i, axis=0)
        A, left = others - others.mean(axis=0), X[i] - others.mean(axis=0)
        C = A.T @ A / 40
        B = np.linalg.solve(C[np.ix_(kept, kept)] + alpha * np.eye(5), C[kept])
        error += np.sum((left - left[kept] @ B) ** 2)
    assert selector.leave_one_out_error_ == pytest.approx(error / 40 / 300, rel=1e-9)
