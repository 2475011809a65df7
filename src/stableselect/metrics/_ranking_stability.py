"""Stability of rankings and scores: how far several runs agree on the order or the weight of all features."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import kendalltau, rankdata

from .._core import to_numpy
from ..base import Figures, check_count


@dataclass(frozen=True)
class RankingStability(Figures):
    """Result of :func:`ranking_stability`, all three 1 for identical rankings and 0 on average for random ones.

    Attributes
    ----------
    spearman : float
        Mean over pairs of runs of Spearman's rank correlation.
    kendall : float
        Mean over pairs of runs of Kendall's tau-b.
    canberra : float
        One less the mean Canberra distance over its mean for random rankings: weighs the top of the list most.
    n_runs, n_features : int
        Number of runs and of features.

    Examples
    --------
    >>> from stableselect.metrics import ranking_stability
    >>> round(ranking_stability([[1, 2, 3], [3, 2, 1]]).spearman, 3)
    -1.0
    """

    spearman: float
    kendall: float
    canberra: float
    n_runs: int
    n_features: int


def ranking_stability(rankings: ArrayLike | Iterable[ArrayLike], *, n_top: int | None = None) -> RankingStability:
    r"""Measure how far the rankings of several runs agree.

    Parameters
    ----------
    rankings : array-like of shape (n_runs, m)
        One ranking per run, as in ``ranking_``: the rank of every feature, 1 for the best. Ties may share a rank.
    n_top : int or None, default=None
        Let the Canberra distance tell apart only the ranks from 1 to ``n_top``, and treat all ranks behind as one.
        None uses all ranks.

    Returns
    -------
    RankingStability
        NaN with a warning where a run ranks all features alike.

    See Also
    --------
    score_stability : The same for scores.
    stability : The same for the selected sets.

    Notes
    -----
    Spearman's correlation as a measure of stability is from [1]_. The Canberra distance of two rankings r and s with
    ranks cut at :math:`t + 1`, t = ``n_top``, is

    .. math:: d(r, s) = \sum_f \frac{|r_f' - s_f'|}{r_f' + s_f'}, \qquad r_f' = \min(r_f, t + 1),

    and :math:`1 - \bar d / E d` is returned, with :math:`\bar d` the mean over pairs of runs and :math:`E d` the
    mean over all permutations [2]_. Tied features get their mean rank.

    References
    ----------
    .. [1] A. Kalousis, J. Prados and M. Hilario, "Stability of feature selection algorithms: a study on
       high-dimensional spaces", Knowledge and Information Systems 12, 2007.
    .. [2] G. Jurman, S. Merler, A. Barla, S. Paoli, A. Galea and C. Furlanello, "Algebraic stability indicators for
       ranked lists in molecular profiling", Bioinformatics 24, 2008.

    Examples
    --------
    >>> from stableselect.metrics import ranking_stability
    >>> result = ranking_stability([[1, 2, 3, 4], [1, 2, 4, 3], [1, 3, 2, 4]])
    >>> round(result.spearman, 3), round(result.kendall, 3), round(result.canberra, 3)
    (0.667, 0.556, 0.57)
    """
    table = _as_runs(rankings, "rankings")
    n_runs, m = table.shape
    if table.min() < 1 or table.max() > m:
        raise ValueError(
            f"rankings must hold ranks from 1, the best, to {m} but hold {table.min():g} to {table.max():g}; "
            "pass ranking_ of each fitted selector."
        )
    n_top = m if n_top is None else check_count(n_top, "n_top", 1, m)
    if _warn_if_constant(table, "ranking"):
        return RankingStability(np.nan, np.nan, np.nan, n_runs, m)
    ranks = rankdata(table, axis=1)
    pairs = list(combinations(range(n_runs), 2))
    cut = np.minimum(ranks, n_top + 1)
    distance = np.mean([np.sum(np.abs(cut[i] - cut[j]) / (cut[i] + cut[j])) for i, j in pairs])
    return RankingStability(
        spearman=_mean_correlation(ranks),
        kendall=float(np.mean([kendalltau(ranks[i], ranks[j]).statistic for i, j in pairs])),
        canberra=float(1 - distance / _expected_canberra(m, n_top)),
        n_runs=n_runs,
        n_features=m,
    )


def score_stability(scores: ArrayLike | Iterable[ArrayLike]) -> float:
    """Measure how far the scores of several runs agree: the mean over pairs of runs of Pearson's correlation.

    Parameters
    ----------
    scores : array-like of shape (n_runs, m)
        One score per run and feature, as in ``scores_``.

    Returns
    -------
    float
        1 when the scores of all runs differ by shift and positive scale alone, 0 on average for scores in random order.
        NaN with a warning where a run scores all features alike.

    See Also
    --------
    ranking_stability : The same for rankings, which a few large scores do not rule.

    References
    ----------
    .. [1] A. Kalousis, J. Prados and M. Hilario, "Stability of feature selection algorithms: a study on
       high-dimensional spaces", Knowledge and Information Systems 12, 2007.

    Examples
    --------
    >>> from stableselect.metrics import score_stability
    >>> round(score_stability([[0.1, 0.5, 0.9], [1.0, 5.0, 9.0], [0.2, 0.2, 0.8]]), 3)
    0.911
    """
    table = _as_runs(scores, "scores")
    return np.nan if _warn_if_constant(table, "score") else _mean_correlation(table)


def _mean_correlation(table: np.ndarray) -> float:
    """Return the mean over pairs of runs of Pearson's correlation."""
    # Halved before it is centred: the difference of two finite numbers can be infinite.
    halves = table / 2
    centred = halves - halves.mean(axis=1, keepdims=True)
    centred /= np.abs(centred).max(axis=1, keepdims=True)
    centred /= np.linalg.norm(centred, axis=1, keepdims=True)
    pairs = (centred @ centred.T)[np.triu_indices(len(table), 1)]
    return float(np.mean(np.clip(pairs, -1.0, 1.0)))


def _expected_canberra(m: int, n_top: int) -> float:
    """Return the mean Canberra distance of two random rankings of m features with ranks cut at n_top + 1.

    The two ranks of a feature are then independent and uniform, so it is (1/m) sum_{x,y} |x' - y'| / (x' + y'). The sum
    over y <= t is closed by harmonic numbers H, since |x - y| / (x + y) = +-(2x / (x + y) - 1).
    """
    x = np.arange(1, n_top + 1)
    H = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, 2 * n_top + 1))])
    below = 2 * x * (H[2 * x - 1] - H[x]) - (x - 1)
    above = (n_top - x) - 2 * x * (H[n_top + x] - H[2 * x])
    behind = 2 * (m - n_top) * (n_top + 1 - x) / (n_top + 1 + x)
    return float(np.sum(below + above + behind) / m)


def _as_runs(runs: Any, name: str) -> np.ndarray:
    """Return one line of finite numbers per run."""
    rows = [to_numpy(row) for row in (to_numpy(runs) if hasattr(runs, "__array__") else runs)]
    if len(rows) < 2:
        raise ValueError(
            f"{name} must hold at least two runs but hold {len(rows)}; repeat the selection on other samples or seeds."
        )
    if any(row.ndim != 1 or row.size == 0 or row.size != rows[0].size for row in rows):
        raise ValueError(
            f"{name} must hold one number per feature in every run but have the shapes "
            f"{', '.join(sorted({str(row.shape) for row in rows}))}; pass runs on the same features."
        )
    if any(row.dtype.kind not in "iuf" or not np.isfinite(row).all() for row in rows):
        raise ValueError(f"{name} must hold finite numbers but hold something else; drop the runs that failed.")
    return np.stack(rows).astype(np.float64)


def _warn_if_constant(table: np.ndarray, what: str) -> bool:
    """Tell whether a run gives all features the same value; warn, in the name of the caller's caller, if so."""
    constant = np.flatnonzero(table.min(axis=1) == table.max(axis=1))
    if constant.size:
        warnings.warn(
            f"Run {constant[0]} gives every feature the same {what}, so its agreement with other runs is undefined and "
            "the stability is NaN; leave such runs out.",
            stacklevel=3,
        )
    return bool(constant.size)
