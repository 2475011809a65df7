"""Checks of numbers, each with one sentence that says what to do."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np
from scipy import sparse

from ._arrays import Array, float64, is_foreign, namespace, to_numpy

LARGEST = 1e140
"""Largest absolute value of a feature: its square, summed over weighted samples, must not overflow."""
SMALLEST = 1e-140
"""Least range of a feature that is not constant: its square, weighted, must not become subnormal."""
_WEIGHTS = 1e-20, 1e20
"""Least and largest sum of sample weights: 1e140 squared 1e20 times is 1e300."""
_COMPLEX = "Complex data not supported; pass the real and imaginary parts as features of their own."


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


def check_values(X: Array, limits: tuple[Array, Array] | None = None, names: Sequence[str] | None = None) -> None:
    """Raise if there is a NaN, infinity or a value whose square overflows, naming the features and how many each has.

    Parameters
    ----------
    X : array or scipy sparse matrix of shape (n, m)
        The table.
    limits : pair of arrays, optional
        Feature minima and maxima where they are known already.
    names : sequence of str, optional
        Feature names for the message.
    """
    values = X.data if sparse.issparse(X) else X
    xp = namespace(values)
    if not xp.isdtype(values.dtype, "real floating") or 0 in values.shape:
        return
    low, high = (values, values) if limits is None else limits
    if -float(xp.min(low)) <= LARGEST and float(xp.max(high)) <= LARGEST:
        return
    bad, kind, advice = ~xp.isfinite(values), "infinity", "fill in or drop these values first"
    if bool(xp.any(xp.isnan(values))):
        kind, advice = "NaN", f"{advice}, for instance with sklearn.impute.SimpleImputer"
    elif not bool(xp.any(bad)):
        bad, kind = xp.abs(values) > LARGEST, f"values beyond {LARGEST:g}"
        advice = "their squares leave the range of double precision, so scale the table first"
    raise ValueError(f"Input X contains {kind} in {_listed(_by_feature(X, to_numpy(bad)), names)}; {advice}.")


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
