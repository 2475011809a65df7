"""Pivoted QR: features on whose loadings the leading principal components can be told apart best."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._core import TIE, Array, Moments, column_roles, merged, normalised_moments, to_numpy
from ..base import IncludingSelector, Selection, StreamingSelector, resolve_k

_NOTHING_LEFT = 1e-12
"""A feature whose squared loadings have less than this left lies in the span of the selected ones."""


class PivotedQR(IncludingSelector, StreamingSelector):
    """Select the pivots of a QR factorisation of the features' loadings on the k leading principal components.

    The covariance C = V diag(e) V' of the features has the leading eigenvectors V_q, q the smaller of k and the rank.
    Row j of V_q holds the loadings of feature j. The feature with the longest row is selected, its direction is taken
    out of all rows, and so on: the volume of the selected rows grows by the largest factor each time, so that the q
    components can be estimated well from the selected features. This is sensor placement by QR pivoting.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to select: an integer, a fraction rounded up, or None for half.
    include, exclude : sequence of str or int, optional
        Features, by name or index, that must or must not be selected; the former are the first pivots.

    Attributes
    ----------
    n_components_ : int
        q, the number of components used; 0 when every feature is constant.
    scores_ : ndarray of shape (m,)
        Squared length of a feature's loadings that the features selected before leave over, from 0 to 1; for a
        discarded feature, what all of them leave over.

    See Also
    --------
    ColumnSubset : Minimises the reconstruction error itself.

    Notes
    -----
    All q components count alike, whatever their variance; where variances are equal or vanish, rounding decides their
    directions. Beyond the rank, and where ``include`` makes pivots of
    features that repeat each other, no loadings are left over; the features with the largest variance follow. Lengths
    within 1e-10 tie, and the lowest index wins. Only the moments are needed.

    References
    ----------
    Manohar, Brunton, Kutz & Brunton (2018), Data-driven sparse sensor placement for reconstruction, IEEE Control
    Systems Magazine 38(3).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect import PivotedQR
    >>> X = load_iris(as_frame=True).data
    >>> PivotedQR(2).fit(X).get_feature_names_out()
    array(['sepal length (cm)', 'petal length (cm)'], dtype=object)
    """

    def _select_from_folds(
        self, folds: Sequence[Moments], X: Array = None, sample_weight: np.ndarray | None = None
    ) -> Selection:
        moments = merged(folds)
        gram, _ = normalised_moments(moments)
        k = resolve_k(self.n_features_to_select, self.n_features_in_)
        include, exclude = self._include_exclude(k)
        loadings = np.zeros((self.n_features_in_, 0))
        if gram.trace() > 0:
            loadings = to_numpy(gram.eigh()[1])[:, :k]
        self.n_components_ = loadings.shape[1]
        order, scores = pivots(loadings, to_numpy(gram.diagonal()), k, include, exclude)
        roles = column_roles(gram, order, 0.0, exclude)
        self._keep_roles(roles)
        return Selection(order, scores, roles.coefficients, to_numpy(moments.mean), include=include)


def pivots(
    loadings: np.ndarray, variance: np.ndarray, k: int, include: Sequence[int], exclude: Sequence[int]
) -> tuple[list[int], np.ndarray]:
    """Return k features by pivoting, and the scores of all.

    Parameters
    ----------
    loadings : ndarray of shape (m, q)
        A row for every feature.
    variance : ndarray of shape (m,)
        What decides once no loadings are left over.
    k : int
        Number of features.
    include, exclude : sequence of int
        The first pivots, and features that are never pivots.

    Returns
    -------
    order : list of int
        The features in order of selection.
    scores : ndarray of shape (m,)
        Squared lengths left over.
    """
    rows = np.array(loadings)
    open_ = np.ones(len(rows), dtype=bool)
    open_[list(exclude)] = False
    scores = np.zeros(len(rows))
    order: list[int] = []
    for step in range(k):
        left = (rows**2).sum(axis=1)
        left[left < _NOTHING_LEFT] = 0.0
        if step < len(include):
            j = include[step]
        else:
            value = np.where(open_, left if left[open_].max() > 0 else variance, -1.0)
            j = int(np.argmax(value >= (1 - TIE) * value.max()))
        order.append(j)
        open_[j] = False
        scores[j] = left[j]
        if left[j] > 0:
            direction = rows[j] / left[j] ** 0.5
            for _ in range(2):  # twice, since rows that are almost parallel leave rounding
                rows -= np.outer(rows @ direction, direction)
    left = (rows**2).sum(axis=1)
    waiting = np.setdiff1d(np.arange(len(rows)), order)
    scores[waiting] = np.where(left[waiting] < _NOTHING_LEFT, 0.0, left[waiting])
    return order, scores
