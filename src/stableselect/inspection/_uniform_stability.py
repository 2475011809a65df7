"""Uniform stability, measured: how far one training sample moves the losses at unseen points.

An algorithm A with loss l has uniform stability beta when, for all training sets S of n samples, every sample j of them
and all points x, the loss of x changes by |l(A_S, x) - l(A_S without j, x)| <= beta [1]_. What can be measured on one
training set is the largest change over some samples j and some points x: a lower bound of beta. Replacing a sample is
leaving one out and adding another, so it moves a loss by up to 2 beta, and half of its largest change is the lower
bound.

References
----------
.. [1] O. Bousquet and A. Elisseeff, "Stability and generalization", Journal of Machine Learning Research 2, 2002.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from ..base import BaseSelector, check_count, data_frame
from ._leave_one_out import LossChange, Refits, path_losses, prepare
from ._power_law import PowerLawFit, fit_power_law

_ROUNDING = 1e-12
"""Changes below this fraction of the largest mean-predictor loss are rounding, and no rate is fitted to them."""
_Measured = tuple[dict[str, LossChange], float]
"""The changes of every loss, and the fraction of samples that changed the selected features."""


@dataclass(frozen=True)
class StabilityRate:
    """Changes of one loss against the number of samples.

    Attributes
    ----------
    sizes : ndarray of int, shape (s,)
        Numbers of samples.
    sup, mean : ndarray of shape (repeats, s)
        Largest and mean change of every training set.
    fraction_changed : ndarray of shape (repeats, s)
        Fraction of the samples left out that changed the selected features.
    sup_rate, mean_rate : PowerLawFit
        The power of n that fits them.
    """

    sizes: np.ndarray
    sup: np.ndarray
    mean: np.ndarray
    fraction_changed: np.ndarray
    sup_rate: PowerLawFit
    mean_rate: PowerLawFit


@dataclass(frozen=True)
class UniformStability:
    """Result of :func:`uniform_stability`. Losses are squared errors, averaged over the features.

    Attributes
    ----------
    samples : ndarray of int, shape (r,)
        The samples left out, or replaced, in turn.
    changed : ndarray of bool, shape (r,)
        Whether the selected features changed.
    full : BaseSelector
        The selector fitted on all samples.
    supports : ndarray of bool, shape (r, m)
        The features selected without each sample, or with it replaced.
    selector : LossChange
        Of the loss of reconstructing a point from its selected features.
    scorer, total : LossChange or None
        Of the scorer's loss, and of the selector's plus ``scorer_weight`` times the scorer's; None for selectors
        without a scorer.
    rates : dict of str to StabilityRate
        The same against n, by the names of the three losses; empty where no sizes were asked for.
    n_samples, n_points, n_features : int
        Samples fitted on, points compared at, and features. The paper's losses are squared norms, ``n_features`` times
        these.
    replaced : bool
        Whether samples were replaced rather than left out.
    downdated : bool
        Whether samples were taken out of the moments; else the selector was fitted anew.
    """

    samples: np.ndarray
    changed: np.ndarray
    full: BaseSelector
    supports: np.ndarray
    selector: LossChange
    scorer: LossChange | None
    total: LossChange | None
    rates: dict[str, StabilityRate]
    n_samples: int
    n_points: int
    n_features: int
    replaced: bool
    downdated: bool

    @property
    def beta(self) -> float:
        """Lower bound of the uniform stability: the selector's largest change, halved where samples were replaced."""
        return self.selector.sup / 2 if self.replaced else self.selector.sup

    @property
    def changes(self) -> dict[str, LossChange]:
        """The losses that the selector has, by name: "selector", and "scorer" and "total" where it has a scorer."""
        losses = {"selector": self.selector, "scorer": self.scorer, "total": self.total}
        return {name: loss for name, loss in losses.items() if loss is not None}

    @property
    def fraction_changed(self) -> float:
        """Fraction of the samples left out that changed the selected features."""
        return float(np.mean(self.changed))

    def influential(self, n: int = 10) -> np.ndarray:
        """Return the n samples that move the selector's loss most, largest first; ties go to the sample listed first.

        Parameters
        ----------
        n : int, default=10
            How many samples; all of them when there are fewer.

        Returns
        -------
        ndarray of int
        """
        return self.samples[np.argsort(-self.selector.by_sample, kind="stable")[: check_count(n, "n", 1)]]

    def to_frame(self) -> Any:
        """Return one row for each sample left out, largest change first (needs pandas).

        Returns
        -------
        pandas.DataFrame
            With the columns sample, changed, and the largest change of each loss.
        """
        order = np.argsort(-self.selector.by_sample, kind="stable")
        columns = {name: loss.by_sample for name, loss in self.changes.items()}
        columns = {"sample": self.samples, "changed": self.changed, **columns}
        return data_frame({name: values[order] for name, values in columns.items()})

    def __str__(self) -> str:
        what = "replaced" if self.replaced else "left out"
        lines = [
            f"{self.samples.size} of {self.n_samples} samples {what}, losses compared at {self.n_points} points",
            f"beta               {self.beta:.3g} (lower bound of the uniform stability)",
            f"median change      {self.selector.median:.3g}",
            f"same features      {self.selector.sup_same_set:.3g} (largest change where the selected features stay)",
            f"features changed   {100 * self.fraction_changed:.0f} % of the samples {what}",
        ]
        for path, rate in self.rates.items():
            low, high = rate.sup_rate.interval
            lines.append(f"{f'slope, {path}':<18} {rate.sup_rate.slope:.2f} ({low:.2f} to {high:.2f})")
        return "\n".join(lines)


def uniform_stability(
    selector: BaseSelector,
    X: ArrayLike,
    X_test: ArrayLike,
    *,
    n_left_out: int | None = 20,
    samples: ArrayLike | None = None,
    replace: bool = False,
    sizes: Sequence[int] | None = None,
    n_repeats: int = 5,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = 0,
) -> UniformStability:
    r"""Measure how far leaving out one sample moves the losses at unseen points.

    Parameters
    ----------
    selector : BaseSelector
        The selector with its settings; it is copied, never fitted itself. An unset ``random_state`` is fixed to one
        seed for all fits.
    X : array-like of shape (n, m)
        The samples to fit on, three at least.
    X_test : array-like of shape (p, m)
        The unseen points.
    n_left_out : int or None, default=20
        How many samples to leave out in turn, drawn at random; all of them for None or where there are fewer.
    samples : array-like of int, optional
        Indices of the samples to leave out in turn, instead of ``n_left_out`` drawn ones. Not together with ``sizes``.
    replace : bool, default=False
        Replace each sample by a sample of ``X_test`` rather than leave it out. That sample is not compared at. ``beta``
        is then half of the largest change, as replacing leaves one sample out and adds another.
    sizes : sequence of int, optional
        Numbers of samples at which to repeat the measurement, to fit the rate. A repeat draws the samples in random
        order and takes the first ones, so that its training sets are nested, and leaves out the same samples at every
        size, or replaces them by the same ones.
    n_repeats : int, default=5
        How often; two at least, used with ``sizes`` only.
    n_jobs : int or None, default=None
        Refits at a time, as in joblib.
    random_state : int, RandomState instance or None, default=0
        Decides the samples, their replacements, and the seed of the selector.

    Returns
    -------
    UniformStability

    See Also
    --------
    generalization_gap : Empirical, leave-one-out and test loss, and the bound that beta gives.
    leave_one_out_certificate : Whether a set is still a 1-swap optimum without a sample, for all samples.

    Notes
    -----
    The loss of a point is its squared error divided by the number of features m; multiply by m for the squared norms of
    [1]_. The selected features are reconstructed by the selector's own map, so that beta holds two effects: the
    features change, or only the map does; ``sup_same_set`` is the second alone.

    The training set without sample j gives a function that minimises the mean over n - 1 samples. [1]_ divides that sum
    by n instead; this scales both terms of the objective, and the ridge with them since it is relative to the variance,
    so the minimiser is the same.

    Mini-batch training sees other batches once a sample is gone, so for ``solver="minibatch"`` and the networks the
    change holds the noise of training as well, even with one seed.

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
    >>> result = uniform_stability(ColumnSubset(2), X[::2], X[1::2], n_left_out=20)
    >>> result.beta >= result.selector.q99 >= result.selector.median >= 0
    True
    >>> result.fraction_changed
    0.0
    """
    rng = check_random_state(random_state)
    if samples is not None and sizes is not None:
        raise ValueError("sizes draws the samples to leave out, so samples must not be given too; drop one of them.")
    prepared, rows, points, left_out = prepare(selector, X, X_test, n_left_out, rng, samples)
    if replace and len(points) < 2:
        raise ValueError("X_test must have at least 2 samples, one to replace with and one to compare at, but has 1.")
    grid = None if sizes is None else _check_sizes(sizes, len(rows))
    n_repeats = check_count(n_repeats, "n_repeats", 2)

    def replacements(size: int) -> np.ndarray | None:
        return rng.randint(len(points), size=size) if replace else None

    def measure(X: np.ndarray, left_out: np.ndarray, new: np.ndarray | None) -> tuple[dict[str, LossChange], Refits]:
        """Leave out the samples in turn, or replace each by the point that ``new`` numbers."""
        refits = Refits(prepared, X, left_out, points, None if new is None else points[new], n_jobs)
        if new is not None:
            for losses in refits.losses.values():
                losses[np.arange(new.size), new] = np.nan  # no longer unseen
        return {
            path: LossChange.from_losses(losses, refits.losses[path], refits.changed)
            for path, losses in path_losses(refits.full, points).items()
        }, refits

    changes, refits = measure(rows, left_out, replacements(left_out.size))
    rates: dict[str, StabilityRate] = {}
    if grid is not None:
        repeats = []
        for _ in range(n_repeats):
            order = rng.permutation(len(rows))
            gone = np.arange(min(left_out.size, int(grid[0])))
            new = replacements(gone.size)
            measured = (measure(rows[order[:n]], gone, new) for n in grid.tolist())
            repeats.append([(found, float(np.mean(fits.changed))) for found, fits in measured])
        smallest = _ROUNDING * float(np.max(np.mean((points - rows.mean(axis=0)) ** 2, axis=1)))
        rates = {path: _rate(path, grid, repeats, smallest) for path in changes}
    return UniformStability(
        samples=left_out,
        changed=refits.changed,
        full=refits.full,
        supports=refits.supports,
        selector=changes["selector"],
        scorer=changes.get("scorer"),
        total=changes.get("total"),
        rates=rates,
        n_samples=len(rows),
        n_points=len(points),
        n_features=rows.shape[1],
        replaced=bool(replace),
        downdated=refits.downdated,
    )


def _rate(path: str, sizes: np.ndarray, measured: list[list[_Measured]], smallest: float) -> StabilityRate:
    sup = np.array([[changes[path].sup for changes, _ in repeat] for repeat in measured])
    mean = np.array([[changes[path].mean for changes, _ in repeat] for repeat in measured])
    fraction = np.array([[changed for _, changed in repeat] for repeat in measured])
    # The sup decides for both: a mean may be below the limit although the changes are real.
    real = np.where((sup > smallest).all(), 1.0, 0.0)
    fits = fit_power_law(sizes, real * sup), fit_power_law(sizes, real * mean)
    return StabilityRate(sizes, sup, mean, fraction, *fits)


def _check_sizes(sizes: Any, n: int) -> np.ndarray:
    grid = np.unique(np.asarray(sizes))
    if grid.dtype.kind not in "iu" or grid.size < 2 or grid[0] < 3 or grid[-1] > n:
        raise ValueError(
            f"sizes must hold two different whole numbers or more, from 3 to the {n} samples of X, but is {sizes!r}; "
            "change sizes."
        )
    return grid
