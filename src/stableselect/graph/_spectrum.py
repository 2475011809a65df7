"""Laplacians of a sparse weighted graph, their smallest eigenpairs, and the number of clusters these suggest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh

_DENSE_ROWS = 300
"""Up to this many samples a full eigendecomposition is as quick as an iteration."""


def degrees(W: sparse.csr_array) -> np.ndarray:
    """Return the degrees d_i = sum_j W_ij."""
    return np.asarray(W.sum(axis=1), dtype=np.float64).ravel()


def laplacian(W: sparse.csr_array, normalised: bool = False) -> sparse.csr_array:
    """Return the graph Laplacian D - W, or I - D^(-1/2) W D^(-1/2); samples without an edge are zero in both."""
    d = degrees(W)
    if not normalised:
        return sparse.csr_array(sparse.diags_array(d) - W)
    return sparse.csr_array(sparse.diags_array((d > 0).astype(np.float64)) - _normalised_weights(W))


def _normalised_weights(W: sparse.csr_array) -> sparse.csr_array:
    d = degrees(W)
    # A square root per factor: the product of two tiny degrees would underflow.
    inverse = np.divide(1.0, np.sqrt(d), out=np.zeros_like(d), where=d > 0)
    scale = sparse.diags_array(inverse)
    return sparse.csr_array(scale @ W @ scale)


@dataclass
class Spectrum:
    """The lower end of the spectrum of a normalised Laplacian.

    Attributes
    ----------
    labels : ndarray of int, shape (n,)
        Connected component of every sample, numbered from the one of largest volume (sum of degrees) down.
    n_components : int
        Connected components, that is, the multiplicity of the eigenvalue 0.
    null : csr_array of shape (n, n_components)
        Eigenvectors of the eigenvalue 0, one for every component.
    values : ndarray of shape (count,)
        Smallest eigenvalues above the zeros, in ascending order.
    vectors : ndarray of shape (n, count)
        Their eigenvectors, of unit length.
    """

    labels: np.ndarray
    n_components: int
    null: sparse.csr_array
    values: np.ndarray
    vectors: np.ndarray


def lowest_spectrum(W: sparse.csr_array, count: int) -> Spectrum:
    """Return the connected components and the ``count`` (or as many as there are) smallest non-zero eigenpairs.

    The eigenvalue 0 has one eigenvector D^(1/2) 1_component per component, known without computing. It is projected
    out, so that the iteration neither searches for it nor can miss its multiplicity.
    """
    n = W.shape[0]
    n_components, labels = connected_components(W, directed=False)
    d = degrees(W)
    volume = np.bincount(labels, d, n_components)
    size = np.bincount(labels, minlength=n_components)
    by_volume = np.lexsort((-size, -volume))
    labels = np.argsort(by_volume)[labels]
    root = np.sqrt(np.where(volume[by_volume][labels] > 0, d, 1.0))
    null = sparse.csr_array((root, (np.arange(n), labels)), shape=(n, n_components))
    norms = np.sqrt(np.asarray(null.multiply(null).sum(axis=0)).ravel())
    null = sparse.csr_array(null @ sparse.diags_array(1.0 / norms))
    count = max(0, min(count, n - n_components))
    if count == 0:
        return Spectrum(labels, n_components, null, np.empty(0), np.empty((n, 0)))
    S = _normalised_weights(W)
    if n <= max(_DENSE_ROWS, 3 * count):
        Q = null.toarray()
        # All of them: LAPACK's search for a part of the spectrum fails where many eigenvalues are equal.
        similarity, vectors = eigh(S.toarray() - 3.0 * (Q @ Q.T), driver="evd")
        similarity, vectors = similarity[n - count :], vectors[:, n - count :]
    else:
        across = null.T.tocsr()
        # S lies in [-1, 1]; taking 3 from its eigenvalue 1 puts the known vectors at the far end.
        operator = LinearOperator((n, n), matvec=lambda v: S @ v - 3.0 * (null @ (across @ v)), dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(n)
        start -= null @ (across @ start)
        width = min(n - 1, max(4 * count, 40))
        similarity, vectors = eigsh(operator, k=count, which="LA", v0=start, ncv=width, maxiter=100 * n, tol=1e-10)
    order = np.argsort(-similarity, kind="stable")
    return Spectrum(labels, n_components, null, np.maximum(1.0 - similarity[order], 0.0), vectors[:, order])


def default_clusters(W: sparse.csr_array, limit: int = 10) -> int:
    """Return the number of clusters at the largest gap in the spectrum of the normalised Laplacian.

    With eigenvalues l_1 <= l_2 <= ... it is the c in 2..limit of largest l_(c+1) - l_c, the smaller c on a tie. A
    graph of at least ``limit`` components gives ``limit``; fewer than three samples give their number, and so no graph
    gives more clusters than samples.
    """
    n = W.shape[0]
    limit = min(limit, n - 1)
    if limit < 2:
        return min(n, 2)
    spectrum = lowest_spectrum(W, limit)
    if spectrum.n_components >= limit:
        return limit
    values = np.concatenate([np.zeros(spectrum.n_components), spectrum.values])[: limit + 1]
    gaps = values[2:] - values[1:-1]
    # Rounding keeps equal gaps equal whatever the order of the samples.
    return 2 + int(np.argmax(np.round(gaps, 9)))
