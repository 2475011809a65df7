"""Sketched moments: what is exact in them, what holds in expectation, and what is refused."""

import numpy as np
import pytest
from scipy import sparse

from stableselect import ColumnSubset, Moments, SketchedMoments
from stableselect._core import exact_columns, sketch_size


@pytest.fixture
def X(rng):
    return rng.normal(size=(400, 12)) @ rng.normal(size=(12, 12)) + 7 * rng.normal(size=12)


def by_hand(moments, X, weights=None, parts=None):
    """The sketch from its definition: each centred sample added to its row with its sign, then scaled."""
    w = np.ones(len(X)) if weights is None else weights
    mean = w @ X / w.sum()
    rows = np.zeros((moments.size, X.shape[1]))
    for name, numbers in (parts or {moments.part: np.arange(len(X))}).items():
        drawn = SketchedMoments(moments.size, seed=moments.seed, part=name)
        signs = drawn._draw(type("Block", (), {"n_samples": len(numbers), "weights": None})).toarray()
        assert (np.abs(signs).sum(axis=0) == 1).all()
        rows += signs @ (np.sqrt(w[numbers])[:, None] * (X[numbers] - mean))
    variance = w @ (X - mean) ** 2 / w.sum()
    rows *= np.sqrt(variance / (rows**2).sum(axis=0))
    return rows.T @ rows


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("block", [1, 7, 400])
def test_the_sketch_is_that_of_its_definition_for_every_block_size(X, rng, weighted, block):
    weights = rng.uniform(0.5, 3, size=400) if weighted else None
    moments = SketchedMoments(60, seed=3, part="a")
    for start in range(0, 400, block):
        part = slice(start, start + block)
        moments.update(X[part], None if weights is None else weights[part])
    w = np.ones(400) if weights is None else weights
    np.testing.assert_allclose(moments.gram, by_hand(moments, X, weights), atol=1e-9)
    np.testing.assert_allclose(moments.mean, w @ X / w.sum())
    np.testing.assert_allclose(moments.variance, w @ (X - moments.mean) ** 2 / w.sum())
    np.testing.assert_allclose(np.diagonal(moments.gram), moments.variance)
    np.testing.assert_array_equal(moments.minimum, X.min(axis=0))
    assert moments.n_samples == 400 and moments.form == "sketched"
    assert moments.weight_sum == pytest.approx(w.sum())


def test_merged_parts_are_one_pass_over_them(X):
    names = {"Mon": np.arange(150), "Tue": np.arange(150, 160), "Wed": np.arange(160, 400)}
    parts = [SketchedMoments(60, part=name).update(X[rows]) for name, rows in names.items()]
    before = parts[1].gram
    forward, backward = SketchedMoments(60), SketchedMoments(60)
    for part in parts:
        forward.merge(part)
    for part in reversed(parts):
        backward.merge(part)
    for merged in (forward, backward):
        np.testing.assert_allclose(merged.gram, by_hand(merged, X, parts=names), atol=1e-9)
        np.testing.assert_allclose(merged.variance, X.var(axis=0))
        np.testing.assert_allclose(merged.mean, X.mean(axis=0))
    np.testing.assert_array_equal(parts[1].gram, before)


def test_sparse_tensors_and_single_precision_give_the_same(rng):
    X = (rng.normal(size=(300, 20)) * (rng.uniform(size=(300, 20)) < 0.1)).astype(np.float32).astype(float)
    expected = SketchedMoments(50).update(X)
    for table in (sparse.csr_array(X), sparse.csc_array(X), X.astype(np.float32), np.asfortranarray(X)):
        found = SketchedMoments(50).update(table)
        np.testing.assert_allclose(found.gram, expected.gram, atol=1e-12)
        np.testing.assert_allclose(found.variance, X.var(axis=0), atol=1e-12)
    torch = pytest.importorskip("torch")
    np.testing.assert_allclose(SketchedMoments(50).update(torch.asarray(X)).gram, expected.gram, atol=1e-12)


def test_covariances_have_no_bias(X):
    """Before the columns are scaled the expectation of Y'Y is X'X; scaled, it is so to 1 %."""
    exact = Moments.from_array(X).gram
    scale = np.sqrt(np.outer(exact.diagonal(), exact.diagonal()))
    plain, scaled = np.zeros_like(exact), np.zeros_like(exact)
    for seed in range(600):
        moments = SketchedMoments(100, seed=seed).update(X)
        centred = moments._sketch - moments._signs[:, None] * (moments._mean - moments._shift)
        plain += centred.T @ centred / len(X) / 600
        scaled += moments.gram / 600
    assert np.max(np.abs(plain - exact) / scale) < 4 * np.sqrt(2 / 100 / 600)
    assert np.trace(plain) == pytest.approx(np.trace(exact), rel=4 * np.sqrt(2 / 100 / 600))
    assert np.max(np.abs(scaled - exact) / scale) < 0.02


def test_equal_samples_and_parts_of_one_pattern_do_not_add_up(rng):
    pattern = rng.normal(size=(200, 8))
    whole = SketchedMoments(100)
    for day in range(4):
        whole.merge(SketchedMoments(100, part=f"day {day}").update(pattern))
    centred = whole._sketch - whole._signs[:, None] * (whole._mean - whole._shift)
    assert np.trace(centred.T @ centred) / 800 == pytest.approx(pattern.var(axis=0).sum(), rel=0.3)
    same = SketchedMoments(100).update(np.repeat(pattern[:2], 400, axis=0))
    centred = same._sketch - same._signs[:, None] * (same._mean - same._shift)
    assert np.trace(centred.T @ centred) / 800 == pytest.approx(same.variance.sum(), rel=0.5)


def test_weights_are_repeats_in_expectation_and_zero_weights_absence(X, rng):
    weights = rng.integers(0, 3, size=400).astype(float)
    one = SketchedMoments(60).update(X, weights)
    np.testing.assert_array_equal(one.gram, SketchedMoments(60).update(X[weights > 0], weights[weights > 0]).gram)
    repeated = np.repeat(X, weights.astype(int), axis=0)
    exact = Moments.from_array(repeated).gram
    np.testing.assert_allclose(one.variance, repeated.var(axis=0))
    mean = np.mean([SketchedMoments(60, seed=seed).update(X, weights).gram for seed in range(300)], axis=0)
    assert np.max(np.abs(mean - exact) / np.sqrt(np.outer(exact.diagonal(), exact.diagonal()))) < 0.03


@pytest.mark.parametrize("kind", ["minmax", "standard", None])
def test_scaling_needs_no_second_pass(X, kind):
    X[:, 3] = 2.5
    low, spread = {"minmax": (X.min(axis=0), np.ptp(X, axis=0)), "standard": (X.mean(axis=0), X.std(axis=0))}.get(
        kind, (0.0, np.ones(12))
    )
    scaled = SketchedMoments(60).update(X).scale(kind)
    expected = SketchedMoments(60).update((X - low) / np.where(spread > 1e-12, spread, 1.0))
    np.testing.assert_allclose(scaled.gram, expected.gram, atol=1e-9)
    np.testing.assert_allclose(scaled.variance, expected.variance, atol=1e-9)
    np.testing.assert_allclose(scaled.mean, expected.mean, atol=1e-9)
    assert scaled.variance[3] == 0


def test_features_far_from_zero_keep_their_digits(rng):
    X = rng.normal(size=(300, 4)) + np.array([0, 1e8, 0, 5])
    X[150:, 2] += 1e6
    for table in (X, sparse.csr_array(X)):
        moments = SketchedMoments(50)
        for start in range(0, 300, 100):
            moments.update(table[start : start + 100])
        np.testing.assert_allclose(moments.variance, X.var(axis=0), rtol=1e-6)
        np.testing.assert_allclose(moments.gram, by_hand(moments, X), rtol=1e-5, atol=1e-5 * moments.gram.max())


def test_samples_cannot_be_taken_out(X):
    with pytest.raises(ValueError, match="cannot be taken out of a sketch"):
        SketchedMoments(60).update(X).remove(X[:1])


def test_a_sketch_in_which_all_samples_cancel_says_so():
    """Of one row, two samples have the same sign for some seed, and they lie on either side of the mean."""
    told = set()
    for seed in range(20):
        moments = SketchedMoments(1, seed=seed).update(np.array([[0.0, 0.0], [2.0, 4.0]]))
        try:
            ColumnSubset(1).fit_moments(moments)
        except ValueError as error:
            told.add(str(error))
    assert told == {"The samples cancel in the sketch, which has too few rows (1); take more, or exact moments."}


def test_what_cannot_be_merged_is_refused_and_changes_nothing(X):
    one = SketchedMoments(60).update(X)
    before = one.gram
    for other, message in (
        (SketchedMoments(60).update(X), "hold the part ''.*own name"),
        (one, "hold the part ''"),
        (SketchedMoments(61, part="b").update(X), "60 and of 61 rows"),
        (Moments.from_array(X), "Sketched and exact moments cannot be merged"),
        (SketchedMoments(60, part="b").update(X[:, :3]), "Expected 12 features"),
    ):
        with pytest.raises(ValueError, match=message):
            one.merge(other)
    with pytest.raises(ValueError, match="Sketched and exact"):
        Moments.from_array(X).merge(one)
    with pytest.raises(TypeError, match="Expected Moments to merge"):
        one.merge(X)
    np.testing.assert_array_equal(one.gram, before)
    whole = SketchedMoments(60).merge(SketchedMoments(60, part="b").update(X))
    with pytest.raises(ValueError, match="hold the part 'b'"):
        whole.merge(SketchedMoments(60, part="b").update(X))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"size": 0}, "size must be"),
        ({"size": 2.5}, "size must be"),
        ({"seed": "x"}, "seed must"),
        ({"part": 3}, "part must"),
    ],
)
def test_impossible_settings_are_refused(given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        SketchedMoments(**given)


def test_bad_values_are_refused_and_change_nothing(X):
    moments = SketchedMoments(60).update(X)
    before = moments.gram
    bad = X.copy()
    bad[-1, 2] = np.nan
    with pytest.raises(ValueError, match="NaN in feature 2"):
        moments.update(bad)
    np.testing.assert_array_equal(moments.gram, before)
    with pytest.raises(ValueError, match="no samples yet"):
        _ = SketchedMoments().gram


def test_the_size_follows_the_number_of_features():
    assert [sketch_size(k) for k in (1, 31, 32, 100)] == [500, 500, 512, 1600]


@pytest.mark.parametrize("weighted", [False, True])
def test_a_second_pass_gives_exact_columns(rng, weighted):
    X = rng.normal(size=(50, 9)) * (rng.uniform(size=(50, 9)) < 0.4) + 0.5 * (rng.uniform(size=9) < 0.3)
    weights = rng.integers(0, 3, size=50).astype(float) if weighted else None
    moments = Moments.from_array(X, weights)
    for table in (X, sparse.csr_array(X), X.astype(np.float64, order="F")):
        found = exact_columns(table, weights, [4, 1], moments.mean)
        np.testing.assert_allclose(found, moments.gram[:, [4, 1]], atol=1e-12)
