"""What some features leave of all, and what every unit that could join or replace one of them would change.

The notation is that of :mod:`stableselect._core._swap_state`, with W the weights of the features: V = P C_S (k x m),
R = C - C_S' V. With E = C_S W C and G = C_S W C_S', all that a search asks for follows from k x m arrays:

    diag R W R = diag C W C - 2 sum_a V_a E_a + sum_a V_a (G V)_a,    Y = V W R = P E - P G P C_S.

A row of C W C takes one product with C, and is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ._arrays import Array, like, namespace, to_numpy
from ._forward_search import TRUST
from ._gram import Gram
from ._inverse import coefficients_of, pseudo_inverse
from ._rules import Rules
from ._swap_state import weighted_norms


@dataclass(frozen=True)
class UnitProblem:
    """What is searched.

    Attributes
    ----------
    gram : Gram
        The moments C.
    alpha : float
        Ridge weight.
    rules : Rules
        Which sets are allowed.
    weights : array of length m or None
        How much the error of every feature counts; None for 1.
    prices : ndarray of shape (m,)
        What keeping a feature costs beside the loss, in its units; none below zero.
    spending : ndarray of shape (u,) or None
        What every unit uses up of a budget.
    """

    gram: Gram
    alpha: float
    rules: Rules
    weights: Array
    prices: np.ndarray
    spending: np.ndarray | None = None

    def total(self) -> float:
        """Return the variance to be explained, tr WC."""
        return float((self.variance * self.w).sum())

    def loss(self, features: Sequence[int]) -> float:
        """Return the loss of some features, to rounding of the total."""
        if not len(features):
            return self.total()
        rows = self.rows(features)
        explained = coefficients_of(rows, features, self.alpha, namespace(rows)).T * rows
        return self.total() - float((explained.sum(axis=0) * self.w).sum())

    def explained(self, features: Sequence[int]) -> float:
        """Return the fraction of the variance that the ridge map from some features explains, V'(2 C_S - C_SS V)."""
        rows, total = self.rows(features), self.total()
        V = coefficients_of(rows, features, self.alpha, namespace(rows)).T
        explained = (V * (2 * rows - rows[:, features] @ V)).sum(axis=0) @ self.w
        return float(explained) / total if total > 0 else 1.0

    def quick_cost(self, units: Iterable[int]) -> float:
        """Return the same from small matrices, to rounding of the total times the condition of the features."""
        features = self.rules.features(units)
        if not features:
            return self.total()
        A = self.rows(features)[:, features] + self.alpha * np.eye(len(features))
        M = self.square_rows(features)[:, features]
        fall = small_falls(A[None], M[None], self.variance[features][None])[0][0]
        return self.total() - float(fall) + float(self.prices[features].sum())

    def cost(self, units: Iterable[int]) -> float:
        """Return the loss of some units and their prices."""
        features = self.rules.features(units)
        return self.loss(features) + float(self.prices[features].sum())

    @cached_property
    def w(self) -> np.ndarray:
        """The weights, 1 where there are none."""
        return np.ones(self.gram.n_features) if self.weights is None else to_numpy(self.weights)

    @cached_property
    def variance(self) -> np.ndarray:
        """The diagonal of C."""
        return to_numpy(self.gram.diagonal())

    @cached_property
    def squares(self) -> np.ndarray:
        """The diagonal of C W C."""
        return to_numpy(weighted_norms(self.gram, like(self.w, self.gram.diagonal(), self.gram.xp)))

    @cached_property
    def _known(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        return {}

    def _know(self, features: Sequence[int]) -> None:
        """Compute the rows of C and of C W C that are asked for, each once."""
        new = [j for j in features if j not in self._known]
        if new:
            rows = self.gram.rows(new)
            squares = self.gram.dot((rows if self.weights is None else rows * self.weights).T).T
            self._known.update(zip(new, zip(to_numpy(rows), to_numpy(squares), strict=True), strict=True))

    def rows(self, features: Sequence[int]) -> np.ndarray:
        """Return rows of C."""
        self._know(features)
        return np.stack([self._known[j][0] for j in features]) if len(features) else np.empty((0, len(self.w)))

    def square_rows(self, features: Sequence[int]) -> np.ndarray:
        """Return rows of C W C."""
        self._know(features)
        return np.stack([self._known[j][1] for j in features]) if len(features) else np.empty((0, len(self.w)))

    @cached_property
    def firsts(self) -> np.ndarray:
        """The first feature of every unit."""
        return np.array([unit[0] for unit in self.rules.units])

    @cached_property
    def joint(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """The units of several features, those of one size together: units, features, C_UU + alpha I and (C W C)_UU."""
        found = []
        for size in sorted({len(unit) for unit in self.rules.units} - {1}):
            units = np.array([u for u, unit in enumerate(self.rules.units) if len(unit) == size])
            features = np.array([self.rules.units[u] for u in units])
            rows = [to_numpy(self.gram.rows(unit)) for unit in features]
            A = np.stack([own[:, unit] for own, unit in zip(rows, features, strict=True)]) + self.alpha * np.eye(size)
            found.append((units, features, A, np.stack([(own * self.w) @ own.T for own in rows])))
        return found


def small_falls(A: np.ndarray, M: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return tr A^+ M of many small matrices, and the smallest eigenvalue of each A used, scaled to unit variance."""
    unit = 1 / np.sqrt(np.where(variance > 0, variance, 1.0))
    scale = unit[:, :, None] * unit[:, None, :]
    values, vectors = np.linalg.eigh(A * scale)
    usable = values > TRUST * A.shape[1]
    inside = (vectors * ((M * scale) @ vectors)).sum(axis=1)
    falls = np.where(usable, inside / np.where(usable, values, 1.0), 0.0).sum(axis=1)
    return falls, np.where(usable, values, 1.0).min(axis=1)


class UnitState:
    """What some features leave of all.

    Parameters
    ----------
    problem : UnitProblem
        What is searched.
    features : sequence of int
        The features.
    """

    def __init__(self, problem: UnitProblem, features: Sequence[int]) -> None:
        self.problem, self.features = problem, list(features)
        self.C_S, self.E = problem.rows(self.features), problem.square_rows(self.features)
        self.V = self.C_S
        if self.features:
            self.V = coefficients_of(self.C_S, self.features, problem.alpha, namespace(self.C_S)).T
        self.G = self.E[:, self.features]
        self.h = problem.variance - (self.V * self.C_S).sum(axis=0)
        self.g = problem.squares - (self.V * (2 * self.E - self.G @ self.V)).sum(axis=0)

    @property
    def cost(self) -> float:
        """The loss and the prices of the features."""
        return float((self.h * self.problem.w).sum() + self.problem.prices[self.features].sum())

    def gains(self, open_: np.ndarray) -> np.ndarray:
        """Return by how much adding each unit lowers the cost; minus infinity for units that are not open."""
        problem = self.problem
        usable = self.h > TRUST * problem.variance
        single = np.where(usable, self.g / np.where(usable, self.h + problem.alpha, 1.0), 0.0) - problem.prices
        gains = single[problem.firsts]
        # Several features U together lower the loss by tr (R_UU + alpha I)^-1 (R W R)_UU.
        for units, features, A, M in problem.joint:
            V, C_S, E = (part[:, features].transpose(1, 2, 0) for part in (self.V, self.C_S, self.E))
            VE = V @ E.transpose(0, 2, 1)
            M = M - VE - VE.transpose(0, 2, 1) + V @ self.G @ V.transpose(0, 2, 1)
            falls = small_falls(A - V @ C_S.transpose(0, 2, 1), M, problem.variance[features])[0]
            gains[units] = falls - problem.prices[features].sum(axis=1)
        return np.where(open_, gains, -np.inf)

    def swap_gains(self) -> np.ndarray:
        """Return by how much every swap of a feature for a unit of one feature lowers the cost, k x u."""
        problem, at = self.problem, self.problem.firsts
        M = self.C_S[:, self.features]
        P = pseudo_inverse(M, problem.alpha, namespace(M))
        PGP = P @ self.G @ P
        p = np.where(np.diagonal(P) > 0, np.diagonal(P), np.inf)
        drop = np.diagonal(PGP) / p
        V, Y = self.V[:, at], P @ self.E[:, at] - PGP @ self.C_S[:, at]
        scaled = V / p[:, None]
        num = self.g[at] + scaled * (2 * Y + V * drop[:, None])
        pivot = self.h[at] + problem.alpha + V * scaled
        usable = pivot > TRUST * problem.variance[at]
        # A feature that the others replace brings nothing, but may be the one that the rules want.
        falls = np.where(usable, num / np.where(usable, pivot, 1.0), 0.0) - drop[:, None]
        return np.asarray(falls + problem.prices[self.features][:, None] - problem.prices[at])
