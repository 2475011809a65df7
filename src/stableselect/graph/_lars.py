"""Least angle regression from a Gram matrix or, for wide data, from the features themselves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg.blas import dtpsv

_COLLINEAR = 1e-9
"""A feature is passed over when less than this fraction of its variance is left by the active ones."""
_TIE = 1e-10
"""Relative difference below which two features are equally correlated, and the first one goes."""


def least_angle(
    gram_row: Callable[[int], np.ndarray],
    diagonal: np.ndarray,
    target: np.ndarray,
    max_active: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the coefficients of least angle regression with at most ``max_active`` features.

    All active features keep a residual correlation of the same size C: each step moves along w = G_AA^(-1) sign(c_A)
    until another feature reaches C (Efron et al. 2004, eq. 2.11-2.13, unnormalised). The path stops where the feature
    after the last one would join, or where C is spent. Features that the active ones span never join; features that tie
    join together, the first ones if there is no room for all.

    Parameters
    ----------
    gram_row : function
        Row j of G = X'X for centred features.
    diagonal : ndarray of shape (m,)
        Diagonal of G.
    target : ndarray of shape (m,)
        X'y.
    max_active : int
        Most features with a coefficient.

    Returns
    -------
    coefficients : ndarray of shape (m,)
    active : ndarray of int
        Features with a coefficient in order of entry.
    """
    path = _Path(gram_row, diagonal, target, min(max_active, len(target)))
    reached: int | None = path.most_correlated()
    while path.size > path.spent and reached is not None:
        path.join(reached)
        path.join_ties()
        reached = path.advance()
        if len(path.active) == path.room:
            break
    return path.coefficients, np.array(path.active, dtype=np.int64)


class _Path:
    """The state of the regression: active features, the Cholesky factor of their Gram matrix, correlations left."""

    def __init__(
        self, gram_row: Callable[[int], np.ndarray], diagonal: np.ndarray, target: np.ndarray, room: int
    ) -> None:
        self.gram_row, self.diagonal, self.room = gram_row, diagonal, room
        self.coefficients = np.zeros(len(target))
        self.residual = target.copy()  # X'(y - X a)
        self.open = diagonal > 0
        self.size = float(np.max(np.abs(target), where=self.open, initial=0.0))  # C
        self.spent = 1e-10 * self.size
        self.active: list[int] = []
        self.rows = np.empty((room, len(target)))
        self.factor = np.empty(room * (room + 1) // 2)  # R with R'R = G_AA, one column after the other
        self.solved = np.empty(room)  # R'^(-1) sign(c_A): grows by one number a step, since the signs stay

    def most_correlated(self) -> int:
        """Return the open feature of largest correlation, the first of those that tie."""
        free = np.where(self.open, np.abs(self.residual), -1.0)
        return int(np.argmax(free >= free.max() * (1 - _TIE)))

    def join(self, column: int) -> None:
        """Close a feature and make it active, unless the active ones span it."""
        if not self.open[column]:
            return
        self.open[column] = False
        p, row = len(self.active), self.gram_row(column)
        part = dtpsv(p, self.factor, row[self.active], trans=1) if p else np.empty(0)
        left = self.diagonal[column] - part @ part
        if left <= _COLLINEAR * self.diagonal[column]:
            return
        end = p * (p + 1) // 2 + p
        self.factor[end - p : end], self.factor[end] = part, np.sqrt(left)
        self.solved[p] = (np.sign(self.residual[column]) - part @ self.solved[:p]) / self.factor[end]
        self.rows[p] = row
        self.active.append(column)

    def join_ties(self) -> None:
        """Let in, or pass over, the features that are as correlated as the active ones already."""
        tied = self.open & (np.abs(self.residual) >= self.size * (1 - _TIE))
        for column in np.flatnonzero(tied):
            if len(self.active) < self.room:
                self.join(int(column))

    def advance(self) -> int | None:
        """Go on until an inactive feature is as correlated as the active ones, and return it; None at the end."""
        p = len(self.active)
        direction = dtpsv(p, self.factor, self.solved[:p])
        change = direction @ self.rows[:p]
        # A copy of an active feature ties for ever, and would stop the path by a rounding error.
        waiting = np.flatnonzero(self.open & ~((np.abs(self.residual) >= self.size * (1 - _TIE)) & _same(change)))
        r, a = self.residual[waiting], change[waiting]
        up = np.divide(self.size - r, 1 - a, out=np.full(len(r), np.inf), where=a < 1)
        down = np.divide(self.size + r, 1 + a, out=np.full(len(r), np.inf), where=a > -1)
        steps = np.maximum(np.minimum(up, down), 0.0)
        shortest = float(steps.min(initial=np.inf))
        step = min(shortest, self.size)
        self.coefficients[self.active] += step * direction
        self.residual -= step * change
        self.size -= step
        if shortest >= self.size + step:
            return None
        return int(waiting[np.argmax(steps <= shortest * (1 + _TIE))])


def _same(change: np.ndarray) -> np.ndarray:
    """Tell which features' correlations fall as fast as the active ones'."""
    return np.abs(np.abs(change) - 1.0) <= _TIE
