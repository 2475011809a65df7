"""Routines of BLAS and LAPACK on NumPy arrays that let other threads of Python work meanwhile.

SciPy's own functions (:mod:`scipy.linalg.blas`) hold Python's lock, so that threads wait for one another. Here the
routines that SciPy offers to compiled code (:mod:`scipy.linalg.cython_blas`) are called through :mod:`ctypes`, which
gives the lock away. Where SciPy offers them in another form than the one known here, its own functions serve.

BLAS counts by columns. An array that lies in memory by rows is to it the transpose of one by columns, and what it calls
the lower triangle is the upper one here. Sums of products are added to that one, which OpenBLAS does in a tenth less.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable

import numpy as np
from scipy.linalg import blas, cython_blas, cython_lapack, lapack

_FORMS = {
    "dsyrk": "cciiddiddi",
    "dsymv": "ciddididdi",
    "dgemm": "cciiiddididdi",
    "dpotrf": "cidii",
    "dtrtri": "ccidii",
}
"""The arguments of every routine, all of them pointers: to characters, integers and double-precision numbers."""

_LONG = 400
"""Products with fewer features than this are done before another thread has begun."""


def _routine(name: str) -> Callable[..., None] | None:
    """Return a routine as SciPy's compiled code has it; None where it is not of the form that is known here."""
    offered = [getattr(module, "__pyx_capi__", {}) for module in (cython_blas, cython_lapack)]
    capsule = next((routines[name] for routines in offered if name in routines), None)
    if capsule is None:
        return None
    form_of, address_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    form_of.restype, form_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    address_of.restype, address_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    form = form_of(capsule)
    kinds = re.sub(r"\w*cython_(blas|lapack)_d \*", "d", form.decode()).replace("char *", "c").replace("int *", "i")
    if kinds != f"void ({', '.join(_FORMS[name])})":
        return None
    arguments = [ctypes.c_char_p if kind == "c" else ctypes.c_void_p for kind in _FORMS[name]]
    return ctypes.CFUNCTYPE(None, *arguments)(address_of(capsule, form))


_SYRK, _SYMV, _GEMM, _POTRF, _TRTRI = (_routine(name) for name in _FORMS)


def _int(value: int) -> object:
    return ctypes.byref(ctypes.c_int(value))


def _double(value: float) -> object:
    return ctypes.byref(ctypes.c_double(value))


def add_gram(second: np.ndarray, rows: np.ndarray, sign: float = 1.0) -> None:
    """Add sign rows' rows to the upper triangle of ``second`` (m x m), in place; both lie in memory by rows."""
    n, m = rows.shape
    if _SYRK is None:
        blas.dsyrk(sign, rows.T, beta=1.0, c=second.T, overwrite_c=1, lower=1)
        return
    size = _int(m)
    _SYRK(b"L", b"N", size, _int(n), _double(sign), rows.ctypes.data, size, _double(1), second.ctypes.data, size)


def symmetric_product(C: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return C v for a symmetric C that lies in memory by rows; one triangle of it is read."""
    if _SYMV is None or len(C) < _LONG or C.dtype != np.float64 or C.strides != (8 * len(C), 8):
        return np.asarray(blas.dsymv(1.0, C.T, v))
    v, product = np.ascontiguousarray(v, dtype=np.float64), np.empty(len(C))
    size, step = _int(len(C)), _int(1)
    _SYMV(b"U", size, _double(1), C.ctypes.data, size, v.ctypes.data, step, _double(0), product.ctypes.data, step)
    return product


def add_product(M: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
    """Add left right to M in place, without an array of its size; its rows or its columns lie together in memory."""
    if M.strides[0] != 8:
        M, left, right = M.T, right.T, left.T
    if _GEMM is None or M.strides[0] != 8:
        M += left @ right
        return
    left, right = np.asfortranarray(left), np.asfortranarray(right)
    n, m, inner = (_int(size) for size in (*M.shape, left.shape[1]))
    a, b, c = left.ctypes.data, right.ctypes.data, M.ctypes.data
    _GEMM(b"N", b"N", n, m, inner, _double(1), a, n, b, inner, _double(1), c, _int(max(M.shape[0], M.strides[1] // 8)))


def invert_factor(M: np.ndarray) -> np.ndarray | None:
    """Return the inverse of L, LL' = M, transposed; None where M is not positive definite. M is used up."""
    if _POTRF is None or _TRTRI is None:
        factor, failed = lapack.dpotrf(M.T, lower=1, clean=0, overwrite_a=1)
        return None if failed else np.triu(lapack.dtrtri(factor, lower=1, overwrite_c=1)[0].T)
    size, info = _int(len(M)), ctypes.c_int(0)
    _POTRF(b"L", size, M.ctypes.data, size, ctypes.byref(info))
    if info.value:
        return None
    _TRTRI(b"L", b"N", size, M.ctypes.data, size, ctypes.byref(info))
    return np.triu(M)
