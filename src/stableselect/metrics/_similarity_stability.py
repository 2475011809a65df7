"""Stability of feature selection where features are interchangeable, such as neighbouring pixels."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from .._core import BLOCK_ELEMENTS, Moments, memory_limit, normalised_moments, to_numpy
from ..base import Figures, check_columns, check_count, check_number, check_supports
from ._stability import warn_if_no_choice

_ROUNDING = 1e-9
"""Differences up to this are rounding."""


@dataclass(frozen=True)
class SimilarityStability(Figures):
    """Result of :func:`similarity_stability`.

    Attributes
    ----------
    effective : float
        Sechidis's effective stability: 1 for identical sets, and for sets that differ only in features of similarity 1;
        0 on average for sets drawn at random. NaN where there was no choice or all features are alike.
    adjusted : float
        Bommert's adjusted measure with mean similarities: 1 for identical sets, 0 on average for sets drawn at random.
        NaN where there was no choice, all features are alike or a set is empty.
    zucknick : float
        Zucknick's correlation-adjusted Jaccard index: 1 for identical sets, not corrected for chance.
    n_runs, n_features : int
        Number of runs, and of features to choose from.

    Examples
    --------
    >>> import numpy as np
    >>> from stableselect.metrics import similarity_stability
    >>> twins = np.kron(np.eye(3), np.ones((2, 2)))
    >>> round(similarity_stability([[0, 2], [1, 3]], twins).effective, 3)
    1.0
    """

    effective: float
    adjusted: float
    zucknick: float
    n_runs: int
    n_features: int


def similarity_stability(
    supports: ArrayLike | Iterable[ArrayLike],
    similarity: ArrayLike,
    *,
    threshold: float | None = None,
    n_draws: int = 1000,
    random_state: int | np.random.RandomState | None = 0,
) -> SimilarityStability:
    r"""Measure how far the feature sets of several runs agree when similar features count as partly the same.

    Parameters
    ----------
    supports : array-like of shape (n_runs, m), or iterable of feature sets
        One set per run: Boolean masks of length m, or lists of distinct feature indices.
    similarity : array-like of shape (m, m)
        Symmetric, from 0 for unrelated features to 1 for interchangeable ones, with ones on the diagonal; see
        :func:`feature_similarity`.
    threshold : float or None, default=None
        Similarities below it count as 0. None keeps them all, which suits ``effective``; the other two are meant for a
        threshold, such as 0.9.
    n_draws : int, default=1000
        Number of pairs of random sets drawn to find the chance level of ``adjusted``, for each pair of set sizes.
    random_state : int, RandomState instance or None, default=0
        Decides these draws. The other two measures need none.

    Returns
    -------
    SimilarityStability
        Where every run selected all features, or none did, ``effective`` and ``adjusted`` are NaN and a warning says
        so.

    See Also
    --------
    stability : Without similarities.

    Notes
    -----
    Let C be the similarity after the threshold, M the number of runs, and S the sample covariance of the masks
    (divisor M - 1). The effective stability [1]_ is

    .. math:: 1 - \frac{\operatorname{tr}(C S)}{\operatorname{tr}(C \Sigma)},

    where :math:`\Sigma` is the covariance of the masks of sets drawn at random:
    :math:`\frac{\bar k}{m}(1 - \frac{\bar k}{m})` on the diagonal and
    :math:`\frac{\overline{k^2} - \bar k}{m^2 - m} - \frac{\bar k^2}{m^2}` elsewhere. With C = I it is Nogueira's
    measure. It passes 1 where C has negative eigenvalues and the sets vary along them; a threshold can cause these,
    squared correlations (``feature_similarity(X) ** 2``) without one cannot. The fewer the features' common directions,
    the more it varies: for sets of 50 of the 256 pixels of the USPS digits drawn at random its standard deviation was
    .15 with 5 runs, .11 with 10 and .07 with 20, and a third of that with a threshold of 0.9.

    For a pair of sets A and B, the adjusted measure [2]_ is :math:`(I - E I) / (\sqrt{|A||B|} - E I)` with
    :math:`I = |A\cap B| + \min(c(A,B), c(B,A))`, where c(A,B) sums over the features of A outside B their mean
    similarity with those features of B outside A that reach the threshold. E I is its mean over random sets of the same
    sizes, estimated by draws. Zucknick's index [3]_, in the form of [4]_ for any similarity, is
    :math:`(|A\cap B| + d(A,B) + d(B,A)) / |A\cup B|` with
    :math:`d(A,B) = \frac{1}{|B|}\sum_{f\in A,\, g\in B\setminus A} C_{fg}`. It is small for large sets: k features
    against k others, each interchangeable with one of them alone, make 1/k. Each is averaged over pairs of runs.

    References
    ----------
    .. [1] K. Sechidis, K. Papangelou, S. Nogueira, J. Weatherall and G. Brown, "On the stability of feature selection
       in the presence of feature correlations", ECML PKDD 2019, 2020.
    .. [2] A. Bommert and J. Rahnenführer, "Adjusted measures for feature selection stability for data sets with
       similar features", Machine Learning, Optimization, and Data Science, 2020.
    .. [3] M. Zucknick, S. Richardson and E. A. Stronach, "Comparing the characteristics of gene expression profiles
       derived by univariate and multivariate classification methods", Statistical Applications in Genetics and
       Molecular Biology 7, 2008.
    .. [4] A. Bommert, J. Rahnenführer and M. Lang, "A multicriteria approach to find predictive and sparse models with
       stable feature selection for high-dimensional data", Computational and Mathematical Methods in Medicine, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from stableselect.metrics import feature_similarity, similarity_stability
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> X = np.hstack([X, X + 0.1 * X[:, ::-1]])
    >>> result = similarity_stability([[0, 1], [4, 5], [0, 5]], feature_similarity(X), threshold=0.9)
    >>> result.effective > 0.9, result.adjusted > 0.9
    (True, True)
    """
    n_draws = check_count(n_draws, "n_draws", 1)
    C = _check_similarity(similarity)
    threshold = 0.0 if threshold is None else check_number(threshold, "threshold", 0, 1)
    if threshold > 0 and C.dtype != bool:
        C = np.where(threshold <= C, C, 0.0)
    masks = check_supports(supports, len(C))
    effective = adjusted = np.nan
    if warn_if_no_choice(masks):
        effective = _effective(masks, C)
        adjusted = _adjusted(masks, C, threshold, n_draws, check_random_state(random_state))
        undefined = [name for name, v in (("effective", effective), ("adjusted", adjusted)) if np.isnan(v)]
        if undefined:
            warnings.warn(
                f"There is no chance level for {' and '.join(undefined)}, which is NaN: a set is empty, or all "
                "features are alike; leave out empty sets, or raise the threshold.",
                stacklevel=2,
            )
    zucknick = float(np.mean([_zucknick(a, b, C) for a, b in combinations(masks, 2)]))
    return SimilarityStability(effective, adjusted, zucknick, *masks.shape)


def feature_similarity(X: Any) -> np.ndarray:
    """Return the absolute correlation of every pair of features.

    Parameters
    ----------
    X : array-like, data frame, tensor, sparse matrix of shape (n, m), or Moments
        The table, or the moments gathered from it.

    Returns
    -------
    ndarray of shape (m, m)
        From 0 to 1, with ones on the diagonal. A constant feature is like no other.

    Raises
    ------
    MemoryError
        When the result would take more than half of the machine's memory.

    Examples
    --------
    >>> from stableselect.metrics import feature_similarity
    >>> feature_similarity([[0.0, 4.0, 1.0], [1.0, 2.0, 1.0], [2.0, 0.0, 1.0]]).round(3)
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """
    shape = (X.n_samples, X.n_features or 0) if isinstance(X, Moments) else getattr(X, "shape", None) or np.shape(X)
    m, limit = int(shape[-1]) if shape else 0, memory_limit()
    if 8 * m * m > limit:
        raise MemoryError(
            f"The similarity of {m} features takes {8 * m * m / 2**30:.1f} GiB, of {limit / 2**30:.1f} GiB that may be "
            "used; drop features, for instance those that no run selected."
        )
    if not isinstance(X, Moments):
        check_columns(X)
        X = Moments.from_array(X)
    if X.n_samples < 2:
        raise ValueError(f"X must hold at least two samples but holds {X.n_samples}; correlations need more samples.")
    gram = normalised_moments(X)[0]
    spread = np.sqrt(to_numpy(gram.diagonal()))
    inverse = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
    result = np.empty((spread.size, spread.size))
    step = max(1, BLOCK_ELEMENTS // spread.size)
    for start in range(0, spread.size, step):
        part = slice(start, min(start + step, spread.size))
        block = np.abs(to_numpy(gram.rows(np.arange(part.start, part.stop))))
        result[part] = np.minimum(block * inverse[part, None] * inverse, 1.0)
    np.fill_diagonal(result, 1.0)
    return result


def _effective(masks: np.ndarray, C: np.ndarray) -> float:
    """Return 1 - tr(C S) / tr(C Sigma), NaN where all features are alike and random sets cannot differ."""
    n_runs, m = masks.shape
    used = np.flatnonzero(masks.any(axis=0))
    Z = masks[:, used].astype(np.float64)
    deviations = Z - Z.mean(axis=0)
    # tr(C S) = sum_i d_i' C d_i / (M - 1), and a feature that no run selected has no deviation.
    observed = np.sum((deviations @ C[np.ix_(used, used)]) * deviations) / (n_runs - 1)
    sizes = Z.sum(axis=1)
    mean = sizes.mean() / m
    diagonal = mean * (1 - mean)
    elsewhere = (np.mean(sizes**2) - sizes.mean()) / (m**2 - m) - mean**2
    chance = m * diagonal + (C.sum() - m) * elsewhere
    return float(1 - observed / chance) if chance > _ROUNDING * m * diagonal else np.nan


def _adjusted(masks: np.ndarray, C: np.ndarray, threshold: float, n_draws: int, rng: np.random.RandomState) -> float:
    """Return the mean adjusted measure over pairs of runs, NaN where one of them has no chance level below 1."""
    expected: dict[tuple[int, int], float] = {}
    values = []
    for a, b in combinations([np.flatnonzero(mask) for mask in masks], 2):
        sizes = (min(a.size, b.size), max(a.size, b.size))
        if sizes not in expected:
            draws = [[rng.choice(len(C), size, replace=False) for size in sizes] for _ in range(n_draws)]
            expected[sizes] = float(np.mean([_similar_overlap(one, other, C, threshold) for one, other in draws]))
        largest = np.sqrt(a.size * b.size)
        if largest - expected[sizes] <= _ROUNDING:
            return np.nan
        values.append((_similar_overlap(a, b, C, threshold) - expected[sizes]) / (largest - expected[sizes]))
    return float(np.mean(values))


def _similar_overlap(a: np.ndarray, b: np.ndarray, C: np.ndarray, threshold: float) -> float:
    """Return I = |A and B| + min(c(A, B), c(B, A))."""
    in_a, in_b = np.zeros((2, len(C)), dtype=bool)
    in_a[a], in_b[b] = True, True
    only_a, only_b = a[~in_b[a]], b[~in_a[b]]
    between = C[only_a[:, None], only_b]
    similar = between >= threshold
    # What does not reach the threshold is zero in C already and adds nothing to the sums.
    parts = [np.sum(between.sum(axis=axis) / np.maximum(similar.sum(axis=axis), 1)) for axis in (0, 1)]
    return a.size - only_a.size + float(min(parts))


def _zucknick(a: np.ndarray, b: np.ndarray, C: np.ndarray) -> float:
    """Return the correlation-adjusted Jaccard index of two masks, 1 for two empty sets."""
    union = np.count_nonzero(a | b)
    if union == 0:
        return 1.0
    shared = float(np.count_nonzero(a & b))
    for one, other in ((a, b), (b, a)):
        if other.any():
            shared += C[np.ix_(one, other & ~one)].sum() / np.count_nonzero(other)
    return float(shared / union)


def _check_similarity(similarity: Any) -> np.ndarray:
    """Return the similarity as a float64 or Boolean array; checked a block of rows at a time, since it may be large."""
    C = to_numpy(similarity)
    if C.ndim != 2 or C.shape[0] != C.shape[1] or C.size == 0 or C.dtype.kind not in "biuf":
        raise ValueError(
            f"similarity must be a square matrix of numbers but has shape {C.shape} and dtype {C.dtype}; "
            "pass feature_similarity(X)."
        )
    if C.dtype != bool:  # kept as it is: an eighth of the memory, which counts where there are many features
        C = C.astype(np.float64, copy=False)
    step = max(1, BLOCK_ELEMENTS // len(C))
    for start in range(0, len(C), step):
        rows = C[start : start + step].astype(np.float64, copy=False)
        if not (rows.min() >= 0 and rows.max() <= 1 + _ROUNDING):
            raise ValueError(
                f"similarity must lie between 0 and 1 but holds {rows.min():g} to {rows.max():g}; take absolute "
                "correlations, as feature_similarity(X) does."
            )
        skew = np.abs(rows - C[:, start : start + step].T).max()
        if max(skew, np.abs(np.diagonal(rows, start) - 1).max()) > _ROUNDING:
            raise ValueError(
                "similarity must be symmetric with ones on its diagonal but is not; pass feature_similarity(X)."
            )
    return C
