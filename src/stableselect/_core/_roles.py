"""What a finished selection does and how good it can be at most, from the moments alone.

One pass of algebra over the chosen subset S gives the linear map that reconstructs all features, the fraction of every
feature that is explained and by whom, what each kept feature is worth, and the best replacement for it; of those for
several that fail at once, none stands in for two.

The bound on the loss of any k features, for tables with too many subsets to try, is the larger of two. k features
cannot do better than k principal components, shrunk by the same ridge, of what the prescribed features leave. And a
feature left out is predicted no better from k features than from all others, so that the loss is at least the sum of
the m - k smallest of these errors: far above the first bound where k is large.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrf
from scipy.optimize import linear_sum_assignment

from ._arrays import Array, index, namespace, to_numpy
from ._blas import invert_factor
from ._dual_gram import DualGram
from ._forward_search import BEYOND_RANK_RIDGE, EXHAUSTED, absolute_ridge, open_columns
from ._gram import LONG, Gram, column_products
from ._inverse import pseudo_inverse
from ._leading import leading_floor
from ._search_device import in_lock_step
from ._streams import Stream, summed
from ._swap_state import SwapState
from ._threads import MANY_FEATURES, begun

_EPSILON = 1e-15
_REPLACEMENTS = 3
"""Replacements looked for, of each kept feature."""
_NEAR_COPY = 1e-9
"""A feature with less than this fraction of its variance left adds nothing that second moments can tell."""
_LIKENESS = 1e-3
"""Of replacements whose costs differ by less than this fraction of the variance, the more correlated one is taken.

Where features have little in common, the next best feature of all would else stand in for any of them.
"""
_NEVER = 1e9
"""Cost of what may not be, which an assignment takes only where there is nothing else."""


@dataclass(frozen=True)
class Roles:
    """Arrays of a finished selection of k out of m features, kept features in order of selection."""

    coefficients: np.ndarray
    """k x m: the linear map from the kept features to all."""
    loss: float
    """Ridge objective, tr R / m; with weights tr WR / tr W."""
    worth: np.ndarray
    """m: fraction of the total variance lost if a kept feature is dropped, gained if another is added."""
    r2: np.ndarray
    """m: fraction of each feature's variance the kept ones explain, nan where it has none."""
    shares: np.ndarray
    """k x m: each kept feature's part of ``r2``."""
    substitutes: np.ndarray
    """k x 4: the features to take instead, the best three first, then one that stands in for no other; -1 for none."""
    costs: np.ndarray
    """k x 4: by how much the unexplained share of the variance then rises."""
    likeness: np.ndarray
    """k x 4: their correlations with the kept feature, nan where one does not vary."""

    @property
    def explaining(self) -> tuple[np.ndarray, ...]:
        """What an explanation is built from."""
        return self.r2, self.shares, self.substitutes, self.costs, self.likeness


def column_roles(
    gram: Gram,
    chosen: Sequence[int],
    alpha: float,
    exclude: Sequence[int] = (),
    weights: Array = None,
    extra: np.ndarray | None = None,
) -> Roles:
    """Work out the roles of all features for the chosen ones.

    Parameters
    ----------
    gram : Gram
        The moments C.
    chosen : sequence of int
        The kept features.
    alpha : float
        Ridge weight of the linear map.
    exclude : sequence of int
        Features never offered as a replacement.
    weights : array of length m, optional
        How much the error of every feature counts in the loss and in what features are worth.
    extra : ndarray of shape (k, m), optional
        What it costs beside the loss, as a fraction of the variance, that a feature replaces a kept one; inf where it
        may not. Decides which are best, and is not in their ``costs``.

    Returns
    -------
    Roles
    """
    xp, m = gram.xp, gram.n_features if weights is None else float(gram.xp.sum(weights))
    total = (gram.trace() if weights is None else float(xp.sum(gram.diagonal() * weights))) or 1.0
    state = SwapState(gram, chosen, alpha, None, weights)
    coefficients, loss = to_numpy(state.V), state.loss
    variance = to_numpy(state.variance)
    varies = variance > 0
    safe = np.where(varies, variance, 1.0)
    # R2 of the map itself, shrunk by the ridge or not: 1 - |x - Bx|^2 / |x|^2 = sum_a B_a (2 C_a - (C_SS B)_a) / C_jj.
    C_S = to_numpy(state.C_S)
    shares = np.where(varies, coefficients * (2 * C_S - C_S[:, list(chosen)] @ coefficients) / safe, 0.0)
    if loss <= EXHAUSTED * total and alpha < absolute_ridge(gram, BEYOND_RANK_RIDGE):
        # The kept features span the table: without a ridge they could all replace one another freely.
        state = SwapState(gram, chosen, absolute_ridge(gram, BEYOND_RANK_RIDGE), None, weights)
    gain = state.g / xp.where(state.h + state.alpha > 0, state.h + state.alpha, 1.0)
    # What is left of a near copy of the kept features is rounding.
    gain = xp.where(state.h + state.alpha > _NEAR_COPY * state.variance, gain, 0.0)
    worth = to_numpy(gain) / total
    worth[list(chosen)] = to_numpy(state.drop_costs) / total
    swaps = np.array(to_numpy(state.swap_gains(open_columns(gram, [*chosen, *exclude]))))
    if extra is not None:
        swaps = swaps - total * extra
    best, gains = np.empty((2, len(swaps), _REPLACEMENTS + 1))
    best[:, -1], gains[:, -1] = stand_ins(swaps, total, C_S, variance, chosen)
    for place in range(_REPLACEMENTS):
        best[:, place], gains[:, place] = np.argmax(swaps, axis=1), np.max(swaps, axis=1)
        np.put_along_axis(swaps, np.argmax(swaps, axis=1)[:, None], -np.inf, axis=1)
    substitutes = np.where(np.isneginf(gains), -1, best).astype(np.intp)
    costs = np.where(substitutes < 0, np.nan, -gains / total)
    if extra is not None:
        costs = costs - np.take_along_axis(np.where(np.isinf(extra), 0.0, extra), np.maximum(substitutes, 0), axis=1)
    return Roles(
        coefficients=coefficients,
        loss=loss / m,
        worth=np.maximum(worth, 0.0),
        r2=np.where(varies, np.minimum(shares.sum(axis=0), 1.0), np.nan),  # above 1 is rounding
        shares=shares,
        substitutes=substitutes,
        costs=costs,
        likeness=correlations(C_S, variance, chosen, substitutes),
    )


def correlations(C_S: np.ndarray, variance: np.ndarray, chosen: Sequence[int], others: np.ndarray) -> np.ndarray:
    """Return the correlation of every kept feature with some others (k x p, -1 for none), from the k x m moments."""
    product = variance[list(chosen)][:, None] * variance[others]
    known = (others >= 0) & (product > 0)
    found = np.take_along_axis(C_S, np.maximum(others, 0), axis=1) / np.sqrt(np.where(known, product, 1.0))
    return np.where(known, np.clip(found, -1.0, 1.0), np.nan)


def stand_ins(
    gains: np.ndarray, total: float, C_S: np.ndarray, variance: np.ndarray, chosen: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return a replacement of every kept feature, all different, at the least sum of costs, unlikeness being one.

    Parameters
    ----------
    gains : ndarray of shape (k, m)
        Fall of the loss where a kept feature is replaced by another; -inf where that may not be.
    total : float
        Sum of the variances.
    C_S, variance, chosen
        As for :func:`correlations`.

    Returns
    -------
    features, gains : ndarray of shape (k,)
        The gain is -inf where no feature is left.
    """
    k = len(gains)
    found, gained = np.zeros(k), np.full(k, -np.inf)
    open_ = np.flatnonzero(~np.isneginf(gains).all(axis=0))
    if open_.size > k:
        # Whatever the other k - 1 take, one of the best k of a kept feature is left for it.
        best = np.argpartition(-gains[:, open_], k - 1, axis=1)[:, :k]
        open_ = open_[np.unique(best)]
    if open_.size:
        alike = np.abs(correlations(C_S, variance, chosen, np.tile(open_, (k, 1))))
        costs = -gains[:, open_] / total + _LIKENESS * (1 - np.nan_to_num(alike))
        rows, columns = linear_sum_assignment(np.minimum(costs, _NEVER))
        found[rows], gained[rows] = open_[columns], gains[rows, open_[columns]]
    return found, gained


def least_squares_map(X: Array | Stream, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least-squares coefficients (k x m) from the chosen features of X to all, and the feature means.

    Only the moments between the chosen and all features are gathered, a block of samples at a time; the cost is n k m.
    """
    n, total = summed(X, count_and_sum)
    mean = total / n
    moments = to_numpy(summed(X, partial(_products, chosen, mean))[0])
    return pseudo_inverse(moments[:, chosen], 0.0, namespace()) @ moments, to_numpy(mean)


def count_and_sum(block: Array) -> tuple[int, Array]:
    """Return the number of samples of a block, and the sum of every feature."""
    return block.shape[0], namespace(block).sum(block, axis=0)


def _products(chosen: np.ndarray, mean: Array, block: Array) -> tuple[Array]:
    centred, xp = block - mean[None, :], namespace(block)
    return (xp.take(centred, index(chosen, centred, xp), axis=1).T @ centred,)


def loss_bound(gram: Gram, k: int, alpha: float, include: Sequence[int] = (), exclude: Sequence[int] = ()) -> float:
    """Return a bound that the loss tr R of no k features is below.

    Parameters
    ----------
    gram, k, alpha, include, exclude
        As for :func:`~stableselect._core._forward_search.forward_searches`.

    Returns
    -------
    float
    """
    left = gram.split(include, alpha)[2] if len(include) else gram
    # On a device nearly all else takes less than the eigenvalues of many features.
    short = in_lock_step(gram) and gram.n_features >= MANY_FEATURES
    floor = leading_floor(left, k - len(include), alpha) if short else left.floor(k - len(include), alpha)
    return max(floor, _bound_by_the_others(gram, k, alpha, include, exclude))


def expect_bound(gram: Gram, alpha: float) -> None:
    """Begin what the bound needs beside other work, where that takes long and the processor computes it."""
    if gram.n_features >= LONG and not isinstance(gram, DualGram) and isinstance(gram.diagonal(), np.ndarray):
        gram.ahead = alpha, begun(partial(_inverse_diagonal, gram, alpha))


def _bound_by_the_others(gram: Gram, k: int, alpha: float, include: Sequence[int], exclude: Sequence[int]) -> float:
    """Return sum_j u_j and the smallest v_j - u_j of m - k features, v_j with feature j left out, u_j with it kept.

    With Q the diagonal of (C + alpha I)^-1, v = 1 / Q - alpha and u = alpha - alpha^2 Q.
    """
    Q = gram.ahead[1]() if gram.ahead is not None and gram.ahead[0] == alpha else _inverse_diagonal(gram, alpha)
    if Q is None:
        return 0.0
    kept = alpha - alpha**2 * Q
    extra = np.maximum(1 / Q - alpha - kept, 0.0)
    extra[list(include)] = 0.0
    free = np.setdiff1d(np.arange(gram.n_features), [*include, *exclude])
    n_out = gram.n_features - k - len(exclude)
    out = float(extra[list(exclude)].sum() + np.sort(extra[free])[:n_out].sum())
    return max(0.0, float(kept.sum())) + out


def _inverse_on_device(gram: Gram, alpha: float) -> np.ndarray | None:
    """Return the diagonal of (C + alpha I)^-1, computed where the tensor is; None where that is singular."""
    xp = gram.xp
    unit = 1 / xp.sqrt(gram.diagonal() + alpha)
    scaled = gram.dense() * unit[:, None] * unit[None, :]
    scaled.diagonal().fill_(1.0)
    try:
        factor = xp.linalg.cholesky(scaled)
    except RuntimeError:  # not positive definite
        return None
    eye = xp.eye(gram.n_features, dtype=factor.dtype, device=gram.device)
    inverse = xp.linalg.solve_triangular(factor, eye, upper=False)
    return to_numpy(xp.vecdot(inverse, inverse, axis=0) * unit * unit)


def _inverse_diagonal(gram: Gram, alpha: float) -> np.ndarray | None:
    """Return the diagonal of (C + alpha I)^-1 or slightly more, for rounding; None where that is singular."""
    pivots = to_numpy(gram.diagonal()) + alpha
    if alpha and isinstance(gram, DualGram):
        # (C + alpha I)^-1 = (I - A'(AA' + alpha I)^-1 A) / alpha
        A = to_numpy(gram.A)
        factor, _ = dpotrf(to_numpy(gram.products) + alpha * np.eye(len(A)), lower=1)
        half = dtrsm(1.0, factor, A.T, side=1, lower=1, trans_a=1).T  # rows lie together in memory, as BLAS wants A'
        return np.asarray((1 - column_products(half, half, np)) / alpha + _EPSILON * len(A) / alpha)
    if isinstance(gram, DualGram) or not (pivots > 0).all():
        return None
    if in_lock_step(gram):
        Q = _inverse_on_device(gram, alpha)
        return None if Q is None else np.asarray(Q * (1 + _EPSILON * len(Q) * (Q * pivots).sum()))
    unit = 1 / np.sqrt(pivots)
    scaled = to_numpy(gram.dense()) * unit[:, None]
    scaled *= unit[None, :]
    np.fill_diagonal(scaled, 1.0)
    columns = invert_factor(scaled)
    if columns is None:
        return None
    Q = np.einsum("ij,ij->i", columns, columns)
    return np.asarray(Q * (1 + _EPSILON * len(Q) * Q.sum()) / pivots)
