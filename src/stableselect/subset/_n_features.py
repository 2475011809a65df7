"""``n_features_to_select="auto"``: the number of columns from the error on held-out rows, for moments selectors."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from .._core import Moments, forward_search, merged
from ..base import TargetNotReachedWarning, TooFewSamplesError
from ._path_errors import prefix_errors
from ._ridge import _GIVE_UP, FEWEST_FOLDS, RIDGE_GRID, leave_out
from ._selection_path import SelectionPath, elbow, first_to_reach

MAX_FEATURES = 200
"""Columns looked at beyond those included, unless ``max_features`` says otherwise."""


class AutoCountMixin:
    """What lets a moments selector choose its own number of columns."""

    n_features_to_select: int | float | str | None
    ridge: float | str
    min_explained_variance: float | str
    max_features: int | None
    n_features_in_: int
    _path: dict[str, Any]

    @property
    def path_(self) -> SelectionPath:
        """Explained share against the number of columns; only after a fit with ``n_features_to_select="auto"``."""
        try:
            return SelectionPath(**self._path)
        except AttributeError:
            raise AttributeError(
                f"This {type(self).__name__} has no path_; fit it with n_features_to_select='auto'."
            ) from None

    def _is_auto(self) -> bool:
        return isinstance(self.n_features_to_select, str) and self.n_features_to_select == "auto"

    def _check_auto(self) -> None:
        """Refuse settings of the automatic number that make no sense."""
        target, limit = self.min_explained_variance, self.max_features
        share = isinstance(target, Real) and not isinstance(target, bool | np.bool_) and 0 < target < 1
        if not share and not (isinstance(target, str) and target == "elbow"):
            raise ValueError(f"min_explained_variance must be a share above 0 and below 1, or 'elbow'; got {target!r}.")
        whole = isinstance(limit, Integral) and not isinstance(limit, bool) and limit >= 1
        if not whole and limit is not None:
            raise ValueError(f"max_features must be a whole number of at least 1, or None; got {limit!r}.")
        solver = getattr(self, "solver", "search")
        if self._is_auto() and solver != "search":
            raise ValueError(
                f"n_features_to_select='auto' works with solver='search' only, got solver={solver!r}; say how many "
                "columns to keep, or choose the number with solver='search' first."
            )

    def _choose_count(self, parts: Sequence[Moments], include: Sequence[int], exclude: Sequence[int]) -> int:
        """Choose the number of columns, and keep the path."""
        if len(parts) < FEWEST_FOLDS:
            raise TooFewSamplesError(
                f"n_features_to_select='auto' holds out folds of the samples and needs at least {FEWEST_FOLDS} folds, "
                f"got {len(parts)}; fit on more samples, give fit_moments a list of Moments, one for each fold, or "
                "give the number of features.",
                len(parts),
                FEWEST_FOLDS,
            )
        n_open, fewest = self.n_features_in_ - len(exclude), max(1, len(include))
        if self.max_features is not None and self.max_features < len(include):
            raise ValueError(
                f"include names {len(include)} columns but max_features is {self.max_features}; raise it or include "
                "fewer."
            )
        limit = min(n_open, int(self.max_features or len(include) + MAX_FEATURES))
        ridges = RIDGE_GRID if self.ridge == "auto" else (float(self.ridge),)
        errors, ridge = held_out_paths(parts, limit, ridges, include, exclude)
        if limit == self.n_features_in_:
            errors[:, limit] = 0.0  # nothing is left to rebuild, whatever the ridge makes of it

        pooled, folds = _explained(errors.sum(axis=0)), np.array([_explained(fold) for fold in errors])
        target = None if self.min_explained_variance == "elbow" else float(self.min_explained_variance)
        chosen, *alone = (
            elbow(shares, fewest, n_open) if target is None else first_to_reach(shares, target, fewest)
            for shares in (pooled, *folds)
        )
        k, reached = chosen
        if not reached:
            _warn(target, k, pooled, limit < n_open)
        gram = merged(parts).operator().normalised()[0]
        order = forward_search(gram, limit, float(ridge[k]), include, exclude)
        training = np.empty(limit + 1)
        for weight in np.unique(ridge):
            own = prefix_errors(gram, gram, 0 * gram.diagonal(), order, float(weight))
            training[ridge == weight] = _explained(own)[ridge == weight]
        self._path = {
            "order": np.array(order, dtype=np.int64),
            "explained_variance_ratio": pooled[1:],
            "standard_error": folds[:, 1:].std(axis=0, ddof=1) / len(folds) ** 0.5,
            "train_explained_variance_ratio": training[1:],
            "ridge": ridge[1:],
            "fold_explained_variance_ratio": folds[:, 1:],
            "fold_n_features": np.array([number for number, _ in alone], dtype=np.int64),
            "n_features": k,
            "rule": "elbow" if target is None else "target",
            "target": target,
            "reached": reached,
        }
        return k


def held_out_paths(
    parts: Sequence[Moments], limit: int, ridges: Sequence[float], include: Sequence[int], exclude: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the held-out squared errors of every fold for up to ``limit`` columns, each with its best ridge weight.

    For every ridge weight and fold one forward search on the other folds gives the columns of all k. Of the weights
    the one of least error over all folds counts, k by k. As in :func:`~stableselect.subset._ridge.choose_ridge`
    the grid is climbed, for every k, until the error lies well above its least value so far, and ties go to the
    smaller ridge.

    Parameters
    ----------
    parts : sequence of Moments
        The folds.
    limit : int
        The most columns.
    ridges : sequence of float
        Relative ridge weights, smallest first.
    include, exclude : sequence of int
        Columns that come first, and columns that are never taken.

    Returns
    -------
    errors : ndarray of shape (n_folds, limit + 1)
        Of k = 0, 1, ... columns, summed over the fold's rows, in the table's units.
    ridge : ndarray of shape (limit + 1,)
        The weight they belong to.
    """
    rounds = [leave_out(parts, [held]) for held in range(len(parts))]
    slack = 1e-12 * sum(weight * gram.n_features for gram, _, _, weight in rounds)
    errors, ridge = np.full((len(parts), limit + 1), np.inf), np.full(limit + 1, ridges[0])
    climbing = np.ones(limit + 1, dtype=bool)
    for weight in ridges:
        reach = int(np.flatnonzero(climbing)[-1])
        found = np.full_like(errors, np.inf)
        for fold, (gram, target, shift, scale) in enumerate(rounds):
            columns = forward_search(gram, reach, weight, include, exclude)
            found[fold, : reach + 1] = scale * prefix_errors(gram, target, shift, columns, weight)
        now, least = found.sum(axis=0), errors.sum(axis=0)
        better = climbing & (now < (1 - 1e-9) * least - slack)
        errors[:, better], ridge[better] = found[:, better], weight
        climbing &= now <= _GIVE_UP * np.minimum(least, now) + slack
        climbing[0] = False
        if not climbing.any():
            break
    return errors, ridge


def _explained(errors: np.ndarray) -> np.ndarray:
    """Return the explained shares of a row of errors that begins with that of no columns; 1 where that is nothing."""
    return 1 - errors / errors[0] if errors[0] > 0 else np.ones_like(errors)


def _warn(target: float | None, k: int, explained: np.ndarray, may_go_on: bool) -> None:
    limit, share = len(explained) - 1, f"{explained[k]:.4g}"
    what = "The error has no elbow" if target is None else f"The explained share {target:g} is not reached"
    advice = "say how many columns to keep" if target is None else "lower min_explained_variance"
    warnings.warn(
        f"{what} on held-out rows with up to {limit} columns: the largest share is {share}, at {k} columns, which are "
        f"kept; {advice}{' or raise max_features' if may_go_on else ''}.",
        TargetNotReachedWarning,
        stacklevel=2,
    )
