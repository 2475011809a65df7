"""The rows of every fit of an ensemble: complementary halves, subsamples or bootstraps that belong to the rows.

Rows are put in the order of a hash of their values before they are drawn, so the order in which a table lists its rows
or columns has no say in which rows come together.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from .._core import Array, Resample, resamples, row_hashes, units

Scheme = Literal["complementary_pairs", "subsample", "bootstrap"]
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)
FEWEST = 4
"""With fewer rows, or groups, there are no two halves worth fitting."""


def count_units(groups: Any, n: int) -> int:
    """Return how many rows, or groups of rows, there are to draw from."""
    return int(units(groups, n)[0].max(initial=-1)) + 1


def draw_rows(
    X: Array, scheme: Scheme, n_resamples: int, fraction: float, groups: Any, seed: np.random.SeedSequence
) -> list[Resample]:
    """Return the rows of every fit.

    Parameters
    ----------
    X : array of shape (n, m)
        The checked table.
    resampling : {"complementary_pairs", "subsample", "bootstrap"}
        "complementary_pairs" draws n_resamples / 2 pairs of halves without a common row; for the others see
        :func:`stableselect._core._resampling.resamples`.
    n_resamples : int
        Number of fits.
    fraction : float
        Share of the rows in a subsample.
    groups : array-like of shape (n,) or None
        Rows that are drawn together.
    seed : SeedSequence
        Root of the draws.

    Returns
    -------
    list of Resample
        Those of a pair follow each other.
    """
    n = int(X.shape[0])
    order = np.argsort(row_hashes(X), kind="stable")
    if groups is not None:
        groups = np.asarray(groups)[order]
    if scheme == "complementary_pairs":
        drawn = _pairs(units(groups, n)[0], n_resamples // 2, seed)
    else:
        drawn = resamples(n, scheme, n_resamples, fraction=fraction, groups=groups, random_state=seed)
    return [_reordered(part, order) for part in drawn]


def _pairs(labels: np.ndarray, n_pairs: int, seed: np.random.SeedSequence) -> list[Resample]:
    """Return pairs of halves; of an odd number of units one is left out of each pair."""
    size = int(labels.max()) + 1
    half = size // 2
    found = []
    for stream in seed.spawn(n_pairs):
        place = np.random.default_rng(stream).permutation(size)[labels]
        found += [Resample(np.flatnonzero(place // half == side)) for side in (0, 1)]
    return found


def _reordered(part: Resample, order: np.ndarray) -> Resample:
    rows = order[part.rows]
    ascending = np.argsort(rows)
    return Resample(rows[ascending], None if part.counts is None else part.counts[ascending])
