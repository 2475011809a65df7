"""Generalisation bounds as formulas: from uniform stability, and uniform stability from the paper's constants."""

from __future__ import annotations

from math import log, sqrt

from ..base import check_count, check_number


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
