"""KernelSubset: its leave-one-out error, its choice on tables whose answer is known, and its map."""

import numpy as np
import pytest
from scipy.linalg import cho_factor
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression

import stableselect as ss
from stableselect.metrics import stability
from stableselect.subset._kernel_map import across, tuned
from stableselect.subset._kernel_ridge import RIDGES, KernelSetting, squared_distances
from stableselect.subset._kernel_search import KernelProblem, Reached, better, gains
from stableselect.subset._kernel_subset import _evenly


def functions(seed, n=240):
    """Eight features that are functions of the first two."""
    rng = np.random.default_rng(seed)
    u, v = rng.uniform(-1, 1, size=(2, n))
    X = np.column_stack([u, v, u**2, v**2, np.sin(3 * u), u * v, np.exp(v), np.cos(3 * v)])
    return (X - X.mean(axis=0)) / X.std(axis=0) + 0.05 * rng.normal(size=X.shape)


def swiss_roll(seed, n=300):
    """A roll, its angle and its height in features 3 and 1, and two functions of these."""
    rng = np.random.default_rng(seed)
    t, h = 1.5 * np.pi * (1 + 2 * rng.random(n)), rng.random(n)
    X = np.column_stack([t * np.cos(t), h, t * np.sin(t), t, np.sin(t / 2), h**2])
    return (X - X.mean(axis=0)) / X.std(axis=0) + 0.02 * rng.normal(size=X.shape)


def kernel(A, B, unit, setting):
    """Return the kernel by its definition."""
    squared = ((A[:, None] - B[None]) ** 2).sum(axis=2)
    return A @ B.T / A.shape[1] + setting.weight * np.exp(-squared / (2 * setting.bandwidth * unit)) + 1.0


def mean_squared_distance(Z):
    squared = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    return squared.sum() / (len(Z) * (len(Z) - 1))


@pytest.mark.parametrize("setting", [KernelSetting(0.5, 1.0, 1e-2), KernelSetting(0.05, 10.0, 1.0)])
def test_leave_one_out_residuals_are_those_of_refitting_without_each_sample(rng, setting):
    Z = rng.normal(size=(25, 6))
    Y, every = Z + np.sin(2 * Z), np.arange(25)
    problem, chosen = KernelProblem(Z, Y, every, every[:0], every), [4, 1, 2]
    error, left = problem.residuals(chosen, setting)
    K = kernel(Z[:, chosen], Z[:, chosen], mean_squared_distance(Z[:, chosen]), setting)
    for i in every:
        rest = np.delete(every, i)
        model = KernelRidge(alpha=setting.ridge, kernel="precomputed").fit(K[np.ix_(rest, rest)], Y[rest])
        np.testing.assert_allclose(left[i], Y[i] - model.predict(K[[i]][:, rest])[0], rtol=1e-5, atol=1e-6)
    assert error == pytest.approx((left**2).sum() / (Y**2).sum())
    np.testing.assert_allclose(problem.residuals(chosen, setting, problem.distances(chosen[:-1]))[1], left, atol=1e-8)


def test_the_setting_has_the_lowest_leave_one_out_error(rng):
    X = functions(0, 60)
    every = np.arange(60)
    problem = KernelProblem(X, X, every, every[:0], every[:30])
    best = problem.tune([0, 1])
    error = problem.residuals([0, 1], best)[0]
    for bandwidth, weight, ridge in ((0.05, 0.1, 1e-2), (0.5, 1.0, 1e-1), (2.0, 10.0, 1e-3), (2.0, 1.0, 1e-4)):
        assert error <= problem.residuals([0, 1], KernelSetting(bandwidth, weight, ridge))[0] * (1 + 1e-8)


def test_errors_in_fewer_dimensions_are_those_in_all(rng):
    """Residuals outside the principal components that replace the features are counted too."""
    Z = rng.normal(size=(150, 5)) @ rng.normal(size=(5, 160))
    Z += 0.1 * np.tanh(Z)
    every, setting = np.arange(150), KernelSetting(0.5, 1.0, 1e-3)
    problem = KernelProblem(Z, Z, every[:120], every[120:], every[:120])
    assert problem.basis is not None
    reached = problem.judged([3, 5, 9], setting)
    fit, test = Z[:120][:, [3, 5, 9]], Z[120:][:, [3, 5, 9]]
    unit = mean_squared_distance(fit)
    model = KernelRidge(alpha=setting.ridge, kernel="precomputed").fit(kernel(fit, fit, unit, setting), Z[:120])
    exact = ((Z[120:] - model.predict(kernel(test, fit, unit, setting))) ** 2).sum(axis=1)
    np.testing.assert_allclose(reached.judged, exact, rtol=0.02)


def test_wide_tables_of_low_rank_have_a_basis(rng):
    """With more features than samples, fewer principal components than are kept."""
    low, copies = rng.normal(size=(200, 10)) @ rng.normal(size=(10, 400)), np.repeat(rng.normal(size=(60, 300)), 3, 0)
    for X, rank in ((low, 10), (copies - copies.mean(axis=0), 59)):
        every = np.arange(len(X))
        basis = KernelProblem(X, X, every, every[:0], every).basis
        assert basis.shape == (X.shape[1], rank)
        np.testing.assert_allclose(basis.T @ basis, np.eye(rank), atol=1e-8)
        np.testing.assert_allclose(X @ basis @ basis.T, X, atol=1e-8)
    selector = ss.KernelSubset(5, max_sweeps=1).fit(low)
    assert np.isfinite(selector.held_out_error_) and np.isfinite(selector.score(low))


@pytest.mark.parametrize(("k", "far"), [(3, 1e8), (1, 1e6), (2, 1e12)])
def test_landmarks_that_lie_close_together_keep_their_distances(k, far):
    """One sample far away leaves all others within a tiny part of the standard deviation."""
    X = np.random.default_rng(0).normal(size=(2000, 8))
    X[5] = far
    selector = ss.KernelSubset(k, max_samples=400, n_landmarks=100, max_sweeps=1).fit(X)
    assert np.isfinite(selector.leave_one_out_error_) and np.isfinite(selector.score(X))
    Z = 1.0 + 1e-7 * X[10:40]
    exact = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(squared_distances(Z, Z), exact, rtol=1e-6, atol=1e-9 * exact.max())


@pytest.mark.parametrize(("make", "answer"), [(functions, [0, 1]), (swiss_roll, [1, 3])])
def test_features_that_the_others_are_functions_of_are_found(make, answer):
    for seed in (0, 1):
        X, other = make(seed), make(100 + seed)
        selector = ss.KernelSubset(2).fit(X)
        assert sorted(selector.selected_.tolist()) == answer
        linear = ss.ColumnSubset(2).fit(X)
        assert sorted(linear.selected_.tolist()) != answer
        assert selector.score(other) > 0.1 * linear.score(other)
        assert selector.held_out_error_ < 0.1 * selector.start_held_out_error_
        assert selector.leave_one_out_error_ == pytest.approx(selector.held_out_error_, rel=0.5)
        assert selector.n_swapped_ == len(set(answer) - set(linear.selected_.tolist()))
        np.testing.assert_array_equal(selector.start_, linear.selected_)


def test_the_linear_choice_is_kept_where_all_is_linear(rng):
    X = rng.normal(size=(150, 5)) @ rng.normal(size=(5, 12)) + 0.3 * rng.normal(size=(150, 12))
    selector = ss.KernelSubset(4).fit(X)
    assert selector.n_swapped_ == 0 and selector.held_out_error_ == selector.start_held_out_error_
    assert sorted(selector.selected_.tolist()) == sorted(ss.ColumnSubset(4).fit(X).selected_.tolist())


def test_a_gain_within_its_standard_error_does_not_count():
    def reached(name, errors):
        return Reached([name], KernelSetting(1.0, 1.0, 1.0), 0.0, np.asarray(errors))

    start, lucky = reached(0, [1.0, 1.0, 1.0, 1.0]), reached(1, [0.0, 1.1, 1.1, 1.1])
    sure = reached(2, [0.8, 0.9, 0.8, 0.9])
    assert better([start, lucky]) is start
    assert better([start, sure]) is sure
    assert better([start]) is start
    assert better([start, reached(0, start.judged - 1e-15)]) is start


def of_map(A, B, kernel, weights):
    """Return the kernel of the map by its definition; A and B are standardised, and have the lowest values of B."""
    rooted, power, scale, weight = kernel
    low = B.min(axis=0)
    roots = np.sqrt(B - low)
    a, b = (
        ((np.sqrt(np.maximum(part - low, 0)) - roots.mean(axis=0)) / roots.std(axis=0) if rooted else part)
        * np.sqrt(weights)
        for part in (A, B)
    )
    far = np.sqrt(((a[:, None] - b[None]) ** 2).sum(axis=2) / 2)
    return A @ B.T / A.shape[1] + weight * np.exp(-(far**power) / scale) + 1.0


@pytest.mark.parametrize("rooted", [False, True])
def test_the_map_is_kernel_ridge_regression(rng, rooted):
    """In every group of features with the distances and the ridge of its own."""
    X = np.exp(3.0 * functions(3, 80)) if rooted else 3.0 * functions(3, 80) + 7.0
    selector = ss.KernelSubset(2).fit(X)
    center, spread = X.mean(axis=0), X.std(axis=0)
    chosen, found = np.sort(selector.selected_), selector._map
    Z, other = (((table - center) / spread)[:, chosen] for table in (X, X[:9] + 0.1))
    expected = np.empty((9, 8))
    for group, (weights, ridge) in enumerate(zip(found["weights"], found["ridges"], strict=True)):
        assert weights.sum() == pytest.approx(1.0)
        model = KernelRidge(alpha=ridge, kernel="precomputed").fit(of_map(Z, Z, found["kernel"], weights), X - center)
        here = found["group"] == group
        expected[:, here] = (model.predict(of_map(other, Z, found["kernel"], weights)) + center)[:, here]
    given = (X[:9] + 0.1)[:, chosen]
    expected[:, chosen] = given
    np.testing.assert_allclose(selector.reconstruct(given), expected, rtol=1e-5, atol=1e-5 * spread.max())
    np.testing.assert_array_equal(selector.inverse_transform(given), selector.reconstruct(given))


@pytest.mark.parametrize("groups", [None, [np.arange(first, first + 4) for first in range(0, 24, 4)]])
def test_the_ridge_of_the_map_has_the_lowest_leave_one_out_error(rng, groups):
    Z = rng.normal(size=(24, 3))
    Y, K = np.cos(2 * Z) + 0.1 * rng.normal(size=Z.shape), of_map(Z, Z, (0.0, 1.0, 3.0, 10.0), np.full(3, 1 / 3))
    left = {}
    for ridge in RIDGES:
        left[ridge] = np.empty_like(Y)
        for out in [np.array([i]) for i in range(24)] if groups is None else groups:
            rest = np.setdiff1d(np.arange(24), out)
            model = KernelRidge(alpha=ridge, kernel="precomputed").fit(K[np.ix_(rest, rest)], Y[rest])
            left[ridge][out] = Y[out] - model.predict(K[np.ix_(out, rest)])
    best = min(left, key=lambda ridge: (left[ridge] ** 2).sum())
    found = tuned(K, Y, groups)
    assert found.ridge == best
    np.testing.assert_allclose(found.left, left[best], rtol=1e-5, atol=1e-7)


def chains(seed, n=400):
    """Two features that each have two others as functions of their own."""
    a, b = np.random.default_rng(seed).normal(size=(2, n))
    return np.column_stack([a, b, np.tanh(2 * a), np.maximum(a, 0.0), np.tanh(2 * b), np.maximum(b, 0.0)])


def test_distances_follow_the_features_that_others_depend_on():
    X = chains(0)
    selector = ss.KernelSubset(2, include=[0, 1]).fit(X)
    group, weights = selector._map["group"], selector._map["weights"]
    assert group[2] == group[3] != group[4] == group[5]
    assert weights[group[2], 0] > 0.9 and weights[group[4], 1] > 0.9


def test_limits_of_what_is_reconstructed_are_values_that_many_samples_have():
    selector = ss.KernelSubset(2, include=[0, 1]).fit(chains(1))
    low, high = selector._map["limits"]
    np.testing.assert_array_equal(low, [-np.inf, -np.inf, -np.inf, 0.0, -np.inf, 0.0])
    assert np.all(high == np.inf)
    assert np.all(selector.reconstruct(chains(101)[:, :2])[:, [3, 5]] >= 0.0)


def test_the_map_of_large_tables_is_solved_in_single_precision(rng, monkeypatch):
    X, other = chains(2) + 0.5 * rng.normal(size=(400, 6)), chains(102)[:50, :2]
    exact = ss.KernelSubset(2, include=[0, 1]).fit(X)
    assert exact._map["ridges"].max() >= 0.05
    monkeypatch.setattr("stableselect.subset._kernel_map._EXACT", 100)
    single = ss.KernelSubset(2, include=[0, 1]).fit(X)
    assert 0 < np.abs(single.reconstruct(other) - exact.reconstruct(other)).max() < 1e-3


def test_where_single_precision_is_too_coarse_double_is_taken(rng, monkeypatch):
    X, other, seen = chains(2) + 0.5 * rng.normal(size=(400, 6)), chains(102)[:50, :2], set()
    exact = ss.KernelSubset(2, include=[0, 1]).fit(X)

    def factored(K, **settings):
        seen.add(K.dtype)
        if K.dtype == np.float32:
            raise np.linalg.LinAlgError
        return cho_factor(K, **settings)

    monkeypatch.setattr("stableselect.subset._kernel_map._EXACT", 100)
    monkeypatch.setattr("stableselect.subset._kernel_map.cho_factor", factored)
    again = ss.KernelSubset(2, include=[0, 1]).fit(X)
    assert seen == {np.dtype(np.float32), np.dtype(np.float64)}
    np.testing.assert_array_equal(again.reconstruct(other), exact.reconstruct(other))


def test_the_map_reconstructs_in_blocks(monkeypatch):
    X = functions(4)
    selector = ss.KernelSubset(2, map_samples=50).fit(X)
    assert len(selector._map["samples"]) == 50
    whole = selector.reconstruct(X[:, selector.support_])
    monkeypatch.setattr("stableselect.subset._kernel_map._BLOCK", 1)
    np.testing.assert_allclose(selector.reconstruct(X[:, selector.support_]), whole, rtol=1e-9, atol=1e-9)


def test_nothing_is_drawn(rng):
    """Neither a seed nor the order of the samples decides which of them are taken, and other samples agree."""
    X = functions(5, 400)
    selector = ss.KernelSubset(2, max_samples=150, n_landmarks=60, map_samples=100)
    assert "random_state" not in selector.get_params()
    given = X[:20, selector.fit(X).support_]
    for order in (np.arange(400), rng.permutation(400)):
        again = clone(selector).fit(X[order])
        np.testing.assert_array_equal(again.selected_, selector.selected_)
        assert again.held_out_error_ == selector.held_out_error_
        np.testing.assert_array_equal(again.reconstruct(given), selector.reconstruct(given))
    supports = [clone(selector).fit(X[rng.permutation(400)[:320]]).support_ for _ in range(4)]
    assert stability(supports).nogueira >= 0.8


@pytest.mark.parametrize("n", [1, 7, 100, 1000])
def test_the_samples_taken_are_spread_evenly(n):
    order = _evenly(n)
    assert sorted(order) == list(range(n))
    for first in (n // 3, n // 2, n - 1):
        gaps = np.diff(np.sort(order[:first]))
        assert gaps.max(initial=1) <= 3 * n / max(1, first)


def test_only_a_fall_by_more_than_a_standard_error_is_a_gain(rng):
    before = rng.normal(1.0, 0.1, size=50)
    for gain, counts in ((0.01, False), (0.1, True), (-0.1, False)):
        noise = rng.normal(size=50)
        assert gains(before, before - gain - 0.3 * (noise - noise.mean()) / noise.std()) is counts


def test_included_features_stay_and_excluded_ones_do_not_come():
    X = functions(6)
    chosen = ss.KernelSubset(3, include=[7], exclude=[0]).fit(X)
    assert chosen.support_[7] and not chosen.support_[0]
    assert chosen.selected_[0] == 7
    linear = ss.ColumnSubset(3, include=[7], exclude=[0]).fit(X)
    np.testing.assert_array_equal(chosen.start_, linear.selected_)
    assert chosen.score(functions(106)) > 0.5 * linear.score(functions(106))


def test_save_and_load_give_the_same_map(tmp_path):
    X = functions(7)
    selector = ss.KernelSubset(2).fit(X)
    ss.save(selector, tmp_path / "kernel.sselect")
    loaded = ss.load(tmp_path / "kernel.sselect")
    given = X[:20, selector.support_]
    np.testing.assert_array_equal(loaded.reconstruct(given), selector.reconstruct(given))
    assert loaded.held_out_error_ == selector.held_out_error_


def test_few_samples_keep_the_linear_choice_and_map(rng):
    X = rng.normal(size=(7, 5))
    selector = ss.KernelSubset(2).fit(rng.normal(size=(9, 5)))
    assert hasattr(selector, "bandwidth_")
    selector.fit(X)
    np.testing.assert_array_equal(selector.selected_, ss.ColumnSubset(2).fit(X).selected_)
    assert not hasattr(selector, "leave_one_out_error_") and not hasattr(selector, "bandwidth_")
    given = X[:, selector.support_]
    np.testing.assert_allclose(selector.reconstruct(given), LinearRegression().fit(given, X).predict(given), atol=1e-8)


def test_scores_are_what_is_lost_without_a_feature():
    X = functions(8)
    selector = ss.KernelSubset(3).fit(X)
    worth = selector.scores_[selector.selected_]
    assert np.all(np.diff(worth) <= 0) and worth[0] > 0.1
    assert selector.scores_[~selector.support_].max() < worth.min()


def test_streams_and_dask_arrays_are_refused_in_a_sentence():
    da = pytest.importorskip("dask.array")
    with pytest.raises((ValueError, TypeError), match="memory"):
        ss.KernelSubset(2).fit(da.from_array(functions(0), chunks=100))


def test_groups_are_left_out_together(rng):
    Z, setting = rng.normal(size=(24, 5)), KernelSetting(0.5, 1.0, 1e-2)
    Y, every, groups, chosen = np.cos(Z), np.arange(24), np.repeat(np.arange(6), 4), [0, 3]
    problem = KernelProblem(Z, Y, every, every[:0], every, groups)
    _, left = problem.residuals(chosen, setting)
    K = kernel(Z[:, chosen], Z[:, chosen], mean_squared_distance(Z[:, chosen]), setting)
    for group in range(6):
        rest, out = np.flatnonzero(groups != group), np.flatnonzero(groups == group)
        model = KernelRidge(alpha=setting.ridge, kernel="precomputed").fit(K[np.ix_(rest, rest)], Y[rest])
        np.testing.assert_allclose(left[out], Y[out] - model.predict(K[np.ix_(out, rest)]), rtol=1e-5, atol=1e-6)
    best = problem.tune(chosen)
    assert problem.residuals(chosen, best)[0] <= problem.residuals(chosen, setting)[0] * (1 + 1e-8)


def test_replicates_do_not_vouch_for_each_other(rng):
    """With their groups the stated error is that of new samples; without it is too good."""
    base, other = (rng.normal(size=(size, 3)) @ rng.normal(size=(3, 8)) for size in (25, 400))
    base, other = (table + rng.normal(size=table.shape) for table in (base, other))
    X, groups = np.repeat(base, 8, axis=0) + 0.05 * rng.normal(size=(200, 8)), np.repeat(np.arange(25), 8)
    told, alone = ss.KernelSubset(3).fit(X, groups=groups), ss.KernelSubset(3).fit(X)
    assert alone.leave_one_out_error_ < 0.2 * told.leave_one_out_error_
    assert told.score(other) > alone.score(other)
    shuffled = rng.permutation(200)
    again = ss.KernelSubset(3).fit(X[shuffled], groups=np.array(list("abcdefghijklmnopqrstuvwxy"))[groups][shuffled])
    np.testing.assert_array_equal(again.selected_, told.selected_)
    with pytest.raises(ValueError, match="one label for each of the 200 samples"):
        ss.KernelSubset(3).fit(X, groups=groups[:-1])


@pytest.mark.parametrize(("sizes", "judging"), [((199, 1), 200), ((190, 5, 5), 10), ((120, 40, 40), 40)])
def test_large_groups_do_not_leave_the_decision_to_a_few_samples(rng, monkeypatch, sizes, judging):
    """At most half of the samples are held out, and never fewer than eight; else leave-one-group-out errors judge."""
    X, groups, judged = functions(9, 200), np.repeat(np.arange(len(sizes)), sizes), set()
    own = KernelProblem.judged

    def judge(self, features, setting):
        reached = own(self, features, setting)
        judged.add((len(reached.judged), len(self.Z)))
        return reached

    monkeypatch.setattr(KernelProblem, "judged", judge)
    for label in (groups, groups.max() - groups):
        selector = ss.KernelSubset(2, n_landmarks=20, max_sweeps=0).fit(X, groups=label)
        assert np.isfinite(selector.held_out_error_)
    assert max(judged)[0] == 200 if judging == 200 else (judging, 200 - judging) in judged
    assert all(deciding >= 100 and number >= 8 for number, deciding in judged)


def test_names_of_groups_do_not_matter(rng):
    X, groups = functions(10, 120), np.repeat(np.arange(24), 5)
    first = ss.KernelSubset(2, max_sweeps=0).fit(X, groups=groups)
    for names in (23 - np.arange(24), rng.permutation(24), np.array([f"m{7 * j % 24}" for j in range(24)])):
        again = ss.KernelSubset(2, max_sweeps=0).fit(X, groups=names[groups].tolist())
        assert again.held_out_error_ == first.held_out_error_ and again.ridge_ == first.ridge_
        np.testing.assert_array_equal(again._map["ridges"], first._map["ridges"])
    apart, alone = (ss.KernelSubset(2, max_sweeps=0).fit(X, groups=labels) for labels in (range(120), None))
    assert apart.leave_one_out_error_ == alone.leave_one_out_error_
    for labels, told in (([None] * 120, "holds NaN, None or infinity"), (["a", 1] * 60, "one type|one label")):
        with pytest.raises(ValueError, match=told):
            ss.KernelSubset(2).fit(X, groups=np.array(labels, dtype=object))


def test_a_single_group_is_no_group():
    X, new = functions(0), functions(1)
    alone, grouped = ss.KernelSubset(2).fit(X), ss.KernelSubset(2).fit(X, groups=np.zeros(len(X)))
    assert grouped.score(new) == alone.score(new) and grouped.ridge_ == alone.ridge_


def test_few_large_groups_all_take_part(monkeypatch):
    """Also where the samples of one would be as many as decide, or choose the kernel of the map."""
    X, groups = functions(0, 300), np.repeat([0, 1, 2], 100)
    monkeypatch.setattr("stableselect.subset._kernel_map._TUNED", 60)
    selector = ss.KernelSubset(2, max_samples=100).fit(X, groups=groups)
    assert selector.ridge_ > RIDGES[0] and (selector._map["ridges"] > RIDGES[0]).all()
    assert selector.score(functions(1, 300)) > -0.1
    assert selector.held_out_error_ < 0.2


def test_samples_are_taken_from_every_group_in_turn():
    groups = np.array([1, 0, 1, 1, 2, 0])
    taken = np.array([3, 0, 2, 5, 1, 4])
    assert across(taken, None) is taken
    np.testing.assert_array_equal(across(taken, groups), [3, 5, 4, 0, 1, 2])
