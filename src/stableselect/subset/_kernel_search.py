"""Search for features by the leave-one-out error of the kernel map from them to all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .._core import side_by_side, significant
from ._kernel_ridge import (
    RIDGES,
    KernelFeatures,
    KernelSetting,
    members,
    ridge_errors,
    settings,
    solve,
    squared_distances,
)

_TARGETS = 100
"""The reconstructed features are told by so many of their principal components."""
_FEW = 40
"""Of so few features all are tried; of more those that a screening puts first."""
_TOLERANCE = 1e-3
"""A swap must lower the leave-one-out error by this fraction."""
_GIVE_UP = 12
"""A sweep ends after so many features in a row that nothing should replace."""
_NONLINEAR = KernelSetting(0.5, 1.0, 1e-2)
"""Setting of a forward search where that of the start is nearly linear."""


@dataclass(frozen=True)
class Reached:
    """A set of features with its setting, its leave-one-out error and the errors of the samples that judge it."""

    chosen: list[int]
    setting: KernelSetting
    error: float
    judged: np.ndarray


class KernelProblem:
    """Samples that decide between sets of features, and samples that judge the result.

    Parameters
    ----------
    Z : ndarray of shape (n, m)
        Standardised features.
    Y : ndarray of shape (n, m)
        Centred features in common units: what is reconstructed.
    decide, judge : ndarray of int
        Samples for each; without any to judge, the leave-one-out errors of the first do.
    landmarks : ndarray of int
        Which of those that decide the Gaussian part is built on.
    groups : ndarray of int of shape (n,), optional
        Samples that decide are left out with all of their group, if they are not of a single one.
    """

    def __init__(
        self,
        Z: np.ndarray,
        Y: np.ndarray,
        decide: np.ndarray,
        judge: np.ndarray,
        landmarks: np.ndarray,
        groups: np.ndarray | None = None,
    ) -> None:
        self._groups = None if groups is None else members(groups[decide])
        self.Z, self._judge_Z, self._landmarks = Z[decide], Z[judge], landmarks
        Y_decide, Y_judge = Y[decide], Y[judge]
        self.total = float(np.vdot(Y_decide, Y_decide))
        if min(Y_decide.shape) > _TARGETS:
            gram = Y_decide @ Y_decide.T if Y_decide.shape[0] < Y_decide.shape[1] else None
            if gram is None:
                _, V = np.linalg.eigh(Y_decide.T @ Y_decide)
                basis = V[:, -_TARGETS:]
            else:
                size, U = np.linalg.eigh(gram)
                size, U = size[-_TARGETS:], U[:, -_TARGETS:]
                there = size > 1e-12 * size[-1]  # the rank may be lower
                basis = (Y_decide.T @ U[:, there]) / np.sqrt(size[there])
            self.basis: np.ndarray | None = basis
            self.Y, self._judge_Y = Y_decide @ basis, Y_judge @ basis
        else:
            self.basis, self.Y, self._judge_Y = None, Y_decide, Y_judge
        self._tail = self.total - float(np.vdot(self.Y, self.Y))
        self._judge_tail = np.sum(Y_judge**2, axis=1) - np.sum(self._judge_Y**2, axis=1)
        self._tail_of = np.sum(Y_decide**2, axis=1) - np.sum(self.Y**2, axis=1)
        self._polynomials = _polynomials(self.Z)

    def distances(self, features: Sequence[int]) -> np.ndarray:
        """Return the squared distances of the deciding samples from the landmarks in some features."""
        Z = self.Z[:, list(features)]
        return squared_distances(Z, Z[self._landmarks])

    def residuals(
        self, features: Sequence[int], setting: KernelSetting, known: np.ndarray | None = None
    ) -> tuple[float, np.ndarray]:
        """Return the leave-one-out error of a set, as a fraction of the variance, and the residuals behind it.

        ``known`` are the distances in all but the last of the features.
        """
        if not len(features):
            n = len(self.Z)
            left = self.Y * (n / max(1, n - 1))
        else:
            D = self.distances(features) if known is None else known
            if known is not None:
                z = self.Z[:, features[-1]]
                D = D + (z[:, None] - z[None, self._landmarks]) ** 2
            made = KernelFeatures(D[self._landmarks], setting.bandwidth, setting.weight)
            _, left = solve(made.of(self.Z[:, list(features)], D), self.Y, setting.ridge, self._groups)
        return (float(np.vdot(left, left)) + self._tail) / self.total, left

    def tune(self, features: Sequence[int]) -> KernelSetting:
        """Return the setting with the lowest leave-one-out error."""
        D, Z = self.distances(features), self.Z[:, list(features)]

        def errors(setting: tuple[float, float]) -> list[float]:
            return ridge_errors(KernelFeatures(D[self._landmarks], *setting).of(Z, D), self.Y, RIDGES, self._groups)

        pairs = list(settings())
        found = significant(np.array(side_by_side(errors, pairs)))
        at, ridge = np.unravel_index(int(np.argmin(found)), found.shape)
        return KernelSetting(*pairs[at], RIDGES[ridge])

    def judged(self, features: list[int], setting: KernelSetting) -> Reached:
        """Return a set with the squared error of every sample that judges it."""
        error, left = self.residuals(features, setting)
        if not len(self._judge_Z):
            return Reached(features, setting, error, np.sum(left**2, axis=1) + self._tail_of)
        D, Z, judge = self.distances(features), self.Z[:, features], self._judge_Z[:, features]
        made = KernelFeatures(D[self._landmarks], setting.bandwidth, setting.weight)
        B, _ = solve(made.of(Z, D), self.Y, setting.ridge)
        left = self._judge_Y - made.of(judge, squared_distances(judge, Z[self._landmarks])) @ B
        return Reached(features, setting, error, np.sum(left**2, axis=1) + self._judge_tail)

    def screened(self, left: np.ndarray) -> np.ndarray:
        """Return, for every feature, the fraction of residuals that a cubic polynomial of it explains."""
        m = self.Z.shape[1]
        products = self._polynomials.T @ left.astype(np.float32)
        parts = np.sum(products.astype(np.float64) ** 2, axis=1).reshape(m, 3).sum(axis=1)
        return np.round(parts / max(float(np.vdot(left, left)), np.finfo(np.float64).tiny), 6)


def _polynomials(Z: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the centred z, z^2 and z^3 of every feature, n x 3m, in single precision."""
    n, m = Z.shape
    Q = np.empty((n, m, 3), dtype=np.float32)
    for power in range(3):
        v = Z ** (power + 1)
        v -= v.mean(axis=0)
        length = np.sqrt(np.sum(v**2, axis=0))
        for _ in range(2):
            for lower in range(power):
                v -= np.sum(Q[:, :, lower] * v, axis=0) * Q[:, :, lower]
        rest = np.sqrt(np.sum(v**2, axis=0))
        Q[:, :, power] = np.where(rest > 1e-3 * length, v / np.where(rest > 0, rest, 1.0), 0.0)
    return Q.reshape(n, 3 * m)


class KernelSearch:
    """Forward search and swaps.

    Parameters
    ----------
    problem : KernelProblem
        The samples.
    include : sequence of int
        Features that must be selected.
    allowed : ndarray of int
        Features that may be.
    n_candidates : int
        Features that are tried in the place of one; of at most 40 all are.
    max_sweeps : int
        Most sweeps over the selected features.
    advance : callable
        Called for every set that was tried.
    """

    def __init__(
        self,
        problem: KernelProblem,
        include: Sequence[int],
        allowed: np.ndarray,
        n_candidates: int,
        max_sweeps: int,
        advance: Callable[[], None],
    ) -> None:
        self._problem, self._include, self._allowed = problem, list(include), allowed
        self._n_candidates = len(allowed) if len(allowed) <= _FEW else n_candidates
        self._max_sweeps, self._advance = max_sweeps, advance

    def swapped(self, begin: Reached) -> list[Reached]:
        """Return what every sweep of swaps reaches, from the first set on, until held-out samples no longer gain."""
        reached = [begin]
        for _ in range(self._max_sweeps):
            chosen = self._sweep(reached[-1])
            if chosen == reached[-1].chosen:
                break
            reached.append(self._problem.judged(chosen, self._problem.tune(chosen)))
            if reached[-1].judged.mean() >= reached[-2].judged.mean():
                break
        return reached

    def forward(self, k: int, setting: KernelSetting) -> Reached:
        """Return the k features of a forward search."""
        setting = setting if setting.weight >= 1 else _NONLINEAR
        chosen = list(self._include)
        while len(chosen) < k:
            _, best = self._best(chosen, chosen, setting)
            chosen = [*chosen, best]
        return self._problem.judged(chosen, self._problem.tune(chosen))

    def _sweep(self, at: Reached) -> list[int]:
        """Return the features after trying to replace each one, the least needed first."""
        chosen, error, setting = list(at.chosen), at.error, at.setting
        free = [j for j in chosen if j not in self._include]
        without = self._without(chosen, free, setting)
        failed = 0
        for i in [free[place] for place in np.argsort(significant(without), kind="stable")]:
            if failed >= _GIVE_UP:
                break
            found, best = self._best([j for j in chosen if j != i], chosen, setting)
            failed += 1
            if found < error * (1 - _TOLERANCE):
                chosen[chosen.index(i)], error, failed = best, found, 0
        return chosen

    def _without(self, chosen: list[int], free: list[int], setting: KernelSetting) -> np.ndarray:
        def error(i: int) -> float:
            self._advance()
            return self._problem.residuals([j for j in chosen if j != i], setting)[0]

        return np.array(side_by_side(error, free))

    def worth(self, reached: Reached) -> tuple[np.ndarray, np.ndarray]:
        """Return by how much the error rises without each feature, and what part of the rest any feature explains."""
        rises = self._without(reached.chosen, reached.chosen, reached.setting) - reached.error
        return rises, self._problem.screened(self._problem.residuals(reached.chosen, reached.setting)[1])

    def _best(self, rest: list[int], taken: list[int], setting: KernelSetting) -> tuple[float, int]:
        """Return the lowest error of one more feature, and which; ties go to the lowest index."""
        left = self._problem.residuals(rest, setting)[1]
        open_ = self._allowed[~np.isin(self._allowed, taken)]
        if not open_.size:
            return np.inf, -1
        first = np.argsort(-self._problem.screened(left)[open_], kind="stable")[: self._n_candidates]
        tried = np.sort(open_[first]).tolist()
        known = self._problem.distances(rest)

        def error(j: int) -> float:
            self._advance()
            return self._problem.residuals([*rest, j], setting, known)[0]

        errors = significant(np.array(side_by_side(error, tried)))
        at = int(np.argmin(errors))
        return float(errors[at]), tried[at]


def better(reached: Sequence[Reached]) -> Reached:
    """Return the set of lowest judged error; the first one unless another gains more than a standard error on it."""
    start = reached[0]
    others = [found for found in reached if set(found.chosen) != set(start.chosen)]  # not the same in another order
    best = min([start, *others], key=lambda found: float(found.judged.mean()))
    return best if gains(start.judged, best.judged) else start


def gains(before: np.ndarray, after: np.ndarray) -> bool:
    """Tell whether the errors of samples fall by more than a standard error of the mean."""
    gain = before - after
    return bool(gain.mean() > gain.std() / np.sqrt(max(1, len(gain) - 1)))
