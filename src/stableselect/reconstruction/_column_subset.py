"""Column subset selection: the k columns from which a linear map rebuilds all columns best."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .._base import Selection
from .._roles import column_roles
from .._subset_search import EXHAUSTED, exchange_search, forward_search
from ._moments_selector import MomentsSelector, Problem


class ColumnSubset(MomentsSelector):
    """Keep the k columns that best rebuild all columns, by forward search and exchange.

    The loss of a subset S is the mean squared error per cell of the ridge map from the kept to all columns (columns
    centred, ridge term included). The best subset is NP-hard to find; the search ends in a set that no single swap of
    a kept for a dropped column improves, after trying a few steps beyond every such set, and reports how far from the
    optimum it can be at most. It is deterministic: row order, block size and threads do not matter, and ties go to the
    lowest index.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Columns to keep: a number, a share rounded up, or None for half.
    ridge : float or "auto", default="auto"
        Ridge weight relative to the mean variance of the columns. More ridge gives a more repeatable choice. "auto"
        takes the weight of least held-out error over five folds of the rows; with merged moments alone it is 0.
    exchange : bool, default=True
        Swap columns after the forward search until no swap helps.
    include, exclude : sequence of str or int, optional
        Columns, by name or index, that must or must not be kept.

    Attributes
    ----------
    objective_ : float
        Loss of the chosen columns.
    floor_ : float
        No k columns can have a lower loss: the error of k principal components, shrunk by the same ridge.
    gap_ : float
        (objective_ - floor_) / objective_, the largest relative improvement any other choice could bring.
    n_swaps_ : int
        Swaps made after the forward search.
    ridge_ : float
        The relative ridge weight used.

    See Also
    --------
    ScorerSelector : The scorer-selector autoencoder, searched from this solution.

    Notes
    -----
    Columns are centred but never scaled: put a scaler before it when units differ. Once the kept columns span the
    table (what is left is below 1e-10 of the total), further ones are chosen by the gain under a small ridge and
    constant columns come last.

    References
    ----------
    Farahat, Ghodsi & Kamel (2011), An efficient greedy method for unsupervised feature selection, ICDM.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect import ColumnSubset
    >>> X = load_iris(as_frame=True).data
    >>> selector = ColumnSubset(2).fit(X)
    >>> selector.get_feature_names_out()
    array(['sepal length (cm)', 'petal length (cm)'], dtype=object)
    >>> selector.reconstruct(selector.transform(X)).shape
    (150, 4)
    """

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        ridge: float | str = "auto",
        exchange: bool = True,
        include: Iterable[str | int] | None = None,
        exclude: Iterable[str | int] | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.ridge = ridge
        self.exchange = exchange
        self.include = include
        self.exclude = exclude

    def _select_from(self, problem: Problem) -> Selection:
        gram = problem.gram
        order, self.n_swaps_ = search_columns(problem, exchange=self.exchange)
        roles = column_roles(gram, order, problem.ridge, problem.exclude)
        self._keep_roles(roles)
        floor = gram.floor(problem.k, problem.ridge) / gram.n_features
        self.objective_, self.floor_, self.gap_ = bounds(roles.loss, floor, problem)
        return Selection(order, roles.worth, roles.coefficients)


def search_columns(problem: Problem, *, exchange: bool = True) -> tuple[list[int], int]:
    """Return k columns by forward search and exchange, in greedy order within the set, and the number of swaps."""
    gram, k, alpha, include = problem.gram, problem.k, problem.ridge, problem.include
    chosen = forward_search(gram, k, alpha, include, problem.exclude)
    if not exchange:
        return chosen, 0
    swapped, n_swaps = exchange_search(gram, chosen, alpha, include, problem.exclude)
    if n_swaps == 0:
        return chosen, 0
    outside = np.setdiff1d(np.arange(gram.n_features), swapped).tolist()
    return forward_search(gram, k, alpha, include, outside), n_swaps


def bounds(objective: float, floor: float, problem: Problem) -> tuple[float, float, float]:
    """Return objective and floor per cell in the table's units, and the relative gap (0 when nothing is left)."""
    objective = max(0.0, objective)
    floor = min(max(0.0, floor), objective)
    gap = 0.0 if objective <= EXHAUSTED else (objective - floor) / objective
    return objective * problem.unit, floor * problem.unit, gap
