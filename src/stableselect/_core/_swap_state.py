"""What every swap of a kept feature for another would do to the loss, kept up to date swap by swap.

The notation is that of :mod:`stableselect._core._subset_search`.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

from ._arrays import Array, index
from ._gram import Gram

TRUST = 1e-12
"""A feature with less than this fraction of its variance left is a combination of the kept ones."""
ROUNDING = 1e-12
"""What rounding may have put into a residual, as a fraction of the terms it is the difference of."""
_REFRESH = 32
"""Swaps between two recomputations of the state, to keep rounding from building up."""


def gain_rounding(g: Array, pivot: Array, size: Array, total: float, xp: ModuleType) -> Array:
    """Return by how much rounding may have moved the gain g / pivot of adding a feature.

    An error e sqrt(s_i s_j) in every R_ij, e = ROUNDING, moves the pivot by e s_j and |R_j| by e sqrt(s_j total). The
    ``size`` s_j of feature j is C_jj, and more where kept features are close to combinations of each other: it is the
    sum of the terms that cancel in R_jj; ``total`` is the sum of all sizes.
    """
    return ROUNDING / pivot * (2 * xp.sqrt(xp.where(g > 0, g, 0.0) * (size * total)) + xp.abs(g) * size / pivot)


class SwapState:
    """R, V and what follows from them for one subset, kept up to date swap by swap.

    A swap costs one product of C with a vector and a few passes over k x m arrays; :meth:`refresh` recomputes all.
    ``V``, ``Y`` and ``C_S`` are stored as k x m, a row for every kept feature. With ``prices`` (length m, none below
    zero) a subset costs its loss and the prices of its features, and gains are falls of that cost.
    """

    def __init__(self, gram: Gram, chosen: Sequence[int], alpha: float, prices: Array = None) -> None:
        self.gram = gram
        self.alpha = alpha
        self.prices = prices
        self.chosen = list(chosen)
        self.variance = gram.diagonal()
        self.refresh()

    def refresh(self) -> None:
        """Recompute everything from C and the subset."""
        xp = self.gram.xp
        self.P, V, R = self.gram.split(self.chosen, self.alpha)
        self.Y = xp.asarray(R.dot(V).T, copy=True)
        self.V = xp.asarray(V.T, copy=True)
        self.C_S = xp.asarray(self.gram.columns(self.chosen).T, copy=True)
        self.g, self.h = self.gram.residual_norms(self.chosen, V, R), R.diagonal()
        self.drop_costs = self._drop_costs()
        self.stale = 0

    @property
    def loss(self) -> float:
        """Return tr R."""
        return float(self.gram.xp.sum(self.h))

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
        """Return by how much the loss rises when each kept feature is dropped, |V_a|^2 / P_aa."""
        return self.gram.xp.sum(self.V * self.V, axis=1) / self._pivots()

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
        usable = allowed[None, part] & (pivot > TRUST * self.variance[None, part])
        return xp.where(usable, num / xp.where(usable, pivot, 1.0) - costs[:, None], -float("inf"))

    def _without(self, Y: Array, g: Array, costs: Array, part: slice | Array) -> tuple[Array, Array]:
        """Return what |R_j|^2 and R_jj + alpha are without the a-th kept feature.

        These are g + V/p (2 Y + V |V|^2/p) and h + V^2/p + alpha.
        """
        V = self.V[:, part]
        scaled = V / self._pivots()[:, None]
        return (
            g[None, part] + scaled * (2 * Y[:, part] + V * costs[:, None]),
            self.h[None, part] + self.alpha + V * scaled,
        )

    def swap(self, a: int, j: int) -> bool:
        """Replace the a-th kept feature by feature j; do nothing where rounding alone made it look possible.

        Dropping gives R + v v'/p, V - v row' with row = P_a / p, and P - p row row'. Adding feature r of that residual
        with pivot tau = r_j + alpha takes r r'/tau away again and gives V + r last', P + tau last last', where
        last = (-V_j, 1) / tau. The new feature takes the old one's place, so both are rank-one changes in place.
        """
        xp, gram, V, Y = self.gram.xp, self.gram, self.V, self.Y
        p = float(self.P[a, a])
        v, y = xp.asarray(V[a, :], copy=True), xp.asarray(Y[a, :], copy=True)
        row = self.P[a, :] / p
        V -= row[:, None] * v[None, :]
        pull = (V @ v) / p
        g = self.g + 2 * v * y / p + (xp.sum(v * v) / p**2) * (v * v)
        h = self.h + v * v / p
        P = self.P - p * row[:, None] * row[None, :]

        # V_a is zero now, so the dropped feature's row of C_S no longer counts.
        column = gram.columns([j])[:, 0]
        r = column - self.C_S[:, j] @ V
        tau = float(r[j]) + self.alpha
        if tau <= TRUST * float(self.variance[j]):  # the feature is a combination of the kept ones after all
            self.refresh()
            return False
        q = gram.dot(r) - (self.C_S @ r) @ V
        self.C_S[a, :] = column
        last = -V[:, j] / tau
        last[a] = 1 / tau
        V += last[:, None] * r[None, :]
        push = (V @ r) / tau
        # Y = R V under both changes: four rank-one terms at once.
        Y += xp.stack([-row, pull, last, -push], axis=1) @ xp.stack([y, v, q, r])
        self.g = g - 2 * r * q / tau + (xp.sum(r * r) / tau**2) * (r * r)
        self.h = h - r * r / tau
        self.P = P + tau * last[:, None] * last[None, :]
        self.drop_costs = self._drop_costs()
        self.chosen[a] = j
        self.stale += 1
        if self.stale >= _REFRESH:
            self.refresh()
        return True
