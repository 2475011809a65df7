"""The scorer-selector autoencoder in closed form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._compat import Constraints, Interval, StrOptions, without
from .._core import column_roles, to_dense, to_numpy
from ..base import Selection
from ..subset import (
    Conditions,
    MomentsSelector,
    Problem,
    Sketch,
    Task,
    Wanted,
    bounds,
    columns_again,
    error_again,
    replaceable,
    replacing_costs,
    roles_again,
    weights_of,
)
from ._objective import ScorerObjective, canonical_scores
from ._search import scorer_finisher, search_scorer


class ScorerSelector(MomentsSelector):
    """Score all features and select k of them with one shared linear autoencoder, solved in closed form.

    Every feature j is multiplied by a score phi(w_j) >= 0. The *scorer* reconstructs the data from all scored features,
    the *selector* from the k of largest score only, through the same encoder and decoder; the model minimises the
    selector's error plus ``scorer_weight`` times the scorer's. For a fixed subset that minimum has a closed form, so
    subsets are searched and the weights are exact. :class:`ScorerSelectorNetwork` trains the same model instead.

    Parameters
    ----------
    n_features_to_select : int, float, "auto" or None, default=None
        Number of features to select: an integer, a fraction rounded up, or None for half. "auto" takes as many as
        ``min_explained_variance`` needs on held-out samples.
    score_function : {"abs", "square"}, default="abs"
        phi(w) = abs(w) or w^2. The selected features are the same for both.
    scorer_weight : float, default=1/128
        Weight of the scorer's error; 0 leaves the selector alone.
    latent_width : int or None, default=None
        Width d of the autoencoder; None for the number of selected features.
    ridge : float or "auto", default="auto"
        Ridge weight of the selector's map, relative to the mean variance, as in :class:`ColumnSubset`.
    include, exclude : sequence of str or int, optional
        Features, by name or index, that must or must not be selected.
    min_explained_variance : float, default=0.9
        For "auto", as in :class:`ColumnSubset`: the smallest number of features that explains this fraction of the
        variance of held-out samples.
    max_features : int or None, default=None
        For "auto": the most features to consider; None for 200 beyond those included.
    criterion : {"error", "stability"}, default="error"
        "stability": prefer features that subsamples select too, where that is more stable than the default and raises
        the held-out error by no more than ``max_error_increase``, as in :class:`ColumnSubset`.
    max_error_increase : float, default=0.05
        For ``criterion="stability"``: largest relative increase in held-out error accepted for stability.
    min_stability : float or None, default=None
        Give up more error, by votes that weigh more, until the stability is at least this, as in
        :class:`ColumnSubset`.
    search_criterion : {"auto", "training", "leave_one_out"}, default="auto"
        What the search that this one starts from lowers, as in :class:`ColumnSubset`. The model's objective has no
        leave-one-out form, and swaps by it would lead back to the training loss: a set that was searched on its
        leave-one-out error is kept as it is.
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
        Costs and a budget, groups, blocks, distances, penalties, weights, as in :class:`ColumnSubset`: the search that
        this one starts from keeps to them, and so do its own swaps of single features.

    Attributes
    ----------
    sketch_size_ : int or None
        Number of rows of the sketch that was searched; None after a search on exact moments.
    fold_sizes_ : ndarray of int
        Number of samples in every fold held out; that of all samples where nothing was chosen by held-out error.
    search_criterion_, leave_one_out_error_
        As in :class:`ColumnSubset`; the error is that of the ridge map from the selected features.
    frontier_, selection_frequency_
        After asking for stability, as in :class:`ColumnSubset`.
    path_ : SelectionPath
        After "auto": explained variance against the number of features, and how far the number moves between folds.
    score_weights_ : ndarray of shape (m,)
        phi(w); larger for every selected feature than for any other.
    encoder_ : ndarray of shape (m, d)
        W_E.
    decoder_ : ndarray of shape (d, m)
        W_D.
    encoder_intercept_, scorer_intercept_ : ndarray of shape (d,)
        Encoder intercepts of the selector and of the scorer path.
    decoder_intercept_ : ndarray of shape (m,)
        Decoder intercept.
    latent_width_ : int
        d.
    loss_selector_, loss_scorer_ : float
        Mean squared error (averaged over samples and features) of the two paths. After a search on a sketch the weights
        come from it; the selector's error is exact where the samples could be read again (``fit``), the scorer's an
        estimate.
    objective_ : float
        The model's objective, ridge term included, that the fitted weights attain: the least for the selected features.
    lower_bound_ : float
        No subset's J lies below it: the error of min(k, d) principal components, shrunk by the same ridge, plus
        scorer_weight times that of d. No bound follows from a sketch: neither this nor the next exists after a search
        on one.
    optimality_gap_ : float
        ``(objective_ - lower_bound_) / objective_``.
    n_swaps_ : int
        Swaps made by the search. The set before the last, J-driven swaps is a certified 1-swap optimum of the plain
        loss; of J, the most promising swaps were tested.
    conditions_cost_ : ConditionsCost
        As in :class:`ColumnSubset`, by the plain reconstruction loss.
    ridge_ : float
        The relative ridge weight used.
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
    ScorerSelectorNetwork : The same model trained, with any encoder and decoder.
    ColumnSubset : The plain reconstruction loss, from whose solution this search starts.

    Notes
    -----
    Features are centred, and scaled only with ``scale``. Losses are exact to about 1e-12 of the mean variance.
    Directions of variance below 1e-12 of the largest are beyond the closed form's precision and are left unexplained,
    and where standard deviations differ by a factor of 1e6 or more the weights can miss the least objective by some
    percent (``objective_`` is what they attain); scale when units differ that much.

    Which features are selected, and their order, does not depend on the order of the samples, block size, memory layout
    or threads. Swaps whose objectives differ by less than rounding tie, and of features whose scores agree to nine
    digits the lowest index comes first.

    References
    ----------
    Wu & Cheng (2021), Algorithmic stability and generalization of an unsupervised feature selection algorithm, NeurIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect import ScorerSelector
    >>> X = load_iris().data
    >>> selector = ScorerSelector(2).fit(X)
    >>> selector.selected_
    array([2, 0])
    >>> selector.encoder_.shape, selector.decoder_.shape
    ((4, 2), (2, 4))
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **without(MomentsSelector._parameter_constraints, "exchange"),
        "score_function": [StrOptions({"abs", "square"})],
        "scorer_weight": [Interval(Real, 0, 1e100, closed="both")],
        "latent_width": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        n_features_to_select: int | float | Literal["auto"] | None = None,
        *,
        score_function: Literal["abs", "square"] = "abs",
        scorer_weight: float = 1 / 128,
        latent_width: int | None = None,
        ridge: float | Literal["auto"] = "auto",
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
        scale: Literal["standard", "minmax"] | None = None,
        missing: Literal["raise", "em", "factors"] = "raise",
        conditions: Conditions | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.score_function = score_function
        self.scorer_weight = scorer_weight
        self.latent_width = latent_width
        self.ridge = ridge
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

    def forward(self, X: Any, path: Literal["selector", "scorer"] = "selector") -> np.ndarray:
        """Run the data through the autoencoder.

        Parameters
        ----------
        X : array, data frame, torch tensor or sparse matrix of shape (n, m)
            Samples with all features.
        path : {"selector", "scorer"}
            Through the selected features or through all.

        Returns
        -------
        ndarray of shape (n, m)
            The autoencoder's output.
        """
        check_is_fitted(self)
        if path not in ("selector", "scorer"):
            raise ValueError(f"path must be 'selector' or 'scorer', got {path!r}.")
        X = to_dense(self._check_table(X, reset=False))
        scored = X * np.where(self.support_ | (path == "scorer"), self.score_weights_, 0.0)
        intercept = self.scorer_intercept_ if path == "scorer" else self.encoder_intercept_
        return (scored @ self.encoder_ + intercept) @ self.decoder_ + self.decoder_intercept_

    def _select_from(self, problem: Problem) -> Selection:
        gram, mean, unit = problem.gram, problem.mean, problem.unit
        self.latent_width_ = int(self.latent_width or problem.k)
        found = problem.found
        choice, targets = problem.choice, weights_of(gram, problem.choice)
        weight = float(self.scorer_weight)
        objective = ScorerObjective(gram, self.latent_width_, weight, problem.ridge, targets=targets)
        chosen, self.n_swaps_ = found.chosen, found.n_swaps
        if problem.setting.exchange:
            swappable = None if choice is None else partial(replaceable, choice)
            chosen, swaps = search_scorer(objective, chosen, problem.include, problem.exclude, found.prices, swappable)
            self.n_swaps_ += swaps
        most = problem.k if choice is None else choice.most  # of selections of any number
        M, W_D = objective.weights(chosen, objective.exact(chosen)[1])
        selector, scorer, J = objective.losses(M, W_D, chosen)
        self.loss_selector_, self.loss_scorer_ = selector * unit, scorer * unit
        M, self.decoder_ = to_numpy(M), to_numpy(W_D)
        extra = None if choice is None else replacing_costs(choice, chosen)
        roles = column_roles(gram, chosen, problem.ridge, problem.exclude, targets, extra)
        if self.sketch_size_ is not None:
            C_S = columns_again(problem, chosen)
            if C_S is not None:
                exact = error_again(problem, chosen, M[chosen] @ self.decoder_, C_S)
                self.loss_selector_, J = exact * unit, J - selector + exact
                roles = roles_again(roles, problem, chosen, C_S)
            self.objective_ = max(0.0, J) * unit
        else:
            floor = objective.floor(most, self.latent_width or most) / objective.size
            self.objective_, self.lower_bound_, self.optimality_gap_ = bounds(J, floor, problem)
        deviation = np.sqrt(np.maximum(to_numpy(gram.diagonal()), 0.0))
        weights = self.score_weights_ = canonical_scores(M, deviation, chosen)
        coefficients = M[(order := sorted(sorted(chosen), key=lambda j: -weights[j]))] @ self.decoder_
        M, self.decoder_ = M / problem.scale[:, None], self.decoder_ * problem.scale  # the samples' units
        self.encoder_ = np.divide(M, weights[:, None], out=np.zeros_like(M), where=weights[:, None] > 0)
        self.encoder_intercept_ = -(mean[chosen] @ M[chosen])
        self.scorer_intercept_ = -(mean @ M)
        self.decoder_intercept_ = mean
        self._keep_roles(roles)
        return Selection(order, weights, coefficients)

    def _frontier_task(self, wanted: Wanted, numbers: Sequence[int]) -> Task:
        return replace(
            super()._frontier_task(wanted, numbers),
            finish=scorer_finisher(float(self.scorer_weight), self.latent_width, wanted.include, wanted.exclude),
            own_map=False,  # the objective has one ridge weight, for the search and for the map
        )
