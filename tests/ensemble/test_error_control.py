"""Bounds on columns that are frequent by chance: published figures, brute force, and a simulation."""

import numpy as np
import pytest

from stableselect import ColumnSubset, ConsensusSelector, RandomSelector
from stableselect.ensemble._error_control import concave_bound, tail_bound, worst_case_bound
from stableselect.inspection import Bootstrap

# Printed by the R package stabs 0.6-4 (its regression tests) for p = 100 columns and B = 50 pairs: threshold, q, bound.
PUBLISHED = [
    *zip([0.6] * 10, range(1, 11), [0.006971364, 0.03342845, 0.08691176, 0.1637231, 0.2605329, 0.3820466, 0.5295188,
                                    0.7042719, 0.9077127, 1.141338], strict=True),
    (0.6, 30, 16.24975), (0.5, 10, 2.484542), (0.62, 10, 0.8971682), (0.61, 10, 1.005863),
]  # fmt: skip


@pytest.mark.parametrize(("threshold", "q", "expected"), PUBLISHED)
def test_concave_bound_is_the_published_one(threshold, q, expected):
    found = concave_bound(q, 100, threshold, 50)
    # The largest tail is searched for there with a tolerance that shows where q is small.
    assert found == pytest.approx(expected, rel=4e-3 if q < 4 else 2e-5)
    assert found >= expected * (1 - 1e-6)


def test_worst_case_bound_is_the_published_one():
    expected = [0.05, 0.2, 0.45, 0.8, 1.25, 1.8, 2.45, 3.2, 4.05, 5.0]
    np.testing.assert_allclose([worst_case_bound(q, 100, 0.6) for q in range(1, 11)], expected)
    assert worst_case_bound(3, 100, 0.5) == np.inf


@pytest.mark.parametrize("r", [-0.5, -0.25])
def test_no_concave_distribution_has_a_heavier_tail(r, rng):
    """f is r-concave when f^r is convex; draws of such f come close to the bound and never pass it."""
    n, mean, level = 10, 0.08, 0.5
    bound, best = tail_bound(mean, level, n, r), 0.0
    i = np.arange(n + 1)
    for _ in range(4000):
        slopes = 1 + np.cumsum(rng.exponential(size=n) * 10.0 ** rng.uniform(-6, 1, size=n))
        convex = 10.0 ** rng.uniform(-2, 1) + np.concatenate([[0.0], np.cumsum(slopes)])
        f = np.where(i <= rng.integers(5, n + 1), convex ** (1 / r), 0.0)
        f /= f.sum()
        if f @ i <= mean * n:
            best = max(best, f[i >= level * n].sum())
    assert 0.9 * bound < best <= bound


@pytest.mark.parametrize(("mean", "n", "r"), [(0.1, 100, -0.25), (0.01, 50, -0.5)])
def test_high_levels_are_reached_by_a_power_law(mean, n, r):
    """Near the top the heaviest tail is that of (a + i)^(1/r) on all of 0..n, with the a that has the mean."""
    i = np.arange(n + 1)
    low, high = 1e-3, 1e4
    for _ in range(200):
        a = np.sqrt(low * high)
        f = (a + i) ** (1 / r) / np.sum((a + i) ** (1 / r))
        low, high = (low, a) if f @ i > mean * n else (a, high)
    for level in (0.9, 0.96, 1.0):
        assert tail_bound(mean, level, n, r) == pytest.approx(f[i >= level * n].sum(), rel=1e-8)


def test_bounds_fall_with_the_threshold_and_stay_below_the_worst_case():
    thresholds = np.arange(26, 51) / 50
    bounds = [concave_bound(6, 60, t, 25) for t in thresholds]
    worst = [worst_case_bound(6, 60, t) for t in thresholds]
    assert np.all(np.diff(bounds) <= 1e-9) and np.all(np.less_equal(bounds, worst))
    assert concave_bound(30, 60, 0.4, 25) == np.inf
    assert tail_bound(0.4, 0.5, 10, -0.5) == 1.0


@pytest.mark.slow
def test_blind_choices_keep_to_the_bound(rng):
    """Every column of a blind selector is false, so the mean number above a threshold must stay below the bounds."""
    X, threshold = rng.normal(size=(8, 30)), 0.7
    counts = []
    for seed in range(30):
        selector = ConsensusSelector(RandomSelector(), 6, n_resamples=10, random_state=seed)
        counts.append(len(selector.fit(X).select_by_frequency(threshold).features))
    frequent = selector.select_by_frequency(threshold)
    assert np.mean(counts) <= frequent.expected_false_concave <= frequent.expected_false


def test_selected_above_keeps_what_is_frequent(tall):
    selector = ConsensusSelector(None, 4, n_resamples=10, random_state=0).fit(tall)
    assert len(set(selector.selection_frequency_)) > 2
    for threshold in (0.0, 0.3, 0.6, 1.0):
        found = selector.select_by_frequency(threshold)
        assert set(found.features) == {
            j for j in range(12) if round(10 * selector.selection_frequency_[j]) >= 10 * threshold
        }
        assert np.all(np.diff(selector.selection_frequency_[found.features]) <= 0)
        assert found.expected_false == (pytest.approx(16 / 12 / (2 * threshold - 1)) if threshold > 0.5 else np.inf)
    found = selector.select_by_frequency(max_false=2.0)
    assert found.threshold == pytest.approx((1 + 16 / 24) / 2) and found.expected_false == pytest.approx(2.0)
    assert selector.threshold_ == selector.selection_frequency_[selector.selected_].min()
    assert selector.expected_false_selections_ == worst_case_bound(4, 12, selector.threshold_)


def test_other_schemes_have_no_bound(tall):
    selector = ConsensusSelector(ColumnSubset(ridge=0.1), 4, cv=Bootstrap(4), random_state=0).fit(tall)
    found = selector.select_by_frequency(0.9)
    assert np.isnan([selector.expected_false_selections_, found.expected_false, found.expected_false_concave]).all()
    with pytest.raises(ValueError, match="needs fits on complementary halves of the samples; leave cv out"):
        selector.select_by_frequency(max_false=1.0)


def test_bad_thresholds_are_refused(tall):
    selector = ConsensusSelector(None, 4, n_resamples=4, random_state=0).fit(tall)
    for given in ({}, {"threshold": 0.8, "max_false": 1.0}):
        with pytest.raises(ValueError, match="either a threshold or max_false"):
            selector.select_by_frequency(**given)
    for threshold in (-0.1, 1.1, "high", True, np.nan):
        with pytest.raises(ValueError, match="threshold must be a finite number from 0 to 1"):
            selector.select_by_frequency(threshold)
    for wanted in (0, -1.0, "few", np.nan):
        with pytest.raises(ValueError, match="max_false must be a finite number above 0"):
            selector.select_by_frequency(max_false=wanted)
    with pytest.raises(ValueError, match=r"No threshold .* with 4 of 12 features a fit it is at least 1\.33; let est"):
        selector.select_by_frequency(max_false=1.0)
