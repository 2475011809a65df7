"""What the selectors on the neighbour graph of the samples share."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar

from scipy import sparse

from .._compat import Constraints, Interval, StrOptions
from .._core import Array
from ..base import ScoreSelector
from ._neighbours import neighbour_graph

POSITIVE = [Interval(Real, 1e-100, 1e100, closed="both")]
"""A parameter above zero."""
COUNT = [Interval(Integral, 1, None, closed="left")]
"""A parameter that counts, from 1."""


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
