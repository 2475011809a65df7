"""Column subset selection: the k columns from which a linear map rebuilds all columns best."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from .._core import EXHAUSTED, column_roles
from ..base import Selection
from ._moments_selector import MomentsSelector, Problem
from ._search import Found, find_columns


class ColumnSubset(MomentsSelector):
    """Keep the k columns that best rebuild all columns, by forward search and exchange.

    The loss of a subset S is the mean squared error per cell of the ridge map from the kept to all columns (columns
    centred, ridge term included). The best subset is NP-hard to find; the search ends in a set that no single swap of
    a kept for a dropped column improves, after trying a few steps beyond every such set, and reports how far from the
    optimum it can be at most. It is deterministic: row order, block size and threads do not matter, and ties go to the
    lowest index.

    Parameters
    ----------
    n_features_to_select : int, float, "auto" or None, default=None
        Columns to keep: a number, a share rounded up, or None for half. "auto" takes as many as
        ``min_explained_variance`` asks for on held-out rows.
    ridge : float or "auto", default="auto"
        Ridge weight relative to the mean variance of the columns. More ridge gives a more repeatable choice. "auto"
        takes the weight of least held-out error over five folds of the rows; with merged moments alone it is 0.
    exchange : bool, default=True
        Swap columns after the forward search until no swap helps.
    include, exclude : sequence of str or int, optional
        Columns, by name or index, that must or must not be kept.
    min_explained_variance : float or "elbow", default=0.9
        For "auto": the smallest number of columns that explains this share of the variance of held-out rows, or the
        elbow of the logarithm of their error.
    max_features : int or None, default=None
        For "auto": the most columns to look at; None for 200 beyond those included. The elbow is that of the curve up
        to here.
    criterion : {"error", "stability"}, default="error"
        "stability": of many ways to search, take a compromise between those whose choice repeats best on other rows
        while its held-out error is within ``max_error_increase`` of the least. The ways differ in ridge (where it is
        "auto"), in search depth, and in how far a column must be what parts of the rows would keep too. Takes some
        hundred searches.
    max_error_increase : float, default=0.05
        For ``criterion="stability"``: the share by which the held-out error may lie above the least.
    min_stability : float or None, default=None
        Take the way of least held-out error whose stability (Nogueira's, 1 for identical sets) is at least this, and
        the most stable one, with a warning, where none is.

    Attributes
    ----------
    frontier_ : StabilityFrontier
        After asking for stability: held-out error and stability of every way tried.
    selection_frequency_ : ndarray of shape (m,)
        Where the way taken heeds them: the share of parts of the rows whose search keeps the column.
    path_ : SelectionPath
        After "auto": explained share against the number of columns, and how far the number moves between folds.
    objective_ : float
        Loss of the chosen columns.
    lower_bound_ : float
        No k columns can have a lower loss: the error of k principal components, shrunk by the same ridge.
    optimality_gap_ : float
        ``(objective_ - lower_bound_) / objective_``, the largest relative improvement any other choice could bring.
    n_swaps_ : int
        Swaps made after the forward search.
    ridge_ : float
        The relative ridge weight used; where stability was asked for, that of the map.

    See Also
    --------
    ScorerSelector : The scorer-selector autoencoder, searched from this solution.

    Notes
    -----
    Columns are centred but never scaled: put a scaler before it when units differ. Once the kept columns span the
    table (what is left is below 1e-10 of the total), further ones are chosen by the gain under a small ridge and
    constant columns come last.

    Stability is bought with votes: on a few dozen combinations of four of ten folds of the rows the same search is run,
    and a column that none of them keeps is charged a small share of the loss more than one that all keep. Columns that
    serve almost as well as each other then no longer take turns by chance. All of it uses the folds' moments from one
    pass. Many ways to search are about as good as each other (within the tolerance of the least error, and within 0.2
    of the best stability, which five sets cannot tell apart) and lead to different columns. Which of them is best
    changes with the rows, so a compromise is taken: the mean of their ridge weights, the votes of all of them, and as
    much weight for the votes as keeps it among them. With few rows against columns (moments in dual form) no way swaps
    columns.

    References
    ----------
    Farahat, Ghodsi & Kamel (2011), An efficient greedy method for unsupervised feature selection, ICDM.
    Nogueira, Sechidis & Brown (2018), On the stability of feature selection algorithms, JMLR 18(174).

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
        n_features_to_select: int | float | Literal["auto"] | None = None,
        *,
        ridge: float | str = "auto",
        exchange: bool = True,
        include: Iterable[str | int] | None = None,
        exclude: Iterable[str | int] | None = None,
        min_explained_variance: float | Literal["elbow"] = 0.9,
        max_features: int | None = None,
        criterion: Literal["error", "stability"] = "error",
        max_error_increase: float = 0.05,
        min_stability: float | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.ridge = ridge
        self.exchange = exchange
        self.include = include
        self.exclude = exclude
        self.min_explained_variance = min_explained_variance
        self.max_features = max_features
        self.criterion = criterion
        self.max_error_increase = max_error_increase
        self.min_stability = min_stability

    def _select_from(self, problem: Problem) -> Selection:
        gram = problem.gram
        found = search_columns(problem)
        order, self.n_swaps_ = found.chosen, found.n_swaps
        roles = column_roles(gram, order, problem.ridge, problem.exclude)
        self._keep_roles(roles)
        floor = gram.floor(problem.k, problem.ridge) / gram.n_features
        self.objective_, self.lower_bound_, self.optimality_gap_ = bounds(roles.loss, floor, problem)
        return Selection(order, roles.worth, roles.coefficients)


def search_columns(problem: Problem) -> Found:
    """Return what the search of a problem's setting finds."""
    return find_columns(problem.gram, problem.k, problem.setting, problem.include, problem.exclude, problem.votes)


def bounds(objective: float, floor: float, problem: Problem) -> tuple[float, float, float]:
    """Return objective and floor per cell in the table's units, and the relative gap (0 when nothing is left)."""
    objective = max(0.0, objective)
    floor = min(max(0.0, floor), objective)
    gap = 0.0 if objective <= EXHAUSTED else (objective - floor) / objective
    return objective * problem.unit, floor * problem.unit, gap
