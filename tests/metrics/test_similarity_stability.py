from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from stableselect import Moments
from stableselect.metrics import _similarity_stability as module
from stableselect.metrics import feature_similarity, similarity_stability, stability

DECAY = 0.92 ** np.abs(np.subtract.outer(np.arange(10), np.arange(10)))
TWINS = np.kron(np.eye(6), np.ones((2, 2)))


def random_sets(n_runs, m, k, rng):
    return [rng.choice(m, k, replace=False) for _ in range(n_runs)]


def random_similarity(m, seed):
    return np.abs(np.corrcoef(np.random.default_rng(seed).normal(size=(m, 6))))


def effective_by_definition(Z, C):
    M, m = Z.shape
    k = Z.sum(axis=1)
    S, Sigma = np.empty((m, m)), np.empty((m, m))
    for f in range(m):
        for g in range(m):
            both = np.mean(Z[:, f] * Z[:, g])
            S[f, g] = M / (M - 1) * (both - Z[:, f].mean() * Z[:, g].mean())
            chance = k.mean() / m if f == g else np.mean(k * (k - 1)) / (m * (m - 1))
            Sigma[f, g] = chance - (k.mean() / m) ** 2
    return 1 - np.trace(C @ S) / np.trace(C @ Sigma)


def similar_overlap_by_definition(a, b, C, threshold):
    def counted(one, other):
        total = 0.0
        for f in one - other:
            similar = [C[f, g] for g in other - one if C[f, g] >= threshold]
            total += np.mean(similar) if similar else 0.0
        return total

    return len(a & b) + min(counted(a, b), counted(b, a))


def adjusted_by_definition(sets, C, threshold):
    def expected(*sizes):
        draws = [[set(c) for c in combinations(range(len(C)), size)] for size in sizes]
        return np.mean([similar_overlap_by_definition(a, b, C, threshold) for a in draws[0] for b in draws[1]])

    values = []
    for a, b in combinations(sets, 2):
        chance = expected(len(a), len(b))
        found = similar_overlap_by_definition(a, b, C, threshold)
        values.append((found - chance) / (np.sqrt(len(a) * len(b)) - chance))
    return np.mean(values)


def zucknick_by_definition(sets, C, threshold):
    def part(a, b):
        return sum(C[f, g] for f in a for g in b - a if C[f, g] >= threshold) / len(b)

    return np.mean([(len(a & b) + part(a, b) + part(b, a)) / len(a | b) for a, b in combinations(sets, 2)])


def test_published_values():
    # The documentation of the R package stabm gives these; its value of the adjusted measure is from 1000 draws.
    result = similarity_stability([[0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3, 4]], DECAY, threshold=0.9)
    assert result.effective == pytest.approx(0.5322911, abs=5e-8)
    assert result.zucknick == pytest.approx(0.7603667, abs=5e-8)
    assert result.adjusted == pytest.approx(0.5901527, abs=0.02)
    assert (result.n_runs, result.n_features) == (3, 10)


@pytest.mark.filterwarnings("ignore:There is no chance level")
@given(arrays(bool, st.tuples(st.integers(2, 5), st.integers(3, 7))), st.integers(0, 100), st.sampled_from([None, 0.5]))
@settings(max_examples=50, deadline=None)
def test_effective_and_zucknick_by_definition(Z, seed, threshold):
    if Z.all() or not Z.any():
        return
    C = random_similarity(Z.shape[1], seed)
    kept = np.where((threshold or 0) <= C, C, 0)
    result = similarity_stability(Z, C, threshold=threshold, n_draws=1)
    assert result.effective == pytest.approx(effective_by_definition(Z.astype(float), kept))
    sets = [set(np.flatnonzero(row).tolist()) for row in Z]
    if all(sets):
        assert result.zucknick == pytest.approx(zucknick_by_definition(sets, C, threshold or 0))
        assert 0 <= result.zucknick <= 1 + 1e-12


@pytest.mark.parametrize("threshold", [0.4, *(pytest.param(level, marks=pytest.mark.slow) for level in (None, 0.8))])
def test_adjusted_agrees_with_all_pairs_of_random_sets(threshold):
    C = random_similarity(7, 1)
    C[0, 1] = C[1, 0] = 0.0  # without a threshold a similarity of zero counts in the mean
    sets = [{0, 2, 5}, {1, 2, 3}, {1, 4}]
    found = similarity_stability([sorted(s) for s in sets], C, threshold=threshold, n_draws=4000).adjusted
    assert found == pytest.approx(adjusted_by_definition(sets, C, threshold or 0), abs=0.03)


@pytest.mark.parametrize("seed", range(5))
def test_without_similar_columns_effective_is_nogueira_and_zucknick_is_jaccard(seed):
    Z = np.random.default_rng(seed).random((5, 9)) < 0.4
    Z[:, 0] = True
    result, plain = similarity_stability(Z, np.eye(9), n_draws=1), stability(Z)  # the draws are for ``adjusted``
    assert result.effective == pytest.approx(plain.nogueira)
    assert result.zucknick == pytest.approx(plain.jaccard)


def test_identical_sets_are_perfectly_stable():
    for threshold in (None, 0.9):
        result = similarity_stability([[1, 4, 7]] * 3, DECAY, threshold=threshold)
        assert (result.effective, result.adjusted, result.zucknick) == pytest.approx((1.0, 1.0, 1.0))


def test_interchangeable_columns_count_as_the_same():
    # Columns 2i and 2i + 1 are twins; the runs take one of each of the same three pairs.
    sets = [[0, 2, 4], [1, 3, 5], [0, 3, 5]]
    result = similarity_stability(sets, TWINS, threshold=0.9)
    assert result.effective == pytest.approx(1.0)
    assert result.adjusted == pytest.approx(1.0)
    assert stability(sets, n_features=12).nogueira < 0.2
    # Both sets of a disjoint pair of runs find one twin per column: (0 + 3/3 + 3/3) / 6.
    assert similarity_stability(sets[:2], TWINS).zucknick == pytest.approx(1 / 3)


def test_more_similar_columns_make_the_same_sets_more_stable():
    sets = [[0, 2, 4], [1, 3, 5], [0, 3, 5]]
    results = [similarity_stability(sets, np.eye(12) + s * (TWINS - np.eye(12))) for s in (0.0, 0.3, 0.6, 0.9)]
    for name in ("effective", "adjusted", "zucknick"):
        assert np.all(np.diff([getattr(r, name) for r in results]) > 0)


@pytest.mark.slow
@pytest.mark.parametrize("C", [DECAY, TWINS, DECAY**4], ids=["decay", "twins", "short decay"])
def test_random_sets_average_zero(C):
    rng = np.random.default_rng(0)
    found = [
        similarity_stability(random_sets(8, len(C), 4, rng), C, threshold=0.5, n_draws=100, random_state=i)
        for i in range(100)
    ]
    for name in ("effective", "adjusted"):
        values = np.array([getattr(r, name) for r in found])
        assert abs(values.mean()) < 3.5 * values.std() / np.sqrt(100)
    assert np.mean([r.zucknick for r in found]) > 0.2


def test_order_of_runs_and_of_columns_does_not_matter():
    rng = np.random.default_rng(4)
    Z, C = rng.random((5, 12)) < 0.4, random_similarity(12, 4)
    rows, columns = rng.permutation(5), rng.permutation(12)
    one = similarity_stability(Z, C, n_draws=1)
    other = similarity_stability(Z[rows][:, columns], C[np.ix_(columns, columns)], n_draws=1)
    assert (one.effective, one.zucknick) == pytest.approx((other.effective, other.zucknick))


def test_draws_follow_the_seed_alone():
    sets = random_sets(4, 10, 4, np.random.default_rng(0))
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first, again, other = (similarity_stability(sets, DECAY, n_draws=50, random_state=seed) for seed in (0, 0, 1))
    assert first == again
    assert first.adjusted != other.adjusted
    assert np.array_equal(state, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize("fill", [True, False])
def test_all_or_nothing_selected_is_nan_with_a_warning(fill):
    with pytest.warns(UserWarning, match="no choice") as caught:
        result = similarity_stability(np.full((3, 10), fill), DECAY)
    assert caught[0].filename == __file__
    assert np.isnan([result.effective, result.adjusted]).all()
    assert result.zucknick == 1.0


def test_no_chance_level_is_nan_with_a_warning():
    with pytest.warns(UserWarning, match="chance level for effective and adjusted") as caught:
        result = similarity_stability([[0, 1], [2, 3]], np.ones((5, 5)))
    assert caught[0].filename == __file__
    assert np.isnan([result.effective, result.adjusted]).all()
    assert result.zucknick == pytest.approx(1.0)
    with pytest.warns(UserWarning, match="chance level for adjusted"):
        result = similarity_stability([[0, 1], []], DECAY)
    assert np.isfinite(result.effective)
    assert result.zucknick == 0.0


def test_column_similarity_is_the_absolute_correlation_in_every_form():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6)) @ rng.normal(size=(6, 6)) + 5
    expected = np.abs(np.corrcoef(X.T))
    for table in (X, X.tolist(), pd.DataFrame(X), pl.DataFrame(X), sparse.csr_array(X), Moments.from_array(X)):
        found = feature_similarity(table)
        np.testing.assert_allclose(found, expected, atol=1e-12)
        assert np.all(np.diagonal(found) == 1)
    wide = rng.normal(size=(5, 30))
    np.testing.assert_allclose(feature_similarity(wide), np.abs(np.corrcoef(wide.T)), atol=1e-12)
    np.testing.assert_allclose(feature_similarity(X * [1e-90, 1, 1, 1e60, 1, 1]), expected, atol=1e-9)


def test_column_similarity_goes_block_by_block(monkeypatch):
    X = np.random.default_rng(1).normal(size=(30, 11))
    whole = feature_similarity(X)
    monkeypatch.setattr(module, "BLOCK_ELEMENTS", 33)
    np.testing.assert_allclose(feature_similarity(X), whole, atol=1e-15)
    sets = [[0, 1], [2, 3]]
    assert similarity_stability(sets, whole).effective < 1
    whole[10, 0] += 0.1
    with pytest.raises(ValueError, match="symmetric"):
        similarity_stability(sets, whole)


def test_a_constant_column_is_like_no_other():
    X = np.random.default_rng(2).normal(size=(20, 3))
    X[:, 1] = 0.1
    found = feature_similarity(X)
    assert found[1].tolist() == [0.0, 1.0, 0.0]
    assert found[0, 2] > 0


def test_too_many_columns_are_refused_with_the_memory_named(monkeypatch):
    monkeypatch.setattr(module, "memory_limit", lambda: 2.0**30)
    with pytest.raises(MemoryError, match=r"20000 features takes 3\.0 GiB, of 1\.0 GiB"):
        feature_similarity(sparse.csr_array((3, 20_000)))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones((1, 3)), "at least two samples but holds 1"),
        (Moments(), "at least two samples but holds 0"),
        (np.array([[0.0, np.nan], [1.0, 2.0]]), "contains NaN"),
        (np.ones(3), "two dimensions"),
        (3.0, "two dimensions"),
        (pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}), "hold text"),
    ],
)
def test_bad_tables_are_refused(X, message):
    with pytest.raises(ValueError, match=message):
        feature_similarity(X)


@pytest.mark.parametrize(
    ("supports", "similarity", "options", "message"),
    [
        ([[0, 1]], DECAY, {}, "at least two runs but got 1"),
        ([[0, 1], [10]], DECAY, {}, r"supports\[1\] must hold indices from 0 to 9"),
        (np.eye(3, dtype=bool), DECAY, {}, "mask of 10 values but has 3"),
        ([[0], [1]], DECAY[:5], {}, r"square matrix of numbers but has shape \(5, 10\)"),
        ([[0], [1]], [["a"]], {}, "square matrix of numbers"),
        ([[0], [1]], -DECAY, {}, "between 0 and 1 but holds -1 to"),
        ([[0], [1]], DECAY * np.nan, {}, "between 0 and 1 but holds nan"),
        ([[0], [1]], DECAY / 2, {}, "ones on its diagonal"),
        ([[0], [1]], DECAY, {"threshold": 1.5}, "threshold must be a finite number from 0 to 1 but is 1.5"),
        ([[0], [1]], DECAY, {"n_draws": 0}, "n_draws must be an integer of at least 1"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(supports, similarity, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        similarity_stability(supports, similarity, **options)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


def test_a_boolean_similarity_is_one_of_zeros_and_ones(rng):
    alike = TWINS.astype(bool)
    sets = random_sets(5, 12, 4, rng)
    expected = similarity_stability(sets, TWINS, threshold=1)
    assert similarity_stability(sets, alike, threshold=1) == expected
    lopsided = alike.copy()
    lopsided[0, 5] = True
    for wrong in (lopsided, ~np.eye(12, dtype=bool)):
        with pytest.raises(ValueError, match="symmetric with ones on its diagonal"):
            similarity_stability(sets, wrong)
