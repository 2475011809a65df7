"""Inverses of what a set of columns has in common, and the coefficients that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from types import ModuleType

import array_api_compat
import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dtrtri

from ._arrays import Array, index

_RANK_TOLERANCE = 1e-12
"""Eigenvalues at or below this, times the number of columns, count as zero; the diagonal is one."""
INDEPENDENT = 1e-4
"""Columns with more than this share of their variance left by those before them need no refined solution."""


def pseudo_inverse(M: Array, alpha: float, xp: ModuleType) -> Array:
    """Return (M + alpha I)^+ for a symmetric positive semi-definite M, zero where M + alpha I is zero to rounding.

    Rows and columns are first brought to unit diagonal, so that columns in very different units are judged alike.
    """
    total = M + alpha * xp.eye(M.shape[0], dtype=M.dtype, device=array_api_compat.device(M))
    diagonal = xp.linalg.diagonal(total)
    unit = xp.where(diagonal > 0, 1 / xp.sqrt(xp.where(diagonal > 0, diagonal, 1.0)), 0.0)
    values, vectors = xp.linalg.eigh(total * unit[:, None] * unit[None, :])
    kept = values > _RANK_TOLERANCE * M.shape[0]
    inverse = xp.where(kept, 1 / xp.where(kept, values, 1.0), 0.0)
    return ((vectors * inverse[None, :]) @ vectors.T) * unit[:, None] * unit[None, :]


def inverse_of_independent(M: Array, alpha: float, xp: ModuleType) -> Array | None:
    """Return (M + alpha I)^-1 where no column is close to a combination of those before it, else None."""
    if isinstance(M, np.ndarray):
        return _inverse_by_lapack(M, alpha)
    total = M + alpha * xp.eye(M.shape[0], dtype=M.dtype, device=array_api_compat.device(M))
    try:
        pivots = xp.linalg.diagonal(xp.linalg.cholesky(total)) ** 2
    except (np.linalg.LinAlgError, RuntimeError):  # torch's for a matrix that is not positive definite
        return None
    return xp.linalg.inv(total) if bool(xp.all(pivots > INDEPENDENT * xp.linalg.diagonal(total))) else None


def _inverse_by_lapack(M: np.ndarray, alpha: float) -> np.ndarray | None:
    """Return the same from the triangular factor, in half the time."""
    if not len(M):
        return M
    total = np.array(M.T, order="F")
    total.T.flat[:: len(M) + 1] += alpha
    diagonal = total.diagonal().copy()
    factor, failed = dpotrf(total, lower=1, clean=0, overwrite_a=1)
    if failed or not (factor.diagonal() ** 2 > INDEPENDENT * diagonal).all():
        return None
    inverse = dpotri(factor, lower=1, overwrite_c=1)[0].T
    np.copyto(inverse, inverse.T, where=_below(len(M)))  # its upper triangle is there
    return inverse


def inverse_factors(M: np.ndarray, alphas: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Return upper triangular H with H H' = (M + alpha I)^-1 for several M and alpha, and the pivots.

    Pivots are the squared diagonals of the triangular factors, over the diagonals of M + alpha I: they and H are zero
    where there is no such factor. M is overwritten.
    """
    k = M.shape[1]
    pivots = np.zeros(M.shape[:2])
    M[:, range(k), range(k)] += np.asarray(alphas)[:, None]
    for own, found in zip(M, pivots, strict=True):
        diagonal = own.diagonal().copy()
        factor, failed = dpotrf(own.T, lower=1, clean=1, overwrite_a=1)  # in place: own' has its columns together
        if failed:
            own[:] = 0.0
            continue
        found[:] = factor.diagonal() ** 2 / diagonal
        dtrtri(factor, lower=1, overwrite_c=1)
    return M, pivots


@lru_cache(maxsize=4)
def _below(size: int) -> np.ndarray:
    """Return which entries of a matrix are below its diagonal."""
    return np.tri(size, k=-1, dtype=bool)


def coefficients_of(rows: Array, chosen: object, alpha: float, xp: ModuleType) -> Array:
    """Return the coefficients V = C_S (C_SS + alpha I)^+ (m x k) from the rows C_S' alone."""
    M = rows[:, index(chosen, rows, xp)]
    P = inverse_of_independent(M, alpha, xp)
    return refined_product(rows.T, pseudo_inverse(M, alpha, xp), M, alpha) if P is None else (P @ rows).T


def refined_product(C_S: Array, P: Array, M: Array, alpha: float) -> Array:
    """Return V = C_S P for P = (M + alpha I)^+, as exact as if V (M + alpha I) = C_S had been solved.

    The plain product is off by the condition of M, so that R = C - V C_S' would be mostly rounding where the columns of
    S are close to combinations of each other. Every step multiplies V's relative error by its first size.
    """
    V = C_S @ P
    for _ in range(2):
        V = V + (C_S - V @ M - alpha * V) @ P
    return V
