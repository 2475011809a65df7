"""The bound on the loss of any k features against brute force."""

import itertools

import numpy as np
import pytest

from stableselect._core import DualGram, Gram, loss_bound


def least_loss(gram, k, alpha, include=(), exclude=()):
    allowed = [j for j in range(gram.n_features) if j not in exclude]
    sets = (S for S in itertools.combinations(allowed, k) if set(include) <= set(S))
    return min(gram.split(S, alpha)[2].trace() for S in sets)


@pytest.mark.parametrize("alpha", [0.0, 0.2])
@pytest.mark.parametrize("form", ["whole", "thin"])
@pytest.mark.parametrize("n", [5, 40])
def test_no_subset_is_below_the_bound(form, alpha, n):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        m = 7
        A = rng.normal(size=(n, 4)) @ rng.normal(size=(4, m)) + rng.choice([0.0, 0.5, 3.0]) * rng.normal(size=(n, m))
        A *= rng.choice([1.0, 0.01], size=m) / np.sqrt(n)
        gram = DualGram(A) if form == "thin" else Gram(A.T @ A)
        for k, include, exclude in [
            (1, [], []),
            (3, [], []),
            (4, [2], [0, 5]),
            (5, [], [1]),
            (6, [3, 4], []),
            (7, [], []),
        ]:
            least = max(0.0, least_loss(gram, k, alpha, include, exclude))
            assert loss_bound(gram, k, alpha, include, exclude) <= least * (1 + 1e-10) + 1e-12 * gram.trace()


@pytest.mark.parametrize("alpha", [0.0, 0.2])
def test_prescribed_features_and_a_large_k_raise_the_bound(tall, alpha):
    gram = Gram(np.cov(tall.T))
    assert loss_bound(gram, 11, alpha) > gram.floor(11, alpha) * 1.01
    if not alpha:
        assert loss_bound(gram, 11, alpha) == pytest.approx(least_loss(gram, 11, alpha), rel=1e-9)
    assert loss_bound(gram, 5, alpha, include=[0, 1, 2, 3]) > gram.floor(5, alpha) * 1.01


def test_thin_and_whole_form_have_one_bound(wide):
    A = (wide - wide.mean(axis=0)) / 3
    for k in (2, 20, 35):
        expected = loss_bound(Gram(A.T @ A), k, 0.3)
        assert loss_bound(DualGram(A), k, 0.3) == pytest.approx(expected, rel=1e-9)


def test_a_singular_table_has_the_bound_of_its_components(rng):
    A = rng.normal(size=(30, 5))
    gram = Gram(np.cov(np.column_stack([A, A[:, 0], np.ones(30)]).T))
    assert loss_bound(gram, 3, 0.0) == pytest.approx(gram.floor(3), rel=1e-12)
