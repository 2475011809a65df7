"""Resample and aggregate: the columns that a selector keeps again and again when rows and seeds change."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._core import Array, Resample, seed_sequence
from .._refit import Fit, repeated_fits, seed_parameters, source_of, with_held_seed
from ..base import BaseSelector, Selection, resolve_k, unchanged_on_error
from ..subset import ColumnSubset
from ._base_columns import resolve_base
from ._error_control import FrequentColumns, concave_bound, worst_case_bound
from ._halves import FEWEST, SCHEMES, Scheme, count_units, draw_rows
from ._votes import AGGREGATES, Aggregate, by_frequency, by_rank, by_representation, mean_ranks

_VARY = ("both", "data", "seed")


class ConsensusSelector(BaseSelector):
    r"""Keep the columns that another selector agrees on over resampled rows and seeds.

    Copies of ``estimator`` are fitted on resamples of the rows, each with a seed of its own, and vote. The result is
    far more repeatable than one fit, at some cost in error. The rows that come together depend on their values and
    ``random_state`` alone, so the order of rows does not matter, and neither does ``n_jobs``.

    Parameters
    ----------
    estimator : selector or None, default=None
        A selector of this package, or any with ``fit(X)`` and ``get_support()``, such as scikit-learn's, or a pipeline
        of steps that keep or drop columns and end in one. Where its ``n_features_to_select`` is None it gets the number
        asked for here. What its ``include`` and ``exclude`` say holds here too. None stands for
        ``ColumnSubset(ridge=0.1)``.
    n_features_to_select : int, float or None, default=None
        Columns to keep: a number, a share rounded up, or None for half. Exactly that many are kept; for all columns
        above a frequency see :meth:`select_by_frequency`.
    n_resamples : int, default=50
        Number of fits, at least 2; even for "complementary_pairs".
    resampling : {"complementary_pairs", "subsample", "bootstrap"}, default="complementary_pairs"
        How rows are drawn. "complementary_pairs": halves, two at a time without a common row [1]_, which the error
        control needs. "subsample": a share of the rows. "bootstrap": as many rows as there are, with replacement.
    fraction : float, default=0.5
        Share of the rows in a subsample; other schemes do not use it.
    perturb : {"both", "data", "seed"}, default="both"
        What differs between the fits. "data" holds the seed of ``estimator`` fixed; "seed" fits all rows every time. A
        base without a seed is the same under "both" and "data".
    aggregate : {"representative", "frequency", "rank"}, default="representative"
        "frequency" keeps the columns chosen most often; ties go to the better mean rank, then the lowest index. "rank"
        keeps those of best mean rank (Borda count). Both may keep twins, and miss a group of interchangeable columns
        that split its votes. "representative" takes one column at a time and discounts the votes that the kept ones
        stand for already (see Notes).
    n_jobs : int or None, default=None
        Processes for the fits; None for this one alone.
    random_state : int, RandomState instance or None, default=None
        Decides rows and seeds.

    Attributes
    ----------
    selection_frequency_ : ndarray of shape (m,)
        Share of the fits that kept each column.
    supports_ : ndarray of bool, shape (n_resamples, m)
        What every fit kept; with "complementary_pairs", each two that follow each other are a pair. It can be handed to
        :func:`stableselect.metrics.stability`.
    threshold_ : float
        The least frequency among the kept columns.
    expected_false_selections_ : float
        The formula of the bound on the expected number of false columns, at ``threshold_``. Since that threshold is
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
    "representative": with f the frequencies and R the correlations of the columns once the kept ones are taken out of
    all, the next column is the one of largest :math:`f_j \sum_i f_i R_{ij}^2 / R_{jj}`.

    Error control: a column is called false where ``estimator``, given half of the rows, keeps it with a probability of
    at most q / m, with q the mean number of columns it keeps: no more often than a blind draw would. There are no
    labels, so this says nothing about what a column is good for. The bounds ask for high frequencies and few columns;
    where many interchangeable columns compete, frequencies are low and the bounds empty, while the choice itself may
    well be repeatable.

    With fewer than four rows (or groups) there is nothing to resample: every fit sees all rows, and there is no error
    control.

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

    def __init__(
        self,
        estimator: Any = None,
        n_features_to_select: int | float | None = None,
        *,
        n_resamples: int = 50,
        resampling: Scheme = "complementary_pairs",
        fraction: float = 0.5,
        perturb: Literal["both", "data", "seed"] = "both",
        aggregate: Aggregate = "representative",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_features_to_select = n_features_to_select
        self.n_resamples = n_resamples
        self.resampling = resampling
        self.fraction = fraction
        self.perturb = perturb
        self.aggregate = aggregate
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Choose the columns.

        Parameters
        ----------
        X : array, data frame, torch tensor or sparse matrix of shape (n, m)
            The table.
        y : None
            Ignored, for scikit-learn pipelines.
        groups : array-like of shape (n,), optional
            Labels of rows that belong together, such as replicates: they are drawn together. The error control then
            needs independent groups instead of independent rows.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            self._check_settings()
            X = self._check_table(X)
            k = resolve_k(self.n_features_to_select, X.shape[1])
            base, include, exclude = self._prepared_base(k)
            fits = self._fits(X, base, groups)
            self.supports_ = np.array([fit.support for fit in fits])
            self.selection_frequency_ = self.supports_.mean(axis=0)
            self._store(self._aggregated(X, k, fits, include, exclude), X)
            self.threshold_ = float(self.selection_frequency_[self.selected_].min())
            bound = worst_case_bound(self._mean_size(), self.n_features_in_, self.threshold_)
            self.expected_false_selections_ = bound if self.n_pairs_ else np.nan
        return self

    def select_by_frequency(self, threshold: float | None = None, *, max_false: float | None = None) -> FrequentColumns:
        """Return all columns above a selection frequency, with a bound on how many are there by chance.

        The bounds hold for a threshold chosen before looking at the frequencies, and for rows drawn independently.
        They say nothing where they exceed the number of columns kept.

        Parameters
        ----------
        threshold : float, optional
            Least frequency, from 0 to 1.
        max_false : float, optional
            Instead of a threshold: the least one at which the bound without assumptions is at most this.

        Returns
        -------
        FrequentColumns
        """
        check_is_fitted(self)
        if (threshold is None) == (max_false is None):
            raise ValueError("select_by_frequency takes either a threshold or max_false; give one of them.")
        if max_false is not None:
            threshold = self._threshold_for(max_false)
        if not isinstance(threshold, Real) or isinstance(threshold, bool) or not 0 <= threshold <= 1:
            raise ValueError(f"threshold must be a number from 0 to 1 but is {threshold!r}; change it.")
        threshold = float(threshold)
        order = np.argsort(-self.selection_frequency_, kind="stable")
        # A frequency is a count over a count: a threshold of 0.3 must not miss 3 of 10 by rounding.
        columns = order[self.selection_frequency_[order] >= threshold - 1e-12]
        if not self.n_pairs_:
            return FrequentColumns(columns, threshold, np.nan, np.nan)
        q, m = self._mean_size(), self.n_features_in_
        bounds = worst_case_bound(q, m, threshold), concave_bound(q, m, threshold, self.n_pairs_)
        return FrequentColumns(columns, threshold, *bounds)

    def _threshold_for(self, max_false: float) -> float:
        """Return the least threshold with q^2 / ((2 threshold - 1) m) <= max_false."""
        if not isinstance(max_false, Real) or isinstance(max_false, bool) or not max_false > 0:
            raise ValueError(f"max_false must be a number above 0 but is {max_false!r}; change it.")
        if not self.n_pairs_:
            raise ValueError(
                'max_false needs fits on complementary halves of the rows; use resampling="complementary_pairs" '
                'with perturb="both" or "data", and at least four rows.'
            )
        q, m = self._mean_size(), self.n_features_in_
        threshold = (1 + q * q / (float(max_false) * m)) / 2
        if threshold > 1:
            raise ValueError(
                f"No threshold keeps the expected number of false columns at {max_false:g}: with {q:g} of {m} columns "
                f"a fit it is at least {worst_case_bound(q, m, 1.0):.3g}; let base keep fewer columns."
            )
        return threshold

    def _mean_size(self) -> float:
        """Return q, the mean number of columns that a fit kept."""
        return float(self.supports_.sum(axis=1).mean())

    def _check_settings(self) -> None:
        choices = {"resampling": SCHEMES, "perturb": _VARY, "aggregate": AGGREGATES}
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, got {getattr(self, name)!r}; change it.")
        number = self.n_resamples
        if not isinstance(number, Integral) or isinstance(number, bool) or number < 2:
            raise ValueError(
                f"n_resamples must be a whole number of at least 2, got {number!r}; one fit has nothing to agree with."
            )
        if self.resampling == "complementary_pairs" and number % 2:
            raise ValueError(f"n_resamples must be even for pairs, got {number!r}; add one.")

    def _prepared_base(self, k: int) -> tuple[Any, list[int], list[int]]:
        """Return an unfitted copy of the base for tables without names, and the columns to keep and to leave out."""
        base = ColumnSubset(ridge=0.1) if self.estimator is None else self.estimator
        if isinstance(base, type) or not (hasattr(base, "fit") and hasattr(base, "get_params")):
            raise TypeError(
                f"base must be a selector or None, got {base!r:.60}; the number of columns is n_features_to_select."
            )
        base = clone(base)
        known = base.get_params(deep=False)
        if "n_features_to_select" in known and known["n_features_to_select"] is None:
            base.set_params(n_features_to_select=k)
        m = self.n_features_in_
        include, exclude = resolve_base(base, m, getattr(self, "feature_names_in_", None))
        if k > m - len(exclude):
            raise ValueError(
                f"exclude of the base leaves {m - len(exclude)} columns but {k} are to be selected; lower "
                "n_features_to_select or exclude fewer."
            )
        return base, include[:k], exclude

    def _fits(self, X: Array, base: Any, groups: Any) -> list[Fit]:
        """Fit the base once for every resample; notes how many complementary pairs there are."""
        rows_seed, base_seed = seed_sequence(self.random_state).spawn(2)
        seeds = np.random.default_rng(base_seed).integers(2**31 - 1, size=self.n_resamples).tolist()
        resampled = count_units(groups, X.shape[0]) >= FEWEST and self.perturb != "seed"
        self.n_pairs_ = self.n_resamples // 2 if resampled and self.resampling == "complementary_pairs" else 0
        rows: list[Resample | None] = [None] * self.n_resamples
        if resampled:
            rows = list(draw_rows(X, self.resampling, self.n_resamples, self.fraction, groups, rows_seed))
        if self.perturb == "data":
            base = with_held_seed(base, seeds[0])
            seeds = [None] * self.n_resamples
        elif self.perturb == "seed" and not seed_parameters(base):
            raise ValueError(
                f'{type(base).__name__} has no random_state, so perturb="seed" changes nothing; use perturb="data".'
            )
        fits = repeated_fits(base, source_of(base, X), rows, seeds, n_jobs=self.n_jobs, stacklevel=3)
        made = fits[0].origin.made
        if made is not None:
            raise ValueError(
                "base must choose among the columns of the table but a step of it makes new ones "
                f"({made[-1][0]!r}, ...); leave that step out or transform the table beforehand."
            )
        return fits

    def _aggregated(self, X: Array, k: int, fits: list[Fit], include: list[int], exclude: list[int]) -> Selection:
        m = self.n_features_in_
        ranks = mean_ranks([fit.selected for fit in fits], m)
        if self.aggregate == "representative":
            return Selection(
                by_representation(X, k, self.selection_frequency_, ranks, include, exclude), self.selection_frequency_
            )
        if self.aggregate == "frequency":
            order, scores = by_frequency(self.selection_frequency_, ranks), self.selection_frequency_
        else:
            order, scores = by_rank(ranks), 1 - (ranks - 1) / max(1, m - 1)
        settled = {*include, *exclude}
        chosen = [*include, *(int(j) for j in order if j not in settled)][:k]
        return Selection(chosen, scores)
