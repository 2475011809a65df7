"""SPEC: features judged by where they lie in the spectrum of the neighbour graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Self

import numpy as np
from scipy import sparse

from .._compat import Constraints, StrOptions
from .._core import Array, dense_rows, sorted_samples
from ._graph_selector import GraphSelector
from ._laplacian_score import CONSTANT, GraphMoments
from ._spectrum import default_clusters, lowest_spectrum

_NOTHING = 1e-24
"""A sum of squared cosines below this is the square of rounding."""


class SPEC(GraphSelector):
    """Select the features that follow the smooth eigenvectors of the neighbour graph.

    With g = D^(1/2) f / ||D^(1/2) f||, eigenpairs (l_j, u_j) of the normalised Laplacian in ascending order and
    a_j = g' u_j:

    - phi1 = sum_j a_j^2 l_j, small is good;
    - phi2 = phi1 / (1 - a_1^2), small is good; this is the Laplacian score;
    - phi3 = sum_{j=2..c} a_j^2 (2 - l_j), large is good.

    ``scores_`` is larger for better features throughout: -phi1 or -phi2 (from -2 to 0) or phi3 (from 0 to 2). A
    constant feature scores -3. phi1 and phi2 are computed as quadratic forms, without an eigenvector.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to select: an integer, a fraction rounded up, or None for half.
    criterion : {"phi1", "phi2", "phi3"}, default="phi2"
        phi1 and phi3 count a feature's mean: one that is large beside the feature's spread makes phi1 good and phi3
        bad.
    n_neighbors : int, default=5
        Nearest samples each sample is joined to; at most n - 1 are used.
    weights : {"heat", "binary", "cosine"}, default="heat"
        Edge weight: exp(-d^2 / bandwidth), 1, or the cosine of the samples.
    bandwidth : float or None, default=None
        Of the heat kernel; None for the median squared distance between neighbours.
    n_clusters : int or None, default=None
        c of phi3, at least 2 (phi1 and phi2 do not use it); None for the largest gap between the 2nd to 11th smallest
        eigenvalues.
    include, exclude : sequence of str or int, optional
        Features, by name or index, that must or must not be selected.
    verbose : bool, default=False
        Print the steps done and the time left to standard error.

    See Also
    --------
    LaplacianScore : The same as phi2.

    Notes
    -----
    In a graph of p > 1 connected components 0 is an eigenvalue p times. All of its eigenvectors enter phi3 together,
    also when p exceeds c, since no choice among them would be better than another.

    References
    ----------
    Zhao & Liu (2007), Spectral feature selection for supervised and unsupervised learning, ICML.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect.graph import SPEC
    >>> X = load_iris(as_frame=True).data
    >>> SPEC(2, criterion="phi3", n_clusters=3).fit(X).get_feature_names_out()
    array(['petal length (cm)', 'petal width (cm)'], dtype=object)
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **GraphSelector._parameter_constraints,
        "criterion": [StrOptions({"phi1", "phi2", "phi3"})],
    }

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        criterion: str = "phi2",
        n_neighbors: int = 5,
        weights: str = "heat",
        bandwidth: float | None = None,
        n_clusters: int | None = None,
        include: Iterable[str | int] | None = None,
        exclude: Iterable[str | int] | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(n_features_to_select, include=include, exclude=exclude)
        self.criterion = criterion
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.bandwidth = bandwidth
        self.n_clusters = n_clusters
        self.verbose = verbose

    @classmethod
    def published(cls, n_features_to_select: int | float | None = None) -> Self:
        """Return the selector with the settings of the published experiments: phi2 and exp(-d^2).

        Those ranked from the wrong end, worst features first, and joined all pairs of samples; here the best come first
        and samples are joined to their 5 nearest, beyond which this kernel is next to nothing anyway.

        Parameters
        ----------
        n_features_to_select : int, float or None
            Number of features to select.

        Returns
        -------
        SPEC
        """
        return cls(n_features_to_select, criterion="phi2", weights="heat", bandwidth=1.0)

    def _score_features(self, X: Array, k: int) -> np.ndarray:
        if self.criterion == "phi3" and self.n_clusters == 1:
            raise ValueError("n_clusters must be at least 2 for criterion='phi3', got 1; raise it or pass None.")
        X, _ = sorted_samples(X)
        values, W = dense_rows(X)[0], self._graph(X)
        if self.criterion == "phi3":
            return _phi3(values, W, int(self.n_clusters or default_clusters(W)))
        moments = GraphMoments(values, W)
        # D^(1/2) 1 is the eigenvector of l = 0, so f' D f = spread + offset and a_1^2 = offset / (spread + offset).
        return moments.scores(moments.spread + (moments.offset if self.criterion == "phi1" else 0.0))


def _phi3(values: np.ndarray, W: sparse.csr_array, n_clusters: int) -> np.ndarray:
    """Return phi3 of every feature, -3 for a constant one."""
    spectrum = lowest_spectrum(W, n_clusters - 1)
    further = max(0, n_clusters - spectrum.n_components)
    # The D-centred feature has no part in the sum of the eigenvectors of 0, the trivial eigenvector.
    basis = sparse.csr_array(sparse.hstack([spectrum.null, sparse.csr_array(spectrum.vectors[:, :further])]))
    values_of = np.concatenate([np.zeros(spectrum.n_components), spectrum.values[:further]])
    moments = GraphMoments(values, W, basis)
    length = moments.spread + moments.offset
    total = (2.0 - values_of) @ moments.projections**2
    phi3 = np.divide(total, length, out=np.zeros(values.shape[1]), where=moments.spread > 0)
    return np.where(moments.constant, CONSTANT, np.where(phi3 > _NOTHING, phi3, 0.0))
