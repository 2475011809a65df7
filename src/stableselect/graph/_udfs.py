"""UDFS: a row-sparse orthonormal projection of least local scatter, by its smallest eigenvectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from numbers import Real
from typing import ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, eigh, solve_triangular
from scipy.sparse.linalg import LinearOperator, eigsh

from .._compat import Constraints, Interval, without
from .._core import Array, sorted_samples
from ._graph_selector import RowSparseSelector, descend, row_lengths, varying_columns, weighted_gram
from ._neighbours import neighbour_indices
from ._spectrum import default_clusters

_SMOOTHING = 1e-3
"""Smoothing of the l2,1 norm relative to the length sqrt(c / m) of a row of W when all are equal."""
_DENSE_COLUMNS = 300
"""Up to this many features a dense eigendecomposition is as quick as an iteration."""
_CHUNK_ELEMENTS = 1 << 22
"""Numbers gathered at a time when the neighbourhoods are formed."""


class UDFS(RowSparseSelector):
    r"""Select the features of a row-sparse projection that varies least among neighbours (discriminative selection).

    The weights W (m x c) minimise tr(W'MW) + gamma t ||W||_{2,1} over W'W = I, where M is the local scatter of the
    samples, M = X' (sum_i S_i H (X_i X_i' + lambda I)^{-1} H S_i') X with X_i the centred samples of the neighbourhood
    of sample i (itself and its neighbours), H the centring matrix and S_i the incidence of the neighbourhood; t = tr(M)
    / m. A feature scores by the length of its row of W: features that hardly vary among neighbours, though they vary
    over the data, come first. The method is deterministic.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to select: an integer, a fraction rounded up, or None for half.
    n_clusters : int or None, default=None
        Columns c of W; at most one less than the features that vary. None takes the largest gap in the spectrum of the
        normalised Laplacian of the neighbour graph, among 2 to 10.
    n_neighbors : int, default=5
        Neighbours of each sample; at most n - 1 are used.
    gamma : float, default=0.001
        Weight of the row sparsity, relative to the mean diagonal entry of M. A large weight leaves c features, and the
        others are then ordered by little.
    shrinkage : float, default=1.0
        lambda, relative to the mean non-zero eigenvalue of the neighbourhoods' scatter. It hardly matters.
    max_iter : int, default=100
        Most steps.
    tol : float, default=1e-4
        Stop when a step lowers the objective by less than this fraction of it.
    include, exclude : sequence of str or int, optional
        Features, by name or index, that must or must not be selected.
    verbose : bool, default=False
        Print the steps done and the time left to standard error.

    Attributes
    ----------
    coef_ : ndarray of shape (m, c)
        W; zero for constant features.
    objective_path_ : ndarray of shape (n_iter,)
        The objective after every step, in units of t; it never rises.
    n_iter_ : int
        Steps made.
    n_clusters_ : int
        The c used.

    See Also
    --------
    NDFS : Row-sparse regression onto cluster indicators found at the same time.

    Notes
    -----
    Every step takes the c smallest eigenvectors of M + gamma t D, D_jj = 1 / (2 ||w_j||), with ||w_j|| smoothed to
    sqrt(||w_j||^2 + 1e-6 c / m). The matrix is low rank plus diagonal: on data of fewer samples than features its
    inverse is applied through an n x n system, and no array of size m x m is formed. The first D comes from the
    diagonal of (M + gamma t I)^{-1} rather than from D = I, with which the eigenvectors of such data are arbitrary.
    The difference of two equal features has no scatter at all, so features with a copy come early, and on data of more
    features than samples so do those that a few others span; the choice is a poor one to reconstruct the data from.
    Adding a constant to a feature or multiplying the data by a number does not change the choice. Constant features
    come last; if no feature varies among neighbours, all others tie. The order of the samples does not matter, but
    where more features than c have exact copies, more eigenvectors tie than are taken, and which of these features come
    first can depend on rounding.

    A widespread implementation gives all S_i the same samples and uses gamma for lambda; neither is copied here.

    References
    ----------
    Yang, Shen, Ma, Huang & Zhou (2011), L2,1-norm regularized discriminative feature selection for unsupervised
    learning, IJCAI.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect.graph import UDFS
    >>> X = load_iris(as_frame=True).data
    >>> UDFS(2).fit(X).transform(X).shape
    (150, 2)
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **without(RowSparseSelector._parameter_constraints, "weights", "bandwidth"),
        "shrinkage": [Interval(Real, 1e-10, 1e100, closed="both")],
    }

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        n_clusters: int | None = None,
        n_neighbors: int = 5,
        gamma: float = 0.001,
        shrinkage: float = 1.0,
        max_iter: int = 100,
        tol: float = 1e-4,
        include: Iterable[str | int] | None = None,
        exclude: Iterable[str | int] | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(n_features_to_select, include=include, exclude=exclude)
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.shrinkage = shrinkage
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose

    @classmethod
    def published(cls, n_features_to_select: int | float | None = None, *, gamma: float = 0.1) -> Self:
        """Return the selector with the settings of the published experiments.

        Five neighbours, five clusters and a hundred steps. The published gamma was chosen among 0.001, 0.1, 1, 10 and
        1000 by the error of a regression, for M as it is (not divided by its mean diagonal entry), and served as
        lambda too.

        Parameters
        ----------
        n_features_to_select : int, float or None
            Number of features to select.
        gamma : float
            Weight of the row sparsity.

        Returns
        -------
        UDFS
        """
        return cls(n_features_to_select, n_clusters=5, n_neighbors=5, gamma=gamma, max_iter=100)

    def _score_features(self, X: Array, k: int) -> np.ndarray:
        values, columns, _ = varying_columns(sorted_samples(X)[0])
        m = X.shape[1]
        if len(columns) == 0:
            return self._row_scores(np.empty((0, 1)), columns, m, [])
        values = values - values.mean(axis=0)
        neighbours = neighbour_indices(values, self.n_neighbors)
        c = max(1, min(self.n_clusters or default_clusters(_joined(neighbours)), len(columns) - 1))
        scatter = LocalScatter(values, local_weights(values, neighbours, self.shrinkage))
        W, path = minimise(scatter, c, self.gamma, self.max_iter, self.tol)
        return self._row_scores(W, columns, m, path)


def minimise(scatter: LocalScatter, c: int, gamma: float, max_iter: int, tol: float) -> tuple[np.ndarray, list[float]]:
    """Return W (m x c) that minimises tr(W'MW) + gamma ||W||_{2,1} (smoothed), and the objective after every step."""
    m = scatter.n_features
    if scatter.is_zero:
        return np.full((m, c), np.sqrt(1.0 / m)), []
    smoothing = _SMOOTHING * np.sqrt(c / m)
    share = scatter.inverse_diagonal(gamma)

    def update(state: tuple[np.ndarray, np.ndarray]) -> tuple[tuple[np.ndarray, np.ndarray], float]:
        W = scatter.smallest(gamma / (2 * state[1]), c, state[0].sum(axis=1))
        lengths = row_lengths(W, smoothing)
        return (W, lengths), scatter.energy(W) + gamma * float(lengths.sum())

    start = np.sqrt(c * share / share.sum() + smoothing**2)
    (W, _), path = descend(update, (np.full((m, c), np.sqrt(1.0 / m)), start), max_iter, tol)
    return W, path


def _joined(neighbours: np.ndarray) -> sparse.csr_array:
    n, k = neighbours.shape
    directed = sparse.csr_array((np.ones(n * k), (np.repeat(np.arange(n), k), neighbours.ravel())), shape=(n, n))
    return sparse.csr_array(directed.maximum(directed.T))


def local_weights(values: np.ndarray, neighbours: np.ndarray, shrinkage: float) -> sparse.csr_array:
    """Return L = sum_i S_i H (X_i X_i' + lambda I)^{-1} H S_i' (n x n), of (k + 1)^2 entries per sample at most."""
    n, m = values.shape
    members = np.hstack([np.arange(n)[:, None], neighbours])
    size = members.shape[1]
    scatter = np.empty((n, size, size))
    step = max(1, _CHUNK_ELEMENTS // (size * m))
    for start in range(0, n, step):
        part = values[members[start : start + step]]
        part -= part[:, :1]  # first, so that equal samples leave exact zeros
        part -= part.mean(axis=1, keepdims=True)
        scatter[start : start + step] = part @ part.transpose(0, 2, 1)
    mean = float(np.trace(scatter, axis1=1, axis2=2).mean()) / (size - 1)
    if mean == 0:
        return sparse.csr_array((n, n))
    inverse = np.linalg.inv(scatter + shrinkage * mean * np.eye(size))
    inverse -= inverse.mean(axis=1, keepdims=True)  # H from both sides
    inverse -= inverse.mean(axis=2, keepdims=True)
    rows, columns = np.repeat(members, size, axis=1), np.tile(members, size)
    return sparse.csr_array((inverse.ravel(), (rows.ravel(), columns.ravel())), shape=(n, n))


class LocalScatter:
    """M = X'LX over its mean diagonal entry: m x m where m <= n or m is small, else a factor U (m x r), M = UU'.

    Parameters
    ----------
    values : ndarray of shape (n, m)
        X, centred.
    L : csr_array of shape (n, n)
        Positive semi-definite.
    """

    def __init__(self, values: np.ndarray, L: sparse.csr_array) -> None:
        n, m = values.shape
        self.n_features = m
        self.factor: np.ndarray | None = None
        if m <= max(n, _DENSE_COLUMNS):
            self.matrix = values.T @ (L @ values)
            trace = float(np.trace(self.matrix))
        else:
            eigenvalues, vectors = eigh(L.toarray())
            kept = eigenvalues > 1e-13 * eigenvalues[-1]
            self.factor = values.T @ (vectors[:, kept] * np.sqrt(eigenvalues[kept]))
            trace = float(np.einsum("jr,jr->", self.factor, self.factor))
        self.is_zero = trace <= 0
        if self.is_zero:
            return
        if self.factor is None:
            self.matrix = (self.matrix + self.matrix.T) * (0.5 * m / trace)
        else:
            self.factor *= np.sqrt(m / trace)

    def energy(self, W: np.ndarray) -> float:
        """Return tr(W'MW)."""
        if self.factor is None:
            return float(np.einsum("jk,jk->", W, self.matrix @ W))
        projected = self.factor.T @ W
        return float(np.einsum("rk,rk->", projected, projected))

    def inverse_diagonal(self, shift: float) -> np.ndarray:
        """Return the diagonal of (M + shift I)^{-1}."""
        if self.factor is None:
            eigenvalues, vectors = eigh(self.matrix)
            return (vectors**2) @ (1.0 / (np.maximum(eigenvalues, 0.0) + shift))
        # (UU' + sI)^{-1} = (I - U (U'U + sI)^{-1} U') / s
        inner = weighted_gram(self.factor, np.ones(self.n_features))
        inner[np.diag_indices_from(inner)] += shift
        half = solve_triangular(np.linalg.cholesky(inner), self.factor.T, lower=True)
        return np.maximum(1.0 - np.einsum("rj,rj->j", half, half), 1e-12) / shift

    def smallest(self, weights: np.ndarray, c: int, start: np.ndarray) -> np.ndarray:
        """Return the c smallest eigenvectors (m x c) of M + diag(weights), the weights all positive."""
        m = self.n_features
        if m <= _DENSE_COLUMNS:
            matrix = self.matrix.copy()
            matrix[np.diag_indices(m)] += weights
            return eigh(matrix, subset_by_index=[0, c - 1])[1]
        # No eigenvalue is below the least weight: a shift just under it sets the wanted ones of the inverse apart.
        weights = weights - 0.99 * weights.min()
        operator = LinearOperator((m, m), matvec=self._inverse(weights), dtype=np.float64)
        # A start as symmetric as the data would never reach the difference of two equal features.
        noise = np.random.RandomState(0).standard_normal(m)
        start = start + 0.01 * np.linalg.norm(start) / np.sqrt(m) * noise
        return eigsh(operator, k=c, which="LA", v0=start, ncv=min(m, 3 * c + 4), tol=1e-9, maxiter=100 * m)[1]

    def _inverse(self, weights: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return the function that multiplies by (M + diag(weights))^{-1}."""
        U = self.factor
        if U is None:
            matrix = self.matrix.copy()
            matrix[np.diag_indices_from(matrix)] += weights
            whole = cho_factor(matrix, overwrite_a=True)
            return lambda v: cho_solve(whole, v.ravel(), check_finite=False)
        # Woodbury, with w the weights: w^{-1} - w^{-1} U (I + U'w^{-1}U)^{-1} U'w^{-1}.
        reach = 1.0 / weights
        inner = weighted_gram(U, reach)
        inner[np.diag_indices_from(inner)] += 1.0
        small = cho_factor(inner, overwrite_a=True)

        def multiply(v: np.ndarray) -> np.ndarray:
            v = reach * v.ravel()
            return v - reach * (U @ cho_solve(small, U.T @ v, check_finite=False))

        return multiply
