"""Kernel ridge regression from some features to all, with a linear and a Gaussian part, and its leave-one-out error.

With z the standardised values of the k selected features and u the mean squared distance of landmarks, the kernel is ::

    z'z / k + w exp(-|z - z'|^2 / (2 b u)) + 1

Its Gaussian part is built on p of the samples, the landmarks (Nystrom): with E the kernel between samples and landmarks
and L L' that of the landmarks, E L'^-1 are features whose products are that part, exactly so where all samples are
landmarks. Ridge regression on phi = [1, z / sqrt(k), sqrt(w) E L'^-1] leaves, of a sample that was left out, ::

    (y_i - phi_i B) / (1 - phi_i' A^-1 phi_i),    A = phi'phi + r I,  B = A^-1 phi'Y
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, eigh, solve_triangular

BANDWIDTHS = (0.05, 0.15, 0.5, 2.0)
WEIGHTS = (0.1, 1.0, 10.0)
RIDGES = tuple(10.0 ** (half / 2) for half in range(-12, 3))
_JITTERS = (1e-9, 1e-7, 1e-5, 1e-3)
"""The first that will do is added to the diagonal of the landmarks' kernel, which may be singular."""
Groups = Sequence[np.ndarray] | None
"""Samples that are left out together; None where each is by itself."""


@dataclass(frozen=True)
class KernelSetting:
    """Bandwidth b, weight w of the Gaussian part, and ridge r."""

    bandwidth: float
    weight: float
    ridge: float


def members(groups: np.ndarray) -> Groups:
    """Return the samples of every group; None for a single one, without which none would be left."""
    found = [np.flatnonzero(groups == one) for one in np.unique(groups)]
    return found if len(found) > 1 else None


def squared_distances(Z: np.ndarray, landmarks: np.ndarray) -> np.ndarray:
    """Return the squared distances of samples from landmarks, n x p."""
    center = landmarks.mean(axis=0)  # about which nothing cancels where landmarks lie close together
    Z, landmarks = Z - center, landmarks - center
    D = Z @ (-2.0 * landmarks.T)
    D += np.sum(Z**2, axis=1)[:, None]
    D += np.sum(landmarks**2, axis=1)[None, :]
    return np.maximum(D, 0.0, out=D)


class KernelFeatures:
    """The features phi whose products are the kernel, for given landmarks.

    Parameters
    ----------
    between : ndarray of shape (p, p)
        Squared distances of the landmarks from each other.
    bandwidth, weight : float
        Of the Gaussian part.
    """

    def __init__(self, between: np.ndarray, bandwidth: float, weight: float) -> None:
        p = len(between)
        unit = (between.sum() - np.trace(between)) / max(1, p * (p - 1))
        self._rate, self._weight = 1.0 / (2.0 * bandwidth * (unit if unit > 0 else 1.0)), weight
        E = np.exp(between * -self._rate)
        for jitter in _JITTERS:
            E[np.diag_indices(p)] = 1.0 + jitter
            try:
                self._factor = cholesky(E, lower=True, check_finite=False)
                break
            except np.linalg.LinAlgError:
                if jitter == _JITTERS[-1]:
                    raise

    def of(self, Z: np.ndarray, distances: np.ndarray) -> np.ndarray:
        """Return phi of samples, of which the selected features and the distances from the landmarks are given."""
        n, k = Z.shape
        phi = np.empty((n, 1 + k + distances.shape[1]))
        phi[:, 0] = 1.0
        phi[:, 1 : k + 1] = Z / np.sqrt(max(1, k))
        E = np.exp(distances * -self._rate)
        phi[:, k + 1 :] = solve_triangular(self._factor, E.T, lower=True, overwrite_b=True, check_finite=False).T
        phi[:, k + 1 :] *= np.sqrt(self._weight)
        return phi


def solve(phi: np.ndarray, Y: np.ndarray, ridge: float, groups: Groups = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the coefficients B, and what is left of every sample by the map fitted without it or its group."""
    A = phi.T @ phi
    A[np.diag_indices_from(A)] += ridge
    factor = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
    B = cho_solve(factor, phi.T @ Y, check_finite=False)
    white = solve_triangular(factor[0], phi.T, lower=True, check_finite=False).T
    return B, _left_out(Y - phi @ B, white, white, groups)


def ridge_errors(phi: np.ndarray, Y: np.ndarray, ridges: Sequence[float], groups: Groups = None) -> list[float]:
    """Return the sum of squared leave-one-out residuals for every ridge."""
    size, V = eigh(phi.T @ phi, overwrite_a=True, check_finite=False, driver="evd")
    size, turned = np.maximum(size, 0.0), phi @ V
    products, errors = turned.T @ Y, []
    for ridge in ridges:
        inverse = 1.0 / (size + ridge)
        left = _left_out(Y - turned @ (inverse[:, None] * products), turned, turned * inverse, groups)
        errors.append(float(np.vdot(left, left)))
    return errors


def _left_out(left: np.ndarray, white: np.ndarray, other: np.ndarray, groups: Groups) -> np.ndarray:
    """Return what would be left of every sample without it, or without its group: (I - H)^-1 left, H = white other'."""
    if groups is None:
        return left / np.maximum(1.0 - np.einsum("ij,ij->i", white, other), 1e-12)[:, None]
    for rows in groups:
        kept = np.eye(len(rows)) - white[rows] @ other[rows].T
        left[rows] = np.linalg.lstsq(kept, left[rows], rcond=1e-12)[0]
    return left


def settings() -> Iterator[tuple[float, float]]:
    """Yield every bandwidth with every weight."""
    return product(BANDWIDTHS, WEIGHTS)
