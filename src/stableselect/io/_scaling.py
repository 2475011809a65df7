"""Column scaling: x -> (x - shift) / scale, and the way back for a linear map learnt on scaled columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from sklearn.preprocessing import StandardScaler

from ._names import TableError

Scaling = Literal["none", "minmax", "standard"]
SCALINGS: tuple[Scaling, ...] = ("none", "minmax", "standard")


@dataclass(frozen=True)
class Scale:
    """Shift and positive scale of every column; constant columns keep the scale 1."""

    shift: np.ndarray
    scale: np.ndarray

    @classmethod
    def learn(cls, X: np.ndarray, scaling: Scaling) -> Scale:
        """Learn the scaling from rows of X."""
        if scaling == "none":
            return cls(np.zeros(X.shape[1]), np.ones(X.shape[1]))
        with np.errstate(over="ignore", invalid="ignore"):
            if scaling == "standard":
                fitted = StandardScaler().fit(X)
                learnt = cls(fitted.mean_, fitted.scale_)
            else:
                low = X.min(axis=0)
                span = X.max(axis=0) - low
                learnt = cls(low, np.where(span > 0, span, 1.0))
        if not (np.isfinite(learnt.shift).all() and np.isfinite(learnt.scale).all()):
            raise TableError("Some columns hold values too large to scale; express them in another unit first.")
        return learnt

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Scale X in place and return it."""
        X -= self.shift
        X /= self.scale
        return X

    def unscale_map(
        self, coefficients: np.ndarray, intercept: np.ndarray, kept: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Express a map from the scaled kept columns to all scaled columns in the original units.

        With u = (x - t) / s and u_j = sum_i W_ij u_i + b_j, the original columns obey
        x_j = sum_i (W_ij s_j / s_i) x_i + s_j (b_j - sum_i W_ij t_i / s_i) + t_j.
        """
        s, t = self.scale, self.shift
        original = coefficients * s / s[kept, None]
        return original, s * intercept + t - t[kept] @ original
