"""Resample and aggregate: the features that a selector keeps again and again when samples and seeds change."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._compat import Constraints, HasMethods, Interval, StrOptions, validates_parameters
from .._core import (
    Array,
    ComplementaryPairs,
    Resample,
    Resampler,
    check_cv,
    in_own_order,
    resamples,
    row_hashes,
    seed_sequence,
    to_numpy,
    units,
)
from .._refit import Fit, Source, repeated_fits, resolve_names, seed_parameters
from ..base import N_JOBS, BaseSelector, Selection, check_number, resolve_k, unchanged_on_error, verbose_steps
from ..subset import ColumnSubset
from ._error_control import FrequentFeatures, concave_bound, worst_case_bound
from ._votes import Aggregate, by_frequency, by_representation, mean_ranks

Perturb = Literal["both", "data", "seed"]
_FEWEST = 4
"""With fewer samples, or groups, there are no two halves worth fitting."""


class ConsensusSelector(BaseSelector):
    r"""Keep the features that another selector agrees on over resampled samples and seeds.

    Copies of ``estimator`` are fitted on resamples, each with a seed of its own, and vote. The result is far more
    repeatable than one fit, at some cost in error. It does not depend on ``n_jobs``, nor on the order of the samples
    unless ``cv`` does.

    Parameters
    ----------
    estimator : selector or None, default=None
        A selector of this package, or any with ``fit(X)`` and ``get_support()``, such as scikit-learn's, or a pipeline
        of steps that keep or drop features and end in one. Where its ``n_features_to_select`` is None it gets the
        number asked for here. Its ``include`` and ``exclude`` hold here too. None means ``ColumnSubset(ridge=0.1)``.
    n_features_to_select : int, float or None, default=None
        Number of features to select, or a fraction of them, rounded up. None: as many as ``estimator`` selects, on
        average over the fits and rounded; half of the features where it has no number of its own. For all features
        above a frequency see :meth:`select_by_frequency`.
    n_resamples : int, default=50
        Number of fits where ``cv`` is None: even, or with ``perturb="seed"`` at least 2.
    cv : int, splitter or iterable, default=None
        The samples of each fit, the training part of a split: a number of folds, any scikit-learn splitter,
        :class:`~stableselect.inspection.Subsample`, :class:`~stableselect.inspection.Bootstrap`, or pairs of
        (train, test) indices. None draws halves, two at a time without a common sample [1]_
        (:class:`~stableselect.inspection.ComplementaryPairs`), which the error control needs.
    perturb : {"both", "data", "seed"}, default="both"
        What differs between the fits. "data" holds the seed of ``estimator`` fixed; "seed" fits all samples every time.
        An estimator without a seed is the same under "both" and "data".
    aggregate : {"representative", "frequency", "rank"}, default="representative"
        "frequency" keeps the features selected most often; ties go to the better mean rank, then the lowest index.
        "rank" keeps those of best mean rank (Borda count). Both may keep twins, and miss a group of interchangeable
        features that split its votes. "representative" takes one feature at a time and discounts the votes that the
        ones taken already explain (see Notes).
    n_jobs : int or None, default=None
        Processes for the fits; None for this one alone.
    random_state : int, RandomState instance or None, default=None
        Decides the samples drawn (where ``cv`` is None or an integer) and the seeds.
    verbose : bool, default=False
        Print the steps done and the time left to standard error.

    Attributes
    ----------
    selection_frequency_ : ndarray of shape (m,)
        Fraction of the fits that selected each feature.
    supports_ : ndarray of bool, shape (n_fits, m)
        What every fit selected; with complementary pairs, each two that follow each other are a pair. It can be handed
        to :func:`stableselect.metrics.stability`.
    threshold_ : float
        The lowest frequency among the selected features.
    expected_false_selections_ : float
        The formula of the bound on the expected number of false features, at ``threshold_``. Since that threshold is
        read off the data, this describes the fits and bounds nothing; :meth:`select_by_frequency` with a threshold
        fixed beforehand gives the bound. Infinite where ``threshold_`` is at most 1/2, NaN where the fits were not on
        complementary halves.
    n_pairs_ : int
        Number of complementary pairs among the fits.

    See Also
    --------
    ColumnSubset : One fit; more ``ridge`` also makes it more repeatable.
    stableselect.inspection.stability_analysis : Measures how repeatable a selector is.

    Notes
    -----
    "representative": with f the frequencies and R the correlations of the features once the selected ones are taken
    out of all, the next feature is the one of largest :math:`f_j \sum_i f_i R_{ij}^2 / R_{jj}`.

    Error control: a feature is called false where ``estimator``, given half of the samples, selects it with a
    probability of at most q / m, with q the mean number of features it selects: no more often than a blind draw would.
    There are no labels, so this says nothing about what a feature is good for. The bounds ask for high frequencies and
    few features; where many interchangeable features compete, frequencies are low and the bounds empty, while the
    choice itself may well be repeatable.

    The halves, and the draws of ``Subsample`` and ``Bootstrap``, depend on the values of the samples and the seed, not
    on the order of the samples. Other splitters see the samples in the order of the table. Tables of up to a million
    values reach ``estimator`` as dense arrays of doubles, whatever held them.

    With fewer than four samples (or groups) there is nothing to resample: every fit sees all samples, and there is no
    error control.

    References
    ----------
    .. [1] R. D. Shah and R. J. Samworth, "Variable selection with error control: another look at stability selection",
       Journal of the Royal Statistical Society B 75, 2013.
    .. [2] N. Meinshausen and P. Bühlmann, "Stability selection", Journal of the Royal Statistical Society B 72, 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect import ConsensusSelector
    >>> selector = ConsensusSelector(n_features_to_select=2, random_state=0).fit(load_iris().data)
    >>> sorted(selector.selected_.tolist())
    [0, 2]
    >>> selector.selection_frequency_.round(1)
    array([1., 0., 1., 0.])
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **BaseSelector._parameter_constraints,
        "estimator": "no_validation",
        "n_resamples": [Interval(Integral, 2, None, closed="left")],
        "cv": [Interval(Integral, 2, None, closed="left"), HasMethods(["split"]), Iterable, None],
        "perturb": [StrOptions(set(get_args(Perturb)))],
        "aggregate": [StrOptions(set(get_args(Aggregate)))],
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
        "verbose": ["boolean"],
    }

    def __init__(
        self,
        estimator: Any = None,
        n_features_to_select: int | float | None = None,
        *,
        n_resamples: int = 50,
        cv: Any = None,
        perturb: Perturb = "both",
        aggregate: Aggregate = "representative",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.estimator = estimator
        self.n_features_to_select = n_features_to_select
        self.n_resamples = n_resamples
        self.cv = cv
        self.perturb = perturb
        self.aggregate = aggregate
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @validates_parameters
    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Select features.

        Parameters
        ----------
        X : array, data frame, torch tensor or sparse matrix of shape (n, m)
            The table.
        y : None
            Ignored, for scikit-learn pipelines.
        groups : array-like of shape (n,), optional
            Labels of samples that belong together, such as replicates: they are drawn together. The error control then
            needs independent groups instead of independent samples.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            check_cv(self.cv)
            if self.cv is not None and self.perturb == "seed":
                raise ValueError('cv splits the samples but perturb="seed" fits all of them; leave one of the two out.')
            if self.cv is None and self.perturb != "seed" and self.n_resamples % 2:
                raise ValueError(
                    f"n_resamples must be even but is {self.n_resamples}; add one, since halves are drawn in pairs."
                )
            X, groups = self._in_own_order(self._check_table(X), groups)
            k = resolve_k(self.n_features_to_select, X.shape[1])
            estimator, include, exclude = self._prepared(k)
            with verbose_steps(type(self).__name__, self.verbose):
                fits = self._fits(X, estimator, groups)
            self.supports_ = np.array([fit.support for fit in fits])
            self.selection_frequency_ = self.supports_.mean(axis=0)
            if self.n_features_to_select is None:
                k = max(1, round(self._mean_size()))
            self._store(self._aggregated(X, k, fits, include[:k], exclude), X)
            self.threshold_ = float(self.selection_frequency_[self.selected_].min())
            bound = worst_case_bound(self._mean_size(), self.n_features_in_, self.threshold_)
            self.expected_false_selections_ = bound if self.n_pairs_ else np.nan
        return self

    def select_by_frequency(
        self, threshold: float | None = None, *, max_false: float | None = None
    ) -> FrequentFeatures:
        """Return all features above a selection frequency, with a bound on how many are there by chance.

        The bounds hold for a threshold chosen before looking at the frequencies, and for samples drawn independently.
        They say nothing where they exceed the number of features returned.

        Parameters
        ----------
        threshold : float, optional
            Lowest frequency, from 0 to 1.
        max_false : float, optional
            Instead of a threshold: the lowest one at which the bound without assumptions is at most this.

        Returns
        -------
        FrequentFeatures
        """
        check_is_fitted(self)
        if (threshold is None) == (max_false is None):
            raise ValueError("select_by_frequency takes either a threshold or max_false; give one of them.")
        if max_false is not None:
            threshold = self._threshold_for(max_false)
        threshold = check_number(threshold, "threshold", 0, 1)
        order = np.argsort(-self.selection_frequency_, kind="stable")
        # A frequency is a count over a count: a threshold of 0.3 must not miss 3 of 10 by rounding.
        features = order[self.selection_frequency_[order] >= threshold - 1e-12]
        if not self.n_pairs_:
            return FrequentFeatures(features, threshold, np.nan, np.nan)
        q, m = self._mean_size(), self.n_features_in_
        bounds = worst_case_bound(q, m, threshold), concave_bound(q, m, threshold, self.n_pairs_)
        return FrequentFeatures(features, threshold, *bounds)

    def _threshold_for(self, max_false: float) -> float:
        """Return the lowest threshold with q^2 / ((2 threshold - 1) m) <= max_false."""
        max_false = check_number(max_false, "max_false", inside=True)
        if not self.n_pairs_:
            raise ValueError(
                'max_false needs fits on complementary halves of the samples; leave cv out, use perturb="both" or '
                '"data", and give at least four samples.'
            )
        q, m = self._mean_size(), self.n_features_in_
        threshold = (1 + q * q / (max_false * m)) / 2
        if threshold > 1:
            raise ValueError(
                f"No threshold keeps the expected number of false features at {max_false:g}: with {q:g} of {m} "
                f"features a fit it is at least {worst_case_bound(q, m, 1.0):.3g}; let estimator select fewer features."
            )
        return threshold

    def _mean_size(self) -> float:
        """Return q, the mean number of features that a fit selected."""
        return float(self.supports_.sum(axis=1).mean())

    def _keeps_groups(self) -> bool:
        """Tell whether groups have a say in what is drawn."""
        return self.perturb != "seed"

    def _in_own_order(self, X: Array, groups: Any) -> tuple[Array, Any]:
        """Return the samples in an order that their values decide, and their groups, unless ``cv`` goes by theirs."""
        if not (self.cv is None or isinstance(self.cv, Resampler)):
            return X, groups
        labels = None if groups is None else units(groups, X.shape[0])[0].astype(np.float64)
        return in_own_order(X, labels)

    def _prepared(self, k: int) -> tuple[Any, list[int], list[int]]:
        """Return an unfitted copy of the estimator for tables without names, and its features to keep and leave out."""
        estimator = ColumnSubset(ridge=0.1) if self.estimator is None else self.estimator
        if isinstance(estimator, type) or not (hasattr(estimator, "fit") and hasattr(estimator, "get_params")):
            raise TypeError(
                f"estimator must be a selector or None, got {estimator!r:.60}; the number of features is "
                "n_features_to_select."
            )
        estimator = clone(estimator)
        known = estimator.get_params(deep=False)
        if any(path.endswith("conditions") and value is not None for path, value in estimator.get_params().items()):
            raise ValueError("Votes do not keep to the conditions of the estimator; leave the conditions out.")
        if "n_features_to_select" in known and known["n_features_to_select"] is None:
            estimator.set_params(n_features_to_select=k)
        m = self.n_features_in_
        include, exclude = resolve_names(estimator, m, getattr(self, "feature_names_in_", None))
        if self.n_features_to_select is not None and k > m - len(exclude):
            raise ValueError(
                f"exclude of the estimator leaves {m - len(exclude)} features but {k} are to be selected; lower "
                "n_features_to_select or exclude fewer."
            )
        return estimator, include, exclude

    def _fits(self, X: Array, estimator: Any, groups: Any) -> list[Fit]:
        """Fit the estimator once for every resample; notes how many complementary pairs there are."""
        draw_seed, fit_seed = seed_sequence(self.random_state).spawn(2)
        n_units = int(units(groups, X.shape[0])[0].max()) + 1
        parts: list[Resample | None] = [None] * self.n_resamples
        self.n_pairs_ = 0
        if n_units >= _FEWEST and self.perturb != "seed":
            cv = ComplementaryPairs(self.n_resamples, random_state=draw_seed) if self.cv is None else self.cv
            parts = list(_draw(cv, X, groups, draw_seed))
            self.n_pairs_ = len(parts) // 2 if isinstance(cv, ComplementaryPairs) else 0
        seeds = np.random.default_rng(fit_seed).integers(2**31 - 1, size=len(parts)).tolist()
        if self.perturb == "seed" and not seed_parameters(estimator):
            raise ValueError(
                f'{type(estimator).__name__} has no random_state, so perturb="seed" changes nothing; use '
                'perturb="data".'
            )
        source, hold_seed = Source(estimator, X), self.perturb == "data"
        fits = repeated_fits(estimator, source, parts, seeds, hold_seed=hold_seed, n_jobs=self.n_jobs)
        made = fits[0].origin.made
        if made is not None:
            raise ValueError(
                "estimator must choose among the features of the table but a step of it makes new ones "
                f"({made[-1][0]!r}, ...); leave that step out or transform the table beforehand."
            )
        return fits

    def _aggregated(self, X: Array, k: int, fits: list[Fit], include: list[int], exclude: list[int]) -> Selection:
        m, frequency = self.n_features_in_, self.selection_frequency_
        ranks = mean_ranks([fit.selected for fit in fits], m)
        if self.aggregate == "representative":
            return Selection(by_representation(X, k, frequency, ranks, include, exclude), frequency)
        if self.aggregate == "frequency":
            order, scores = by_frequency(frequency, ranks), frequency
        else:
            # By the mean rank (Borda count); ties go to the lowest index.
            order, scores = np.argsort(ranks, kind="stable"), 1 - (ranks - 1) / max(1, m - 1)
        settled = {*include, *exclude}
        chosen = [*include, *(int(j) for j in order if j not in settled)][:k]
        return Selection(chosen, scores)


def _draw(cv: Any, X: Array, groups: Any, seed: np.random.SeedSequence) -> list[Resample]:
    """Return the samples of every fit; random draws are from the samples in the order of a hash of their values."""
    if not isinstance(cv, Resampler):
        return resamples(cv, X, groups, seed)
    order = np.argsort(row_hashes(X), kind="stable")
    groups = None if groups is None else to_numpy(groups)[order]
    return [part.reordered(order) for part in resamples(cv, X, groups)]
