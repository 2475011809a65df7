"""What the paper's theory compares when a sample is left out: two fitted maps, their difference, both sides of (3).

A fitted network sends a sample x to x Phi W_E W_D (scorer) or x Phi^max_k W_E W_D (selector). Here x is a sample less
the mean of the n samples of the full fit, with a 1 appended that carries the intercepts: the paper's formulas have
none. The maps are kept as thin factors, so that comparing them costs little.

References
----------
Wu & Cheng (2021), Algorithmic stability and generalization of an unsupervised feature selection algorithm, NeurIPS,
section 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import nnls

Path = Literal["selector", "scorer"]
STEPS = np.linspace(0, 1, 11)
"""The t of Assumption 3 and of Proposition 1."""
_RANK = 1e-10
"""A singular value at or below this fraction of the largest counts as zero."""
_UNSEEN = 1e-12
"""A direction of the scores with no more than this fraction of the largest curvature is not seen by the moments."""
_OUTSIDE = 1e-6
"""A column space lies inside another when no larger fraction of it is left over."""


@dataclass(frozen=True)
class Maps:
    """The two affine maps of a network: x goes to x L R, with L of the path.

    Attributes
    ----------
    selector, scorer : ndarray of shape (m + 1, p)
        Left factors; the last row is that of the appended 1.
    right : ndarray of shape (p, m)
        The factor they share.
    """

    selector: np.ndarray
    scorer: np.ndarray
    right: np.ndarray

    def left(self, path: Path) -> np.ndarray:
        """Return the left factor of a path."""
        return self.selector if path == "selector" else self.scorer


def with_one(X: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Return samples less the centre, with a 1 appended."""
    return np.hstack([X - centre, np.ones((len(X), 1))])


def fitted_maps(selector: Any, centre: np.ndarray) -> Maps:
    """Return the maps of a fitted linear scorer-selector for samples less ``centre``.

    An intercept is a latent unit that is 1.
    """
    scored = selector.score_weights_[:, None] * selector.encoder_
    kept = np.where(selector.support_[:, None], scored, 0.0)
    kept_left, scored_left = (
        np.block([[part, np.zeros((len(part), 1))], [intercept + centre @ part, np.ones(1)]])
        for part, intercept in ((kept, selector.encoder_intercept_), (scored, selector.scorer_intercept_))
    )
    return Maps(kept_left, scored_left, np.vstack([selector.decoder_, selector.decoder_intercept_ - centre]))


def rescaled(maps: Maps, factors: np.ndarray) -> Maps:
    """Return the maps with every feature's score multiplied by its factor, encoder and decoder held."""
    scale = np.append(factors, 1.0)[:, None]
    return Maps(maps.selector * scale, maps.scorer * scale, maps.right)


def held_factors(C: np.ndarray, M: np.ndarray, decoder: np.ndarray, support: np.ndarray, weight: float) -> np.ndarray:
    """Return Phi over Phi_* where Phi minimises the objective on the moments C with encoder and decoder held.

    With B = M W_D, M = Phi_* W_E, and r_a = phi_a / phi_a*, the error of a path is tr C - 2 q'r + r'(C o BB')r with
    q = diag(B C), restricted to S for the selector. So r solves a linear system. Of all solutions it is the one nearest
    to 1, since directions that the moments do not see should not move. Scores are at least 0: where that binds, the
    bounded problem is solved instead.

    Parameters
    ----------
    C : ndarray of shape (m, m)
        Second moments of the samples, about the centre of the full fit.
    M : ndarray of shape (m, d)
        Phi_* W_E.
    decoder : ndarray of shape (d, m)
        W_D.
    support : ndarray of bool
        The selected features S.
    weight : float
        lambda_1.

    Returns
    -------
    ndarray of shape (m,)
    """
    counts = np.where(support, 1.0, 0.0)
    H = C * (M @ (decoder @ decoder.T) @ M.T)
    H = H * (np.outer(counts, counts) + weight)
    b = np.einsum("ad,da->a", M, decoder @ C) * (counts + weight)
    factors = 1 + np.linalg.lstsq(H, b - H.sum(axis=1), rcond=_UNSEEN)[0]
    if factors.min() >= 0:
        return factors
    values, vectors = np.linalg.eigh(H)
    large = values > _UNSEEN * values[-1]
    root = np.sqrt(values[large])
    # A faint pull to 1 settles what the moments do not see.
    pull = float(np.sqrt(_UNSEEN * values[-1]))
    table = np.vstack([(vectors[:, large] * root).T, pull * np.eye(len(b))])
    return nnls(table, np.append((vectors[:, large].T @ b) / root, np.full(len(b), pull)))[0]


def combination(a: Maps, b: Maps, path: Path, of_a: float, of_b: float) -> np.ndarray:
    """Return D (m + 1 x p) such that the norm of x D is that of of_a x A + of_b x B, for the maps A and B of a path."""
    if a.right is b.right:
        left, right = of_a * a.left(path) + of_b * b.left(path), a.right
    else:
        left = np.hstack([of_a * a.left(path), of_b * b.left(path)])
        right = np.vstack([a.right, b.right])
    triangle: np.ndarray = np.linalg.qr(right.T)[1]
    return left @ triangle.T


def largest_ratio(N: np.ndarray, D: np.ndarray) -> tuple[float, float, int, int]:
    """Return the largest norm of x N over that of x D for all x, and why.

    It is finite where x D = 0 leaves x N = 0, that is where the columns of N lie in the span of those of D; then it is
    a generalised singular value.

    Returns
    -------
    ratio : float
        Infinite where it has no bound.
    outside : float
        Fraction of N, in spectral norm, outside the span of D.
    rank_N, rank_D : int
        Ranks.
    """
    U, values, _ = np.linalg.svd(D, full_matrices=False)
    sizes = np.linalg.svd(N, compute_uv=False)
    rank_N, rank_D = (int(np.sum(found > _RANK * found[0])) for found in (sizes, values))
    if rank_N == 0:
        return 0.0, 0.0, rank_N, rank_D
    U, values = U[:, :rank_D], values[:rank_D]
    outside = float(np.linalg.norm(N - U @ (U.T @ N), 2) / sizes[0])
    if outside > _OUTSIDE:
        return np.inf, outside, rank_N, rank_D
    return float(np.linalg.norm((U.T @ N) / values[:, None], 2)), outside, rank_N, rank_D


def losses_along_path(samples: np.ndarray, a: Maps, b: Maps) -> np.ndarray:
    """Return the scorer's loss of every sample (with its 1) along A + t (B - A), samples x steps of t.

    Where the maps share encoder and decoder, this is the path Phi + t (Phi' - Phi); elsewhere the product moves.
    """
    x = samples[:, :-1]
    latent = [samples @ part.scorer for part in (a, b)]
    target = [np.sum((x @ part.right.T) * h, axis=1) for part, h in zip((a, b), latent, strict=True)]
    square = [np.sum((h @ (part.right @ part.right.T)) * h, axis=1) for part, h in zip((a, b), latent, strict=True)]
    both = np.sum((latent[0] @ (a.right @ b.right.T)) * latent[1], axis=1)
    t, s = STEPS, 1 - STEPS
    linear = np.outer(target[0], s) + np.outer(target[1], t)
    bent = np.outer(square[0], s**2) + np.outer(2 * both, s * t) + np.outer(square[1], t**2)
    return np.sum(x * x, axis=1)[:, None] - 2 * linear + bent


def assumption3_sides(losses: np.ndarray, core: np.ndarray, left_out: int) -> tuple[np.ndarray, np.ndarray]:
    """Return both sides of inequality (3) over t, for the losses of the n samples along the path.

    A side is f(Phi) - f(Phi + t D) + f(Phi') - f(Phi' - t D), f the mean over the core samples on the left, and on the
    right over all samples but the one left out (the sum over n divided by (n - 1)/n).
    """
    others = np.delete(losses, left_out, axis=0).mean(axis=0)
    left, right = (f[0] - f + f[-1] - f[::-1] for f in (losses[core].mean(axis=0), others))
    return left, right


def proposition1_sides(
    losses: np.ndarray, left_out: int, a: Maps, b: Maps, kappa1: float, weight: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the left side of Proposition 1 as printed, the same with its second term taken from Phi', and the right.

    As printed both terms on the left start at Phi. The optimality of Phi' for the other n - 1 samples speaks of a
    second term that starts at Phi' and goes to Phi, as in (3). The norms on the right are spectral norms.
    """
    n = len(losses)
    whole, others = losses.mean(axis=0), np.delete(losses, left_out, axis=0).sum(axis=0) / n
    printed = whole[0] - whole + others[0] - others
    turned = whole[0] - whole + others[-1] - others[::-1]
    moved = _spectral_norm(combination(a, b, "selector", -1.0, 1.0))
    norms = np.array([_spectral_norm(combination(a, b, "selector", t, 2 - t)) for t in STEPS])
    return printed, turned, STEPS * kappa1**2 * (norms + 2) * moved / weight


def _spectral_norm(D: np.ndarray) -> float:
    return float(np.sqrt(max(0.0, np.linalg.eigvalsh(D.T @ D)[-1])))
