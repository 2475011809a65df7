"""Faults of the published experiments, repeated to show where the printed figures come from. Not selectors.

Fault A: five baselines were ranked twice, on the training samples and again on the test samples; regression and
classifier were fitted on the first set of columns and tested on the second. For SPEC and Inf-FS the published ranking
itself is repeated too, with its own faults, since the printed figures depend on them. The other three are ranked by
this package's selectors with published settings.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LinearRegression
from sklearn.metrics.pairwise import rbf_kernel

from ..filters import blocked_product, standardised_ranks

_NO_LENGTH = 100 * np.finfo(np.float64).eps
_WORST = 1000.0
"""What the published SPEC gives a feature of zeros; small is good, yet large came first."""
_ALPHA = 0.5

Ranking = Callable[[np.ndarray], np.ndarray]


def spec_wrong_end(X: np.ndarray) -> np.ndarray:
    """Return the features in the order of the published SPEC: by phi2, worst first.

    The graph joins all samples by exp(-d^2). On wide tables its weights vanish, the Laplacian is zero to rounding and
    so are all scores but those of zero features, which come first.

    References
    ----------
    Zhao & Liu (2007), Spectral feature selection for supervised and unsupervised learning, ICML, eq. 6.
    """
    W = rbf_kernel(X, gamma=1.0)
    degrees = W.sum(axis=1)
    root = np.sqrt(degrees)
    values, vectors = np.linalg.eigh((np.diag(degrees) - W) / root[:, None] / root[None, :])
    F = root[:, None] * X
    length = np.linalg.norm(F, axis=0)
    F = F / np.where(length >= _NO_LENGTH, length, 1.0)
    smooth = root / np.linalg.norm(root)
    with np.errstate(divide="ignore", invalid="ignore"):
        phi2 = values[1:] @ (vectors[:, 1:].T @ F) ** 2 / (1 - (smooth @ F) ** 2)
    # The published order of ties is that of NumPy's default sort, read backwards; a stable one moves the fourth digit.
    return np.argsort(np.where(length >= _NO_LENGTH, phi2, _WORST))[::-1]


def inf_fs_twice_scaled(X: np.ndarray) -> np.ndarray:
    """Return the features in the order of the published Inf-FS, whose A is divided by its largest row sum R twice.

    Entries of rA are then of order 1/R^2 and a few terms of sum_l (rA)^l 1 are exact to rounding. A constant feature
    counts as uncorrelated with every other, which is in its favour.

    References
    ----------
    Roffo, Melzi & Cristani (2015), Infinite feature selection, ICCV, eq. 1-9.
    """
    m = X.shape[1]
    deviation = X.std(axis=0)
    spread = deviation.max() - deviation.min()
    s = (deviation - deviation.min()) / (spread or 1.0)
    varying = np.flatnonzero(X.max(axis=0) > X.min(axis=0))
    Z = np.zeros(X.shape)
    Z[:, varying] = standardised_ranks(X[:, varying])
    product = blocked_product(s, Z, _ALPHA)
    sums = product(np.ones(m))
    largest, eps = float(sums.max()), 5e-6 * m
    # The first term ranks by row sums; the second is smaller by 1/R, and the next is below rounding.
    step = (1 - eps) / largest / (largest + eps)
    energy = step * sums + step**2 * product(sums)
    return np.argsort(-energy, kind="stable")


def crossed_measures(
    X_train: np.ndarray, y_train: np.ndarray, X_test: np.ndarray, y_test: np.ndarray, k: int, ranking: Ranking
) -> tuple[np.ndarray, dict[str, float]]:
    """Rank both parts apart, fit on the one choice and test on the other: fault A.

    Returns
    -------
    selected : ndarray of int
        The features ranked on the training samples.
    measures : dict
        ``least_squares`` and ``accuracy`` as published, and how many of the k columns the two rankings share.
    """
    kept, wrong = ranking(X_train)[:k], ranking(X_test)[:k]
    reconstructed = LinearRegression().fit(X_train[:, kept], X_train).predict(X_test[:, wrong])
    trees = ExtraTreesClassifier(n_estimators=50, random_state=0).fit(X_train[:, kept], y_train)
    return kept, {
        "least_squares": float(np.mean((X_test - reconstructed) ** 2)),
        "accuracy": float(np.mean(trees.predict(X_test[:, wrong]) == y_test)),
        "shared": float(len(np.intersect1d(kept, wrong))),
    }
