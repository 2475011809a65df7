"""One selector refitted with a sample left out or replaced, and how far that moves its losses at given points.

Every fit uses the same seed: the theory of stability is about algorithms that are functions of their samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from .._core import Resample
from .._refit import Source, resolve_names, with_held_seed
from ..base import BaseSelector, Figures, check_count, check_pair, in_processes


@dataclass(frozen=True)
class LossChange(Figures):
    """Changes of one loss, over all pairs of a sample left out and an unseen point.

    Attributes
    ----------
    sup, mean, median, q90, q99 : float
        Largest change, mean, and quantiles.
    by_sample : ndarray of shape (r,)
        Largest change over the points, for every sample left out.
    sup_same_set : float
        Largest change over the samples that left the selected features as they were: what comes from the map alone. NaN
        where every sample changed them.
    """

    sup: float
    mean: float
    median: float
    q90: float
    q99: float
    by_sample: np.ndarray
    sup_same_set: float

    @classmethod
    def from_losses(cls, losses: ArrayLike, refitted: ArrayLike, changed: ArrayLike) -> LossChange:
        """Compare the losses of one fit with those of others.

        Parameters
        ----------
        losses : array-like of shape (p,)
            Loss of every point, as by :func:`path_losses`.
        refitted : array-like of shape (r, p)
            The same of every refit; NaN where a point is not to be compared at.
        changed : array-like of bool, shape (r,)
            Whether the refit selected other features.

        Returns
        -------
        LossChange

        Examples
        --------
        >>> from stableselect.inspection import LossChange
        >>> change = LossChange.from_losses([1.0, 2.0], [[1.0, 2.5], [1.1, 2.0]], changed=[True, False])
        >>> change.sup, change.by_sample.round(3).tolist(), round(change.sup_same_set, 3)
        (0.5, [0.5, 0.1], 0.1)
        """
        change = np.abs(np.asarray(refitted) - np.asarray(losses))
        same = ~np.asarray(changed, dtype=bool)
        by_sample = np.nanmax(change, axis=1)
        median, q90, q99 = (float(q) for q in np.nanquantile(change, [0.5, 0.9, 0.99]))
        same_set = float(by_sample[same].max()) if same.any() else np.nan
        return cls(float(by_sample.max()), float(np.nanmean(change)), median, q90, q99, by_sample, same_set)


class Refits:
    """A selector fitted on all samples, and again without each of some of them.

    Parameters
    ----------
    selector : BaseSelector
        As :func:`prepare` returns it.
    X : ndarray of shape (n, m)
        The samples.
    left_out : ndarray of int, shape (r,)
        The samples to leave out in turn.
    points : ndarray of shape (p, m)
        Where to take the losses.
    spare : ndarray of shape (r, m), optional
        Samples that take the places of those left out.
    n_jobs : int or None
        Refits at a time.

    Attributes
    ----------
    full : BaseSelector
        Fitted on all samples.
    supports : ndarray of bool, shape (r, m)
        The features that each refit selected.
    changed : ndarray of bool, shape (r,)
        Whether they are others than those of the full fit.
    losses : dict of str to ndarray of shape (r, p)
        Loss of every path of the refits at the points.
    own : ndarray of shape (r,)
        Loss of the selector path at the sample that was left out.
    downdated : bool
        Whether samples were taken out of the moments; else the selector was fitted anew.
    """

    def __init__(
        self,
        selector: BaseSelector,
        X: np.ndarray,
        left_out: np.ndarray,
        points: np.ndarray,
        spare: np.ndarray | None,
        n_jobs: int | None,
    ) -> None:
        source = Source(selector, X if spare is None else np.vstack([X, spare]))
        everything = np.arange(len(X))
        self.full: BaseSelector = source.fit(clone(selector), Resample(everything))

        def refit(run: int) -> tuple[np.ndarray, dict[str, np.ndarray], float]:
            gone = int(left_out[run])
            rows = np.delete(everything, gone)
            if spare is not None:
                rows = np.append(rows, len(X) + run)
            fitted = source.fit(clone(selector), Resample(rows))
            own = path_losses(fitted, X[gone : gone + 1])["selector"]
            return fitted.support_, path_losses(fitted, points), float(own[0])

        found = in_processes(refit, range(len(left_out)), "refits", n_jobs)
        supports, losses, own = zip(*found, strict=True)
        self.supports = np.array(supports)
        self.changed = (self.supports != self.full.support_).any(axis=1)
        self.losses = {path: np.array([one[path] for one in losses]) for path in losses[0]}
        self.own = np.array(own)
        self.downdated = source.moments is not None


def prepare(
    selector: Any,
    X: ArrayLike,
    X_test: ArrayLike,
    n_left_out: int | None,
    rng: np.random.RandomState,
    chosen: ArrayLike | None = None,
) -> tuple[BaseSelector, np.ndarray, np.ndarray, np.ndarray]:
    """Return the selector, the samples to fit on, the points to compare at, and the samples to leave out.

    Those to leave out are the chosen ones, or as many as ``n_left_out`` says, drawn at random.
    The selector is an unfitted copy that depends on its samples alone and takes arrays without feature names: every
    unset ``random_state`` becomes one seed, and features named in ``include`` and ``exclude`` become indices.
    """
    samples, points = check_pair(X, X_test, ("X", "X_test"))
    n, m = samples.shape
    if n < 3:
        raise ValueError(f"X must have at least 3 samples, so that 2 are left, but has {n}; give more.")
    number = n if n_left_out is None else min(n, check_count(n_left_out, "n_left_out", 1))
    if not isinstance(selector, BaseSelector):
        raise TypeError(f"selector must be one of this package's selectors but is {type(selector).__name__}.")
    copy: BaseSelector = with_held_seed(selector, int(rng.randint(2**31 - 1)))
    names = [str(name) for name in getattr(X, "columns", [])]
    resolve_names(copy, m, names or None)
    if chosen is None:
        return copy, samples, points, np.sort(rng.choice(n, number, replace=False))
    return copy, samples, points, _check_chosen(chosen, n)


def _check_chosen(chosen: ArrayLike, n: int) -> np.ndarray:
    places = np.asarray(chosen)
    whole = places.ndim == 1 and places.size > 0 and places.dtype.kind in "iu"
    if not whole or places.min() < 0 or places.max() >= n or np.unique(places).size < places.size:
        raise ValueError(
            f"samples must list one or more of the {n} samples of X, each once and by its index from 0, but is "
            f"{chosen!r}; change samples."
        )
    return places.astype(np.intp)


def path_losses(selector: BaseSelector, X: ArrayLike) -> dict[str, np.ndarray]:
    """Loss of every sample under every path of a fitted selector.

    Parameters
    ----------
    selector : BaseSelector
        A fitted selector.
    X : array-like of shape (n, m)
        The samples, with all features.

    Returns
    -------
    dict of str to ndarray of shape (n,)
        Squared errors, averaged over the features. "selector": the sample reconstructed from its selected features. For
        :class:`~stableselect.ScorerSelector` that is the output of its network, and there are also "scorer",
        reconstructed from all scored features, and "total": the first plus ``scorer_weight`` times the second.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect import ScorerSelector
    >>> from stableselect.inspection import path_losses
    >>> X = load_iris().data
    >>> losses = path_losses(ScorerSelector(2).fit(X), X)
    >>> sorted(losses), losses["selector"].shape
    (['scorer', 'selector', 'total'], (150,))
    """
    points = np.asarray(X, dtype=np.float64)
    if not hasattr(selector, "scorer_weight"):
        return {"selector": np.mean((points - selector.reconstruct(points[:, selector.support_])) ** 2, axis=1)}
    # The scorer selectors, closed form or trained: the theory is about the network's own output.
    losses = {path: np.mean((points - selector.forward(points, path)) ** 2, axis=1) for path in ("selector", "scorer")}
    losses["total"] = losses["selector"] + float(selector.scorer_weight) * losses["scorer"]
    return losses
