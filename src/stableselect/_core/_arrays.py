"""Tables of numbers: array namespaces, blocks of samples, and checks, each with one sentence that says what to do.

Everything below a selector's front door is written against the array-API namespace ``xp`` of its input, so that one
piece of numerics serves NumPy and torch. Fitted attributes are always NumPy: :func:`to_numpy` is the way out.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import date, timedelta
from types import ModuleType
from typing import Any

import array_api_compat
import numpy as np
from scipy import sparse

Array = Any
"""An array of any supported namespace (NumPy, torch)."""
BLOCK_ELEMENTS = 2**22
"""Values per block when an array is read block by block: 32 MiB in double precision."""
LARGEST = 1e140
"""Largest absolute value of a feature: its square, summed over weighted samples, must not overflow."""
SMALLEST = 1e-140
"""Least range of a feature that is not constant: its square, weighted, must not become subnormal."""
_WEIGHTS = 1e-20, 1e20
"""Least and largest sum of sample weights: 1e140 squared 1e20 times is 1e300."""
_COMPLEX = "Complex data not supported; pass the real and imaginary parts as features of their own."


def is_foreign(X: object) -> bool:
    """Tell whether ``X`` is an array of a namespace other than NumPy, such as a torch tensor."""
    return bool(array_api_compat.is_array_api_obj(X)) and not array_api_compat.is_numpy_array(X)


def on_device(X: object) -> bool:
    """Tell whether ``X`` is a tensor outside of the processor's own memory."""
    return is_foreign(X) and "cpu" not in str(array_api_compat.device(X))


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
    if isinstance(reference, np.ndarray):
        return np.asarray(values, dtype=np.float64)
    return xp.asarray(values, dtype=xp.float64, device=array_api_compat.device(reference))


def index(columns: object, reference: Array, xp: ModuleType) -> Array:
    """Return ``columns`` as an integer index array on the device of ``reference``."""
    numbers, on_host = np.asarray(columns, dtype=np.int64), isinstance(reference, np.ndarray)
    return numbers if on_host else xp.asarray(numbers, device=array_api_compat.device(reference))


def contiguous(x: Array) -> Array:
    """Return a NumPy array in row order (gathering columns from column order copies it every time)."""
    return np.ascontiguousarray(x) if isinstance(x, np.ndarray) else x


def memory_limit() -> float:
    """Return the bytes one Moments may hold: half of the machine's memory, to leave room for the searches."""
    try:
        return 0.5 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return float("inf")


def row_blocks(n: int, m: int, size: int | None = None) -> list[slice]:
    """Return the blocks in which n samples of m features are read, of ``size`` samples where it is given."""
    step = size or max(1024, BLOCK_ELEMENTS // max(1, m))
    return [slice(start, start + step) for start in range(0, n, step)]


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """Return rows of an array, data frame, sparse matrix or tensor, as the same kind of table."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if sparse.issparse(X):
        return (X if X.format == "csr" else X.tocsr())[rows]
    if is_foreign(X):
        xp = namespace(X)
        return xp.take(X, index(rows, X, xp), axis=0)
    return X.take(rows) if hasattr(X, "column_names") else X[rows]  # pyarrow


def as_numbers(X: Any, name: str = "Input X") -> Any:
    """Return an array-like of real numbers as a plain array; raise if it holds anything else, or masked values.

    Parameters
    ----------
    X : array-like, scipy sparse matrix, tensor or data frame
        The values. Sparse matrices and tensors are checked and returned as such. A data frame is returned as it is: its
        features have names and types of their own, which the selectors check.
    name : str
        What the values are, for the message.

    Returns
    -------
    array, sparse matrix, tensor or data frame
    """
    if hasattr(X, "columns"):
        return X
    if is_foreign(X):
        return _real_tensor(X, name)
    if not sparse.issparse(X):
        X = _plain(X, name)
    if X.dtype.kind == "c":
        raise ValueError(_COMPLEX)
    if X.dtype.kind not in "biuf":
        kind = {"M": "dates", "m": "durations", "V": "records"}.get(X.dtype.kind, "text")
        raise ValueError(f"{name} must hold numbers, but holds {kind}; drop or encode them first.")
    return X


def as_block(X: Array) -> Array:
    """Return a block of samples as an array, tensor or CSR array of real numbers."""
    X = as_numbers(np.asarray(X) if hasattr(X, "columns") else X)
    X = sparse.csr_array(X) if sparse.issparse(X) and X.ndim == 2 else X
    check_shape(X)
    return X


def check_shape(X: Array) -> None:
    """Raise if X is no table of at least one feature."""
    if X.ndim != 2:
        raise ValueError(f"Expected a table (two dimensions), got {X.ndim}.")
    if X.shape[1] == 0:
        raise ValueError("Expected a table with at least one feature, got none.")


def _plain(X: Any, name: str) -> np.ndarray:
    if np.ma.is_masked(X):
        mask = np.ma.getmaskarray(X)
        where = f" in {_listed(mask.sum(axis=0), None)}" if mask.ndim == 2 else ""
        raise ValueError(f"{name} contains masked values{where}; fill in or drop these values first.")
    if _is_no_array(X):  # NumPy would look for numbers in its parts, without end
        raise TypeError(f"{name} is of type {type(X).__name__}, which holds no table; pass an array or a data frame.")
    try:
        X = np.asarray(X)
    except ValueError:
        raise ValueError(f"{name} must have rows of equal length, but some are longer than others.") from None
    if X.dtype.kind == "O":
        return _real_objects(X, name)
    if X.dtype.kind == "f" and X.dtype.itemsize > 8:
        with np.errstate(over="ignore"):  # what does not fit becomes infinite, and is refused as such
            return X.astype(np.float64)
    return X


def _is_no_array(X: Any) -> bool:
    """Tell whether X has parts to look up, but is neither a sequence nor offers its values as an array."""
    if isinstance(X, Sequence | str | np.generic) or not (hasattr(X, "__getitem__") and hasattr(X, "__len__")):
        return False
    if any(hasattr(X, f"__{protocol}__") for protocol in ("array", "array_interface", "array_struct", "dlpack")):
        return False
    try:
        memoryview(X)
    except TypeError:
        return True
    return False


def _real_objects(X: np.ndarray, name: str) -> np.ndarray:
    """Return an array of Python objects in double precision; None is a missing value."""
    kinds = {type(value) for value in X.flat}
    if any(issubclass(kind, complex | np.complexfloating) for kind in kinds):
        raise ValueError(_COMPLEX)
    for kind, word in (
        (str | bytes, "text"),
        (np.datetime64 | date, "dates"),
        (np.timedelta64 | timedelta, "durations"),
    ):
        if any(issubclass(found, kind) for found in kinds):
            raise ValueError(f"{name} must hold numbers, but holds {word}; drop or encode them first.")
    try:
        return X.astype(np.float64)
    except (TypeError, ValueError) as error:
        reason = str(error).rstrip(".")
        raise type(error)(f"{name} must hold numbers: {reason}; drop or encode other values first.") from None


def _real_tensor(X: Array, name: str) -> Array:
    if getattr(X, "is_sparse", False) or getattr(X, "is_sparse_csr", False):
        raise ValueError("Sparse tensors are not supported; pass a scipy sparse matrix or a dense tensor.")
    if getattr(X, "is_meta", False):
        raise ValueError(f"{name} is a tensor on the meta device, which holds no values; pass one that does.")
    if namespace(X).isdtype(X.dtype, "complex floating"):
        raise ValueError(_COMPLEX)
    return X.detach() if hasattr(X, "detach") else X


def _listed(counts: np.ndarray, names: Sequence[str] | None, *, numbers: bool = True) -> str:
    """Return the first features whose count is not zero, with their counts, as text."""
    columns = np.flatnonzero(counts)
    label = [f"{names[j]!r}" if names is not None else f"feature {j}" for j in columns[:5]]
    listed = [f"{name} ({counts[j]})" if numbers else name for name, j in zip(label, columns, strict=False)]
    return ", ".join(listed) + (f" and {len(columns) - 5} more features" if len(columns) > 5 else "")


def check_values(
    X: Array,
    limits: tuple[Array, Array] | None = None,
    names: Sequence[str] | None = None,
    missing: str | None = None,
) -> None:
    """Raise if there is a NaN, infinity or a value whose square overflows, naming the features and how many each has.

    Parameters
    ----------
    X : array or scipy sparse matrix of shape (n, m)
        The table.
    limits : pair of arrays, optional
        Feature minima and maxima where they are known already.
    names : sequence of str, optional
        Feature names for the message.
    missing : str, optional
        The parameter of a selector that has one: all but "raise" let NaN pass.
    """
    values = X.data if sparse.issparse(X) else X
    xp = namespace(values)
    if not xp.isdtype(values.dtype, "real floating") or 0 in values.shape:
        return
    if missing not in (None, "raise"):
        values = xp.where(xp.isnan(values), xp.zeros_like(values), values)
    low, high = (values, values) if limits is None else limits
    if -float(xp.min(low)) <= LARGEST and float(xp.max(high)) <= LARGEST:
        return
    bad, kind, advice = ~xp.isfinite(values), "infinity", "fill in or drop these values first"
    if bool(xp.any(xp.isnan(values))):
        kind, advice = "NaN", f"{advice}, for instance with sklearn.impute.SimpleImputer"
        advice += "" if missing is None else ", or with missing='em'"
    elif not bool(xp.any(bad)):
        bad, kind = xp.abs(values) > LARGEST, f"values beyond {LARGEST:g}"
        advice = "their squares leave the range of double precision, so scale the table first"
    raise ValueError(f"Input X contains {kind} in {_listed(_by_feature(X, to_numpy(bad)), names)}; {advice}.")


def check_reconstructed(made: Array, given: Array) -> None:
    """Raise if the reconstruction of finite values is not finite; both are tables with a row for every sample."""
    xp = namespace(made)
    if not bool(xp.all(xp.isfinite(made) | ~xp.all(xp.isfinite(given), axis=1)[:, None])):
        raise ValueError(
            "Reconstructed values leave the range of double precision; check that the values given are in the units of "
            "the table that features were selected from."
        )


def _by_feature(X: Array, bad: np.ndarray) -> np.ndarray:
    """Return how many values of every feature are marked; for a sparse matrix the marks are of what it stores."""
    if not sparse.issparse(X):
        return np.asarray(bad.sum(axis=0))
    stored = sparse.coo_array(X)
    return np.bincount(stored.coords[1][bad], minlength=X.shape[1])


def extremes(X: Array) -> tuple[Array, Array]:
    """Return the smallest and the largest value of every feature of a table, in double precision."""
    if sparse.issparse(X):
        low, high = (np.asarray(extreme(axis=0).toarray(), dtype=np.float64).ravel() for extreme in (X.min, X.max))
        return low, high
    xp = namespace(X)
    return float64(xp.min(X, axis=0), xp), float64(xp.max(X, axis=0), xp)


def check_spread(low: Array, high: Array, names: Sequence[str] | None = None) -> None:
    """Raise if the values of a feature differ by too little for their squares.

    Parameters
    ----------
    low, high : arrays of shape (m,)
        Smallest and largest value of every feature, over all samples.
    names : sequence of str, optional
        Feature names for the message.
    """
    spread = to_numpy(high) - to_numpy(low)
    bad = (spread > 0) & (spread < SMALLEST)
    if bad.any():
        raise ValueError(
            f"Input X differs by less than {SMALLEST:g} in {_listed(bad, names, numbers=False)}; the squares leave the "
            "range of double precision, so scale the table first."
        )


def check_weights(sample_weight: Any, n_samples: int, *, whole: bool = True) -> np.ndarray | None:
    """Return a copy of the sample weights in double precision, or None where there are none.

    Parameters
    ----------
    sample_weight : array-like of shape (n,) or None
        The weights.
    n_samples : int
        Number of samples.
    whole : bool
        Whether these are all samples. The weights of a few of them may be very small.

    Returns
    -------
    ndarray or None
    """
    if sample_weight is None:
        return None
    if hasattr(sample_weight, "dask"):
        sample_weight = sample_weight.compute()
    weights = np.array(to_numpy(as_numbers(sample_weight, "sample_weight")), dtype=np.float64)
    if weights.shape != (n_samples,) or not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise ValueError(
            f"sample_weight must hold one finite, non-negative number for each of the {n_samples} samples; got shape "
            f"{weights.shape}."
        )
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if total > _WEIGHTS[1] or (whole and 0 < total < _WEIGHTS[0]):
        raise ValueError(
            f"sample_weight must sum to a number from {_WEIGHTS[0]:g} to {_WEIGHTS[1]:g} but sums to {total:g}; divide "
            "the weights by their largest."
        )
    return weights
