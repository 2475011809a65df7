"""Features drawn at random: the baseline every other method has to beat."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import numpy as np
from sklearn.utils import check_random_state

from .._compat import Constraints
from .._core import Array
from ..base import ScoreSelector


class RandomSelector(ScoreSelector):
    """Select k features drawn at random without looking at their values.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to select: an integer, a fraction rounded up, or None for half.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.
    include, exclude : sequence of str or int, optional
        Features, by name or index, that must or must not be selected.

    Examples
    --------
    >>> import numpy as np
    >>> from stableselect import RandomSelector
    >>> RandomSelector(2, random_state=0).fit_transform(np.eye(5)).shape
    (5, 2)
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **ScoreSelector._parameter_constraints,
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        random_state: int | np.random.RandomState | None = None,
        include: Iterable[str | int] | None = None,
        exclude: Iterable[str | int] | None = None,
    ) -> None:
        super().__init__(n_features_to_select, include=include, exclude=exclude)
        self.random_state = random_state

    _reads_pieces = True

    def _score_features(self, X: Array, k: int) -> np.ndarray:
        return check_random_state(self.random_state).uniform(size=X.shape[1])
