"""Nogueira's stability of sets with an interval, and Wilson's interval for a frequency."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm, t


def nogueira(masks: np.ndarray) -> tuple[float, float]:
    r"""Return Nogueira's measure and its asymptotic standard error.

    With M runs, p_f the share of runs that select column f and k the mean set size, the measure is
    1 - (mean_f M/(M-1) p_f (1 - p_f)) / (k/m (1 - k/m)); its standard error is (2/M) sqrt(sum_i (Phi_i - mean Phi)^2).

    Parameters
    ----------
    masks : ndarray of shape (n_runs, m)
        One set a row, two rows at least.

    Returns
    -------
    value, standard_error : float
        Both NaN where no run selected anything or every run everything, or there is no column; the standard error also
        for two runs.

    References
    ----------
    Nogueira, Sechidis & Brown (2018), On the stability of feature selection algorithms, JMLR 18(174).
    """
    Z = np.asarray(masks, dtype=np.float64)
    n_runs, m = Z.shape
    if m == 0:
        return float("nan"), float("nan")
    sizes, shares = Z.mean(axis=1), Z.mean(axis=0)
    mean = shares.mean()
    chance = mean * (1 - mean)
    if chance == 0:
        return float("nan"), float("nan")
    value = float(1 - n_runs / (n_runs - 1) * np.mean(shares * (1 - shares)) / chance)
    if n_runs == 2:
        return value, float("nan")
    influence = (Z @ shares / m - sizes * mean + value / 2 * (2 * sizes * mean - sizes - mean + 1)) / chance
    return value, float(2 / n_runs * np.sqrt(np.sum((influence - influence.mean()) ** 2)))


def stability_interval(value: float, error: float, n_runs: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return an interval for Nogueira's measure that allows for few runs and stays between -1 and 1.

    It is Student's, with one degree of freedom less than runs, on the scale of Fisher's transformation.

    Parameters
    ----------
    value, error : float
        What :func:`nogueira` gives.
    n_runs : int
        Number of sets.
    confidence : float, default=0.95
        Level of the interval.

    Returns
    -------
    low, high : float
        NaN where value or error is. Sets that are all equal give an interval of no width.
    """
    if not np.isfinite(error) or error == 0:
        return (value, value) if error == 0 else (float("nan"), float("nan"))
    centre = np.arctanh(np.clip(value, -1 + 1e-12, 1 - 1e-12))
    half = float(t.ppf((1 + confidence) / 2, n_runs - 1)) * error / max(1 - value**2, 1e-12)
    low, high = np.tanh([centre - half, centre + half])
    return float(low), float(high)


def wilson_interval(counts: np.ndarray, n_runs: int, confidence: float) -> np.ndarray:
    """Return Wilson's interval for the fraction that each count is of ``n_runs`` (counts x 2)."""
    z = float(norm.ppf((1 + confidence) / 2))
    p = np.asarray(counts, dtype=np.float64) / n_runs
    centre = p + z**2 / (2 * n_runs)
    half = z * np.sqrt(p * (1 - p) / n_runs + z**2 / (4 * n_runs**2))
    ends = np.stack([centre - half, centre + half], axis=1) / (1 + z**2 / n_runs)
    # No and every run end at 0 and 1 but for rounding.
    ends[p == 0, 0], ends[p == 1, 1] = 0.0, 1.0
    return ends
