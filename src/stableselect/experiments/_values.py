"""The numbers that a comparison gives, and a paired bootstrap over datasets and splits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

_RESAMPLES = 10_000
_LEVEL = 0.95


@dataclass(frozen=True)
class Value:
    """A number over the runs of one label.

    Attributes
    ----------
    mean : float
        Mean over the splits of the mean over the seeds, or mean over the repeats.
    spread : float or None
        Standard error over the splits, or standard deviation over the repeats; None for a single one.
    count : int
        Number of runs in the mean.
    failed : int
        Number of runs that failed.
    splits, splits_begun : int
        Splits in the mean, and splits that some label of the comparison has begun.
    seeds, seeds_shared : int
        Seeds of a split in the mean, and seeds that the seeded labels of the comparison share.
    """

    mean: float
    spread: float | None
    count: int
    failed: int = 0
    splits: int = 0
    splits_begun: int = 0
    seeds: int = 0
    seeds_shared: int = 0

    @property
    def mark(self) -> str:
        """What sets this number apart from a full comparison: "3 of 5 splits", "10 seeds"; empty where nothing does."""
        if self.splits < self.splits_begun:
            return f"{self.splits} of {self.splits_begun} splits"
        if self.failed:
            return f"{self.count} of {self.count + self.failed} runs"
        return f"{self.seeds} seeds" if self.seeds != self.seeds_shared and self.seeds > 1 else ""


@dataclass(frozen=True)
class Interval:
    """A paired difference or ratio with its 95 % interval.

    Attributes
    ----------
    mean : float
        Mean difference over the splits, or geometric mean of the ratios.
    low, high : float
        Student's t interval over the splits; NaN for a single one.
    error : float or None
        Standard error; for a ratio that of the logarithm times the mean. None for a single split.
    splits : int
        Number of splits.
    """

    mean: float
    low: float
    high: float
    error: float | None
    splits: int


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean of positive numbers."""
    return float(np.exp(np.mean(np.log(list(values)))))


def paired_interval(differences: Sequence[Sequence[float]]) -> tuple[float, float, float]:
    """Return the mean difference of two methods with its percentile interval at 95 %.

    Both methods are compared on the same samples. The mean is that over datasets of the mean over splits; a resample
    draws datasets with replacement, and for each the splits, since the splits of one dataset share its rows and are
    no substitute for further datasets.

    Parameters
    ----------
    differences : sequence of sequences of float
        For each dataset, the difference on each split.

    Returns
    -------
    mean, low, high : float

    References
    ----------
    Davison & Hinkley (1997), Bootstrap methods and their application, section 3.8 (two-stage resampling).
    """
    if not differences or any(len(part) == 0 for part in differences):
        raise ValueError(f"Every dataset needs a split, got {[len(part) for part in differences]} splits by dataset.")
    rng = np.random.default_rng(0)
    number = len(differences)
    drawn = rng.integers(number, size=(_RESAMPLES, number))
    means = np.empty((_RESAMPLES, number))
    for dataset, part in enumerate(differences):
        values = np.asarray(part, dtype=np.float64)
        places = np.nonzero(drawn == dataset)
        means[places] = values[rng.integers(len(values), size=(len(places[0]), len(values)))].mean(axis=1)
    tail = 100 * (1 - _LEVEL) / 2
    low, high = np.percentile(means.mean(axis=1), [tail, 100 - tail])
    return float(np.mean([np.mean(part) for part in differences])), float(low), float(high)
