"""A paired bootstrap over datasets and splits: how sure is it that one method beats another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_RESAMPLES = 10_000
_LEVEL = 0.95


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
