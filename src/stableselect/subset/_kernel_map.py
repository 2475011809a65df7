"""The map of KernelSubset: kernel ridge regression with distances of its own for every group of features.

With z the standardised values of the k selected features, and a either z or the standardised square roots of its
distances from the lowest value, each times the root of a weight (the weights of a group sum to 1), the kernel is ::

    z'z / k + w exp(-(|a - a'|^2 / 2)^(q / 2) / c) + 1,    Gaussian for q = 2, Laplacian for q = 1

Selected features on which the features of a group depend more weigh more in the distances between samples: a pixel
follows from the pixels around it. Leave-one-out errors choose between the kernels, the weights and the ridges r: with
K the kernel of all samples, what is left of sample i is ``((K + r I)^-1 Y)_i / ((K + r I)^-1)_ii``.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.spatial.distance import squareform

from .._core import memory_limit, side_by_side, significant
from ._kernel_ridge import RIDGES, Groups, KernelSetting, members, squared_distances
from ._kernel_search import gains

_TUNED = 1000
"""Samples whose leave-one-out errors choose the kernels."""
_LAPLACIAN = (1.0, 3.0, 10.0)
"""Power q, scale c and weight w; the Gaussian is that of the search."""
_MOST_GROUPS = 24
_FEWEST = 10
"""With fewer samples for each selected feature all weigh the same: too little is known of which depends on which."""
_EQUAL = 0.05
"""Part of the weights that all selected features share."""
_SHRINKAGE = 0.02
"""Ridge, times the number of samples, of the linear map that tells which features depend on which."""
_EXACT, _SINGLE = 2000, 0.05
"""With more samples, and a ridge not below the second, equations are solved in single precision."""
_AT_LIMIT = 0.05
"""Part of the samples that must have a feature's lowest value (or highest) for it to count as a limit."""
_BLOCK = 1 << 24
"""Values of a block of samples."""


@dataclass(frozen=True, eq=False)
class KernelMap:
    """A fitted map from k features to all.

    Attributes
    ----------
    center, spread : ndarray of shape (k,)
        Means and standard deviations of the features it starts from.
    roots : ndarray of shape (3, k)
        Their lowest standardised values; means and standard deviations of the square roots of the distances from these.
    kernel : ndarray of shape (4,)
        Whether distances are those of square roots, the power q, the scale c and the weight w.
    samples : ndarray of shape (p, k)
        Standardised.
    weights : ndarray of shape (groups, k)
        Of the selected features in the distances.
    group : ndarray of int of shape (m,)
        Of every feature.
    ridges : ndarray of shape (groups,)
        Of every group.
    coefficients : ndarray of shape (p, m)
        (K + r I)^-1 Y, in the units of the samples.
    mean : ndarray of shape (m,)
        Means of all features.
    limits : ndarray of shape (2, m)
        Values that a feature does not fall below or exceed.
    """

    center: np.ndarray
    spread: np.ndarray
    roots: np.ndarray
    kernel: np.ndarray
    samples: np.ndarray
    weights: np.ndarray
    group: np.ndarray
    ridges: np.ndarray
    coefficients: np.ndarray
    mean: np.ndarray
    limits: np.ndarray

    def predict(self, values: np.ndarray) -> np.ndarray:
        """Return all features of samples, of which the k features are given."""
        found = np.empty((len(values), len(self.mean)))
        step = max(64, _BLOCK // len(self.samples))
        for first in range(0, len(values), step):
            rows = slice(first, first + step)
            Z = (values[rows] - self.center) / self.spread
            for one, weights in enumerate(self.weights):
                here = self.group == one
                K = between(Z, self.samples, self.kernel, weights, self.roots)
                found[rows, here] = K @ self.coefficients[:, here]
        return np.clip(found + self.mean, *self.limits)


def between(Z: np.ndarray, other: np.ndarray, kernel: np.ndarray, weights: np.ndarray, roots: np.ndarray) -> np.ndarray:
    """Return the kernel between samples, in their precision."""
    rooted, power, scale, weight = kernel.tolist()
    A, B = (_rooted(part, roots) if rooted else part for part in (Z, other))
    by = np.sqrt(weights / 2.0).astype(Z.dtype)
    K = squared_distances(A * by, B * by)
    if power != 2.0:
        np.power(K, power / 2.0, out=K)
    K *= -1.0 / scale
    np.exp(K, out=K)
    K *= weight
    K += Z @ (other.T / Z.dtype.type(Z.shape[1]))
    K += 1.0
    return K


def _rooted(Z: np.ndarray, roots: np.ndarray) -> np.ndarray:
    low, center, spread = roots.astype(Z.dtype)
    return (np.sqrt(np.maximum(Z - low, 0.0)) - center) / spread


@dataclass(frozen=True)
class _Tuned:
    """The ridge of lowest leave-one-out error, and what it leaves of every sample."""

    ridge: float
    left: np.ndarray


def tuned(K: np.ndarray, Y: np.ndarray, groups: Groups) -> _Tuned:
    """Return the ridge with the lowest leave-one-out (or leave-one-group-out) error of kernel ridge regression."""
    size, V = eigh(K, check_finite=False, driver="evd")
    size, P = np.maximum(size, 0.0), V.T @ Y
    errors = [float(np.sum(_left_out(V, 1.0 / (size + ridge), P, groups) ** 2)) for ridge in RIDGES]
    ridge = RIDGES[int(np.argmin(significant(np.array(errors))))]
    return _Tuned(ridge, _left_out(V, 1.0 / (size + ridge), P, groups))


def _left_out(V: np.ndarray, inverse: np.ndarray, P: np.ndarray, groups: Groups) -> np.ndarray:
    left = V @ (inverse[:, None] * P)
    if groups is None:
        return left / ((V**2) @ inverse)[:, None]
    for rows in groups:
        left[rows] = np.linalg.solve((V[rows] * inverse) @ V[rows].T, left[rows])
    return left


def fit_map(
    Z: np.ndarray, Y: np.ndarray, setting: KernelSetting, taken: np.ndarray, groups: np.ndarray | None
) -> dict[str, np.ndarray]:
    """Return what :class:`KernelMap` holds, but for the units.

    Parameters
    ----------
    Z : ndarray of shape (n, k)
        Standardised selected features.
    Y : ndarray of shape (n, m)
        All features, centred.
    setting : KernelSetting
        Of the Gaussian.
    taken : ndarray of int
        Samples that it is fitted to; the first of them choose the kernels.
    groups : ndarray of int of shape (n,) or None
        Samples that are left out together.
    """
    rows, tune = np.sort(taken), np.sort(across(taken, groups)[:_TUNED])
    told = None if groups is None else members(groups[tune])
    low = Z.min(axis=0)
    root = np.sqrt(Z - low)
    roots = np.array([low, root.mean(axis=0), np.where(root.std(axis=0) > 0, root.std(axis=0), 1.0)])
    k, Z_tune, Y_tune = Z.shape[1], Z[tune], Y[tune]
    equal, gaussian = np.full(k, 1.0 / k), (2.0, 2.0 * setting.bandwidth, setting.weight)
    kernels = [np.array([rooted, *shape]) for rooted in (0.0, 1.0) for shape in (gaussian, _LAPLACIAN)]
    found = side_by_side(lambda one: tuned(between(Z_tune, Z_tune, one, equal, roots), Y_tune, told), kernels)
    best = 0
    for at in range(1, len(kernels)):
        if gains(_sums(found[best].left), _sums(found[at].left)):
            best = at
    kernel, share, spread = kernels[best], _dependence(Z, Y), Y.std(axis=0)
    few = len(Z) < _FEWEST * k
    group = np.zeros(Y.shape[1], dtype=np.int64) if few else _groups(share, spread)

    def fitted(one: int) -> tuple[np.ndarray, float, np.ndarray]:
        here = group == one
        weights, ridge = _weights(share[:, here] @ spread[here] ** 2), found[best].ridge
        own = found[best] if few else tuned(between(Z_tune, Z_tune, kernel, weights, roots), Y_tune[:, here], told)
        if gains(_sums(found[best].left[:, here]), _sums(own.left)):
            ridge = own.ridge
        else:
            weights = equal

        def solved(fit: np.ndarray) -> np.ndarray:
            K = between(fit, fit, kernel, weights, roots)
            K[np.diag_indices_from(K)] += ridge
            factor = cho_factor(K, lower=True, overwrite_a=True, check_finite=False)
            return cho_solve(factor, Y[np.ix_(rows, here)].astype(fit.dtype), check_finite=False)

        if len(rows) > _EXACT and ridge >= _SINGLE:
            with suppress(np.linalg.LinAlgError):  # rounding was too coarse
                return weights, ridge, solved(Z[rows].astype(np.float32))
        return weights, ridge, solved(Z[rows])

    # A kernel in double precision, a product of its size, and its factor.
    parts = side_by_side(fitted, range(group.max() + 1), at_most=max(1, int(memory_limit() / (24 * len(rows) ** 2))))
    coefficients = np.empty((len(rows), Y.shape[1]))
    for one, (_, _, own) in enumerate(parts):
        coefficients[:, group == one] = own
    return {
        "roots": roots,
        "kernel": kernel,
        "samples": Z[rows],
        "weights": np.array([weights for weights, _, _ in parts]),
        "group": group,
        "ridges": np.array([ridge for _, ridge, _ in parts]),
        "coefficients": coefficients,
        "limits": np.array([_limit(Y), -_limit(-Y)]),
    }


def across(taken: np.ndarray, groups: np.ndarray | None) -> np.ndarray:
    """Return samples in an order that takes one of every group in turn."""
    if groups is None:
        return taken
    by_group = np.argsort(groups[taken], kind="stable")
    sizes = np.bincount(groups[taken])
    turn = np.empty(len(taken), dtype=np.int64)
    turn[by_group] = np.arange(len(taken)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return taken[np.argsort(turn, kind="stable")]


def _sums(left: np.ndarray) -> np.ndarray:
    return np.sum(left**2, axis=1)


def _dependence(Z: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return how much of each feature's linear map each selected one has, k x m: columns of sum 1, or 0."""
    A = Z.T @ Z
    A[np.diag_indices_from(A)] += _SHRINKAGE * len(Z)
    share = np.abs(np.linalg.solve(A, Z.T @ Y))
    total = share.sum(axis=0)
    return share / np.where(total > 0, total, 1.0)


def _groups(share: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Return a group, from 0 on, for every feature: that of the selected features on which it depends most."""
    N = share * spread
    N /= np.maximum(np.sqrt(np.sum(N**2, axis=1)), np.finfo(np.float64).tiny)[:, None]
    apart = np.maximum(1.0 - N @ N.T, 0.0)
    np.fill_diagonal(apart, 0.0)
    cluster = np.arange(len(share))
    if len(share) > _MOST_GROUPS:
        cluster = fcluster(linkage(squareform(apart, checks=False), "ward"), _MOST_GROUPS, "maxclust")
    sums = np.array([share[cluster == one].sum(axis=0) for one in np.unique(cluster)])
    return np.unique(np.argmax(sums, axis=0), return_inverse=True)[1]


def _weights(share: np.ndarray) -> np.ndarray:
    """Return weights of sum 1."""
    total = float(share.sum())
    own = share / total if total > 0 else np.full(len(share), 1.0 / len(share))
    return _EQUAL / len(share) + (1.0 - _EQUAL) * own


def _limit(Y: np.ndarray) -> np.ndarray:
    """Return the lowest value of every feature that many samples share, else minus infinity."""
    low = Y.min(axis=0)
    return np.where(np.mean(Y == low, axis=0) >= _AT_LIMIT, low, -np.inf)
