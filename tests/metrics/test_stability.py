import sys
from dataclasses import FrozenInstanceError
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm

from stableselect.metrics import ranking_stability, stability, stability_test

MEASURES = ("nogueira", "jaccard", "dice", "kuncheva", "lustgarten", "entropy")
no_choice_allowed = pytest.mark.filterwarnings("ignore:Every run selected")

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


def test_published_values():
    # The documentation of the R package stabm gives these for the sets 1:3, 1:4 and 1:5 of ten columns.
    result = stability([[0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3, 4]], n_features=10)
    assert result.nogueira == pytest.approx(0.7222222, abs=5e-8)
    assert result.jaccard == pytest.approx(0.7166667, abs=5e-8)
    assert result.dice == pytest.approx(0.8320106, abs=5e-8)
    assert result.lustgarten == pytest.approx(0.5333333, abs=5e-8)
    assert result.entropy == pytest.approx(0.855155, abs=5e-7)


@no_choice_allowed
@given(masks)
@settings(max_examples=50, deadline=None)
def test_pairwise_measures_and_entropy_by_definition(Z):
    m = Z.shape[1]
    sets = [set(np.flatnonzero(row).tolist()) for row in Z]
    pairs = list(combinations(sets, 2))
    result = stability(Z)
    assert result.dice == pytest.approx(
        np.mean([2 * len(a & b) / (len(a) + len(b)) if a or b else 1.0 for a, b in pairs])
    )
    spans = [min(len(a), len(b)) - max(0, len(a) + len(b) - m) for a, b in pairs]
    if min(spans) > 0:
        terms = [(len(a & b) - len(a) * len(b) / m) / span for (a, b), span in zip(pairs, spans, strict=True)]
        assert result.lustgarten == pytest.approx(np.mean(terms))
    else:
        assert np.isnan(result.lustgarten)
    chosen = [f for a in sets for f in a]
    if not chosen:
        assert np.isnan(result.entropy)
        return
    # The entropy of a selection drawn from the pool runs from that of identical sets, log(q/M), to log q.
    shares = np.unique(chosen, return_counts=True)[1] / len(chosen)
    entropy = -np.sum(shares * np.log(shares))
    assert result.entropy == pytest.approx((np.log(len(chosen)) - entropy) / np.log(len(Z)), abs=1e-12)


def test_a_measure_asked_for_by_name_is_that_number():
    Z = np.array([[1, 1, 0, 0, 0], [1, 0, 1, 0, 0], [0, 1, 1, 0, 0]], dtype=bool)
    result = stability(Z)
    for name in MEASURES:
        value = stability(Z, measure=name)
        assert isinstance(value, float)
        assert value == getattr(result, name)


@pytest.mark.parametrize(
    ("sets", "measure", "message"),
    [([[0], [0, 1]], "kuncheva", "sets of one size"), ([[], [0, 1]], "lustgarten", "neither empty nor")],
)
def test_a_measure_asked_for_by_name_warns_where_it_is_undefined(sets, measure, message):
    with pytest.warns(UserWarning, match=message) as caught:
        assert np.isnan(stability(sets, n_features=4, measure=measure))
    assert caught[0].filename == __file__


def test_every_measure_falls_as_the_sets_drift_apart():
    # Run i keeps 10 columns, of which the last i * shift are its own.
    results = []
    for shift in range(4):
        sets = [[*range(10 - shift), *range(10 + i * shift, 10 + (i + 1) * shift)] for i in range(5)]
        results.append(stability(sets, n_features=40))
    for name in MEASURES:
        assert np.all(np.diff([getattr(r, name) for r in results]) < 0)


@given(st.integers(2, 6), st.integers(2, 12), st.data())
@settings(max_examples=50, deadline=None)
def test_nogueira_is_the_mean_kuncheva_index_for_sets_of_one_size(n_runs, m, data):
    k = data.draw(st.integers(1, m - 1))
    sets = random_sets(n_runs, m, k, data.draw(st.integers(0, 10_000)))
    result = stability(sets, n_features=m)
    assert result.kuncheva == pytest.approx(pairwise_kuncheva(sets, m))
    assert result.nogueira == pytest.approx(result.kuncheva)


@no_choice_allowed
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


@no_choice_allowed
@given(masks, st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_order_of_runs_and_of_columns_does_not_matter(Z, random):
    rows, columns = list(range(Z.shape[0])), list(range(Z.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    one, other = stability(Z), stability(Z[rows][:, columns])
    for name in (*MEASURES, "standard_error", "confidence_interval"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), nan_ok=True, abs=1e-9)


@no_choice_allowed
@given(masks)
@settings(max_examples=50, deadline=None)
def test_values_keep_their_bounds(Z):
    result = stability(Z)
    assert 0 <= result.jaccard <= result.dice <= 1
    assert np.isnan(result.lustgarten) or -1 <= result.lustgarten <= 1
    assert np.isnan(result.entropy) or -1e-12 <= result.entropy <= 1 + 1e-12
    if 0 < Z.sum() < Z.size:
        assert -1 / (len(Z) - 1) - 1e-12 <= result.nogueira <= 1 + 1e-12


def test_identical_sets_are_perfectly_stable():
    result = stability([[0, 4, 7]] * 5, n_features=9)
    assert result.nogueira == pytest.approx(1.0)
    assert result.confidence_interval == pytest.approx((1.0, 1.0))
    assert (result.jaccard, result.dice, result.kuncheva) == (1.0, 1.0, 1.0)
    assert result.entropy == pytest.approx(1.0)
    assert result.lustgarten == pytest.approx(1 - 3 / 9)


def test_disjoint_sets_reach_the_lower_bound():
    result = stability([[0, 1], [2, 3], [4, 5]], n_features=6)
    assert result.nogueira == pytest.approx(-1 / 2)
    assert (result.jaccard, result.dice, result.entropy) == (0.0, 0.0, 0.0)


def test_random_sets_have_no_stability():
    result = stability(random_sets(200, 100, 20, seed=0), n_features=100)
    assert abs(result.nogueira) < 0.01
    assert abs(result.lustgarten) < 0.01
    low, high = result.confidence_interval
    assert low < 0 < high
    assert stability_test(result).p_value > 0.05
    assert min(result.jaccard, result.dice, result.entropy) > 0.1


def test_variance_agrees_with_the_jackknife():
    Z = np.random.default_rng(0).random((60, 30)) < np.linspace(0.05, 0.95, 30)
    low, high = stability(Z, confidence=0.95).confidence_interval
    left_out = np.array([stability(np.delete(Z, i, axis=0)).nogueira for i in range(60)])
    jackknife = np.sqrt(59 / 60 * np.sum((left_out - left_out.mean()) ** 2))
    assert (high - low) / 2 / norm.ppf(0.975) == pytest.approx(jackknife, rel=0.05)


@pytest.mark.parametrize(
    ("n_runs", "least", "most"),
    [
        (5, 0.65, 0.85),
        pytest.param(20, 0.86, 0.97, marks=pytest.mark.slow),
        pytest.param(100, 0.91, 0.99, marks=pytest.mark.slow),
    ],
)
def test_share_of_95_percent_intervals_that_hold_the_true_value(n_runs, least, most):
    p = np.linspace(0.02, 0.9, 40)
    truth = 1 - np.mean(p * (1 - p)) / (p.mean() * (1 - p.mean()))
    rng = np.random.default_rng(1)
    intervals = [stability(rng.random((n_runs, 40)) < p).confidence_interval for _ in range(400)]
    assert least < np.mean([low <= truth <= high for low, high in intervals]) < most


@pytest.mark.parametrize("fill", [True, False])
def test_all_or_nothing_selected_has_no_chance_level(fill):
    with pytest.warns(UserWarning, match=f"selected {'all' if fill else 'none'} of the 4 features") as caught:
        result = stability(np.full((3, 4), fill))
    assert caught[0].filename == __file__
    undefined = [result.nogueira, result.standard_error, result.kuncheva, result.lustgarten]
    assert np.isnan([*undefined, *result.confidence_interval]).all()
    assert (result.jaccard, result.dice) == (1.0, 1.0)
    assert result.entropy == pytest.approx(1.0 if fill else np.nan, nan_ok=True)
    for name in MEASURES:
        with pytest.warns(UserWarning, match="no choice"):
            assert stability(np.full((3, 4), fill), measure=name) == pytest.approx(getattr(result, name), nan_ok=True)


def test_two_runs_get_no_interval():
    result = stability([[0, 1], [0, 2]], n_features=5)
    assert np.isfinite(result.nogueira)
    assert np.isnan(result.confidence_interval).all()


def test_every_form_of_the_same_sets_agrees():
    Z = np.random.default_rng(3).random((4, 6)) < 0.5
    expected = stability(Z)
    sets = [np.flatnonzero(row)[::-1].tolist() for row in Z]
    forms = [stability(form) for form in (Z.tolist(), pd.DataFrame(Z), (row for row in Z))]
    forms += [stability(form, n_features=6) for form in (list(Z), sets)]
    assert [repr(found) for found in forms] == [repr(expected)] * 5  # nan, where one is not defined, equals nothing
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
        ([[0, 1], [1, 1]], {"n_features": 4}, r"supports\[1\] must hold distinct features"),
        ([[True, False], [True, False, True]], {}, r"supports\[1\] must be a mask of 2 values but has 3"),
        (np.eye(3, dtype=bool), {"n_features": 4}, r"supports\[0\] must be a mask of 4 values but has 3"),
        ([["a"], ["b"]], {"n_features": 4}, "integer feature indices"),
        (np.eye(3), {"n_features": 3}, "integer feature indices"),
        (np.array([True, False]), {"n_features": 2}, "one-dimensional"),
        (np.eye(3, dtype=bool), {"confidence": 1.0}, "confidence must be a finite number above 0 and below 1"),
        (np.eye(3, dtype=bool), {"n_features": 0}, "n_features must be an integer of at least 1"),
        (np.eye(3, dtype=bool), {"measure": "spearman"}, "measure must be None or one of nogueira, .*'spearman'"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(supports, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        stability(supports, **options)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


def test_z_test_of_one_stability_by_hand():
    result = stability([[0, 1, 2], [0, 1, 3], [0, 1, 2]], n_features=10)
    # The standard error as in the first test: 2/3 of the spread of the mean overlaps.
    error = 2 / 3 * (1 / 30 / 0.21) * np.sqrt(2 / 3)
    phi = 1 - (1 / 15) / 0.21
    tested = stability_test(result, value=0.5)
    assert result.standard_error == pytest.approx(error)
    assert (tested.estimate, tested.standard_error) == pytest.approx((phi, error))
    assert tested.statistic == pytest.approx((phi - 0.5) / error)
    assert tested.p_value == pytest.approx(2 * (1 - norm.cdf((phi - 0.5) / error)))
    assert stability_test(result, value=2 * phi - 0.5).p_value == pytest.approx(tested.p_value)


def test_z_test_agrees_with_the_interval():
    result = stability(np.random.default_rng(5).random((9, 20)) < 0.3, confidence=0.9)
    for end in result.confidence_interval:
        assert stability_test(result, value=end).p_value == pytest.approx(0.1)


def test_z_test_of_two_stabilities_adds_the_variances():
    rng = np.random.default_rng(6)
    runs = [(rng.random((n, 20)) < np.linspace(0.1, 0.9, 20)).astype(float) for n in (12, 30)]
    a, b = (stability(Z.astype(bool)) for Z in runs)
    tested = stability_test(a, b)
    terms = [influence_by_definition(Z)[1] for Z in runs]
    variance = sum(4 / len(t) ** 2 * np.sum((t - t.mean()) ** 2) for t in terms)
    assert tested.statistic == pytest.approx((a.nogueira - b.nogueira) / np.sqrt(variance))
    back = stability_test(b, a)
    assert (back.statistic, back.p_value) == pytest.approx((-tested.statistic, tested.p_value))
    assert stability_test(a, b, value=tested.estimate).p_value == pytest.approx(1.0)
    with pytest.raises(FrozenInstanceError):
        tested.p_value = 0.0


def test_z_tests_of_true_hypotheses_seldom_reject():
    p = np.linspace(0.02, 0.9, 40)
    truth = 1 - np.mean(p * (1 - p)) / (p.mean() * (1 - p.mean()))
    rng = np.random.default_rng(7)
    found = [stability(rng.random((20, 40)) < p) for _ in range(400)]
    assert 0.03 < np.mean([stability_test(a, value=truth).p_value < 0.05 for a in found]) < 0.12
    assert 0.03 < np.mean([stability_test(*ab).p_value < 0.05 for ab in combinations(found[:30], 2)]) < 0.12
    assert all(stability_test(a).p_value < 0.001 for a in found)


def test_the_variance_for_random_sets_of_one_size_is_about_twice_too_large():
    found = [stability(random_sets(30, 60, 12, seed), n_features=60) for seed in range(300)]
    values = np.array([r.nogueira for r in found])
    assert abs(values.mean()) < 3 * values.std() / np.sqrt(300)
    assert 1.6 < np.mean([r.standard_error**2 for r in found]) / values.var() < 2.5
    assert np.mean([stability_test(r).p_value < 0.05 for r in found]) < 0.05


@pytest.mark.parametrize("sets", [[[0, 1], [0, 2]], [[0, 1]] * 4])
def test_z_test_without_a_standard_error_is_nan(sets):
    result = stability(sets, n_features=5)
    with pytest.warns(UserWarning, match="three or more runs") as caught:
        tested = stability_test(result)
    assert caught[0].filename == __file__
    assert tested.estimate == result.nogueira
    assert np.isnan([tested.statistic, tested.p_value]).all()


@pytest.mark.parametrize(
    ("a", "b", "value", "message"),
    [
        (0.5, None, 0.0, "a must be a Stability but is a float"),
        (stability([[0], [1], [0]], n_features=3), [[0, 1]], 0.0, "b must be a Stability but is a list"),
        (stability([[0], [1], [0]], n_features=3), None, np.nan, "value must be a finite number but is nan"),
    ],
)
def test_bad_input_to_the_z_test_is_refused_in_one_sentence(a, b, value, message):
    with pytest.raises(ValueError, match=message) as caught:
        stability_test(a, b, value=value)
    assert str(caught.value).endswith(".")


def test_results_print_their_figures_and_make_a_frame():
    result = stability([[0, 1, 2], [0, 1, 3], [0, 1, 2], [0, 1, 2], [0, 1, 2]], n_features=10)
    low, high = result.confidence_interval
    assert high > 1 and f"Nogueira    {result.nogueira:.3f}  [{low:.3f}, 1.000]" in str(result)
    frame = result.to_frame()
    assert frame["confidence_interval_high"].tolist() == [high] and frame["jaccard"].tolist() == [result.jaccard]
    for other in (stability_test(result), ranking_stability([[1, 2, 3], [1, 3, 2]])):
        names = list(other.to_frame().columns)
        assert [line.split("  ")[0] for line in str(other).splitlines()] == [name.replace("_", " ") for name in names]


def test_a_frame_needs_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_frame needs pandas; install it with: pip install pandas"):
        stability([[0, 1], [0, 2]], n_features=4).to_frame()
