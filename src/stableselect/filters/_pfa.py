"""Principal feature analysis: features that load alike on the principal components have one representative."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Real
from typing import ClassVar, Self

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from .._compat import Constraints, Interval
from .._core import Array, Moments, column_roles, merged, normalised_moments, one_thread, to_numpy
from ..base import Selection, StreamingSelector, resolve_k

_STARTS = 10
"""k-means starts; the one of least inertia counts."""
_DIGITS = 9
"""Loadings and distances that agree to this many decimals are equal: rounding must not decide between features."""
_CONSTANT = -2.0
"""Score of a constant feature. Rows of loadings have norm at most 1, so no distance between them is above 2."""


class PFA(StreamingSelector):
    """Select the feature nearest each of k centres of the features' loadings on the principal components.

    The covariance C = V diag(e) V' of the features is cut at the q leading components that hold
    ``retained_variance`` of its trace. Row j of V_q says how feature j takes part in them. k-means groups these rows
    (their absolute values, so that a feature and its mirror image count as alike) into k clusters, and each cluster is
    represented by the feature nearest its centre.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to select: an integer, a fraction rounded up, or None for half.
    retained_variance : float, default=0.9
        Fraction of the variance, above 0 and up to 1, that the components must hold.
    standardise : bool, default=False
        Give every feature unit variance first, that is, use the correlations.
    absolute : bool, default=True
        Cluster the absolute values of the loadings, as in the paper, rather than the loadings.
    random_state : int, RandomState instance or None, default=0
        Seed of the k-means starts. The default gives the same features on every call.

    Attributes
    ----------
    n_components_ : int
        q, the number of components retained; 0 when every feature is constant.
    scores_ : ndarray of shape (m,)
        For a selected feature, the fraction of the data's variance that the features of its cluster have in the
        retained components; for a discarded one, minus the distance of its loadings to the centre of its cluster; -2
        for a constant.

    See Also
    --------
    ColumnSubset : Minimises the reconstruction error itself.

    Notes
    -----
    The components come from the m x m covariance, or from the thin singular value decomposition when there are few
    samples. Constant features take no part and come last. When the loadings have fewer than k distinct rows, clusters
    are missing; of the other features, those with most retained variance make up the number, so k is always exact.

    Features are brought into an order that depends on their loadings alone before k-means is seeded, and of several
    features equally near a centre (always so in a cluster of two) the one with more retained variance is selected:
    neither the order of the samples nor that of the features changes the choice. Equal features resolve to the lowest
    index. Where retained components have equal variances, or almost none, rounding decides their directions, so that
    the choice may change.

    References
    ----------
    Lu, Cohen, Zhou & Tian (2007), Feature selection using principal feature analysis, ACM Multimedia.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect import PFA
    >>> X = load_iris(as_frame=True).data
    >>> PFA(2).fit(X).get_feature_names_out()
    array(['petal length (cm)', 'petal width (cm)'], dtype=object)
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **StreamingSelector._parameter_constraints,
        "retained_variance": [Interval(Real, 0, 1, closed="right")],
        "standardise": ["boolean"],
        "absolute": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        retained_variance: float = 0.9,
        standardise: bool = False,
        absolute: bool = True,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.retained_variance = retained_variance
        self.standardise = standardise
        self.absolute = absolute
        self.random_state = random_state

    @classmethod
    def published(
        cls,
        n_features_to_select: int | float | None = None,
        *,
        random_state: int | np.random.RandomState | None = 0,
    ) -> Self:
        """Return the selector with the settings of the published experiments.

        They standardise the features, retain half of the variance and cluster the signed loadings. Their k-means is
        unseeded and an empty cluster leaves them with fewer than k features; both faults are left out.

        Parameters
        ----------
        n_features_to_select : int, float or None
            Number of features to select.
        random_state : int, RandomState instance or None
            Seed.

        Returns
        -------
        PFA
        """
        return cls(
            n_features_to_select, retained_variance=0.5, standardise=True, absolute=False, random_state=random_state
        )

    def _select_from_folds(
        self, folds: Sequence[Moments], X: Array = None, sample_weight: np.ndarray | None = None
    ) -> Selection:
        moments = merged(folds)
        gram, _ = normalised_moments(moments)
        order, scores = self._representatives(moments, resolve_k(self.n_features_to_select, gram.n_features))
        roles = column_roles(gram, order, 0.0)
        self._keep_roles(roles)
        return Selection(order, scores, roles.coefficients, to_numpy(moments.mean))

    def _representatives(self, moments: Moments, k: int) -> tuple[list[int], np.ndarray]:
        """Return the selected features, best first, and the scores of all."""
        m = self.n_features_in_
        varying = np.flatnonzero(to_numpy(moments.maximum > moments.minimum))
        scores = np.full(m, _CONSTANT)
        self.n_components_ = 0
        if varying.size == 0:
            return list(range(k)), scores
        moments = moments.scale("standard" if self.standardise else None)
        values, vectors = (to_numpy(part) for part in moments.operator().normalised()[0].eigh())
        shares = values / values.sum()
        # The tolerance keeps rounding of the sum from asking for one component more.
        q = int(np.searchsorted(np.cumsum(shares), self.retained_variance - 1e-12)) + 1
        self.n_components_ = q = min(q, len(values))
        loadings, held = vectors[varying, :q], vectors[varying, :q] ** 2 @ shares[:q]
        order = _canonical_order(loadings, held)
        loadings, held, order = loadings[order], held[order], varying[order]
        if self.absolute:
            loadings = np.abs(loadings)
        kept, labels, distances = _nearest_to_centres(loadings, min(k, len(order)), self.random_state)
        scores[order] = -distances
        scores[order[kept]] = np.round(np.bincount(labels, held)[labels[kept]], _DIGITS)
        extra = np.setdiff1d(np.arange(len(order)), kept)[: max(0, k - len(kept))]
        scores[order[extra]] = 0.0
        best_first = [kept[i] for i in np.lexsort((kept, -scores[order[kept]]))]
        constant = np.setdiff1d(np.arange(m), varying)[: max(0, k - len(order))]
        return [*order[best_first].tolist(), *order[extra].tolist(), *constant.tolist()], scores


def _canonical_order(loadings: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Order features by retained variance, largest first, then by their loadings, whose signs mean nothing."""
    keys = np.round(np.column_stack([held, np.abs(loadings)]), _DIGITS)
    return np.lexsort(-keys.T[::-1])


def _nearest_to_centres(
    rows: np.ndarray, k: int, random_state: int | np.random.RandomState | None
) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Return the first row nearest each centre, every row's cluster, and its distance to the centre."""
    # Equal features have equal loadings to rounding only; without this k-means would split them.
    rows = np.round(rows, _DIGITS)
    k = min(k, len(np.unique(rows, axis=0)))
    # A cluster that empties is no fault: the missing feature is made up afterwards.
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning), one_thread():
        means = KMeans(k, n_init=_STARTS, random_state=random_state).fit(rows)
    labels = means.labels_
    distances = np.round(np.linalg.norm(rows - means.cluster_centers_[labels], axis=1), _DIGITS)
    nearest = np.lexsort((distances, labels))
    first = np.flatnonzero(np.diff(labels[nearest], prepend=-1))
    return nearest[first].tolist(), labels, distances
