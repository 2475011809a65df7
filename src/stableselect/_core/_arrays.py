"""Array namespaces: the few helpers that let one piece of numerics serve NumPy and torch.

Everything below a selector's front door is written against the array-API namespace ``xp`` of its input. Fitted
attributes are always NumPy, so :func:`to_numpy` is the way out.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import array_api_compat
import numpy as np
from scipy import sparse

Array = Any
"""An array of any supported namespace (NumPy, torch)."""


def is_foreign(X: object) -> bool:
    """Tell whether ``X`` is an array of a namespace other than NumPy, such as a torch tensor."""
    return bool(array_api_compat.is_array_api_obj(X)) and not array_api_compat.is_numpy_array(X)


def namespace(*arrays: Array) -> ModuleType:
    """Return the array-API namespace shared by ``arrays`` (NumPy's for scipy sparse blocks)."""
    dense = [a for a in arrays if not sparse.issparse(a)]
    return array_api_compat.array_namespace(*(dense or [np.empty(0)]))


def significant(values: np.ndarray) -> np.ndarray:
    """Round to 30 binary digits, so that numbers which differ by rounding only (1e-9 of their size) are equal."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(mantissa * 2.0**30) / 2.0**30, exponent)


def to_numpy(x: Array) -> np.ndarray:
    """Copy ``x`` to host memory as a NumPy array; NumPy arrays come back as they are."""
    if isinstance(x, np.ndarray):
        return x
    if array_api_compat.is_torch_array(x):
        host = x.detach().cpu()
        return np.asarray(host.double() if str(host.dtype) == "torch.bfloat16" else host)
    return np.asarray(x)


def to_dense(X: Array) -> np.ndarray:
    """Return a table of any kind as a dense NumPy array in double precision."""
    return np.asarray(X.toarray() if sparse.issparse(X) else to_numpy(X), dtype=np.float64)


def float64(x: Array, xp: ModuleType) -> Array:
    """Return ``x`` in double precision on its own device, without a copy where it already is."""
    return xp.astype(x, xp.float64, copy=False)


def like(values: object, reference: Array, xp: ModuleType) -> Array:
    """Return ``values`` as a double-precision array on the device of ``reference``."""
    return xp.asarray(values, dtype=xp.float64, device=array_api_compat.device(reference))


def index(columns: object, reference: Array, xp: ModuleType) -> Array:
    """Return ``columns`` as an integer index array on the device of ``reference``."""
    return xp.asarray(np.asarray(columns, dtype=np.int64), device=array_api_compat.device(reference))


def contiguous(x: Array) -> Array:
    """Return a NumPy array in row order (gathering columns from column order copies it every time)."""
    return np.ascontiguousarray(x) if isinstance(x, np.ndarray) else x
