"""Error on held-out samples against the number of features: selected, drawn at random, and principal components."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.utils import check_random_state

from .._core import Moments, absolute_ridge, forward_search
from ..base import check_count, check_number, check_table, data_frame, html_table, resolve_columns
from ._panel_folds import Fold

if TYPE_CHECKING:
    from pandas import DataFrame

_TEST_FRACTION = 0.2
_POINTS = 12
"""Numbers of features measured."""
_FARTHEST = 200
"""The largest number measured by default."""


@dataclass(frozen=True, eq=False)
class ErrorCurve:
    """Result of :func:`error_curve`: unexplained fractions of the variance of held-out samples.

    Attributes
    ----------
    n_features : ndarray of int
        Numbers of features, increasing.
    selected : ndarray
        Of so many features, taken one by one by forward search on the other samples.
    random, random_std : ndarray
        Of features drawn at random: mean and standard deviation over the draws.
    components : ndarray
        Of as many principal components of the other samples.
    n_train, n_test, n_draws : int
        Samples fitted on, samples held out, and random draws.
    """

    n_features: np.ndarray
    selected: np.ndarray
    random: np.ndarray
    random_std: np.ndarray
    components: np.ndarray
    n_train: int
    n_test: int
    n_draws: int

    def _repr_html_(self) -> str:
        names = ("n_features", "selected", "random", "components")
        title = f"Unexplained variance of {self.n_test} held-out samples"
        return html_table(title, {name: getattr(self, name) for name in names}, most=20)

    def to_frame(self) -> DataFrame:
        """Return the curves as a pandas data frame, one row for each number of features.

        Returns
        -------
        pandas.DataFrame
        """
        names = ("n_features", "selected", "random", "random_std", "components")
        return data_frame({name: getattr(self, name) for name in names})


def error_curve(
    X: Any,
    n_features: Iterable[int] | int,
    *,
    scaler: Any = None,
    ridge: float = 0.0,
    include: Iterable[str | int] | None = None,
    exclude: Iterable[str | int] | None = None,
    groups: Any = None,
    n_draws: int = 5,
    random_state: int | np.random.RandomState | None = 0,
) -> ErrorCurve:
    """Measure how the error on held-out samples falls with the number of features.

    A fifth of the samples is held out. Features are taken by forward search on the others, and a ridge map from them to
    all features is fitted there, for every number of features; random features have their maps by the same rule.

    Parameters
    ----------
    X : array or data frame of shape (n, m)
        The table, at least five samples.
    n_features : int or iterable of int
        Numbers of features to measure. One number k stands for about a dozen, from 1 to 2 k, k among them.
    scaler : transformer, optional
        For example ``StandardScaler()``; a clone is fitted on the samples that are not held out.
    ridge : float, default=0.0
        Relative ridge weight of the forward search.
    include, exclude : iterable of str or int, optional
        Features that come first, and features that are never taken, not at random either.
    groups : array-like of shape (n,), optional
        Labels of samples that belong together, such as replicates: they are held out together.
    n_draws : int, default=5
        Random draws for each number of features.
    random_state : int, RandomState or None, default=0
        Decides the samples held out and the draws.

    Returns
    -------
    ErrorCurve

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from stableselect.inspection import error_curve
    >>> curve = error_curve(load_wine().data, [2, 5, 8], scaler=StandardScaler())
    >>> bool((curve.components < curve.selected).all() and (curve.selected < curve.random).all())
    True
    """
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    X = check_table(X, "X")
    n, m = X.shape
    check_count(n_draws, "n_draws", 2)
    ridge = check_number(ridge, "ridge")
    if n < 5:
        raise ValueError(f"error_curve needs at least 5 samples, got {n}; give more.")
    first = resolve_columns(include, m, names, "include")
    never = resolve_columns(exclude, m, names, "exclude")
    sizes = _sizes(n_features, len(first), m - len(never))
    rng = check_random_state(random_state)
    held = held_out(n, rng, groups)
    test, train = X[held], X[~held]
    if scaler is not None:
        own = clone(scaler)
        train, test = np.asarray(own.fit_transform(train)), np.asarray(own.transform(test))
    unit = float(np.abs(train).max()) or 1.0  # squares stay in range; all figures are ratios
    train, test = train / unit, test / unit
    moments = Moments.from_array(train)
    fold, gram = Fold(moments, Moments.from_array(test)), moments.operator()
    total = float(fold.none.sum()) or 1.0
    path = forward_search(gram, sizes[-1], absolute_ridge(gram, ridge), first, never)
    free = np.setdiff1d(np.arange(m), [*first, *never])
    directions = PCA(min(sizes[-1], *train.shape), random_state=0).fit(train).components_.T

    def left(features: Any) -> float:
        return float(fold.errors(features).sum()) / total

    draws = np.array(
        [
            [left([*first, *rng.choice(free, size - len(first), replace=False)]) for _ in range(n_draws)]
            for size in sizes
        ]
    )
    return ErrorCurve(
        n_features=np.array(sizes),
        selected=np.array([left(path[:size]) for size in sizes]),
        random=draws.mean(axis=1),
        random_std=draws.std(axis=1, ddof=1),
        components=np.array([float(fold.component_errors(directions[:, :size]).sum()) / total for size in sizes]),
        n_train=len(train),
        n_test=len(test),
        n_draws=n_draws,
    )


def held_out(n: int, rng: np.random.RandomState, groups: Any = None) -> np.ndarray:
    """Return which of n samples are held out: about a fifth of them, whole groups where there are some."""
    if groups is None:
        held = np.zeros(n, dtype=bool)
        held[rng.permutation(n)[: max(1, round(_TEST_FRACTION * n))]] = True
        return held
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise ValueError(f"groups must hold one label for each of the {n} samples, got shape {labels.shape}.")
    found, place, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if len(found) < 2:
        raise ValueError("groups has one label only, so no group can be held out; leave groups out.")
    order = rng.permutation(len(found))
    taken = max(1, int(np.searchsorted(np.cumsum(counts[order]), _TEST_FRACTION * n + 0.5)))
    return np.asarray(np.isin(place, order[: min(taken, len(found) - 1)]))


def _sizes(wanted: Iterable[int] | int, least: int, most: int) -> list[int]:
    """Return the numbers of features to measure, increasing."""
    least = max(1, least)
    if isinstance(wanted, Iterable):
        return sorted({check_count(size, "n_features", least, most) for size in wanted})
    k = check_count(wanted, "n_features", least, most)
    end = min(most, max(2 * k, min(10, most)), max(k, _FARTHEST))
    return sorted({k, end, *np.geomspace(least, end, _POINTS).round().astype(int).tolist()})
