"""What to measure instead when several selected features fail at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..base import BaseSelector, resolve_columns, whole_fits
from ..subset import ColumnSubset, in_indices
from ._table_summary import dense_table


@dataclass(frozen=True)
class JointReplacement:
    """Result of :func:`joint_replacements`.

    Attributes
    ----------
    failed : list of str or int
        The selected features to do without.
    features : list of str or int
        The features to take instead, as many, in order of selection.
    error_increase : float
        By how much the unexplained fraction of the total variance then rises.
    """

    failed: list[str | int]
    features: list[str | int]
    error_increase: float


def joint_replacements(selector: BaseSelector, X: Any, failed: Iterable[str | int]) -> JointReplacement:
    """Find the features that together replace several selected ones at the smallest loss.

    The other selected features stay. As many features as fail are searched for among the discarded ones, by forward
    search and swaps, or by trying all sets where they are few. This is more exact than one replacement for each
    (``joint_replacement`` of :meth:`BaseSelector.explain`), which cannot know which features fail together.

    Parameters
    ----------
    selector : BaseSelector
        A fitted selector. Its ``exclude``, ``scale``, ``missing`` and ``conditions`` hold for the replacements too.
    X : array or data frame of shape (n, m)
        The samples it was fitted on.
    failed : iterable of str or int
        Selected features, by name or index.

    Returns
    -------
    JointReplacement

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from stableselect import ColumnSubset
    >>> from stableselect.inspection import joint_replacements
    >>> X = load_breast_cancer(as_frame=True).data
    >>> selector = ColumnSubset(6, scale="standard").fit(X)
    >>> joint_replacements(selector, X, ["worst perimeter", "radius error"]).features
    ['worst radius', 'symmetry error']
    """
    check_is_fitted(selector)
    values, _ = dense_table(X)
    names = getattr(selector, "feature_names_in_", None)
    m = selector.n_features_in_
    if values.shape[1] != m:
        raise ValueError(f"X has {values.shape[1]} features and the selector was fitted on {m}; give the same samples.")
    gone = resolve_columns(failed, m, names, "failed")
    if not gone or not selector.support_[gone].all():
        raise ValueError("failed must name one or more selected features; see selected_ or get_feature_names_out().")
    rest = [int(j) for j in selector.selected_ if j not in set(gone)]
    never = resolve_columns(getattr(selector, "exclude", None), m, names, "exclude")
    conditions = getattr(selector, "conditions", None)
    if conditions is not None:
        conditions = in_indices(conditions, m, names)
    how: dict[str, Any] = {
        "ridge": float(getattr(selector, "ridge_", 0.0)),
        "scale": getattr(selector, "scale", None),
        "missing": getattr(selector, "missing", "raise"),
        "search_criterion": "training",
    }

    def fitted(include: list[int], exclude: list[int], **more: Any) -> ColumnSubset:
        with whole_fits():
            return ColumnSubset(include=include, exclude=exclude, **how, **more).fit(values)

    k, kept = selector.selected_.size, [*rest, *gone]
    found = fitted(rest, [*never, *gone], n_features_to_select=k, conditions=conditions)
    before = fitted(kept, [], n_features_to_select=k)
    after = found
    if conditions is not None:  # weights change the loss, and within a budget there may be fewer
        after = fitted(found.selected_.tolist(), [], n_features_to_select=found.selected_.size)
    with np.errstate(invalid="ignore"):
        total = float(np.nanmean(np.nanvar(values / getattr(found, "scale_", 1.0), axis=0))) or 1.0

    def label(j: int) -> str | int:
        return int(j) if names is None else str(names[j])

    return JointReplacement(
        failed=[label(j) for j in gone],
        features=[label(j) for j in found.selected_ if j not in set(rest)],
        error_increase=(after.objective_ - before.objective_) / total,
    )
