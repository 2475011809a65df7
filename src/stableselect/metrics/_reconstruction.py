"""Reconstruction error of a set of features, and the three numbers it should always be read beside.

An error means little alone. The mean predictor says what no features at all would give, random features say what no
method at all would give, and principal components say what no linear map of that rank can beat on the training samples.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from sklearn.utils import check_random_state

from .._core import Refit as LinearRefit
from .._core import centred, mean_square
from ..base import check_count, check_pair, check_some_selected

Refit = Literal["least_squares", "ridge"]


def reconstruction_error(
    X_train: ArrayLike,
    X_test: ArrayLike,
    selected: ArrayLike,
    *,
    refit: Refit = "least_squares",
    ridge: float | Literal["auto"] = "auto",
    where: np.ndarray | None = None,
) -> float:
    r"""Mean squared error of reconstructing every feature of the test samples from the selected ones.

    A linear map with intercept from the selected features to all features is fitted on the training samples. The error
    is one mean over all test samples and all features, the selected ones included, in the units of the tables.

    Parameters
    ----------
    X_train, X_test : array-like of shape (n_train, m) and (n_test, m)
        Tables with the same features. Scale both with numbers learnt from the training samples.
    selected : array-like
        The selected features: integer indices, or a Boolean mask of length m. Their order does not matter.
    refit : {"least_squares", "ridge"}, default="least_squares"
        How the map is fitted. ``"least_squares"`` is the published measure [1]_. It overfits, without bound, when there
        are about as many selected features as training samples; read the ridge refit beside it there.
    ridge : float or "auto", default="auto"
        Weight of the penalty, used by ``refit="ridge"`` only, as a multiple of the mean sum of squares of the selected
        training features about their means. ``"auto"`` takes the weight with the smallest leave-one-out error on the
        training samples, one weight for all features.
    where : array of bool of shape (n_test, m), optional
        The values of the test samples to average over; all by default.

    Returns
    -------
    float
        The mean squared error.

    See Also
    --------
    mean_predictor_error : The error with no features selected.
    random_error : The error of features drawn at random.
    pca_reconstruction_error : The error of as many principal components.

    Notes
    -----
    With centred selected features :math:`X_S = U \operatorname{diag}(s) V^\top` and centred training samples :math:`Y`,
    the ridge map is :math:`V \operatorname{diag}(s_j / (s_j^2 + \alpha))\, U^\top Y`. The residual of sample i when
    that sample is left out is :math:`r_i / (1 - h_i)` with :math:`h_i = 1/n + \sum_j u_{ij}^2 s_j^2 / (s_j^2 +
    \alpha)`.

    References
    ----------
    .. [1] X. Wu and Q. Cheng, "Algorithmic stability and generalization of an unsupervised feature selection
       algorithm", NeurIPS, 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect.metrics import reconstruction_error
    >>> X = load_iris().data
    >>> round(reconstruction_error(X[::2], X[1::2], [2, 3]), 3)
    0.087
    """
    train, test = _centred(X_train, X_test)
    chosen = check_some_selected(selected, train.shape[1])
    if refit not in ("least_squares", "ridge"):
        raise ValueError(f"refit must be 'least_squares' or 'ridge' but is {refit!r}; choose one of the two.")
    is_weight = isinstance(ridge, (int, float, np.number)) and not isinstance(ridge, bool) and 0 <= ridge < np.inf
    if ridge != "auto" and not is_weight:
        raise ValueError(f"ridge must be 'auto' or a finite number of at least 0 but is {ridge!r}; change ridge.")
    maps = LinearRefit(train, chosen)
    if refit == "least_squares":
        return maps.least_squares_error(test, where)
    return maps.ridge_error(test, None if ridge == "auto" else ridge, where)


def mean_predictor_error(X_train: ArrayLike, X_test: ArrayLike, *, where: np.ndarray | None = None) -> float:
    """Mean squared error of predicting every test sample by the mean training sample.

    This is the reconstruction error with no features selected: a set that does not beat it is worth nothing.

    Parameters
    ----------
    X_train, X_test : array-like of shape (n_train, m) and (n_test, m)
        Tables with the same features.
    where : array of bool of shape (n_test, m), optional
        The values of the test samples to average over; all by default.

    Returns
    -------
    float
        The mean squared error.

    Examples
    --------
    >>> from stableselect.metrics import mean_predictor_error
    >>> mean_predictor_error([[0.0, 1.0], [2.0, 1.0]], [[3.0, 1.0]])
    2.0
    """
    return mean_square(_centred(X_train, X_test)[1], where)


def pca_reconstruction_error(
    X_train: ArrayLike, X_test: ArrayLike, n_components: int, *, where: np.ndarray | None = None
) -> float:
    """Mean squared error of reconstructing the test samples from principal components of the training samples.

    On the training samples themselves no linear map of this rank, and so no set of ``n_components`` features, does
    better [1]_. On other samples that is a guide and not a bound. Directions in which the training samples do not vary
    are never used.

    Parameters
    ----------
    X_train, X_test : array-like of shape (n_train, m) and (n_test, m)
        Tables with the same features.
    n_components : int
        Number of components, to be set to the number of selected features.
    where : array of bool of shape (n_test, m), optional
        The values of the test samples to average over; all by default.

    Returns
    -------
    float
        The mean squared error.

    References
    ----------
    .. [1] C. Eckart and G. Young, "The approximation of one matrix by another of lower rank", Psychometrika 1, 1936.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect.metrics import pca_reconstruction_error
    >>> X = load_iris().data
    >>> round(pca_reconstruction_error(X[::2], X[1::2], 2), 3)
    0.023
    """
    train, test = _centred(X_train, X_test)
    components = _principal_directions(train, check_count(n_components, "n_components", 1, train.shape[1]))
    return mean_square(test - (test @ components) @ components.T, where)


def random_error(
    X_train: ArrayLike,
    X_test: ArrayLike,
    n_features_to_select: int,
    *,
    n_draws: int = 10,
    refit: Refit = "least_squares",
    ridge: float | Literal["auto"] = "auto",
    random_state: int | np.random.RandomState | None = 0,
) -> tuple[float, float]:
    """Mean and standard deviation of the reconstruction error of features drawn at random.

    Parameters
    ----------
    X_train, X_test : array-like of shape (n_train, m) and (n_test, m)
        Tables with the same features.
    n_features_to_select : int
        Number of distinct features in a draw.
    n_draws : int, default=10
        Number of draws, two or more.
    refit, ridge
        As in :func:`reconstruction_error`.
    random_state : int, RandomState instance or None, default=0
        Decides the draws.

    Returns
    -------
    mean, std : float
        Mean over the draws, and their sample standard deviation.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect.metrics import random_error
    >>> X = load_iris().data
    >>> mean, std = random_error(X[::2], X[1::2], 2)
    >>> 0.05 < mean < 0.2
    True
    """
    train, test = check_pair(X_train, X_test)
    k = check_count(n_features_to_select, "n_features_to_select", 1, train.shape[1])
    n_draws = check_count(n_draws, "n_draws", 2)
    rng = check_random_state(random_state)
    draws = [np.sort(rng.choice(train.shape[1], k, replace=False)) for _ in range(n_draws)]
    errors = [reconstruction_error(train, test, chosen, refit=refit, ridge=ridge) for chosen in draws]
    return float(np.mean(errors)), float(np.std(errors, ddof=1))


def _centred(X_train: ArrayLike, X_test: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return both tables, checked, less the mean training sample, which gives every map here its intercept."""
    return centred(*check_pair(X_train, X_test))


def _principal_directions(table: np.ndarray, n_components: int) -> np.ndarray:
    """Return orthonormal leading directions (m x r) of centred samples, r at most ``n_components`` and the rank."""
    n, m = table.shape
    # The smaller of the two products: many times cheaper than a singular value decomposition.
    # All of its vectors: LAPACK's search for a part of the spectrum may find none where many eigenvalues are equal.
    values, vectors = linalg.eigh(table.T @ table if m <= n else table @ table.T, driver="evd")
    first = max(0, len(values) - n_components)
    leading = vectors[:, first:][:, values[first:] > len(values) * np.finfo(np.float64).eps * values[-1]]
    return np.asarray(leading if m <= n else linalg.qr(table.T @ leading, mode="economic")[0])
