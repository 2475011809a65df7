"""Steps of forward searches settled in double precision: which of a few features is the best.

With L L' = C_SS + alpha I for the features S that a search found, the directions it took out are the rows of L^-1 C_S'.
Of feature j they hold the column A_j = L^-1 C_Sj. After t steps, with the entries of later ones set to zero in A_j and
B_j = L^-T A_j, what is left of it is R_j = C_j - C_S B_j, so that

    R_jj = C_jj - |A_j|^2,   |R_j|^2 = (C^2)_jj - 2 B_j'(C^2)_Sj + B_j'(C^2)_SS B_j.

That takes C and C^2 among the features in question only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ._deflation import in_a_row
from ._forward_search import DETERMINED, TIE, TRUST, Lane, gain_rounding
from ._gram import Gram
from ._inverse import inverse_factors
from ._threads import side_by_side

_VALUES = 2**18
"""Values of an array that searches are settled with at once; with more of them another thread pays."""
_MOST = 16
"""With more features in question than this for every step, a search tells too little."""


class Steps(NamedTuple):
    """What searches side by side found, and what is open of it.

    Attributes
    ----------
    order : ndarray of int of shape (L, k)
        The features of every lane.
    lengths : ndarray of shape (L, k)
        |w|^2 of the directions taken out, for moments of mean variance one.
    trusted : ndarray of bool of shape (L,)
        Whether all else is as it was found.
    lane, step, feature : ndarrays of int
        Features that may have been better than the one chosen at a step.
    """

    order: np.ndarray
    lengths: np.ndarray
    trusted: np.ndarray
    lane: np.ndarray
    step: np.ndarray
    feature: np.ndarray


def certain_features(lanes: Sequence[Lane], steps: Steps) -> list[list[int] | None]:
    """Return the first features of every lane, up to the first one that must be another than was found.

    Parameters
    ----------
    lanes : sequence of (Gram, float)
        The moments and the ridge weight of each search; those in a row with the same moments share their products.
    steps : Steps
        What was found.

    Returns
    -------
    list of list of int, or None
        All features where none must be another; None for lanes that are not trusted, or cannot be settled.
    """
    m, k = lanes[0][0].n_features, steps.order.shape[1]
    certain: list[list[int] | None] = [
        own if trusted else None for own, trusted in zip(steps.order.tolist(), steps.trusted, strict=True)
    ]
    for at in np.flatnonzero(np.bincount(steps.lane, minlength=len(lanes)) > _MOST * k).tolist():
        certain[at] = None
    open_ = np.array([own is not None for own in certain])[steps.lane]
    places = steps.lane[open_] * k + steps.step[open_]
    if not len(places):
        return certain
    chosen = np.unique(places)  # where something is open, the feature found is in question too
    keys = [places * m + steps.feature[open_], chosen * m + steps.order.ravel()[chosen]]
    place, feature = np.divmod(np.unique(np.concatenate(keys)), m)
    lane, step = np.divmod(place, k)
    ends = np.searchsorted(lane, np.arange(len(lanes) + 1))
    asked = np.flatnonzero(np.diff(ends))
    row, column = np.repeat(range(len(asked)), np.diff(ends)[asked]), np.arange(len(place)) - ends[lane]
    others, before = np.zeros((2, len(asked), column.max() + 1), dtype=np.intp)
    others[row, column], before[row, column] = feature, step
    at_once = max(1, _VALUES // (k * max(k, others.shape[1])))

    def settle(start: int) -> np.ndarray:
        """Compute what the features in question gain in some lanes."""
        own, part = asked[start : start + at_once], slice(start, start + at_once)
        return _gains([lanes[at] for at in own], steps.order[own], steps.lengths[own], before[part], others[part])

    gains, slack, left = np.concatenate(side_by_side(settle, range(0, len(asked), at_once)), axis=1)[:, row, column]
    starts = np.flatnonzero(np.diff(place, prepend=-1))
    group = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(place)))
    tied = gains + slack >= np.maximum.reduceat(gains - slack, starts)[group]
    most = np.maximum.reduceat(np.where(tied, left, 0.0), starts)[group]
    best = np.flatnonzero(tied & (left > 0) & (left >= DETERMINED * most))  # ties go to the first of these
    known, first = np.unique(group[best], return_index=True)
    if len(known) < len(starts):
        for at in np.unique(lane[starts[np.setdiff1d(np.arange(len(starts)), known)]]).tolist():
            certain[at] = None
    winners = best[first]
    other = feature[winners] != steps.order[lane[winners], step[winners]]
    for at in winners[other][::-1].tolist():  # the first step last
        before = certain[lane[at]]
        if before is not None:
            certain[lane[at]] = [*steps.order[lane[at], : step[at]].tolist(), int(feature[at])]
    return certain


def _gains(
    lanes: Sequence[Lane], order: np.ndarray, lengths: np.ndarray, steps: np.ndarray, others: np.ndarray
) -> np.ndarray:
    """Return what features gain at some steps of searches, what rounding may add to that, and what is left of them.

    Parameters
    ----------
    lanes : sequence of (Gram, float)
        The moments and the ridge weight of each search; those with the same moments stand in a row.
    order : ndarray of int of shape (L, k)
        The features chosen.
    lengths : ndarray of shape (L, k)
        |w|^2 of the directions taken out, for moments of mean variance one.
    steps, others : ndarrays of int of shape (L, P)
        The number of features chosen before, and the feature.

    Returns
    -------
    ndarray of shape (3, L, P)
        The gain of one that may not be chosen is minus infinity, and nothing is left of it. All are unknown where the
        features chosen are combinations of each other.
    """
    k, alphas = order.shape[1], np.array([alpha for _, alpha in lanes])[:, None]
    runs = in_a_row([gram for gram, _ in lanes])
    traces = np.concatenate([np.full((len(order[run]), 1), gram.trace()) for gram, run in runs])
    parts = side_by_side(lambda own: _terms(own[0], order[own[1]], others[own[1]]), runs)
    M, C, D_S, D, variance, own, squares = (np.concatenate(terms) for terms in zip(*parts, strict=True))
    H, pivots = inverse_factors(M, [alpha for _, alpha in lanes])
    A = H.transpose(0, 2, 1) @ C
    A *= np.arange(k)[:, None] < steps[:, None, :]
    B = H @ A
    with np.errstate(divide="ignore", invalid="ignore"):  # where there are no factors, or nothing varies
        growth = variance / ((variance + alphas) * pivots)
        h = own - np.einsum("ijk,ijk->ik", A, A)
        g = squares + np.einsum("ijk,ijk->ik", B, D_S @ B - 2 * D)
        size = own + (growth[:, None, :] @ np.square(A, out=A))[:, 0, :]
        totals = np.zeros((len(lanes), k + 1))
        np.cumsum(growth * lengths * (traces / lanes[0][0].n_features), axis=1, out=totals[:, 1:])
        total = traces + np.take_along_axis(totals, steps, axis=1)
        usable = (h > TRUST * own) & (g > 0)
        pivot = np.where(usable, h + alphas, 1.0)
        gain = g / pivot
        slack = gain_rounding(g, pivot, size, total, np) + TIE * np.abs(gain)
        found = np.stack([np.where(usable, gain, -np.inf), slack, np.where(usable, pivot / own, 0.0)])
    found[:, (pivots <= 0).any(axis=1)] = np.nan
    return found


def _terms(gram: Gram, order: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return C_SS, C_So, (C^2)_SS, (C^2)_So, and the diagonals of C_SS, C_oo and (C^2)_oo, of features S and o."""
    every = np.unique(np.concatenate([order.ravel(), others.ravel()]))
    C, D = gram.rows(every)[:, every], gram.squares_among(every)
    S, last = np.searchsorted(every, order), np.searchsorted(every, others)
    among, beside = (S[:, :, None] * len(every) + at[:, None, :] for at in (S, last))
    variance = C.diagonal()
    terms = C.take(among), C.take(beside), D.take(among), D.take(beside)
    return *terms, variance[S], variance[last], D.diagonal()[last]
