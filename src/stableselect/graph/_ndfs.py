"""NDFS: row-sparse regression onto non-negative cluster indicators that follow the neighbour graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Self

import numpy as np
from scipy.linalg import eigh
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from .._compat import Constraints, without
from .._core import Array, sorted_features, sorted_samples
from ._graph_selector import POSITIVE
from ._l21 import RowSparseSelector, varying_columns
from ._ndfs_solver import SMOOTHING, Regression, Terms, minimise
from ._spectrum import default_clusters, laplacian


class NDFS(RowSparseSelector):
    r"""Select the features that best predict non-negative cluster indicators which follow the neighbour graph.

    The weights W (m x c) and the cluster indicators F (n x c, F >= 0) minimise ::

        tr(F'LF) + alpha (||XW + 1b' - F||^2 + beta ||W||_{2,1}) + gamma/4 ||F'F - I||^2

    with L the normalised Laplacian of the samples' neighbour graph. A feature scores by the length of its row of W.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to select: an integer, a fraction rounded up, or None for half.
    n_clusters : int or None, default=None
        Columns c of F; at most the number of distinct samples. None takes the largest gap in the spectrum of L, among 2
        to 10.
    n_neighbors : int, default=5
        Neighbours of each sample; at most n - 1 are used.
    weights : {"heat", "binary", "cosine"}, default="heat"
        Weights of the graph's edges.
    alpha : float, default=1.0
        Weight of the regression.
    beta : float, default=0.1
        Weight of the row sparsity; with ``rescale`` no feature is used from 2 on.
    gamma : float, default=100.0
        Weight of the orthogonality of F. With a very large one F stays at its start.
    rescale : bool, default=True
        Centre the features (so that b is a free intercept) and divide the data by the root mean square of their
        lengths, so that neither shift nor unit matters. Otherwise X is used as it is, with b = 0.
    max_iter : int, default=100
        Most updates of W; every one goes with ten of F.
    tol : float, default=1e-4
        Stop when an update lowers the objective by less than this fraction of it.
    random_state : int, RandomState instance or None, default=None
        Seed of the k-means clustering that F starts from.
    include, exclude : sequence of str or int, optional
        Features, by name or index, that must or must not be selected.
    verbose : bool, default=False
        Print the steps done and the time left to standard error.

    Attributes
    ----------
    coef_ : ndarray of shape (m, c)
        W, for the rescaled data; zero for constant features.
    indicators_ : ndarray of shape (n, c)
        F.
    objective_path_ : ndarray of shape (n_iter,)
        The objective after every update; it never rises.
    n_iter_ : int
        Updates of W made.
    n_clusters_ : int
        The c used.

    See Also
    --------
    UDFS : A row-sparse projection of least local scatter.

    Notes
    -----
    W is the minimiser (X'X + beta D)^{-1} X'F, D_jj = 1 / (2 ||w_j||), of a quadratic above the objective, from an n x
    n system where the data has fewer samples than features. ||w_j|| is smoothed to sqrt(||w_j||^2 + 1e-8) for features
    of unit length. F is updated by factors that minimise a separable function above the objective: what is negative in
    its gradient goes to one side, what is positive to the other, and F is never renormalised, so that no update raises
    the objective. k-means sees the samples sorted by their distance from the mean, ties by their values, so that the
    order of the samples does not matter. Constant features come last.

    A widespread implementation subtracts the graph from its degrees in every cell instead of on the diagonal, and
    compares a change in an objective of order 1e9 with 1e-3; neither is copied here.

    References
    ----------
    Li, Yang, Liu, Zhou & Lu (2012), Unsupervised feature selection using nonnegative spectral analysis, AAAI.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect.graph import NDFS
    >>> X = load_iris(as_frame=True).data
    >>> NDFS(2, random_state=0).fit(X).transform(X).shape
    (150, 2)
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **without(RowSparseSelector._parameter_constraints, "bandwidth"),
        "alpha": POSITIVE,
        "beta": POSITIVE,
        "rescale": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        n_clusters: int | None = None,
        n_neighbors: int = 5,
        weights: str = "heat",
        alpha: float = 1.0,
        beta: float = 0.1,
        gamma: float = 100.0,
        rescale: bool = True,
        max_iter: int = 100,
        tol: float = 1e-4,
        random_state: int | np.random.RandomState | None = None,
        include: Iterable[str | int] | None = None,
        exclude: Iterable[str | int] | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(n_features_to_select, include=include, exclude=exclude)
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.rescale = rescale
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def published(
        cls,
        n_features_to_select: int | float | None = None,
        *,
        n_clusters: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> Self:
        """Return the selector with the settings of the published experiments.

        Five neighbours with binary weights, alpha = beta = 1, gamma = 1e9, the data as it is (there scaled to [0, 1]),
        up to 1000 updates. The published number of clusters was that of the true classes.

        Parameters
        ----------
        n_features_to_select : int, float or None
            Number of features to select.
        n_clusters : int or None
            Clusters; None to choose from the graph.
        random_state : int, RandomState instance or None
            Seed.

        Returns
        -------
        NDFS
        """
        return cls(
            n_features_to_select,
            n_clusters=n_clusters,
            weights="binary",
            beta=1.0,
            gamma=1e9,
            rescale=False,
            max_iter=1000,
            random_state=random_state,
        )

    def _score_features(self, X: Array, k: int) -> np.ndarray:
        X, order = sorted_samples(X)
        values, columns, exponent = varying_columns(X)
        n, m = X.shape
        graph = self._graph(values if len(columns) else X)
        if len(columns) == 0:
            self.indicators_ = np.full((n, 1), n**-0.5)
            return self._row_scores(np.empty((0, 1)), columns, m, [])
        distinct = len({row.tobytes() for row in values})
        c = default_clusters(graph) if self.n_clusters is None else self.n_clusters
        c = min(c, distinct)
        centred = values - values.mean(axis=0)
        ordered = sorted_features(centred)
        unit = float(np.sqrt(np.einsum("ij,ij->", ordered, ordered) / len(columns)))
        F = start_indicators(ordered / unit, c, self.random_state)
        table, unit = (centred / unit, 1.0) if self.rescale else (np.ldexp(values, exponent), np.ldexp(unit, exponent))
        terms = Terms(laplacian(graph, normalised=True), self.alpha, self.beta, self.gamma, SMOOTHING / unit)
        W, F, path = minimise(Regression(table, self.rescale), F, terms, self.max_iter, self.tol)
        self.indicators_ = np.empty_like(F)
        self.indicators_[order] = F
        return self._row_scores(W, columns, m, path)


def start_indicators(centred: np.ndarray, c: int, random_state: int | np.random.RandomState | None) -> np.ndarray:
    """Return k-means indicators with columns of unit length, lifted off zero."""
    n, m = centred.shape
    if n < m:  # the same distances in n coordinates
        eigenvalues, vectors = eigh(centred @ centred.T)
        centred = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
    order = np.argsort(np.einsum("ij,ij->i", centred, centred), kind="stable")
    seed = check_random_state(random_state)
    labels = np.empty(n, dtype=np.int64)
    labels[order] = KMeans(c, n_init=10, random_state=seed).fit(centred[order]).labels_
    Y = (labels[:, None] == np.arange(c)).astype(np.float64)
    return Y / np.sqrt(np.maximum(Y.sum(axis=0), 1.0)) + 0.2 / np.sqrt(n)
