"""NDFS: row-sparse regression onto non-negative cluster indicators that follow the neighbour graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, eigh
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from .._compat import Constraints, without
from .._core import Array, sorted_features, sorted_samples
from ._graph_selector import POSITIVE, RowSparseSelector, descend, row_lengths, varying_columns, weighted_gram
from ._spectrum import default_clusters, laplacian

_SMOOTHING = 1e-4
"""Smoothing of the l2,1 norm, for features of unit length."""
_INDICATOR_STEPS = 10
"""Updates of F, which are cheap, for every update of W."""
_FLOOR = 1e-30
"""Least entry of F: a zero would stay zero in a multiplicative update."""
_State = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""F, W, the fit of the regression, and the lengths of the rows of W."""


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
        c = min(self.n_clusters or default_clusters(graph), distinct)
        centred = values - values.mean(axis=0)
        ordered = sorted_features(centred)
        unit = float(np.sqrt(np.einsum("ij,ij->", ordered, ordered) / len(columns)))
        F = start_indicators(ordered / unit, c, self.random_state)
        table, unit = (centred / unit, 1.0) if self.rescale else (np.ldexp(values, exponent), np.ldexp(unit, exponent))
        terms = Terms(laplacian(graph, normalised=True), self.alpha, self.beta, self.gamma, _SMOOTHING / unit)
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


class Terms(NamedTuple):
    """The objective's constants: the Laplacian, the three weights, and the smoothing of the l2,1 norm."""

    L: sparse.csr_array
    alpha: float
    beta: float
    gamma: float
    smoothing: float


def minimise(
    regression: Regression, F: np.ndarray, terms: Terms, max_iter: int, tol: float
) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """Return W, F and the objective after every update, from the given F."""
    L, _, beta, _, smoothing = terms
    diagonal = L.diagonal()[:, None]
    adjacency = sparse.csr_array(sparse.diags_array(L.diagonal()) - L)

    def update(state: _State) -> tuple[_State, float]:
        F, _, fit, lengths = state
        for _ in range(_INDICATOR_STEPS):
            F = update_indicators(F, fit, diagonal, adjacency, terms)
        W, fit = regression.solve(F, lengths, beta)
        lengths = row_lengths(W, smoothing)
        return (F, W, fit, lengths), objective(F, fit, lengths, terms)

    W, fit = regression.solve(F, np.full(regression.n_features, smoothing / _SMOOTHING), beta)
    (F, W, _, _), path = descend(update, (F, W, fit, row_lengths(W, smoothing)), max_iter, tol)
    return W, F, path


def update_indicators(
    F: np.ndarray, fit: np.ndarray, diagonal: np.ndarray, adjacency: sparse.csr_array, terms: Terms
) -> np.ndarray:
    """Return F times the factors r that minimise, entry by entry, a function above the objective at fixed W.

    With L = diagonal - adjacency the objective is below sum F (p r^2 + gamma q r^4 / 4 - (2 s + gamma F) log r) up to a
    constant, where p = diagonal F + alpha (F + max(-fit, 0)), q = FF'F and s = adjacency F + alpha max(fit, 0); it
    touches at r = 1, and its minimum solves gamma q r^4 + 2 p r^2 = 2 s + gamma F.
    """
    alpha, gamma = terms.alpha, terms.gamma
    p = (diagonal + alpha) * F + alpha * np.maximum(-fit, 0.0)
    q = F @ (F.T @ F)
    right = 2.0 * (adjacency @ F + alpha * np.maximum(fit, 0.0)) + gamma * F
    squared = right / (p + np.sqrt(p * p + gamma * q * right))
    return np.maximum(F * np.sqrt(squared), _FLOOR)


def objective(F: np.ndarray, fit: np.ndarray, lengths: np.ndarray, terms: Terms) -> float:
    """Return the penalised objective, with the smoothed l2,1 norm."""
    L, alpha, beta, gamma, _ = terms
    gap = F.T @ F - np.eye(F.shape[1])
    value = np.sum(F * (L @ F)) + alpha * (np.sum((fit - F) ** 2) + beta * np.sum(lengths))
    return float(value + gamma / 4 * np.sum(gap**2))


class Regression:
    """The W that minimises ||XW + 1b' - F||^2 + beta sum_j ||w_j||^2 / (2 length_j), and its fit XW + 1b'.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        The samples, centred if there is an intercept.
    intercept : bool
        Whether b is free or 0.
    """

    def __init__(self, X: np.ndarray, intercept: bool) -> None:
        self.X = X
        self.intercept = intercept
        self.n_features = X.shape[1]
        self.gram = X.T @ X if X.shape[1] <= X.shape[0] else None

    def solve(self, F: np.ndarray, lengths: np.ndarray, beta: float) -> tuple[np.ndarray, np.ndarray]:
        """Return W and the fit."""
        # With T^2 = D^{-1}, W = T (T X'X T + beta I)^{-1} T X'F = T^2 X' (X T^2 X' + beta I)^{-1} F.
        mean = F.mean(axis=0) if self.intercept else 0.0
        if self.gram is not None:
            T = np.sqrt(2.0 * lengths)[:, None]
            inner = self.gram * T * T.T
            inner[np.diag_indices_from(inner)] += beta
            W = T * cho_solve(cho_factor(inner, overwrite_a=True), T * (self.X.T @ F))
        else:
            inner = weighted_gram(self.X.T, 2.0 * lengths)
            inner[np.diag_indices_from(inner)] += beta
            W = (2.0 * lengths)[:, None] * (self.X.T @ cho_solve(cho_factor(inner, overwrite_a=True), F - mean))
        return W, self.X @ W + mean
