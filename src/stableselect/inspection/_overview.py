"""Everything a report shows of a selection that the selection does not hold itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._core import Moments
from ..base import BaseSelector, Explanation, StreamingSelector, TooFewSamplesError, resolve_columns, whole_fits
from ..metrics import correlated_groups
from ._error_curve import ErrorCurve, error_curve, held_out
from ._panel_folds import Fold
from ._panel_measures import unremarked
from ._stability_analysis import stability_analysis
from ._stability_result import StabilityAnalysis
from ._table_summary import TableSummary, dense_table, table_summary

_MIN_SAMPLES = 10
"""Fewer samples leave too few to hold out."""
_MOST_SAMPLES = 20_000
"""More samples than this, and than 20 per selected feature, make curves and groups slower and no better."""
_ALIKE = 0.9
"""Least absolute correlation of look-alikes."""


@dataclass(frozen=True, eq=False, repr=False)
class SelectionOverview:
    """Result of :func:`overview`.

    Attributes
    ----------
    summary : TableSummary
        What the table holds.
    selected : ndarray of int
        The selected features, in order of selection.
    explanation : Explanation
        Replacements of every selected feature, and what explains every discarded one.
    r2 : ndarray of shape (m,) or None
        Fraction of the variance of every feature that the selected ones explain on samples that the map was not fitted
        on; nan where it does not vary. None with fewer than ten samples.
    curve : ErrorCurve or None
        Error against the number of features.
    stability : StabilityAnalysis or None
        Ten choices, or five where a fit needs all samples or meets conditions, without a fifth of the samples each;
        None where stability decided the choice and was measured for it, and where it was not asked for.
    groups : list of (members, correlations)
        Look-alikes, as :func:`~stableselect.metrics.correlated_groups` gives them, selected features first.
    """

    summary: TableSummary
    selected: np.ndarray
    explanation: Explanation
    r2: np.ndarray | None
    curve: ErrorCurve | None
    stability: StabilityAnalysis | None
    groups: list[tuple[np.ndarray, np.ndarray]]

    def __repr__(self) -> str:
        of = f"{self.selected.size} of {len(self.summary.feature_names)} features"
        return f"<SelectionOverview: {of}, {len(self.groups)} groups of look-alikes>"


def overview(
    selector: BaseSelector,
    X: Any,
    *,
    stability: bool | StabilityAnalysis = True,
    summary: TableSummary | None = None,
    groups: Any = None,
    random_state: int | np.random.RandomState | None = 0,
) -> SelectionOverview:
    """Look at a fitted selector and its samples from every side: what a report shows.

    Parameters
    ----------
    selector : BaseSelector
        The selector, fitted on X.
    X : array or data frame of shape (n, m)
        The samples it was fitted on.
    stability : bool or StabilityAnalysis, default=True
        Whether to measure how far the choice repeats itself, which takes ten more fits with the ridge weight found
        (five with conditions, and for selectors that do not work from moments); or such a measurement.
    summary : TableSummary, optional
        Summary of the table before it was scaled; by default that of X.
    groups : array-like of shape (n,), optional
        Labels of samples that belong together: they are held out and drawn together.
    random_state : int, RandomState or None, default=0
        Decides the samples held out and drawn.

    Returns
    -------
    SelectionOverview

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect import ColumnSubset
    >>> from stableselect.inspection import overview
    >>> X = load_iris(as_frame=True).data
    >>> overview(ColumnSubset(2).fit(X), X)
    <SelectionOverview: 2 of 4 features, 1 groups of look-alikes>
    """
    check_is_fitted(selector)
    values, names = dense_table(X)
    if values.shape[1] != selector.n_features_in_:
        raise ValueError(
            f"X has {values.shape[1]} features and the selector was fitted on {selector.n_features_in_}; "
            "give the samples it was fitted on."
        )
    rng = check_random_state(random_state)
    summary = summary or table_summary(values, names)
    explanation = selector.explain(X)
    repeated = stability if isinstance(stability, StabilityAnalysis) else None
    if stability is True and len(values) >= _MIN_SAMPLES:
        repeated = _repeated(selector, X, int(rng.randint(2**31)), groups)
    rows = _some_rows(len(values), rng, selector.selected_.size)
    scaled = values[rows] / getattr(selector, "scale_", 1.0)  # a copy, whose gaps can be filled in place
    known = SimpleImputer(keep_empty_features=True, copy=False).fit_transform(scaled)
    groups = None if groups is None else np.asarray(groups)[rows]
    enough = len(known) >= _MIN_SAMPLES
    return SelectionOverview(
        summary=summary,
        selected=selector.selected_,
        explanation=explanation,
        r2=_held_out_r2(known, selector.selected_, rng, groups) if enough else None,
        curve=_curve(selector, known, int(rng.randint(2**31)), groups) if enough else None,
        stability=repeated,
        groups=correlated_groups(known, threshold=_ALIKE, first=selector.selected_.tolist()),
    )


def _repeated(selector: BaseSelector, X: Any, seed: int, groups: Any) -> StabilityAnalysis | None:
    """Return how far the choice repeats itself; None where stability decided it, or nothing can be repeated."""
    if hasattr(selector, "frontier_") or selector.support_.all():
        return None
    again = clone(selector)
    if hasattr(selector, "ridge_") and "ridge" in again.get_params(deep=False):
        again.set_params(ridge=float(selector.ridge_))
    again.set_params(n_features_to_select=int(selector.selected_.size))
    quick = isinstance(selector, StreamingSelector) and getattr(selector, "conditions", None) is None
    runs = 10 if quick else 5
    with unremarked(), whole_fits():
        try:
            return stability_analysis(again, X, n_repeats=runs, groups=groups, random_state=seed)
        except TooFewSamplesError:
            return None


def _some_rows(n: int, rng: np.random.RandomState, k: int) -> Any:
    """Return all samples, or some of many."""
    most = max(_MOST_SAMPLES, 20 * k)
    return slice(None) if n <= most else np.sort(rng.choice(n, most, replace=False))


def _held_out_r2(X: np.ndarray, selected: np.ndarray, rng: np.random.RandomState, groups: Any) -> np.ndarray:
    """Return the fraction of every feature's held-out variance that a map from the selected ones explains."""
    held = held_out(len(X), rng, groups)
    unit = float(np.abs(X).max()) or 1.0
    fold = Fold(Moments.from_array(X[~held] / unit), Moments.from_array(X[held] / unit))
    varies = fold.none > 0
    r2 = np.where(varies, 1 - fold.errors(selected) / np.where(varies, fold.none, 1.0), np.nan)
    r2[selected[varies[selected]]] = 1.0  # measured, not reconstructed
    return np.asarray(r2)


def _curve(selector: Any, X: np.ndarray, seed: int, groups: Any) -> ErrorCurve:
    names = getattr(selector, "feature_names_in_", None)
    asked = ((role, getattr(selector, role, None)) for role in ("include", "exclude"))
    roles: dict[str, Any] = {role: resolve_columns(given, X.shape[1], names, role) for role, given in asked}
    ridge = float(getattr(selector, "ridge_", 0.0))
    return error_curve(X, int(selector.selected_.size), ridge=ridge, groups=groups, random_state=seed, **roles)
