"""Column subset selection with a map that need not be linear."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np

from .._compat import Constraints, Interval
from .._core import Array, dense_rows, significant, sorted_samples, units
from ..base import FEATURES, SamplesSelector, Selection, resolve_include_exclude, steps
from ._column_subset import ColumnSubset
from ._kernel_map import KernelMap, across, fit_map
from ._kernel_search import KernelProblem, KernelSearch, Reached, better

_FEWEST = 8
"""With fewer samples the linear choice and map are kept."""
_FEWEST_TO_JUDGE = 100
"""With fewer samples none are held out: the leave-one-out errors judge."""
_JUDGES = 0.2
"""Fraction of the samples that are held out where all could decide."""
_MOST_FORWARD = 20
"""Up to so many features, a forward search is a second start."""
_ONLY_THEN = (
    "leave_one_out_error_",
    "held_out_error_",
    "start_held_out_error_",
    "bandwidth_",
    "gaussian_weight_",
    "ridge_",
)
"""Attributes of a map that is not linear."""
_AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")


class KernelSubset(SamplesSelector):
    """Select the k features from which all others are best reconstructed by a map that need not be linear.

    The map is kernel ridge regression with a linear and a Gaussian part. It starts from the features that
    :class:`ColumnSubset` selects (for up to 20 features also from a forward search of its own) and swaps features while
    that lowers its leave-one-out error. Samples that were held out judge the result: the linear choice is kept unless
    another gains more than one standard error on them.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to select, a fraction of them (rounded up), or None for half.
    max_samples : int, default=2000
        Samples that decide between features; of larger tables so many are taken, and as many others to judge. Nothing
        is drawn: which samples decide, judge and are landmarks follows from their values and, unless equal ones belong
        to different groups, not from their order.
    n_landmarks : int, default=300
        Samples that the Gaussian part is built on during the search (Nystrom). With no more samples it is exact.
    map_samples : int, default=8000
        Samples that the map of :meth:`reconstruct` is fitted to at most, in time of the order of their cube and memory
        of their square. Its kernel is chosen by up to 1,000 of them.
    n_candidates : int, default=8
        Features that are tried in the place of one: those whose cubic polynomials explain most of what is left without
        it. Of up to 40 features all are tried.
    max_sweeps : int, default=3
        Most sweeps over the selected features from each start.
    include, exclude : sequence of str or int, optional
        Features, by name or index, that must or must not be selected.
    verbose : bool, default=False
        Print to standard error how many sets have been tried.

    Attributes
    ----------
    start_ : ndarray of int of shape (k,)
        What :class:`ColumnSubset` selects.
    leave_one_out_error_ : float
        Mean squared error of reconstructing each deciding sample from the map fitted to the others, averaged over
        features. Set, as what follows, only with at least eight samples of which something varies.
    held_out_error_, start_held_out_error_ : float
        Mean squared error on the samples that judge, of the selected features and of ``start_``, by maps fitted to the
        samples that decide. With fewer than 100 samples, or groups so large that none fit into half of the samples,
        they are leave-one-out errors.
    n_swapped_ : int
        Selected features that are not in ``start_``.
    bandwidth_, gaussian_weight_, ridge_ : float
        The kernel that decides: mean of z'z over the selected features, plus ``gaussian_weight_`` times the Gaussian
        whose variance is ``bandwidth_`` times the mean squared distance, plus one; and its ridge.

    See Also
    --------
    ColumnSubset : The linear method; faster, and for any container and size.
    ScorerSelectorNetwork : Networks of one's own, trained.

    Notes
    -----
    Use it where some features are functions of others that a straight line does not describe: positions on a curve,
    phases, saturating sensors. Without such, :class:`ColumnSubset` selects as well and in a fraction of the time;
    refitted by this class, with ``max_sweeps=0``, its features may still gain from the map.

    Trying one set takes of the order of (samples that decide) x (landmarks)^2 operations, and some hundred sets are
    tried. The map keeps ``map_samples`` x (number of features) numbers. Sparse tables are made dense.

    The map of :meth:`reconstruct` is fitted when the features are selected. Where that gains more than a standard error
    by leave-one-out errors, its kernel is Laplacian, sees the square roots of the selected features, and measures the
    distances between samples anew for each of up to 24 groups of features, by the selected features that these depend
    on. Values that many samples share as a feature's lowest or highest one are limits of what is reconstructed.

    ``scores_`` is, for a selected feature, the rise of the leave-one-out error without it, as a fraction of the
    variance. The others follow below, by what a cubic polynomial of each explains of what is left. Features are not
    scaled where errors are measured, those of large variance weigh more; in the kernel all have variance one. Far from
    all samples the map is linear, within the limits.

    A sample that is there twice is reconstructed from its copy: leave-one-out errors of tables with replicates are too
    good, and the kernel too narrow. Give their ``groups`` to :meth:`fit`.

    References
    ----------
    Allen (1974), The relationship between variable selection and data augmentation and a method for prediction,
    Technometrics 16(1).
    Saunders, Gammerman & Vovk (1998), Ridge regression learning algorithm in dual variables, ICML.
    Williams & Seeger (2001), Using the Nystrom method to speed up kernel machines, NIPS.

    Examples
    --------
    Six features are functions of the first two:

    >>> import numpy as np
    >>> from stableselect import ColumnSubset, KernelSubset
    >>> u, v = np.random.default_rng(0).uniform(-1, 1, size=(2, 200))
    >>> X = np.column_stack([u, v, u**2, v**2, np.cos(3 * u), u * v, np.exp(v), np.sin(4 * v)])
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> selector = KernelSubset(2).fit(X[:150])
    >>> sorted(selector.selected_.tolist())
    [0, 1]
    >>> selector.score(X[150:]) > -0.01
    True
    >>> ColumnSubset(2).fit(X[:150]).score(X[150:]) < -0.4
    True
    """

    leave_one_out_error_: float
    held_out_error_: float
    start_held_out_error_: float
    bandwidth_: float
    gaussian_weight_: float
    ridge_: float
    _map: dict[str, Any] | None
    _parameter_constraints: ClassVar[Constraints] = {
        **SamplesSelector._parameter_constraints,
        "max_samples": [Interval(Integral, 8, None, closed="left")],
        "n_landmarks": [_AT_LEAST_ONE],
        "map_samples": [_AT_LEAST_ONE],
        "n_candidates": [_AT_LEAST_ONE],
        "max_sweeps": [Interval(Integral, 0, None, closed="left")],
        "include": FEATURES,
        "exclude": FEATURES,
        "verbose": ["boolean"],
    }

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        max_samples: int = 2000,
        n_landmarks: int = 300,
        map_samples: int = 8000,
        n_candidates: int = 8,
        max_sweeps: int = 3,
        include: Iterable[str | int] | None = None,
        exclude: Iterable[str | int] | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.max_samples = max_samples
        self.n_landmarks = n_landmarks
        self.map_samples = map_samples
        self.n_candidates = n_candidates
        self.max_sweeps = max_sweeps
        self.include = include
        self.exclude = exclude
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Select the features.

        Parameters
        ----------
        X : array, data frame, torch tensor, sparse matrix or AnnData of shape (n, m)
            The samples, in memory.
        y : None
            Ignored, for scikit-learn pipelines.
        groups : array-like of shape (n,), optional
            Labels of samples that belong together, such as replicates: they are left out and held out together. A
            single group is the same as none.

        Returns
        -------
        self
        """
        self._groups = groups
        try:
            return super().fit(X, y)
        finally:
            del self._groups

    def _keeps_groups(self) -> bool:
        """Tell whether groups have a say in what is held out."""
        return True

    def _select(self, X: Array, k: int) -> Selection:
        names = getattr(self, "feature_names_in_", None)
        include, exclude = resolve_include_exclude(self.include, self.exclude, X.shape[1], k, names)
        linear = ColumnSubset(k, include=include, exclude=exclude).fit(X)
        self.start_, self._map = linear.selected_, None
        table = Standardised(X, self._groups)
        start = [j for j in self.start_.tolist() if table.varies[j]]
        constant = [j for j in self.start_.tolist() if not table.varies[j]]
        self.n_swapped_ = 0
        for name in _ONLY_THEN:
            self.__dict__.pop(name, None)  # of an earlier fit
        if len(table.Z) < _FEWEST or not start:
            return Selection(self.start_.tolist(), linear.scores_, include=include)
        problem = self._problem(table)
        allowed = np.setdiff1d(np.flatnonzero(table.varies), exclude)
        forced = [j for j in include if table.varies[j]]
        with steps("sets", None) as advance:
            search = KernelSearch(problem, forced, allowed, self.n_candidates, self.max_sweeps, advance)
            found, first = self._search(problem, search, start)
            rises, shares = search.worth(found)
        self.n_swapped_ = len(set(found.chosen) - set(start))
        square = float(table.unit**2) / X.shape[1]
        self.leave_one_out_error_ = found.error * problem.total / len(problem.Z) * square
        self.held_out_error_, self.start_held_out_error_ = (float(one.judged.mean()) * square for one in (found, first))
        self.bandwidth_, self.gaussian_weight_ = found.setting.bandwidth, found.setting.weight
        self.ridge_ = found.setting.ridge
        self._fit_map(table, found, np.sort([*found.chosen, *constant]))
        by_worth = np.argsort(-significant(rises), kind="stable")
        order = [found.chosen[place] for place in by_worth]
        scores = rises.min() - 1.0 + shares - shares.max(initial=0.0)
        scores[~table.varies] = scores.min() - 1.0
        scores[found.chosen] = rises
        order = [*include, *(j for j in [*order, *constant] if j not in include)]
        return Selection(order, scores, include=include)

    def _problem(self, table: Standardised) -> KernelProblem:
        """Take the samples that decide, those that judge, and the landmarks, each evenly from the sorted ones."""
        n, groups, taken = len(table.Z), table.groups, table.taken
        judges = 0 if n < _FEWEST_TO_JUDGE else min(self.max_samples, max(round(_JUDGES * n), n - self.max_samples))
        if groups is not None:
            ends = np.flatnonzero(np.diff(groups[taken])) + 1
            ends = ends[(ends >= _FEWEST) & (ends <= n // 2)]
            judges = int(ends[np.argmin(np.abs(ends - judges))]) if judges and ends.size else 0
        decide = np.sort(across(taken[judges:], groups)[: self.max_samples])
        landmarks = np.sort(_evenly(len(decide))[: self.n_landmarks])
        return KernelProblem(table.Z, table.Y, decide, np.sort(taken[:judges]), landmarks, groups)

    def _search(self, problem: KernelProblem, search: KernelSearch, start: list[int]) -> tuple[Reached, Reached]:
        """Return the features found from the linear choice and, where few, by a forward search; and the first."""
        first = problem.judged(start, problem.tune(start))
        reached = search.swapped(first)
        if len(start) <= _MOST_FORWARD and self.max_sweeps:
            reached += search.swapped(search.forward(len(start), first.setting))
        return better(reached), first

    def _fit_map(self, table: Standardised, found: Reached, chosen: np.ndarray) -> None:
        """Fit the map to all samples, or as many as it may have."""
        Z, groups = table.Z[:, chosen], table.groups
        parts = fit_map(Z, table.Y, found.setting, table.taken[: self.map_samples], groups)
        for name in ("coefficients", "limits"):
            parts[name] = parts[name] * table.unit
        parts["limits"] = parts["limits"] + table.mean
        self._map = {"center": table.mean[chosen], "spread": table.spread[chosen], "mean": table.mean, **parts}

    def _decode(self, values: np.ndarray) -> np.ndarray | None:
        return None if self._map is None else KernelMap(**self._map).predict(values)


class Standardised:
    """A table of samples, sorted by their values.

    Attributes
    ----------
    Z : ndarray of shape (n, m)
        Features of mean zero and variance one; 0 where they are constant.
    Y : ndarray of shape (n, m)
        Centred features, divided by ``unit``: of mean variance one.
    mean, spread : ndarray of shape (m,)
        Means and standard deviations (1 for constant features) in the units of the samples.
    unit : float
        Root of the mean variance.
    varies : ndarray of bool of shape (m,)
        Whether a feature is not constant.
    groups : ndarray of int of shape (n,) or None
        From 0 on, in the order in which they appear, of samples that belong together.
    taken : ndarray of int of shape (n,)
        An order in which the first few samples, or groups, are spread evenly; a group of more than half comes last.
    """

    def __init__(self, X: Array, groups: Any) -> None:
        values, order = sorted_samples(X)
        self.groups = None if groups is None else _by_appearance(units(groups, len(values))[0][order])
        if self.groups is not None and self.groups.max() + 1 in (1, len(values)):
            self.groups = None  # each sample is by itself, or none would be left
        self.taken = _evenly(len(values))
        if self.groups is not None:
            sizes = np.bincount(self.groups)
            place = np.where(sizes > len(values) // 2, len(sizes), _evenly(len(sizes)))
            self.taken = np.argsort(place[self.groups], kind="stable")
        values, exponent = dense_rows(values)
        mean, size = values.mean(axis=0), np.abs(values).max(axis=0)
        values -= mean
        spread = values.std(axis=0)
        self.varies = spread > 1e-14 * size
        spread[~self.varies] = 1.0
        unit = float(np.sqrt(np.mean(values**2))) or 1.0
        self.Z, self.Y = np.where(self.varies, values / spread, 0.0), values / unit
        self.mean, self.spread, self.unit = (np.ldexp(part, exponent) for part in (mean, spread, unit))


def _evenly(n: int) -> np.ndarray:
    """Return an order of 0 to n - 1 in which the first few, however many, are spread evenly (by the golden ratio)."""
    return np.argsort(np.arange(n) * ((np.sqrt(5.0) - 1.0) / 2.0) % 1.0, kind="stable")


def _by_appearance(labels: np.ndarray) -> np.ndarray:
    """Return groups numbered in the order in which they appear, whatever their names."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]
