r"""How sure a reconstructed value is, and whether a sample is like those the map was fitted on.

Both come from samples held out of the selection and of the map. With r_ij the residual of feature j in a held-out
sample i, whose leverage in the samples it was held out of is h_i = (1 + d_i^2) / n, d_i its Mahalanobis distance from
them in the selected features, a new sample of leverage h has the standard deviation

    s_j sqrt((1 + h) / (1 + mean h)),    s_j^2 = mean_i r_ij^2.

The residuals hold average leverage and the noise of the training samples already; only the noise that the selected
features have beyond that is added. An interval is that many standard deviations to either side as the held-out
residuals took themselves, feature by feature: the ceil((n + 1) p)-th smallest of them covers a fraction p of new
samples, whatever their distribution, if these are like the held-out ones [1]_.

The covariance behind the distances is shrunk [2]_, so that they exist with fewer samples than features.

References
----------
.. [1] J. Lei, M. G'Sell, A. Rinaldo, R. J. Tibshirani and L. Wasserman, "Distribution-free predictive inference for
   regression", Journal of the American Statistical Association 113, 2018.
.. [2] O. Ledoit and M. Wolf, "A well-conditioned estimator for large-dimensional covariance matrices", Journal of
   Multivariate Analysis 88, 2004.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from statistics import NormalDist

import numpy as np
from sklearn.covariance import ledoit_wolf

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
"""Coverages whose factors are kept; those between them are interpolated."""
MARGIN = 0.5
"""How far samples may leave what was seen before that is worth a warning: half as far again."""
_USUAL = 0.99
"""The fraction of held-out samples whose distances are usual."""
_ENOUGH = 50
"""So many residuals of a feature, from splits that discarded it, are enough."""
_MOST = 1 << 53
"""More samples than this are not counted exactly in floating point, and no table has them."""
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


@dataclass(frozen=True, eq=False)
class Calibration:
    """What is needed to say how sure a reconstruction is, and whether samples are like those fitted on.

    Attributes
    ----------
    n_samples, n_held_out : int
        Samples that the map was fitted on, and those held out of a selection and a map of their own.
    center, whitening, low, high : ndarrays of shape (k,), (k, k), (k,) and (k,)
        The selected features of the samples fitted on: means, a map to uncorrelated coordinates, and range.
    distance_limit : float
        Distance beyond which a sample is unlike those fitted on: half as far again as 99 % of the held-out ones keep,
        and at least that of every sample fitted on.
    mean_leverage : float
        Mean leverage of the held-out samples.
    std : ndarray of shape (m,)
        Root mean square of the held-out residuals of every feature; for a selected one, predicted from the others.
    levels : ndarray of shape (q,)
        Coverages.
    factors : ndarray of shape (m, q)
        By how many standard deviations to either side an interval of each coverage reaches.
    """

    n_samples: int
    n_held_out: int
    center: np.ndarray
    whitening: np.ndarray
    low: np.ndarray
    high: np.ndarray
    distance_limit: float
    mean_leverage: float
    std: np.ndarray
    levels: np.ndarray
    factors: np.ndarray

    def __post_init__(self) -> None:
        k, m, q = len(self.center), len(self.std), len(self.levels)
        shapes = {"center": (k,), "whitening": (k, k), "low": (k,), "high": (k,)}
        shapes |= {"std": (m,), "levels": (q,), "factors": (m, q)}
        for name, shape in shapes.items():
            array = getattr(self, name)
            if array.shape != shape or array.dtype.kind not in "iuf" or not np.isfinite(array).all():
                raise ValueError(f"{name} of the calibration should be finite numbers of shape {shape}")
        if not all(1 <= count <= _MOST for count in (self.n_samples, self.n_held_out)):
            raise ValueError(f"the calibration should be of 1 to {_MOST} samples")
        if not 0 <= self.mean_leverage < np.inf:
            raise ValueError("the calibration should have a finite leverage of at least 0")
        if not 0 <= self.distance_limit < np.inf or (self.std < 0).any():
            raise ValueError("the calibration should have no negative deviation or distance")

    def check(self, k: int, m: int) -> None:
        """Raise if this is not of k selected features of m."""
        if (len(self.center), len(self.std)) != (k, m):
            raise ValueError("the calibration is of other features")

    @classmethod
    def of(cls, selected: np.ndarray, held_out: Sequence[HeldOutResiduals], n_samples: int) -> Calibration:
        """Return the calibration of a map.

        Parameters
        ----------
        selected : ndarray of shape (n, k)
            The selected features of the samples that the map was fitted on, or of many of them.
        held_out : sequence of HeldOutResiduals
            One for every split.
        n_samples : int
            Number of samples that the map was fitted on.
        """
        residuals = np.concatenate([part.residuals for part in held_out])
        leverage = np.concatenate([part.leverage for part in held_out])
        _prefer_discarded(residuals, held_out)
        mean_leverage = float(leverage.mean())
        there = np.count_nonzero(~np.isnan(residuals), axis=0)
        if not there.all():
            raise ValueError(f"Feature {int(np.argmin(there))} has no value in any sample held out; leave it out.")
        std = np.sqrt(np.nansum(residuals**2, axis=0) / there)
        # The residuals are scaled in place: they can be as large as the table.
        np.abs(residuals, out=residuals)
        residuals /= np.sqrt((1 + leverage) / (1 + mean_leverage))[:, None]
        residuals /= np.where(std > 0, std, 1.0)
        residuals.sort(axis=0)  # NaN last
        places = np.ceil((there[:, None] + 1) * np.array(LEVELS) - 1e-9).astype(np.intp)
        places = np.clip(places, 1, there[:, None]) - 1
        model = Model.of(selected)
        usual = (1 + MARGIN) * np.quantile(np.concatenate([part.distances for part in held_out]), _USUAL)
        return cls(
            n_samples=n_samples,
            n_held_out=len(leverage),
            center=model.center,
            whitening=model.whitening,
            low=selected.min(axis=0),
            high=selected.max(axis=0),
            distance_limit=float(max(usual, model.distances(selected).max())),
            mean_leverage=mean_leverage,
            std=std,
            levels=np.array(LEVELS),
            factors=np.take_along_axis(residuals, places.T, axis=0).T,
        )

    def novelty(self, values: np.ndarray) -> np.ndarray:
        """Return how far every sample is from those fitted on; above 1 it is unlike them.

        Parameters
        ----------
        values : ndarray of shape (n, k)
            The selected features. Where one is missing, the distance is that in the others.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            distances = self._distances(values)
            return np.where(np.isnan(distances), np.inf, distances) / (self.distance_limit or 1.0)

    def deviations(
        self, values: np.ndarray, coefficients: np.ndarray, support: np.ndarray, noise: np.ndarray | float = 0.0
    ) -> np.ndarray:
        """Return the standard deviation of every reconstructed value.

        Parameters
        ----------
        values : ndarray of shape (n, k)
            The selected features. One that is missing is as uncertain as its prediction from the other ones.
        coefficients : ndarray of shape (k, m)
            The map.
        support : ndarray of bool of shape (m,)
            The selected features.
        noise : float or ndarray of shape (k,)
            Standard deviation of what the selected features have in noise beyond that of the samples fitted on.

        Returns
        -------
        ndarray of shape (n, m)
        """
        with np.errstate(over="ignore", invalid="ignore"):
            leverage = (1 + self._distances(values) ** 2) / self.n_samples
            leverage[np.isnan(leverage)] = np.inf
            variance = np.outer((1 + leverage) / (1 + self.mean_leverage), self.std**2)
            variance[:, self.std == 0] = 0.0
            extra = np.where(np.isnan(values), self.std[support], 0.0) ** 2 + np.square(noise)
            variance += extra @ coefficients**2
            variance[:, support] = extra
            return np.sqrt(variance)

    def reach(self, level: float, support: np.ndarray) -> np.ndarray:
        """Return how many standard deviations an interval goes to either side, for every feature.

        Parameters
        ----------
        level : float
            The fraction of values that an interval is to hold.
        support : ndarray of bool of shape (m,)
            The selected features, which are uncertain by their noise alone: it is taken to be normal.
        """
        low, high = self.levels[0], self.levels[-1]
        if not isinstance(level, Real) or not low <= level <= high:
            raise ValueError(f"level must be a fraction from {low:g} to {high:g} but is {level!r}; change level.")
        at = int(np.clip(np.searchsorted(self.levels, level), 1, len(self.levels) - 1))
        below, above = self.levels[at - 1 : at + 1]
        part = (float(level) - below) / (above - below)
        found = (1 - part) * self.factors[:, at - 1] + part * self.factors[:, at]
        return np.where(support, NormalDist().inv_cdf((1 + float(level)) / 2), found)

    def is_short_of(self, level: float) -> bool:
        """Tell whether too few samples were held out for this coverage: intervals then reach to the largest error."""
        return (self.n_held_out + 1) * level > self.n_held_out

    def unlike(self, values: np.ndarray, names: Sequence[str], samples: str = "samples") -> str | None:
        """Return a sentence about samples that are unlike those fitted on, None where there are none.

        Parameters
        ----------
        values : ndarray of shape (n, k)
            The selected features.
        names : sequence of str
            What they are called.
        samples : str
            What samples are called.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            margin = MARGIN * (self.high - self.low)
            outside = (values < self.low - margin) | (values > self.high + margin)
        far = self.novelty(values) > 1
        count = int(np.count_nonzero(outside.any(axis=1) | far))
        if not count:
            return None
        left = outside.sum(axis=0)
        told = []
        for j in np.argsort(-left, kind="stable")[:3]:
            if left[j]:
                seen = values[outside[:, j], j]
                most = seen[np.argmax(np.abs(seen - self.center[j]))]
                told.append(f"{names[j]!r} in {left[j]} ({most:.4g}; {self.low[j]:.4g} to {self.high[j]:.4g} was seen)")
        more = int(np.count_nonzero(left)) - len(told)
        parts = [f"far out of range: {', '.join(told)}{f' and {more} more' if more else ''}"] * bool(told)
        if far.any():
            parts.append(f"too far off by all selected together: {np.count_nonzero(far)}")
        return (
            f"Unlike the {samples} selected on: {count} of {len(values)} ({'; '.join(parts)}). What is reconstructed "
            "from them is extrapolated."
        )

    def _distances(self, values: np.ndarray) -> np.ndarray:
        return Model(self.center, self.whitening).distances(values)


def _prefer_discarded(residuals: np.ndarray, held_out: Sequence[HeldOutResiduals]) -> None:
    """Make NaN of residuals of features where they were selected, if there are enough others."""
    supports = [np.broadcast_to(part.support, part.residuals.shape) for part in held_out]
    selected = np.concatenate(supports)
    enough = np.count_nonzero(~selected & ~np.isnan(residuals), axis=0) >= _ENOUGH
    residuals[selected & enough] = np.nan
