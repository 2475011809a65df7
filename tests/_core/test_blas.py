"""Products in place against NumPy's, with SciPy's compiled routines and with its Python functions."""

import threading

import numpy as np
import pytest

from stableselect._core import _blas
from stableselect._core._blas import add_gram, add_product, invert_factor, symmetric_product


@pytest.fixture(params=["compiled", "python"])
def routines(request, monkeypatch):
    if request.param == "python":
        for name in ("_SYRK", "_SYMV", "_GEMM", "_POTRF", "_TRTRI"):
            monkeypatch.setattr(_blas, name, None)


def test_the_compiled_routines_are_found():
    assert None not in (_blas._SYRK, _blas._SYMV, _blas._GEMM, _blas._POTRF, _blas._TRTRI)


def test_a_routine_of_another_form_is_not_called(monkeypatch):
    monkeypatch.setitem(_blas._FORMS, "dsyrk", "ccii")
    assert _blas._routine("dsyrk") is None
    monkeypatch.setattr(_blas, "cython_blas", None)
    assert _blas._routine("dgemm") is None


@pytest.mark.parametrize("sign", [1.0, -0.5])
def test_the_upper_triangle_of_products_is_added(routines, rng, sign):
    rows, second = rng.normal(size=(9, 7)), rng.normal(size=(7, 7))
    before = second.copy()
    add_gram(second, rows, sign)
    np.testing.assert_allclose(np.triu(second), np.triu(before + sign * rows.T @ rows), atol=1e-14)
    np.testing.assert_array_equal(np.tril(second, -1), np.tril(before, -1))


@pytest.mark.parametrize("m", [7, _blas._LONG])
def test_the_product_of_a_symmetric_matrix(routines, rng, m):
    A = rng.normal(size=(m, m))
    C = A + A.T
    for v in (C[3], C[:, 3], rng.normal(size=2 * m)[::2]):
        np.testing.assert_allclose(symmetric_product(C, v), C @ v, atol=1e-10)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_product_is_added_to_an_array_and_to_some_of_its_columns(routines, rng, order):
    for part in (slice(None), slice(2, 9)):
        M = np.array(rng.normal(size=(5, 11)), order=order)
        left, right, before = rng.normal(size=(5, 3)), rng.normal(size=(3, 11)), M.copy()
        add_product(M[:, part], left, right[:, part])
        expected = before.copy()
        expected[:, part] += left @ right[:, part]
        np.testing.assert_allclose(M, expected, atol=1e-14)


@pytest.mark.parametrize("shape", [(1, 6), (6, 1), (1, 1)])
def test_a_product_is_added_to_a_single_row_or_column(routines, rng, shape):
    M, left, right = np.zeros(shape), rng.normal(size=(shape[0], 2)), rng.normal(size=(2, shape[1]))
    add_product(M, left, right)
    np.testing.assert_allclose(M, left @ right, atol=1e-14)


def test_a_product_is_added_where_neither_rows_nor_columns_lie_together(rng):
    M, left, right = np.zeros((6, 8)), rng.normal(size=(3, 2)), rng.normal(size=(2, 4))
    add_product(M[::2, ::2], left, right)
    np.testing.assert_allclose(M[::2, ::2], left @ right, atol=1e-14)
    assert not M[1::2].any() and not M[:, 1::2].any()


def test_the_inverse_of_a_triangular_factor(routines, rng):
    A = rng.normal(size=(20, 7))
    M = A.T @ A
    np.testing.assert_allclose(invert_factor(M.copy()), np.linalg.inv(np.linalg.cholesky(M)).T, atol=1e-12)
    assert invert_factor(M - 1e3 * np.eye(7)) is None


def test_other_threads_work_meanwhile(rng):
    rows, second = rng.normal(size=(4000, 600)), np.zeros((600, 600))
    begun, steps = threading.Event(), []

    def count():
        while not begun.is_set():
            steps.append(1)

    counter = threading.Thread(target=count)
    counter.start()
    try:
        before = len(steps)
        add_gram(second, rows)
        during = len(steps) - before
    finally:
        begun.set()
        counter.join()
    assert during > 0
