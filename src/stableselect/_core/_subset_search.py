"""Search for the k features that reconstruct all others best: exchanges to a local optimum.

With S the kept features, C the moments and a ridge weight alpha, the loss of S is tr R with R = C - V C_S',
V = C_S P and P = (C_SS + alpha I)^-1. Adding feature j lowers it by |R_j|^2 / (R_jj + alpha). Dropping the a-th kept
feature turns R into R + v v'/p with v = V_a, p = P_aa and raises the loss by |v|^2 / p. Every swap's effect follows
from R's column norms g, its diagonal h, and the one product Y = R V.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg.blas import dgemm

from ._arrays import Array, index, to_numpy
from ._forward_search import EXHAUSTED, ROUNDING, TIE, TRUST, gain_rounding, open_columns
from ._gram import DualGram, Gram, column_products
from ._threads import MANY_FEATURES, side_by_side

_REFRESH = 32
"""Swaps between two recomputations of the state, to keep rounding from building up."""
_NEAR = 1e-4
"""Swaps are looked at for ties when their gains are this close, relative to the cost."""
_ESCAPE = 6
"""Swaps tried beyond an optimum before it is taken as final."""
_STRETCH = 2**17
"""Entries per stretch of the table of swaps."""


class SwapState:
    """R, V and what follows from them for one subset, kept up to date swap by swap.

    A swap costs one product of C with a vector and a few passes over k x m arrays; :meth:`refresh` recomputes all.
    ``V``, ``Y`` and ``C_S`` are stored as k x m, a row for every kept feature. With ``prices`` (length m, none below
    zero) a subset costs its loss and the prices of its features, and gains are falls of that cost. With ``weights``
    (length m, none below zero) the loss is tr WR for W = diag(weights): g holds the diagonal of R W R, and Y = R W V.
    """

    def __init__(
        self, gram: Gram, chosen: Sequence[int], alpha: float, prices: Array = None, weights: Array = None
    ) -> None:
        self.gram = gram
        self.alpha = alpha
        self.prices, self.weights = prices, weights
        self.chosen = list(chosen)
        self.variance = gram.diagonal()
        self.refresh()

    def refresh(self) -> None:
        """Recompute everything from C and the subset."""
        known = self.gram.swap_products(self.chosen, self.alpha) if self.weights is None else None
        self.P, self.V, self.Y, self.C_S, self.g, self.h = self._from_residual() if known is None else known
        self.drop_costs = self._drop_costs()
        self.stale = 0

    def _from_residual(self) -> tuple[Array, ...]:
        """Return P, V, Y, C_S, g and h from R."""
        xp = self.gram.xp
        P, V, R = self.gram.split(self.chosen, self.alpha)
        Y, V_rows, C_S = R.dot(self._weighed(V.T).T).T, V.T, self.gram.columns(self.chosen).T
        weighted = self.weights is not None
        g = weighted_norms(R, self.weights) if weighted else self.gram.residual_norms(self.chosen, V, R)
        return P, *(xp.asarray(rows, copy=True) for rows in (V_rows, Y, C_S)), g, R.diagonal()

    def _weighed(self, rows: Array) -> Array:
        """Return W v for a vector, or every row, v."""
        return rows if self.weights is None else rows * self.weights

    @property
    def loss(self) -> float:
        """Return tr WR."""
        return float(self.gram.xp.sum(self._weighed(self.h)))

    @property
    def cost(self) -> float:
        """Return the loss, and the prices of the kept features where features have prices."""
        return self.loss + (0.0 if self.prices is None else float(self.gram.xp.sum(self._kept_prices())))

    @property
    def rounding(self) -> float:
        """Return what rounding may have put into the loss."""
        return ROUNDING * self._total_size()

    def _total_size(self) -> float:
        """Return the sum over all features j of C_jj + sum_a V_aj^2 C_aa, the terms that cancel in R_jj."""
        xp, p = self.gram.xp, self._pivots()
        squares = self.drop_costs * xp.where(p < float("inf"), p, 0.0)  # |V_a|^2
        return float(xp.sum(self.variance)) + float(xp.sum(self._kept_variance() * squares))

    def _kept_variance(self) -> Array:
        return self.gram.xp.take(self.variance, index(self.chosen, self.variance, self.gram.xp))

    def _kept_prices(self) -> Array:
        return self.gram.xp.take(self.prices, index(self.chosen, self.prices, self.gram.xp))

    def _pivots(self) -> Array:
        """Return p = diag P, infinite for a kept feature the others replace fully."""
        p = self.gram.xp.linalg.diagonal(self.P)
        return self.gram.xp.where(p > 0, p, float("inf"))

    def _drop_costs(self) -> Array:
        """Return by how much the loss rises when each kept feature is dropped, V_a'WV_a / P_aa."""
        return self.gram.xp.vecdot(self.V, self._weighed(self.V)) / self._pivots()

    def swap_gains(self, allowed: Array, part: slice | Array = slice(None)) -> Array:
        """Return how much swapping the a-th kept feature for feature j lowers the cost, k x the features of ``part``.

        Parameters
        ----------
        allowed : boolean array of length m
            Features that may come in; the others get minus infinity.
        part : slice or array of int
            The features j.
        """
        gains = self._gains(allowed, self.Y, self.g, self.drop_costs, part)
        if self.prices is None:
            return gains
        return gains + self._kept_prices()[:, None] - self.prices[None, part]

    def swap_rounding(self, part: slice | Array = slice(None)) -> Array:
        """Return by how much rounding may have moved those gains."""
        xp = self.gram.xp
        own, p, total = self._kept_variance(), self._pivots(), self._total_size()
        size = self.variance[part] + own @ (self.V[:, part] * self.V[:, part])
        g, pivot = self._without(self.Y, self.g, self.drop_costs, part)
        pivot = xp.where(pivot > TRUST * self.variance[None, part], pivot, float("inf"))
        dropping = gain_rounding(self.drop_costs / p, xp.where(p < float("inf"), 1 / p, float("inf")), own, total, xp)
        return gain_rounding(g, pivot, size[None, :], total, xp) + dropping[:, None]

    def projected_gains(self, allowed: Array, G: Array) -> Array:
        """Return the same for the loss within the span of the orthonormal G (m x d), tr G'RG, k x m."""
        xp = self.gram.xp
        RG = self.gram.dot(G) - self.V.T @ (self.C_S @ G)
        VG = self.V @ G
        costs = xp.sum(VG * VG, axis=1) / self._pivots()
        return self._gains(allowed, VG @ RG.T, xp.sum(RG * RG, axis=1), costs)

    def _gains(self, allowed: Array, Y: Array, g: Array, costs: Array, part: slice | Array = slice(None)) -> Array:
        """Return what adding every feature j gains once the a-th kept one is dropped, less the cost of dropping it."""
        xp = self.gram.xp
        num, pivot = self._without(Y, g, costs, part)
        usable = pivot > xp.where(allowed[part], TRUST * self.variance[part], float("inf"))
        num /= xp.where(usable, pivot, 1.0)
        num -= costs[:, None]
        return xp.where(usable, num, -float("inf"))

    def _without(self, Y: Array, g: Array, costs: Array, part: slice | Array) -> tuple[Array, Array]:
        """Return what |R_j|^2 and R_jj + alpha are without the a-th kept feature.

        These are g + V/p (2 Y + V |V|^2/p) and h + V^2/p + alpha.
        """
        V = self.V[:, part]
        pivot, num = V / self._pivots()[:, None], V * costs[:, None]
        num += 2 * Y[:, part]
        num *= pivot
        num += g[part]
        pivot *= V
        pivot += self.h[part] + self.alpha
        return num, pivot

    def swap(self, a: int, j: int) -> bool:
        """Replace the a-th kept feature by feature j; do nothing where rounding alone made it look possible.

        Dropping gives R + v v'/p, V - v row' with row = P_a / p, and P - p row row'. Adding feature r of that residual
        with pivot tau = r_j + alpha takes r r'/tau away again and gives V + r last', P + tau last last', where
        last = (-V_j, 1) / tau. The new feature takes the old one's place, so both are rank-one changes in place.
        """
        xp, gram, V, Y = self.gram.xp, self.gram, self.V, self.Y
        p = float(self.P[a, a])
        if p <= 0:  # the others replace the old feature fully
            self.chosen[a] = j
            self.refresh()
            return True
        v, y = xp.asarray(V[a, :], copy=True), xp.asarray(Y[a, :], copy=True)
        row = self.P[a, :] / p
        _add_product(V, -row[:, None], v[None, :])
        pull = (V @ self._weighed(v)) / p
        g = self.g + 2 * v * y / p + (xp.sum(v * self._weighed(v)) / p**2) * (v * v)
        h = self.h + v * v / p
        P = self.P - p * row[:, None] * row[None, :]

        # V_a is zero now, so the dropped feature's row of C_S no longer counts.
        column, r, Cr = gram.residual_column(j, self.chosen, self.C_S, V)
        tau = float(r[j]) + self.alpha
        if tau <= TRUST * float(self.variance[j]):  # the feature is a combination of the kept ones after all
            self.refresh()
            return False
        weighed = self._weighed(r)
        q = (gram.dot(weighed) if Cr is None or self.weights is not None else Cr) - (self.C_S @ weighed) @ V
        self.C_S[a, :] = column
        last = -V[:, j] / tau
        last[a] = 1 / tau
        _add_product(V, last[:, None], r[None, :])
        push = (V @ weighed) / tau
        # Y = R W V under both changes: four rank-one terms at once.
        _add_product(Y, xp.stack([-row, pull, last, -push], axis=1), xp.stack([y, v, q, r]))
        self.g = g - 2 * r * q / tau + (xp.sum(r * weighed) / tau**2) * (r * r)
        self.h = h - r * r / tau
        self.P = P + tau * last[:, None] * last[None, :]
        self.drop_costs = self._drop_costs()
        self.chosen[a] = j
        self.stale += 1
        if self.stale >= _REFRESH:
            self.refresh()
        return True


def _add_product(M: Array, left: Array, right: Array) -> None:
    """Add left right to M in place, without an array of that size on the way where BLAS can do without."""
    if isinstance(M, np.ndarray) and M.flags.f_contiguous:
        dgemm(1.0, left, right, beta=1.0, c=M, overwrite_c=1)
    elif isinstance(M, np.ndarray) and M.flags.c_contiguous:
        dgemm(1.0, right.T, left.T, beta=1.0, c=M.T, overwrite_c=1)
    else:
        M += left @ right


def weighted_norms(R: Gram, weights: Array) -> Array:
    """Return the diagonal of R W R for W = diag(weights), length m."""
    if isinstance(R, DualGram):
        return column_products(R.A, ((R.A * weights[None, :]) @ R.A.T) @ R.A, R.xp)
    return R.xp.vecdot(R.dense(), R.dense() * weights[None, :])


def best_swap(state: SwapState, allowed: Array, fixed: Sequence[int]) -> tuple[float, float, int, int]:
    """Return the largest gain, its rounding, and its swap (position to drop, feature to add).

    Ties go to the lowest features. Features are looked at in stretches that stay in the processor's cache.
    """
    xp, m = state.gram.xp, state.gram.n_features
    free = [a for a, c in enumerate(state.chosen) if c not in set(fixed)]
    if not free:
        return -float("inf"), 0.0, -1, -1
    rows, step = index(free, state.V, xp), max(1, _STRETCH // len(state.chosen))

    def best_of(start: int) -> Array:
        gains = state.swap_gains(allowed, slice(start, min(m, start + step)))
        return xp.max(xp.take(gains, rows, axis=0) if fixed else gains, axis=0)

    starts = range(0, m, step)
    best = xp.concat(side_by_side(best_of, starts) if m >= MANY_FEATURES else [best_of(start) for start in starts])
    top = float(xp.max(best))
    if top == -float("inf"):
        return top, 0.0, -1, -1
    size = max(state.cost, top, 0.0)  # rounding may leave both slightly below zero
    near = np.flatnonzero(to_numpy(best) >= top - _NEAR * size)
    part = index(near, state.V, xp)
    gains = to_numpy(state.swap_gains(allowed, part))[free]
    slack = to_numpy(state.swap_rounding(part))[free] + TIE * size
    tied = gains + slack >= np.max(gains - slack)
    column = int(np.argmax(tied.any(axis=0)))
    row = min(np.flatnonzero(tied[:, column]), key=lambda i: state.chosen[free[i]])
    return float(gains[row, column]), float(slack[row, column]), free[row], int(near[column])


def exchange_search(
    gram: Gram,
    chosen: Sequence[int],
    alpha: float,
    include: Sequence[int] = (),
    exclude: Sequence[int] = (),
    prices: Array = None,
) -> tuple[list[int], int]:
    """Swap kept features for others until none lowers the cost: a certified 1-swap optimum.

    The cost is the loss and, where features have ``prices``, those of the kept ones. From an optimum a few swaps are
    made that raise the cost least, none of them undone; where they lead below it, the search goes on from there, else
    the optimum stands.

    Parameters
    ----------
    gram, alpha, include, exclude
        As for :func:`forward_search`.
    chosen : sequence of int
        The start.
    prices : array of length m, optional
        What keeping a feature costs beside the loss, in its units; none below zero.

    Returns
    -------
    chosen : list of int
        The features, in no particular order.
    n_swaps : int
        Number of swaps made.
    """
    total = gram.trace()
    if len(chosen) in (0, gram.n_features) or total == 0:
        return list(chosen), 0
    state = SwapState(gram, chosen, alpha, prices)
    n_swaps = _descend(state, total, include, exclude)
    while True:
        best, cost = list(state.chosen), state.cost
        moves = _escape(state, total, include, exclude)
        if moves is None:
            return best, n_swaps
        moves += _descend(state, total, include, exclude)
        if state.cost > cost * (1 - TIE) - state.rounding:  # the fall was rounding
            return best, n_swaps
        n_swaps += moves


def _descend(state: SwapState, total: float, include: Sequence[int], exclude: Sequence[int]) -> int:
    """Make the best swap until none helps; leave the state fresh, and return the number of swaps."""
    n_swaps = 0
    checked = float("inf"), list(state.chosen), 0
    while True:
        if state.stale == 0:
            # Close to the rank a running loss is mostly rounding: one that has not really fallen ends the search.
            if state.cost >= checked[0]:
                state.chosen = checked[1]
                state.refresh()
                return checked[2]
            checked = state.cost, list(state.chosen), n_swaps
        allowed = open_columns(state.gram, [*state.chosen, *exclude])
        gain, rounding, a, j = best_swap(state, allowed, include)
        if state.loss > EXHAUSTED * total and gain > max(rounding, state.rounding):
            fresh = state.stale == 0
            if state.swap(a, j):
                n_swaps += 1
            elif fresh:
                return n_swaps
        elif state.stale:
            state.refresh()
        else:
            return n_swaps


def _escape(state: SwapState, total: float, include: Sequence[int], exclude: Sequence[int]) -> int | None:
    """Leave an optimum by the swaps that raise the cost least; return their number once below it, None if not soon."""
    cost = state.cost
    if state.loss <= EXHAUSTED * total:
        return None
    dropped: list[int] = []
    added: list[int] = []
    for moves in range(1, _ESCAPE + 1):
        allowed = open_columns(state.gram, [*state.chosen, *exclude, *dropped])
        _, _, a, j = best_swap(state, allowed, [*include, *added[-_ESCAPE // 2 :]])
        if a < 0:
            return None
        dropped.append(state.chosen[a])
        added.append(j)
        if not state.swap(a, j):
            return None
        if state.cost < cost * (1 - TIE) - state.rounding:
            return moves
    return None
