"""Column subset selection: the k features from which a linear map best reconstructs all features."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from .._core import EXHAUSTED, TIE, column_roles, loss_bound
from ..base import Selection
from ._conditioned import bound_under_conditions, replacing_costs, weights_of
from ._conditions import Conditions
from ._gathering import Scale, Sketch
from ._moments_selector import MomentsSelector
from ._problem import Problem
from ._sketching import columns_again, roles_again


class ColumnSubset(MomentsSelector):
    """Select the k features from which all features can best be reconstructed, the best of all where it can be proven.

    The loss of a subset is the mean squared error (averaged over samples and features) of the ridge map from the
    selected to all features, which are centred; the ridge term is included. The best subset is NP-hard to find. Forward
    search and exchange end in a set that no single swap of a selected for a discarded feature improves, after a few
    steps beyond every such set. Where there are up to ten million subsets, all others are then tried or ruled out, and
    the result is the best there is (``proven_optimal_``); elsewhere ``optimality_gap_`` tells how far from the best it
    can be at most. The search is deterministic: the order of the samples, block size, memory layout and threads do not
    matter, and ties go to the lowest index.

    Parameters
    ----------
    n_features_to_select : int, float, "auto" or None, default=None
        Number of features to select: an integer, a fraction rounded up, or None for half. "auto" takes as many as
        ``min_explained_variance`` needs on held-out samples.
    ridge : float or "auto", default="auto"
        Ridge weight relative to the mean variance of the features. More ridge gives a more stable selection. "auto"
        takes the weight of least held-out error over five folds of the samples, or of least leave-one-out error where
        that decides (see ``search_criterion``); with merged moments alone it is 0.
    exchange : bool, default=True
        Swap features after the forward search until no swap helps, then look for the best subset of all where there are
        not too many. With ``search_criterion="auto"`` a search on the leave-one-out error does neither.
    include, exclude : sequence of str or int, optional
        Features, by name or index, that must or must not be selected.
    min_explained_variance : float, default=0.9
        For "auto": the smallest number of features that explains this fraction of the variance of held-out samples.
    max_features : int or None, default=None
        For "auto": the most features to consider; None for 200 beyond those included.
    criterion : {"error", "stability"}, default="error"
        "stability": prefer features that subsamples select too, where that is more stable than the default and raises
        the held-out error by no more than ``max_error_increase``. Takes some hundred searches.
    max_error_increase : float, default=0.05
        Largest relative increase in held-out error accepted for stability.
    min_stability : float or None, default=None
        Give up more error, by votes that weigh more, until the stability (Nogueira's, 1 for identical sets)
        is at least this; where it is not reached within ``max_error_increase``, take the most stable setting, and warn.
    search_criterion : {"auto", "training", "leave_one_out"}, default="auto"
        What the search lowers: the training loss, or the leave-one-out error. "auto" lets the leave-one-out error
        choose the ridge and between the two, where the samples themselves are kept: at most half as many as features,
        no ``cv``, ``ridge`` not 0. Elsewhere, and with "training", the search is
        on the training loss and the ridge comes from folds.
    cv : int, splitter, iterable or None, default=None
        How samples are held out for what is chosen by held-out error: the ridge, the number of features, the setting
        of ``criterion="stability"``. None: five folds (ten for stability); an integer: that many. A sample's own values
        decide its fold, so the order of samples does not matter. Otherwise any splitter of scikit-learn, with the
        ``groups`` of :meth:`fit`, or (train, test) indices; for stability its test sets must hold every sample once.
    sketch : bool, int or "auto", default="auto"
        Whether to search on a sketch of the samples (:class:`~stableselect.SketchedMoments`) instead of exact moments,
        and of how many rows; True for 16 for every feature to select, at least 500. "auto": where exact moments, those
        of the folds included, do not fit in memory, with a warning; never where they fit, nor in ``partial_fit``.
    n_jobs : int or None, default=None
        Processes for the searches that ``criterion="stability"`` makes, as in joblib; None for up to four threads of
        this one. The result is the same.
    verbose : bool, default=False
        Print to standard error how many of these searches are done.
    scale : {"standard", "minmax"} or None, default=None
        Scale the features by the training samples, exactly as a scaler before the selector would: to unit variance, or
        by their range. Losses and ``score`` are then about the scaled features; ``reconstruct`` gives original units.
    missing : {"raise", "em", "factors"}, default="raise"
        What to do with missing values (NaN): raise an error, or fit a Gaussian by expectation-maximisation and use its
        moments. "factors" fits one of up to 16 factors, and so does "em", with a warning, for more than 3000 features
        or very wide gaps. ``transform`` and ``reconstruct`` then take missing values too.
    conditions : Conditions or None, default=None
        Costs and a budget, groups, blocks, distances, penalties, weights (:class:`~stableselect.Conditions`). The
        search is then on the training loss, a ridge of "auto" is that of the free choice, and with a budget
        ``n_features_to_select`` is an upper limit, None for as many features as the budget allows.

    Attributes
    ----------
    sketch_size_ : int or None
        Number of rows of the sketch that was searched; None after a search on exact moments.
    fold_sizes_ : ndarray of int
        Number of samples in every fold held out; that of all samples where nothing was chosen by held-out error.
    search_criterion_ : {"training", "leave_one_out"}
        What the search lowered.
    leave_one_out_error_ : float
        Mean squared error on every sample of map and mean fitted on the others, with the features selected on all and
        the ridge term unchanged; a little too good, since they were chosen by it. Only where it decided something.
    frontier_ : StabilityFrontier
        After asking for stability: held-out error and stability of every setting tried, and the stability of the
        whole procedure, which is that of the result.
    selection_frequency_ : ndarray of shape (m,)
        Fraction of subsamples in which each feature was selected. Set only if the chosen setting uses it.
    path_ : SelectionPath
        After "auto": explained variance against the number of features, and how far the number moves between folds.
    objective_ : float
        Training loss of the selected features, whatever the search lowered, weighted where features are. After a search
        on a sketch it is exact too where the samples could be read again (``fit``), else an estimate from the sketch, a
        little too low.
    lower_bound_ : float
        No features that ``include``, ``exclude`` and ``conditions`` allow can have a lower loss. ``objective_`` itself
        where the selection is proven optimal without penalties. Elsewhere at least the error of k principal components,
        shrunk by the same ridge, and at least the sum of the m - k smallest errors of a feature reconstructed from all
        others. No bound follows from a sketch: neither this nor the next two exist after a search on one.
    optimality_gap_ : float
        ``(objective_ - lower_bound_) / objective_``, the largest relative improvement any other selection could bring.
    proven_optimal_ : bool
        Whether it is proven that no other selection, of those the conditions allow, has a lower loss (and penalties)
        on these samples.
    conditions_cost_ : ConditionsCost
        With ``conditions``, or ``include`` and a search on the training loss: loss and explained variance beside those
        of the free choice of as many features.
    n_swaps_ : int
        Features swapped after the forward search.
    ridge_ : float
        The relative ridge weight used; where stability was asked for, that of the map.
    scale_ : ndarray of shape (m,)
        With ``scale``: what every feature is divided by, standard deviation or range (1 for a constant feature).
    batches_, batch_means_, batch_explained_variance_, batch_specific_ : ndarrays
        After a fit with ``batch``: the B labels, the B x m means, the fraction of the variance within every batch that
        the selected features explain, and those of them that serve one batch only (of the rise of the error without
        such a feature, 95 % is in one batch).
    location_, covariance_, em_iterations_ : ndarrays of shape (m,) and (m, m), int
        With ``missing="em"``: the Gaussian, slightly shrunk to its diagonal, and the number of steps.
    factors_, noise_ : ndarrays of shape (m, r) and (m,)
        With ``missing="factors"``, in place of ``covariance_``: the covariance is ``factors_ @ factors_.T`` and noise.

    See Also
    --------
    ScorerSelector : The scorer-selector autoencoder, searched from this solution.

    Notes
    -----
    Not for tables of many nuisance features, unless the others explain much of each other: independent noise of unit
    variance is as worth keeping as anything to a reconstruction loss, since nothing else reconstructs it.
    :class:`~stableselect.GatedLaplacian` leaves it out.

    Features are centred, and scaled only with ``scale``. Once the selected features span the
    data (what is left is below 1e-10 of the total), further ones are chosen by the gain under a small ridge, and
    constant features come last.

    Gains tie where they differ by less than 1e-10 of themselves, or by less than rounding (1e-12 of the terms that
    cancel) can move them. A tie goes to the lowest index, but not to a feature of which a hundred times less is left
    than of another that ties. A swap is made only if it lowers the loss by more than rounding.

    The search sees second moments, which hold half the digits of the data: two features that differ by less than about
    1e-6 of their spread count as one. Their difference predicts nothing, even where least squares on the samples could
    use it.

    With few samples against features the training loss leads astray: the features that fit 40 samples best are not
    those from which other samples are best reconstructed. The error on every sample of the ridge map fitted on the
    others has a closed form (Allen 1974), so that it can be searched like the loss. With p the samples' weights of sum
    one, A the centred samples times the roots of their weights and T the matrix that turns A into the residuals of the
    map, mean included, it is ``sum_i |(TA)_i|^2 / T_ii^2 / m``. Equal samples count as one of their joint weight. With
    at least four features a sample, "auto" makes forward searches on both numbers and takes the one on the
    leave-one-out error if that is lower by more than 4 %: having been searched for, it is too low by about that much.
    It is so in tables of genes and spectra; images are better served by the training loss even with few samples. A
    feature of whose sum of squares one sample makes up more than 1/2 + 2/n comes after all others in that search: it is
    nearly constant but for this sample, and in units of its range other samples can lie anywhere. Bounds and the
    optimality gap are always about the training loss.

    The best subset is found by branch and bound, from the result of the exchange, in at most a second or two. The limit
    is on work, never on time; where it is reached, only the bound gets better. Of subsets whose losses differ by less
    than 1e-10, or by less than 1e-12 of the total variance, the one whose sorted indices come first is selected. The
    proof is one for the training loss with ``ridge_``; the ridge itself, and the number of features where that is
    "auto", are chosen by forward search.

    For stability the same search runs on seventy subsamples, combinations of four of ten folds of the samples. A
    feature that none of them selects is charged a fraction 1/k or 2/k of the loss (at most a half) more than one that
    all select, so that features which serve almost equally well no longer take turns by chance. These settings and the
    default are repeated with two folds held out, all 45 pairs in turn where few features are selected, else 15 of them.
    The default is kept unless another is more stable and its error within the limit. All of it uses the folds' moments
    from one pass. The stability stated is that of the whole procedure: for every round the setting is chosen anew, by
    the rounds that hold out other folds.

    With both samples and features too many for exact moments, the search sees a sketch instead: every sample is added
    to one of r rows with a random sign, and the search sees these r rows only. On image and speech tables the training
    loss of 50 features found with r = 16 k was about 1 % above that of an exact search. A second pass over the samples
    then gives the exact map and loss; what single features are worth, and replacements, remain estimates. With a sketch
    ``ridge="auto"`` is 0. The result follows the order of the samples a little where these hold more than 2^20 values.

    References
    ----------
    Allen (1974), The relationship between variable selection and data augmentation and a method for prediction,
    Technometrics 16(1).
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

    Scaled, by what varies within species, and with a missing value:

    >>> species = load_iris().target
    >>> ColumnSubset(2, scale="standard").fit(X, batch=species).batch_explained_variance_.round(2)
    array([0.48, 0.79, 0.82])
    >>> X.iloc[0, 1] = float("nan")
    >>> ColumnSubset(2, missing="em").fit(X).get_feature_names_out()
    array(['sepal length (cm)', 'petal length (cm)'], dtype=object)
    """

    _bounds_loss = True

    def __init__(
        self,
        n_features_to_select: int | float | Literal["auto"] | None = None,
        *,
        ridge: float | Literal["auto"] = "auto",
        exchange: bool = True,
        include: Iterable[str | int] | None = None,
        exclude: Iterable[str | int] | None = None,
        min_explained_variance: float = 0.9,
        max_features: int | None = None,
        criterion: Literal["error", "stability"] = "error",
        max_error_increase: float = 0.05,
        min_stability: float | None = None,
        search_criterion: Literal["auto", "training", "leave_one_out"] = "auto",
        cv: Any = None,
        sketch: Sketch = "auto",
        n_jobs: int | None = None,
        verbose: bool = False,
        scale: Scale = None,
        missing: Literal["raise", "em", "factors"] = "raise",
        conditions: Conditions | None = None,
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
        self.search_criterion = search_criterion
        self.cv = cv
        self.sketch = sketch
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.scale = scale
        self.missing = missing
        self.conditions = conditions

    def _select_from(self, problem: Problem) -> Selection:
        gram, found = problem.gram, problem.found
        order, self.n_swaps_ = found.chosen, found.n_swaps
        choice = problem.choice
        weights, extra = (None, None) if choice is None else (weights_of(gram, choice), replacing_costs(choice, order))
        roles = column_roles(gram, order, problem.ridge, problem.exclude, weights, extra)
        if self.sketch_size_ is not None:
            C_S = columns_again(problem, order)
            if C_S is not None:
                roles = roles_again(roles, problem, order, C_S)
            self._keep_roles(roles)
            self.objective_ = max(0.0, roles.loss) * problem.unit
            return Selection(order, roles.worth, roles.coefficients)
        self._keep_roles(roles)
        bound = roles.loss
        if choice is not None and not (found.proven and found.prices is None):
            size = gram.n_features if choice.weights is None else float(choice.weights.sum())
            floor = bound_under_conditions(gram, choice, problem.ridge, problem.include)
            bound = max(floor, found.lower_bound) / size
        elif not found.proven:
            floor = loss_bound(gram, problem.k, problem.ridge, problem.include, problem.exclude)
            bound = max(floor, found.lower_bound) / gram.n_features
        self.objective_, self.lower_bound_, self.optimality_gap_ = bounds(roles.loss, bound, problem)
        self.proven_optimal_ = found.proven if choice is not None else self.optimality_gap_ == 0
        return Selection(order, roles.worth, roles.coefficients)


def bounds(objective: float, bound: float, problem: Problem) -> tuple[float, float, float]:
    """Return objective and lower bound in the units of the samples, and the relative gap (0 when it is rounding)."""
    objective = max(0.0, objective)
    bound = min(max(0.0, bound), objective)
    gap = 0.0 if objective <= EXHAUSTED else (objective - bound) / objective
    gap = 0.0 if gap <= TIE else gap
    return objective * problem.unit, bound * problem.unit, gap
