"""A positive semi-definite matrix C of column moments, held whole.

:class:`~stableselect._core._dual_gram.DualGram` holds a thin factor of C instead. Both answer the same questions, so
the searches that ask them do not know which one they hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from types import ModuleType

import array_api_compat
import numpy as np

from ._arrays import Array, index, namespace
from ._blas import symmetric_product
from ._inverse import coefficients_of, inverse_of_independent, pseudo_inverse, refined_product
from ._threads import begun, side_by_side, wide_parts

_RANK_TOLERANCE = 1e-12
"""Eigenvalues at or below this share of the largest count as zero."""
LONG = 512
"""Of so many features on, eigenvalues take ten milliseconds, and another thread is worth it."""
CANCELS = 1e-2
"""A residual with no more than this share of the variance is not computed as a difference."""
_STRETCHES = 16
"""Parts in which large arrays are gone through several times, so that a part stays in the processor's cache."""
_MODERATE = 1e20
"""Moments with a mean variance up to this, and down to one over it, can be searched as they are."""


class Gram:
    """What the subset searches may ask of C, here held as an m x m array."""

    _spectrum: Callable[[], Array] | None = None
    _square: Array = None
    _among: tuple[np.ndarray, np.ndarray] | None = None
    ahead: tuple[float, Callable[[], np.ndarray | None]] | None = None
    """A ridge weight alpha, and what gives the diagonal of (C + alpha I)^-1, which another thread may have begun."""

    def __init__(self, C: Array) -> None:
        self.C = by_rows(C)
        self.xp = namespace(C)
        self.device = array_api_compat.device(C)
        self.n_features = int(C.shape[0])

    def dense(self) -> Array:
        """Return C as an m x m array."""
        return self.C

    def diagonal(self) -> Array:
        """Return diag C, length m."""
        return self.xp.linalg.diagonal(self.C)

    def squared_norms(self) -> Array:
        """Return the squared norm of every column of C, length m."""
        return self.xp.vecdot(self.C, self.C)

    def rows(self, chosen: object) -> Array:
        """Return C[chosen], len(chosen) x m: rows lie together in memory."""
        return self.C[index(chosen, self.C, self.xp), :]

    def dot(self, V: Array) -> Array:
        """Return C V for a vector or an m x d matrix V."""
        if V.ndim == 1 and isinstance(V, np.ndarray):
            return symmetric_product(self.C, V)
        if isinstance(V, np.ndarray) and V.flags.f_contiguous:
            return (V.T @ self.C).T  # in the layout of V
        return self.C @ V

    def with_squares(self, features: Array) -> tuple[Array, Array]:
        """Return rows of C and of C^2; each of the latter is computed once."""
        rows = self.xp.take(self.C, features, axis=0)
        if self._square is not None:
            return rows, self.xp.take(self._square, features, axis=0)
        numbers = features.tolist()
        for j in set(numbers) - self._squares.keys():
            self._squares[j] = self.dot(self.C[j, :])
        return rows, self.xp.stack([self._squares[j] for j in numbers])

    def squares_among(self, features: Array) -> Array:
        """Return rows and columns of C^2; those of some of the features asked for last are known."""
        if self._square is not None:
            return self.xp.take(self._square, features, axis=0)[:, features]
        if isinstance(features, np.ndarray) and self._among is not None:
            known, squares = self._among
            at = np.minimum(np.searchsorted(known, features), len(known) - 1)
            if np.array_equal(known[at], features):
                return squares[at[:, None], at]
        rows = self.rows(features)
        squares = rows @ rows.T
        if isinstance(features, np.ndarray):
            self._among = features, squares
        return squares

    def expect(self, features: Sequence[int]) -> None:
        """Compute rows of C^2 that may well be asked for, which takes less at once."""
        new = sorted(set(features) - self._squares.keys())
        self._squares.update(zip(new, self.rows(new) @ self.C, strict=True))

    def expect_all(self) -> None:
        """Compute all of C^2 in one product, which other threads need not wait for."""
        if self._square is None:
            self._square = self.C.T @ self.C

    @cached_property
    def _squares(self) -> dict[int, Array]:
        return {}

    @cached_property
    def paths(self) -> dict[tuple[float, tuple[int, ...], tuple[int, ...]], list[int]]:
        """What forward searches found so far, by ridge weight, features included and features excluded."""
        return {}

    def partial_dot(self, chosen: object, V: Array) -> Array:
        """Return C[:, chosen] V[chosen]."""
        own = V.T[:, index(chosen, V, self.xp)]
        if isinstance(V, np.ndarray) and V.flags.f_contiguous:
            return (own @ self.rows(chosen)).T  # in the layout of V
        return self.rows(chosen).T @ own.T

    def residual(self, chosen: object, V: Array, alpha: float) -> Gram:
        """Return R = C - V C_S', what the chosen columns S leave unexplained, for the V of :meth:`split`."""
        return Gram(self.C - V @ self.rows(chosen))

    def split(self, chosen: object, alpha: float) -> tuple[Array, Array, Gram]:
        """Return P = (C_SS + alpha I)^+, the coefficients V = C_S P (m x k) and the residual R = C - V C_S'."""
        rows = self.rows(chosen)
        M = rows[:, index(chosen, rows, self.xp)]
        P = pseudo_inverse(M, alpha, self.xp)
        V = refined_product(rows.T, P, M, alpha)
        return P, V, self.residual(chosen, V, alpha)

    def square_rows(self, chosen: Sequence[int]) -> Array:
        """Return rows of C^2; those that are not known yet are computed at once."""
        if self._square is not None:
            return self.xp.take(self._square, index(chosen, self.C, self.xp), axis=0)
        self.expect(chosen)
        return self.xp.stack([self._squares[j] for j in chosen])

    def swap_products(self, chosen: object, alpha: float, rows: Array, D: Array) -> tuple[Array, ...] | None:
        """Return P, V', V'R, and squared column norms and diagonal of R, without R; None where rounding forbids it.

        With D rows of C^2, V'R is P(D - D_S V').
        """
        at = index(chosen, rows, self.xp)
        P = inverse_of_independent(rows[:, at], alpha, self.xp)
        if P is None:
            return None
        xp, D_S = self.xp, D[:, at]
        V, Y = xp.empty_like(rows), xp.empty_like(rows)
        h, g = (xp.asarray(values, copy=True) for values in (self.diagonal(), self.squared_norms()))

        def compute(part: slice) -> None:
            V[:, part] = P @ rows[:, part]
            own, left = V[:, part], D[:, part] - D_S @ V[:, part]
            Y[:, part] = P @ left
            h[part] -= column_products(own, rows[:, part], xp)
            left += D[:, part]
            g[part] -= column_products(own, left, xp)

        parts = wide_parts(rows, parts=_STRETCHES)
        if len(parts) == 1:
            compute(parts[0])
        else:
            side_by_side(compute, parts)
        return None if float(xp.sum(h)) <= CANCELS * self.trace() else (P, V, Y, g, h)

    def residual_column(self, j: int, chosen: object, C_S: Array, V: Array) -> tuple[Array, Array, Array, Array]:
        """Return C_j, r = C_j - V'C_Sj for coefficients V and C_S' (k x m); C r and C C_j where they come with them."""
        column = self.rows([j])[0, :]
        return column, column - C_S[:, j] @ V, None, None

    def coefficients(self, chosen: object, alpha: float) -> Array:
        """Return the V of :meth:`split` alone, which takes far less."""
        return coefficients_of(self.rows(chosen), chosen, alpha, self.xp)

    def loss(self, chosen: object, alpha: float) -> float:
        """Return tr R for the R of :meth:`split`, to rounding of tr C."""
        return self.trace() - float(self.xp.sum(self.coefficients(chosen, alpha).T * self.rows(chosen)))

    def scaled(self, factor: float) -> Gram:
        """Return factor C, of the same form."""
        return Gram(self.C * factor)

    def unscaled(self, alpha: float) -> tuple[Gram, float]:
        """Return moments and a ridge weight for which searches choose as for these; the moments need no new array."""
        return self, alpha

    def normalised(self) -> tuple[Gram, float]:
        """Return C with mean variance one, and the factor that brings it back.

        The searches square C, which leaves the range of double precision when the columns' units are extreme.
        """
        unit = self.trace() / self.n_features
        return (self.scaled(1 / unit), unit) if 0 < unit < float("inf") else (self, unit or 1.0)

    def eigh(self) -> tuple[Array, Array]:
        """Return the positive eigenvalues of C, largest first, and their eigenvectors (m x rank)."""
        values, vectors = self.xp.linalg.eigh(self.C)
        return positive(self.xp.flip(values), self.xp.flip(vectors, axis=1), self.xp)

    def eigenvalues(self) -> Array:
        """Return the eigenvalues of C, largest first, without the trailing zeros of the thin form."""
        values = self.xp.linalg.eigvalsh(self.C) if self._spectrum is None else self._spectrum()
        return self.xp.flip(values)

    def expect_eigenvalues(self) -> None:
        """Begin to compute the eigenvalues beside other work, where they take long and the processor computes them."""
        if self.n_features >= LONG and isinstance(self.diagonal(), np.ndarray):
            self._spectrum = begun(lambda: self.xp.linalg.eigvalsh(self.C))

    def trace(self) -> float:
        """Return tr C."""
        return float(self.xp.sum(self.diagonal()))

    def floor(self, rank: int, alpha: float = 0.0) -> float:
        """Return a lower bound on the loss of any map of this rank: the principal component error.

        The best rank-k map B under a ridge alpha |B|^2 keeps the k leading eigenvectors, each shrunk by
        e / (e + alpha), and leaves tr C - sum_{i <= k} e_i^2 / (e_i + alpha).
        """
        xp = self.xp
        values = self.eigenvalues()
        values = xp.where(values > 0, values, 0.0)
        top = values[:rank]
        left = top * (alpha / xp.where(top + alpha > 0, top + alpha, 1.0))
        return float(xp.sum(values[rank:])) + float(xp.sum(left))


class ScaledGram(Gram):
    """C = factor S, zero in columns that do not vary, multiplied out once a product with C is asked for."""

    def __init__(self, S: Array, factor: float, varies: Array = None) -> None:
        self.whole, self.factor, self.varies = Gram(S), factor, varies
        self.xp, self.device, self.n_features = self.whole.xp, self.whole.device, self.whole.n_features

    @cached_property
    def C(self) -> Array:
        """The m x m array."""
        C = self.whole.C * self.factor
        if self.varies is not None:
            C *= self.varies[None, :]
            C *= self.varies[:, None]
        return C

    def diagonal(self) -> Array:
        """Return diag C."""
        return self.whole.diagonal() * (self.factor if self.varies is None else self.factor * self.varies)

    def rows(self, chosen: object) -> Array:
        """Return C[chosen]."""
        rows = self.whole.rows(chosen) * self.factor
        return rows if self.varies is None else rows * self.varies * self.varies[index(chosen, rows, self.xp), None]

    def unscaled(self, alpha: float) -> tuple[Gram, float]:
        """Return S and the ridge weight in its units, unless these are extreme."""
        return (self.whole, alpha / self.factor) if self._plain else (self, alpha)

    @cached_property
    def _plain(self) -> bool:
        """Whether S can be searched as it is."""
        return self.varies is None and 1 / _MODERATE < self.whole.trace() / self.n_features < _MODERATE

    def square_rows(self, chosen: Sequence[int]) -> Array:
        """Return rows of C^2, from those of S."""
        if self.unscaled(0.0)[0] is self:
            return super().square_rows(chosen)
        return self.whole.square_rows(chosen) * self.factor**2

    def scaled(self, factor: float) -> ScaledGram:
        """Return factor C, not multiplied out."""
        return ScaledGram(self.whole.C, self.factor * factor, self.varies)


def by_rows(C: Array) -> Array:
    """Return a symmetric matrix with its rows together in memory: the transpose of one in column order."""
    return C.T if isinstance(C, np.ndarray) and not C.flags.c_contiguous else C


def column_products(A: Array, B: Array, xp: ModuleType) -> Array:
    """Return the inner product of every column of A with that of B."""
    return np.einsum("ij,ij->j", A, B) if isinstance(A, np.ndarray) else xp.sum(A * B, axis=0)


def positive(values: Array, vectors: Array, xp: ModuleType) -> tuple[Array, Array]:
    """Keep the eigenpairs above rounding of a list that has the largest first."""
    rank = int(xp.sum(xp.astype(values > _RANK_TOLERANCE * xp.max(values), xp.int64))) if values.shape[0] else 0
    return values[:rank], vectors[:, :rank]
