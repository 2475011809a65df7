"""Training sets that share their samples: the factors by definition, and searches that find what they find alone."""

import numpy as np
import pytest

from stableselect._core import (
    DualGram,
    Moments,
    _shared_rows,
    factor_of,
    fold_moments,
    forward_searches,
    hold_out_each,
    merged,
    share_rows,
)

ALPHAS = (0.0, 0.01, 1.0)


def training_sets(rng, weights=None, constant=False):
    X = rng.normal(size=(43, 5)) @ rng.normal(size=(5, 120)) + 0.5 * rng.normal(size=(43, 120)) + 10
    if constant:
        X[:, 7] = 3.0
    splits = hold_out_each(fold_moments(X, weights, 4))
    scaled = [split.train.operator().normalised() for split in splits]
    return [split.parts for split in splits], [gram for gram, _ in scaled], [unit for _, unit in scaled]


@pytest.mark.parametrize("weighted", [False, True])
def test_each_factor_is_its_embedding_of_the_shared_rows(rng, weighted):
    sets, grams, units = training_sets(rng, rng.uniform(0.5, 2, size=43) if weighted else None)
    share_rows(sets, grams, units)
    assert len({id(gram.shared.rows) for gram in grams}) == 1
    for gram in grams:
        np.testing.assert_allclose(gram.shared.embedding @ gram.shared.rows, gram.A, atol=1e-13)


@pytest.mark.parametrize("k", [12, 60])
def test_searches_find_what_they_find_alone(rng, k):
    """Beyond the rank too, where lanes go on from residuals of their own."""
    sets, grams, units = training_sets(rng)
    lanes = [(gram, alpha) for gram in grams for alpha in ALPHAS]
    alone = [forward_searches([lane], k)[0] for lane in lanes]
    share_rows(sets, grams, units)
    ends = rng.integers(1, k + 1, size=len(lanes)).tolist()
    assert forward_searches(lanes, k) == alone
    assert forward_searches(lanes, ends) == [own[:end] for own, end in zip(alone, ends, strict=True)]


def test_sets_that_cannot_share_do_not(rng):
    sets, grams, units = training_sets(rng)
    apart = [[merged(own)] for own in sets]
    for given in (training_sets(rng, constant=True), (sets[:1], grams[:1], units[:1]), (apart, grams, units)):
        share_rows(*given)
        assert all(isinstance(gram, DualGram) and gram.shared is None for gram in given[1])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("constant", [False, True])
def test_the_factor_of_parts_is_that_of_the_merged_samples(rng, monkeypatch, weighted, constant):
    monkeypatch.setattr(_shared_rows, "_CACHED", 300)  # some samples at a time
    sets, grams, units = training_sets(rng, rng.uniform(0.5, 2, size=43) if weighted else None, constant)
    for own, gram, unit in zip(sets, grams, units, strict=True):
        found, scale, mean = factor_of(own)
        np.testing.assert_allclose(found.A, gram.A, atol=1e-13)
        assert scale == pytest.approx(unit, rel=1e-13)
        np.testing.assert_allclose(mean, merged(own).mean, rtol=1e-13)


def test_parts_without_samples_or_variance_have_no_factor(rng):
    sets, _, _ = training_sets(rng)
    assert factor_of([Moments.from_array(rng.normal(size=(20, 3)))]) is None  # sums
    assert factor_of([*sets[0], Moments()]) is None
    assert factor_of([Moments.from_array(np.ones((3, 50)))]) is None
    many = [Moments.from_array(rng.normal(size=(20, 50))) for _ in range(2)]
    assert factor_of(many) is None  # together they are held as sums
    assert factor_of(many[:1]) is not None
