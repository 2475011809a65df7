"""Checks of numbers, each with one sentence that says what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from ._arrays import Array, namespace, to_numpy


def check_finite(X: Array, extremes: tuple[Array, Array] | None = None, names: Sequence[str] | None = None) -> None:
    """Raise if there is a NaN or infinity, naming the features and how many values each has.

    Parameters
    ----------
    X : array or scipy sparse matrix of shape (n, m)
        The table.
    extremes : pair of arrays, optional
        Feature minima and maxima where they are known already: they are finite only if the table is.
    names : sequence of str, optional
        Feature names for the message.
    """
    if sparse.issparse(X):
        if np.all(np.isfinite(X.data)):
            return
        X = sparse.csc_array(X, copy=True)
        X.data = np.where(np.isfinite(X.data), 0.0, X.data)
        X.eliminate_zeros()
        counts = np.diff(X.indptr)
        kind = "NaN" if np.isnan(X.data).any() else "infinity"
    else:
        xp = namespace(X)
        if not xp.isdtype(X.dtype, "real floating"):
            return
        with np.errstate(over="ignore", invalid="ignore"):
            probe = [xp.sum(X)] if extremes is None else [xp.sum(extremes[0]), xp.sum(extremes[1])]
        if all(bool(xp.isfinite(p)) for p in probe):
            return
        bad = to_numpy(~xp.isfinite(X))
        if not bad.any():  # the sum overflowed, the values did not
            return
        counts = bad.sum(axis=0)
        kind = "NaN" if bool(xp.any(xp.isnan(X))) else "infinity"
    columns = np.flatnonzero(counts)
    label = [f"{names[j]!r}" if names is not None else f"feature {j}" for j in columns[:5]]
    listed = ", ".join(f"{name} ({counts[j]})" for name, j in zip(label, columns, strict=False))
    more = f" and {len(columns) - 5} more features" if len(columns) > 5 else ""
    raise ValueError(
        f"Input X contains {kind} in {listed}{more}; fill in or drop these values first"
        f"{', for instance with sklearn.impute.SimpleImputer' if kind == 'NaN' else ''}."
    )


def check_weights(sample_weight: Any, n_samples: int) -> np.ndarray | None:
    """Return the sample weights in double precision, or None where there are none."""
    if sample_weight is None:
        return None
    weights = np.asarray(to_numpy(sample_weight), dtype=np.float64)
    if weights.shape != (n_samples,) or not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise ValueError(
            f"sample_weight must hold one finite, non-negative number for each of the {n_samples} samples; got shape "
            f"{weights.shape}."
        )
    return weights
