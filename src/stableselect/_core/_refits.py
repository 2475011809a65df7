"""Maps from a set of features to all, fitted on centred samples, and their errors on others.

With the features' samples X_S = U diag(s) V' of numerical rank r and Q = U'Y (r x m), least squares predicts
X_S V diag(1 / s) Q, and a ridge of weight a predicts X_S V diag(s / (s^2 + a)) Q. Everything but Q is small. With few
samples Q is not needed either: every error follows from YY' (n x n) and, of the other samples T, from TY'.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy import linalg

from ._threads import side_by_side

RIDGE_GRID = np.logspace(-8, 3, 23)
"""Relative ridge weights: from almost least squares to almost the mean predictor."""
_CANCELS = 1e-6
"""Errors at or below this share of the squares are not computed from products of the samples."""
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

    @cached_property
    def Q(self) -> np.ndarray:
        """U'Y, r x m."""
        return self.left.T @ self.train

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
        if self.singular.size == 0:
            return mean_square(test, where)
        if ridge is None:
            outside = outside_of(self.train, self.left, self.Q)
            ridge = self.best_ridge(*outside, self.Q @ self.Q.T)
        return mean_square(test - self.scores(test, ridge) @ self.Q, where)

    def best_ridge(self, norms: np.ndarray, cross: np.ndarray, inner: np.ndarray) -> float:
        """Return the weight of least leave-one-out error, from what :func:`outside_of` returns and QQ'."""
        alphas = RIDGE_GRID * self._unit
        return float(RIDGE_GRID[np.argmin(leave_one_out_errors(norms, cross, inner, self.left, self.singular, alphas))])

    def scores(self, test: np.ndarray, ridge: float) -> np.ndarray:
        """Return what Q is multiplied with to predict other samples."""
        s = self.singular
        return test[:, self.chosen] @ (self.right.T * (s / (s**2 + ridge * self._unit)))

    @property
    def _unit(self) -> float:
        return float(self.singular @ self.singular) / self.chosen.size


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
    few = where is None and 2 * len(train) <= train.shape[1]
    products = train @ train.T if few else None
    known: dict[int, tuple[np.ndarray, np.ndarray]] = {}  # T and TY': one for all sets, where nothing is missing

    def errors(chosen: np.ndarray) -> tuple[float, float]:
        refit, given = Refit(train, chosen), seen(chosen)
        test = given - mean
        if products is not None and refit.singular.size:
            if id(given) not in known:
                known[id(given)] = given, test @ train.T
            found = errors_of_few(refit, test, products, known[id(given)][1])
            if found is not None:
                return found
        return refit.ridge_error(test, where=where), refit.least_squares_error(test, where)

    return side_by_side(errors, sets)


def errors_of_few(
    refit: Refit, test: np.ndarray, products: np.ndarray, cross: np.ndarray
) -> tuple[float, float] | None:
    """Return both errors from YY' and TY', without Q; None where they are so small that digits would cancel.

    With B the scores times U', so that BY is the prediction, |T - BY|^2 is |T|^2 - 2 tr B(TY')' + tr B(YY')B'.
    """
    U = refit.left
    of_samples = products @ U  # YQ'
    inner = U.T @ of_samples
    outside = of_samples - U @ inner
    norms = np.diag(products) - np.einsum("ij,ij->i", U, of_samples + outside)
    if not (norms > _CANCELS * np.diag(products)).all():
        return None
    total, found = float(np.vdot(test, test)), []
    for ridge in (refit.best_ridge(norms, outside, inner), 0.0):
        B = refit.scores(test, ridge) @ U.T
        found.append(total + float(np.vdot(B, B @ products - 2 * cross)))
    return None if min(found) <= _CANCELS * total else (found[0] / test.size, found[1] / test.size)


def outside_of(Y: np.ndarray, U: np.ndarray, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the squared norms of the rows of Y - UQ, what least squares leaves, and their products with those of Q."""
    norms, cross = np.zeros(len(Y)), np.zeros(U.shape)
    step = max(1, _STRETCH // len(Y))
    for start in range(0, Y.shape[1], step):
        part = slice(start, start + step)
        outside = Y[:, part] - U @ Q[:, part]
        norms += np.einsum("ij,ij->i", outside, outside)
        cross += outside @ Q[:, part].T
    return norms, cross


def leave_one_out_errors(
    norms: np.ndarray, cross: np.ndarray, inner: np.ndarray, U: np.ndarray, s: np.ndarray, alphas: np.ndarray
) -> np.ndarray:
    """Return the sum of squared leave-one-out residuals for each ridge weight.

    The residual of sample i when that sample is left out is r_i / (1 - h_i), h_i = 1/n + sum_j u_ij^2 s_j^2 / (s_j^2 +
    alpha). ``norms`` and ``cross`` are those of :func:`outside_of`, ``inner`` is QQ'.
    """
    # r = (Y - UQ) + U diag(a / (s^2 + a)) Q splits the residual into two parts without cancellation, and the norms of
    # its rows need only n x k and k x k products, however many features Y has.
    # 1 - h has the same two parts; the first is what rounding can push below zero.
    outside_leverage = np.maximum(1 - 1 / len(U) - np.einsum("ij,ij->i", U, U), 0.0)
    errors = np.empty(len(alphas))
    for i, alpha in enumerate(alphas):
        shrunk = U * (alpha / (s**2 + alpha))
        squares = norms + np.einsum("ij,ij->i", shrunk, 2 * cross + shrunk @ inner)
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
