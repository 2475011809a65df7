"""A panel judged: its figures by brute force, tables with nothing to select, and what is refused."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold
from sklearn.preprocessing import StandardScaler

from stableselect import ColumnSubset
from stableselect.inspection import evaluate
from stableselect.metrics import downstream_accuracy

CV = KFold(4, shuffle=True, random_state=1)
QUICK = {"n_permutations": 0, "n_random": 5, "cv": CV}


@pytest.fixture
def X(rng):
    """Sixty samples of nine features: three factors, noise, and feature 8 almost a copy of feature 0."""
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 9)) + 0.3 * rng.normal(size=(60, 9)) + 5
    X[:, 8] = 2 * X[:, 0] + 0.01 * rng.normal(size=60)
    return X


def ridge_by_gcv(train):
    """The weight of sklearn's Ridge with the least generalised cross-validation error, from the hat matrix."""

    def fit(given):
        n, A = len(given), given - given.mean(axis=0)
        Y = train - train.mean(axis=0)
        best = (np.inf, 0.0)
        for relative in np.logspace(-8, 3, 23):
            weight = relative * np.sum(A**2) / np.linalg.matrix_rank(A)
            hat = A @ np.linalg.solve(A.T @ A + weight * np.eye(A.shape[1]), A.T)
            error = np.sum((Y - hat @ Y) ** 2) / (n - 1 - np.trace(hat)) ** 2
            best = min(best, (error, weight))
        return Ridge(alpha=best[1]).fit(given, train)

    return fit


def by_hand(X, given, cv=CV, groups=None, scale=False):
    """Sums of squared errors per feature, of a ridge map fitted on the other folds and of the mean."""
    left, total = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for train, test in cv.split(X, groups=groups):
        scaler = StandardScaler(with_mean=scale, with_std=scale).fit(X[train])
        A, B = scaler.transform(X[train]), scaler.transform(X[test])
        features = given(A) if callable(given) else lambda Z: Z[:, given]
        left += np.sum((B - ridge_by_gcv(A)(features(A)).predict(features(B))) ** 2, axis=0)
        total += np.sum((B - A.mean(axis=0)) ** 2, axis=0)
    return left, total


def explained(X, given, **how):
    left, total = by_hand(X, given, **how)
    return 1 - left.sum() / total.sum()


@pytest.mark.parametrize("scale", [False, True])
def test_every_row_of_the_comparison_by_ridge_regressions(X, scale):
    found = evaluate([1, 4, 6], X, scaler=StandardScaler() if scale else None, **QUICK)
    rows = {row.name: row.explained_variance for row in found.comparison}

    def selected(A):
        kept = ColumnSubset(3).fit(A).selected_  # on the samples fitted on alone
        return lambda Z: Z[:, kept]

    assert rows["panel"] == found.explained_variance == pytest.approx(explained(X, [1, 4, 6], scale=scale), abs=1e-9)
    assert rows["selected"] == pytest.approx(explained(X, selected, scale=scale), abs=1e-9)
    assert rows["components"] == pytest.approx(explained(X, lambda A: PCA(3).fit(A).transform, scale=scale), abs=1e-9)
    assert rows["random"] == pytest.approx(found.random.mean()) and found.random.size == 5
    assert (rows["all"], rows["none"]) == (1, 0)
    left, total = by_hand(X, [1, 4, 6], scale=scale)
    np.testing.assert_allclose(found.r2, 1 - left / total, atol=1e-9)


@pytest.mark.parametrize("n", [12, 40])
def test_more_features_than_samples(rng, n):
    X = rng.normal(size=(n, 2)) @ rng.normal(size=(2, 30)) + 0.2 * rng.normal(size=(n, 30))
    panel = list(range(0, 30, 2))
    assert evaluate(panel, X, **QUICK).explained_variance == pytest.approx(explained(X, panel), abs=1e-6)


def test_its_place_among_all_other_panels():
    X = load_iris().data
    found = evaluate([0, 1], X, n_permutations=0, cv=CV)
    others = [explained(X, list(panel)) for panel in combinations(range(4), 2) if panel != (0, 1)]
    np.testing.assert_allclose(found.random, others, atol=1e-9)
    assert found.n_beaten == sum(other < explained(X, [0, 1]) for other in others)


def test_what_a_member_is_worth_and_whether_it_is_redundant(X):
    panel = [0, 3, 8]
    found = evaluate(panel, X, **QUICK)
    for member in found.members:
        others = [j for j in panel if j != member.feature]
        left, total = by_hand(X, others)
        assert member.worth == pytest.approx(explained(X, panel) - explained(X, others), abs=1e-9)
        r2 = 1 - left[member.feature] / total[member.feature]
        assert member.r2_from_others == pytest.approx(r2, abs=1e-9)
        assert member.redundant == (r2 >= 0.95)
    assert [member.feature for member in found.members if member.redundant] == [0, 8]
    alone = evaluate([3], X, **QUICK).members[0]
    assert alone.worth == pytest.approx(explained(X, [3]), abs=1e-9) and not alone.redundant


@pytest.mark.parametrize("panel", [[0, 8], [0, 3, 8], [1, 2, 5]])
def test_the_best_swap_and_the_next_features_by_trying_all(X, panel):
    found = evaluate(panel, X, **QUICK)
    C = np.cov(X.T, bias=True)
    weight = ridge_by_gcv(X)(X[:, panel]).alpha / len(X)

    def loss(S):
        S = list(S)
        return np.trace(C - C[:, S] @ np.linalg.solve(C[np.ix_(S, S)] + weight * np.eye(len(S)), C[S]))

    outside = [j for j in range(9) if j not in panel]
    losses = {(a, b): loss([b if j == a else j for j in panel]) for a in panel for b in outside}
    best = min(losses, key=losses.get)
    if losses[best] >= loss(panel):
        assert found.swap is None
    else:
        assert (found.swap.drop, found.swap.add) == best
        after = [best[1] if j == best[0] else j for j in panel]
        assert found.swap.gain == pytest.approx(explained(X, after) - explained(X, panel), abs=1e-9)
    grown = list(panel)
    assert len(found.additions) == 3
    for step in found.additions:
        following = min((j for j in range(9) if j not in grown), key=lambda j: loss([*grown, j]))
        assert (step.drop, step.add) == (None, following)
        assert step.gain == pytest.approx(explained(X, [*grown, following]) - explained(X, grown), abs=1e-9)
        grown.append(following)


def test_no_swap_where_the_panel_is_the_best():
    X = StandardScaler().fit_transform(load_wine().data)
    found = evaluate(ColumnSubset(3, ridge=0.0).fit(X).selected_, X, **QUICK)
    assert found.swap is None and "best swap: none" in str(found)


@pytest.mark.slow
def test_neighbours_and_accuracy_fold_by_fold():
    X, y = load_iris(return_X_y=True)
    found = evaluate([0, 3], X, y=y, n_neighbors=7, **QUICK)
    kept, right, every, frequent = [], [], [], []
    for train, test in CV.split(X):
        near = [np.argsort(cdist(X[test][:, at], X[train][:, at]), axis=1)[:, :7] for at in ([0, 1, 2, 3], [0, 3])]
        kept += [len(set(a) & set(b)) / 7 for a, b in zip(*near, strict=True)]
        parts = (X[train], y[train], X[test], y[test])
        right += [downstream_accuracy(*parts, [0, 3])] * len(test)
        every += [downstream_accuracy(*parts, [0, 1, 2, 3])] * len(test)
        frequent += (y[test] == np.bincount(y[train]).argmax()).tolist()
    rows = {row.name: row for row in found.comparison}
    assert rows["panel"].neighbor_overlap == pytest.approx(np.mean(kept), abs=0.02)  # equal distances may be told apart
    assert rows["all"].neighbor_overlap == 1 and np.isnan(rows["none"].neighbor_overlap)
    assert rows["panel"].accuracy == pytest.approx(np.mean(right)) and rows["all"].accuracy == pytest.approx(
        np.mean(every)
    )
    assert rows["none"].accuracy == pytest.approx(np.mean(frequent))
    assert rows["random"].accuracy < rows["all"].accuracy


def test_how_often_the_members_are_selected(X):
    found = evaluate([0, 3, 8], X, **QUICK)
    runs = [ColumnSubset(3).fit(X[train]).selected_ for train, _ in CV.split(X)]
    often = [np.mean([j in run for run in runs]) for j in (0, 3, 8)]
    assert [member.selection_frequency for member in found.members] == often
    many = evaluate([0, 3, 8], X, n_resamples=10, **QUICK).members
    assert {10 * member.selection_frequency % 1 for member in many} <= {0.0} and len(many) == 3


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("shape", [(80, 12), (30, 60)])
def test_noise_and_shuffled_tables_have_nothing_to_select(seed, shape):
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=shape)
    assert evaluate([0, 1, 2], noise, n_random=5).nothing_to_select
    shuffled = rng.permuted(load_wine().data, axis=0)
    found = evaluate([0, 1, 2], shuffled, n_random=5, scaler=StandardScaler())
    assert found.nothing_to_select and found.verdict.startswith("Nothing to select")


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("n", [30, 100])
def test_structured_tables_have_something_to_select(seed, n):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 40))
    X[:, 20:] = X[:, :5] @ rng.normal(size=(5, 20)) + rng.normal(size=(n, 20))
    # The panel is of noise alone: the test is about the table.
    assert not evaluate([10, 11, 12], X, n_random=5).nothing_to_select
    assert not evaluate([0, 1], load_wine().data, n_random=5, scaler=StandardScaler()).nothing_to_select


def test_groups_are_held_out_together(rng):
    groups = np.repeat(np.arange(12), 5)
    X = rng.normal(size=(12, 6))[groups] + 0.1 * rng.normal(size=(60, 6))
    how = {"n_permutations": 0, "n_random": 2, "groups": groups}
    together = explained(X, [0, 1], cv=GroupKFold(4), groups=groups)
    assert evaluate([0, 1], X, cv=4, **how).explained_variance == pytest.approx(together, abs=1e-9)
    splits = list(GroupKFold(4).split(X, groups=groups))
    assert evaluate([0, 1], X, cv=splits, **how).explained_variance == pytest.approx(together, abs=1e-9)


def test_names_frames_and_words():
    X = load_wine(as_frame=True).data
    found = evaluate(["hue", "alcohol", "ash"], X, scaler=StandardScaler(), n_random=20)
    assert found.panel == ["alcohol", "ash", "hue"]  # in table order
    same = evaluate(X.columns.isin(found.panel), X, scaler=StandardScaler(), n_random=20)
    pd.testing.assert_frame_equal(found.to_frame(), same.to_frame())
    assert found.to_frame("members")["feature"].tolist() == found.panel
    features = found.to_frame("features")
    assert features["feature"].tolist() == X.columns.tolist() and features["in_panel"].sum() == 3
    assert found.to_frame("changes")["add"].tolist()[-3:] == [step.add for step in found.additions]
    assert [r2 for _, r2 in found.discarded] == sorted(features.query("not in_panel")["r2"])
    assert f"better than {found.n_beaten} of 20 random panels" in repr(found)
    assert str(found).startswith(found.verdict) and f"explained worst: {found.discarded[0][0]}" in str(found)
    with pytest.raises(ValueError, match="which must be one of"):
        found.to_frame("rows")


def test_units_of_the_whole_table_do_not_matter(X):
    found = evaluate([0, 3], X, **QUICK)
    for factor in (1e-120, 1e120):
        other = evaluate([0, 3], factor * X, **QUICK)
        np.testing.assert_allclose(other.random, found.random, atol=1e-9)
        assert other.swap.add == found.swap.add


def test_constant_features_have_no_r2(X):
    X[:, 5] = 3.7
    found = evaluate([0, 5], X, **QUICK)
    assert np.isnan(found.r2[5]) and np.isnan(found.members[1].r2_from_others) and not found.members[1].redundant
    assert found.members[1].worth == pytest.approx(0, abs=1e-9) and 5 not in dict(found.discarded)


def test_the_summary_has_a_dash_for_a_constant_member(X):
    X[:, 1] = 3.0
    lines = str(evaluate([0, 1], X, n_permutations=0)).splitlines()
    assert "  1: 0.00%, -" in lines


def test_the_seed_decides_everything_and_the_table_stays(X):
    before = X.copy()
    first, again, other = (evaluate([0, 3], X, n_random=10, random_state=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(first.random, again.random)
    np.testing.assert_array_equal(first.structure.shuffled, again.structure.shuffled)
    assert not np.array_equal(first.random, other.random) and first.random_state == 3


@pytest.mark.parametrize(
    ("panel", "how", "said"),
    [
        (["alcohl"], {}, "'alcohl' in panel: did you mean 'alcohol'"),
        (["alcohol", "ash", "alcohol"], {}, "holds 'alcohol' twice"),
        ([0, "alcohol"], {}, "holds 'alcohol' twice"),
        ([], {}, "at least one feature"),
        (None, {}, "at least one feature"),
        (range(13), {}, "all 13 features, so nothing is left"),
        (np.zeros(13, dtype=bool), {}, "at least one feature"),
        ([99], {}, "an index from 0 to 12"),
        (["ash"], {"cv": 200}, "from 2 to the number of samples, 178, but is 200"),
        (["ash"], {"cv": 4, "groups": np.arange(178) % 3}, "from 2 to the number of groups, 3, but is 4"),
        (["ash"], {"cv": None}, "cv must be a number of folds"),
        (["ash"], {"n_permutations": 1}, "0 or at least 2"),
        (["ash"], {"n_random": 0}, "n_random must be an integer of at least 1"),
        (["ash"], {"y": [1, 2]}, "one label per sample"),
    ],
)
def test_what_is_refused(panel, how, said):
    with pytest.raises(ValueError, match=said):
        evaluate(panel, load_wine(as_frame=True).data, **how)


def test_two_samples_are_too_few():
    with pytest.raises(ValueError, match="at least 2 samples to fit on"):
        evaluate([0], np.eye(2, 3), cv=2)


@pytest.mark.filterwarnings("error")
def test_small_tables_are_judged_without_warnings(rng):
    tables = [rng.normal(size=(4, 3)), rng.random((40, 6)) > 0.5, np.repeat(rng.normal(size=(5, 6)), 8, axis=0)]
    tables.append(np.c_[rng.normal(size=(20, 3)), np.eye(20, 1)])  # constant but for one sample
    for X in tables:
        found = evaluate([0, X.shape[1] - 1], X, cv=2, n_random=3, n_resamples=2)
        assert np.isfinite(found.explained_variance) and np.isfinite([one.worth for one in found.members]).all()


@pytest.mark.parametrize("value", [1.0, 0.1])  # the mean of twenty times 0.1 is another number
def test_a_table_of_constants_is_refused(value):
    with pytest.raises(ValueError, match="all are constant"):
        evaluate([0], np.full((20, 3), value))
