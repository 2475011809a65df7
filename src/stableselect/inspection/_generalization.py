"""The generalisation gap: empirical, leave-one-out and test loss, and the bound that uniform stability would give.

The bounds are formulas: from uniform stability, and uniform stability from the constants of the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from ..base import BaseSelector, Figures, check_count, check_number
from ._leave_one_out import Refits, path_losses, prepare

_ROUNDING = 1e-12
"""A largest loss below this fraction of the mean predictor's is rounding."""


@dataclass(frozen=True)
class GeneralizationGap(Figures):
    """Result of :func:`generalization_gap`. Losses are squared errors, averaged over the features.

    Attributes
    ----------
    empirical : float
        Mean loss of the samples fitted on.
    leave_one_out, leave_one_out_standard_error : float
        Mean over the samples left out of the loss at a sample without which the selector was fitted, and the standard
        error that comes from leaving out some of the samples only; 0 where all were left out.
    test, test_standard_error : float
        Mean loss of the test samples, and its standard error; NaN for one test sample.
    mean_predictor : float
        Mean loss on the test samples of predicting the mean of the training samples.
    beta : float
        Largest change of a loss seen when a sample was left out, over the test samples and the sample itself.
    largest_loss : float
        M, the largest loss seen, over all fits.
    bound_empirical, bound_leave_one_out : float
        The two bounds of :func:`bousquet_elisseeff_bound` with ``beta`` and ``largest_loss`` put in.
    delta : float
        The probability with which a bound may fail, were ``beta`` and ``largest_loss`` the true ones.
    n_samples, n_left_out, n_test, n_features : int
        Samples fitted on, samples left out in turn, test samples, features.
    is_plug_in : bool
        Always true. What is measured on one training set can only be too small, so neither bound is a guarantee.
    """

    empirical: float
    leave_one_out: float
    leave_one_out_standard_error: float
    test: float
    test_standard_error: float
    mean_predictor: float
    beta: float
    largest_loss: float
    bound_empirical: float
    bound_leave_one_out: float
    delta: float
    n_samples: int
    n_left_out: int
    n_test: int
    n_features: int
    is_plug_in: bool = True

    @property
    def gap(self) -> float:
        """Test loss less empirical loss."""
        return self.test - self.empirical

    @property
    def gap_leave_one_out(self) -> float:
        """Test loss less leave-one-out loss."""
        return self.test - self.leave_one_out

    @property
    def useful_below(self) -> float:
        """What a bound must not exceed to say anything: the largest loss, and the mean predictor's."""
        # Where every loss is rounding, as with all features kept, its size means nothing.
        return min(max(self.largest_loss, _ROUNDING * self.mean_predictor), self.mean_predictor)

    @property
    def vacuous(self) -> bool:
        """Whether neither bound says anything."""
        return min(self.bound_empirical, self.bound_leave_one_out) > self.useful_below

    def __str__(self) -> str:
        """Return the figures as a few lines of text."""
        bounds = {"empirical": self.bound_empirical, "leave-one-out": self.bound_leave_one_out}
        lines = [
            f"{self.n_samples} samples, {self.n_features} features; mean squared error",
            f"  empirical loss      {self.empirical:.6g}",
            f"  leave-one-out loss  {self.leave_one_out:.6g} ± {self.leave_one_out_standard_error:.2g} "
            f"({self.n_left_out} samples left out)",
            f"  test loss           {self.test:.6g} ± {self.test_standard_error:.2g} ({self.n_test} samples)",
            f"  mean predictor      {self.mean_predictor:.6g}",
            f"  beta {self.beta:.3g} and M {self.largest_loss:.3g}, as measured: lower bounds of the true ones",
        ]
        lines += [
            f"  plug-in bound from the {name} loss, delta {self.delta:g}: {bound:.4g}"
            f"{' (vacuous)' if bound > self.useful_below else ''}"
            for name, bound in bounds.items()
        ]
        return "\n".join([*lines, "  The bounds are plug-in estimates, not guarantees."])


def generalization_gap(
    selector: BaseSelector,
    X: ArrayLike,
    X_test: ArrayLike,
    *,
    delta: float = 0.05,
    n_left_out: int | None = 100,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = 0,
) -> GeneralizationGap:
    r"""Compare the loss on the samples fitted on with leave-one-out and test loss, and with the bounds from stability.

    Parameters
    ----------
    selector : BaseSelector
        The selector with its settings; it is copied, never fitted itself. An unset ``random_state`` is fixed to one
        seed for all fits.
    X : array-like of shape (n, m)
        The samples to fit on, three at least.
    X_test : array-like of shape (p, m)
        Samples from the same source that were not fitted on.
    delta : float, default=0.05
        The probability with which a bound may fail.
    n_left_out : int or None, default=100
        How many samples to leave out in turn, drawn at random; all of them for None or where there are fewer.
    n_jobs : int or None, default=None
        Refits at a time, as in joblib.
    random_state : int, RandomState instance or None, default=0
        Decides the samples, and the seed of the selector.

    Returns
    -------
    GeneralizationGap

    See Also
    --------
    uniform_stability : More about beta: by sample, by quantile, against n.
    bousquet_elisseeff_bound : The formulas.

    Notes
    -----
    The loss of a sample is the squared error of reconstructing it from its selected features, divided by the number of
    features m; multiply all figures, bounds included, by m for the squared norms of the paper.

    The theorem [1]_ asks for the largest change over *all* training sets, samples and points. One training set shows
    some of them, so the measured beta and M are at most the true ones, and the bounds are **plug-in estimates**: the
    true constants give larger bounds, never smaller ones. ``docs/generalization.md`` says more.

    References
    ----------
    .. [1] O. Bousquet and A. Elisseeff, "Stability and generalization", Journal of Machine Learning Research 2, 2002,
       Theorem 12.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect import ColumnSubset
    >>> from stableselect.inspection import generalization_gap
    >>> X = load_iris().data
    >>> result = generalization_gap(ColumnSubset(2), X[::2], X[1::2], n_left_out=20)
    >>> result.empirical < result.leave_one_out, result.is_plug_in
    (True, True)
    """
    delta = check_number(delta, "delta", 0, 1, inside=True)
    prepared, rows, points, left_out = prepare(selector, X, X_test, n_left_out, check_random_state(random_state))
    n, number = len(rows), left_out.size
    refits = Refits(prepared, rows, left_out, points, None, n_jobs)
    trained, tested = (path_losses(refits.full, table)["selector"] for table in (rows, points))
    own, at_points = refits.own, refits.losses["selector"]
    beta = float(max(np.abs(at_points - tested).max(), np.abs(own - trained[left_out]).max()))
    largest = float(max(part.max() for part in (trained, tested, own, at_points)))
    empirical, leave_one_out = float(trained.mean()), float(own.mean())
    return GeneralizationGap(
        empirical=empirical,
        leave_one_out=leave_one_out,
        # The samples are drawn from n without replacement; with all of them the mean is exact.
        leave_one_out_standard_error=_standard_error(own) * float(np.sqrt(1 - number / n)) if number < n else 0.0,
        test=float(tested.mean()),
        test_standard_error=_standard_error(tested),
        mean_predictor=float(np.mean((points - rows.mean(axis=0)) ** 2)),
        beta=beta,
        largest_loss=largest,
        bound_empirical=bousquet_elisseeff_bound(empirical, beta, largest, n, delta=delta),
        bound_leave_one_out=bousquet_elisseeff_bound(leave_one_out, beta, largest, n, delta=delta, leave_one_out=True),
        delta=delta,
        n_samples=n,
        n_left_out=number,
        n_test=len(points),
        n_features=rows.shape[1],
    )


def _standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else float("nan")


def bousquet_elisseeff_bound(
    loss: float, beta: float, largest_loss: float, n: int, *, delta: float = 0.05, leave_one_out: bool = False
) -> float:
    r"""Bound on the expected loss of an algorithm of uniform stability ``beta``.

    With probability at least 1 - delta over the draw of the n samples [1]_, each of the two holds on its own:

        R <= R_emp + 2 beta + (4 n beta + M) sqrt(ln(1/delta) / (2n)),
        R <= R_loo +   beta + (4 n beta + M) sqrt(ln(1/delta) / (2n)).

    Both ask that removing a sample moves no loss at any point by more than ``beta``, whatever the n samples are, and
    that no loss lies above M; the second asks the same of n - 1 samples.

    Parameters
    ----------
    loss : float
        The empirical loss, or the leave-one-out loss.
    beta : float
        The uniform stability, in the unit of the losses.
    largest_loss : float
        M.
    n : int
        Number of samples.
    delta : float, default=0.05
        The probability that the bound fails.
    leave_one_out : bool, default=False
        Whether ``loss`` is the leave-one-out loss.

    Returns
    -------
    float
        The bound.

    References
    ----------
    .. [1] O. Bousquet and A. Elisseeff, "Stability and generalization", Journal of Machine Learning Research 2, 2002,
       Theorem 12.

    Examples
    --------
    >>> from stableselect.inspection import bousquet_elisseeff_bound
    >>> round(bousquet_elisseeff_bound(0.1, 0.001, 1.0, 1000), 4)
    0.2955
    """
    n = check_count(n, "n", 1)
    for name, value in {"loss": loss, "beta": beta, "largest_loss": largest_loss}.items():
        check_number(value, name)
    delta = check_number(delta, "delta", 0, 1, inside=True)
    slack = (4 * n * beta + largest_loss) * sqrt(log(1 / delta) / (2 * n))
    return float(loss + (1 if leave_one_out else 2) * beta + slack)


def explicit_stability_bound(
    n: int,
    scorer_weight: float,
    *,
    kappa2: float,
    kappa3: float,
    kappa4: float,
    kappa5: float,
    kappa6: float,
    kappa7: float,
    n_core: int,
) -> float:
    r"""Uniform stability of the linear scorer-selector from the constants of the paper's assumptions.

    With a = kappa2 sqrt(kappa5) / scorer_weight + sqrt(kappa6) and u = ``n_core``,

        E = kappa4 sqrt(u) a / (n-1) + sqrt(a kappa3 kappa7 / (n (n-1))),
        beta = 2 kappa2 sqrt(kappa5) (kappa4 sqrt(u) E + kappa3 kappa7 / n),

    which has the rate of Theorem 1 of [1]_. ``docs/generalization.md`` derives it and names what it needs beyond the
    paper's assumptions: one encoder and decoder for both fits, the same selected features, and ``kappa6`` and
    ``kappa7``.

    Parameters
    ----------
    n : int
        Number of samples, two or more.
    scorer_weight : float
        lambda_1, above 0.
    kappa2 : float
        Assumption 1: by how much more the selector's outputs may move than the scorer's.
    kappa3, kappa4 : float
        Assumption 2: every point is a combination of core samples with coefficients of norm ``kappa4`` at most, up to a
        rest of norm ``kappa3`` / n at most.
    kappa5, kappa6 : float
        Largest loss of the selector and of the scorer.
    kappa7 : float
        Largest spectral norm of (Phi_* - Phi_*^{without j}) W_E W_D.
    n_core : int
        Number u of core samples.

    Returns
    -------
    float
        The bound, in the unit of ``kappa5``; the paper's losses are squared norms.

    References
    ----------
    .. [1] Wu & Cheng (2021), Algorithmic stability and generalization of an unsupervised feature selection algorithm,
       NeurIPS.

    Examples
    --------
    >>> from stableselect.inspection import explicit_stability_bound
    >>> explicit_stability_bound(11, 1.0, kappa2=1, kappa3=0, kappa4=1, kappa5=1, kappa6=1, kappa7=1, n_core=2)
    0.8
    """
    n, n_core = check_count(n, "n", 2), check_count(n_core, "n_core", 1)
    for i, value in enumerate((kappa2, kappa3, kappa4, kappa5, kappa6, kappa7), start=2):
        check_number(value, f"kappa{i}")
    check_number(scorer_weight, "scorer_weight", inside=True)
    a = kappa2 * sqrt(kappa5) / scorer_weight + sqrt(kappa6)
    spread = kappa4 * sqrt(n_core)
    E = spread * a / (n - 1) + sqrt(a * kappa3 * kappa7 / (n * (n - 1)))
    return float(2 * kappa2 * sqrt(kappa5) * (spread * E + kappa3 * kappa7 / n))
