"""Mean and covariance of a table with missing values, by expectation-maximisation of a Gaussian model.

Values are taken to be missing at random. With K the inverse of the covariance C, the missing values of a sample have,
given those that are there, the mean ``mu_m - K_mm^-1 K_mo (x_o - mu_o)`` and the covariance ``K_mm^-1``: only matrices
of the missing features are inverted, those of samples with equally many of them at once. Every step completes the
samples by these means and takes mean and second moments S of the result, conditional covariances included; then
``C = (n S + s D) / (n + s)``, where D are the variances of the values that are there.
Steps never lower ``log likelihood - s/2 (log det C + tr C^-1 D)``, which is what they maximise. They end when it rises
by less than 1e-6 per value, after 200 at most.

s is at least 1 + m / 10 (m features), and otherwise the one by which values that are there, hidden, are completed best:
a tenth of those of every sample and feature, in large tables fewer. The largest leaves their means, as where features
have nothing in common.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ._folds import row_folds
from ._moments import Moments

MOST_FEATURES = 3000
"""Most features of a table whose covariance is estimated; each step inverts a matrix of so many rows."""
_MOST_WORK = 3e10
"""Most multiplications of a step."""
_RISE, _STEPS = 1e-6, 200
_HIDDEN, _MOST_HIDDEN = 10, 20_000
"""One of so many values is hidden to choose the shrinkage, and about so many at most."""
_TIMES = (1.0, 4.0, 16.0, 64.0, 1e9)
"""Shrinkages that are tried, as multiples of the least."""
_AT_ONCE = 2**21
"""Values of the matrices that are inverted at once."""


def takes_long(X: np.ndarray) -> bool:
    """Tell whether a table has too many features, or gaps too wide, for a covariance of all features."""
    m, gone = X.shape[1], np.isnan(X).sum(axis=1, dtype=np.float64)
    return m > MOST_FEATURES or float(np.sum(gone**3)) + m**3 > _MOST_WORK


@dataclass(frozen=True)
class GaussianModel:
    """A Gaussian fitted to a table with missing values.

    Attributes
    ----------
    mean, covariance : ndarrays of shape (m,) and (m, m)
        Its parameters, shrunk.
    objectives : list of float
        What the steps maximised, one number for each.
    """

    mean: np.ndarray
    covariance: np.ndarray
    objectives: Sequence[float] = ()

    def fill(self, X: np.ndarray) -> np.ndarray:
        """Return a table with its missing values replaced by their means given those that are there."""
        return _Completion(X, self.mean, self.covariance).filled

    def part(self, features: np.ndarray) -> GaussianModel:
        """Return the model of some of the features."""
        return GaussianModel(self.mean[features], self.covariance[np.ix_(features, features)])

    def moments(self, X: np.ndarray, weights: np.ndarray | None, rows: np.ndarray | None = None) -> Moments:
        """Return the moments of some samples, completed, with the conditional covariance of what was missing."""
        rows = np.arange(len(X)) if rows is None else rows
        w = None if weights is None else weights[rows]
        done = _Completion(X[rows], self.mean, self.covariance)
        if not len(rows) or (w is not None and not w.any()):
            return Moments()
        found = Moments()._add(done.filled, w, primal=True)
        found._mirror()
        found._second = found._second + done.uncertain(w)
        return found


class _Completion:
    """Samples completed by a Gaussian, in centred form, and what is left uncertain of them."""

    def __init__(self, X: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> None:
        self.precision, self.logdet = _inverse(covariance)
        self.shape, self.missing = X.shape, np.isnan(X)
        self.centred = np.where(self.missing, 0.0, X - mean)
        self.rows_logdet = np.zeros(len(X))
        known = self.centred @ self.precision
        for rows, at, inverse in self._groups():
            self.centred[rows[:, None], at] = -np.einsum("rij,rj->ri", inverse, known[rows[:, None], at])
            self.rows_logdet[rows] = -np.linalg.slogdet(inverse)[1]
        self.filled = np.where(self.missing, self.centred + mean, X)

    def _groups(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Return samples with equally many missing values, where these are, and their conditional covariances."""
        counts = self.missing.sum(axis=1)
        for count in np.unique(counts[counts > 0]):
            alike = np.flatnonzero(counts == count)
            step = max(1, _AT_ONCE // int(count) ** 2)
            for start in range(0, len(alike), step):
                rows = alike[start : start + step]
                at = np.nonzero(self.missing[rows])[1].reshape(len(rows), int(count))
                patterns, which = np.unique(at, axis=0, return_inverse=True)
                inverses = np.linalg.inv(self.precision[patterns[:, :, None], patterns[:, None, :]])
                yield rows, at, inverses[which.ravel()]

    def uncertain(self, weights: np.ndarray | None) -> np.ndarray:
        """Return the weighted sum of the conditional covariances of the samples."""
        m = self.shape[1]
        total = np.zeros(m * m)
        for rows, at, inverse in self._groups():
            if weights is not None:
                inverse = inverse * weights[rows, None, None]
            np.add.at(total, (at[:, :, None] * m + at[:, None, :]).ravel(), inverse.ravel())
        return total.reshape(m, m)

    def log_likelihood(self, weights: np.ndarray) -> float:
        """Return the weighted log likelihood of the values that are there."""
        there = self.shape[1] - self.missing.sum(axis=1)
        squares = np.einsum("ij,ij->i", self.centred @ self.precision, self.centred)
        return float(-0.5 * weights @ (there * np.log(2 * np.pi) + self.logdet + self.rows_logdet + squares))


def _inverse(covariance: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the inverse of a covariance, through one of unit diagonal, and the logarithm of its determinant."""
    scale = np.sqrt(np.diag(covariance))
    inverse = np.linalg.inv(covariance / scale[:, None] / scale)
    inverse = (inverse + inverse.T) / 2
    return inverse / scale[:, None] / scale, 2 * float(np.log(scale).sum()) - float(np.linalg.slogdet(inverse)[1])


def fit_gaussian(X: np.ndarray, weights: np.ndarray | None = None, shrinkage: float | None = None) -> GaussianModel:
    """Fit a Gaussian to a table with missing values.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        The table, NaN where a value is missing; every feature has some value of positive weight.
    weights : ndarray of shape (n,), optional
        Weights of the samples.
    shrinkage : float, optional
        s in the formulas of this module, chosen by default; 0 for the maximum of the likelihood.

    Returns
    -------
    GaussianModel
    """
    w = np.ones(len(X)) if weights is None else weights
    X, w = X[w > 0], w[w > 0]
    s, there = _best_shrinkage(X, w) if shrinkage is None else float(shrinkage), ~np.isnan(X)
    share = w @ there
    mean = (w @ np.where(there, X, 0.0)) / share
    centred = np.where(there, X - mean, 0.0)
    variance = (w @ centred**2) / share
    variance = np.where(variance > 0, variance, 1e-12 * max(float(variance.mean()), np.finfo(float).tiny * 1e13))
    covariance = (centred.T * w) @ centred
    np.fill_diagonal(covariance, w.sum() * variance)
    # Half of the covariances: zeros in place of missing values make the start no covariance matrix otherwise.
    covariance = (covariance + np.diag((w.sum() + 2 * s) * variance)) / (2 * (w.sum() + s))
    objectives: list[float] = []
    for step in range(_STEPS + 1):
        done = _Completion(X, mean, covariance)
        penalty = done.logdet + float(np.diag(done.precision) @ variance)
        objectives.append(done.log_likelihood(w) - s / 2 * penalty)
        if step == _STEPS or (step and objectives[-1] - objectives[-2] < _RISE * float(share.sum())):
            break
        move = (w @ done.centred) / w.sum()
        z = done.centred - move
        mean = mean + move
        second = (z.T * w) @ z + done.uncertain(w) + s * np.diag(variance)
        covariance = second / (w.sum() + s)
    return GaussianModel(mean, covariance, objectives)


def _best_shrinkage(X: np.ndarray, w: np.ndarray) -> float:
    """Return the shrinkage by which hidden values of the table are completed best."""
    least, there = 1 + X.shape[1] / 10, ~np.isnan(X)
    one_of = max(_HIDDEN, X.size // _MOST_HIDDEN)
    place = row_folds(np.where(there, X, 0.0), one_of)[:, None] + np.arange(X.shape[1])
    hidden = there & (place % one_of == 0)
    hidden[:, np.count_nonzero(there & ~hidden, axis=0) < 2] = False
    if not hidden.any():
        return least
    seen = np.where(hidden, np.nan, X)
    model, total = fit_gaussian(seen, w, least), w.sum()
    variance = np.diag(model.covariance)
    errors = []
    for times in _TIMES:
        # The second moments found, with another share of their diagonal.
        covariance = model.covariance * ((total + least) / (total + times * least))
        np.fill_diagonal(covariance, variance)
        left = GaussianModel(model.mean, covariance).fill(seen) - X
        errors.append(float(w @ np.sum(np.where(hidden, left**2 / variance, 0.0), axis=1)))
    return least * _TIMES[int(np.argmin(errors))]
