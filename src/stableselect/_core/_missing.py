"""Mean and covariance of a table with missing values, by expectation-maximisation of a Gaussian model.

Values are taken to be missing at random. With K the inverse of the covariance C, the missing values of a sample have,
given those that are there, the mean ``mu_m - K_mm^-1 K_mo (x_o - mu_o)`` and the covariance ``K_mm^-1``: only matrices
of the missing features are inverted, those of samples with equally many of them at once. Every step completes the
samples by these means and takes mean and second moments S of the result, conditional covariances included; then
``C = (n S + s D) / (n + s)``, where D are the variances of the values that are there.
Steps never lower ``log likelihood - s/2 (log det C + tr C^-1 D)``, which is what they maximise. They end when it rises
by less than 1e-6 per value, after 200 at most.

s is at least 1 + m / 10 (m features), and otherwise the one by which values that are there, hidden, are completed best:
a tenth of those of every sample and feature, in large tables fewer. Complete tables hide nothing: their moments tell
how well features are predicted from all others, by generalised cross-validation, and no step is needed. The largest
leaves their means, as where features have nothing in common.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from ._arrays import to_numpy
from ._folds import row_folds
from ._moments import Moments

Pieces: TypeAlias = Callable[[], Iterable[tuple[np.ndarray, np.ndarray]]]
"""Reads a table, piece by piece, with the weights of its samples; every step does."""

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
    return is_too_much(X.shape[1], work_of_gaps(X))


def work_of_gaps(X: np.ndarray) -> float:
    """Return the multiplications that the gaps of samples take in a step."""
    return float(np.sum(np.isnan(X).sum(axis=1, dtype=np.float64) ** 3))


def is_too_much(n_features: int, work: float) -> bool:
    """Tell whether a step takes too long, by the work of all gaps."""
    return n_features > MOST_FEATURES or work + float(n_features) ** 3 > _MOST_WORK


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
        return _Completion(X, self.mean, self._inverted).filled

    @cached_property
    def _inverted(self) -> tuple[np.ndarray, float]:
        return _inverse(self.covariance)

    def part(self, features: np.ndarray) -> GaussianModel:
        """Return the model of some of the features."""
        return GaussianModel(self.mean[features], self.covariance[np.ix_(features, features)])

    def moments(self, X: np.ndarray, weights: np.ndarray | None, rows: np.ndarray | None = None) -> Moments:
        """Return the moments of some samples, completed, with the conditional covariance of what was missing."""
        rows = np.arange(len(X)) if rows is None else rows
        w = None if weights is None else weights[rows]
        done = _Completion(X[rows], self.mean, self._inverted)
        if not len(rows) or (w is not None and not w.any()):
            return Moments()
        found = Moments()._add(done.filled, w, primal=True)
        found._mirror()
        found._second = found._second + done.uncertain(w)
        return found


class _Completion:
    """Samples completed by a Gaussian, in centred form, and what is left uncertain of them."""

    def __init__(self, X: np.ndarray, mean: np.ndarray, inverted: tuple[np.ndarray, float]) -> None:
        self.precision, self.logdet = inverted
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
    some = X[w > 0], w[w > 0]
    return fit_gaussian_pieces(lambda: [some], shrinkage)


def fit_gaussian_pieces(pieces: Pieces, shrinkage: float | None = None) -> GaussianModel:
    """Fit a Gaussian, as :func:`fit_gaussian` does, to a table that is read anew for every step; weights are not 0."""
    return _fitted(pieces, _best_shrinkage(pieces) if shrinkage is None else float(shrinkage))


def gaussian_of_moments(moments: Moments) -> GaussianModel:
    """Return the Gaussian of complete samples, whose moments tell all.

    The shrinkage is the one by which features are predicted best from all others, by generalised cross-validation; of
    more than 3000 features or of two samples it is the least.
    """
    mean, second, total, n = to_numpy(moments.mean), to_numpy(moments.gram), moments.weight_sum, moments.n_samples
    m, variance = len(mean), _positive(np.diag(second))

    def shrunk(s: float, second: np.ndarray, variance: np.ndarray) -> np.ndarray:
        return (total * second + s * np.diag(variance)) / (total + s)

    least, errors, unit = 1 + m / 10, [], np.sqrt(variance)
    alike = second / unit[:, None] / unit
    for s in least * np.array(_TIMES if m <= MOST_FEATURES and n > 2 else ()):
        inverse = _inverse(shrunk(s, alike, np.ones(m)))[0]
        residuals = np.einsum("ij,jk,ik->i", inverse, alike, inverse, optimize=True) / np.diag(inverse) ** 2
        # Degrees of freedom, by the inverses of the covariances of all features but one.
        others = np.sum(np.diag(inverse)[:, None] - inverse**2 / np.diag(inverse), axis=0)
        freedom = m - 1 - s / (total + s) * others
        errors.append(float(np.sum(residuals / (1 - (1 + freedom) / n) ** 2)))
    return GaussianModel(mean, shrunk(least * _TIMES[int(np.argmin(errors))] if errors else least, second, variance))


def _positive(variance: np.ndarray) -> np.ndarray:
    """Return variances, those of constant features small in place of 0."""
    return np.where(variance > 0, variance, 1e-12 * max(float(variance.mean()), np.finfo(float).tiny * 1e13))


def _fitted(pieces: Pieces, s: float) -> GaussianModel:
    m = next(iter(pieces()))[0].shape[1]
    share, sums, total = np.zeros(m), np.zeros(m), 0.0
    for X, w in pieces():
        there = ~np.isnan(X)
        share, sums, total = share + w @ there, sums + w @ np.where(there, X, 0.0), total + float(w.sum())
    mean, squares, products = sums / share, np.zeros(m), np.zeros((m, m))
    for X, w in pieces():
        centred = np.where(np.isnan(X), 0.0, X - mean)
        squares, products = squares + w @ centred**2, products + (centred.T * w) @ centred
    variance = _positive(squares / share)
    np.fill_diagonal(products, total * variance)
    # Half of the covariances: zeros in place of missing values make the start no covariance matrix otherwise.
    covariance = (products + np.diag((total + 2 * s) * variance)) / (2 * (total + s))
    objectives: list[float] = []
    for step in range(_STEPS + 1):
        inverted = _inverse(covariance)
        objective = -s / 2 * (inverted[1] + float(np.diag(inverted[0]) @ variance))
        move, second = np.zeros_like(mean), s * np.diag(variance)
        for X, w in pieces():
            done = _Completion(X, mean, inverted)
            objective += done.log_likelihood(w)
            move += w @ done.centred
            second += (done.centred.T * w) @ done.centred + done.uncertain(w)
        objectives.append(objective)
        if step == _STEPS or (step and objectives[-1] - objectives[-2] < _RISE * float(np.sum(share))):
            break
        move /= total
        mean, covariance = mean + move, (second - total * np.outer(move, move)) / (total + s)
    return GaussianModel(mean, covariance, objectives)


def _best_shrinkage(pieces: Pieces) -> float:
    """Return the shrinkage by which hidden values of the table are completed best."""
    sizes = [X.shape for X, _ in pieces()]
    m = sizes[0][1]
    least, one_of = 1 + m / 10, max(_HIDDEN, sum(n for n, _ in sizes) * m // _MOST_HIDDEN)

    def hidden(X: np.ndarray) -> np.ndarray:
        there = ~np.isnan(X)
        place = row_folds(np.where(there, X, 0.0), one_of)[:, None] + np.arange(m)
        return there & (place % one_of == 0)

    visible = sum(np.count_nonzero(~np.isnan(X) & ~hidden(X), axis=0) for X, _ in pieces())
    enough = np.asarray(visible) > 1

    def seen() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return ((np.where(hidden(X) & enough, np.nan, X), w) for X, w in pieces())

    model, total = _fitted(seen, least), sum(float(w.sum()) for _, w in pieces())
    variance, models = np.diag(model.covariance), []
    for times in _TIMES:
        # The second moments found, with another share of their diagonal.
        covariance = model.covariance * ((total + least) / (total + times * least))
        np.fill_diagonal(covariance, variance)
        models.append(GaussianModel(model.mean, covariance))
    errors = np.zeros(len(models))
    for X, w in pieces():
        gone = hidden(X) & enough
        gaps = np.where(gone, np.nan, X)
        for place, one in enumerate(models):
            errors[place] += w @ np.sum(np.where(gone, (one.fill(gaps) - X) ** 2 / variance, 0.0), axis=1)
    return least * _TIMES[int(np.argmin(errors))]
