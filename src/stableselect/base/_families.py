"""Bases of the selectors that read the samples themselves."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Self

import numpy as np

from .._compat import Constraints, validates_parameters
from .._core import Array, Stream, check_spread, extremes, one_thread, significant, stream_extremes
from ._checks import resolve_include_exclude, resolve_k
from ._progress import verbose_steps
from ._selector import FEATURES, BaseSelector, Selection, unchanged_on_error


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


class ScoreSelector(SamplesSelector):
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

    @abstractmethod
    def _score_features(self, X: Array, k: int) -> np.ndarray:
        """Return a score for every feature of the checked samples X, of which k will be selected; larger is better."""

    def _select(self, X: Array, k: int) -> Selection:
        names = getattr(self, "feature_names_in_", None)
        include, exclude = resolve_include_exclude(self.include, self.exclude, X.shape[1], k, names)
        scores = self._score_features(X, k)
        order = np.argsort(-significant(scores), kind="stable")
        free = order[~np.isin(order, [*include, *exclude])]
        return Selection([*include, *free[: k - len(include)].tolist()], scores, include=include)
