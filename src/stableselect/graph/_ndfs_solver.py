"""The alternating minimisation behind NDFS: cluster indicators and row-sparse regression weights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from ..base import counted
from ._l21 import row_lengths, weighted_gram

SMOOTHING = 1e-4
"""Smoothing of the l2,1 norm, for features of unit length."""
_INDICATOR_STEPS = 10
"""Updates of F, which are cheap, for every update of W."""
_FLOOR = 1e-30
"""Least entry of F: a zero would stay zero in a multiplicative update."""


class Terms(NamedTuple):
    """The objective's constants: the Laplacian, the three weights, and the smoothing of the l2,1 norm."""

    L: sparse.csr_array
    alpha: float
    beta: float
    gamma: float
    smoothing: float


def minimise(
    regression: Regression, F: np.ndarray, terms: Terms, max_iter: int, tol: float
) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """Return W, F and the objective after every update, from the given F."""
    L, _, beta, _, smoothing = terms
    diagonal = L.diagonal()[:, None]
    adjacency = sparse.csr_array(sparse.diags_array(L.diagonal()) - L)
    W, fit = regression.solve(F, np.full(regression.n_features, smoothing / SMOOTHING), beta)
    lengths = row_lengths(W, smoothing)
    path: list[float] = []
    for _ in counted(range(max_iter), "steps"):
        new = F
        for _ in range(_INDICATOR_STEPS):
            new = update_indicators(new, fit, diagonal, adjacency, terms)
        W_new, fit_new = regression.solve(new, lengths, beta)
        lengths_new = row_lengths(W_new, smoothing)
        value = objective(new, fit_new, lengths_new, terms)
        if path and value > path[-1]:  # by rounding, at the end
            break
        F, W, fit, lengths = new, W_new, fit_new, lengths_new
        path.append(value)
        if len(path) > 1 and path[-2] - path[-1] <= tol * path[-1]:
            break
    return W, F, path


def update_indicators(
    F: np.ndarray, fit: np.ndarray, diagonal: np.ndarray, adjacency: sparse.csr_array, terms: Terms
) -> np.ndarray:
    """Return F times the factors r that minimise, entry by entry, a function above the objective at fixed W.

    With L = diagonal - adjacency the objective is below sum F (p r^2 + gamma q r^4 / 4 - (2 s + gamma F) log r) up to a
    constant, where p = diagonal F + alpha (F + max(-fit, 0)), q = FF'F and s = adjacency F + alpha max(fit, 0); it
    touches at r = 1, and its minimum solves gamma q r^4 + 2 p r^2 = 2 s + gamma F.
    """
    alpha, gamma = terms.alpha, terms.gamma
    p = (diagonal + alpha) * F + alpha * np.maximum(-fit, 0.0)
    q = F @ (F.T @ F)
    right = 2.0 * (adjacency @ F + alpha * np.maximum(fit, 0.0)) + gamma * F
    squared = right / (p + np.sqrt(p * p + gamma * q * right))
    return np.maximum(F * np.sqrt(squared), _FLOOR)


def objective(F: np.ndarray, fit: np.ndarray, lengths: np.ndarray, terms: Terms) -> float:
    """Return the penalised objective, with the smoothed l2,1 norm."""
    L, alpha, beta, gamma, _ = terms
    gap = F.T @ F - np.eye(F.shape[1])
    value = np.sum(F * (L @ F)) + alpha * (np.sum((fit - F) ** 2) + beta * np.sum(lengths))
    return float(value + gamma / 4 * np.sum(gap**2))


class Regression:
    """The W that minimises ||XW + 1b' - F||^2 + beta sum_j ||w_j||^2 / (2 length_j), and its fit XW + 1b'.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        The samples, centred if there is an intercept.
    intercept : bool
        Whether b is free or 0.
    """

    def __init__(self, X: np.ndarray, intercept: bool) -> None:
        self.X = X
        self.intercept = intercept
        self.n_features = X.shape[1]
        self.gram = X.T @ X if X.shape[1] <= X.shape[0] else None

    def solve(self, F: np.ndarray, lengths: np.ndarray, beta: float) -> tuple[np.ndarray, np.ndarray]:
        """Return W and the fit."""
        # With T^2 = D^{-1}, W = T (T X'X T + beta I)^{-1} T X'F = T^2 X' (X T^2 X' + beta I)^{-1} F.
        mean = F.mean(axis=0) if self.intercept else 0.0
        if self.gram is not None:
            T = np.sqrt(2.0 * lengths)[:, None]
            inner = self.gram * T * T.T
            inner[np.diag_indices_from(inner)] += beta
            W = T * cho_solve(cho_factor(inner, overwrite_a=True), T * (self.X.T @ F))
        else:
            inner = weighted_gram(self.X.T, 2.0 * lengths)
            inner[np.diag_indices_from(inner)] += beta
            W = (2.0 * lengths)[:, None] * (self.X.T @ cho_solve(cho_factor(inner, overwrite_a=True), F - mean))
        return W, self.X @ W + mean
