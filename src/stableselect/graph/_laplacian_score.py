"""Laplacian score: features that differ little between neighbouring samples for their variance."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Self

import numpy as np
from scipy import sparse

from .._compat import Constraints, without
from .._core import Array, dense_rows, sorted_samples
from ._graph_selector import GraphSelector
from ._spectrum import degrees, laplacian

_BLOCK_ELEMENTS = 1 << 23
"""Numbers in a block of features (64 MB)."""
CONSTANT = -3.0
"""Score of a constant feature: below the range of every Laplacian ratio, which is [-2, 0]."""


class LaplacianScore(GraphSelector):
    """Select the features that vary least across the edges of the neighbour graph for their variance.

    With W the graph's weights, D its degrees and L = D - W, feature f has f' L f / f' D f after subtracting its
    D-weighted mean (He et al., eq. 1-3). Small is good: ``scores_`` holds the negative, from -2 to 0. A constant
    feature scores -3 and a feature that varies only on samples without an edge -2.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to select: an integer, a fraction rounded up, or None for half.
    n_neighbors : int, default=5
        Nearest samples each sample is joined to; at most n - 1 are used.
    weights : {"heat", "binary", "cosine"}, default="heat"
        Edge weight: exp(-d^2 / bandwidth), 1, or the cosine of the samples.
    bandwidth : float or None, default=None
        Of the heat kernel; None for the median squared distance between neighbours.
    include, exclude : sequence of str or int, optional
        Features, by name or index, that must or must not be selected.
    verbose : bool, default=False
        Print the steps done and the time left to standard error.

    See Also
    --------
    SPEC : The same score as ``criterion="phi2"``, and two relatives.
    stableselect.GatedLaplacian : The graph of the selected features alone.

    Notes
    -----
    The score looks at each feature alone, so two copies of a good feature are both selected. Neighbours depend on the
    scales of the features: put a scaler before it when units differ. A disconnected graph is no obstacle.

    Not for tables with many nuisance features: independent noise blurs the graph of all features, until features that
    have a structure in common score no better than it. :class:`~stableselect.GatedLaplacian` leaves it out.

    References
    ----------
    He, Cai & Niyogi (2005), Laplacian score for feature selection, NIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect.graph import LaplacianScore
    >>> X = load_iris(as_frame=True).data
    >>> LaplacianScore(2).fit(X).get_feature_names_out()
    array(['petal length (cm)', 'petal width (cm)'], dtype=object)
    """

    _parameter_constraints: ClassVar[Constraints] = without(GraphSelector._parameter_constraints, "n_clusters")

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        n_neighbors: int = 5,
        weights: str = "heat",
        bandwidth: float | None = None,
        include: Iterable[str | int] | None = None,
        exclude: Iterable[str | int] | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(n_features_to_select, include=include, exclude=exclude)
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.bandwidth = bandwidth
        self.verbose = verbose

    @classmethod
    def published(cls, n_features_to_select: int | float | None = None) -> Self:
        """Return the selector with the settings of the published experiments: 5 neighbours, exp(-d^2 / 2).

        Left out are the self loops of that graph. Where neighbours are far apart (d^2 above 100, as in most wide
        tables) this bandwidth leaves edges of no weight, and scores that mean nothing.

        Parameters
        ----------
        n_features_to_select : int, float or None
            Number of features to select.

        Returns
        -------
        LaplacianScore
        """
        return cls(n_features_to_select, n_neighbors=5, weights="heat", bandwidth=2.0)

    def _score_features(self, X: Array, k: int) -> np.ndarray:
        X, _ = sorted_samples(X)
        moments = GraphMoments(dense_rows(X)[0], self._graph(X))
        return moments.scores(moments.spread)


class GraphMoments:
    """Quadratic forms of every feature with a graph, each feature scaled by its largest deviation.

    Attributes
    ----------
    constant : ndarray of bool, shape (m,)
        The feature holds one value.
    roughness, spread, offset : ndarray of shape (m,)
        f' L f and f' D f of the D-centred feature, and mean^2 1' D 1 of what was subtracted.
    projections : ndarray of shape (q, m)
        basis' D^(1/2) f of the D-centred feature, for the columns of ``basis``.
    """

    def __init__(self, values: np.ndarray, W: sparse.csr_array, basis: Array = None) -> None:
        n, m = values.shape
        d, L = degrees(W), laplacian(W)
        volume = d.sum()
        share = d / volume if volume > 0 else np.full(n, 1.0 / n)
        self.constant = np.ptp(values, axis=0) == 0
        self.roughness, self.spread, self.offset = np.empty(m), np.empty(m), np.empty(m)
        self.projections = np.empty((0 if basis is None else basis.shape[1], m))
        step = max(1, _BLOCK_ELEMENTS // n)
        for start in range(0, m, step):
            part = slice(start, start + step)
            F = np.ascontiguousarray(values[:, part])
            # Twice, since the mean of values far from zero is only as good as their size allows.
            mean = share @ F
            F = F - mean
            rest = share @ F
            F -= rest
            largest = np.abs(F).max(axis=0)
            scale = np.where(self.constant[part] | (largest == 0), 1.0, largest)
            F /= scale
            self.roughness[part] = np.einsum("ij,ij->j", F, L @ F)
            self.spread[part] = d @ F**2
            self.offset[part] = ((mean + rest) / scale) ** 2 * volume
            if basis is not None:
                self.projections[:, part] = basis.T @ (np.sqrt(d)[:, None] * F)

    def scores(self, length: np.ndarray) -> np.ndarray:
        """Return minus the roughness relative to ``length``: -2 for a feature without spread, -3 for a constant one."""
        ratio = np.divide(self.roughness, length, out=np.full(len(length), 2.0), where=self.spread > 0)
        return np.where(self.constant, CONSTANT, -np.clip(ratio, 0.0, 2.0))
