from dataclasses import astuple

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy.stats import linregress, t
from sklearn.base import clone

from stableselect import ColumnSubset, LaplacianScore, RandomSelector, ScorerSelector, ScorerSelectorNetwork
from stableselect.inspection import LossChange, fit_power_law, generalization_gap, path_losses, uniform_stability
from stableselect.inspection import _uniform_stability as module
from stableselect.inspection._leave_one_out import Refits


@pytest.fixture
def tables(rng):
    """22 rows to fit on and 12 points, nine correlated columns."""
    X = rng.normal(size=(34, 9)) @ rng.normal(size=(9, 9)) + 2.0
    return X[:22], X[22:]


def losses(fitted, points):
    scorer = isinstance(fitted, ScorerSelector | ScorerSelectorNetwork)
    reconstructed = fitted.forward(points) if scorer else fitted.reconstruct(fitted.transform(points))
    found = {"selector": ((points - reconstructed) ** 2).mean(axis=1)}
    if scorer:
        found["scorer"] = ((points - fitted.forward(points, path="scorer")) ** 2).mean(axis=1)
        found["total"] = found["selector"] + fitted.scorer_weight * found["scorer"]
    return found


def brute_force(selector, X, points, rows):
    """Delete the row, fit on the array, compare."""
    full = clone(selector).fit(X)
    before = losses(full, points)
    changes, changed = {path: [] for path in before}, []
    for row in rows:
        fitted = clone(selector).fit(np.delete(X, row, axis=0))
        changed.append(set(fitted.selected_) != set(full.selected_))
        for path, loss in losses(fitted, points).items():
            changes[path].append(abs(loss - before[path]))
    return {path: np.array(change) for path, change in changes.items()}, np.array(changed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("selector", "downdated"),
    [
        (ColumnSubset(3), True),
        (ColumnSubset(3, ridge=0.1), True),
        (ScorerSelector(3, scorer_weight=0.5), True),
        (ScorerSelectorNetwork(3, solver="full_batch", epochs=20, random_state=1), True),
        (ScorerSelectorNetwork(3, solver="minibatch", epochs=2, random_state=1), False),
        (LaplacianScore(3), False),
    ],
)
def test_agrees_with_fits_from_scratch(tables, selector, downdated):
    X, points = tables
    result = uniform_stability(selector, X, points, n_left_out=None)
    expected, changed = brute_force(selector, X, points, range(len(X)))
    assert result.downdated is downdated
    assert result.samples.tolist() == list(range(len(X)))
    assert (result.changed == changed).all()
    for path, change in expected.items():
        found = getattr(result, path)
        summary = [found.sup, found.mean, found.median, found.q90, found.q99]
        np.testing.assert_allclose(
            summary, [change.max(), change.mean(), *np.quantile(change, [0.5, 0.9, 0.99])], rtol=1e-6, atol=1e-12
        )
        np.testing.assert_allclose(found.by_sample, change.max(axis=1), rtol=1e-6, atol=1e-12)
        same = change[~changed]
        assert found.sup_same_set == pytest.approx(same.max(), rel=1e-6) if same.size else np.isnan(found.sup_same_set)
    assert (result.total is None) == ("total" not in expected)
    assert result.influential(2).tolist() == np.argsort(-result.selector.by_sample, kind="stable")[:2].tolist()


@pytest.mark.parametrize("selector", [ScorerSelector(3), LaplacianScore(3)])
def test_leaves_out_the_samples_that_it_is_told_to(tables, selector):
    X, points = tables
    result = uniform_stability(selector, X, points, samples=[21, 4])
    expected, changed = brute_force(selector, X, points, [21, 4])
    assert result.samples.tolist() == [21, 4]
    assert (result.changed == changed).all()
    for path, change in expected.items():
        np.testing.assert_allclose(result.changes[path].by_sample, change.max(axis=1), rtol=1e-6, atol=1e-12)
    refits = [clone(selector).fit(np.delete(X, row, axis=0)) for row in (21, 4)]
    assert (result.supports == [refit.support_ for refit in refits]).all()
    assert (result.full.support_ == clone(selector).fit(X).support_).all()


@pytest.mark.parametrize("samples", [[], [22], [-1], [1, 1], [0.5], 3, [[1]]])
def test_samples_that_are_not_in_the_table_raise(tables, samples):
    with pytest.raises(ValueError, match="samples must list one or more of the 22 samples"):
        uniform_stability(ColumnSubset(3), *tables, samples=samples)


def test_samples_and_sizes_raise(tables):
    with pytest.raises(ValueError, match="samples must not be given too"):
        uniform_stability(ColumnSubset(3), *tables, samples=[1], sizes=[12, 22])


def test_losses_that_are_not_compared_at_do_not_count():
    change = LossChange.from_losses([1.0, 1.0, 1.0], [[1.5, 9.0, np.nan], [np.nan, 1.0, 1.2]], [True, True])
    assert (change.sup, change.by_sample.round(9).tolist()) == (8.0, [8.0, 0.2])
    assert change.mean == pytest.approx((0.5 + 8.0 + 0.0 + 0.2) / 4)
    assert np.isnan(change.sup_same_set)


@pytest.mark.slow
def test_wide_table_and_a_row_that_alone_moves_a_column(rng):
    X, points = rng.normal(size=(12, 30)), rng.normal(size=(4, 30))
    X[:, 5] = 0.0
    X[7, 5] = 50.0
    for selector in (ColumnSubset(4), ColumnSubset(4, ridge=0.0)):
        result = uniform_stability(selector, X, points, n_left_out=None)
        change, changed = brute_force(selector, X, points, range(12))
        np.testing.assert_allclose(result.selector.by_sample, change["selector"].max(axis=1), rtol=1e-6)
        assert (result.changed == changed).all()


def test_one_regression_in_closed_form(rng):
    x, noise = rng.normal(size=30), rng.normal(size=30)
    X = np.column_stack([x, 2 * x + noise])
    point = np.array([[3.0, -1.0]])

    def loss(rows):
        slope, intercept = np.polyfit(rows[:, 0], rows[:, 1], 1)
        return (-1.0 - intercept - 3 * slope) ** 2 / 2  # column 0 is kept, and the mean is over two cells

    result = uniform_stability(ColumnSubset(1, include=[0], ridge=0.0), X, point, n_left_out=None)
    expected = [abs(loss(np.delete(X, row, axis=0)) - loss(X)) for row in range(30)]
    np.testing.assert_allclose(result.selector.by_sample, expected, rtol=1e-9)


@pytest.mark.parametrize("selector", [ColumnSubset(3), LaplacianScore(3)])
def test_replaced_row_is_one_of_the_others_and_not_compared_at(tables, selector):
    X, points = tables
    points = points[:2]
    result = uniform_stability(selector, X, points, n_left_out=6, replace=True)
    assert result.replaced
    before = losses(clone(selector).fit(X), points)["selector"]
    for row, found in zip(result.samples, result.selector.by_sample, strict=True):
        possible = []
        for new in range(2):
            fitted = clone(selector).fit(np.vstack([np.delete(X, row, axis=0), points[new]]))
            possible.append(abs(losses(fitted, points)["selector"] - before)[1 - new])
        assert any(np.isclose(found, value, rtol=1e-6, atol=1e-12) for value in possible)


def test_all_columns_kept_never_changes_a_loss(tables):
    X, points = tables
    with pytest.warns(UserWarning, match="the rate is NaN"):
        result = uniform_stability(ColumnSubset(9), X, points, n_left_out=3, sizes=[12, 22], n_repeats=2)
    assert result.beta < 1e-20
    assert np.isnan(result.rates["selector"].sup_rate.slope)


def test_set_that_ignores_the_data_never_changes_and_beta_falls_as_one_over_n(rng):
    X = rng.uniform(size=(460, 5)) @ rng.uniform(size=(5, 5))
    selector = RandomSelector(2)
    result = uniform_stability(selector, X[:400], X[400:], sizes=[50, 100, 200, 400], n_repeats=4, random_state=3)
    assert selector.random_state is None
    assert result.fraction_changed == 0
    assert result.selector.sup_same_set == result.beta
    rate = result.rates["selector"]
    assert rate.sup.shape == rate.mean.shape == (4, 4)
    assert (rate.fraction_changed == 0).all()
    for fitted in (rate.sup_rate, rate.mean_rate):
        assert fitted.interval[0] < fitted.slope < fitted.interval[1]
        assert -1.35 < fitted.slope < -0.7


@pytest.mark.parametrize("half", [10, 100, 1000])
def test_near_tie_is_not_stable_however_many_rows_there_are(half):
    """The counterexample of docs/generalization.md: one row decides which of two unrelated columns is kept."""
    rows = np.repeat([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], half, axis=0)
    rows[-1] *= np.sqrt(0.5)
    result = uniform_stability(ScorerSelector(1, ridge=0.0), rows, [[1.0, 0.0]], n_left_out=20)
    assert (result.changed == (result.samples < 2 * half)).all()
    assert result.beta * result.n_features == pytest.approx(1.0, abs=3 / half)
    assert result.selector.sup_same_set < 0.1 / half


def test_rate_of_known_powers(rng):
    sizes = np.array([100, 200, 500, 1000])
    values = 7.0 * sizes**-0.8 * np.exp(0.1 * rng.normal(size=(6, 4)))
    rate = fit_power_law(sizes, values, confidence=0.9)
    pooled = linregress(np.tile(np.log(sizes), 6), np.log(values).ravel())
    assert rate.slope == pytest.approx(pooled.slope)
    assert rate.intercept == pytest.approx(pooled.intercept)
    slopes = [linregress(np.log(sizes), np.log(row)).slope for row in values]
    half = t.ppf(0.95, 5) * np.std(slopes, ddof=1) / np.sqrt(6)
    assert rate.interval == pytest.approx((np.mean(slopes) - half, np.mean(slopes) + half))
    assert rate.interval[0] < -0.8 < rate.interval[1]
    exact = fit_power_law(sizes, 7.0 * sizes**-1.5)
    assert exact.slope == pytest.approx(-1.5)
    assert np.isnan(exact.interval).all()
    np.testing.assert_allclose(exact.predict(sizes), 7.0 * sizes**-1.5)


def test_column_names_seeds_and_jobs(tables):
    X, points = tables
    names = [f"c{i}" for i in range(9)]
    frame, frame_points = pd.DataFrame(X, columns=names), pd.DataFrame(points, columns=names)
    with parallel_config(backend="threading"):
        named = uniform_stability(
            ColumnSubset(3, ridge=0.1, include=["c4"]), frame, frame_points, n_left_out=4, n_jobs=2
        )
    plain = uniform_stability(ColumnSubset(3, ridge=0.1, include=[4]), X, points, n_left_out=4)
    np.testing.assert_array_equal(named.samples, plain.samples)
    np.testing.assert_allclose(named.selector.by_sample, plain.selector.by_sample, rtol=1e-12)
    other = uniform_stability(ColumnSubset(3, ridge=0.1, include=[4]), X, points, n_left_out=4, random_state=1)
    assert other.samples.tolist() != plain.samples.tolist()
    with pytest.raises(ValueError, match="Unknown feature 'c4' in include: the samples have no"):
        uniform_stability(ColumnSubset(3, include=["c4"]), X, points)


def test_one_name_or_index_stands_for_itself(tables):
    X, points = tables
    frame, frame_points = (pd.DataFrame(table, columns=["c10", *"abcdefg", "c1"]) for table in (X, points))
    expected = uniform_stability(
        ColumnSubset(3, ridge=0.1, include=[8], exclude=[0]), X, points, n_left_out=4
    ).selector.by_sample
    for include, exclude, named in (("c1", "c10", True), (8, 0, False), (-1, {0}, False)):
        selector = ColumnSubset(3, ridge=0.1, include=include, exclude=exclude)
        rows, at = (frame, frame_points) if named else (X, points)
        found = uniform_stability(selector, rows, at, n_left_out=4)
        np.testing.assert_allclose(found.selector.by_sample, expected, rtol=1e-12)
        gap = generalization_gap(selector, rows, at, n_left_out=4)
        same = generalization_gap(ColumnSubset(3, ridge=0.1, include=[8], exclude=[0]), X, points, n_left_out=4)
        assert astuple(gap) == pytest.approx(astuple(same))


def test_beta_of_replaced_rows_in_closed_form():
    """The kept column says nothing, so a mean is predicted: it moves from a/n to -a/n, and to 0 where the row goes."""
    a, n, p = 1.0, 8, 3.0
    X = np.zeros((n, 2))
    X[0, 1] = a
    points = np.array([[0.0, -a]] * 5 + [[0.0, p]])
    selector = ColumnSubset(1, include=[0], ridge=0.0)
    replaced = uniform_stability(selector, X, points, n_left_out=None, replace=True, random_state=1)
    assert replaced.selector.sup == pytest.approx(((p + a / n) ** 2 - (p - a / n) ** 2) / 2)
    X[0, 1] = -a
    removed = uniform_stability(selector, X, points, n_left_out=None)
    assert removed.beta == removed.selector.sup == pytest.approx(((p + a / n) ** 2 - p**2) / 2)
    # Half of what replacing moves is below what removing moves; all of it is not.
    assert replaced.beta == replaced.selector.sup / 2 < removed.beta < replaced.selector.sup


def test_replacements_are_the_same_at_every_size(tables, monkeypatch):
    X, points = tables
    spares = []

    class Watched(Refits):
        def __init__(self, selector, X, left_out, points, spare, n_jobs):
            spares.append(spare)
            super().__init__(selector, X, left_out, points, spare, n_jobs)

    monkeypatch.setattr(module, "Refits", Watched)
    uniform_stability(RandomSelector(3), X, points, n_left_out=6, replace=True, sizes=[10, 15, 22], n_repeats=2)
    first, second = spares[1:4], spares[4:]
    assert all(np.array_equal(spare, same[0]) for same in (first, second) for spare in same)
    assert len(second) == 3 and not np.array_equal(first[0], second[0])


def test_losses_of_every_path_and_of_one(tables):
    X, points = tables
    for selector in (ScorerSelector(3, scorer_weight=0.5), ColumnSubset(3), LaplacianScore(3)):
        fitted = clone(selector).fit(X)
        expected, found = losses(fitted, points), path_losses(fitted, points.tolist())
        assert expected.keys() == found.keys()
        for path, values in expected.items():
            np.testing.assert_allclose(found[path], values, rtol=1e-12)


def test_the_result_prints_a_summary_and_makes_a_frame(tables):
    X, points = tables
    result = uniform_stability(ScorerSelector(3, ridge=0.1), X, points, n_left_out=5, sizes=[12, 22], n_repeats=2)
    assert f"beta               {result.beta:.3g}" in str(result) and "5 of 22 samples left out" in str(result)
    assert f"slope, scorer      {result.rates['scorer'].sup_rate.slope:.2f}" in str(result)
    assert f"median        {result.selector.median:.4g}" in str(result.selector)
    assert (
        result.rates["scorer"].sup_rate.to_frame()["interval_low"].item() == result.rates["scorer"].sup_rate.interval[0]
    )
    frame = result.to_frame()
    assert list(frame.columns) == ["sample", "changed", "selector", "scorer", "total"]
    assert frame["sample"].tolist() == result.influential(5).tolist()
    assert frame["selector"].tolist() == sorted(result.selector.by_sample, reverse=True)
    assert list(uniform_stability(ColumnSubset(3, ridge=0.1), X, points, n_left_out=5).to_frame().columns) == [
        "sample",
        "changed",
        "selector",
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": np.ones((1, 9))}, "at least 3 samples, so that 2 are left, but has 1"),
        ({"X_test": np.ones((4, 8))}, "have 9 and 8"),
        ({"n_left_out": 0}, "n_left_out must be an integer of at least 1"),
        ({"sizes": [20]}, "sizes must hold two different whole numbers"),
        ({"sizes": [20, 23]}, "from 3 to the 22 samples"),
        ({"sizes": [2, 20]}, "from 3 to the 22 samples"),
        ({"sizes": [10.5, 20]}, "whole numbers"),
        ({"sizes": [12, 22], "n_repeats": 1}, "n_repeats must be an integer of at least 2"),
        ({"X_test": np.ones((1, 9)), "replace": True}, "at least 2 samples"),
        ({"X_test": np.full((3, 9), np.nan)}, "X_test must hold finite numbers"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(tables, changes, message):
    arguments = {"X": tables[0], "X_test": tables[1], **changes}
    with pytest.raises(ValueError, match=message):
        uniform_stability(ColumnSubset(3), **arguments)


def test_other_refusals(tables):
    X, points = tables
    with pytest.raises(TypeError, match="one of this package's selectors but is str"):
        uniform_stability("ColumnSubset", X, points)
    frame = pd.DataFrame(X)
    with pytest.raises(ValueError, match="name the same features in the same order"):
        uniform_stability(ColumnSubset(3), frame, frame[frame.columns[::-1]])
    with pytest.raises(ValueError, match="two different numbers above 0"):
        fit_power_law([100, 100], [1.0, 1.0])
    with pytest.raises(ValueError, match="one number for each of the 2 sizes"):
        fit_power_law([100, 200], [1.0, 1.0, 1.0])
