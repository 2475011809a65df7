"""Variance: the simplest score of a feature, and on some tables a hard one to beat."""

from __future__ import annotations

from functools import partial

import numpy as np

from .._core import Array, count_and_sum, namespace, summed, to_numpy
from ..base import ScoreSelector

_DIGITS = 10
"""Variances that agree to this many significant digits tie."""


class VarianceScore(ScoreSelector):
    """Select the features with the largest variance.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to select: an integer, a fraction rounded up, or None for half.
    include, exclude : sequence of str or int, optional
        Features, by name or index, that must or must not be selected.

    Attributes
    ----------
    scores_ : ndarray of shape (m,)
        The variances, to ten significant digits: features whose variances agree to that tie, and the lowest index wins.

    See Also
    --------
    LaplacianScore : Variance set against that along the edges of a neighbour graph.

    Notes
    -----
    Features are never scaled, and after standardising all variances are equal. It takes no notice of what features
    share, so that of several that repeat each other it selects all or none. The samples are read by blocks, in a few
    passes; no m x m array is formed.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect import VarianceScore
    >>> X = load_iris(as_frame=True).data
    >>> VarianceScore(2).fit(X).get_feature_names_out()
    array(['sepal length (cm)', 'petal length (cm)'], dtype=object)
    """

    _reads_pieces = True

    def _score_features(self, X: Array, k: int) -> np.ndarray:
        n, total = summed(X, count_and_sum)
        mean = total / n
        (squares,) = summed(X, partial(_squares, mean))
        variance = to_numpy(squares / n)
        # A constant feature's mean may be off by rounding, and so may its variance.
        variance = np.where(variance > 1e-30 * to_numpy(mean) ** 2, variance, 0.0)
        unit = 10.0 ** np.floor(np.log10(np.where(variance > 0, variance, 1.0)))
        return np.asarray(np.round(variance / unit, _DIGITS - 1) * unit)


def _squares(mean: Array, block: Array) -> tuple[Array]:
    return (namespace(block).sum((block - mean[None, :]) ** 2, axis=0),)
