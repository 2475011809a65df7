from dataclasses import FrozenInstanceError
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm

from stableselect.metrics import stability

masks = st.tuples(st.integers(3, 7), st.integers(2, 9)).flatmap(lambda shape: arrays(bool, shape))


def random_sets(n_runs, m, k, seed):
    rng = np.random.default_rng(seed)
    return [rng.choice(m, k, replace=False) for _ in range(n_runs)]


def pairwise_kuncheva(sets, m):
    k = len(sets[0])
    return np.mean([(len(set(a) & set(b)) - k * k / m) / (k - k * k / m) for a, b in combinations(sets, 2)])


def influence_by_definition(Z):
    M, m = Z.shape
    p, k = Z.mean(axis=0), Z.sum(axis=1)
    kbar = k.mean()
    scale = kbar / m * (1 - kbar / m)
    phi = 1 - np.mean(M / (M - 1) * p * (1 - p)) / scale
    terms = []
    for i in range(M):
        overlap = sum(Z[i, f] * p[f] for f in range(m)) / m
        bracket = 2 * k[i] * kbar / m**2 - k[i] / m - kbar / m + 1
        terms.append((overlap - k[i] * kbar / m**2 + phi / 2 * bracket) / scale)
    return phi, np.array(terms)


def test_three_sets_by_hand():
    result = stability([[0, 1, 2], [0, 1, 3], [0, 1, 2]], n_features=10)
    # Column shares 1, 1, 2/3, 1/3, so the mean of s_f^2 is (3/2)(2/9 + 2/9)/10 = 1/15; chance is .3 * .7 = .21.
    assert result.nogueira == pytest.approx(1 - (1 / 15) / 0.21)
    assert result.jaccard == pytest.approx((1 / 2 + 1 + 1 / 2) / 3)
    # Overlaps 2, 3, 2: (2 - .9)/2.1, 1 and (2 - .9)/2.1.
    assert result.kuncheva == pytest.approx((1.1 / 2.1 * 2 + 1) / 3)
    # Mean overlap with the shares: (1 + 1 + 2/3)/10 for runs 0 and 2, (1 + 1 + 1/3)/10 for run 1; the rest is constant.
    spread = (1 / 30 / 0.21) * np.sqrt(2 / 3)
    half = norm.ppf(0.975) * 2 / 3 * spread
    assert result.confidence_interval == pytest.approx((result.nogueira - half, result.nogueira + half))
    assert (result.n_runs, result.n_features) == (3, 10)


def test_sets_of_different_sizes_by_hand():
    result = stability(np.array([[1, 1, 0, 0], [1, 0, 0, 0]], dtype=bool))
    # Shares 1, 1/2, 0, 0: mean of s_f^2 is 2 * (1/4) / 4 = 1/8; the mean share is 3/8.
    assert result.nogueira == pytest.approx(1 - (1 / 8) / (3 / 8 * 5 / 8))
    assert result.jaccard == 0.5
    assert np.isnan(result.kuncheva)


@given(st.integers(2, 6), st.integers(2, 12), st.data())
@settings(max_examples=50, deadline=None)
def test_nogueira_is_the_mean_kuncheva_index_for_sets_of_one_size(n_runs, m, data):
    k = data.draw(st.integers(1, m - 1))
    sets = random_sets(n_runs, m, k, data.draw(st.integers(0, 10_000)))
    result = stability(sets, n_features=m)
    assert result.kuncheva == pytest.approx(pairwise_kuncheva(sets, m))
    assert result.nogueira == pytest.approx(result.kuncheva)


@given(masks)
@settings(max_examples=50, deadline=None)
def test_interval_follows_the_published_variance(Z):
    result = stability(Z, confidence=0.9)
    if not 0 < Z.sum() < Z.size:
        assert np.isnan(result.confidence_interval).all()
        return
    phi, terms = influence_by_definition(Z.astype(float))
    half = norm.ppf(0.95) * np.sqrt(4 / len(Z) ** 2 * np.sum((terms - terms.mean()) ** 2))
    assert result.nogueira == pytest.approx(phi)
    assert result.confidence_interval == pytest.approx((phi - half, phi + half), abs=1e-9)


@given(masks, st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_order_of_runs_and_of_columns_does_not_matter(Z, random):
    rows, columns = list(range(Z.shape[0])), list(range(Z.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    one, other = stability(Z), stability(Z[rows][:, columns])
    for name in ("nogueira", "jaccard", "kuncheva", "confidence_interval"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), nan_ok=True, abs=1e-9)


@given(masks)
@settings(max_examples=50, deadline=None)
def test_values_keep_their_bounds(Z):
    result = stability(Z)
    assert 0 <= result.jaccard <= 1
    if 0 < Z.sum() < Z.size:
        assert -1 / (len(Z) - 1) - 1e-12 <= result.nogueira <= 1 + 1e-12


def test_identical_sets_are_perfectly_stable():
    result = stability([[0, 4, 7]] * 5, n_features=9)
    assert result.nogueira == pytest.approx(1.0)
    assert result.confidence_interval == pytest.approx((1.0, 1.0))
    assert (result.jaccard, result.kuncheva) == (1.0, 1.0)


def test_disjoint_sets_reach_the_lower_bound():
    result = stability([[0, 1], [2, 3], [4, 5]], n_features=6)
    assert result.nogueira == pytest.approx(-1 / 2)
    assert result.jaccard == 0.0


def test_random_sets_have_no_stability():
    result = stability(random_sets(200, 100, 20, seed=0), n_features=100)
    assert abs(result.nogueira) < 0.01
    assert result.jaccard > 0.1


def test_variance_agrees_with_the_jackknife():
    Z = np.random.default_rng(0).random((60, 30)) < np.linspace(0.05, 0.95, 30)
    low, high = stability(Z, confidence=0.95).confidence_interval
    left_out = np.array([stability(np.delete(Z, i, axis=0)).nogueira for i in range(60)])
    jackknife = np.sqrt(59 / 60 * np.sum((left_out - left_out.mean()) ** 2))
    assert (high - low) / 2 / norm.ppf(0.975) == pytest.approx(jackknife, rel=0.05)


@pytest.mark.parametrize(("n_runs", "least", "most"), [(5, 0.65, 0.85), (20, 0.86, 0.97), (100, 0.91, 0.99)])
def test_share_of_95_percent_intervals_that_hold_the_true_value(n_runs, least, most):
    p = np.linspace(0.02, 0.9, 40)
    truth = 1 - np.mean(p * (1 - p)) / (p.mean() * (1 - p.mean()))
    rng = np.random.default_rng(1)
    intervals = [stability(rng.random((n_runs, 40)) < p).confidence_interval for _ in range(400)]
    assert least < np.mean([low <= truth <= high for low, high in intervals]) < most


@pytest.mark.parametrize("fill", [True, False])
def test_all_or_nothing_selected_has_no_chance_level(fill):
    result = stability(np.full((3, 4), fill))
    assert np.isnan(result.nogueira)
    assert np.isnan(result.kuncheva)
    assert np.isnan(result.confidence_interval).all()
    assert result.jaccard == 1.0


def test_two_runs_get_no_interval():
    result = stability([[0, 1], [0, 2]], n_features=5)
    assert np.isfinite(result.nogueira)
    assert np.isnan(result.confidence_interval).all()


def test_every_form_of_the_same_sets_agrees():
    Z = np.random.default_rng(3).random((4, 6)) < 0.5
    expected = stability(Z)
    assert stability(Z.tolist()) == expected
    assert stability(list(Z), n_features=6) == expected
    assert stability(pd.DataFrame(Z)) == expected
    assert stability([np.flatnonzero(row)[::-1].tolist() for row in Z], n_features=6) == expected
    assert stability(row for row in Z) == expected
    with pytest.raises(FrozenInstanceError):
        expected.nogueira = 0.0


def test_an_empty_run_is_a_set_like_any_other():
    result = stability([[], [0], []], n_features=3)
    assert result.jaccard == pytest.approx(1 / 3)
    assert np.isnan(result.kuncheva)


@pytest.mark.parametrize(
    ("supports", "options", "message"),
    [
        ([[0, 1]], {"n_features": 4}, "at least two runs but got 1"),
        ([], {"n_features": 4}, "at least two runs but got 0"),
        ([[0, 1], [1, 2]], {}, "n_features must be given"),
        (np.eye(3, dtype=int), {}, "n_features must be given"),
        ([[0, 1], [1, 4]], {"n_features": 4}, r"supports\[1\] must hold indices from 0 to 3"),
        ([[0, 1], [1, 1]], {"n_features": 4}, r"supports\[1\] must hold distinct columns"),
        ([[True, False], [True, False, True]], {}, r"supports\[1\] must be a mask of 2 values but has 3"),
        (np.eye(3, dtype=bool), {"n_features": 4}, r"supports\[0\] must be a mask of 4 values but has 3"),
        ([["a"], ["b"]], {"n_features": 4}, "integer column indices"),
        (np.eye(3), {"n_features": 3}, "integer column indices"),
        (np.array([True, False]), {"n_features": 2}, "one-dimensional"),
        (np.eye(3, dtype=bool), {"confidence": 1.0}, "confidence must lie between 0 and 1"),
        (np.eye(3, dtype=bool), {"n_features": 0}, "n_features must be an integer of at least 1"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(supports, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        stability(supports, **options)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)
