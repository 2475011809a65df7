"""How many columns: the record of a nested path, and the two rules that read the number off its curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

_NOTHING_LEFT = 1e-10
"""Share of the variance below which what is left is rounding."""
_TIE = 1e-9
"""Errors within this relative distance are ties, which go to fewer columns."""


@dataclass(frozen=True, eq=False)
class SelectionPath:
    """How the explained share of the variance grows with the number of columns, and the number chosen from it.

    Explained shares are those of held-out rows: every fold of the rows is left out in turn, columns are taken one by
    one by forward search on the others, and the ridge map from the first k of them is measured on the rows left out,
    for every k.

    Attributes
    ----------
    order : ndarray of int, shape (limit,)
        Columns in the order in which forward search takes them on all rows, so that the first k are a choice of k.
        The selector goes on from the first ``n_features`` of them by exchange.
    explained_variance_ratio : ndarray of shape (limit,)
        Held-out explained share of k = 1, 2, ... columns: 1 - (squared errors of all folds) / (squared distances of
        their rows from the mean of the rows fitted on). 1 for all columns of the table: nothing is then rebuilt.
    standard_error : ndarray of shape (limit,)
        Of the folds' own shares around their mean. Folds share most of their rows, so it says a little too little.
    train_explained_variance_ratio : ndarray of shape (limit,)
        Explained share of the first k columns of ``order`` on the rows that chose them.
    ridge : ndarray of shape (limit,)
        The ridge weight that the shares of k columns belong to: that of least held-out error, where it is free.
    fold_explained_variance_ratio : ndarray of shape (n_folds, limit)
        Held-out explained share of each fold by itself.
    fold_n_features : ndarray of int, shape (n_folds,)
        The number of columns that the rule gives on each fold by itself.
    n_features : int
        The number chosen.
    rule : {"target", "elbow"}
        What chose it.
    target : float or None
        The share to reach, for the rule "target".
    reached : bool
        Whether the target was reached, or an elbow found; if not, ``n_features`` has the largest explained share.

    References
    ----------
    Bengio & Grandvalet (2004), No unbiased estimator of the variance of K-fold cross-validation, JMLR 5.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect import ColumnSubset
    >>> path = ColumnSubset("auto", min_explained_variance=0.95).fit(load_iris().data).path_
    >>> path.explained_variance_ratio.round(2).tolist()
    [0.92, 0.97, 0.99, 1.0]
    >>> path.n_features, path.n_features_range
    (2, (2, 2))
    """

    order: np.ndarray
    explained_variance_ratio: np.ndarray
    standard_error: np.ndarray
    train_explained_variance_ratio: np.ndarray
    ridge: np.ndarray
    fold_explained_variance_ratio: np.ndarray
    fold_n_features: np.ndarray
    n_features: int
    rule: Literal["target", "elbow"]
    target: float | None
    reached: bool

    @property
    def limit(self) -> int:
        """The most columns looked at."""
        return len(self.order)

    @property
    def n_features_range(self) -> tuple[int, int]:
        """The smallest and the largest number of columns that a fold by itself gives."""
        return int(self.fold_n_features.min()), int(self.fold_n_features.max())
