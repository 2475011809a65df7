"""How fast a quantity falls with the number of samples: the slope of its logarithm on the logarithm of n."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student

from ..base import Figures, check_number


@dataclass(frozen=True)
class PowerLawFit(Figures):
    """Result of :func:`fit_power_law`: values of about exp(``intercept``) n^``slope``.

    Attributes
    ----------
    slope : float
        Mean over the repeats of the least-squares slope of ln value on ln n; -1 for values that fall as 1/n. NaN where
        a value is not above 0.
    interval : tuple of float
        Student's t interval for ``slope`` over the repeats; NaN for a single repeat.
    intercept : float
        Of the line of mean slope through the mean of all points.
    slopes : ndarray of shape (repeats,)
        The slope of every repeat.
    confidence : float
        Of ``interval``.
    """

    slope: float
    interval: tuple[float, float]
    intercept: float
    slopes: np.ndarray
    confidence: float

    def predict(self, sizes: ArrayLike) -> np.ndarray:
        """Return the fitted values.

        Parameters
        ----------
        sizes : array-like
            Numbers of samples.

        Returns
        -------
        ndarray
        """
        return np.exp(self.intercept) * np.asarray(sizes, dtype=np.float64) ** self.slope


def fit_power_law(sizes: ArrayLike, values: ArrayLike, *, confidence: float = 0.95) -> PowerLawFit:
    """Fit a power of n to values measured at several numbers of samples.

    Every repeat gives one slope, and the interval comes from their spread. Points of one repeat share samples where its
    training sets are nested, so they are not independent and the scatter around one common line would say too little or
    too much. With the same sizes in every repeat the mean slope is also the least-squares slope through all points.

    Parameters
    ----------
    sizes : array-like of shape (s,)
        Numbers of samples, two different ones at least.
    values : array-like of shape (repeats, s) or (s,)
        What was measured.
    confidence : float, default=0.95
        Of the interval.

    Returns
    -------
    PowerLawFit

    Notes
    -----
    Repeats drawn from one table overlap, so the interval is about other draws from this table, not about other tables.

    Examples
    --------
    >>> from stableselect.inspection import fit_power_law
    >>> round(fit_power_law([100, 200, 400], [8.0, 4.0, 2.0]).slope, 6)
    -1.0
    """
    n = np.asarray(sizes, dtype=np.float64)
    measured = np.atleast_2d(np.asarray(values, dtype=np.float64))
    confidence = check_number(confidence, "confidence", 0, 1, inside=True)
    if n.ndim != 1 or not (np.isfinite(n) & (n > 0)).all() or np.unique(n).size < 2:
        raise ValueError(f"sizes must hold two different numbers above 0 at least but is {sizes!r}; give more sizes.")
    if measured.ndim != 2 or measured.shape[1] != n.size or not measured.shape[0]:
        raise ValueError(
            f"values must hold one number for each of the {n.size} sizes in every row but has shape "
            f"{np.shape(values)}; pass one row a repeat."
        )
    if not (np.isfinite(measured) & (measured > 0)).all():
        warnings.warn("Not every value is above 0, so no power of n can be fitted: the rate is NaN.", stacklevel=2)
        return PowerLawFit(np.nan, (np.nan, np.nan), np.nan, np.full(len(measured), np.nan), confidence)
    x, y = np.log(n), np.log(measured)
    centred = x - x.mean()
    slopes = y @ centred / (centred @ centred)
    slope = float(slopes.mean())
    half = np.nan
    if slopes.size > 1:
        spread = float(slopes.std(ddof=1)) / np.sqrt(slopes.size)
        half = float(student.ppf((1 + confidence) / 2, slopes.size - 1)) * spread
    interval = float(slope - half), float(slope + half)
    return PowerLawFit(slope, interval, float(y.mean() - slope * x.mean()), slopes, confidence)
