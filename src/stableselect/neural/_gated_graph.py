"""The graph of gated samples: how smooth every feature is on it, and what opening its gate further would bring."""

from __future__ import annotations

import numpy as np

_SAME = 1e-12
"""Squared distances below this part of the samples' squared lengths are rounding."""


class GatedGraph:
    """The random walk between samples whose features are weighed by gates.

    K_il = exp(-d_il / sqrt(s_i s_l)), d_il = sum_j g_j (x_ij - x_lj)^2, P = D^-1 K. The scale s_i of a sample is its d
    to the given neighbour; where that is zero, as with many equal samples, the mean of all samples' scales, or else of
    all d.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        Centred samples.
    gates : ndarray of shape (m,)
        g, from 0 to 1.
    n_neighbors : int
        The neighbour whose distance is the scale of a sample; at most n - 1 is used.

    Attributes
    ----------
    scales : ndarray of shape (n,)
        s.
    smoothness : ndarray of shape (m,)
        x' P^2 x of every feature.
    """

    def __init__(self, X: np.ndarray, gates: np.ndarray, n_neighbors: int) -> None:
        self._X, self._open = X, np.flatnonzero(gates > 0)
        self._root = np.sqrt(gates[self._open])
        Z = X[:, self._open] * self._root
        distances = Z @ Z.T
        lengths = np.diag(distances)
        both = lengths[:, None] + lengths
        distances = both - 2 * distances
        distances[distances <= _SAME * both] = 0.0
        rank = min(n_neighbors, len(X) - 1)
        scales = np.partition(distances, rank, axis=1)[:, rank]
        self.scales = np.where(scales > 0, scales, float(scales.mean()) or float(distances.mean()) or 1.0)
        self._between = np.sqrt(self.scales[:, None]) * np.sqrt(self.scales)
        self._kernel = np.exp(-distances / self._between)
        self._degrees = self._kernel.sum(axis=1)
        self._walk = self._kernel / self._degrees[:, None]
        self._forward, self._backward = self._walk @ X, self._walk.T @ X
        self.smoothness = np.einsum("ij,ij->j", self._backward, self._forward)

    def gains(self) -> np.ndarray:
        """Return d/dg_j of T = sum_j g_j x_j' P^2 x_j for every feature, with the scales held.

        With z_j = sqrt(g_j) x_j, dT/dP = sum_j z_j (P z_j)' + (P' z_j) z_j' = G. Since P = D^-1 K, dT/dK_il =
        (G_il - sum_h G_ih P_ih) / d_i, and K_il falls by K_il / sqrt(s_i s_l) (x_ij - x_lj)^2 with g_j.
        """
        P, K, X, open_ = self._walk, self._kernel, self._X, self._open
        Z = X[:, open_] * self._root
        G = Z @ (self._forward[:, open_] * self._root).T + (self._backward[:, open_] * self._root) @ Z.T
        by_kernel = (G - np.einsum("ij,ij->i", G, P)[:, None]) / self._degrees[:, None]
        B = (by_kernel + by_kernel.T) * K / self._between
        # sum_{i<l} B_il (x_i - x_l)^2 = x' (diag(B1) - B) x
        return self.smoothness - (B.sum(axis=1) @ X**2 - np.einsum("ij,ij->j", X, B @ X))


def on_budget(gates: np.ndarray, budget: float) -> np.ndarray:
    """Return the gates nearest to the given numbers that lie between 0 and 1 and have this sum: clip(gates + b, 0, 1).

    Parameters
    ----------
    gates : ndarray of shape (m,)
        Any numbers.
    budget : float
        At most m.

    Returns
    -------
    ndarray of shape (m,)
    """
    low, high = -gates.max(), 1.0 - gates.min()
    for _ in range(60):
        middle = (low + high) / 2
        if np.clip(gates + middle, 0.0, 1.0).sum() < budget:
            low = middle
        else:
            high = middle
    return np.clip(gates + high, 0.0, 1.0)
