"""AEFS with linear layers on the moments: the penalty of its encoder's rows."""

from __future__ import annotations

import numpy as np

from .._core import Gram
from ._row_sparse import RowSparseTrainee


class AEFSTrainee(RowSparseTrainee):
    """p(|w|) = alpha |w|, below alpha |w|^2 / (2 |w_0|) + constant, so t^2 = |w_0| / alpha."""

    def __init__(self, gram: Gram, k: int, width: int, *, alpha: float, decay: float, eliminate: bool) -> None:
        self._alpha = alpha
        super().__init__(gram, k, width, decay=decay, eliminate=eliminate)

    def reach(self, lengths: np.ndarray) -> np.ndarray:
        """Return sqrt(|w_j| / alpha)."""
        return np.sqrt(lengths / self._alpha)

    def penalty(self, lengths: np.ndarray) -> float:
        """Return alpha |W|_{2,1}."""
        return self._alpha * float(np.sum(lengths))

    def balance(self, penalty: float, decay: float) -> float:
        """Return the minimiser of penalty / c + c^2 decay."""
        return (penalty / (2 * decay)) ** (1 / 3)
