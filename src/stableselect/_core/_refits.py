"""Maps from a set of features to all, fitted on centred samples, and their errors on others.

With the features' samples X_S = U diag(s) V' of numerical rank r and Q = U'Y (r x m), least squares predicts
X_S V diag(1 / s) Q, and a ridge of weight a predicts X_S V diag(s / (s^2 + a)) Q. Everything but Q is small.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg

from ._threads import side_by_side

RIDGE_GRID = np.logspace(-8, 3, 23)
"""Relative ridge weights: from almost least squares to almost the mean predictor."""
_STRETCH = 2**17
"""Values of the samples that are worked on at a time, so that they stay in the processor's cache."""


class Refit:
    """The maps from one set of features.

    Parameters
    ----------
    train : ndarray of shape (n, m)
        The samples to fit on, centred.
    chosen : ndarray of int
        The features.
    """

    def __init__(self, train: np.ndarray, chosen: np.ndarray) -> None:
        self.train, self.chosen = train, chosen
        self.left, self.singular, self.right = thin_svd(train[:, chosen])
        self.Q = self.left.T @ train

    def least_squares_error(self, test: np.ndarray, where: np.ndarray | None = None) -> float:
        """Return the mean squared error of the least-squares map on other samples, centred by the first ones' mean."""
        return self.ridge_error(test, 0.0, where)

    def ridge_error(self, test: np.ndarray, ridge: float | None = None, where: np.ndarray | None = None) -> float:
        """Return that of a ridge map.

        Parameters
        ----------
        test : ndarray of shape (n_test, m)
            The other samples.
        ridge : float or None
            The weight, as a multiple of the features' mean sum of squares; None for that of least leave-one-out error.
        where : ndarray of bool of shape (n_test, m) or None
            The values of the other samples to average over; None for all.

        Returns
        -------
        float
        """
        s = self.singular
        if s.size == 0:
            return mean_square(test, where)
        unit = float(s @ s) / self.chosen.size
        if ridge is None:
            errors = leave_one_out_errors(self.train, self.left, s, self.Q, RIDGE_GRID * unit)
            ridge = float(RIDGE_GRID[np.argmin(errors)])
        scores = test[:, self.chosen] @ (self.right.T * (s / (s**2 + ridge * unit)))
        return mean_square(test - scores @ self.Q, where)


def centred(train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both tables less the mean of the first, which gives every map here its intercept."""
    mean = centring(train)
    return train - mean, test - mean


def centring(train: np.ndarray) -> np.ndarray:
    """Return the mean sample."""
    # The mean of a constant feature can miss it by rounding, and a fit would then make much of that residue.
    return np.where((train == train[0]).all(axis=0), train[0], train.mean(axis=0))


def refit_errors(
    train: np.ndarray,
    seen: Callable[[np.ndarray], np.ndarray],
    sets: list[np.ndarray],
    where: np.ndarray | None = None,
) -> list[tuple[float, float]]:
    """Return the errors of the ridge map, with its own weight, and of the least-squares map from each of several sets.

    Parameters
    ----------
    train : ndarray of shape (n, m)
        The samples to fit on.
    seen : callable
        Returns the other samples as they are known from a set of features.
    sets : list of ndarray of int
        The features of each.
    where : ndarray of bool of shape (n_test, m) or None
        The values of the other samples to average over; None for all.

    Returns
    -------
    list of (float, float)
    """
    mean = centring(train)
    train = train - mean

    def errors(chosen: np.ndarray) -> tuple[float, float]:
        refit, test = Refit(train, chosen), seen(chosen) - mean
        return refit.ridge_error(test, where=where), refit.least_squares_error(test, where)

    return side_by_side(errors, sets)


def leave_one_out_errors(Y: np.ndarray, U: np.ndarray, s: np.ndarray, Q: np.ndarray, alphas: np.ndarray) -> np.ndarray:
    """Return the sum of squared leave-one-out residuals for each ridge weight; Y is centred and Q = U'Y.

    The residual of sample i when that sample is left out is r_i / (1 - h_i), h_i = 1/n + sum_j u_ij^2 s_j^2 / (s_j^2 +
    alpha).
    """
    # r = (Y - UQ) + U diag(a / (s^2 + a)) Q splits the residual into two parts without cancellation, and the norms of
    # its rows need only n x k and k x k products, however many features Y has.
    outside_norms, cross, inner = np.zeros(len(Y)), np.zeros(U.shape), Q @ Q.T
    step = max(1, _STRETCH // len(Y))
    for start in range(0, Y.shape[1], step):
        part = slice(start, start + step)
        outside = Y[:, part] - U @ Q[:, part]
        outside_norms += np.einsum("ij,ij->i", outside, outside)
        cross += outside @ Q[:, part].T
    # 1 - h has the same two parts; the first is what rounding can push below zero.
    outside_leverage = np.maximum(1 - 1 / len(Y) - np.einsum("ij,ij->i", U, U), 0.0)
    errors = np.empty(len(alphas))
    for i, alpha in enumerate(alphas):
        shrunk = U * (alpha / (s**2 + alpha))
        squares = outside_norms + np.einsum("ij,ij->i", shrunk, 2 * cross + shrunk @ inner)
        errors[i] = np.sum(squares / (outside_leverage + np.einsum("ij,ij->i", shrunk, U)) ** 2)
    return errors


def thin_svd(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return U, s, V' of A, numerical rank only, so that constant and duplicate features drop out."""
    left, singular, right = linalg.svd(A, full_matrices=False)
    kept = singular > max(A.shape) * np.finfo(np.float64).eps * singular[0]
    return left[:, kept], singular[kept], right[kept]


def mean_square(difference: np.ndarray, where: np.ndarray | None = None) -> float:
    """Return the mean of the squares, of some values or of all."""
    if where is not None:
        if where.shape != difference.shape or not where.any():
            raise ValueError(
                f"where must be of shape {difference.shape} and true for some value; mark values of X_test."
            )
        difference = difference[where]
    return float(np.vdot(difference, difference)) / difference.size
