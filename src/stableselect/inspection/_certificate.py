"""Leave-one-out certificate of a feature subset: for every sample, is the set still a 1-swap optimum without it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from .._core import EXHAUSTED, ROUNDING
from ..base import check_count, data_frame
from ..subset import ColumnSubset
from ._sample_removal import State, SwapTask, judge


@dataclass(frozen=True, eq=False)
class Certificate:
    """Result of :func:`leave_one_out_certificate`; entry i of every array belongs to sample ``samples[i]``.

    Attributes
    ----------
    samples : ndarray of int, shape (r,)
        The samples left out in turn.
    is_optimal : ndarray of bool, shape (r,)
        Whether no swap of a kept for a discarded feature lowers the loss of the other samples.
    margin : ndarray of float, shape (r,)
        By what fraction of the loss the best swap would raise it. Negative: the swap lowers it. Infinite: there is no
        swap to make, or the selected features leave nothing to gain.
    swaps : ndarray of int, shape (r, 2)
        The best swap: feature dropped, feature added; -1 where there is none.
    full_margin : float
        The same margin with no sample left out. Where it is negative the set is no 1-swap optimum to begin with.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect.inspection import leave_one_out_certificate
    >>> certificate = leave_one_out_certificate(load_iris().data, [0, 2])
    >>> certificate.influential(3)
    array([106, 135,  50])
    """

    samples: np.ndarray
    is_optimal: np.ndarray
    margin: np.ndarray
    swaps: np.ndarray
    full_margin: float

    @property
    def fraction_optimal(self) -> float:
        """Fraction of the samples without which the set is still optimal."""
        return float(np.mean(self.is_optimal))

    def influential(self, n: int = 10) -> np.ndarray:
        """Return the n samples with the smallest margin, smallest first; ties go to the sample given first.

        Parameters
        ----------
        n : int, default=10
            How many samples; all of them when there are fewer.

        Returns
        -------
        ndarray of int
        """
        return self.samples[np.argsort(self.margin, kind="stable")[: check_count(n, "n", 1)]]

    def to_frame(self) -> Any:
        """Return one row for each sample left out (needs pandas).

        Returns
        -------
        pandas.DataFrame
            With the columns sample, is_optimal, margin, dropped and added.
        """
        dropped, added = self.swaps.T
        columns = {"sample": self.samples, "is_optimal": self.is_optimal, "margin": self.margin}
        return data_frame({**columns, "dropped": dropped, "added": added})

    def __str__(self) -> str:
        lines = [
            f"{self.is_optimal.sum()} of {self.samples.size} samples leave the set a 1-swap optimum when they go",
            f"margin with all samples {self.full_margin:.3g}",
        ]
        lines += [f"without sample {i} {self.margin[self.samples == i][0]:.3g}" for i in self.influential(3)]
        return "\n".join(lines)


def leave_one_out_certificate(
    X: ArrayLike,
    selected: ArrayLike,
    *,
    ridge: float = 0.0,
    samples: ArrayLike | None = None,
    include: Iterable[str | int] | None = None,
    exclude: Iterable[str | int] | None = None,
) -> Certificate:
    """Tell for every sample whether the set is a 1-swap optimum of :class:`~stableselect.ColumnSubset` without it.

    All k (m - k) swaps are tried for every sample, so the answer is a proof for this table (to rounding), not an
    estimate. A set that is still optimal need not be the one a search from scratch returns: read
    :func:`leave_one_out_change_rate` beside it. The loss is the training loss; a set that was searched on its
    leave-one-out error (``search_criterion_`` says so) need not be an optimum of it.

    Parameters
    ----------
    X : array-like of shape (n, m)
        The table the set was chosen from, of at least three samples.
    selected : array-like
        The selected features: integer indices, or a Boolean mask of length m. Their order does not matter.
    ridge : float, default=0.0
        The selector's ``ridge_``, relative to the mean variance of all samples. The weight this gives is held fixed in
        absolute terms when a sample goes.
    samples : array-like of int, optional
        The samples to leave out in turn; all by default.
    include, exclude : sequence of str or int, optional
        Features, by name or index, that no swap may drop or add.

    Returns
    -------
    Certificate

    See Also
    --------
    leave_one_out_change_rate : How often a search from scratch returns another set.

    Notes
    -----
    The loss, its swaps and the tolerance are those of the exchange search: a swap counts when it lowers the loss by
    more than 1e-10 of it and more than rounding can, so a set with an interchangeable feature outside has margin zero
    and is optimal. Where kept features are combinations of each other, dropping a superfluous one costs nothing. Like
    the search, this works from second moments: a margin is exact to about 1e-12 over the fraction of the variance that
    the set leaves. Where k is n - 3 or more that fraction is often below 1e-6, and few digits are right; below 1e-10
    nothing counts as left.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect.inspection import leave_one_out_certificate
    >>> certificate = leave_one_out_certificate(load_iris().data, [0, 2])
    >>> certificate.samples[~certificate.is_optimal], round(certificate.fraction_optimal, 3)
    (array([106]), 0.993)
    >>> certificate.swaps[106]  # without that sample, feature 1 would do better than feature 0
    array([0, 1])
    """
    task = SwapTask(X, selected, ridge, include, exclude)
    left_out = _check_samples(samples, task.n)
    gain, rounding, loss, total, swaps = map(np.concatenate, zip(*judge(task, left_out), strict=True))
    optimal, margin = _verdict(gain, rounding, loss, total)
    swaps[np.isinf(margin)] = -1
    whole = State(task.gram, task, task.ridge)
    table = _verdict(*(np.array([value]) for value in (*whole.best()[:2], whole.loss, task.gram.trace())))
    return Certificate(left_out, optimal, margin, swaps, float(table[1][0]))


def leave_one_out_change_rate(
    X: ArrayLike,
    selected: ArrayLike,
    *,
    ridge: float = 0.0,
    samples: ArrayLike | int = 20,
    include: Iterable[str | int] | None = None,
    exclude: Iterable[str | int] | None = None,
    random_state: int | np.random.RandomState | None = 0,
) -> float:
    """Fraction of samples without which a search from scratch on the training loss returns another set.

    Every sample tried costs a whole search of the others, so this is meant for some of the samples.

    Parameters
    ----------
    X, selected, ridge, include, exclude
        As for :func:`leave_one_out_certificate`; the ridge weight is held fixed in the same way.
    samples : array-like of int, or int, default=20
        The samples to leave out in turn, or how many to draw at random (all where there are fewer).
    random_state : int, RandomState instance or None, default=0
        Decides the samples drawn.

    Returns
    -------
    float
        The fraction, from 0 to 1.

    See Also
    --------
    leave_one_out_certificate : Whether the set is still a 1-swap optimum, for all samples.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect.inspection import leave_one_out_change_rate
    >>> leave_one_out_change_rate(load_iris().data, [0, 2], samples=10)
    0.0
    """
    task = SwapTask(X, selected, ridge, include, exclude)
    if isinstance(samples, Integral):
        size = min(check_count(samples, "samples", 1), task.n)
        samples = np.sort(check_random_state(random_state).choice(task.n, size, replace=False))
    left_out = _check_samples(samples, task.n)
    k, differs = task.chosen.size, 0
    for sample in left_out:
        others = np.delete(task.X, sample, axis=0)
        spread = float(np.sum(np.var(others, axis=0)))
        relative = task.ridge * task.unit * task.m / spread if spread > 0 else task.ridge
        selector = ColumnSubset(
            k, ridge=relative, include=task.fixed, exclude=task.barred, search_criterion="training"
        ).fit(others)
        differs += set(selector.selected_.tolist()) != set(task.chosen.tolist())
    return differs / left_out.size


def _verdict(
    gain: np.ndarray, rounding: np.ndarray, loss: np.ndarray, total: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return whether the set is optimal, by the rule that ends the exchange search, and the margin."""
    left = loss > EXHAUSTED * total
    optimal = ~left | (gain <= np.maximum(rounding, ROUNDING * total))
    return optimal, np.where(left, -gain / np.where(left, loss, 1.0), np.inf)


def _check_samples(samples: ArrayLike | None, n: int) -> np.ndarray:
    if samples is None:
        return np.arange(n)
    asked = np.asarray(samples)
    if asked.ndim != 1 or asked.dtype.kind not in "iu" or not asked.size:
        raise ValueError(f"samples must be a list of indices but is {samples!r}; count the samples from 0.")
    if asked.min() < 0 or asked.max() >= n:
        raise ValueError(
            f"samples must hold indices from 0 to {n - 1} but holds {asked.min()} to {asked.max()}; count the samples "
            "from 0."
        )
    return asked.astype(np.intp)
