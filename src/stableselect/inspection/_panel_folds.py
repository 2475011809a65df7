r"""The error of reconstructing every feature of held-out samples from some of them, from second moments alone.

With C the moments of the samples to fit on, S the features given, T the second moments of the held-out samples about
the mean of the first ones, and C_SS = Q diag(l) Q', the ridge map is B = Q diag(1 / (l + a)) Q'C_S, and the error of
feature j is T_jj - 2 B_j'T_Sj + B_j'T_SS B_j. The ridge weight a, one for all features, has the smallest generalised
cross-validation error on the samples to fit on [1]_: with n of them, G = Q'C_S and g_i = |G_i|^2, the least of

    (tr C - sum_i g_i / l_i + sum_i (g_i / l_i) (a / (l_i + a))^2) / (n - 1 - r + sum_i a / (l_i + a))^2,

r the rank of C_SS. Every panel has its weight by this one rule, so that none gains by being fitted with more care.

References
----------
.. [1] G. H. Golub, M. Heath and G. Wahba, "Generalized cross-validation as a method for choosing a good ridge
   parameter", Technometrics 21, 1979.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._core import Gram, Moments, to_numpy

RIDGE_GRID = np.logspace(-8, 3, 23)
"""Ridge weights tried, relative to the mean variance of the directions that the features given span."""
_RANK = 1e-12
"""Directions with less than this fraction of the largest variance are rounding."""


def ridge_weight(C_S: np.ndarray, C_SS: np.ndarray, total: float, n: int) -> tuple[float, np.ndarray]:
    """Return the ridge weight for k features, and the map from them to all.

    Parameters
    ----------
    C_S : ndarray of shape (k, m)
        Moments between these features and all.
    C_SS : ndarray of shape (k, k)
        Moments between them.
    total : float
        Sum of the variances of all features.
    n : int
        Number of samples behind the moments.

    Returns
    -------
    alpha : float
        The weight.
    coefficients : ndarray of shape (k, m)
        The map.
    """
    values, Q = np.linalg.eigh(C_SS)
    varies = values > _RANK * max(values[-1], 0.0)
    values, Q = values[varies], Q[:, varies]
    if not values.size:
        return 0.0, np.zeros_like(C_S)
    G = Q.T @ C_S
    fitted = np.einsum("ij,ij->i", G, G) / values
    alphas = RIDGE_GRID * values.mean()
    shrunk = alphas[:, None] / (values + alphas[:, None])
    left = max(total - float(fitted.sum()), 0.0) + shrunk**2 @ fitted
    alpha = float(alphas[np.argmin(left / (max(n - 1 - values.size, 0) + shrunk.sum(axis=1)) ** 2)])
    return alpha, Q @ (G / (values + alpha)[:, None])


class Fold:
    """Samples to fit on and samples held out, as moments.

    Parameters
    ----------
    train, test : Moments
        Their moments.
    """

    def __init__(self, train: Moments, test: Moments) -> None:
        self.gram, self.target = train.operator(), test.operator()
        self.n_train, self.n_test = train.n_samples, test.n_samples
        self.shift = to_numpy(test.mean) - to_numpy(train.mean)
        self.total = self.gram.trace()
        self.none = to_numpy(self.target.diagonal()) + self.shift**2
        """Squared error of every feature, per held-out sample, with no feature given."""

    def errors(self, features: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the squared error of every feature, per held-out sample, given some of them."""
        S = np.asarray(features, dtype=np.intp)
        if not S.size:
            return self.none
        C_S, T_S = (to_numpy(gram.rows(S)) for gram in (self.gram, self.target))
        return self._errors(C_S, C_S[:, S], T_S + np.outer(self.shift[S], self.shift), S)

    def component_errors(self, directions: np.ndarray) -> np.ndarray:
        """Return the same, given the samples' coordinates along some directions (m x k)."""

        def rows(gram: Gram) -> np.ndarray:
            return to_numpy(gram.dot(directions)).T

        C_S, T_S = rows(self.gram), rows(self.target) + np.outer(self.shift @ directions, self.shift)
        return self._errors(C_S, C_S @ directions, T_S, directions)

    def _errors(self, C_S: np.ndarray, C_SS: np.ndarray, T_S: np.ndarray, given: np.ndarray) -> np.ndarray:
        B = ridge_weight(C_S, C_SS, self.total, self.n_train)[1]
        T_SS = T_S[:, given] if given.ndim == 1 else T_S @ given
        return np.maximum(self.none - np.einsum("ij,ij->j", B, 2 * T_S - T_SS @ B), 0.0)
