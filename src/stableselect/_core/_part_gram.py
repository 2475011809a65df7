"""Some columns of C among themselves, with what all columns have to say of them."""

from __future__ import annotations

import numpy as np

from ._arrays import Array, index
from ._dual_gram import DualGram
from ._gram import Gram


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
