"""The error, on other samples, of the ridge map from every prefix of a list of features, all at once.

With C the moments of the samples the map is fitted on, S the first k features of the list and L L' = C_SS + alpha I,
the map from the selected to all features is V = W' L^-1 with W = L^-1 C_S'. With T the second moments of the other
samples around the first ones' mean and Z = L^-1 T_S', the error tr(T - 2 V T_S' + V T_SS V') is

    tr T - 2 sum_t w_t z_t + sum_st (Z_S L^-T)_st (W W')_st,

w_t and z_t the rows of W and Z. A prefix of the list has a leading block of L, so its error is the same expression
with shorter sums: one triangular factor and three products with it give the errors of all prefixes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import solve_triangular

from .._core import Array, DualGram, Gram, index, like, to_numpy
from ._round import Round

_DEPENDENT = 1e-12
"""A feature with at most this fraction of its variance left is a combination of those before it, and adds nothing."""


def path_errors(own: Round, found: Sequence[Sequence[int]], ridges: Sequence[float]) -> list[np.ndarray]:
    """Return :func:`prefix_errors` of several lists of features in one round, each with its ridge weight."""
    return [prefix_errors(own.gram, own.target, own.shift, *each) for each in zip(found, ridges, strict=True)]


def prefix_errors(gram: Gram, target: Gram, shift: Array, columns: Sequence[int], ridge: float) -> np.ndarray:
    """Return the squared error per sample, on other samples, of the ridge map from the first k features, k = 0, 1, ...

    Parameters
    ----------
    gram : Gram
        Moments of the samples that the maps are fitted on.
    target : Gram
        Moments of the other samples.
    shift : array of shape (m,)
        Their mean less that of the first samples.
    columns : sequence of int
        The list of features.
    ridge : float
        Ridge weight, in the units of ``gram``.

    Returns
    -------
    ndarray of shape (len(columns) + 1,)
        Entry k is :meth:`Round.error() <stableselect.subset._round.Round.error>` of the first k features.
    """
    xp, at = gram.xp, index(columns, shift, gram.xp)
    if isinstance(gram, DualGram) and isinstance(target, DualGram):
        A_S = xp.take(gram.A, at, axis=1)
        M = A_S.T @ A_S
    else:
        C_S = gram.rows(columns)
        M = C_S[:, at]
    L, independent = _cholesky(to_numpy(M), ridge)
    used = index(np.flatnonzero(independent), M, xp)
    kept = at[used]
    inverse = like(solve_triangular(L, np.eye(len(L)), lower=True), M, xp)
    if isinstance(gram, DualGram) and isinstance(target, DualGram):
        # With C = A'A and T = B'B, W is (L^-1 A_S')A and Z is (L^-1 B_S')B; neither is multiplied out.
        B_S = xp.concat([xp.take(target.A, kept, axis=1), shift[kept][None, :]])
        W, Z = inverse @ A_S[:, used].T, inverse @ B_S.T
        AB = xp.concat([gram.products_with(target), (gram.A @ shift)[:, None]], axis=1)
        inner, squares, Z_S = (W @ AB) * Z, W @ gram.products @ W.T, Z @ B_S
    else:
        T_S = target.rows(np.asarray(columns)[independent]) + shift[kept][:, None] * shift[None, :]
        W, Z = inverse @ C_S[used, :], inverse @ T_S
        inner, squares, Z_S = W * Z, W @ W.T, Z[:, kept]
    products = to_numpy((Z_S @ inverse.T) * squares)
    # Row and column t enter with the t-th feature; the matrix is symmetric.
    falls = 2 * to_numpy(xp.sum(inner, axis=1)) - 2 * np.tril(products).sum(axis=1) + np.diag(products)
    total = target.trace() + float(xp.sum(shift * shift))
    errors = total - np.concatenate([[0.0], np.cumsum(falls)])
    return errors[np.concatenate([[0], np.cumsum(independent)])]


def _cholesky(M: np.ndarray, ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the triangular factor of M + ridge I for the features independent of those before, and which they are.

    LAPACK's factorisation serves where all are independent; else the factor is built a column at a time.
    """
    variance = np.diag(M)
    left = M + ridge * np.eye(len(M))
    try:
        L = np.linalg.cholesky(left)
        if np.all(np.diag(L) ** 2 > _DEPENDENT * variance):
            return L, np.ones(len(M), dtype=bool)
    except np.linalg.LinAlgError:
        pass
    independent = np.zeros(len(M), dtype=bool)
    L = np.zeros_like(left)
    for t in range(len(M)):
        if left[t, t] > _DEPENDENT * variance[t]:
            independent[t] = True
            L[t:, t] = left[t:, t] / left[t, t] ** 0.5
            left[t:, t:] -= np.outer(L[t:, t], L[t:, t])
    return L[np.ix_(independent, independent)], independent
