"""Bases of the selectors: those that read the samples, those that score features, those that need second moments only.

The samples of the last may have weights, be streamed, or be gone.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import Any, ClassVar, Self

import numpy as np

from .._compat import Constraints, validates_parameters
from .._core import (
    MANY_FEATURES,
    Array,
    Moments,
    Stream,
    check_spread,
    check_weights,
    extremes,
    one_thread,
    own_moments,
    significant,
    stream_extremes,
    stream_moments,
    to_numpy,
)
from ._checks import check_names
from ._fitting import Selection, resolve_include_exclude, resolve_k, unchanged_on_error
from ._progress import verbose_steps
from ._selector import FEATURES, BaseSelector


class IncludingSelector(BaseSelector):
    """Base of selectors that take ``include`` and ``exclude``."""

    _parameter_constraints: ClassVar[Constraints] = {
        **BaseSelector._parameter_constraints,
        "include": FEATURES,
        "exclude": FEATURES,
    }

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        include: Iterable[str | int] | None = None,
        exclude: Iterable[str | int] | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.include = include
        self.exclude = exclude

    def _include_exclude(self, k: int) -> tuple[list[int], list[int]]:
        """Return the indices of the features to force in and to leave out where k are selected."""
        names = getattr(self, "feature_names_in_", None)
        return resolve_include_exclude(self.include, self.exclude, self.n_features_in_, k, names)


class SamplesSelector(BaseSelector):
    """Base of selectors that need the samples themselves: implement ``_select(X, k)``."""

    _reads_pieces = False
    """Whether ``_select`` reads samples through ``summed``, so that X may be elsewhere than in memory."""

    @validates_parameters
    def fit(self, X: Any, y: Any = None) -> Self:
        """Select the features.

        Parameters
        ----------
        X : array, data frame, torch tensor, sparse matrix or AnnData of shape (n, m)
            The samples; :doc:`/support` says who reads other tables.
        y : None
            Ignored, for scikit-learn pipelines.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            X = self._open_table(X) if self._reads_pieces else self._check_table(X)
            limits = stream_extremes(X) if isinstance(X, Stream) else extremes(X)
            check_spread(*limits, getattr(self, "feature_names_in_", None))
            k = resolve_k(self.n_features_to_select, X.shape[1])
            with one_thread(), verbose_steps(type(self).__name__, getattr(self, "verbose", False)):
                self._store(self._select(X, k), X)
        return self

    @abstractmethod
    def _select(self, X: Array, k: int) -> Selection:
        """Select k features of the checked samples X."""


class ScoreSelector(IncludingSelector, SamplesSelector):
    """Base of selectors that take the features of largest score: implement ``_score_features(X, k)``.

    Features in ``include`` come first whatever they score, those in ``exclude`` are passed over; ties go to the lowest
    index.

    Examples
    --------
    A selector of one's own:

    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from stableselect.base import ScoreSelector
    >>> class LargestVariance(ScoreSelector):
    ...     def _score_features(self, X, k):
    ...         return np.var(X, axis=0)
    >>> LargestVariance(2).fit(load_iris(as_frame=True).data).get_feature_names_out()
    array(['sepal length (cm)', 'petal length (cm)'], dtype=object)
    """

    @abstractmethod
    def _score_features(self, X: Array, k: int) -> np.ndarray:
        """Return a score for every feature of the checked samples X, of which k will be selected; larger is better."""

    def _select(self, X: Array, k: int) -> Selection:
        include, exclude = self._include_exclude(k)
        scores = self._score_features(X, k)
        order = np.argsort(-significant(scores), kind="stable")
        free = order[~np.isin(order, [*include, *exclude])]
        return Selection([*include, *free[: k - len(include)].tolist()], scores, include=include)


class StreamingSelector(BaseSelector):
    """Base of selectors that work from :class:`~stableselect.Moments`: implement ``_select_from_folds``."""

    moments_: Moments
    _takes_sketches = False

    @validates_parameters
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Select the features.

        Parameters
        ----------
        X : table of shape (n, m)
            The samples, in anything that :meth:`Moments.from_batches() <stableselect.Moments.from_batches>` reads.
        y : None
            Ignored, for scikit-learn pipelines.
        sample_weight : array of shape (n,), optional
            Non-negative weights of the samples.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            X = self._open_table(X, sample_weight)
            self.__dict__.pop("moments_", None)
            if isinstance(X, Stream):
                self._fit_stream(X)
            else:
                weights = check_weights(sample_weight, X.shape[0])
                self._finish(own_moments(X, weights, self._folds_needed()), X, weights)
        return self

    @validates_parameters
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add samples to those seen by earlier calls, and select the features anew from all of them.

        Every call selects. To read many blocks, gather them in a :class:`~stableselect.Moments` and call
        :meth:`fit_moments` once. Merged moments cannot be split into folds, so nothing can be chosen by their error
        here: ``ridge="auto"`` means 0 (where the moments keep few samples, the weight of least leave-one-out error),
        and ``n_features_to_select="auto"`` raises an error.

        Parameters
        ----------
        X : table of shape (n, m), as for :meth:`fit`
            More samples.
        y : None
            Ignored.
        sample_weight : array of shape (n,), optional
            Non-negative weights of the samples.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            first = not hasattr(self, "moments_")
            X = self._open_table(X, sample_weight, reset=first)
            moments = self._new_moments() if first else self.moments_._empty().merge(self.moments_)
            if isinstance(X, Stream):
                moments._add_stream(X)
            else:
                moments.update(X, check_weights(sample_weight, X.shape[0]))
            self._finish([moments])
            self.moments_ = moments
        return self

    @validates_parameters
    def fit_moments(self, moments: Moments | Sequence[Moments], feature_names: Sequence[str] | None = None) -> Self:
        """Select the features from moments alone; the samples are not needed.

        Parameters
        ----------
        moments : Moments or sequence of Moments
            Of the samples, gathered in any way. Several, each of a part of the samples, are the folds of what is chosen
            by held-out error; from a single one ``ridge="auto"`` means 0. Where they keep few samples, the ridge is the
            one of least leave-one-out error either way; ``search_criterion="training"`` goes by the folds.
        feature_names : sequence of str, optional
            Names of the features; by default those that the moments have.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            folds = [moments] if isinstance(moments, Moments) else moments
            if not isinstance(folds, Sequence) or not all(isinstance(fold, Moments) for fold in folds):
                raise TypeError(
                    "fit_moments expects a Moments or a list of them; gather a table with Moments.from_array(X), or "
                    "call fit(X)."
                )
            filled = [fold for fold in folds if fold.n_samples]
            if not filled:
                raise ValueError("These moments hold no samples yet; call update() first.")
            self.n_features_in_ = int(filled[0].n_features or 0)
            for name in ("feature_names_in_", "moments_"):
                self.__dict__.pop(name, None)
            known = {fold.feature_names for fold in filled} - {None}
            if len(known) > 1:
                raise ValueError("The moments are of features with other names, or in another order; gather them anew.")
            if feature_names is None and known:
                feature_names = next(iter(known))
            if feature_names is not None:
                self.feature_names_in_ = check_names(feature_names, self.n_features_in_)
            self._finish(folds)
        return self

    def _fit_stream(self, X: Stream) -> None:
        """Select the features of a table that is read piece by piece."""
        self._finish(self._gather_stream(X), X if self._takes_sketches else None)

    def _gather_stream(self, X: Stream) -> list[Moments]:
        """Return the moments of the folds of a table that is read piece by piece; raise if they are not enough."""
        if self._moments_folds() is None:
            raise TypeError(
                f"{type(self).__name__} with these parameters needs all samples in memory, but X is {X.kind}; pass "
                f"{X.advice}."
            )
        return stream_moments(X, self._folds_needed())

    def _finish(
        self, folds: Sequence[Moments], X: Array = None, sample_weight: np.ndarray | None = None, **given: Any
    ) -> None:
        folds = [fold for fold in folds if fold.n_samples]
        if not folds:
            raise ValueError("Every sample_weight is zero; give at least one sample some weight.")
        if not self._takes_sketches and any(fold.form == "sketched" for fold in folds):
            raise ValueError(
                f"{type(self).__name__} needs exact moments of all features, which a sketch does not hold; gather "
                "Moments, or use ColumnSubset."
            )
        low, high = (np.stack([to_numpy(getattr(fold, name)) for fold in folds]) for name in ("minimum", "maximum"))
        check_spread(low.min(axis=0), high.max(axis=0), getattr(self, "feature_names_in_", None))
        # BLAS shares large products of moments held whole; those with thin factors are shared part by part.
        shared = low.shape[1] >= MANY_FEATURES and any(fold.form == "primal" for fold in folds)
        threads = nullcontext() if shared else one_thread()
        with threads, verbose_steps(type(self).__name__, getattr(self, "verbose", False)):
            self._store(self._select_from_folds(folds, X, sample_weight, **given), X)

    @abstractmethod
    def _select_from_folds(
        self, folds: Sequence[Moments], X: Array = None, sample_weight: np.ndarray | None = None
    ) -> Selection:
        """Select features from the moments of the folds of the samples; X is None where only moments are known."""

    def _new_moments(self) -> Moments:
        """Return the moments that :meth:`partial_fit` begins with."""
        return Moments()

    def _folds_needed(self) -> int:
        """Return how many folds the parameters need for what they choose by held-out error; 0 for none."""
        return 0

    def _moments_folds(self) -> int | None:
        return self._folds_needed()
