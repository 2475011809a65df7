"""A bound on the largest eigenvalues of many features from a few directions, where all eigenvalues take too long.

With Q orthonormal (m x p), H = Q'CQ of eigenvalues t_1 >= t_2 >= ..., E = CQ - QH and the rest D of C, on the
complement of Q, no j eigenvalues of C add up to more than

    max_{i <= j} (t_1 + ... + t_{j-i} + min(sqrt(i) |D|, tr D)) + the j largest singular values of E,

since C is the sum of two blocks on the diagonal and two off it (Ky Fan). |D|^2 = |C|^2 - |H|^2 - 2 |E|^2 needs no D.
However rough Q is, the bound holds; it is as good as exact where the directions have converged and little is left.
"""

from __future__ import annotations

import numpy as np

from ._arrays import Array, to_numpy
from ._gram import Gram

_STEPS = 12
"""Products with C, each followed by an orthonormal basis."""
_EXTRA = 0.5
"""Directions beyond those asked for, as a fraction of them."""
_MORE = 30
"""And at least so many."""
_ROUNDING = 1e-13
"""What rounding may have put into a norm of C, as a fraction of it."""


def leading_sums(gram: Gram, k: int) -> np.ndarray:
    """Return numbers that the sum of the j largest eigenvalues of C does not exceed, for j = 1, ..., k.

    Parameters
    ----------
    gram : Gram
        The moments C, held whole.
    k : int
        How many.

    Returns
    -------
    ndarray of shape (k,)
    """
    xp, m = gram.xp, gram.n_features
    p = min(m, k + max(_MORE, round(_EXTRA * k)))
    Q = xp.asarray(np.random.default_rng(0).standard_normal((m, p)), device=gram.device)
    for _ in range(_STEPS):
        Q, _ = xp.linalg.qr(gram.dot(Q))
    CQ = gram.dot(Q)
    H = Q.T @ CQ
    H = (H + H.T) / 2
    E = CQ - Q @ H
    values = np.maximum(to_numpy(xp.linalg.eigvalsh(H))[::-1][:k], 0.0)
    off = np.sqrt(np.maximum(to_numpy(xp.linalg.eigvalsh(E.T @ E))[::-1][:k], 0.0))
    square, trace = _sum(gram.squared_norms()), gram.trace()
    rest = square - _sum(H * H) - 2 * _sum(E * E)
    norm = np.sqrt(max(rest, 0.0) + _ROUNDING * square)
    left = max(0.0, trace - _sum(xp.linalg.diagonal(H))) + _ROUNDING * trace
    sums = np.concatenate([[0.0], np.cumsum(values)])
    more = np.minimum(np.sqrt(np.arange(k + 1)) * norm, left)
    more[0] = 0.0
    found = [max(sums[j - i] + more[i] for i in range(j + 1)) for j in range(1, k + 1)]
    return np.asarray(found) + np.cumsum(off) + _ROUNDING * trace


def leading_floor(gram: Gram, k: int, alpha: float) -> float:
    """Return a lower bound on the loss of any map of rank k, as :meth:`Gram.floor`, without all eigenvalues.

    The largest eigenvalues are weakly majorised by the differences u of the sums above, so that the sum of
    e^2 / (e + alpha), convex and increasing, is at most that of u.
    """
    if k == 0:
        return gram.trace()
    u = np.diff(leading_sums(gram, k), prepend=0.0)
    u = u[u > 0]
    return max(0.0, gram.trace() - float(np.sum(u * u / (u + alpha))))


def _sum(values: Array) -> float:
    return float(to_numpy(values.sum()))
