"""Tables whose samples are brought into an order of their own."""

import numpy as np
import pytest
from scipy import sparse

from stableselect._core import Moments, _folds, in_own_order

FORMS = {
    "rows": lambda X: X,
    "Fortran order": np.asfortranarray,
    "single precision": lambda X: X.astype(np.float32),
    "csr": sparse.csr_array,
    "tensor": lambda X: pytest.importorskip("torch").asarray(X),
}


@pytest.fixture
def table(rng):
    """60 samples, some equal, some zeros of either sign, exact in single precision."""
    X = rng.integers(-3, 4, size=(60, 5)) / 8
    return np.where(X == 0, rng.choice([0.0, -0.0], X.shape), X)


@pytest.mark.parametrize("form", FORMS)
def test_moments_are_the_same_to_the_last_bit_for_every_order_and_form(table, rng, form):
    expected = Moments.from_array(*in_own_order(table)).gram
    for _ in range(5):
        found, _ = in_own_order(FORMS[form](table[rng.permutation(len(table))]))
        np.testing.assert_array_equal(Moments.from_array(found).gram, expected)


def test_the_samples_are_those_of_the_table(table):
    found, weights = in_own_order(table)
    assert weights is None
    np.testing.assert_array_equal(found[np.lexsort(found.T)], table[np.lexsort(table.T)])


def test_weights_stay_with_their_samples(rng):
    X = rng.integers(0, 2, size=(60, 3)).astype(float)  # most samples are equal to others of another weight
    weights = rng.integers(1, 9, size=60).astype(float)
    expected = in_own_order(X, weights)
    order = rng.permutation(60)
    for one, other in zip(expected, in_own_order(X[order], weights[order]), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(expected[1] @ expected[0], weights @ X)


def test_another_unit_gives_the_same_order(table):
    np.testing.assert_array_equal(np.ldexp(in_own_order(table)[0], -40), in_own_order(np.ldexp(table, -40))[0])


def test_values_far_below_the_largest_are_kept():
    X = np.array([[1e140, 0.0], [0.0, 1e-300]])
    np.testing.assert_array_equal(np.sort(in_own_order(X)[0], axis=None), np.sort(X, axis=None))


def test_a_large_table_is_read_as_it_comes(table, monkeypatch):
    monkeypatch.setattr(_folds, "_MOST", 299)
    assert in_own_order(table)[0] is table
