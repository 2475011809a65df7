"""Mean and covariance of a table with missing values and very many features: a few factors and noise.

``x = mu + W z + e`` with r factors z ~ N(0, I) and noise e ~ N(0, diag(psi)), fitted by expectation-maximisation to
the values that are there. Given those of sample i (set o), the factors have the covariance
``V_i = (I + W_o' diag(1 / psi_o) W_o)^-1`` and the mean ``V_i W_o' diag(1 / psi_o) (x_o - mu_o)``: a step inverts
matrices of r rows and multiplies tables of n x m by ones of r (r + 1) / 2 columns, so that it takes time in proportion
to the number of values. Features have unit variance while it is fitted. Every feature's map is a ridge regression with
weight s = 2, and psi is shrunk to the variance with the weight of s samples. Steps end when the mean of log psi changes
by less than 1e-3, after 50 at most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils.extmath import randomized_svd

from ._arrays import row_blocks
from ._moments import Moments

MOST_FACTORS = 16
_SHRINKAGE = 2.0
_CHANGE, _STEPS = 1e-3, 50
_LEAST = 1e-6
"""Smallest noise, as a fraction of the variance."""


@dataclass(frozen=True)
class FactorModel:
    """A Gaussian of few factors, fitted to a table with missing values.

    Attributes
    ----------
    mean, noise : ndarrays of shape (m,)
        The means, and the variances of what the factors leave.
    factors : ndarray of shape (m, r)
        The covariance is ``factors @ factors.T + diag(noise)``.
    n_steps : int
        Number of steps.
    """

    mean: np.ndarray
    factors: np.ndarray
    noise: np.ndarray
    n_steps: int = 0

    @property
    def covariance(self) -> np.ndarray:
        """The covariance of all features; for few of them."""
        return np.asarray(self.factors @ self.factors.T + np.diag(self.noise))

    def part(self, features: np.ndarray) -> FactorModel:
        """Return the model of some of the features."""
        return FactorModel(self.mean[features], self.factors[features], self.noise[features])

    def fill(self, X: np.ndarray) -> np.ndarray:
        """Return a table with its missing values replaced by their means given those that are there."""
        filled = np.array(X)
        for rows in row_blocks(*X.shape):
            gone = np.isnan(X[rows])
            if gone.any():
                z, _ = _expected(np.where(gone, 0.0, X[rows] - self.mean), ~gone, self.factors, self.noise)
                filled[rows] = np.where(gone, self.mean + z @ self.factors.T, X[rows])
        return filled

    def moments(self, X: np.ndarray, weights: np.ndarray | None, rows: np.ndarray | None = None) -> Moments:
        """Return the moments of some samples, completed.

        Where they hold sums, the noise of what was missing is added to the variances. What the values that are there
        leave uncertain of the factors is not: with very many of them it is little.
        """
        rows = np.arange(len(X)) if rows is None else rows
        w = None if weights is None else weights[rows]
        if not len(rows) or (w is not None and not w.any()):
            return Moments()
        found = Moments()._add(self.fill(X[rows]), w)
        if found.form == "primal":
            found._mirror()
            gone = np.isnan(X[rows]).astype(np.float64)
            found._second = found._second + np.diag(self.noise * ((np.ones(len(rows)) if w is None else w) @ gone))
        return found


def fit_factors(X: np.ndarray, weights: np.ndarray | None = None, n_factors: int | None = None) -> FactorModel:
    """Fit a Gaussian of few factors to a table with missing values.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        The table, NaN where a value is missing; every feature has some value of positive weight.
    weights : ndarray of shape (n,), optional
        Weights of the samples.
    n_factors : int, optional
        Number of factors; by default at most 16, a tenth of the samples and half of the features.

    Returns
    -------
    FactorModel
    """
    w = np.ones(len(X)) if weights is None else weights
    X, w = X[w > 0], w[w > 0]
    n, m = X.shape
    there = ~np.isnan(X)
    count = w @ there
    mean = (w @ np.where(there, X, 0.0)) / count
    Z = np.where(there, X - mean, 0.0)
    scale = np.sqrt((w @ Z**2) / count)
    scale = np.where(scale > 0, scale, 1.0)
    Z /= scale
    r = max(1, min(MOST_FACTORS, n // 10, m // 2)) if n_factors is None else n_factors
    # Zeros stand for missing values: the start is too small by the fraction that is there, in both dimensions.
    _, values, axes = randomized_svd(Z * np.sqrt(w / w.sum())[:, None], r, random_state=0)
    W = axes.T * values / np.maximum(count / w.sum(), 0.1)[:, None]
    W *= np.sqrt(0.9 / np.maximum(np.einsum("ij,ij->i", W, W), 0.9))[:, None]  # leaves some variance to the noise
    psi = 1 - np.einsum("ij,ij->i", W, W)
    mu, n_steps = np.zeros(m), 0
    for n_steps in range(1, _STEPS + 1):  # noqa: B007
        mu, W, new = _step(Z, there, w, count, mu, W, psi)
        change = float(np.mean(np.abs(np.log(new / psi))))
        psi = new
        if change < _CHANGE:
            break
    return FactorModel(mean + scale * mu, W * scale[:, None], psi * scale**2, n_steps)


def _step(
    Z: np.ndarray,
    there: np.ndarray,
    w: np.ndarray,
    count: np.ndarray,
    mu: np.ndarray,
    W: np.ndarray,
    psi: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return means, factors and noise after one step; Z is zero where a value is missing."""
    m, r = W.shape
    one, other = np.triu_indices(r)
    second, cross, sums = np.zeros((m, one.size)), np.zeros((m, r)), np.zeros((m, r))
    for rows in row_blocks(*Z.shape):
        mask, weight = there[rows].astype(np.float64), w[rows]
        z, V = _expected(Z[rows] - mu * mask, there[rows], W, psi)
        products = (V + z[:, :, None] * z[:, None, :])[:, one, other]
        second += mask.T @ (products * weight[:, None])
        cross += Z[rows].T @ (z * weight[:, None])
        sums += mask.T @ (z * weight[:, None])
    cross -= mu[:, None] * sums
    S = np.empty((m, r, r))
    S[:, one, other] = S[:, other, one] = second
    W = np.linalg.solve(S + _SHRINKAGE * np.eye(r), cross[:, :, None])[:, :, 0]
    total = w @ Z**2
    linear = w @ Z
    mean = (linear - np.einsum("ij,ij->i", W, sums)) / count
    # Expected squares of x - mean - W z over the values that are there.
    cross += (mu - mean)[:, None] * sums
    left = total - 2 * mean * linear + mean**2 * count - 2 * np.einsum("ij,ij->i", W, cross)
    left += np.einsum("ij,ijk,ik->i", W, S, W)
    psi = (np.maximum(left, 0.0) + _SHRINKAGE) / (count + _SHRINKAGE)
    return mean, W, np.maximum(psi, _LEAST)


def _expected(centred: np.ndarray, there: np.ndarray, W: np.ndarray, psi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return means and covariances of the factors of samples, whose values are centred and zero where missing."""
    r = W.shape[1]
    one, other = np.triu_indices(r)
    precision = np.empty((len(centred), r, r))
    products = W[:, one] * W[:, other] / psi[:, None]
    precision[:, one, other] = precision[:, other, one] = there.astype(np.float64) @ products
    V = np.linalg.inv(precision + np.eye(r))
    return np.einsum("ijk,ik->ij", V, centred @ (W / psi[:, None])), V
