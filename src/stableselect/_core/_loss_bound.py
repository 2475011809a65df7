"""A lower bound on the loss of any k features, for tables with too many subsets to try.

It is the larger of two. k features cannot do better than k principal components, shrunk by the same ridge, of what the
prescribed features leave. And a feature left out is predicted no better from k features than from all others, so that
the loss is at least the sum of the m - k smallest of these errors: far above the first bound where k is large.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from ._arrays import to_numpy
from ._gram import DualGram, Gram

_EPSILON = 1e-15


def loss_bound(gram: Gram, k: int, alpha: float, include: Sequence[int] = (), exclude: Sequence[int] = ()) -> float:
    """Return a bound that the loss tr R of no k features is below.

    Parameters
    ----------
    gram, k, alpha, include, exclude
        As for :func:`~stableselect._core._subset_search.forward_search`.

    Returns
    -------
    float
    """
    left = gram.split(include, alpha)[2] if len(include) else gram
    return max(left.floor(k - len(include), alpha), _bound_by_the_others(gram, k, alpha, include, exclude))


def _bound_by_the_others(gram: Gram, k: int, alpha: float, include: Sequence[int], exclude: Sequence[int]) -> float:
    """Return sum_j u_j and the smallest v_j - u_j of m - k features, v_j with feature j left out, u_j with it kept.

    With Q the diagonal of (C + alpha I)^-1, v = 1 / Q - alpha and u = alpha - alpha^2 Q.
    """
    Q = _inverse_diagonal(gram, alpha)
    if Q is None:
        return 0.0
    kept = alpha - alpha**2 * Q
    extra = np.maximum(1 / Q - alpha - kept, 0.0)
    extra[list(include)] = 0.0
    free = np.setdiff1d(np.arange(gram.n_features), [*include, *exclude])
    n_out = gram.n_features - k - len(exclude)
    out = float(extra[list(exclude)].sum() + np.sort(extra[free])[:n_out].sum())
    return max(0.0, float(kept.sum())) + out


def _inverse_diagonal(gram: Gram, alpha: float) -> np.ndarray | None:
    """Return the diagonal of (C + alpha I)^-1 or slightly more, for rounding; None where that is singular."""
    pivots = to_numpy(gram.diagonal()) + alpha
    if alpha and isinstance(gram, DualGram):
        # (C + alpha I)^-1 = (I - A'(AA' + alpha I)^-1 A) / alpha
        A = to_numpy(gram.A)
        inner = np.linalg.solve(A @ A.T + alpha * np.eye(len(A)), A)
        return np.asarray((1 - (A * inner).sum(axis=0)) / alpha + _EPSILON * len(A) / alpha)
    if isinstance(gram, DualGram) or not (pivots > 0).all():
        return None
    unit = 1 / np.sqrt(pivots)
    scaled = to_numpy(gram.dense()) * unit[:, None] * unit[None, :]
    np.fill_diagonal(scaled, 1.0)
    factor, failed = dpotrf(scaled, lower=1, overwrite_a=1)
    if failed:
        return None
    inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
    Q = np.diagonal(inverse)
    return np.asarray(Q * (1 + _EPSILON * len(Q) * Q.sum()) / pivots)
