"""Columns drawn at random: the line every other method has to beat."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from .._core import Array
from ..base import BaseSelector, Selection


class RandomSelector(BaseSelector):
    """Keep k columns drawn at random without looking at their values.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Columns to keep: a number, a share rounded up, or None for half.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Examples
    --------
    >>> import numpy as np
    >>> from stableselect import RandomSelector
    >>> RandomSelector(2, random_state=0).fit_transform(np.eye(5)).shape
    (5, 2)
    """

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.random_state = random_state

    def _select(self, X: Array, k: int) -> Selection:
        scores = check_random_state(self.random_state).uniform(size=X.shape[1])
        return Selection(np.argsort(-scores, kind="stable")[:k].tolist(), scores)
