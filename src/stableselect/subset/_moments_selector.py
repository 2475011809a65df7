"""The common part of selectors that search subsets on second moments: ridge, number of features, stability."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np

from .._compat import Constraints, HasMethods, Interval, StrOptions, validates_parameters
from .._core import (
    Array,
    Gram,
    HeldOut,
    KeptSamples,
    Moments,
    SketchedMoments,
    Stream,
    check_cv,
    check_weights,
    hold_out_each,
    in_own_order,
    leave_one_out_error,
    merged,
    normalised_moments,
    stream_moments,
    stream_splits,
)
from ..base import (
    FEATURES,
    N_FEATURES,
    N_JOBS,
    Selection,
    resolve_include_exclude,
    resolve_k,
    unchanged_on_error,
    warn_if_uneven,
)
from ._choice import Choice, check_alone, resolve_choice, wanted_under
from ._conditioned import conditions_cost, free_choice, search_conditions
from ._conditions import Conditions
from ._default import FIRST_RIDGES, Wanted, obstacle_to_leave_one_out, samples_to_leave_out, search_default
from ._frontier import STABILITY_FOLDS, choose_stable
from ._gathering import (
    Scale,
    Sketch,
    gather_folds,
    has_splitter,
    in_units,
    memory_for_moments,
    memory_of_exact,
    refuse_groups,
    wants_sketch,
)
from ._n_features import choose_n_features
from ._problem import Problem
from ._records import OF_SOME_FITS, RecordedSelector
from ._search import FEWEST_FOLDS, N_FOLDS, Setting
from ._sketching import check_sketch, checked_rows, obstacle_to_sketch, rows_asked_for, rows_of_sketch
from ._stability_task import Task


class MomentsSelector(RecordedSelector):
    """Base of selectors that search subsets on the moments: implement ``_select_from(problem)``."""

    ridge: float | Literal["auto"]
    exchange: bool = True
    include: Iterable[str | int] | None
    exclude: Iterable[str | int] | None
    min_explained_variance: float
    max_features: int | None
    criterion: str
    max_error_increase: float
    min_stability: float | None
    search_criterion: str
    sketch: Sketch
    n_jobs: int | None
    scale: Scale
    conditions: Conditions | None
    search_criterion_: str
    leave_one_out_error_: float
    selection_frequency_: np.ndarray
    sketch_size_: int | None
    _takes_sketches = True
    _bounds_loss = False

    _parameter_constraints: ClassVar[Constraints] = {
        "n_features_to_select": [*N_FEATURES, StrOptions({"auto"})],
        "ridge": [Interval(Real, 0, 1e100, closed="both"), StrOptions({"auto"})],
        "exchange": ["boolean"],
        "include": FEATURES,
        "exclude": FEATURES,
        "min_explained_variance": [Interval(Real, 0, 1, closed="neither")],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "criterion": [StrOptions({"error", "stability"})],
        "max_error_increase": [Interval(Real, 0, None, closed="left")],
        "min_stability": [Interval(Real, 0, 1, closed="right"), None],
        "search_criterion": [StrOptions({"auto", "training", "leave_one_out"})],
        "cv": [Interval(Integral, 2, None, closed="left"), HasMethods(["split"]), Iterable, None],
        "sketch": [Interval(Integral, 1, None, closed="left"), "boolean", StrOptions({"auto"})],
        "n_jobs": N_JOBS,
        "verbose": ["boolean"],
        "scale": [StrOptions({"standard", "minmax"}), None],
        "missing": [StrOptions({"raise", "em", "factors"})],
        "conditions": [Conditions, None],
    }

    @abstractmethod
    def _select_from(self, problem: Problem) -> Selection:
        """Select features; ``mean`` and ``include`` of the selection are filled in afterwards."""

    @validates_parameters
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None, batch: Any = None) -> Self:
        """Select the features.

        Parameters
        ----------
        X : table of shape (n, m)
            The samples, in anything that :meth:`Moments.from_batches() <stableselect.Moments.from_batches>` reads.
        y : None
            Ignored, for scikit-learn pipelines.
        sample_weight : array of shape (n,), optional
            Non-negative weights of the samples.
        groups : array of shape (n,), optional
            Labels of samples that belong together, for a ``cv`` that keeps groups together.
        batch : array of shape (n,), optional
            Labels of batches (instruments, days, laboratories): features are selected by what varies within batches.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            if self.cv is not None:
                check_cv(self.cv)
            X = self._open_table(X, sample_weight)
            self.__dict__.pop("moments_", None)
            weights = None if isinstance(X, Stream) else check_weights(sample_weight, X.shape[0])
            if self.missing != "raise" and self._check_completion(X, batch):
                self._fit_incomplete(X, weights, groups)
            elif batch is not None:
                self._fit_batches(X, weights, groups, batch)
            elif isinstance(X, Stream) and self._keeps_groups():
                gathered = stream_splits(X, self.cv, groups)
                self._finish(gathered[0], held_out=gathered[1])
            elif isinstance(X, Stream):
                refuse_groups(groups)
                self._fit_stream(X)
            else:
                folds, held_out = self._gather(X, weights, groups)
                self._finish(folds, X, weights, held_out=held_out)
            if self.missing != "raise" and not hasattr(self, "location_"):  # for samples to come
                self._keep_model(self._fit_model(X, weights))
        return self

    def _gather(
        self, X: Array, weights: np.ndarray | None, groups: Any
    ) -> tuple[list[Moments], Sequence[HeldOut] | None]:
        """Return the moments of the folds, and the parts held out where those are not the folds in turn."""
        size = self._sketch_rows(X.shape)
        if size is not None and groups is None:  # groups without cv are refused below
            return [SketchedMoments(size)._add(*in_own_order(X, weights))], None
        n_folds = self._folds_needed()
        n_samples = X.shape[0] if weights is None else np.count_nonzero(weights)
        only_search = not (self._counts_features() or self._prefers_stability())
        if 2 * n_samples <= X.shape[1] and self._leaves_one_out() and only_search:
            n_folds = 0  # moments that keep the samples need no folds
        return gather_folds(X, weights, self.cv, groups, n_folds)

    def _gather_stream(self, X: Stream) -> list[Moments]:
        # Where nobody knows how many samples there are, as many as features: then exact moments take all they can.
        n_samples = self.n_features_in_ if X.n_samples is None else X.n_samples
        size = self._sketch_rows((n_samples, self.n_features_in_))
        if size is not None:
            return [SketchedMoments(size)._add_stream(X)]
        warn_if_uneven(folds := stream_moments(X, self._folds_needed()))
        return folds

    def _sketch_rows(self, shape: tuple[int, int]) -> int | None:
        """Return the number of rows of the sketch to search on; None for exact moments."""
        n_folds = self._folds_needed()
        if not wants_sketch(self.sketch):
            if self.sketch != "auto" or memory_of_exact(*shape, n_folds) <= memory_for_moments():
                return None
            if self._obstacle_to_sketch():
                return None
        check_sketch(self._obstacle_to_sketch())
        return rows_of_sketch(self.sketch, resolve_k(self.n_features_to_select, shape[1]), shape, n_folds)

    def _obstacle_to_sketch(self) -> str | None:
        stable = self._prefers_stability()
        return obstacle_to_sketch(self.n_features_to_select, stable, self.search_criterion, self.cv, self.conditions)

    def _new_moments(self) -> Moments:
        if not wants_sketch(self.sketch):
            return Moments()
        check_sketch(self._obstacle_to_sketch())
        k = resolve_k(self.n_features_to_select, self.n_features_in_)
        return SketchedMoments(rows_asked_for(self.sketch, k) or 1)

    def _finish(
        self, folds: Sequence[Moments], X: Array = None, sample_weight: np.ndarray | None = None, **given: Any
    ) -> None:
        given["numbers"] = [number for number, fold in enumerate(folds) if fold.n_samples]
        super()._finish(folds, X, sample_weight, **given)

    def _select_from_folds(
        self,
        folds: Sequence[Moments],
        X: Array = None,
        sample_weight: np.ndarray | None = None,
        held_out: Sequence[HeldOut] | None = None,
        numbers: Sequence[int] = (),
    ) -> Selection:
        self.sketch_size_ = None
        if any(fold.form == "sketched" for fold in folds):
            check_sketch(self._obstacle_to_sketch())
            folds, held_out, numbers = [merged(folds)], None, [0]
            k = resolve_k(self.n_features_to_select, self.n_features_in_)
            self.sketch_size_ = checked_rows(folds[0], k)
        gathered = in_units(folds, held_out, self.scale, getattr(self, "feature_names_in_", None))
        self.__dict__.pop("scale_", None)
        if self.scale is not None:
            self.scale_ = gathered.scale
        folds, held_out, moments = gathered.folds, gathered.held_out, gathered.whole
        required = self.search_criterion == "leave_one_out"
        keeps = (required or moments.form == "dual") and self._leaves_one_out()  # the primal form keeps no samples
        gram, unit = normalised_moments(moments)
        samples = samples_to_leave_out(moments, gram, required) if keeps else None
        parts = folds if held_out is None else [split.test for split in held_out]
        if samples is not None and not (self._counts_features() or self._prefers_stability()):
            parts = [moments]
        self.fold_sizes_ = np.array([part.n_samples for part in parts])
        if held_out is None:
            held_out = hold_out_each(folds, moments) if len(folds) > 1 else []
        for name in OF_SOME_FITS:
            self.__dict__.pop(name, None)
        k, include, exclude, choice = self._wanted(held_out, gram, samples)
        kind: Literal["training", "few_samples", "leave_one_out"] = "training"
        if samples is not None:
            kind = "few_samples" if self.search_criterion == "auto" else "leave_one_out"
        ridge = None if isinstance(self.ridge, str) else float(self.ridge)
        plain = Setting(ridge, bool(self.exchange), search=kind)
        wanted = Wanted(k, include, exclude, plain, self._fewest_folds())
        beside: tuple[Choice, list[int]] | None = None  # the conditions, and what would be selected without them
        if choice is not None:
            searched, free = search_conditions(gram, held_out, wanted, choice)
            beside = choice, free
            k = len(searched.found.chosen)
        elif self._prefers_stability():
            gram.expect_eigenvalues()  # for the lower bound
            stable = choose_stable(folds, self._frontier_task(wanted, numbers))
            searched, self._frontier = stable.searched, vars(stable.frontier)
            if stable.votes is not None:
                self.selection_frequency_ = stable.votes
        else:
            own = self._bounds_loss  # a bound on what included features leave, of which C's eigenvalues tell nothing
            searched = search_default(gram, samples, held_out, wanted, eigenvalues=not (own and include), others=own)
            if include and searched.criterion == "training" and moments.form != "sketched":
                bare = resolve_choice(Conditions(), k, self.n_features_in_, None, include, exclude)
                ridge, exchange = searched.setting.refit, searched.setting.exchange
                beside = bare, free_choice(gram, bare, ridge, exchange, searched.found.chosen)
        self.search_criterion_ = searched.criterion
        mean, setting = gathered.mean, searched.setting
        if searched.few is not None and samples is not None:
            error = searched.few.error
            if setting.refit != setting.ridge:  # the map has another ridge than the search
                error = leave_one_out_error(samples, searched.found.chosen, setting.refit) / self.n_features_in_
            self.leave_one_out_error_ = error * unit
        known = searched.found, moments, (X, sample_weight)
        problem = Problem(gram, unit, mean, gathered.scale, k, setting.refit, include, exclude, setting, *known, choice)
        selection = self._select_from(problem)
        if beside is not None:
            names = getattr(self, "feature_names_in_", None)
            self._conditions_cost = vars(conditions_cost(problem, *beside, list(selection.order), names))
        if selection.coefficients is not None:
            selection.coefficients *= gathered.scale / gathered.scale[selection.order, None]
        selection.mean, selection.include = mean, include
        self.ridge_ = problem.ridge
        return selection

    def _leaves_one_out(self) -> bool:
        """Tell whether the leave-one-out error may decide, where the samples are kept."""
        if self.search_criterion == "training" or (self.conditions is not None and self.search_criterion == "auto"):
            return False
        obstacle = obstacle_to_leave_one_out(self.ridge, self.cv, self._prefers_stability())
        if obstacle and self.search_criterion == "leave_one_out":
            raise ValueError(f"search_criterion='leave_one_out' {obstacle}")
        return obstacle is None

    def _fewest_folds(self) -> int:
        """Return how many parts must be held out for a choice to mean anything; a caller's own cv may have fewer."""
        return FEWEST_FOLDS if self.cv is None else 2

    def _frontier_task(self, wanted: Wanted, numbers: Sequence[int]) -> Task:
        """Return what is to be selected for stability, and how; ``numbers`` are those of the folds with samples."""
        target = None if self.min_stability is None else float(self.min_stability)
        parts = tuple(number % N_FOLDS for number in numbers) if self.cv is None else None
        return Task(wanted, float(self.max_error_increase), target, parts, n_jobs=self.n_jobs)

    def _folds_needed(self) -> int:
        if not (self._prefers_stability() or self._counts_features() or self.ridge == "auto"):
            return 0
        if isinstance(self.cv, Integral):
            return int(self.cv)
        return STABILITY_FOLDS if self._prefers_stability() else N_FOLDS

    def _keeps_groups(self) -> bool:
        """Tell whether groups have a say in what is held out."""
        return has_splitter(self.cv) and self._folds_needed() > 0

    def _moments_folds(self) -> int | None:
        # A splitter needs to see the samples, and so does what completes them.
        # A sketch is made of them, and the map needs them again.
        apart = has_splitter(self.cv) or self.missing != "raise" or wants_sketch(self.sketch)
        return None if apart else self._folds_needed()

    def _prefers_stability(self) -> bool:
        return self.criterion == "stability" or self.min_stability is not None

    def _counts_features(self) -> bool:
        """Tell whether the number of features is to be chosen by held-out error."""
        return isinstance(self.n_features_to_select, str)

    def _wanted(
        self, held_out: Sequence[HeldOut], gram: Gram, samples: KeptSamples | None
    ) -> tuple[int, list[int], list[int], Choice | None]:
        """Return how many features to select, those that must or must not be among them, and the conditions."""
        m, names = self.n_features_in_, getattr(self, "feature_names_in_", None)
        if self.conditions is not None:
            check_alone(self.n_features_to_select, self._prefers_stability(), self.search_criterion)
            return wanted_under(self.conditions, self.n_features_to_select, self.include, self.exclude, m, names)
        k = None if self._counts_features() else resolve_k(self.n_features_to_select, m)
        include, exclude = resolve_include_exclude(self.include, self.exclude, m, k, names)
        if k is None:
            path = choose_n_features(
                held_out,
                gram,
                ridge=self.ridge,
                min_explained_variance=self.min_explained_variance,
                max_features=self.max_features,
                include=include,
                exclude=exclude,
                fewest_folds=self._fewest_folds(),
                to_follow=FIRST_RIDGES if samples is not None and self.search_criterion == self.ridge == "auto" else (),
            )
            self._path, k = vars(path), path.n_features
        return k, include, exclude, None
