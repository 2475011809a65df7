"""A positive semi-definite matrix C of column moments, held whole or as a thin factor.

:class:`Gram` holds C (m x m). :class:`DualGram` holds A (r x m) with C = A'A and never forms an m x m array, which is
what tables with few rows and many columns need. Both answer the same questions, so the searches that ask them do not
know which one they hold.
"""

from __future__ import annotations

from types import ModuleType

import array_api_compat

from ._arrays import Array, index, namespace

_RANK_TOLERANCE = 1e-12
"""Eigenvalues at or below this share of the largest count as zero."""


class Gram:
    """What the subset searches may ask of C, here held as an m x m array."""

    def __init__(self, C: Array) -> None:
        self.C = C
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
        return self.xp.sum(self.C * self.C, axis=0)

    def columns(self, chosen: object) -> Array:
        """Return C[:, chosen], m x len(chosen)."""
        return self.xp.take(self.C, index(chosen, self.C, self.xp), axis=1)

    def dot(self, V: Array) -> Array:
        """Return C V for a vector or an m x d matrix V."""
        return self.C @ V

    def partial_dot(self, chosen: object, V: Array) -> Array:
        """Return C[:, chosen] V[chosen]."""
        return self.columns(chosen) @ self.xp.take(V, index(chosen, V, self.xp), axis=0)

    def residual(self, chosen: object, V: Array, alpha: float) -> Gram:
        """Return R = C - V C_S', what the chosen columns S leave unexplained, for the V of :meth:`split`."""
        return Gram(self.C - V @ self.columns(chosen).T)

    def split(self, chosen: object, alpha: float) -> tuple[Array, Array, Gram]:
        """Return P = (C_SS + alpha I)^+, the coefficients V = C_S P (m x k) and the residual R = C - V C_S'."""
        C_S = self.columns(chosen)
        M = self.xp.take(C_S, index(chosen, C_S, self.xp), axis=0)
        P = pseudo_inverse(M, alpha, self.xp)
        V = refined_product(C_S, P, M, alpha)
        return P, V, self.residual(chosen, V, alpha)

    def scaled(self, factor: float) -> Gram:
        """Return factor C, of the same form."""
        return Gram(self.C * factor)

    def normalised(self) -> tuple[Gram, float]:
        """Return C with mean variance one, and the factor that brings it back.

        The searches square C, which leaves the range of double precision when the columns' units are extreme.
        """
        unit = self.trace() / self.n_features
        return (self.scaled(1 / unit), unit) if 0 < unit < float("inf") else (self, unit or 1.0)

    def deflation(self) -> Deflation:
        """Return an object that takes columns out of C one at a time, for :func:`forward_search`."""
        return Deflation(self)

    def eigh(self) -> tuple[Array, Array]:
        """Return the positive eigenvalues of C, largest first, and their eigenvectors (m x rank)."""
        values, vectors = self.xp.linalg.eigh(self.C)
        return _positive(self.xp.flip(values), self.xp.flip(vectors, axis=1), self.xp)

    def eigenvalues(self) -> Array:
        """Return the eigenvalues of C, largest first, without the trailing zeros of the thin form."""
        return self.xp.flip(self.xp.linalg.eigvalsh(self.C))

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


class DualGram(Gram):
    """A thin factor A with C = A'A."""

    def __init__(self, A: Array) -> None:
        self.A = A
        self.xp = namespace(A)
        self.device = array_api_compat.device(A)
        self.n_features = int(A.shape[1])

    def dense(self) -> Array:
        """Return A'A."""
        return self.A.T @ self.A

    def diagonal(self) -> Array:
        """Return diag A'A."""
        return self.xp.sum(self.A * self.A, axis=0)

    def squared_norms(self) -> Array:
        """Return the squared column norms of A'A, through the r x r matrix AA'."""
        return self.xp.sum(self.A * ((self.A @ self.A.T) @ self.A), axis=0)

    def columns(self, chosen: object) -> Array:
        """Return A'A[:, chosen]."""
        return self.A.T @ self.xp.take(self.A, index(chosen, self.A, self.xp), axis=1)

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

    def scaled(self, factor: float) -> DualGram:
        """Return factor A'A."""
        return DualGram(self.A * factor**0.5)

    def deflation(self) -> Deflation:
        """Return a deflation that works in the row space and reads A once a step."""
        return DualDeflation(self)

    def eigh(self) -> tuple[Array, Array]:
        """Return the positive eigenpairs of A'A from the singular value decomposition of A."""
        _, singular, Vt = self.xp.linalg.svd(self.A, full_matrices=False)
        return _positive(singular * singular, Vt.T, self.xp)

    def eigenvalues(self) -> Array:
        """Return the eigenvalues of AA', largest first."""
        return self.xp.flip(self.xp.linalg.eigvalsh(self.A @ self.A.T))


class Deflation:
    """R = C - W'W, C less the directions w = R_j / sqrt(R_jj + alpha) taken out so far, without ever forming R."""

    def __init__(self, gram: Gram) -> None:
        self.xp, self.C = gram.xp, gram.C
        self.W = gram.xp.zeros((0, gram.n_features), dtype=gram.xp.float64, device=gram.device)

    def step(self, j: int, alpha: float, smallest: float) -> tuple[Array, Array] | None:
        """Take column j out: return w and R w (R before the step), or None when its pivot is at most ``smallest``."""
        xp, C, W = self.xp, self.C, self.W
        column = C[:, j] - W.T @ W[:, j]
        pivot = float(column[j]) + alpha
        if pivot <= smallest:
            return None
        w = column / pivot**0.5
        self.W = xp.concat([W, w[None, :]])
        return w, C @ w - W.T @ (W @ w)


class DualDeflation(Deflation):
    """R = A'(I - Q'Q)A, with w = A'q and A w = (AA')q, so that one pass over A gives both results."""

    def __init__(self, gram: DualGram) -> None:
        self.xp, self.A = gram.xp, gram.A
        self.K = gram.A @ gram.A.T
        self.Q = gram.xp.zeros((0, gram.A.shape[0]), dtype=gram.xp.float64, device=gram.device)

    def step(self, j: int, alpha: float, smallest: float) -> tuple[Array, Array] | None:
        """Take column j out, as above."""
        xp, A, Q = self.xp, self.A, self.Q
        left = A[:, j] - Q.T @ (Q @ A[:, j])
        pivot = float(A[:, j] @ left) + alpha
        if pivot <= smallest:
            return None
        q = left / pivot**0.5
        z = self.K @ q
        z = z - Q.T @ (Q @ z)
        self.Q = xp.concat([Q, q[None, :]])
        both = xp.stack([q, z]) @ A
        return both[0, :], both[1, :]


def _positive(values: Array, vectors: Array, xp: ModuleType) -> tuple[Array, Array]:
    """Keep the eigenpairs above rounding of a list that has the largest first."""
    rank = int(xp.sum(xp.astype(values > _RANK_TOLERANCE * xp.max(values), xp.int64))) if values.shape[0] else 0
    return values[:rank], vectors[:, :rank]


def pseudo_inverse(M: Array, alpha: float, xp: ModuleType) -> Array:
    """Return (M + alpha I)^+ for a symmetric positive semi-definite M, zero where M + alpha I is zero to rounding.

    Rows and columns are first brought to unit diagonal, so that columns in very different units are judged alike.
    """
    total = M + alpha * xp.eye(M.shape[0], dtype=M.dtype, device=array_api_compat.device(M))
    diagonal = xp.linalg.diagonal(total)
    unit = xp.where(diagonal > 0, 1 / xp.sqrt(xp.where(diagonal > 0, diagonal, 1.0)), 0.0)
    values, vectors = xp.linalg.eigh(total * unit[:, None] * unit[None, :])
    kept = values > _RANK_TOLERANCE * M.shape[0]
    inverse = xp.where(kept, 1 / xp.where(kept, values, 1.0), 0.0)
    return ((vectors * inverse[None, :]) @ vectors.T) * unit[:, None] * unit[None, :]


def refined_product(C_S: Array, P: Array, M: Array, alpha: float) -> Array:
    """Return V = C_S P for P = (M + alpha I)^+, as exact as if V (M + alpha I) = C_S had been solved.

    The plain product is off by the condition of M, so that R = C - V C_S' would be mostly rounding where the columns of
    S are close to combinations of each other. Every step multiplies V's relative error by its first size.
    """
    V = C_S @ P
    for _ in range(2):
        V = V + (C_S - V @ M - alpha * V) @ P
    return V
