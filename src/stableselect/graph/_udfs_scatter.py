"""The local scatter of the samples and its smallest eigenvectors under a diagonal penalty."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, eigh, solve_triangular
from scipy.sparse.linalg import LinearOperator, eigsh

from ._l21 import weighted_gram

_DENSE_COLUMNS = 300
"""Up to this many features a dense eigendecomposition is as quick as an iteration."""
_CHUNK_ELEMENTS = 1 << 22
"""Numbers gathered at a time when the neighbourhoods are formed."""


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
