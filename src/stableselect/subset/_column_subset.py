"""Column subset selection: the k features from which a linear map best reconstructs all features."""

from __future__ import annotations

from .._core import EXHAUSTED, column_roles
from ..base import Selection
from ._moments_selector import MomentsSelector, Problem
from ._search import Found, find_columns


class ColumnSubset(MomentsSelector):
    """Select the k features from which all features can best be reconstructed, by forward search and exchange.

    The loss of a subset is the mean squared error (averaged over samples and features) of the ridge map from the
    selected to all features, which are centred; the ridge term is included. The best subset is NP-hard to find. The
    search ends in a set that no single swap of a selected for a discarded feature improves, after a few steps beyond
    every such set, and reports how far from the optimum it can be at most. It is deterministic: the order of the
    samples, block size, memory layout and threads do not matter, and ties go to the lowest index.

    Parameters
    ----------
    n_features_to_select : int, float, "auto" or None, default=None
        Number of features to select: an integer, a fraction rounded up, or None for half. "auto" takes as many as
        ``min_explained_variance`` needs on held-out samples.
    ridge : float or "auto", default="auto"
        Ridge weight relative to the mean variance of the features. More ridge gives a more stable selection. "auto"
        takes the weight of least held-out error over five folds of the samples; with merged moments alone it is 0.
    exchange : bool, default=True
        Swap features after the forward search until no swap helps.
    include, exclude : sequence of str or int, optional
        Features, by name or index, that must or must not be selected.
    min_explained_variance : float or "elbow", default=0.9
        For "auto": the smallest number of features that explains this fraction of the variance of held-out samples, or
        the elbow of the logarithm of their error.
    max_features : int or None, default=None
        For "auto": the most features to consider; None for 200 beyond those included. The elbow is that of the curve up
        to here.
    criterion : {"error", "stability"}, default="error"
        "stability": among candidate search settings, choose a compromise between the most stable whose held-out error
        is within ``max_error_increase`` of the minimum. The settings differ in ridge (where it is "auto"), in search
        depth, and in how much they prefer features that subsamples select too. Takes some hundred searches.
    max_error_increase : float, default=0.05
        For ``criterion="stability"``: largest relative increase in held-out error accepted for stability.
    min_stability : float or None, default=None
        Choose the setting of least held-out error whose stability (Nogueira's, 1 for identical sets) is at least this;
        where there is none, the most stable one, with a warning.
    cv : int, splitter, iterable or None, default=None
        How samples are held out for what is chosen by held-out error: the ridge, the number of features, the setting
        of ``criterion="stability"``. None: five folds (ten for stability); an integer: that many. A sample's own values
        decide its fold, so the order of samples does not matter. Otherwise any splitter of scikit-learn, with the
        ``groups`` of :meth:`fit`, or (train, test) indices; for stability its test sets must hold every sample once.

    Attributes
    ----------
    fold_sizes_ : ndarray of int
        Number of samples in every fold held out; that of all samples where nothing was chosen by held-out error.
    frontier_ : StabilityFrontier
        After asking for stability: held-out error and stability of every setting tried.
    selection_frequency_ : ndarray of shape (m,)
        Fraction of subsamples in which each feature was selected. Set only if the chosen setting uses it.
    path_ : SelectionPath
        After "auto": explained variance against the number of features, and how far the number moves between folds.
    objective_ : float
        Loss of the selected features.
    lower_bound_ : float
        No k features can have a lower loss: the error of k principal components, shrunk by the same ridge.
    optimality_gap_ : float
        ``(objective_ - lower_bound_) / objective_``, the largest relative improvement any other selection could bring.
    n_swaps_ : int
        Swaps made after the forward search.
    ridge_ : float
        The relative ridge weight used; where stability was asked for, that of the map.

    See Also
    --------
    ScorerSelector : The scorer-selector autoencoder, searched from this solution.

    Notes
    -----
    Features are centred but never scaled: put a scaler before it when units differ. Once the selected features span the
    data (what is left is below 1e-10 of the total), further ones are chosen by the gain under a small ridge, and
    constant features come last.

    Gains tie where they differ by less than 1e-10 of themselves, or by less than rounding (1e-12 of the terms that
    cancel) can move them. A tie goes to the lowest index, but not to a feature of which a hundred times less is left
    than of another that ties. A swap is made only if it lowers the loss by more than rounding.

    The search sees second moments, which hold half the digits of the data: two features that differ by less than about
    1e-6 of their spread count as one. Their difference predicts nothing, even where least squares on the samples could
    use it.

    For stability the same search runs on a few dozen subsamples, combinations of four of ten folds of the samples. A
    feature that none of them selects is charged a small fraction of the loss more than one that all select, so that
    features which serve almost equally well no longer take turns by chance. All of it uses the folds' moments from one
    pass. Many settings are usually about as good as each other (within ``max_error_increase`` of the least error, and
    within 0.2 of the best stability, which five sets cannot tell apart) and lead to different features. Which of them
    is best changes with the samples, so a compromise is used: the mean of their ridge weights, the votes of all of
    them, and as much weight for the votes as keeps it among them. With few samples against features (moments in dual
    form) no setting swaps features.

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

    def _select_from(self, problem: Problem) -> Selection:
        gram = problem.gram
        found = search_columns(problem)
        order, self.n_swaps_ = found.chosen, found.n_swaps
        roles = column_roles(gram, order, problem.ridge, problem.exclude)
        self._keep_roles(roles)
        bound = gram.floor(problem.k, problem.ridge) / gram.n_features
        self.objective_, self.lower_bound_, self.optimality_gap_ = bounds(roles.loss, bound, problem)
        return Selection(order, roles.worth, roles.coefficients)


def search_columns(problem: Problem) -> Found:
    """Return what the search of a problem's setting finds."""
    return find_columns(problem.gram, problem.k, problem.setting, problem.include, problem.exclude, problem.votes)


def bounds(objective: float, bound: float, problem: Problem) -> tuple[float, float, float]:
    """Return objective and lower bound in the units of the samples, and the relative gap (0 when nothing is left)."""
    objective = max(0.0, objective)
    bound = min(max(0.0, bound), objective)
    gap = 0.0 if objective <= EXHAUSTED else (objective - bound) / objective
    return objective * problem.unit, bound * problem.unit, gap
