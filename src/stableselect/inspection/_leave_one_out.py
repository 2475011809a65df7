"""One selector refitted with a sample left out or replaced, and what its fitted maps lose at given points.

Every fit uses the same seed: the theory of stability is about algorithms that are functions of their samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from .._core import Resample
from .._refit import Source, resolve_names, with_held_seed
from ..base import BaseSelector, check_pair


@dataclass(frozen=True)
class Outcome:
    """One refit, seen from the outside.

    Attributes
    ----------
    losses : dict of str to ndarray of shape (p,)
        Loss of every path at the points asked for.
    own : float
        Loss of the selector path at the sample that was left out.
    support : ndarray of bool, shape (m,)
        The selected features.
    """

    losses: dict[str, np.ndarray]
    own: float
    support: np.ndarray


class Refits:
    """A selector and a table, ready to be fitted on all samples or without any one of them.

    Parameters
    ----------
    selector : BaseSelector
        As :func:`prepare` returns it.
    X : ndarray of shape (n, m)
        The samples.
    spare : ndarray of shape (s, m), optional
        Samples that may take the place of one left out; spare sample i replaces the i-th one left out.
    """

    def __init__(self, selector: BaseSelector, X: np.ndarray, spare: np.ndarray | None = None) -> None:
        self.selector, self.X, self.spare = selector, X, spare
        self.source = Source(selector, X if spare is None else np.vstack([X, spare]))

    @property
    def downdates(self) -> bool:
        """Whether samples are taken out of the moments; else the selector is fitted anew."""
        return self.source.moments is not None

    def fit(self, left_out: int | None = None, spare: int | None = None) -> BaseSelector:
        """Fit on all samples, or without one of them, or with a spare one in its place."""
        rows = np.arange(len(self.X))
        if left_out is not None:
            rows = np.delete(rows, left_out)
        if spare is not None:
            rows = np.append(rows, len(self.X) + spare)
        fitted: BaseSelector = self.source.fit(clone(self.selector), Resample(rows))
        return fitted

    def outcomes(self, left_out: np.ndarray, points: np.ndarray, n_jobs: int | None) -> list[Outcome]:
        """Refit without each of the samples, or with a spare one in its place, and return the losses at ``points``."""
        runs = enumerate(left_out.tolist())
        found: list[Outcome] = Parallel(n_jobs=n_jobs)(delayed(self._outcome)(i, j, points) for i, j in runs)
        return found

    def _outcome(self, run: int, left_out: int, points: np.ndarray) -> Outcome:
        fitted = self.fit(left_out, None if self.spare is None else run)
        own = path_losses(fitted, self.X[left_out : left_out + 1])["selector"]
        return Outcome(path_losses(fitted, points), float(own[0]), fitted.support_)


def prepare(selector: Any, X: ArrayLike, seed: int) -> BaseSelector:
    """Return an unfitted copy that depends on its samples alone and takes arrays without feature names.

    Every unset ``random_state`` becomes ``seed``, and features named in ``include`` and ``exclude`` become indices.
    """
    if not isinstance(selector, BaseSelector):
        raise TypeError(f"selector must be one of this package's selectors but is {type(selector).__name__}.")
    copy: BaseSelector = with_held_seed(selector, seed)
    names = [str(name) for name in getattr(X, "columns", [])]
    resolve_names(copy, int(np.shape(X)[1]), names or None)
    return copy


def check_tables(X: ArrayLike, X_test: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples to fit on, three at least, and the points to compare at, with the same features."""
    samples, points = check_pair(X, X_test, ("X", "X_test"))
    if len(samples) < 3:
        raise ValueError(f"X must have at least 3 samples, so that 2 are left, but has {len(samples)}; give more.")
    return samples, points


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
