"""Some columns of C among themselves, with what all columns have to say of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ._arrays import Array, index
from ._dual_gram import DualGram
from ._gram import Gram

_CLEAR = 1e-3
"""Of a column with less than this fraction of its variance left rounding may tell too much."""
_ROUNDING = 1e-9
"""What rounding may then have put into a residual, as a fraction of the variances."""


class PartGram(Gram):
    """C_SS and (C^2)_SS for some columns S, k x k: enough to put the columns in the order of a forward search.

    The trace and the number of features are those of all columns.
    """

    def __init__(self, whole: Gram, columns: np.ndarray) -> None:
        self.whole, self.part = whole, columns
        if isinstance(whole, DualGram):
            A_S = whole.xp.take(whole.A, index(columns, whole.A, whole.xp), axis=1)
            super().__init__(A_S.T @ A_S)
            self.squares = A_S.T @ (whole.products @ A_S)
        else:
            rows = whole.rows(columns)
            super().__init__(rows[:, index(columns, rows, whole.xp)])
            self.squares = rows @ rows.T
        self.n_features = whole.n_features

    def trace(self) -> float:
        """Return tr C."""
        return self.whole.trace()

    def squared_norms(self) -> Array:
        """Return the squared norms of the columns of C."""
        return self.xp.linalg.diagonal(self.squares)

    def with_squares(self, features: Array) -> tuple[Array, Array]:
        """Return rows of C_SS and of (C^2)_SS."""
        return self.xp.take(self.C, features, axis=0), self.xp.take(self.squares, features, axis=0)

    def split(self, chosen: object, alpha: float) -> tuple[Array, Array, Gram]:
        """Return what :class:`Gram` says; the residual is that of these columns."""
        P, V, R = self.whole.split(self.part[np.asarray(chosen)], alpha)
        return P, V, PartGram(R, self.part)

    def clear_order(self, alpha: float, first: Sequence[int] = ()) -> list[int] | None:
        """Return the order of a forward search of all columns, some of them first; None where gains come close.

        What is left of C_SS and of (C^2)_SS is formed: with w = R_j / sqrt(R_jj + alpha), a step turns R into R - w w'
        and R^2 into R^2 - (w z' + z w'), z = R w - |w|^2 w / 2.
        """
        R, D, total, order = self.C.copy(), self.squares.copy(), self.trace(), list(first)
        h, g, least = R.diagonal(), D.diagonal(), _CLEAR * self.C.diagonal()
        closed = np.zeros(len(h))  # infinite where a column is taken
        for step in range(len(h)):
            if not (h + closed > least).all():
                return None
            if step == len(order):
                gains = g / (h + alpha + closed)
                best = int(gains.argmax())
                top, gains[best] = float(gains[best]), 0.0
                slack = _ROUNDING * (2 * (top * total / _CLEAR) ** 0.5 + top / _CLEAR)
                if top - float(gains.max()) <= 3 * slack:
                    return None
                order.append(best)
            j = order[step]
            inverse = 1 / (float(h[j]) + alpha)
            w, z = R[j] * inverse**0.5, D[j] * inverse**0.5
            z -= (float(g[j]) * inverse / 2) * w
            R -= w[:, None] * w
            D -= np.stack([w, z], axis=1) @ np.stack([z, w])
            closed[j] = np.inf
        return order
