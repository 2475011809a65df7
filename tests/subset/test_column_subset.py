"""ColumnSubset as a user meets it: bounds, ridge, streaming, include and exclude, explanation, real data."""

import itertools

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from stableselect import ColumnSubset, Moments, RandomSelector, ScorerSelector
from stableselect._core._folds import fold_moments, hold_out_each
from stableselect.subset._ridge import RIDGE_GRID, choose_ridge
from stableselect.subset._round import Round


def refit_error(X, S):
    return np.mean((LinearRegression().fit(X[:, S], X).predict(X[:, S]) - X) ** 2)


def test_objective_is_the_refit_error_and_the_floor_is_pca(tall):
    selector = ColumnSubset(4, ridge=0.0, exchange=False).fit(tall)
    assert selector.objective_ == pytest.approx(refit_error(tall, selector.selected_), rel=1e-10)
    pca = PCA(4).fit(tall)
    floor = np.mean((pca.inverse_transform(pca.transform(tall)) - tall) ** 2)
    assert selector.lower_bound_ == pytest.approx(floor, rel=1e-10)
    assert selector.optimality_gap_ == pytest.approx(1 - floor / selector.objective_)
    np.testing.assert_allclose(
        selector.reconstruct(selector.transform(tall)),
        LinearRegression().fit(tall[:, selector.support_], tall).predict(tall[:, selector.support_]),
        atol=1e-9,
    )


@pytest.mark.slow
def test_finds_the_best_subset_of_small_tables():
    for seed in range(20):
        X = np.random.default_rng(seed).normal(size=(30, 8)) @ np.random.default_rng(seed + 99).normal(size=(8, 8))
        best = min(refit_error(X, list(S)) for S in itertools.combinations(range(8), 3))
        objective = ColumnSubset(3, ridge=0.0).fit(X).objective_
        assert objective == pytest.approx(best, rel=1e-9)


def test_exchange_never_hurts_and_can_be_switched_off(tall):
    plain = ColumnSubset(5, ridge=0.0, exchange=False).fit(tall)
    assert plain.n_swaps_ == 0
    assert ColumnSubset(5, ridge=0.0).fit(tall).objective_ <= plain.objective_


def test_streaming_moments_and_whole_array_agree(tall):
    whole = ColumnSubset(4, ridge=0.0).fit(tall)
    moments = ColumnSubset(4).fit_moments(Moments.from_array(tall))
    stream = ColumnSubset(4)
    for block in np.array_split(tall, 7):
        stream.partial_fit(block)
    for other in (moments, stream):
        np.testing.assert_array_equal(other.selected_, whole.selected_)
        assert other.objective_ == pytest.approx(whole.objective_, rel=1e-10)
        assert other.ridge_ == 0.0
    assert stream.fit(tall[:30]).n_features_in_ == 12 and not hasattr(stream, "moments_")


@pytest.mark.parametrize("seed", [11, 12, 13])
def test_scores_of_near_copies_are_not_rounding(seed):
    X = np.random.default_rng(seed).integers(1, 6, size=(5, 12)).astype(float)
    whole, stream = ColumnSubset(3, ridge=0.0).fit(X), ColumnSubset(3, ridge=0.0)
    for block in (X[:2], X[2:3], X[3:]):
        stream.partial_fit(block)
    np.testing.assert_allclose(stream.scores_, whole.scores_, rtol=0, atol=1e-9)


def test_select_from_a_scaled_table_without_a_second_pass(tall):
    X = tall * 10.0 ** np.arange(-3, 3, 0.5)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = ColumnSubset(4, ridge=0.0).fit(scaled).selected_
    found = ColumnSubset(4).fit_moments(Moments.from_array(X).scale("standard"), [f"c{j}" for j in range(12)])
    np.testing.assert_array_equal(found.selected_, expected)
    assert set(found.get_feature_names_out()) == {f"c{j}" for j in expected}


def test_weights_count_as_repetitions_with_automatic_ridge(tall, rng):
    weights = rng.integers(0, 3, size=len(tall))
    weighted = ColumnSubset(4).fit(tall, sample_weight=weights)
    repeated = ColumnSubset(4).fit(np.repeat(tall, weights, axis=0))
    np.testing.assert_array_equal(weighted.selected_, repeated.selected_)
    assert weighted.ridge_ == repeated.ridge_


def test_include_and_exclude_by_name_and_index(tall):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(tall, columns=[f"c{j}" for j in range(12)])
    for cls in (ColumnSubset, ScorerSelector):
        selector = cls(3, include=["c7"], exclude=["c0", 1]).fit(frame)
        assert 7 in selector.selected_ and not {0, 1} & set(selector.selected_)
        assert not {"c0", "c1"} & {kept.replacement for kept in selector.explain().selected}
    assert ColumnSubset(2, include=[5, -1], ridge=0.0).fit(tall).selected_.tolist() == [5, 11]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"include": ["c1"]}, "no feature names"),
        ({"include": [12]}, "index from 0 to 11"),
        ({"exclude": [3.5]}, "index from 0 to 11"),
        ({"include": [1], "exclude": [1]}, "both include and exclude"),
        ({"include": [0, 1, 2, 3]}, "only 3 are to be selected"),
        ({"exclude": list(range(10))}, "exclude leaves 2 features"),
        ({"ridge": -1}, "'ridge' parameter of ColumnSubset must be"),
        ({"ridge": "some"}, "'ridge' parameter of ColumnSubset must be"),
        ({"ridge": np.nan}, "'ridge' parameter of ColumnSubset must be"),
        ({"exchange": "yes"}, "'exchange' parameter of ColumnSubset must be"),
        ({"include": 3.5}, "'include' parameter of ColumnSubset must be"),
    ],
)
def test_bad_parameters_get_one_sentence(tall, params, message):
    with pytest.raises(ValueError, match=message):
        ColumnSubset(3, **params).fit(tall)


def test_all_weights_zero_is_refused(tall):
    with pytest.raises(ValueError, match="some weight"):
        ColumnSubset(3).fit(tall, sample_weight=np.zeros(60))


def test_include_may_be_a_range_and_a_set_has_a_fixed_order(tall):
    assert 7 in ColumnSubset(3, include=range(7, 8)).fit(tall).selected_
    assert ColumnSubset(3, include={8, 2, 5}, ridge=0.0).fit(tall).selected_.tolist() == [2, 5, 8]


def test_a_failing_partial_fit_adds_no_rows(tall):
    selector = ScorerSelector(3).partial_fit(tall)
    selector.set_params(include=[12])
    with pytest.raises(ValueError, match="Unknown feature 12"):
        selector.partial_fit(tall)
    assert selector.moments_.n_samples == 60


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_sizes_beyond_double_precision_are_refused(tall, size):
    with pytest.raises(ValueError, match="scale the table first"):
        ColumnSubset(3, ridge=0.0).fit(tall * size)


def test_moments_of_two_kinds_do_not_mix(tall):
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="convert them first"):
        ColumnSubset(3).partial_fit(tall).partial_fit(torch.asarray(tall.copy()))


def test_repeated_feature_names_are_refused(tall):
    with pytest.raises(ValueError, match="More than one feature"):
        ColumnSubset(3).fit_moments(Moments.from_array(tall), ["a"] * 12)


@pytest.mark.parametrize("name", ["tall", "wide"])
def test_held_out_error_from_moments_is_the_error_on_the_rows(request, name):
    X = request.getfixturevalue(name)
    train, test, S, ridge = X[:-3], X[-3:], [0, 3, 7], 0.2
    own = Round.of(Moments.from_array(train), Moments.from_array(test))
    mean = train.mean(axis=0)
    Xc = train - mean
    unit = Xc.var(axis=0).mean()

    def expected(S, ridge):
        M = Xc[:, S].T @ Xc[:, S] / len(Xc) + ridge * unit * np.eye(len(S))
        B = np.linalg.pinv(M, rcond=1e-10) @ (Xc[:, S].T @ Xc / len(Xc))
        return ((test - mean - (test - mean)[:, S] @ B) ** 2).sum()

    assert own.weight * own.error(S, ridge) == pytest.approx(expected(S, ridge), rel=1e-9)
    # The copy of a feature, among other things, needs more care than those that are independent.
    choices = [([0, 3, 7], 0.2), ([7, 1], 0.0), ([0, 1, 3, 5], 3.0)]
    several = own.errors(*zip(*choices, strict=True))
    np.testing.assert_allclose(own.weight * np.array(several), [expected(*choice) for choice in choices], rtol=1e-9)


def test_automatic_ridge_is_the_best_of_the_grid_on_held_out_folds(wide, rng):
    X = np.vstack([wide, wide]) + 0.5 * rng.normal(size=(18, 40))
    folds = fold_moments(X, None, 5)
    errors = []
    for ridge in RIDGE_GRID:
        total = 0.0
        for held in range(len(folds)):
            train = Moments()
            for f in range(len(folds)):
                if f != held:
                    train.merge(folds[f])
            selector = ColumnSubset(6, ridge=ridge, exchange=False, search_criterion="training").fit_moments(train)
            test = folds[held]
            B = np.eye(40)
            B[:, :] = 0
            B[np.sort(selector.selected_)] = selector.reconstruction_coef_
            shift = test.mean - train.mean
            second = test.gram + np.outer(shift, shift)
            D = np.eye(40) - B
            total += test.weight_sum * np.trace(D.T @ second @ D)
        errors.append(total)
    assert choose_ridge(hold_out_each(folds), 6, [], []) == RIDGE_GRID[int(np.argmin(errors))]


def test_too_few_rows_to_fold_means_no_ridge(rng):
    assert ColumnSubset(2).fit(rng.normal(size=(2, 6))).ridge_ == 0.0


def test_folds_can_be_given_as_moments(tall):
    whole = ColumnSubset(4).fit(tall)
    parts = ColumnSubset(4).fit_moments(fold_moments(tall, None, 5))
    assert whole.ridge_ == parts.ridge_
    np.testing.assert_array_equal(whole.selected_, parts.selected_)
    np.testing.assert_allclose(whole.reconstruction_coef_, parts.reconstruction_coef_)


def test_explanation_matches_regressions_and_brute_force_substitutes(tall):
    selector = ColumnSubset(4, ridge=0.0).fit(tall)
    explanation = selector.explain()
    S = selector.selected_.tolist()
    model = LinearRegression().fit(tall[:, S], tall)
    residual = tall - model.predict(tall[:, S])
    for dropped in explanation.discarded:
        j = dropped.feature
        r2 = 1 - residual[:, j].var() / tall[:, j].var()
        assert dropped.r2 == pytest.approx(r2, rel=1e-9)
        shares = [model.coef_[j, a] * np.cov(tall[:, c], tall[:, j], bias=True)[0, 1] for a, c in enumerate(S)]
        shares = np.array(shares) / tall[:, j].var()
        assert shares.sum() == pytest.approx(r2, rel=1e-8)
        for column, share in dropped.explained_by:
            assert share == pytest.approx(shares[S.index(column)], rel=1e-7)
        assert abs(dropped.explained_by[0][1]) == pytest.approx(np.abs(shares).max(), rel=1e-7)
    assert [d.r2 for d in explanation.discarded] == sorted(d.r2 for d in explanation.discarded)
    total = tall.var(axis=0).sum() / 12
    for kept in explanation.selected:
        others = [c for c in S if c != kept.feature]
        errors = {j: refit_error(tall, [*others, j]) for j in range(12) if j not in S}
        assert kept.replacement == min(errors, key=errors.get)
        rise = (errors[kept.replacement] - selector.objective_) / total
        assert kept.error_increase == pytest.approx(rise, rel=1e-7, abs=1e-12)
        assert [one.feature for one in kept.replacements] == sorted(errors, key=errors.get)[:3]
        for one in kept.replacements:
            rise = (errors[one.feature] - selector.objective_) / total
            assert one.error_increase == pytest.approx(rise, rel=1e-7, abs=1e-12)
            assert one.correlation == pytest.approx(np.corrcoef(tall[:, kept.feature], tall[:, one.feature])[0, 1])
        a = S.index(kept.feature)
        shares = {
            j: model.coef_[j, a] * np.cov(tall[:, kept.feature], tall[:, j], bias=True)[0, 1] / tall[:, j].var()
            for j in errors
        }
        largest = sorted(shares, key=shares.get, reverse=True)[:3]
        assert [j for j, _ in kept.represents] == [j for j in largest if shares[j] > 0]
        assert [part for _, part in kept.represents] == pytest.approx([shares[j] for j in largest if shares[j] > 0])


def test_explanation_uses_names_and_handles_nothing_left(tall):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(tall[:, :4], columns=list("abcd"))
    assert {kept.feature for kept in ColumnSubset(2).fit(frame).explain().selected} <= set("abcd")
    everything = ColumnSubset(4).fit(frame).explain()
    assert everything.discarded == [] and all(kept.replacement is None for kept in everything.selected)
    assert all(kept.replacements == kept.represents == [] for kept in everything.selected)
    with pytest.raises(ValueError, match=r"call explain\(X\)"):
        RandomSelector(2).fit(frame).explain()


@pytest.mark.slow
def test_ridge_makes_the_choice_more_repeatable_on_noisy_copies(rng):
    factors = rng.normal(size=(400, 4))
    X = np.hstack([factors @ rng.normal(size=(4, 4)) + 0.3 * rng.normal(size=(400, 4)) for _ in range(6)])
    halves = [X[train] for train, _ in KFold(4, shuffle=True, random_state=0).split(X)]

    def overlap(ridge):
        sets = [set(ColumnSubset(8, ridge=ridge).fit(half).selected_) for half in halves]
        return np.mean([len(a & b) for a, b in itertools.combinations(sets, 2)])

    assert overlap(10.0) > overlap(0.0)


def test_grid_search_over_the_number_of_columns(tall, rng):
    y = (tall[:, 0] > 0).astype(int)
    search = GridSearchCV(
        make_pipeline(ColumnSubset(), DecisionTreeClassifier(random_state=0)),
        {"columnsubset__n_features_to_select": [2, 0.5]},
        cv=3,
    )
    assert search.fit(tall, y).best_params_["columnsubset__n_features_to_select"] in (2, 0.5)


def test_real_data_beats_random_and_the_published_training(load_data):
    X, _ = load_data("coil20")
    X = X[::3] / 255
    train, test = X[::2], X[1::2]

    def error(S):
        return np.mean((LinearRegression().fit(train[:, S], train).predict(test[:, S]) - test) ** 2)

    random = np.mean([error(RandomSelector(30, random_state=s).fit(train).selected_) for s in range(5)])
    assert error(ColumnSubset(30).fit(train).selected_) < 0.8 * random
    assert error(ScorerSelector(30).fit(train).selected_) < 0.8 * random


@pytest.mark.parametrize(("apart", "told_apart"), [(1e-4, True), (1e-5, True), (1e-7, False), (1e-9, False)])
def test_twins_closer_than_a_millionth_of_their_spread_count_as_one(apart, told_apart, rng):
    """The difference of the first two features is the third, which least squares on the samples would find."""
    first, third = np.linalg.qr(rng.normal(size=(50, 3)))[0][:, 1:].T * 50**0.5
    X = np.column_stack([first, first + apart * third, third])
    X -= X.mean(axis=0)
    objective = ColumnSubset(2, ridge=0.0, include=[0, 1]).fit(X).objective_
    if told_apart:
        assert objective < 1e-4
    else:
        assert objective == pytest.approx(X[:, 2].var() / 3, rel=0.05)
