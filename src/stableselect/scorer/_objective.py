"""The paper's objective for a fixed subset, in closed form.

Model (2) of [1]_ with linear maps on centred features is

    |X - X_S M_S W_D|^2 / n  +  weight |X - X M W_D|^2 / n  (+ alpha |M_S W_D|^2),    M = Phi W_E (m x d).

Only the product M matters, so any S can be made the top k. Minimised over everything but S it leaves

    J(S) = (1 + weight) tr C - sum of the d largest eigenvalues of Q(S),

where, with c the features outside S, Sigma = C_SS - C_Sc C_cc^+ C_cS, T = C_S + weight [Sigma in the columns S] and
N = C_SS + alpha I + weight Sigma,

    Q(S) = weight C_c' C_cc^+ C_c + T' N^-1 T.

With C = U diag(values) U' (rank r) all of it moves to r dimensions, where Q is a diagonal plus a matrix of rank 2k:
with E the k-vectors whose rows of U have full length (nothing outside S says anything of them) and
M_E = (E'U_S diag(1/values) U_S'E)^-1, Sigma = E M_E E', and
Q = weight diag(values) + D N^-1 D' - weight H M_E H' for D = diag(values) U_S' + weight H M_E E' and H = U_S'E.

Where the errors of features have weights W (diagonal, the ridge term included), the eigenvalues are those of
W^1/2 Q W^1/2: with W^1/2 U = O F (O'O = I) those of F Q F' in r dimensions.

References
----------
.. [1] Wu & Cheng (2021), Algorithmic stability and generalization of an unsupervised feature selection algorithm,
   NeurIPS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._core import Array, Gram, index, pseudo_inverse, significant

_RANK = 1e-12
"""Directions with less than this fraction of the largest eigenvalue are not used."""
_FREE = 1e-9
"""A selected direction counts as unexplained by the other features when its row of U is this close to unit length."""


@dataclass
class _Pieces:
    """The thin parts of Q(S) in eigenvector coordinates."""

    U_S: Array
    lengths: Array
    axes: Array
    H: Array
    M_E: Array
    N_root: Array
    DN_root: Array


class ScorerObjective:
    """J(S) and the weights that attain it, for one table.

    Parameters
    ----------
    gram : Gram
        The moments C.
    width : int
        Latent width d.
    weight : float
        Weight of the scorer term.
    alpha : float
        Ridge weight of the selector's map.
    eigen : pair of arrays, optional
        What ``gram.eigh()`` returns, where that is known.
    targets : array of length m, optional
        How much the error of every feature counts.
    """

    def __init__(
        self,
        gram: Gram,
        width: int,
        weight: float,
        alpha: float,
        eigen: tuple[Array, Array] | None = None,
        targets: Array = None,
    ) -> None:
        self.gram, self.width, self.weight, self.alpha = gram, width, weight, alpha
        self.values, self.U = gram.eigh() if eigen is None else eigen
        self.targets, self.total, self.size, self._frame = targets, gram.trace(), float(gram.n_features), None
        if targets is not None:
            self.total, self.size = float(gram.xp.sum(gram.diagonal() * targets)), float(gram.xp.sum(targets))
            self._frame = gram.xp.linalg.qr(gram.xp.sqrt(targets)[:, None] * self.U)[1]

    def _inner(self, Y: Array) -> Array:
        """Return F'Y."""
        return Y if self._frame is None else self._frame.T @ Y

    def _weighted(self, p: _Pieces, Y: Array) -> Array:
        """Return F Q F'Y."""
        applied = self._apply(p, self._inner(Y))
        return applied if self._frame is None else self._frame @ applied

    def directions(self, top: Array) -> Array:
        """Return what J keeps of all features (m x d), for the vectors of :meth:`exact`; unit vectors times W^1/2."""
        return self.U @ self._inner(top)

    def floor(self, k: int, width: int | None = None) -> float:
        """Return a lower bound on J over all subsets of k features, with this latent width or another.

        The selector's map has rank min(k, d) at most and the scorer's d, so neither can do better than as many
        principal components.
        """
        gram, alpha = self.gram, self.alpha
        if self.targets is not None:  # that of the weighted features, without a ridge
            root, alpha = gram.xp.sqrt(self.targets), 0.0
            gram = Gram(gram.dense() * root[:, None] * root[None, :])
        width = self.width if width is None else width
        return gram.floor(min(k, width), alpha) + self.weight * gram.floor(width)

    def exact(self, chosen: Sequence[int]) -> tuple[float, Array]:
        """Return J(S) and the top eigenvectors of Q(S) in eigenvector coordinates (r x d), zero where Q(S) has none."""
        xp = self.gram.xp
        pieces = self._pieces(chosen)
        eye = xp.eye(self.values.shape[0], dtype=xp.float64, device=self.gram.device)
        Q = self._weighted(pieces, eye)
        values, vectors = xp.linalg.eigh((Q + Q.T) / 2)
        top = xp.flip(values)[: self.width]
        J = (1 + self.weight) * self.total - float(xp.sum(top))
        # Where Q has a smaller rank than d, further directions would be rounding.
        held = top > _RANK * xp.max(xp.abs(values)) if top.shape[0] else top > 0
        return J, xp.flip(vectors, axis=1)[:, : self.width] * xp.astype(held, xp.float64)[None, :]

    def bound(self, chosen: Sequence[int], start: Array, steps: int = 2) -> tuple[float, Array]:
        """Return an upper bound on J(S) by subspace iteration from ``start``, and the subspace reached.

        Any d orthonormal vectors Y give J(S) <= (1 + weight) tr C - tr Y'QY; a few steps from the eigenvectors of a
        neighbouring subset come close, at a fraction of the cost of an eigendecomposition.
        """
        xp = self.gram.xp
        pieces = self._pieces(chosen)
        Y = start
        for _ in range(steps):
            Y, _ = xp.linalg.qr(self._weighted(pieces, Y))
        return (1 + self.weight) * self.total - float(xp.sum(Y * self._weighted(pieces, Y))), Y

    def weights(self, chosen: Sequence[int], top: Array) -> tuple[Array, Array]:
        """Return M = Phi W_E (m x d) and the decoder W_D (d x m) that attain J(S), for the vectors of :meth:`exact`.

        M_S = N^-1 T G and M_c is the least-squares answer of least norm, C_cc^+ (C_c G - C_cS M_S). With weights G
        becomes W^1/2 G, and W_D the best decoder for M, also of features whose error does not count.
        """
        xp = self.gram.xp
        p = self._pieces(chosen)
        top = self._inner(top)
        M_S = p.N_root @ (p.DN_root.T @ top)
        left = top - p.U_S.T @ M_S
        left = left - (p.H @ (p.M_E @ (p.H.T @ left))) / self.values[:, None]
        # (U_c'U_c)^+ = (I - U_S'U_S)^+, through the k x k eigenvectors of U_S U_S'.
        free = p.lengths > 1 - _FREE
        inverse = xp.where(free, -1.0, 1 / xp.where(free, 1.0, 1 - p.lengths) - 1)
        inverse = inverse / xp.where(p.lengths > _FREE, p.lengths, 1.0)
        left = left + p.U_S.T @ (p.axes @ (inverse[:, None] * (p.axes.T @ (p.U_S @ left))))
        M = self.U @ left
        M[index(chosen, M, xp), :] = M_S
        if self._frame is None:
            return M, (self.U @ top).T
        applied = self._apply(p, top)
        sizes = xp.sum(top * applied, axis=0)  # the eigenvalues
        held = sizes > _RANK * xp.max(sizes)
        return M, (self.U @ xp.where(held[None, :], applied / xp.where(held, sizes, 1.0)[None, :], 0.0)).T

    def losses(self, M: Array, W_D: Array, chosen: Sequence[int]) -> tuple[float, float, float]:
        """Return the (weighted) mean squared error of the selector and of the scorer path, and the objective."""
        xp = self.gram.xp
        only = xp.zeros_like(M)
        rows = index(chosen, M, xp)
        only[rows, :] = xp.take(M, rows, axis=0)
        weighed = W_D if self.targets is None else W_D * self.targets[None, :]
        K = weighed @ W_D.T
        errors = []
        for part in (only, M):
            CM = self.gram.dot(part)
            errors.append(self.total - 2 * float(xp.sum(CM * weighed.T)) + float(xp.sum((part.T @ CM) * K)))
        selector, scorer = (max(0.0, error) / self.size for error in errors)  # below zero is rounding
        ridge = self.alpha * float(xp.sum((only.T @ only) * K)) / self.size
        return selector, scorer, selector + self.weight * scorer + ridge

    def _pieces(self, chosen: Sequence[int]) -> _Pieces:
        xp, values = self.gram.xp, self.values
        U_S = xp.take(self.U, index(chosen, self.U, xp), axis=0)
        lengths, axes = xp.linalg.eigh(U_S @ U_S.T)
        n_free = int(xp.sum(xp.astype(lengths > 1 - _FREE, xp.int64)))
        E = axes[:, axes.shape[1] - n_free :]
        H = U_S.T @ E
        M_E = pseudo_inverse((H / values[:, None]).T @ H, 0.0, xp) if n_free else xp.zeros_like(E[:0, :])
        scaled = values[:, None] * U_S.T
        D = scaled + self.weight * (H @ (M_E @ E.T))
        N = U_S @ scaled + self.weight * (E @ M_E @ E.T)
        # N^-1 = B B', and D B is exact to rounding where a product with N^-1 would be off by the condition of N.
        sizes, B = xp.linalg.eigh(N + self.alpha * xp.eye(N.shape[0], dtype=N.dtype, device=self.gram.device))
        # Directions too small for the eigenvectors to tell must not come back as rounding blown up to unit size.
        kept = sizes > _RANK * N.shape[0] * xp.max(sizes)
        B = B * xp.where(kept, 1 / xp.sqrt(xp.where(kept, sizes, 1.0)), 0.0)[None, :]
        return _Pieces(U_S, lengths, axes, H, M_E, B, D @ B)

    def _apply(self, p: _Pieces, Y: Array) -> Array:
        """Return Q Y."""
        scored = self.values[:, None] * Y - p.H @ (p.M_E @ (p.H.T @ Y))
        return self.weight * scored + p.DN_root @ (p.DN_root.T @ Y)


def canonical_scores(M: np.ndarray, deviation: np.ndarray, chosen: Sequence[int]) -> np.ndarray:
    """Return phi_j = |M_j| sigma_j, scaled outside the selection to stay below every score inside.

    The size of a score is not identified by the model, since the encoder can take any factor over. So scores may be
    rounded, which keeps equal ones equal.
    """
    scores = significant(np.linalg.norm(M, axis=1) * deviation)
    inside = np.zeros(len(scores), dtype=bool)
    inside[list(chosen)] = True
    scores[inside] = np.maximum(scores[inside], 1e-12 * (scores[inside].max() or 1.0))
    outside = scores[~inside].max(initial=0.0)
    limit = 0.5 * scores[inside].min()
    if outside > limit:
        scores[~inside] *= limit / outside
    return scores
