"""What a table holds, feature by feature, and a fingerprint by which it is known again."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import as_numbers, feature_names, in_memory, is_foreign, row_hashes, to_dense, to_numpy
from ..base import data_frame, html_table

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False, repr=False)
class TableSummary:
    """What a table holds.

    Attributes
    ----------
    feature_names : list of str
        The features; ``x0``, ``x1`` and so on where they have no names.
    n_samples : int
        Number of samples.
    n_missing : ndarray of int, shape (m,)
        Missing values of each feature.
    mean, std, minimum, maximum : ndarray of shape (m,)
        Of the values that are there; nan where there are none.
    fingerprint : str
        Sixteen hexadecimal digits that depend on the names and all values, and not on the order of the samples or the
        format of a file. Not meant against forgery.
    """

    feature_names: list[str]
    n_samples: int
    n_missing: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    minimum: np.ndarray
    maximum: np.ndarray
    fingerprint: str

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame with one row for each feature.

        Returns
        -------
        pandas.DataFrame
        """
        return data_frame(self._columns())

    def _repr_html_(self) -> str:
        return html_table(repr(self)[1:-1], self._columns())

    def _columns(self) -> dict[str, Any]:
        names = ("n_missing", "mean", "std", "minimum", "maximum")
        return {"feature": self.feature_names} | {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        return (
            f"<TableSummary: {self.n_samples} samples, {len(self.feature_names)} features, "
            f"missing values: {int(self.n_missing.sum())}, fingerprint {self.fingerprint}>"
        )


def table_summary(X: Any, names: Sequence[str] | None = None) -> TableSummary:
    """Summarise a table.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, m)
        The table, in memory; NaN is a missing value.
    names : sequence of str, optional
        Feature names; by default those of a data frame.

    Returns
    -------
    TableSummary

    Examples
    --------
    >>> from stableselect.inspection import table_summary
    >>> table_summary([[1.0, 2.0], [3.0, float("nan")]])
    <TableSummary: 2 samples, 2 features, missing values: 1, fingerprint 91245514c5e9a4c1>
    """
    values, carried = dense_table(X)
    n, m = values.shape
    names = [str(name) for name in (names if names is not None else carried or [f"x{j}" for j in range(m)])]
    missing = np.isnan(values)
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # of no value at all, and of infinite ones
        mean, std, low, high = (of(values, axis=0) for of in (np.nanmean, np.nanstd, np.nanmin, np.nanmax))
    hashes = row_hashes(np.where(missing, np.nan, values)).view(np.uint64)
    about = [names, n, int(np.add.reduce(hashes, dtype=np.uint64)), int(np.bitwise_xor.reduce(hashes))]
    fingerprint = hashlib.sha256(json.dumps(about).encode()).hexdigest()[:16]
    return TableSummary(names, n, missing.sum(axis=0), mean, std, low, high, fingerprint)


def dense_table(X: Any) -> tuple[np.ndarray, list[str] | None]:
    """Return the values of a table in memory, NaN for those that are missing, and its feature names."""
    X, carried = in_memory(X, "This function")
    names = carried or feature_names(getattr(X, "columns", None))
    X = as_numbers(X)
    values = np.asarray(to_numpy(X) if is_foreign(X) else to_dense(X), dtype=np.float64)
    if values.ndim != 2 or not values.size:
        raise ValueError(f"X must be a table of samples and features but has shape {values.shape}; check it.")
    return values, None if names is None else list(names)
