"""A matrix C of column moments as a thin factor A (r x m), C = A'A.

No m x m array is ever formed, which is what tables with few rows and many columns need.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import array_api_compat
import numpy as np

from ._arrays import Array, index, namespace
from ._gram import Gram, column_products, positive
from ._threads import one_thread, side_by_side, wide_parts, wide_product


@dataclass(frozen=True)
class SharedRows:
    """A thin factor A = E B whose rows B others have too: ``rows`` is B, ``embedding`` is E."""

    rows: np.ndarray
    embedding: np.ndarray


class DualGram(Gram):
    """A thin factor A with C = A'A; ``shared`` tells which rows it has in common with others, where that is known."""

    shared: SharedRows | None = None

    def __init__(self, A: Array) -> None:
        self.A = A
        self.xp = namespace(A)
        self.device = array_api_compat.device(A)
        self.n_features = int(A.shape[1])
        self._last: tuple[DualGram, Array] | None = None

    def dense(self) -> Array:
        """Return A'A."""
        return self.A.T @ self.A

    def each_part(self, function: Callable[[Array], Array]) -> list[Array]:
        """Return a function of A, of the columns of a large one in parts side by side."""
        parts = wide_parts(self.A)
        return [function(self.A)] if len(parts) == 1 else side_by_side(lambda part: function(self.A[:, part]), parts)

    @cached_property
    def products(self) -> Array:
        """AA', r x r."""
        return sum(self.each_part(lambda A: A @ A.T))

    def products_with(self, other: DualGram) -> Array:
        """Return AB' for the factor B of another; that of the last one is kept."""
        if self is other:
            return self.products
        last = self._last
        if last is None or last[0] is not other:
            self._last = last = other, self.A @ other.A.T
        return last[1]

    @cached_property
    def _diagonal(self) -> Array:
        return self.xp.concat(self.each_part(lambda A: column_products(A, A, self.xp)))

    @cached_property
    def _squared_norms(self) -> Array:
        K = self.products
        return self.xp.concat(self.each_part(lambda A: column_products(A, K @ A, self.xp)))

    def diagonal(self) -> Array:
        """Return diag A'A; not to be changed."""
        return self._diagonal

    def squared_norms(self) -> Array:
        """Return the squared column norms of A'A, through the r x r matrix AA'; not to be changed."""
        return self._squared_norms

    def rows(self, chosen: object) -> Array:
        """Return A'A[chosen]."""
        return wide_product(self.xp.take(self.A, index(chosen, self.A, self.xp), axis=1).T, self.A)

    def square_rows(self, chosen: object) -> Array:
        """Return A'AA'A[chosen]."""
        own = self.xp.take(self.A, index(chosen, self.A, self.xp), axis=1)
        return wide_product((self.products @ own).T, self.A)

    def dot(self, V: Array) -> Array:
        """Return A'(A V)."""
        return self.A.T @ (self.A @ V)

    def partial_dot(self, chosen: object, V: Array) -> Array:
        """Return A'(A[:, chosen] V[chosen]), so that a large choice makes no wide array."""
        rows = index(chosen, V, self.xp)
        return self.A.T @ (self.xp.take(self.A, rows, axis=1) @ self.xp.take(V, rows, axis=0))

    def residual(self, chosen: object, V: Array, alpha: float) -> DualGram:
        """Return R in thin form: R = (A - A_S V')'(A - A_S V') + alpha V V'."""
        left = self.A - self.xp.take(self.A, index(chosen, self.A, self.xp), axis=1) @ V.T
        return DualGram(self.xp.concat([left, alpha**0.5 * V.T]) if alpha else left)

    def residual_column(self, j: int, chosen: object, C_S: Array, V: Array) -> tuple[Array, Array, Array, Array]:
        """Return the same in one pass over A: with u = a_j - A_S V_j, r is A'u and C r is A'(AA')u."""
        own = self.A[:, j]
        u = own - self.xp.take(self.A, index(chosen, self.A, self.xp), axis=1) @ V[:, j]
        column, r, Cr, square = wide_product(self.xp.stack([own, u, self.products @ u, self.products @ own]), self.A)
        return column, r, Cr, square

    def scaled(self, factor: float) -> DualGram:
        """Return factor A'A."""
        return DualGram(self.A * factor**0.5)

    def eigh(self) -> tuple[Array, Array]:
        """Return the positive eigenpairs of A'A from the singular value decomposition of A."""
        with one_thread():  # LAPACK's many small steps, in which threads would wait for each other
            _, singular, Vt = self.xp.linalg.svd(self.A, full_matrices=False)
        return positive(singular * singular, Vt.T, self.xp)

    def expect_eigenvalues(self) -> None:
        """Do nothing: AA' is small."""

    def eigenvalues(self) -> Array:
        """Return the eigenvalues of AA', largest first."""
        return self.xp.flip(self.xp.linalg.eigvalsh(self.products))
