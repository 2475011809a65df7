r"""Leave-one-out certificate of a column subset: for every row, is the set still a 1-swap optimum once the row is gone.

With n rows, C the moments of all of them, S the kept columns, alpha the ridge weight and d = x - mean the row that
goes, the other rows have the moments (n / (n-1)) Ct with Ct = C - b d d', b = 1 / (n-1) [1]_. A common factor of the
moments and of the ridge weight changes no relative gain, so everything below is in the units of Ct, where the ridge
weight alpha of all rows becomes a = alpha (n-1) / n: one number for every row. With P = (C_SS + a I)^-1, V = C_S P,
R = C - V C_S', and for the row

    z = P d_S,   e = d - V d_S,   c = b / (1 - b d_S'z)

Sherman and Morrison's formula [2]_ for P, put into V and R, leaves rank-one changes of all three:

    Pt = P + c z z',   Vt = V - c e z',   Rt = R - c e e'.

What :mod:`stableselect._subset_search` needs for the gains of all swaps follows, with q = R e and t = V'e:

    diag Rt = diag R - c e^2                         |Rt_j|^2 = |R_j|^2 - 2c e_j q_j + c^2 |e|^2 e_j^2
    Rt Vt = R V - c q z' - c e (t - c |e|^2 z)'      |Vt_a|^2 = |V_a|^2 - 2c t_a z_a + c^2 |e|^2 z_a^2
    tr Rt = tr R - c |e|^2                           Pt_aa = P_aa + c z_a^2

So a row costs a few passes over k x m numbers, after products with P, V and R that blocks of rows share. Where the
change cancels too many digits (a row that alone moves some direction of the kept columns, or alone makes up what they
leave of a column) the moments are computed afresh without the row.

References
----------
.. [1] Chan, Golub & LeVeque (1979), Updating formulae and a pairwise algorithm for computing sample variances.
.. [2] Sherman & Morrison (1950), Adjustment of an inverse matrix corresponding to a change in one element of a given
   matrix, Annals of Mathematical Statistics 21.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from .._gram import Gram, pseudo_inverse
from .._subset_search import _TRUST, EXHAUSTED, TIE
from .._validation import normalised_moments, resolve_include_exclude
from ..moments import Moments
from ..reconstruction import ColumnSubset
from ._checks import check_count, check_some_selected, check_table

_ROUNDING = 1e-13
"""A gain below this share of the total variance is rounding, as in the exchange search."""
_CANCELS = 1e-5
"""A quantity that falls below this share of itself when a row goes is computed afresh."""
_BLOCK_ELEMENTS = 2**19
"""Cells of the table per block of rows."""


@dataclass(frozen=True)
class Certificate:
    """Result of :func:`leave_one_out_certificate`; entry i of every array belongs to row ``rows[i]`` of the table.

    Attributes
    ----------
    rows : ndarray of int, shape (r,)
        The rows left out in turn.
    stands : ndarray of bool, shape (r,)
        Whether no swap of a kept for a dropped column lowers the loss of the other rows.
    margin : ndarray of float, shape (r,)
        By what share of the loss the best swap would raise it. Negative: the swap lowers it. Infinite: there is no
        swap to make, or the kept columns leave nothing to gain.
    swaps : ndarray of int, shape (r, 2)
        The best swap: column dropped, column added; -1 where there is none.
    table_margin : float
        The same margin with no row left out. Where it is negative the set is no 1-swap optimum to begin with.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect.metrics import leave_one_out_certificate
    >>> certificate = leave_one_out_certificate(load_iris().data, [0, 2])
    >>> certificate.influential(3)
    array([106, 135,  50])
    """

    rows: np.ndarray
    stands: np.ndarray
    margin: np.ndarray
    swaps: np.ndarray
    table_margin: float

    @property
    def share(self) -> float:
        """Share of the rows that leave the set standing."""
        return float(np.mean(self.stands))

    def influential(self, n: int = 10) -> np.ndarray:
        """Return the n rows with the smallest margin, smallest first; ties go to the row given first.

        Parameters
        ----------
        n : int, default=10
            How many rows; all of them when there are fewer.

        Returns
        -------
        ndarray of int
        """
        return self.rows[np.argsort(self.margin, kind="stable")[: check_count(n, "n", 1)]]


def leave_one_out_certificate(
    X: ArrayLike,
    selected: ArrayLike,
    *,
    ridge: float = 0.0,
    rows: ArrayLike | None = None,
    include: Iterable[str | int] | None = None,
    exclude: Iterable[str | int] | None = None,
) -> Certificate:
    """Tell for every row whether the set is still a 1-swap optimum of :class:`~stableselect.ColumnSubset` without it.

    All k (m - k) swaps are tried for every row, so the answer is a proof for this table (to rounding), not an
    estimate. A set that stands need not be the one a search from scratch returns: read :func:`differs_from_search`
    beside it.

    Parameters
    ----------
    X : array-like of shape (n, m)
        The table the set was chosen from, of at least three rows.
    selected : array-like
        The selected columns: integer indices, or a Boolean mask of length m. Their order does not matter.
    ridge : float, default=0.0
        The selector's ``ridge_``, relative to the mean variance of all rows. The weight this gives is held fixed in
        absolute terms when a row goes.
    rows : array-like of int, optional
        The rows to leave out in turn; all by default.
    include, exclude : sequence of str or int, optional
        Columns, by name or index, that no swap may drop or add.

    Returns
    -------
    Certificate

    See Also
    --------
    differs_from_search : How often a search from scratch returns another set.

    Notes
    -----
    The loss, its swaps and the tolerance are those of the exchange search: a swap counts when it lowers the loss by
    more than 1e-10 of it, so a set with an interchangeable column outside has margin zero and stands. Where kept
    columns are combinations of each other, dropping a superfluous one costs nothing. Like the search, this works from
    second moments: where the set leaves less than about 1e-5 of the variance, margins lose digits, and below 1e-10
    nothing counts as left.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect.metrics import leave_one_out_certificate
    >>> certificate = leave_one_out_certificate(load_iris().data, [0, 2])
    >>> certificate.rows[~certificate.stands], round(certificate.share, 3)
    (array([106]), 0.993)
    >>> certificate.swaps[106]  # without that row, column 1 would do better than column 0
    array([0, 1])
    """
    task = _Task(X, selected, ridge, include, exclude)
    left_out = _check_rows(rows, task.n)
    parts = list(_judge(task, left_out))
    gain, loss, total = (np.concatenate([part[i] for part in parts]) for i in range(3))
    stands, margin = _verdict(gain, loss, total)
    swaps = np.concatenate([part[3] for part in parts])
    swaps[np.isinf(margin)] = -1
    whole = _State(task.gram, task, task.ridge)
    table = _verdict(*(np.array([value]) for value in (whole.best()[0], whole.loss, task.gram.trace())))
    return Certificate(left_out, stands, margin, swaps, float(table[1][0]))


def differs_from_search(
    X: ArrayLike,
    selected: ArrayLike,
    *,
    ridge: float = 0.0,
    rows: ArrayLike | int = 20,
    include: Iterable[str | int] | None = None,
    exclude: Iterable[str | int] | None = None,
    random_state: int | np.random.RandomState | None = 0,
) -> float:
    """Share of rows without which a search from scratch returns another set.

    Every row tried costs a whole search of the others, so this is meant for a sample of rows.

    Parameters
    ----------
    X, selected, ridge, include, exclude
        As for :func:`leave_one_out_certificate`; the ridge weight is held fixed in the same way.
    rows : array-like of int, or int, default=20
        The rows to leave out in turn, or how many to draw at random (all where there are fewer).
    random_state : int, RandomState instance or None, default=0
        Decides the rows drawn.

    Returns
    -------
    float
        The share, from 0 to 1.

    See Also
    --------
    leave_one_out_certificate : Whether the set is still a 1-swap optimum, for all rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect.metrics import differs_from_search
    >>> differs_from_search(load_iris().data, [0, 2], rows=10)
    0.0
    """
    task = _Task(X, selected, ridge, include, exclude)
    if isinstance(rows, Integral):
        size = min(check_count(rows, "rows", 1), task.n)
        rows = np.sort(check_random_state(random_state).choice(task.n, size, replace=False))
    left_out = _check_rows(rows, task.n)
    k, differs = task.chosen.size, 0
    for row in left_out:
        others = np.delete(task.X, row, axis=0)
        spread = float(np.sum(np.var(others, axis=0)))
        relative = task.ridge * task.unit * task.m / spread if spread > 0 else task.ridge
        selector = ColumnSubset(k, ridge=relative, include=task.fixed, exclude=task.barred).fit(others)
        differs += set(selector.selected_.tolist()) != set(task.chosen.tolist())
    return differs / left_out.size


class _Task:
    """The checked arguments: table X, kept columns ``chosen``, moments of mean variance one, columns to leave alone."""

    def __init__(
        self,
        X: ArrayLike,
        selected: ArrayLike,
        ridge: Any,
        include: Iterable[str | int] | None,
        exclude: Iterable[str | int] | None,
    ) -> None:
        self.X = check_table(X, "X")
        self.n, self.m = self.X.shape
        if self.n < 3:
            raise ValueError(f"X must have at least 3 rows, so that 2 are left, but has {self.n}; give more rows.")
        if isinstance(ridge, bool) or not isinstance(ridge, Real) or not 0 <= float(ridge) < float("inf"):
            raise ValueError(f"ridge must be a number of at least 0 but is {ridge!r}; pass the selector's ridge_.")
        self.ridge = float(ridge)
        self.chosen = check_some_selected(selected, self.m)
        names: Any = getattr(X, "columns", None)
        self.fixed, self.barred = resolve_include_exclude(include, exclude, self.m, self.chosen.size, names)
        advice = "pass the settings the set was chosen with."
        kept = set(self.chosen.tolist())
        for column in sorted(set(self.fixed) - kept):
            raise ValueError(f"Column {column} must be selected because include names it, but is not; {advice}")
        for column in sorted(kept & set(self.barred)):
            raise ValueError(f"Column {column} must not be selected because exclude names it, but is; {advice}")
        moments = Moments.from_array(self.X)
        self.gram, self.unit = normalised_moments(moments)
        self.mean = np.asarray(moments.mean)
        self.varies = self.X.max(axis=0) > self.X.min(axis=0)
        self.free = np.flatnonzero(~np.isin(self.chosen, self.fixed))
        self.open = np.setdiff1d(np.arange(self.m), [*self.chosen, *self.barred])

    def centred(self, rows: np.ndarray) -> np.ndarray:
        """Return the rows less the mean, in the units of the gram; a constant column is zero, not its rounding."""
        return (self.X[rows] - self.mean) * (self.varies / np.sqrt(self.unit))

    def gram_without(self, row: int) -> Gram:
        """Return Ct computed afresh."""
        others = Moments.from_array(np.delete(self.X, row, axis=0)).operator()
        return others.scaled((self.n - 1) / self.n / self.unit)


class _State:
    """P, V, R and what follows from them for one matrix of moments; V and Y = R V are k x m.

    A kept column that is a combination of the others has zero rows in P and V: dropping it costs nothing.
    """

    def __init__(self, gram: Gram, task: _Task, alpha: float) -> None:
        chosen = task.chosen
        self.alpha, self.free, self.open, self.chosen = alpha, task.free, task.open, chosen
        C_S = gram.columns(chosen)
        basis = _independent(C_S[chosen], np.isin(chosen, task.fixed)) if alpha == 0 else np.arange(chosen.size)
        self.P = np.zeros((chosen.size, chosen.size))
        self.P[np.ix_(basis, basis)] = pseudo_inverse(C_S[np.ix_(chosen[basis], basis)], alpha, gram.xp)
        V = C_S @ self.P
        self.R = gram.residual(chosen, V, alpha)
        self.V = np.ascontiguousarray(V.T)
        Y = self.R.dot(V).T
        self.variance, self.g, self.h = gram.diagonal(), self.R.squared_norms(), self.R.diagonal()
        self.pivots, self.norms = np.diagonal(self.P).copy(), np.sum(self.V**2, axis=1)
        self.loss = float(np.sum(self.h))
        swaps = np.ix_(self.free, self.open)
        self.V_swaps, self.Y_swaps = self.V[swaps], Y[swaps]
        self.work = [np.empty_like(self.V_swaps) for _ in range(3)]

    def best(self) -> tuple[float, tuple[int, int]]:
        """Return the gain of the best swap, and the swap, with no row left out."""
        left, right = np.zeros((self.chosen.size, 2)), np.zeros((2, self.variance.size))
        return self.best_swap(left, right, self.g, self.h, self.variance, self.pivots, self.norms, self.loss)

    def best_swap(
        self,
        left: np.ndarray,
        right: np.ndarray,
        g: np.ndarray,
        h: np.ndarray,
        variance: np.ndarray,
        pivots: np.ndarray,
        norms: np.ndarray,
        loss: float,
    ) -> tuple[float, tuple[int, int]]:
        """Return the largest gain and its columns (dropped, added); minus infinity and -1 where there is no swap.

        The gain is (g + Vt/p (2 Yt + Vt |Vt|^2/p)) / (h + Vt^2/p + alpha) - |Vt|^2/p, with Yt = Y - left right,
        Vt = V - left[:, 0] right[1], and g = |Rt_j|^2, h = diag Rt, p = ``pivots`` = diag Pt, ``norms`` = |Vt_a|^2.
        Ties go to the lowest column added, then to the lowest dropped.
        """
        if not self.free.size or not self.open.size:
            return -np.inf, (-1, -1)
        V, Y, scaled = self.work
        left, right = left[self.free], right[:, self.open]
        p = pivots[self.free, None]
        p = np.where(p > 0, p, np.inf)
        costs = norms[self.free, None] / p
        np.subtract(self.V_swaps, np.multiply(left[:, :1], right[1], out=V), out=V)
        np.subtract(self.Y_swaps, np.matmul(left, right, out=Y), out=Y)
        np.divide(V, p, out=scaled)
        # Y becomes the numerator and V the denominator.
        Y *= 2
        Y += V * costs
        Y *= scaled
        Y += g[self.open]
        V *= scaled
        V += h[self.open] + self.alpha
        unusable = V <= _TRUST * variance[self.open]
        V[unusable] = 1.0
        Y /= V
        Y -= costs
        Y[unusable] = -np.inf
        best = Y.max(axis=0)
        top = float(best.max())
        if top == -np.inf:
            return top, (-1, -1)
        slack = TIE * max(loss, top, 0.0)
        j = int(np.argmax(best >= top - slack))
        a = int(np.argmax(Y[:, j] >= best[j] - slack))
        return top, (int(self.chosen[self.free[a]]), int(self.open[j]))


def _judge(task: _Task, rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield, for block after block of rows, the best gain, the loss, the total variance and the best swap of each."""
    b = 1 / (task.n - 1)
    state = _State(task.gram, task, task.ridge * (task.n - 1) / task.n)
    only = _only_rows(task.X)
    step = max(1, _BLOCK_ELEMENTS // task.m)
    for start in range(0, rows.size, step):
        block = rows[start : start + step]
        D = task.centred(block)
        U = D[:, task.chosen]
        Z = U @ state.P
        E = D - U @ state.V
        Q = state.R.dot(E.T).T
        T = E @ state.V.T
        room = 1 - b * np.sum(U * Z, axis=1)
        alone = room < _CANCELS  # the row is all there is of some direction of the kept columns
        c = (b / np.where(alone, 1.0, room))[:, None]
        size = np.sum(E * E, axis=1)[:, None]
        h = state.h - c * E**2
        g = state.g - 2 * c * E * Q + c**2 * size * E**2
        variance = state.variance - b * D**2
        gone = only == block[:, None]
        h[gone] = g[gone] = variance[gone] = 0.0
        total = np.sum(variance, axis=1)
        # What is left of such a column is rounding: only its former variance tells it from a real residual.
        variance = np.where(gone, state.variance, variance)
        pivots = state.pivots + c * Z**2
        norms = state.norms - 2 * c * T * Z + c**2 * size * Z**2
        loss = state.loss - (c * size)[:, 0]
        shrunk = variance < _CANCELS * state.variance
        spent = (h + state.alpha < _CANCELS * (state.h + state.alpha)) & (state.h > _TRUST / _CANCELS * state.variance)
        settled = (loss <= EXHAUSTED * total) & ~shrunk.any(axis=1)
        afresh = ~settled & (alone | shrunk.any(axis=1) | (spent & ~gone)[:, state.open].any(axis=1))
        gain, swaps = np.full(block.size, -np.inf), np.full((block.size, 2), -1)
        for i in np.flatnonzero(~settled):
            if afresh[i]:
                gram = task.gram_without(int(block[i]))
                exact = _State(gram, task, state.alpha)
                loss[i], total[i] = exact.loss, gram.trace()
                gain[i], swaps[i] = exact.best()
                continue
            left = np.stack([c[i] * Z[i], c[i] * (T[i] - c[i] * size[i] * Z[i])], axis=1)
            right = np.stack([Q[i], E[i]])
            gain[i], swaps[i] = state.best_swap(left, right, g[i], h[i], variance[i], pivots[i], norms[i], loss[i])
        yield gain, loss, total, swaps


def _verdict(gain: np.ndarray, loss: np.ndarray, total: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return whether the set stands, by the rule that ends the exchange search, and the margin."""
    left = loss > EXHAUSTED * total
    stands = ~left | (gain <= np.maximum(TIE * loss, _ROUNDING * total))
    return stands, np.where(left, -gain / np.where(left, loss, 1.0), np.inf)


def _independent(M: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return the positions of columns that span all of those with moments M; those marked ``first`` are taken first.

    Swaps may not drop the marked columns, so a superfluous column must be one of the others where there is a choice.
    """
    size = np.sqrt(np.where(np.diagonal(M) > 0, np.diagonal(M), 1.0))
    left = M / size[:, None] / size[None, :]
    kept = []
    for a in np.argsort(~first, kind="stable"):
        if left[a, a] > _TRUST * M.shape[0]:
            kept.append(int(a))
            left -= np.outer(left[a], left[a] / left[a, a])
    return np.array(sorted(kept), dtype=np.intp)


def _only_rows(X: np.ndarray) -> np.ndarray:
    """Return, for every column, the row without which it is constant, -1 where there is none."""
    usual = np.median(X[:3], axis=0)  # all but one of three or more equal values: two of the first three are equal
    unusual = X != usual
    return np.where(unusual.sum(axis=0) == 1, unusual.argmax(axis=0), -1)


def _check_rows(rows: ArrayLike | None, n: int) -> np.ndarray:
    if rows is None:
        return np.arange(n)
    asked = np.asarray(rows)
    if asked.ndim != 1 or asked.dtype.kind not in "iu" or not asked.size:
        raise ValueError(f"rows must be a list of row numbers but is {rows!r}; count the rows from 0.")
    if asked.min() < 0 or asked.max() >= n:
        raise ValueError(
            f"rows must hold numbers from 0 to {n - 1} but holds {asked.min()} to {asked.max()}; count the rows from 0."
        )
    return asked.astype(np.intp)
