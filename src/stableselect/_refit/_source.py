"""The table as repeated fits read it: shared moments where the selector needs no more, else the samples."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from .._core import Resample, ResampledMoments, take_rows, whole_fits
from ..base import BaseSelector


class Source:
    """A table to fit copies of a selector on, whole or in part: the one place that decides how that is done.

    Parameters
    ----------
    selector : object with ``fit``
        The selector; not changed.
    X : table of shape (n, m)
        The table.

    Attributes
    ----------
    X : table or None
        The table, where the selector needs the samples.
    moments : ResampledMoments or None
        What it needs otherwise: samples are then taken out of sums that are gathered once.
    """

    def __init__(self, selector: Any, X: Any) -> None:
        n_folds = selector._moments_folds() if isinstance(selector, BaseSelector) else None
        self.X = X if n_folds is None else None
        self.moments: ResampledMoments | None = None
        self._feature_names: list[str] | None = None
        if n_folds is not None:
            reader = clone(selector)
            self.moments = ResampledMoments(reader._check_table(X), n_folds)
            names = getattr(reader, "feature_names_in_", None)
            self._feature_names = None if names is None else names.tolist()

    def fit(self, model: Any, part: Resample | None = None) -> Any:
        """Fit the model on a resample, or on all samples, and return it; an interruption is never a result."""
        with whole_fits():
            if self.moments is not None:
                return model.fit_moments(self.moments.of(part), self._feature_names)
            return model.fit(self.X if part is None else take_rows(self.X, part.drawn))
