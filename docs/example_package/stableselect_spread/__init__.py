"""A selector of another package."""

import numpy as np
from scipy import sparse

from stableselect.base import ScoreSelector


class SpreadScore(ScoreSelector):
    """Select the features whose middle half spreads widest, so that a few outliers do not count.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features, or the fraction of them; half by default.
    include, exclude : list of str or int, optional
        Features to select in any case, and features never to select.
    tail : float, default=0.25
        Fraction of the samples to leave out at either end.
    """

    def __init__(self, n_features_to_select=None, *, include=None, exclude=None, tail=0.25):
        self.n_features_to_select = n_features_to_select
        self.include = include
        self.exclude = exclude
        self.tail = tail

    def _score_features(self, X, k):
        dense = X.toarray() if sparse.issparse(X) else np.asarray(X)
        low, high = np.quantile(dense, [self.tail, 1 - self.tail], axis=0)
        return high - low  # one number for each feature, larger is better
