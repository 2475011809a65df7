"""Whether a table has anything to select: do its features explain each other better than shuffled ones would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from .._core import forward_search, hold_out_each, split_moments
from ..base import counted
from ._panel_folds import Fold

_MOST_FEATURES = 10
"""Features that the test selects at most."""
_LEVEL = 0.01
"""A table has something to select where chance alone would do as well in fewer cases than this."""


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
