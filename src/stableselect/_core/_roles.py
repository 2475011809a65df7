"""What every feature does for a finished selection, from the moments alone.

One pass of algebra over the chosen subset S gives the linear map that reconstructs all features, the fraction of every
feature that is explained and by whom, what each kept feature is worth, and the best replacement for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ._arrays import to_numpy
from ._gram import Gram
from ._subset_search import BEYOND_RANK_RIDGE, EXHAUSTED, absolute_ridge, open_columns
from ._swap_state import SwapState

_NEAR_COPY = 1e-9
"""A feature with less than this fraction of its variance left adds nothing that second moments can tell."""


@dataclass(frozen=True)
class Roles:
    """Arrays of a finished selection of k out of m features, kept features in order of selection."""

    coefficients: np.ndarray
    """k x m: the linear map from the kept features to all."""
    loss: float
    """Ridge objective, tr R / m."""
    worth: np.ndarray
    """m: fraction of the total variance lost if a kept feature is dropped, gained if another is added."""
    r2: np.ndarray
    """m: fraction of each feature's variance the kept ones explain, nan where it has none."""
    shares: np.ndarray
    """k x m: each kept feature's part of ``r2``."""
    substitutes: np.ndarray
    """k: the feature to take instead, -1 where none is left."""
    costs: np.ndarray
    """k: by how much the unexplained share of the variance then rises."""


def column_roles(gram: Gram, chosen: Sequence[int], alpha: float, exclude: Sequence[int] = ()) -> Roles:
    """Work out the roles of all features for the chosen ones.

    Parameters
    ----------
    gram : Gram
        The moments C.
    chosen : sequence of int
        The kept features.
    alpha : float
        Ridge weight of the linear map.
    exclude : sequence of int
        Features never offered as a replacement.

    Returns
    -------
    Roles
    """
    xp, m = gram.xp, gram.n_features
    total = gram.trace() or 1.0
    state = SwapState(gram, chosen, alpha)
    coefficients, loss = to_numpy(state.V), state.loss
    variance = to_numpy(state.variance)
    varies = variance > 0
    safe = np.where(varies, variance, 1.0)
    # R2 of the map itself, shrunk by the ridge or not: 1 - |x - Bx|^2 / |x|^2 = sum_a B_a (2 C_a - (C_SS B)_a) / C_jj.
    C_S = to_numpy(state.C_S)
    shares = np.where(varies, coefficients * (2 * C_S - C_S[:, list(chosen)] @ coefficients) / safe, 0.0)
    if loss <= EXHAUSTED * total and alpha < absolute_ridge(gram, BEYOND_RANK_RIDGE):
        # The kept features span the table: without a ridge they could all replace one another freely.
        state = SwapState(gram, chosen, absolute_ridge(gram, BEYOND_RANK_RIDGE))
    gain = state.g / xp.where(state.h + state.alpha > 0, state.h + state.alpha, 1.0)
    # What is left of a near copy of the kept features is rounding.
    gain = xp.where(state.h + state.alpha > _NEAR_COPY * state.variance, gain, 0.0)
    worth = to_numpy(gain) / total
    worth[list(chosen)] = to_numpy(state.drop_costs) / total
    swaps = to_numpy(state.swap_gains(open_columns(gram, [*chosen, *exclude])))
    best = np.argmax(swaps, axis=1)
    gains = swaps[np.arange(len(best)), best]
    none = np.isneginf(gains)
    return Roles(
        coefficients=coefficients,
        loss=loss / m,
        worth=np.maximum(worth, 0.0),
        r2=np.where(varies, np.minimum(shares.sum(axis=0), 1.0), np.nan),  # above 1 is rounding
        shares=shares,
        substitutes=np.where(none, -1, best),
        costs=np.where(none, np.nan, -gains / total),
    )
