"""MCFS: features that a sparse regression uses to explain the spectral embedding of the samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Self

import numpy as np
from scipy import sparse
from scipy.linalg.blas import dtpsv

from .._core import Array, dense_rows, sorted_samples
from ..base import counted
from ._graph_selector import GraphSelector
from ._spectrum import default_clusters, degrees, lowest_spectrum

_CONSTANT = -2.0
"""Score of a constant feature, below those of the features that no regression used."""
_LIGHT = 1e-9
"""An edge lighter than this fraction of the root of the product of its ends' degrees joins nothing."""
_FAINT = 1e-8
"""A degree or a component's volume below this fraction of the mean degree is too small to divide by."""
_NOTHING = 1e-290
"""Smaller weights have lost digits."""
_NEAR_ONE = 0.99
"""Eigenvalues from here on say nothing of samples of faint degree."""
_COLLINEAR = 1e-9
"""A feature is passed over when less than this fraction of its variance is left by the active ones."""
_TIE = 1e-10
"""Relative difference below which two features are equally correlated, and the first one goes."""


class MCFS(GraphSelector):
    """Select the features with the largest coefficients in sparse regressions on the graph's eigenvectors.

    The c smallest non-trivial solutions of L y = l D y (with y' D y = 1' D 1) embed the samples. Least angle regression
    explains each y_i by at most k features, a_i, and the score of feature j is ``max_i |a_ij|``, larger is better.
    Features are centred, not scaled.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to select: an integer, a fraction rounded up, or None for half.
    n_clusters : int or None, default=None
        c, the number of eigenvectors, at least 1. None takes those below the largest gap between the 2nd to 11th
        smallest eigenvalues of the normalised Laplacian, one fewer than the clusters it suggests: the next one
        already follows the noise inside a cluster.
    n_neighbors : int, default=5
        Nearest samples each sample is joined to; at most n - 1 are used.
    weights : {"heat", "binary", "cosine"}, default="heat"
        Edge weight: exp(-d^2 / bandwidth), 1, or the cosine of the samples.
    bandwidth : float or None, default=None
        Of the heat kernel; None for the median squared distance between neighbours.
    include, exclude : sequence of str or int, optional
        Features, by name or index, that must or must not be selected.
    verbose : bool, default=False
        Print the steps done and the time left to standard error.

    Attributes
    ----------
    n_eigenvectors_ : int
        The c used.

    Notes
    -----
    A regression takes no more features than the data's rank, fewer than k when the data has fewer samples. Features
    that none took come after all others, by their largest absolute correlation r with an eigenvector, and score r - 1;
    a constant feature scores -2.

    In a graph of p > 1 connected components, 0 is an eigenvalue p times and every basis of its eigenvectors would do.
    The components' indicators (less their mean) are taken: all p if at most c + 1, otherwise those of the c components
    of largest volume. An edge below 1e-9 sqrt(d_i d_j) joins nothing, and components whose volume is below 1e-8 of the
    mean degree are left out. A sample whose degree is below that, far from all others, gets the weighted mean of its
    neighbours' y over 1 - l, as L y = l D y demands, and not the rounding of an eigenvector over next to nothing.

    References
    ----------
    Cai, Zhang & He (2010), Unsupervised feature selection for multi-cluster data, KDD.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect.graph import MCFS
    >>> X = load_iris(as_frame=True).data
    >>> MCFS(2, n_clusters=3).fit_transform(X).shape
    (150, 2)
    """

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        n_clusters: int | None = None,
        n_neighbors: int = 5,
        weights: str = "heat",
        bandwidth: float | None = None,
        include: Iterable[str | int] | None = None,
        exclude: Iterable[str | int] | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(n_features_to_select, include=include, exclude=exclude)
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.bandwidth = bandwidth
        self.verbose = verbose

    @classmethod
    def published(cls, n_features_to_select: int | float | None = None, *, n_clusters: int | None = None) -> Self:
        """Return the selector with the settings of the published experiments: 5 neighbours, edges of weight 1.

        Those took the number of true classes for ``n_clusters``, which needs labels. Left out: the largest signed
        coefficient in place of the largest absolute one, which loses features with negative coefficients.

        Parameters
        ----------
        n_features_to_select : int, float or None
            Number of features to select.
        n_clusters : int or None
            Eigenvectors; None to choose from the graph.

        Returns
        -------
        MCFS
        """
        return cls(n_features_to_select, n_clusters=n_clusters, n_neighbors=5, weights="binary")

    def _score_features(self, X: Array, k: int) -> np.ndarray:
        X, _ = sorted_samples(X)
        W = self._graph(X)
        self.n_eigenvectors_ = int(self.n_clusters or max(1, default_clusters(W) - 1))
        values, exponent = dense_rows(X)
        scores = mcfs_scores(values, spectral_embedding(W, self.n_eigenvectors_), k)
        # Coefficients belong to X / 2^exponent; in the data's own units they are smaller by as much.
        return np.where(scores > 0, np.ldexp(scores, -exponent), scores)


def spectral_embedding(W: sparse.csr_array, count: int) -> np.ndarray:
    """Return the targets y of the regressions (n x count, or one more), D-centred, of D-weighted variance 1."""
    n = W.shape[0]
    d = degrees(W)
    volume = d.sum()
    if volume == 0:
        return np.empty((n, 0))
    joined = without_light_edges(W)
    spectrum = lowest_spectrum(joined, count)
    faint = _FAINT * volume / n
    p = int(np.sum(np.bincount(spectrum.labels, degrees(joined)) > faint))
    flat = 0 if p == 1 else p if p <= count + 1 else count
    indicators = (spectrum.labels[:, None] == np.arange(flat)).astype(np.float64)
    further = max(0, count - (p - 1))
    values = spectrum.values[:further]
    clear = d > faint
    inverse = np.divide(1.0, np.sqrt(d), out=np.zeros(n), where=clear)
    smooth = spectrum.vectors[:, :further] * inverse[:, None]
    # From L y = l D y, a sample's y is the weighted mean of its neighbours' over 1 - l.
    near = sparse.csr_array(W[~clear][:, clear])
    weight = degrees(near)[:, None]
    known = (weight > _NOTHING) & (values < _NEAR_ONE)
    smooth[~clear] = np.divide(near @ smooth[clear], weight * (1.0 - values), out=np.zeros(known.shape), where=known)
    Y = np.hstack([indicators, smooth])
    Y -= d @ Y / volume
    return Y * np.sqrt(volume / (d @ Y**2))


def without_light_edges(W: sparse.csr_array) -> sparse.csr_array:
    """Return the graph without the edges that are too light for an eigenvector: W_ij < 1e-9 sqrt(d_i d_j).

    Parts that only such edges join would have eigenvalues of 0 to rounding, and eigenvectors of any mixture.
    """
    edges, root = W.tocoo(), np.sqrt(degrees(W))
    kept = edges.data >= _LIGHT * root[edges.row] * root[edges.col]
    return sparse.csr_array((edges.data[kept], (edges.row[kept], edges.col[kept])), shape=W.shape)


def mcfs_scores(values: np.ndarray, Y: np.ndarray, k: int) -> np.ndarray:
    """Return the largest |coefficient| over the regressions; r - 1 where no regression took the feature."""
    n, m = values.shape
    constant = np.ptp(values, axis=0) == 0
    X = values - values.mean(axis=0)
    X -= X.mean(axis=0)
    X[:, constant] = 0.0
    Y = Y - Y.mean(axis=0)
    diagonal = np.einsum("ij,ij->j", X, X)
    targets = X.T @ Y
    lengths = np.sqrt(diagonal)[:, None] * np.sqrt(np.sum(Y**2, axis=0))
    correlation = np.divide(np.abs(targets), lengths, out=np.zeros_like(targets), where=lengths > 0)
    unused = np.minimum(np.max(correlation, axis=1, initial=0.0), 1.0) - 1.0
    # A Gram matrix pays while it is no larger than the data; wide data gives the few rows needed one by one.
    gram_row = (X.T @ X).__getitem__ if m <= n else cache(lambda j: X[:, j] @ X)
    largest, used = np.zeros(m), np.zeros(m, dtype=bool)
    for i in counted(range(Y.shape[1]), "regressions"):
        coefficients, active = least_angle(gram_row, diagonal, targets[:, i], k)
        largest = np.maximum(largest, np.abs(coefficients))
        used[active] = True
    return np.where(constant, _CONSTANT, np.where(used & (largest > 0), largest, unused))


def least_angle(
    gram_row: Callable[[int], np.ndarray],
    diagonal: np.ndarray,
    target: np.ndarray,
    max_active: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the coefficients of least angle regression with at most ``max_active`` features.

    All active features keep a residual correlation of the same size C: each step moves along w = G_AA^(-1) sign(c_A)
    until another feature reaches C (Efron et al. 2004, eq. 2.11-2.13, unnormalised). The path stops where the feature
    after the last one would join, or where C is spent. Features that the active ones span never join; features that tie
    join together, the first ones if there is no room for all.

    Parameters
    ----------
    gram_row : function
        Row j of G = X'X for centred features.
    diagonal : ndarray of shape (m,)
        Diagonal of G.
    target : ndarray of shape (m,)
        X'y.
    max_active : int
        Most features with a coefficient.

    Returns
    -------
    coefficients : ndarray of shape (m,)
    active : ndarray of int
        Features with a coefficient in order of entry.
    """
    path = _Path(gram_row, diagonal, target, min(max_active, len(target)))
    reached: int | None = path.most_correlated()
    while path.size > path.spent and reached is not None:
        path.join(reached)
        path.join_ties()
        reached = path.advance()
        if len(path.active) == path.room:
            break
    return path.coefficients, np.array(path.active, dtype=np.int64)


class _Path:
    """The state of the regression: active features, the Cholesky factor of their Gram matrix, correlations left."""

    def __init__(
        self, gram_row: Callable[[int], np.ndarray], diagonal: np.ndarray, target: np.ndarray, room: int
    ) -> None:
        self.gram_row, self.diagonal, self.room = gram_row, diagonal, room
        self.coefficients = np.zeros(len(target))
        self.residual = target.copy()  # X'(y - X a)
        self.open = diagonal > 0
        self.size = float(np.max(np.abs(target), where=self.open, initial=0.0))  # C
        self.spent = 1e-10 * self.size
        self.active: list[int] = []
        self.rows = np.empty((room, len(target)))
        self.factor = np.empty(room * (room + 1) // 2)  # R with R'R = G_AA, one column after the other
        self.solved = np.empty(room)  # R'^(-1) sign(c_A): grows by one number a step, since the signs stay

    def most_correlated(self) -> int:
        """Return the open feature of largest correlation, the first of those that tie."""
        free = np.where(self.open, np.abs(self.residual), -1.0)
        return int(np.argmax(free >= free.max() * (1 - _TIE)))

    def join(self, column: int) -> None:
        """Close a feature and make it active, unless the active ones span it."""
        if not self.open[column]:
            return
        self.open[column] = False
        p, row = len(self.active), self.gram_row(column)
        part = dtpsv(p, self.factor, row[self.active], trans=1) if p else np.empty(0)
        left = self.diagonal[column] - part @ part
        if left <= _COLLINEAR * self.diagonal[column]:
            return
        end = p * (p + 1) // 2 + p
        self.factor[end - p : end], self.factor[end] = part, np.sqrt(left)
        self.solved[p] = (np.sign(self.residual[column]) - part @ self.solved[:p]) / self.factor[end]
        self.rows[p] = row
        self.active.append(column)

    def join_ties(self) -> None:
        """Let in, or pass over, the features that are as correlated as the active ones already."""
        tied = self.open & (np.abs(self.residual) >= self.size * (1 - _TIE))
        for column in np.flatnonzero(tied):
            if len(self.active) < self.room:
                self.join(int(column))

    def advance(self) -> int | None:
        """Go on until an inactive feature is as correlated as the active ones, and return it; None at the end."""
        p = len(self.active)
        direction = dtpsv(p, self.factor, self.solved[:p])
        change = direction @ self.rows[:p]
        # A copy of an active feature, whose correlation falls as theirs do, ties for ever, and would stop the path by a
        # rounding error.
        copies = (np.abs(self.residual) >= self.size * (1 - _TIE)) & (np.abs(np.abs(change) - 1.0) <= _TIE)
        waiting = np.flatnonzero(self.open & ~copies)
        r, a = self.residual[waiting], change[waiting]
        up = np.divide(self.size - r, 1 - a, out=np.full(len(r), np.inf), where=a < 1)
        down = np.divide(self.size + r, 1 + a, out=np.full(len(r), np.inf), where=a > -1)
        steps = np.maximum(np.minimum(up, down), 0.0)
        shortest = float(steps.min(initial=np.inf))
        step = min(shortest, self.size)
        self.coefficients[self.active] += step * direction
        self.residual -= step * change
        self.size -= step
        if shortest >= self.size + step:
            return None
        return int(waiting[np.argmax(steps <= shortest * (1 + _TIE))])
