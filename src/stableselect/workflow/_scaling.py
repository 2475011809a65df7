"""Scaling of the columns, and from maps between scaled columns to maps between columns as they are."""

from __future__ import annotations

from typing import Self, TypeAlias, get_args

import numpy as np
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from ..io import TableError
from ._prepare import RequestError, Scaling


class AnyRangeScaler(MinMaxScaler):
    """MinMaxScaler that also scales columns whose range is below 2e-15, which scikit-learn takes for constants."""

    def fit(self, X: np.ndarray, y: None = None) -> Self:
        """Learn minima and ranges."""
        super().fit(X)
        span = np.where(self.data_range_ > 0, self.data_range_, 1.0)
        self.scale_, self.min_ = 1 / span, -self.data_min_ / span
        return self


Scaler: TypeAlias = "StandardScaler | AnyRangeScaler | None"


def check_scaling(scaling: str) -> None:
    """Raise if there is no such scaling."""
    choices = get_args(Scaling)
    if scaling not in choices:
        raise RequestError("scale", f"must be one of {', '.join(choices)}, got '{scaling}'.")


def fitted_scaler(scaling: Scaling, X: np.ndarray) -> Scaler:
    """Return the scaler fitted to X, which will scale in place; None for "none"."""
    check_scaling(scaling)
    if scaling == "none":
        return None
    scaler = StandardScaler(copy=False) if scaling == "standard" else AnyRangeScaler(copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        scaler.fit(X)
    learnt = (scaler.data_range_,) if isinstance(scaler, MinMaxScaler) else (scaler.mean_, scaler.var_)
    if not all(np.isfinite(part).all() for part in learnt):
        raise TableError("Some columns hold values too large to scale; express them in another unit first.")
    return scaler


def unscale_map(
    scaler: Scaler, coefficients: np.ndarray, intercept: np.ndarray, kept: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Express a map from the scaled selected columns to all scaled columns in the original units.

    With u = s x + t and u_j = sum_i W_ij u_i + b_j, the original columns obey
    x_j = sum_i (W_ij s_i / s_j) x_i + (b_j + sum_i W_ij t_i - t_j) / s_j.
    """
    if scaler is None:
        return coefficients, intercept
    s, t = affine(scaler)
    return coefficients * s[kept, None] / s, (intercept + t[kept] @ coefficients - t) / s


def affine(scaler: StandardScaler | AnyRangeScaler) -> tuple[np.ndarray, np.ndarray]:
    """Return slope and shift of every column."""
    if isinstance(scaler, MinMaxScaler):
        return scaler.scale_, scaler.min_
    return 1 / scaler.scale_, -scaler.mean_ / scaler.scale_
