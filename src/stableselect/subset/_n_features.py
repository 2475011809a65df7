"""``n_features_to_select="auto"``: the number of features by their error on held-out samples."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal

import numpy as np

from .._core import Gram, HeldOut, forward_with_each
from ..base import TargetNotReachedWarning, TooFewSamplesError
from ._path_errors import path_errors, prefix_errors
from ._ridge import RIDGE_GRID, Trial, errors_by_ridge, give_up
from ._selection_path import SelectionPath

MAX_FEATURES = 200
"""Features considered beyond those included, unless ``max_features`` says otherwise."""
_NOTHING_LEFT = 1e-10
"""Fraction of the variance below which what is left is rounding."""
_TIE = 1e-9
"""Errors within this relative distance are ties, which go to fewer features."""


def choose_n_features(
    held_out: Sequence[HeldOut],
    gram: Gram,
    *,
    ridge: float | Literal["auto"] = "auto",
    min_explained_variance: float = 0.9,
    max_features: int | None = None,
    include: Sequence[int] = (),
    exclude: Sequence[int] = (),
    fewest_folds: int = 2,
    to_follow: Sequence[float] = (),
) -> SelectionPath:
    """Choose the number of features by their error on held-out samples.

    Parameters
    ----------
    held_out : sequence of HeldOut
        Parts of the samples held out of the others.
    gram : Gram
        The moments of all samples, of mean variance one.
    ridge : float or "auto"
        Relative ridge weight; "auto" for the one of least held-out error, number by number.
    min_explained_variance : float
        The fraction of the variance to explain.
    max_features : int or None
        The most features to consider; None for 200 beyond those included.
    include, exclude : sequence of int
        Features that must or must not be selected.
    fewest_folds : int
        Fewest parts for a choice to mean anything.
    to_follow : sequence of float
        Ridge weights with which so many features will be searched afterwards.

    Returns
    -------
    SelectionPath
    """
    if len(held_out) < fewest_folds:
        raise TooFewSamplesError(
            f"n_features_to_select='auto' holds out folds of the samples and needs at least {fewest_folds} folds, got "
            f"{max(1, len(held_out))}; fit on more samples, give fit_moments a list of Moments, one for each fold, or "
            "give the number of features.",
            max(1, len(held_out)),
            fewest_folds,
        )
    m = gram.n_features
    n_open, fewest = m - len(exclude), max(1, len(include))
    if max_features is not None and max_features < len(include):
        raise ValueError(
            f"include names {len(include)} features but max_features is {max_features}; raise it or include fewer."
        )
    limit = min(n_open, int(max_features or len(include) + MAX_FEATURES))
    ridges = RIDGE_GRID if ridge == "auto" else (float(ridge),)
    errors, best_ridge = held_out_paths(held_out, limit, ridges, include, exclude)
    if limit == m:
        errors[:, limit] = 0.0  # nothing is left to reconstruct, whatever the ridge makes of it

    pooled, single = _explained(errors.sum(axis=0)), np.array([_explained(fold) for fold in errors])
    target = float(min_explained_variance)
    k, reached = fewest_to_explain(pooled, target, fewest)
    alone = [fewest_to_explain(explained, target, fewest)[0] for explained in single]
    if not reached:
        _warn(target, k, pooled, limit < n_open)
    # What is searched afterwards is searched beside, unless most steps would be for nothing.
    weights = dict.fromkeys([float(best_ridge[k]), *(to_follow if 2 * k > limit else ())])
    order = forward_with_each(gram, limit, list(weights), include, exclude)[0]
    training = np.empty(limit + 1)
    for weight in np.unique(best_ridge):
        own = prefix_errors(gram, gram, 0 * gram.diagonal(), order, float(weight))
        training[best_ridge == weight] = _explained(own)[best_ridge == weight]
    return SelectionPath(
        order=np.array(order, dtype=np.int64),
        explained_variance_ratio=pooled[1:],
        standard_error=single[:, 1:].std(axis=0, ddof=1) / len(single) ** 0.5,
        train_explained_variance_ratio=training[1:],
        ridge=best_ridge[1:],
        fold_explained_variance_ratio=single[:, 1:],
        fold_n_features=np.array(alone, dtype=np.int64),
        n_features=k,
        target=target,
        reached=reached,
    )


def held_out_paths(
    held_out: Sequence[HeldOut], limit: int, ridges: Sequence[float], include: Sequence[int], exclude: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the held-out squared errors of every fold for up to ``limit`` features, each with its best ridge weight.

    For every ridge weight and fold one forward search on the other folds gives the features of all k. Of the weights
    the one of least error over all folds counts, k by k. As in :func:`~stableselect.subset._ridge.choose_ridge`
    the grid is climbed, for every k, until the error lies well above its least value so far, and ties go to the
    smaller ridge.

    Parameters
    ----------
    held_out : sequence of HeldOut
        Parts of the samples held out of the others.
    limit : int
        The most features.
    ridges : sequence of float
        Relative ridge weights, smallest first.
    include, exclude : sequence of int
        Features that come first, and features that are never taken.

    Returns
    -------
    errors : ndarray of shape (n_folds, limit + 1)
        Of k = 0, 1, ... features, summed over the fold's samples, in their units.
    ridge : ndarray of shape (limit + 1,)
        The weight they belong to.
    """
    errors, ridge = np.full((len(held_out), limit + 1), np.inf), np.full(limit + 1, ridges[0])
    climbing = np.ones(limit + 1, dtype=bool)

    def reach() -> int:
        return int(np.flatnonzero(climbing)[-1])

    searched = errors_by_ridge(held_out, reach, Trial(include, exclude, path_errors, ridges))
    for weight, (paths, scale) in zip(ridges, searched, strict=True):
        slack, found = 1e-12 * scale, np.full_like(errors, np.inf)
        found[:, : len(paths[0])] = paths
        now, least = found.sum(axis=0), errors.sum(axis=0)
        better = climbing & (now < (1 - 1e-9) * least - slack)
        errors[:, better], ridge[better] = found[:, better], weight
        climbing &= now <= give_up(weight) * np.minimum(least, now) + slack
        climbing[0] = False
        if not climbing.any():
            break
    return errors, ridge


def fewest_to_explain(explained: np.ndarray, target: float, fewest: int) -> tuple[int, bool]:
    """Return the smallest number of features that explains the target, and whether there is one.

    Parameters
    ----------
    explained : ndarray
        Explained variance ratios of k = 0, 1, ... features.
    target : float
        Fraction of the variance to explain.
    fewest : int
        No fewer features than this.

    Returns
    -------
    k : int
        Where the target is not reached, the number of features of the largest ratio.
    reached : bool
        Whether it is reached.
    """
    enough = np.flatnonzero(explained[fewest:] >= target)
    return (fewest + int(enough[0]), True) if enough.size else (_best(explained, fewest), False)


def _explained(errors: np.ndarray) -> np.ndarray:
    """Return the explained variance ratios of errors that begin with that of no features; 1 where that is zero."""
    return 1 - errors / errors[0] if errors[0] > 0 else np.ones_like(errors)


def _warn(target: float, k: int, explained: np.ndarray, may_go_on: bool) -> None:
    limit, most = len(explained) - 1, f"{explained[k]:.4g}"
    warnings.warn(
        f"The explained variance {target:g} is not reached on held-out samples with up to {limit} features: the "
        f"largest is {most}, with {k} features, which are selected; lower min_explained_variance"
        f"{' or raise max_features' if may_go_on else ''}.",
        TargetNotReachedWarning,
        stacklevel=2,
    )


def _best(explained: np.ndarray, fewest: int) -> int:
    """Return the number of features of the largest ratio; ties go to the fewest features."""
    left = 1 - explained[fewest:]
    return fewest + int(np.argmax(left <= left.min() + _TIE * abs(left.min()) + _NOTHING_LEFT))
