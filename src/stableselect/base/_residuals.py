"""What is left of samples that were held out of a selection, and how far they are from the others.

The covariance behind the distances is shrunk [1]_, so that they exist with fewer samples than features.

References
----------
.. [1] O. Ledoit and M. Wolf, "A well-conditioned estimator for large-dimensional covariance matrices", Journal of
   Multivariate Analysis 88, 2004.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.covariance import ledoit_wolf

_FLOOR = 1e-10
"""Directions with less than this fraction of the largest variance are taken to have that much."""


@dataclass(frozen=True, eq=False)
class Model:
    """Where samples lie in some features: centre, spread, and a map to uncorrelated coordinates of unit variance.

    Attributes
    ----------
    center : ndarray of shape (k,)
        Means.
    whitening : ndarray of shape (k, k)
        Distances are those of ``(x - center) @ whitening`` from zero.
    """

    center: np.ndarray
    whitening: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray) -> Model:
        """Return the model of samples; constant features have no part in distances."""
        center, spread = values.mean(axis=0), values.std(axis=0)
        spread = np.where(values.max(axis=0) > values.min(axis=0), spread, 0.0)
        inverse = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
        covariance, _ = ledoit_wolf((values - center) * inverse, assume_centered=True)
        size, Q = np.linalg.eigh(np.atleast_2d(covariance))
        if size[-1] <= 0:
            return cls(center, np.zeros_like(Q))
        return cls(center, inverse[:, None] * Q / np.sqrt(np.maximum(size, _FLOOR * size[-1])))

    def distances(self, values: np.ndarray) -> np.ndarray:
        """Return the Mahalanobis distance of every sample, in the features that it has."""
        missing = np.isnan(values)
        white = np.where(missing, 0.0, values - self.center) @ self.whitening
        for i in np.flatnonzero(missing.any(axis=1)):
            # The distance in some features is the least that values of the others leave.
            free = self.whitening[missing[i]].T
            white[i] -= free @ np.linalg.lstsq(free, white[i], rcond=None)[0]
        return np.linalg.norm(white, axis=1)

    def residuals(self, values: np.ndarray) -> np.ndarray:
        """Return what is left of every feature once it is predicted from the others: (P x)_j / P_jj, P = C^-1."""
        P = self.whitening @ self.whitening.T
        own = np.diag(P)
        centred = values - self.center
        missing = np.isnan(centred)
        centred[missing] = 0.0
        left = np.where(own > 0, centred @ P / np.where(own > 0, own, 1.0), centred)
        left[missing] = np.nan
        return left


@dataclass(frozen=True, eq=False)
class HeldOutResiduals:
    """What was left of samples that were held out of a selection.

    Attributes
    ----------
    residuals : ndarray of shape (n, m)
        Values less their reconstruction; NaN where a value is missing. A feature that was selected without these
        samples is reconstructed from the other selected ones.
    leverage, distances : ndarray of shape (n,)
        Of the samples, in the model of those they were held out of.
    support : ndarray of bool of shape (m,)
        The features that were selected without these samples.
    """

    residuals: np.ndarray
    leverage: np.ndarray
    distances: np.ndarray
    support: np.ndarray

    @classmethod
    def of(cls, given: np.ndarray, test: np.ndarray, rebuilt: np.ndarray, support: np.ndarray) -> HeldOutResiduals:
        """Return the residuals of held-out samples.

        Parameters
        ----------
        given : ndarray of shape (n_train, k)
            The selected features of the samples that they were selected on.
        test, rebuilt : ndarray of shape (n, m)
            The held-out samples, and what is reconstructed of them.
        support : ndarray of bool of shape (m,)
            The selected features.
        """
        model = Model.of(given)
        residuals = test - rebuilt
        residuals[:, support] = model.residuals(test[:, support])
        distances = model.distances(test[:, support])
        return cls(residuals, (1 + distances**2) / len(given), distances, support)
