"""What the selectors on the neighbour graph of the samples share, and what those of row-sparse weights share."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import ClassVar, TypeVar

import numpy as np
from scipy import sparse

from .._compat import Constraints, Interval, StrOptions
from .._core import Array, dense_rows, side_by_side
from ..base import ScoreSelector, counted
from ._neighbours import neighbour_graph

POSITIVE = [Interval(Real, 1e-100, 1e100, closed="both")]
"""A parameter above zero."""
COUNT = [Interval(Integral, 1, None, closed="left")]
"""A parameter that counts, from 1."""
_BLOCK_ROWS = 2048
"""Rows at a time of a product that threads share."""
State = TypeVar("State")


class GraphSelector(ScoreSelector):
    """Base of selectors on the neighbour graph; each takes some of ``n_neighbors``, ``weights`` and the others."""

    n_neighbors: int
    weights: str
    bandwidth: float | None = None
    _parameter_constraints: ClassVar[Constraints] = {
        **ScoreSelector._parameter_constraints,
        "n_clusters": [*COUNT, None],
        "n_neighbors": COUNT,
        "weights": [StrOptions({"heat", "binary", "cosine"})],
        "bandwidth": [*POSITIVE, None],
        "verbose": ["boolean"],
    }

    def _graph(self, X: Array) -> sparse.csr_array:
        """Return the neighbour graph of the samples."""
        return neighbour_graph(X, self.n_neighbors, weights=self.weights, bandwidth=self.bandwidth)


def weighted_gram(U: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return U' diag(weights) U (r x r) for U of many rows; the weights are not negative."""
    root = np.sqrt(weights)[:, None]

    def part(start: int) -> np.ndarray:
        rows = slice(start, start + _BLOCK_ROWS)
        scaled = U[rows] * root[rows]
        return scaled.T @ scaled

    return np.add.reduce(side_by_side(part, range(0, len(U), _BLOCK_ROWS)))


def row_lengths(W: np.ndarray, smoothing: float) -> np.ndarray:
    """Return sqrt(||w_j||^2 + smoothing^2) for every row; their sum is the smoothed l2,1 norm.

    Since sqrt(a) <= a / (2 sqrt(b)) + sqrt(b) / 2, the quadratic sum_j ||w_j||^2 / (2 length_j) lies above the norm
    and touches it at W, so a step that lowers the quadratic never raises the norm, not even where a row is zero.
    """
    return np.sqrt(np.einsum("jk,jk->j", W, W) + smoothing**2)


def descend(
    step: Callable[[State], tuple[State, float]], state: State, max_iter: int, tol: float
) -> tuple[State, list[float]]:
    """Repeat a step until it lowers the objective by less than a fraction ``tol`` of it.

    Parameters
    ----------
    step : callable
        From a state to the next one and its objective.
    state : object
        The start.
    max_iter : int
        Most steps.
    tol : float
        Fraction of the objective.

    Returns
    -------
    state : object
        The last one.
    path : list of float
        The objective after every step; it never rises.
    """
    path: list[float] = []
    for _ in counted(range(max_iter), "steps"):
        new, objective = step(state)
        if path and objective > path[-1]:  # by rounding, at the end
            break
        state = new
        path.append(objective)
        if len(path) > 1 and path[-2] - path[-1] <= tol * path[-1]:
            break
    return state, path


def varying_columns(X: Array) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the features of X that are not constant, divided by 2^e, their indices, and e.

    The largest entry is at most 1 in absolute value, so that squares neither overflow nor vanish. The difference of
    two entries counts when it is above the rounding of the larger.
    """
    values, exponent = dense_rows(X)
    low, high = values.min(axis=0), values.max(axis=0)
    rounding = 8 * np.finfo(np.float64).eps * np.maximum(np.abs(low), np.abs(high))
    columns = np.flatnonzero(high - low > rounding)
    return (values if len(columns) == values.shape[1] else values[:, columns]), columns, exponent


class RowSparseSelector(GraphSelector):
    """Base of selectors that score a feature by the length of its row in a row-sparse W."""

    _parameter_constraints: ClassVar[Constraints] = {
        **GraphSelector._parameter_constraints,
        "gamma": POSITIVE,
        "max_iter": COUNT,
        "tol": POSITIVE,
    }

    def _row_scores(self, W: np.ndarray, columns: np.ndarray, m: int, path: list[float]) -> np.ndarray:
        """Keep W and the objective after every step, and return the scores of all m features.

        Those listed score the lengths of their rows, rounded to ten digits of the largest, so that rounding errors do
        not break ties; the others are constant and score -1.
        """
        self.n_clusters_, self.n_iter_, self.objective_path_ = W.shape[1], len(path), np.array(path)
        self.coef_ = np.zeros((m, W.shape[1]))
        self.coef_[columns] = W
        lengths = row_lengths(W, 0.0)
        largest = lengths.max(initial=0.0)
        unit = 10.0 ** (np.floor(np.log10(largest)) - 10) if largest > 0 else 1.0
        scores = np.full(m, -1.0)
        scores[columns] = np.round(lengths / unit) * unit
        return scores
