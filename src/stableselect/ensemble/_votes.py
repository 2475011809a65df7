"""From the choices of many fits to one choice: by selection frequency, by mean rank, or by the votes explained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy import sparse

from .._core import TIE, Array, Moments, index, namespace, normalised_moments, to_numpy

Aggregate = Literal["representative", "frequency", "rank"]
_WEIGHED = 4096
"""Columns compared with each other at most, those with the most votes: a matrix of 128 MiB."""
_EXPLAINED = 1e-9
"""A feature with less than this fraction of its variance left is a combination of the kept ones."""


def mean_ranks(chosen: Sequence[np.ndarray], m: int) -> np.ndarray:
    """Return the mean rank of every feature; those that a fit did not keep share its mean remaining rank.

    Parameters
    ----------
    chosen : sequence of int arrays
        The features each fit kept, in its order of selection.
    m : int
        Number of features.
    """
    total = np.zeros(m)
    for features in chosen:
        ranks = np.full(m, (len(features) + m + 1) / 2)
        ranks[features] = np.arange(1, len(features) + 1)
        total += ranks
    return total / len(chosen)


def by_frequency(frequency: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Return all features, most frequent first; ties go to the better mean rank, then to the lowest index."""
    return np.lexsort((ranks, -frequency))


def by_representation(
    X: Array,
    k: int,
    frequency: np.ndarray,
    ranks: np.ndarray,
    include: Sequence[int] = (),
    exclude: Sequence[int] = (),
) -> list[int]:
    r"""Return k features that explain the votes, so that interchangeable features share theirs.

    With f the selection frequencies and R the features' correlations once the kept features are taken out of all, the
    next feature is the one of largest

    .. math:: f_j \sum_i f_i R_{ij}^2 / R_{jj},

    the votes for it times the votes it explains beyond those that the kept ones explain already. Columns without votes
    or with nothing left to explain come last, by frequency.

    Parameters
    ----------
    X : array, tensor or CSR matrix of shape (n, m)
        The whole table.
    k : int
        Columns to keep.
    frequency, ranks : ndarray of shape (m,)
        Selection frequency and mean rank of every feature.
    include : sequence of int
        Columns that come first.
    exclude : sequence of int
        Columns that do not come at all.
    """
    barred, forced = set(exclude), set(include)
    order = [int(j) for j in by_frequency(frequency, ranks) if j not in barred]
    first = [*include, *(j for j in order if frequency[j] > 0 and j not in forced)][:_WEIGHED]
    voted = np.sort(np.asarray(first, dtype=np.int64))
    votes, R = frequency[voted], _correlations(X, voted)
    place = {int(j): p for p, j in enumerate(voted)}
    kept: list[int] = []
    free = np.ones(len(voted), dtype=bool)
    while len(kept) < min(k, len(voted)):
        left = np.diagonal(R)
        open_ = free & (left > _EXPLAINED)
        if len(kept) < len(include):
            p = place[include[len(kept)]]
        elif open_.any():
            gain = np.where(open_, votes * (votes @ R**2) / np.where(open_, left, 1.0), -1.0)
            p = int(np.argmax(gain >= gain.max() * (1 - TIE)))
        else:
            break
        kept.append(int(voted[p]))
        free[p] = False
        if left[p] > _EXPLAINED:
            R -= np.outer(R[:, p], R[p] / left[p])
    known = set(kept)
    return kept + [j for j in order if j not in known][: k - len(kept)]


def _correlations(X: Array, features: np.ndarray) -> np.ndarray:
    """Return the correlations of some features; those of a constant one are 0, with itself too."""
    xp = namespace(X)
    part = X[:, features] if sparse.issparse(X) else xp.take(X, index(features, X, xp), axis=1)
    C = to_numpy(normalised_moments(Moments.from_array(part))[0].dense())
    spread = np.sqrt(np.maximum(np.diagonal(C), 0.0))
    inverse = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
    return C * inverse[:, None] * inverse
