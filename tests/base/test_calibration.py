"""How sure a reconstruction is: standard deviations, intervals, and samples that are unlike those fitted on."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.covariance import LedoitWolf
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit

import stableselect as ss
from stableselect import ColumnSubset, load, save
from stableselect.base import NovelSamplesWarning


def mixed(n, seed=0, m=12, rank=4, noise=0.4):
    """Samples whose features are mixtures of a few, in units of their own, with noise."""
    rng = np.random.default_rng(seed)
    mixing = np.random.default_rng(99).normal(size=(rank, m))
    units = 10.0 ** np.arange(m).clip(0, 6)
    return (rng.normal(size=(n, rank)) @ mixing + noise * rng.normal(size=(n, m))) * units + 5


@pytest.fixture(scope="module")
def table():
    return mixed(200)


@pytest.fixture(scope="module")
def calibrated(table):
    return ColumnSubset(4, scale="standard").fit(table).calibrate(table)


def distance(train, samples):
    """Return squared Mahalanobis distances by scikit-learn's estimator, in features of unit variance."""
    scale = train.std(axis=0)
    return LedoitWolf().fit(train / scale).mahalanobis(samples / scale)


def test_the_standard_deviation_is_that_of_the_definition(table):
    splits = list(KFold(4).split(table))
    selector = ColumnSubset(4, scale="standard").fit(table).calibrate(table, cv=splits)
    residuals, leverage = [], []
    for train, test in splits:
        model = ColumnSubset(4, scale="standard").fit(table[train])
        left = table[test] - model.reconstruct(table[test][:, model.support_])
        kept = np.flatnonzero(model.support_)
        residuals.append(np.where(np.isin(np.arange(12), kept), np.nan, left))
        leverage.append((1 + distance(table[train][:, kept], table[test][:, kept])) / len(train))
    residuals, leverage = np.concatenate(residuals), np.concatenate(leverage)
    assert np.count_nonzero(~np.isnan(residuals), axis=0)[~selector.support_].min() >= 50  # fewer are filled up
    new = mixed(30, seed=1)
    h = (1 + distance(table[:, selector.support_], new[:, selector.support_])) / len(table)
    out = ~selector.support_
    expected = np.sqrt(np.nanmean(residuals[:, out] ** 2, axis=0)) * np.sqrt((1 + h) / (1 + leverage.mean()))[:, None]
    _, std = selector.reconstruct(selector.transform(new), return_std=True)
    np.testing.assert_allclose(std[:, out], expected, rtol=1e-8)
    assert (std[:, selector.support_] == 0).all()


def test_a_factor_is_a_quantile_of_the_scaled_residuals(table):
    (train, test), *_ = splits = list(KFold(2).split(table))
    selector = ColumnSubset(4, scale="standard").fit(table).calibrate(table, cv=splits)
    found = selector.calibration_
    assert found.n_held_out == 200 and found.n_samples == 200
    # A feature that both halves discard has all 200 residuals.
    models = [ColumnSubset(4, scale="standard").fit(table[rows]) for rows, _ in splits]
    j = np.flatnonzero(~models[0].support_ & ~models[1].support_)[0]
    scaled = []
    for model, (train, test) in zip(models, splits, strict=True):
        kept = model.support_
        h = (1 + distance(table[train][:, kept], table[test][:, kept])) / len(train)
        left = (table[test] - model.reconstruct(table[test][:, kept]))[:, j]
        scaled.extend(np.abs(left) / (found.std[j] * np.sqrt((1 + h) / (1 + found.mean_leverage))))
    expected = sorted(scaled)[math.ceil(201 * 0.9) - 1]
    np.testing.assert_allclose(found.reach(0.9, selector.support_)[j], expected, rtol=1e-8)


@pytest.mark.parametrize("noise", ["normal", "heavy"])
def test_intervals_cover_and_are_narrower_than_the_marginal_ones(noise):
    coverage, width = [], []
    for seed in range(6):
        X = mixed(260, seed=seed)
        if noise == "heavy":
            X += np.random.default_rng(seed).standard_t(2.5, X.shape) * X.std(axis=0) * 0.2
        train, test = X[:160], X[160:]
        selector = ColumnSubset(5, scale="standard").fit(train).calibrate(train)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NovelSamplesWarning)
            low, high = selector.reconstruct_interval(selector.transform(test), 0.9)
        out = ~selector.support_
        coverage.append(((low <= test) & (test <= high))[:, out].mean())
        marginal = np.subtract(*np.quantile(train, [0.95, 0.05], axis=0))
        width.append(((high - low).mean(axis=0) / marginal)[out].mean())
    assert 0.87 < np.mean(coverage) < 0.93
    assert np.mean(width) < 0.7


def test_levels_between_those_kept_lie_between(calibrated, table):
    reach = [calibrated.calibration_.reach(level, calibrated.support_) for level in (0.5, 0.8, 0.87, 0.9, 0.99)]
    assert (np.diff(reach, axis=0) >= 0).all()
    out = ~calibrated.support_
    np.testing.assert_allclose(reach[2][out], 0.3 * reach[1][out] + 0.7 * reach[3][out])
    for level in (0.4, 0.995, 1, None):
        with pytest.raises(ValueError, match=r"level must be a fraction from 0\.5 to 0\.99"):
            calibrated.reconstruct_interval(calibrated.transform(table), level)


def test_only_extra_noise_is_added(calibrated, table):
    kept = calibrated.transform(table[:5])
    plain = calibrated.reconstruct(kept, return_std=True)[1]
    noise = np.array([0.1, 0, 0.3, 0]) * kept.std(axis=0)
    _, std = calibrated.reconstruct(kept, return_std=True, noise=noise)
    out, coef = ~calibrated.support_, calibrated.reconstruction_coef_
    extra = np.sqrt((coef**2 * noise[:, None] ** 2).sum(axis=0))
    np.testing.assert_allclose(std[:, out], np.sqrt(plain**2 + extra**2)[:, out])
    np.testing.assert_allclose(std[:, ~out], np.tile(noise, (5, 1)))
    # A simulation of that noise agrees.
    rng = np.random.default_rng(0)
    moved = calibrated.reconstruct(kept[:1] + noise * rng.normal(size=(20_000, 4)))
    np.testing.assert_allclose(moved.std(axis=0)[out], extra[out], rtol=0.03)
    # Intervals of selected features are those of normal noise.
    low, high = calibrated.reconstruct_interval(kept, 0.9, noise=0.5)
    np.testing.assert_allclose((high - low)[:, ~out], 2 * norm.ppf(0.95) * 0.5)


def test_noise_goes_by_name(table):
    frame = pd.DataFrame(table, columns=[f"s{j}" for j in range(12)])
    selector = ColumnSubset(4, scale="standard").fit(frame).calibrate(frame)
    names = selector.get_feature_names_out().tolist()
    kept = selector.transform(frame)
    by_name = selector.reconstruct(kept, return_std=True, noise={names[2]: 2.0})[1]
    np.testing.assert_array_equal(by_name, selector.reconstruct(kept, return_std=True, noise=[0, 0, 2, 0])[1])
    other = next(name for name in frame if name not in names)
    with pytest.raises(ValueError, match=f"noise names '{other}', which is not among the selected"):
        selector.reconstruct(kept, return_std=True, noise={other: 1})
    for wrong in (-1, [1, 2], np.nan, "much"):
        with pytest.raises(ValueError, match=r"noise|could not convert"):
            selector.reconstruct(kept, return_std=True, noise=wrong)
    with pytest.raises(ValueError, match="return_std=True"):
        selector.reconstruct(kept, noise=1)


def test_without_calibration_the_way_to_it_is_told(table):
    selector = ColumnSubset(4, scale="standard").fit(table)
    kept = selector.transform(table)
    for call in (
        lambda: selector.reconstruct(kept, return_std=True),
        lambda: selector.reconstruct_interval(kept),
        lambda: selector.novelty(kept),
    ):
        with pytest.raises(ValueError, match=r"not calibrated; call calibrate\(X\)"):
            call()
    assert not hasattr(selector, "calibration_")
    selector.reconstruct(1e9 * kept)  # no warning: what the samples were like is not known
    with pytest.raises(ValueError, match="at least 10 samples"):
        selector.calibrate(table[:9])


def test_another_fit_forgets(table):
    selector = ColumnSubset(4, scale="standard").fit(table).calibrate(table)
    assert not hasattr(selector.fit(table), "calibration_")


def test_after_a_fit_with_batches_it_is_refused(table):
    selector = ColumnSubset(4, scale="standard").fit(table, batch=np.arange(200) % 3)
    with pytest.raises(ValueError, match="subtract the mean of its batch"):
        selector.calibrate(table)
    assert not hasattr(selector, "calibration_")
    selector.fit(table).calibrate(table)


def test_batches_taken_out_first_give_intervals_that_cover():
    whole = mixed(600)
    batch = np.arange(600) % 3
    whole += 5 * whole.std(axis=0) * np.random.default_rng(3).normal(size=(3, 12))[batch]
    means = np.array([whole[:300][batch[:300] == b].mean(axis=0) for b in range(3)])
    past, new = np.split(whole - means[batch], 2)
    selector = ColumnSubset(4, scale="standard").fit(past).calibrate(past)
    low, high = selector.reconstruct_interval(selector.transform(new), 0.9)
    assert 0.86 < ((low <= new) & (new <= high))[:, ~selector.support_].mean() < 0.94


def test_it_is_saved_and_loaded(calibrated, table, tmp_path):
    save(calibrated, tmp_path / "x.sselect")
    again = load(tmp_path / "x.sselect")
    kept = calibrated.transform(table)
    for a, b in zip(calibrated.reconstruct_interval(kept, 0.8), again.reconstruct_interval(kept, 0.8), strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.warns(NovelSamplesWarning):
        again.reconstruct(1000 * kept)


@pytest.mark.parametrize(
    ("part", "value"),
    [("std", np.ones(3)), ("n_samples", 0), ("center", np.ones(5)), ("n_samples", 1 << 64), ("n_held_out", 1 << 63)],
)
def test_a_calibration_of_something_else_is_refused(calibrated, tmp_path, part, value):
    broken = ColumnSubset(4)
    broken.__dict__.update(calibrated.__dict__)
    broken._calibration = {**calibrated._calibration, part: value}
    with pytest.raises(ValueError, match="calibration"):
        save(broken, tmp_path / "x.sselect")


def test_samples_like_those_fitted_on_are_not_warned_of(calibrated):
    new = mixed(2000, seed=7)
    calibrated.reconstruct(calibrated.transform(new))
    assert 0.9 < np.mean(calibrated.novelty(calibrated.transform(new)) < 1 / 1.5) < 1


def test_samples_that_leave_the_range_are_named_and_counted(table):
    frame = pd.DataFrame(table, columns=[f"s{j}" for j in range(12)])
    selector = ColumnSubset(4, scale="standard").fit(frame).calibrate(frame)
    kept = selector.transform(frame.iloc[:10])
    name = selector.get_feature_names_out()[1]
    kept[2:5, 1] *= 1000
    with pytest.warns(NovelSamplesWarning, match=rf"3 of 10 \(far out of range: '{name}' in 3"):
        selector.reconstruct(kept)
    assert (selector.novelty(kept) > 1).tolist() == [False] * 2 + [True] * 3 + [False] * 5


def test_samples_that_leave_the_model_inside_the_range_are_warned_of():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(300, 1))
    X = np.hstack([base, base + 0.05 * rng.normal(size=(300, 1)), rng.normal(size=(300, 1))])
    selector = ColumnSubset(2, include=[0, 1]).fit(X).calibrate(X)
    against = np.array([[1.5, -1.5]])  # each is usual, together they are not
    with pytest.warns(NovelSamplesWarning, match=r"1 of 1 \(too far off by all selected together: 1\)"):
        _, std = selector.reconstruct(against, return_std=True)
    usual = selector.reconstruct(np.array([[1.5, 1.5]]), return_std=True)[1]
    assert std[0, 2] > 1.2 * usual[0, 2]


def test_groups_and_the_own_splitter_decide_what_is_held_out(table):
    groups = np.repeat(np.arange(20), 10)
    by_group = ColumnSubset(4, scale="standard").fit(table).calibrate(table, groups=groups)
    same = (
        ColumnSubset(4, scale="standard").fit(table).calibrate(table, cv=list(GroupKFold(5).split(table, None, groups)))
    )
    np.testing.assert_array_equal(by_group.calibration_.std, same.calibration_.std)
    in_time = ColumnSubset(4, scale="standard", cv=TimeSeriesSplit(4)).fit(table).calibrate(table)
    assert in_time.calibration_.n_held_out == 160  # the first fifth is never held out
    indices = ColumnSubset(4, scale="standard", cv=list(KFold(3).split(table))).fit(table).calibrate(table)
    assert indices.calibration_.n_held_out == 200


def test_missing_selected_values_are_uncertain(table):
    holes = table.copy()
    holes[np.random.default_rng(0).random(table.shape) < 0.05] = np.nan
    selector = ColumnSubset(4, scale="standard", missing="em").fit(holes).calibrate(holes)
    kept = table[:2][:, selector.support_].copy()
    kept[1, 0] = np.nan
    values, std = selector.reconstruct(kept, return_std=True)
    at, out = np.flatnonzero(selector.support_)[0], ~selector.support_
    assert np.isfinite(values).all() and std[0, at] == 0 and std[1, at] > 0
    assert (std[1, out] > std[0, out]).any() and (std[1, out] >= std[0, out] * 0.9).all()


@pytest.mark.parametrize(
    "selector",
    [
        ss.ScorerSelector(4),
        ss.LaplacianScore(4),
        ss.PFA(4, random_state=0),
        ss.ConsensusSelector(ss.PFA(4), 4, random_state=0),
    ],
    ids=lambda selector: type(selector).__name__,
)
def test_every_kind_of_selector_can_be_calibrated(selector, table):
    X = table[:80] / table.std(axis=0)
    selector.fit(X).calibrate(X, cv=3)
    low, high = selector.reconstruct_interval(selector.transform(X))
    inside = ((low <= X) & (X <= high))[:, ~selector.support_].mean()
    assert inside > 0.85


def test_constant_and_twin_features_do_no_harm():
    X = mixed(60)[:, :5]
    X = np.hstack([X, X[:, :1], np.full((60, 1), 3.0)])
    selector = ColumnSubset(4, include=[0, 5, 6], scale="standard").fit(X).calibrate(X)
    values, std = selector.reconstruct(selector.transform(X), return_std=True)
    assert np.isfinite(std).all() and np.isfinite(values).all()
    moved = selector.transform(X[:1])
    moved[0, -1] = 4
    with pytest.warns(NovelSamplesWarning, match="'x6' in 1"):
        selector.reconstruct(moved)


def test_more_is_not_asked_of_a_lazy_table(calibrated, table):
    da = pytest.importorskip("dask.array")
    kept = da.from_array(calibrated.transform(table), chunks=(100, 4))
    with pytest.raises(TypeError, match="in memory"):
        calibrated.reconstruct(kept, return_std=True)


def test_the_distance_without_a_feature_is_that_in_the_others(calibrated, table):
    found = calibrated.calibration_
    covariance = np.linalg.inv(found.whitening @ found.whitening.T)
    kept = table[:6][:, calibrated.support_].copy()
    kept[:3, 1] = np.nan
    kept[0] = np.nan
    expected = []
    for row in kept:
        at = ~np.isnan(row)
        off = row[at] - found.center[at]
        expected.append(np.sqrt(off @ np.linalg.solve(covariance[np.ix_(at, at)], off)))
    np.testing.assert_allclose(calibrated.novelty(kept) * found.distance_limit, expected, rtol=1e-6, atol=1e-9)


def test_no_sample_fitted_on_is_unlike_itself():
    X = mixed(40)
    X[7] *= 60
    selector = ColumnSubset(4, scale="standard").fit(X).calibrate(X)
    selector.reconstruct(selector.transform(X))
    assert selector.novelty(selector.transform(X)).max() <= 1


def test_a_feature_without_values_held_out_is_told_of(table):
    holes = table.copy()
    holes[60:, 2] = np.nan
    selector = ColumnSubset(4, exclude=[2], scale="standard", missing="em").fit(holes)
    with pytest.raises(ValueError, match="Feature 2 has no value in any sample held out"):
        selector.calibrate(holes, cv=TimeSeriesSplit(2))
