from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import canberra
from scipy.stats import kendalltau, pearsonr, spearmanr

from stableselect.metrics import ranking_stability, score_stability


def rankings(n_runs, m, seed):
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(m) + 1 for _ in range(n_runs)])


def expected_canberra(m, n_top):
    identity = np.minimum(np.arange(1, m + 1), n_top + 1)
    return np.mean([canberra(identity, np.minimum(p, n_top + 1)) for p in permutations(range(1, m + 1))])


def test_published_canberra_indicator():
    # The example in the documentation of mlpy, whose positions count from 0: distance over its mean, location 3.
    positions = np.array([[2, 4, 1, 3, 0], [3, 4, 1, 2, 0], [2, 4, 3, 0, 1]])
    assert 1 - ranking_stability(positions + 1, n_top=3).canberra == pytest.approx(0.74862979571499755, abs=1e-12)


def test_three_rankings_by_hand():
    result = ranking_stability([[1, 2, 3, 4], [1, 2, 4, 3], [1, 3, 2, 4]])
    # 1 - 6 sum d^2 / 60 with sum d^2 = 2, 2, 6, and 1, 1 and 2 of 6 pairs out of order.
    assert result.spearman == pytest.approx((0.8 + 0.8 + 0.4) / 3)
    assert result.kendall == pytest.approx((4 / 6 + 4 / 6 + 2 / 6) / 3)
    assert (result.n_runs, result.n_features) == (3, 4)


@given(st.integers(2, 5), st.integers(2, 6), st.integers(0, 10_000), st.data())
@settings(max_examples=40, deadline=None)
def test_all_measures_by_definition(n_runs, m, seed, data):
    R = rankings(n_runs, m, seed)
    n_top = data.draw(st.integers(1, m))
    result = ranking_stability(R, n_top=n_top)
    pairs = list(combinations(R, 2))
    assert result.spearman == pytest.approx(np.mean([spearmanr(a, b).statistic for a, b in pairs]))
    assert result.kendall == pytest.approx(np.mean([kendalltau(a, b).statistic for a, b in pairs]))
    distance = np.mean([canberra(np.minimum(a, n_top + 1), np.minimum(b, n_top + 1)) for a, b in pairs])
    assert result.canberra == pytest.approx(1 - distance / expected_canberra(m, n_top), abs=1e-12)


def test_tied_ranks_agree_with_scipy():
    a, b = [1, 1, 3, 4, 4], [2, 1, 3, 4, 4]
    result = ranking_stability([a, b])
    assert result.spearman == pytest.approx(spearmanr(a, b).statistic)
    assert result.kendall == pytest.approx(kendalltau(a, b).statistic)
    # Ties share their mean rank: 1.5, 1.5, 3, 4.5, 4.5 against 2, 1, 3, 4.5, 4.5.
    assert result.canberra == pytest.approx(1 - (0.5 / 3.5 + 0.5 / 2.5) / expected_canberra(5, 5))


def test_identical_and_reversed_rankings_are_the_ends():
    same = ranking_stability([[3, 1, 2, 4]] * 3)
    assert (same.spearman, same.kendall, same.canberra) == pytest.approx((1.0, 1.0, 1.0))
    reverse = ranking_stability([[1, 2, 3, 4], [4, 3, 2, 1]])
    assert (reverse.spearman, reverse.kendall) == pytest.approx((-1.0, -1.0))
    assert reverse.canberra < 0


@pytest.mark.slow
def test_random_rankings_have_no_stability():
    result = ranking_stability(rankings(60, 80, 0))
    assert max(abs(result.spearman), abs(result.kendall), abs(result.canberra)) < 0.01
    # All 24 rankings of four columns: the mean over all 24^2 pairs is 0, and 24 pairs of 1 are left out.
    every = ranking_stability(list(permutations(range(1, 5))))
    assert every.spearman == pytest.approx(-1 / 23)
    assert every.canberra == pytest.approx(-1 / 23)


def test_canberra_weighs_the_top_of_the_list_most():
    ranks = np.arange(1, 11)
    top, bottom = ranks.copy(), ranks.copy()
    top[[0, 1]], bottom[[8, 9]] = top[[1, 0]], bottom[[9, 8]]
    assert ranking_stability([ranks, top]).canberra < ranking_stability([ranks, bottom]).canberra
    assert ranking_stability([ranks, top]).spearman == pytest.approx(ranking_stability([ranks, bottom]).spearman)
    assert ranking_stability([ranks, bottom], n_top=8).canberra == 1.0


def test_score_stability_is_the_mean_pearson_correlation():
    scores = np.random.default_rng(1).normal(size=(5, 30))
    expected = np.mean([pearsonr(a, b).statistic for a, b in combinations(scores, 2)])
    assert score_stability(scores) == pytest.approx(expected)
    assert score_stability(pd.DataFrame(scores)) == pytest.approx(expected)
    assert score_stability(row for row in scores) == pytest.approx(expected)
    scale, shift = np.arange(1, 6)[:, None], np.arange(5)[:, None]
    assert score_stability(scores * scale + shift) == pytest.approx(expected)


def test_score_stability_ends_and_chance():
    base = np.random.default_rng(2).random(20)
    assert score_stability([base, 3 * base + 1, 0.1 * base]) == pytest.approx(1.0)
    assert score_stability([base, -base]) == pytest.approx(-1.0)
    assert abs(score_stability(np.random.default_rng(3).normal(size=(60, 100)))) < 0.01


@pytest.mark.parametrize("size", [1e-300, 1e300, 1.7e308])
def test_extreme_scores_keep_their_correlation(size):
    scores = np.array([[-1.0, 0.5, 1.0], [1.0, 0.2, -1.0]])
    assert score_stability(scores * size) == pytest.approx(score_stability(scores))


def test_constant_runs_give_nan_and_a_warning():
    with pytest.warns(UserWarning, match="Run 1 gives every feature the same score") as caught:
        assert np.isnan(score_stability([[1.0, 2.0], [0.1, 0.1]]))
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="Run 0 gives every feature the same ranking") as caught:
        result = ranking_stability([[1, 1, 1], [1, 2, 3]])
    assert caught[0].filename == __file__
    assert np.isnan([result.spearman, result.kendall, result.canberra]).all()
    with pytest.warns(UserWarning, match="Run 0"):
        assert np.isnan(ranking_stability([[1], [1]]).spearman)


@pytest.mark.parametrize(
    ("function", "runs", "options", "message"),
    [
        (ranking_stability, [[1, 2]], {}, "at least two runs but hold 1"),
        (score_stability, [], {}, "at least two runs but hold 0"),
        (ranking_stability, [[0, 1], [1, 0]], {}, "ranks from 1, the best, to 2 but hold 0 to 1"),
        (ranking_stability, [[1, 2], [1, 3]], {}, "hold 1 to 3"),
        (ranking_stability, [[1, 2], [1, 2, 3]], {}, r"the shapes \(2,\), \(3,\)"),
        (ranking_stability, [[1, 2], [2, 1]], {"n_top": 3}, "n_top must be an integer from 1 to 2 but is 3"),
        (score_stability, [[0.1, np.nan], [0.1, 0.2]], {}, "finite numbers"),
        (score_stability, [["a", "b"], ["c", "d"]], {}, "finite numbers"),
        (score_stability, np.zeros((2, 3, 4)), {}, "one number per feature"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(function, runs, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        function(runs, **options)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)
