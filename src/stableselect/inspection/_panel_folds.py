r"""The error of reconstructing every feature of held-out samples from some of them, from second moments alone.

With C the moments of the samples to fit on, S the features given, T the second moments of the held-out samples about
the mean of the first ones, and C_SS = Q diag(l) Q', the ridge map is B = Q diag(1 / (l + a)) Q'C_S, and the error of
feature j is T_jj - 2 B_j'T_Sj + B_j'T_SS B_j. The ridge weight a, one for all features, has the smallest generalised
cross-validation error on the samples to fit on [1]_: with n of them, G = Q'C_S and g_i = |G_i|^2, the least of

    (tr C - sum_i g_i / l_i + sum_i (g_i / l_i) (a / (l_i + a))^2) / (n - 1 - r + sum_i a / (l_i + a))^2,

r the rank of C_SS. Every panel has its weight by this one rule, so that none gains by being fitted with more care.

The same errors tell whether a table has anything to select: do its features explain each other better than shuffled
ones would.

References
----------
.. [1] G. H. Golub, M. Heath and G. Wahba, "Generalized cross-validation as a method for choosing a good ridge
   parameter", Technometrics 21, 1979.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from .._core import Gram, Moments, forward_search, hold_out_each, split_moments, to_numpy
from ..base import counted

RIDGE_GRID = np.logspace(-8, 3, 23)
"""Ridge weights tried, relative to the mean variance of the directions that the features given span."""
_RANK = 1e-12
"""Directions with less than this fraction of the largest variance are rounding."""
_MOST_FEATURES = 10
"""Features that the test whether there is anything to select takes at most."""
_LEVEL = 0.01
"""A table has something to select where chance alone would do as well in fewer cases than this."""


def ridge_weight(C_S: np.ndarray, C_SS: np.ndarray, total: float, n: int) -> tuple[float, np.ndarray]:
    """Return the ridge weight for k features, and the map from them to all.

    Parameters
    ----------
    C_S : ndarray of shape (k, m)
        Moments between these features and all.
    C_SS : ndarray of shape (k, k)
        Moments between them.
    total : float
        Sum of the variances of all features.
    n : int
        Number of samples behind the moments.

    Returns
    -------
    alpha : float
        The weight.
    coefficients : ndarray of shape (k, m)
        The map.
    """
    values, Q = np.linalg.eigh(C_SS)
    varies = values > _RANK * max(values[-1], 0.0)
    values, Q = values[varies], Q[:, varies]
    if not values.size:
        return 0.0, np.zeros_like(C_S)
    G = Q.T @ C_S
    fitted = np.einsum("ij,ij->i", G, G) / values
    alphas = RIDGE_GRID * values.mean()
    shrunk = alphas[:, None] / (values + alphas[:, None])
    left = max(total - float(fitted.sum()), 0.0) + shrunk**2 @ fitted
    alpha = float(alphas[np.argmin(left / (max(n - 1 - values.size, 0) + shrunk.sum(axis=1)) ** 2)])
    return alpha, Q @ (G / (values + alpha)[:, None])


class Fold:
    """Samples to fit on and samples held out, as moments.

    Parameters
    ----------
    train, test : Moments
        Their moments.
    """

    def __init__(self, train: Moments, test: Moments) -> None:
        self.gram, self.target = train.operator(), test.operator()
        self.n_train, self.n_test = train.n_samples, test.n_samples
        self.shift = to_numpy(test.mean) - to_numpy(train.mean)
        self.total = self.gram.trace()
        self.none = to_numpy(self.target.diagonal()) + self.shift**2
        """Squared error of every feature, per held-out sample, with no feature given."""

    def errors(self, features: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the squared error of every feature, per held-out sample, given some of them."""
        S = np.asarray(features, dtype=np.intp)
        if not S.size:
            return self.none
        C_S, T_S = (to_numpy(gram.rows(S)) for gram in (self.gram, self.target))
        return self._errors(C_S, C_S[:, S], T_S + np.outer(self.shift[S], self.shift), S)

    def component_errors(self, directions: np.ndarray) -> np.ndarray:
        """Return the same, given the samples' coordinates along some directions (m x k)."""

        def rows(gram: Gram) -> np.ndarray:
            return to_numpy(gram.dot(directions)).T

        C_S, T_S = rows(self.gram), rows(self.target) + np.outer(self.shift @ directions, self.shift)
        return self._errors(C_S, C_S @ directions, T_S, directions)

    def _errors(self, C_S: np.ndarray, C_SS: np.ndarray, T_S: np.ndarray, given: np.ndarray) -> np.ndarray:
        B = ridge_weight(C_S, C_SS, self.total, self.n_train)[1]
        T_SS = T_S[:, given] if given.ndim == 1 else T_S @ given
        return np.maximum(self.none - np.einsum("ij,ij->j", B, 2 * T_S - T_SS @ B), 0.0)


@dataclass(frozen=True, eq=False)
class Structure:
    """Part of :class:`PanelEvaluation`: do the features explain each other, or could each be shuffled by itself.

    Attributes
    ----------
    n_selected : int
        Features that a forward search selects without the held-out samples: as many as the panel has, at most ten.
    explained_variance : float
        Fraction of the variance of held-out samples that they explain, their own included.
    shuffled : ndarray of shape (n_permutations,)
        The same after the values of every feature were shuffled by themselves, which leaves nothing to explain.
    p_value : float
        How often chance gives as much, by Student's distribution around the mean of ``shuffled``.
    """

    n_selected: int
    explained_variance: float
    shuffled: np.ndarray
    p_value: float

    @property
    def nothing_to_select(self) -> bool:
        """Whether the table is no better than shuffled ones: below one of them, or a p-value above 0.01."""
        return bool(self.p_value > _LEVEL or self.explained_variance <= self.shuffled.max())


def measure_structure(
    X: np.ndarray,
    splits: Sequence[tuple[np.ndarray, np.ndarray]],
    k: int,
    n_permutations: int,
    rng: np.random.Generator,
) -> Structure:
    """Compare a table with shuffled ones.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        The table, scaled as the panel is judged.
    splits : sequence of (train, test)
        Indices of samples.
    k : int
        Size of the panel.
    n_permutations : int
        Number of shuffled tables, two or more.
    rng : Generator
        Shuffles them.

    Returns
    -------
    Structure
    """
    k = min(k, _MOST_FEATURES)
    found = _explained(X, splits, k)
    null = np.array(
        [_explained(rng.permuted(X, axis=0), splits, k) for _ in counted(range(n_permutations), "shuffled tables")]
    )
    spread = float(null.std(ddof=1)) * (1 + 1 / null.size) ** 0.5
    above = found - float(null.mean())
    p = float(stats.t.sf(above / spread, null.size - 1)) if spread > 0 else float(above <= 0)
    return Structure(k, found, null, p)


def _explained(X: np.ndarray, splits: Sequence[tuple[np.ndarray, np.ndarray]], k: int) -> float:
    """Return the fraction of the held-out variance that k features explain, selected forward on the other samples."""
    moments, held_out = split_moments(X, None, splits)
    left = total = 0.0
    for part in held_out or hold_out_each(moments):
        fold = Fold(part.train, part.test)
        left += fold.n_test * float(fold.errors(forward_search(fold.gram, k, 0.0)).sum())
        total += fold.n_test * float(fold.none.sum())
    return 1 - left / total
