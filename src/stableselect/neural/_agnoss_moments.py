"""AgnoS-S with linear layers on the moments: what slacks with a weight decay come to."""

from __future__ import annotations

import numpy as np

from .._core import Gram
from ._row_sparse import RowSparseTrainee


class AgnoSSTrainee(RowSparseTrainee):
    """The encoder is W = diag(a) E; l1 sum a_j + decay/2 |E|^2 is minimised over a_j for a given W.

    For |w_j| = a_j |e_j| the penalty l1 a + decay |w|^2 / (2 a^2) is least at a^3 = decay |w|^2 / l1, where it is
    (3/2) l1 a, a concave function of |w|. It lies below the quadratic of the present slack, t = a / sqrt(decay).
    """

    def __init__(self, gram: Gram, k: int, width: int, *, l1: float, decay: float, eliminate: bool) -> None:
        self._l1 = l1
        super().__init__(gram, k, width, decay=decay, eliminate=eliminate)

    def slack(self, lengths: np.ndarray) -> np.ndarray:
        """Return a_j = (decay |w_j|^2 / l1)^(1/3)."""
        return np.cbrt(self._decay * lengths**2 / self._l1)

    def strength(self) -> np.ndarray:
        """Return the slacks."""
        return self.slack(self.lengths())

    def reach(self, lengths: np.ndarray) -> np.ndarray:
        """Return a_j / sqrt(decay)."""
        return self.slack(lengths) / self._decay**0.5

    def penalty(self, lengths: np.ndarray) -> float:
        """Return (3/2) l1 sum a_j."""
        return 1.5 * self._l1 * float(np.sum(self.slack(lengths)))

    def balance(self, penalty: float, decay: float) -> float:
        """Return the minimiser of penalty c^(-2/3) + c^2 decay."""
        return (penalty / (3 * decay)) ** (3 / 8)
