"""The record of how the explained variance grows with the number of features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..base import data_frame, html_table

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False, repr=False)
class SelectionPath:
    """How the explained variance grows with the number of features, and the number chosen from it.

    Explained variances are those of held-out samples: every fold of the samples is left out in turn, features are taken
    one by one by forward search on the others, and the ridge map from the first k of them is measured on the samples
    left out, for every k. Printing it gives a summary.

    Attributes
    ----------
    order : ndarray of int, shape (limit,)
        Features in the order in which forward search takes them on all samples, so that the first k are a selection of
        k. The selector goes on from the first ``n_features`` of them by exchange.
    explained_variance_ratio : ndarray of shape (limit,)
        Of k = 1, 2, ... features on held-out samples: 1 - (squared errors of all folds) / (squared distances of their
        samples from the mean of those fitted on). 1 for all features: nothing is then reconstructed.
    standard_error : ndarray of shape (limit,)
        Of the folds' own ratios around their mean. Folds share most of their samples, so it is a little too small.
    train_explained_variance_ratio : ndarray of shape (limit,)
        Of the first k features of ``order`` on the samples that they were selected on.
    ridge : ndarray of shape (limit,)
        The ridge weight that the ratios of k features belong to: that of least held-out error, where it is free.
    fold_explained_variance_ratio : ndarray of shape (n_folds, limit)
        On each fold by itself.
    fold_n_features : ndarray of int, shape (n_folds,)
        The number of features that reaches the target on each fold by itself.
    n_features : int
        The number chosen.
    target : float
        The ratio to reach.
    reached : bool
        Whether it was reached; if not, ``n_features`` has the largest ratio.

    References
    ----------
    Bengio & Grandvalet (2004), No unbiased estimator of the variance of K-fold cross-validation, JMLR 5.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect import ColumnSubset
    >>> path = ColumnSubset("auto", min_explained_variance=0.95).fit(load_iris().data).path_
    >>> print(path)
    SelectionPath: 2 features explain 0.965 of the held-out variance (target 0.95; 2 to 2 by fold; up to 4 considered).
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
    target: float
    reached: bool

    @property
    def limit(self) -> int:
        """The most features considered."""
        return len(self.order)

    @property
    def n_features_range(self) -> tuple[int, int]:
        """The smallest and the largest number of features that a fold by itself gives."""
        return int(self.fold_n_features.min()), int(self.fold_n_features.max())

    def __repr__(self) -> str:
        """Return one sentence."""
        ratio = self.explained_variance_ratio[self.n_features - 1]
        low, high = self.n_features_range
        missed = "" if self.reached else ", not reached"
        return (
            f"SelectionPath: {self.n_features} features explain {ratio:.3f} of the held-out variance (target "
            f"{self.target:g}{missed}; {low} to {high} by fold; up to {self.limit} considered)."
        )

    def _repr_html_(self) -> str:
        k = self.n_features
        around = range(max(0, k - 5), min(self.limit, k + 5))
        columns = {
            "number of features": [i + 1 for i in around],
            "explained on held-out samples": [self.explained_variance_ratio[i] for i in around],
            "standard error": [self.standard_error[i] for i in around],
            "chosen": ["yes" if i + 1 == k else "" for i in around],
        }
        return html_table(repr(self), columns)

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame with a row for every number of features.

        Returns
        -------
        pandas.DataFrame
            The columns n_features, feature (the index of the one added), explained_variance_ratio, standard_error,
            train_explained_variance_ratio and ridge.
        """
        return data_frame(
            {
                "n_features": np.arange(1, self.limit + 1),
                "feature": self.order,
                "explained_variance_ratio": self.explained_variance_ratio,
                "standard_error": self.standard_error,
                "train_explained_variance_ratio": self.train_explained_variance_ratio,
                "ridge": self.ridge,
            }
        )
