"""Infinite feature selection: features ranked by all paths through a graph whose nodes are the features."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from numbers import Real
from typing import ClassVar, Self

import numpy as np
from scipy import linalg
from scipy.stats import rankdata

from .._compat import Constraints, Interval
from .._core import Array, side_by_side, to_dense
from ..base import ScoreSelector, steps

_DAMPING = 0.9
"""r rho(A): below 1 so that the sum over path lengths converges."""
_STORED = 4096
"""A is kept as a whole up to this many features (128 MiB), and computed again by blocks for each product beyond."""
_BLOCK = 1024
"""Features in a block of correlations."""
_RANK_ELEMENTS = 2**22
"""Values ranked at a time."""
_EQUAL_SPREAD = 1e-6
"""Deviations within this fraction of the largest count as equal: stretching rounding to [0, 1] would rank by noise."""
_TOLERANCE = 1e-12
"""Relative residual at which the iteration stops."""
_DIGITS = 10
"""Scores that agree to this many decimals, relative to the largest, tie."""
_CONSTANT = -1.0
"""Score of a constant feature; every other score is at least 0."""


class InfFS(ScoreSelector):
    """Select the features through which most weight flows, over paths of every length in the graph of features.

    Two features are joined by ::

        A_ij = alpha max(s_i, s_j) + (1 - alpha) (1 - |rho_ij|),

    where s is the standard deviation brought to [0, 1] over the features and rho Spearman's rank correlation. The
    weight of all paths that start at feature i is the energy sum_l (r A)^l 1 = ((I - rA)^-1 - I) 1, with r = 0.9 /
    rho(A) and rho(A) the largest eigenvalue. Large energy is good: the feature varies and repeats no other.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to select: an integer, a fraction rounded up, or None for half.
    alpha : float, default=0.5
        Weight of the deviations against the correlations, between 0 and 1.
    include, exclude : sequence of str or int, optional
        Features, by name or index, that must or must not be selected.
    verbose : bool, default=False
        Print the steps done and the time left to standard error.

    Attributes
    ----------
    scores_ : ndarray of shape (m,)
        The energies; -1 for a constant feature. A discarded feature's score is at most that of the last one selected.
    spectral_radius_ : float
        rho(A); 0 when no two features differ enough to be joined.

    Notes
    -----
    No inverse is formed. Lanczos' iteration from the vector of ones gives rho(A) and the solution of (I - rA) x = 1
    from one sequence of products with A; the leading eigenvector is non-negative, so the start is never orthogonal to
    it. Up to 4,096 features A is stored. Beyond that a product takes its part in max(s_i, s_j) by sorting, in
    O(m log m), and its part in ``|rho_ij|`` from blocks of the ranks' Gram matrix, so no m x m array exists.

    Widespread code divides A by its largest row sum R and then takes r = 1/R once more. The entries of rA are then of
    order 1/R^2, paths longer than one edge weigh nothing, and the ranking is that of the row sums of A. Here the
    scaling is applied once, as in the paper. The choice is often much the same: on one split of each of the eight
    benchmark tables, energies and row sums chose the same features but for at most one.

    Constant features have no rank correlation; they take no part and come last. Deviations that agree to 1e-6 of the
    largest, as after standardising, count as equal and s = 0. Scores are rounded to ten decimals of the largest one,
    so that equal features tie and the lowest index wins.

    References
    ----------
    Roffo, Melzi & Cristani (2015), Infinite feature selection, ICCV.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect.filters import InfFS
    >>> X = load_iris(as_frame=True).data
    >>> InfFS(2).fit(X).get_feature_names_out()
    array(['sepal width (cm)', 'petal length (cm)'], dtype=object)
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **ScoreSelector._parameter_constraints,
        "alpha": [Interval(Real, 0, 1, closed="both")],
        "verbose": ["boolean"],
    }

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        alpha: float = 0.5,
        include: Iterable[str | int] | None = None,
        exclude: Iterable[str | int] | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(n_features_to_select, include=include, exclude=exclude)
        self.alpha = alpha
        self.verbose = verbose

    @classmethod
    def published(cls, n_features_to_select: int | float | None = None) -> Self:
        """Return the selector with the settings of the published experiments.

        They use alpha = 0.5, the default. Their double scaling of A (see Notes) is a fault and left out.

        Parameters
        ----------
        n_features_to_select : int, float or None
            Number of features to select.

        Returns
        -------
        InfFS
        """
        return cls(n_features_to_select, alpha=0.5)

    def _score_features(self, X: Array, k: int) -> np.ndarray:
        alpha = float(self.alpha)
        X = to_dense(X)
        varying = np.flatnonzero(X.max(axis=0) > X.min(axis=0))
        scores = np.full(X.shape[1], _CONSTANT)
        self.spectral_radius_ = 0.0
        if varying.size:
            X = X if varying.size == X.shape[1] else X[:, varying]
            s, Z = _relative_deviations(X), standardised_ranks(X)
            product = _stored_product(s, Z, alpha) if varying.size <= _STORED else blocked_product(s, Z, alpha)
            with steps("products") as advance:
                self.spectral_radius_, energy = _energy(product, varying.size, advance)
            peak = energy.max() or 1.0
            scores[varying] = np.maximum(np.round(energy / peak, _DIGITS), 0.0) * peak
        return scores


def _relative_deviations(X: np.ndarray) -> np.ndarray:
    """Return the standard deviations of the features, shifted and scaled to [0, 1]."""
    centred = X - X.mean(axis=0)
    size = np.abs(centred).max(axis=0)
    # Squares of very small or large values leave the range of double precision, so each feature is scaled first.
    deviation = size * np.sqrt(np.mean((centred / size) ** 2, axis=0))
    low, high = deviation.min(), deviation.max()
    return np.zeros_like(deviation) if high - low <= _EQUAL_SPREAD * high else (deviation - low) / (high - low)


def standardised_ranks(X: np.ndarray) -> np.ndarray:
    """Return the ranks of every feature, ties averaged, with mean 0 and norm 1: Z'Z holds Spearman's correlations."""
    n, m = X.shape
    Z = np.empty((n, m), order="F")
    step = max(1, _RANK_ELEMENTS // n)
    for start in range(0, m, step):
        part = slice(start, start + step)
        ranks = rankdata(X[:, part], axis=0) - (n + 1) / 2
        Z[:, part] = ranks / np.linalg.norm(ranks, axis=0)
    return Z


def _stored_product(s: np.ndarray, Z: np.ndarray, alpha: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return the map v -> A v with A held as an m x m array."""
    A = np.empty((len(s), len(s)))

    def fill(start: int) -> None:
        rows, after = slice(start, start + _BLOCK), slice(start, None)
        A[rows, after] = Z[:, rows].T @ Z[:, after]
        A[after, rows] = A[rows, after].T

    side_by_side(fill, range(0, len(s), _BLOCK))
    np.abs(A, out=A)
    A *= alpha - 1
    A += 1 - alpha
    A += np.maximum.outer(alpha * s, alpha * s)
    return lambda v: A @ v


def blocked_product(s: np.ndarray, Z: np.ndarray, alpha: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return the map v -> A v that holds one block of correlations at a time."""
    m = len(s)
    order = np.argsort(s, kind="stable")
    ascending = s[order]
    starts = range(0, m, _BLOCK)

    def largest(v: np.ndarray) -> np.ndarray:
        # sum_j max(s_i, s_j) v_j = s_i sum_{j up to i} v_j + sum_{j after i} s_j v_j, with the features sorted by s.
        below, above = np.cumsum(v[order]), np.cumsum((ascending * v[order])[::-1])[::-1]
        result = np.empty(m)
        result[order] = ascending * below + np.append(above[1:], 0.0)
        return result

    def correlated(v: np.ndarray) -> np.ndarray:
        def row_of_blocks(i: int) -> np.ndarray:
            result = np.zeros(m)
            left, rows = Z[:, i : i + _BLOCK], slice(i, i + _BLOCK)
            for j in starts[i // _BLOCK :]:
                block, columns = left.T @ Z[:, j : j + _BLOCK], slice(j, j + _BLOCK)
                np.abs(block, out=block)
                result[rows] += block @ v[columns]
                if j > i:  # the block below the diagonal is this one transposed
                    result[columns] += v[rows] @ block
            return result

        return np.add.reduce(side_by_side(row_of_blocks, starts))

    def product(v: np.ndarray) -> np.ndarray:
        result = (1 - alpha) * (v.sum() - correlated(v)) if alpha < 1 else np.zeros(m)
        return result + alpha * largest(v)

    return product


def _energy(
    product: Callable[[np.ndarray], np.ndarray], m: int, advance: Callable[[], None]
) -> tuple[float, np.ndarray]:
    """Return rho(A) and ((I - rA)^-1 - I) 1, r = 0.9 / rho(A), for a symmetric, non-negative A given by its products.

    Lanczos: A Q = Q T + beta q e' with Q orthonormal, its first column along 1. The largest eigenvalue of T tends to
    rho(A), and Q (I - rT)^-1 Q' 1 to the solution; beta times the last entries of either gives its residual.
    """
    basis = [np.full(m, m**-0.5)]
    diagonal: list[float] = []
    off: list[float] = []
    while True:
        w = product(basis[-1])
        advance()
        diagonal.append(float(basis[-1] @ w))
        Q = np.array(basis)
        for _ in range(2):  # twice is enough to keep the basis orthogonal to rounding
            w = w - Q.T @ (Q @ w)
        beta = float(np.linalg.norm(w))
        T = np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1)
        values, vectors = linalg.eigh(T)
        radius = float(values[-1])
        if radius <= _TOLERANCE:  # entries of A are at most 1: nothing is joined
            return 0.0, np.zeros(m)
        # (I - rT)^-1 - I = diag(t / (1 - t)) in the eigenbasis of T, with t = r e.
        t = _DAMPING / radius * values
        y = vectors @ (t / (1 - t) * vectors[0])
        change = beta / radius * max(abs(vectors[-1, -1]), abs(y[-1]) / np.linalg.norm(y))
        if change <= _TOLERANCE or len(basis) == m:
            return radius, m**0.5 * (y @ Q)
        off.append(beta)
        basis.append(w / beta)
