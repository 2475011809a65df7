"""What one subset of features leaves, and what every swap of one of them for another would change.

With S the kept features, C the moments and a ridge weight alpha, the loss of S is tr R with R = C - V C_S',
V = C_S P and P = (C_SS + alpha I)^-1. Adding feature j lowers it by |R_j|^2 / (R_jj + alpha). Dropping the a-th kept
feature turns R into R + v v'/p with v = V_a, p = P_aa and raises the loss by |v|^2 / p. Every swap's effect follows
from R's column norms g, its diagonal h, and the one product Y = R V.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ._arrays import Array, index
from ._blas import add_product
from ._dual_gram import DualGram
from ._forward_search import ROUNDING, TRUST, gain_rounding
from ._gram import CANCELS, Gram, column_products
from ._sums import Room
from ._threads import side_by_side, wide_parts, wide_product

_ROOM = Room()
"""For swaps as they are looked at."""
_MANY = 2**15
"""Swaps for which every pass over them counts."""
_REFRESH = 32
"""Swaps between two recomputations of the state, to keep rounding from building up."""


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
        self.C_S: Array = None
        self.D: Array = None  # rows of C^2
        self.held: list[list[int]] = [[], []]  # whose rows are in C_S and in D
        self.independent = False  # no kept feature is close to a combination of the others
        self.thin = False  # and C is A'A, so that products with V = P C_S need no pass over it
        self.refresh()

    def refresh(self) -> None:
        """Recompute everything from C and the subset."""
        gram = self.gram
        self.C_S = self._updated(self.C_S, gram.rows, 0)
        if self.weights is None:
            self.D = self._updated(self.D, gram.square_rows, 1)
        known = None if self.D is None else gram.swap_products(self.chosen, self.alpha, self.C_S, self.D)
        self.independent = known is not None
        self.thin = self.independent and isinstance(gram, DualGram)
        self.P, self.V, self.Y, self.g, self.h = self._from_residual() if known is None else known
        self.settle()
        self.stale = 0

    def settle(self) -> None:
        """Work out what follows from P and V: p = diag P, what dropping a feature costs, and the size of all terms.

        Of a kept feature that the others replace fully p counts as infinite. Dropping the a-th one raises the loss by
        V_a'WV_a / p. The size is the sum over all features j of C_jj + sum_a V_aj^2 C_aa, the terms that cancel in
        R_jj.
        """
        xp, at = self.gram.xp, index(self.chosen, self.variance, self.gram.xp)
        p = xp.linalg.diagonal(self.P)
        self.p = xp.where(p > 0, p, float("inf"))
        if self.thin:  # VV' is P (C^2)_SS P
            squares = xp.vecdot(self.P @ xp.take(self.D, at, axis=1), self.P)
        else:
            squares = xp.vecdot(self.V, self._weighed(self.V))
        self.drop_costs, self.kept_variance = squares / self.p, xp.take(self.variance, at)
        squares = xp.where(p > 0, squares, 0.0)
        self.total_size = float(xp.sum(self.variance)) + float(xp.sum(self.kept_variance * squares))

    def _updated(self, rows: Array, get: Callable[[list[int]], Array], which: int) -> Array:
        """Return rows of C or C^2 that belong to the kept features; those of new ones are computed."""
        held, self.held[which] = self.held[which], list(self.chosen)
        new = [a for a, j in enumerate(self.chosen) if held[a : a + 1] != [j]]
        if rows is None or len(new) == len(self.chosen):
            return get(self.chosen)
        if new:
            rows[index(new, rows, self.gram.xp), :] = get([self.chosen[a] for a in new])
        return rows

    def _from_residual(self) -> tuple[Array, ...]:
        """Return P, V, Y, g and h from R."""
        xp = self.gram.xp
        P, V, R = self.gram.split(self.chosen, self.alpha)
        Y = R.dot(self._weighed(V.T).T).T
        if self.weights is not None:
            g = weighted_norms(R, self.weights)
        elif self.D is None or R.trace() <= CANCELS * self.gram.trace():
            g = R.squared_norms()
        else:  # the norm of C_j - C_S V_j is that of C_j less V_j'(2 D_j - D_S V_j)
            at = index(self.chosen, V, xp)
            g = self.gram.squared_norms() - column_products(V.T, 2 * self.D - self.D[:, at] @ V.T, xp)
        return P, xp.asarray(V.T, copy=True), xp.asarray(Y, copy=True), g, R.diagonal()

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
        return ROUNDING * self.total_size

    def _kept_prices(self) -> Array:
        return self.gram.xp.take(self.prices, index(self.chosen, self.prices, self.gram.xp))

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

    def best_gains(self, allowed: Array, part: slice, rows: Sequence[int] | None = None) -> Array:
        """Return the largest of :meth:`swap_gains` for every feature of ``part``, of all kept features or of some.

        Without prices the gains are (2 t Y + g - cost (h + alpha)) / (h + alpha + t V) with t = V/p, computed here in
        as few passes as can be.
        """
        xp, own = self.gram.xp, self.h[part] + self.alpha
        least = TRUST * self.variance[part]
        many = isinstance(self.V, np.ndarray) and self.V.size >= _MANY
        if self.prices is not None or not many or not np.all(own > least):
            gains = self.swap_gains(allowed, part)
            return xp.max(gains if rows is None else xp.take(gains, index(rows, gains, xp), axis=0), axis=0)
        V, Y, p, costs = self.V[:, part], self.Y[:, part], self.p, self.drop_costs
        if rows is not None:
            V, Y, p, costs = V[rows], Y[rows], p[rows], costs[rows]
        scaled, num = _ROOM.take(2, V.size).reshape(2, *V.shape)
        np.multiply(V, (2 / p)[:, None], out=scaled)
        np.multiply(scaled, Y, out=num)
        add_product(num, np.stack([-costs, np.ones_like(costs)], axis=1), np.stack([own, self.g[part]]))
        scaled *= V
        scaled += 2 * own
        num /= scaled
        return np.where(allowed[part], 2 * np.max(num, axis=0), -np.inf)

    def swap_rounding(self, part: slice | Array = slice(None)) -> Array:
        """Return by how much rounding may have moved those gains."""
        xp = self.gram.xp
        own, p, total = self.kept_variance, self.p, self.total_size
        V, each = self.V[:, part], self.V[:, part] / p[:, None]
        g = self.g[part] + each * (2 * self.Y[:, part] + V * self.drop_costs[:, None])
        size, pivot = self.variance[part] + own @ (V * V), self.h[part] + self.alpha + each * V
        pivot = xp.where(pivot > TRUST * self.variance[None, part], pivot, float("inf"))
        dropping = gain_rounding(self.drop_costs / p, xp.where(p < float("inf"), 1 / p, float("inf")), own, total, xp)
        return gain_rounding(g, pivot, size[None, :], total, xp) + dropping[:, None]

    def projected_gains(self, allowed: Array, G: Array) -> Array:
        """Return the same for the loss within the span of the orthonormal G (m x d), tr G'RG, k x m."""
        xp = self.gram.xp
        RG = self.gram.dot(G) - self.V.T @ (self.C_S @ G)
        VG = self.V @ G
        costs = xp.sum(VG * VG, axis=1) / self.p
        return self._gains(allowed, VG @ RG.T, xp.sum(RG * RG, axis=1), costs)

    def _gains(self, allowed: Array, Y: Array, g: Array, costs: Array, part: slice | Array = slice(None)) -> Array:
        """Return what adding every feature j gains once the a-th kept one is dropped, less the cost of dropping it.

        Without the a-th one |R_j|^2 is g + V/p (2 Y + V cost) and R_jj + alpha the pivot h + alpha + V^2/p. Their ratio
        less the cost is (g + 2 V Y/p - cost (h + alpha)) / pivot.
        """
        xp, V, open_, least = self.gram.xp, self.V[:, part], allowed[part], TRUST * self.variance[part]
        own = xp.where(open_, self.h[part] + self.alpha, 1.0)
        pivot = V / self.p[:, None]
        num = 2 * Y[:, part]
        num *= pivot
        num += g[part]
        num -= costs[:, None] * own
        pivot *= V
        pivot += own
        if not bool(xp.all(own > least)):
            usable = pivot > least
            num, pivot = xp.where(usable, num, -float("inf")), xp.where(usable, pivot, 1.0)
        num /= pivot
        num[:, ~open_] = -float("inf")
        return num

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
        if self.thin:
            return self._swap_thin(a, j)
        v, y = xp.asarray(V[a, :], copy=True), xp.asarray(Y[a, :], copy=True)
        row = self.P[a, :] / p
        _add_product(V, -row[:, None], v[None, :])
        pull = (V @ self._weighed(v)) / p
        g = self.g + 2 * v * y / p + (xp.sum(v * self._weighed(v)) / p**2) * (v * v)
        h = self.h + v * v / p
        P = self.P - p * row[:, None] * row[None, :]

        # V_a is zero now, so the dropped feature's row of C_S no longer counts.
        column, r, Cr, square = gram.residual_column(j, self.chosen, self.C_S, V)
        tau = float(r[j]) + self.alpha
        if tau <= TRUST * float(self.variance[j]):  # the feature is a combination of the kept ones after all
            self.refresh()
            return False
        weighed = self._weighed(r)
        q = (gram.dot(weighed) if Cr is None or self.weights is not None else Cr) - (self.C_S @ weighed) @ V
        self.C_S[a, :], self.held[0][a] = column, j
        if self.D is not None and square is not None:
            self.D[a, :], self.held[1][a] = square, j
        last = -V[:, j] / tau
        last[a] = 1 / tau
        _add_product(V, last[:, None], r[None, :])
        push = (V @ weighed) / tau
        # Y = R W V under both changes: four rank-one terms at once.
        _add_product(Y, xp.stack([-row, pull, last, -push], axis=1), xp.stack([y, v, q, r]))
        self.g = g - 2 * r * q / tau + (xp.sum(r * weighed) / tau**2) * (r * r)
        self.h = h - r * r / tau
        self.P = P + tau * last[:, None] * last[None, :]
        self._swapped(a, j)
        return True

    def _swapped(self, a: int, j: int) -> None:
        """Note a swap that was made."""
        self.chosen[a] = j
        self.stale += 1
        if self.stale >= _REFRESH:
            self.refresh()
        else:
            self.settle()

    def _swap_thin(self, a: int, j: int) -> bool:
        """Do the same with C = A'A: all but the changes of V and Y themselves follow from A, P and (C^2)_SS.

        With r = A'u, u = A_j - A_S V_j, the product C_S r is A_S'(AA')u and R r is A'(AA'u - A_S P C_S r).
        """
        xp, gram, V, Y, at = self.gram.xp, self.gram, self.V, self.Y, index(self.chosen, self.V, self.gram.xp)
        assert isinstance(gram, DualGram)
        p, row = float(self.P[a, a]), self.P[a, :] / self.P[a, a]
        v, y = xp.asarray(V[a, :], copy=True), xp.asarray(Y[a, :], copy=True)
        P = self.P - p * row[:, None] * row[None, :]
        kept, own = xp.take(gram.A, at, axis=1), gram.A[:, j]
        left = V[:, j] - row * v[j]
        u = own - kept @ left
        tau = float(own @ u) + self.alpha
        if tau <= TRUST * float(self.variance[j]):  # the feature is a combination of the kept ones after all
            self.refresh()
            return False
        Ku = gram.products @ u
        through = P @ (kept.T @ Ku)  # V r
        column, r, q, square = wide_product(xp.stack([own, u, Ku - kept @ through, gram.products @ own]), gram.A)
        length = xp.sum(v * v)
        pull = (self.P @ (xp.take(self.D, at, axis=1) @ self.P[a, :]) - row * length) / p
        last = -left / tau
        last[a] = 1 / tau
        push = (through + last * xp.sum(r * r)) / tau
        self.g = (
            self.g + 2 * v * y / p + (length / p**2) * (v * v) - 2 * r * q / tau + (xp.sum(r * r) / tau**2) * (r * r)
        )
        self.h = self.h + v * v / p - r * r / tau
        self.P = P + tau * last[:, None] * last[None, :]
        add_wide_products(
            (V, xp.stack([-row, last], axis=1), xp.stack([v, r])),
            (Y, xp.stack([-row, pull, last, -push], axis=1), xp.stack([y, v, q, r])),
        )
        self.C_S[a, :], self.D[a, :], self.held[0][a], self.held[1][a] = column, square, j, j
        self._swapped(a, j)
        return True


def _add_product(M: Array, left: Array, right: Array) -> None:
    """Add left right to M in place, without an array of that size on the way where BLAS can do without."""
    if isinstance(M, np.ndarray):
        add_product(M, left, right)
    else:
        M += left @ right


def add_wide_products(*changes: tuple[Array, Array, Array]) -> None:
    """Add left right to every M in place, the columns of large ones in parts side by side."""

    def add(change: tuple[Array, Array, Array], part: slice) -> None:
        M, left, right = change
        _add_product(M[:, part], left, right[:, part])

    parts = [(change, part) for change in changes for part in wide_parts(change[0])]
    side_by_side(lambda given: add(*given), parts, at_most=None if len(parts) > len(changes) else 1)


def weighted_norms(R: Gram, weights: Array) -> Array:
    """Return the diagonal of R W R for W = diag(weights), length m."""
    if isinstance(R, DualGram):
        return column_products(R.A, ((R.A * weights[None, :]) @ R.A.T) @ R.A, R.xp)
    return R.xp.vecdot(R.dense(), R.dense() * weights[None, :])
