"""Uniform stability, measured: how far one training row moves the losses at unseen points.

An algorithm A with loss l has uniform stability beta when, for all samples S of n rows, every row j of them and all
points x, the loss of x changes by |l(A_S, x) - l(A_S without j, x)| <= beta [1]_. What can be measured on one sample is
the largest change over some rows j and some points x: a lower bound of beta. Replacing a row is leaving one out and
adding another, so it moves a loss by up to 2 beta, and half of its largest change is the lower bound.

References
----------
.. [1] O. Bousquet and A. Elisseeff, "Stability and generalization", Journal of Machine Learning Research 2, 2002.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from .._refit import Outcome, Refits, check_tables, path_losses, prepare
from ..base import BaseSelector, check_count
from ._power_law import PowerLawFit, fit_power_law

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROUNDING = 1e-12
"""Changes below this share of the largest mean-predictor loss are rounding, and no rate is fitted to them."""


@dataclass(frozen=True)
class LossChange:
    """Changes of one loss, over all pairs of a row left out and an unseen point.

    Attributes
    ----------
    sup, mean, median, q90, q99 : float
        Largest change, mean, and quantiles.
    by_row : ndarray of shape (r,)
        Largest change over the points, for every row left out.
    sup_same_set : float
        Largest change over the rows that left the kept columns as they were: what comes from the map alone. NaN where
        every row changed them.
    """

    sup: float
    mean: float
    median: float
    q90: float
    q99: float
    by_row: np.ndarray
    sup_same_set: float


@dataclass(frozen=True)
class StabilityRate:
    """Changes of one loss against the number of rows.

    Attributes
    ----------
    sizes : ndarray of int, shape (s,)
        Numbers of rows.
    sup, mean : ndarray of shape (repeats, s)
        Largest and mean change of every sample.
    share_changed : ndarray of shape (repeats, s)
        Share of the rows left out that changed the kept columns.
    sup_rate, mean_rate : PowerLawFit
        The power of n that fits them.
    """

    sizes: np.ndarray
    sup: np.ndarray
    mean: np.ndarray
    share_changed: np.ndarray
    sup_rate: PowerLawFit
    mean_rate: PowerLawFit


@dataclass(frozen=True)
class UniformStability:
    """Result of :func:`uniform_stability`. Losses are mean squared errors per cell.

    Attributes
    ----------
    rows : ndarray of int, shape (r,)
        The rows left out, or replaced, in turn.
    changed : ndarray of bool, shape (r,)
        Whether the kept columns changed.
    selector : LossChange
        Of the loss of rebuilding a point from its kept columns.
    scorer, total : LossChange or None
        Of the scorer's loss, and of the selector's plus ``scorer_weight`` times the scorer's; None for selectors
        without a scorer.
    rates : dict of str to StabilityRate
        The same against n, by the names of the three losses; empty where no sizes were asked for.
    n_rows, n_points, n_features : int
        Rows fitted on, points compared at, and columns. The paper's losses are squared norms, ``n_features`` times
        these.
    replaced : bool
        Whether rows were replaced rather than left out.
    downdated : bool
        Whether rows were taken out of the moments; else the selector was fitted anew.
    """

    rows: np.ndarray
    changed: np.ndarray
    selector: LossChange
    scorer: LossChange | None
    total: LossChange | None
    rates: dict[str, StabilityRate]
    n_rows: int
    n_points: int
    n_features: int
    replaced: bool
    downdated: bool

    @property
    def beta(self) -> float:
        """Lower bound of the uniform stability: the selector's largest change, half of it where rows were replaced."""
        return self.selector.sup / 2 if self.replaced else self.selector.sup

    @property
    def share_changed(self) -> float:
        """Share of the rows left out that changed the kept columns."""
        return float(np.mean(self.changed))

    def influential(self, n: int = 10) -> np.ndarray:
        """Return the n rows that move the selector's loss most, largest first; ties go to the row listed first.

        Parameters
        ----------
        n : int, default=10
            How many rows; all of them when there are fewer.

        Returns
        -------
        ndarray of int
        """
        return self.rows[np.argsort(-self.selector.by_row, kind="stable")[: check_count(n, "n", 1)]]

    def plot(self, path: str = "selector") -> Figure:
        """Draw the changes against n, or row by row where no sizes were asked for; needs the extra ``plot``.

        Parameters
        ----------
        path : {"selector", "scorer", "total"}, default="selector"
            The loss to draw.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from ..plot import uniform_stability

        return uniform_stability(self, path=path)


def uniform_stability(
    selector: BaseSelector,
    X: ArrayLike,
    X_test: ArrayLike,
    *,
    n_left_out: int | None = 20,
    replace: bool = False,
    sizes: Sequence[int] | None = None,
    n_repeats: int = 5,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = 0,
) -> UniformStability:
    r"""Measure how far leaving out one row moves the losses at unseen points.

    Parameters
    ----------
    selector : BaseSelector
        The selector with its settings; it is copied, never fitted itself. An unset ``random_state`` is fixed to one
        seed for all fits.
    X : array-like of shape (n, m)
        The rows to fit on, three at least.
    X_test : array-like of shape (p, m)
        The unseen points.
    n_left_out : int or None, default=20
        How many rows to leave out in turn, drawn at random; all of them for None or where there are fewer.
    replace : bool, default=False
        Replace each row by a row of ``X_test`` rather than leave it out. That row is not compared at. ``beta`` is then
        half of the largest change, as replacing leaves one row out and adds another.
    sizes : sequence of int, optional
        Numbers of rows at which to repeat the measurement, to fit the rate. A repeat draws the rows in random order and
        takes the first ones, so that its samples are nested, and leaves out the same rows at every size, or replaces
        them by the same ones.
    n_repeats : int, default=5
        How often; two at least, used with ``sizes`` only.
    n_jobs : int or None, default=None
        Refits at a time, as in joblib.
    random_state : int, RandomState instance or None, default=0
        Decides the rows, their replacements, and the seed of the selector.

    Returns
    -------
    UniformStability

    See Also
    --------
    generalization_gap : Empirical, leave-one-out and test loss, and the bound that beta gives.
    leave_one_out_certificate : Whether a set is still a 1-swap optimum without a row, for all rows.

    Notes
    -----
    The loss of a point is its squared error divided by the number of columns m; multiply by m for the squared norms of
    [1]_. The kept columns are rebuilt by the selector's own map, so that beta holds two effects: the columns change, or
    only the map does; ``sup_same_set`` is the second alone.

    The sample without row j gives a function that minimises the mean over n - 1 rows. [1]_ divides that sum by n
    instead; this scales both terms of the objective, and the ridge with them since it is relative to the variance, so
    the minimiser is the same.

    Mini-batch training sees other batches once a row is gone, so for ``solver="minibatch"`` and the networks the change
    holds the noise of training as well, even with one seed.

    References
    ----------
    .. [1] Wu & Cheng (2021), Algorithmic stability and generalization of an unsupervised feature selection algorithm,
       NeurIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect import ColumnSubset
    >>> from stableselect.inspection import uniform_stability
    >>> X = load_iris().data
    >>> result = uniform_stability(ColumnSubset(2), X[::2], X[1::2], n_left_out=None)
    >>> result.beta >= result.selector.q99 >= result.selector.median >= 0
    True
    >>> result.share_changed
    0.0
    """
    rows, points = check_tables(X, X_test)
    rng = check_random_state(random_state)
    number = min(len(rows), len(rows) if n_left_out is None else check_count(n_left_out, "n_left_out", 1))
    if replace and len(points) < 2:
        raise ValueError("X_test must have at least 2 rows, one to replace with and one to compare at, but has 1.")
    prepared = prepare(selector, X, int(rng.randint(2**31 - 1)))
    grid = None if sizes is None else _check_sizes(sizes, len(rows))
    n_repeats = check_count(n_repeats, "n_repeats", 2)
    left_out = np.sort(rng.choice(len(rows), number, replace=False))

    def stand_ins(size: int) -> np.ndarray | None:
        return rng.randint(len(points), size=size) if replace else None

    measured = _measure(prepared, rows, left_out, points, stand_ins(number), n_jobs)
    rates: dict[str, StabilityRate] = {}
    if grid is not None:
        samples = []
        for _ in range(n_repeats):
            order = rng.permutation(len(rows))
            gone = np.arange(min(number, int(grid[0])))
            new = stand_ins(gone.size)
            samples.append([_measure(prepared, rows[order[:n]], gone, points, new, n_jobs) for n in grid.tolist()])
        floor = _ROUNDING * float(np.max(np.mean((points - rows.mean(axis=0)) ** 2, axis=1)))
        rates = {path: _rate(path, grid, samples, floor) for path in measured.changes}
    return UniformStability(
        rows=left_out,
        changed=measured.changed,
        selector=measured.changes["selector"],
        scorer=measured.changes.get("scorer"),
        total=measured.changes.get("total"),
        rates=rates,
        n_rows=len(rows),
        n_points=len(points),
        n_features=rows.shape[1],
        replaced=bool(replace),
        downdated=measured.downdated,
    )


@dataclass(frozen=True)
class _Sample:
    """What was measured on one sample of rows."""

    changes: dict[str, LossChange]
    changed: np.ndarray
    downdated: bool


def _measure(
    selector: BaseSelector,
    X: np.ndarray,
    left_out: np.ndarray,
    points: np.ndarray,
    stand_in: np.ndarray | None,
    n_jobs: int | None,
) -> _Sample:
    """Leave out the rows in turn, or replace each by the point that ``stand_in`` numbers."""
    refits = Refits(selector, X, None if stand_in is None else points[stand_in])
    full = refits.fit()
    before = path_losses(full, points)
    outcomes: list[Outcome] = Parallel(n_jobs=n_jobs)(
        delayed(refits.outcome)(int(row), None if stand_in is None else i, points) for i, row in enumerate(left_out)
    )
    changed = np.array([bool((outcome.support != full.support_).any()) for outcome in outcomes])
    changes = {}
    for path, losses in before.items():
        change = np.abs(np.array([outcome.losses[path] for outcome in outcomes]) - losses)
        if stand_in is not None:
            change[np.arange(stand_in.size), stand_in] = np.nan  # no longer unseen
        changes[path] = _summary(change, changed)
    return _Sample(changes, changed, refits.downdates)


def _summary(change: np.ndarray, changed: np.ndarray) -> LossChange:
    by_row = np.nanmax(change, axis=1)
    median, q90, q99 = (float(q) for q in np.nanquantile(change, [0.5, 0.9, 0.99]))
    same = by_row[~changed]
    return LossChange(
        sup=float(by_row.max()),
        mean=float(np.nanmean(change)),
        median=median,
        q90=q90,
        q99=q99,
        by_row=by_row,
        sup_same_set=float(same.max()) if same.size else float("nan"),
    )


def _rate(path: str, sizes: np.ndarray, samples: list[list[_Sample]], floor: float) -> StabilityRate:
    sup = np.array([[sample.changes[path].sup for sample in repeat] for repeat in samples])
    mean = np.array([[sample.changes[path].mean for sample in repeat] for repeat in samples])
    share = np.array([[sample.changed.mean() for sample in repeat] for repeat in samples])
    # The sup decides for both: a mean may lie below the floor although the changes are real.
    real = np.where((sup > floor).all(), 1.0, 0.0)
    return StabilityRate(sizes, sup, mean, share, fit_power_law(sizes, real * sup), fit_power_law(sizes, real * mean))


def _check_sizes(sizes: Any, n: int) -> np.ndarray:
    grid = np.unique(np.asarray(sizes))
    if grid.dtype.kind not in "iu" or grid.size < 2 or grid[0] < 3 or grid[-1] > n:
        raise ValueError(
            f"sizes must hold two different whole numbers or more, from 3 to the {n} rows of X, but is {sizes!r}; "
            "change sizes."
        )
    return grid
