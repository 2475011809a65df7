"""One search for k features with one setting: forward, exchange, and a proof where subsets are few.

The setting is what trades error for stability: ridge, exchange, weight of the votes. All is done on second moments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from .._core import Array, Gram, exact_search, exchange_search, forward_search, like, order_within

N_FOLDS = 5
FEWEST_FOLDS = 3
"""Fewest folds with samples in them for a choice by held-out error."""


@dataclass(frozen=True)
class Setting:
    """How to search.

    Attributes
    ----------
    ridge : float or None
        Relative ridge weight of the search; None for the one of least leave-one-out error.
    exchange : bool
        Whether features are swapped after the forward search.
    vote_weight : float
        Weight of the votes: a feature that no subsample votes for costs this fraction of the loss more than
        one that all vote for.
    search : {"training", "few_samples", "leave_one_out"}
        What the search lowers: the training loss; what serves few samples best, with a ridge of its own; or the
        leave-one-out error.
    map_ridge : float or None
        Relative ridge weight of the map from the features found to all; None for that of the search.
    """

    ridge: float | None = 0.0
    exchange: bool = True
    vote_weight: float = 0.0
    search: Literal["training", "few_samples", "leave_one_out"] = "training"
    map_ridge: float | None = None

    @property
    def refit(self) -> float:
        """The relative ridge weight of the map."""
        return float(self.ridge or 0.0) if self.map_ridge is None else self.map_ridge


@dataclass(frozen=True)
class Found:
    """The result of a search: features in greedy order within the set, swaps made, and prices, if any.

    No features have a loss below ``lower_bound``; ``proven`` tells that none have a lower loss than these.
    """

    chosen: list[int]
    n_swaps: int
    prices: Array = None
    lower_bound: float = 0.0
    proven: bool = False


def find_columns(
    gram: Gram,
    k: int,
    setting: Setting,
    include: Sequence[int] = (),
    exclude: Sequence[int] = (),
    votes: np.ndarray | None = None,
    start: Sequence[int] | None = None,
) -> Found:
    """Return k features by forward search and exchange, both under prices where the votes have weight.

    Parameters
    ----------
    gram : Gram
        The moments, of mean variance one.
    k : int
        Number of features to select.
    setting : Setting
        Ridge, exchange, weight of the votes.
    include, exclude : sequence of int
        Features that must or must not be selected.
    votes : ndarray of shape (m,), optional
        Fraction of subsamples, from 0 to 1, on which the same search selects each feature.
    start : sequence of int, optional
        What the search without votes finds, where that is known.

    Returns
    -------
    Found
    """
    alpha = float(setting.ridge or 0.0)
    n_swaps = 0
    chosen = list(start) if start is not None else forward_search(gram, k, alpha, include, exclude)
    if setting.exchange and start is None:
        chosen, n_swaps = exchange_search(gram, chosen, alpha, include, exclude)
    prices = None
    if setting.vote_weight and votes is not None:
        loss = gram.split(chosen, alpha)[2].trace()
        prices = like(setting.vote_weight * loss * (1 - votes), gram.diagonal(), gram.xp)
        if not setting.exchange:
            return Found(forward_search(gram, k, alpha, include, exclude, prices), 0, prices)
        chosen, more = exchange_search(gram, chosen, alpha, include, exclude, prices)
        n_swaps += more
    if n_swaps or (setting.exchange and start is not None):
        chosen = order_within(gram, chosen, alpha, include)
    return Found(chosen, n_swaps, prices)


def prove_columns(gram: Gram, found: Found, setting: Setting, include: Sequence[int], exclude: Sequence[int]) -> Found:
    """Return the best features there are, with a proof; what was found, with a bound, where that would take too long.

    Parameters
    ----------
    gram : Gram
        The moments, of mean variance one.
    found : Found
        What forward search and exchange find, without votes.
    setting : Setting
        How they searched.
    include, exclude : sequence of int
        Features that must or must not be selected.

    Returns
    -------
    Found
        The features in greedy order within the set; those that are new count as swaps.
    """
    alpha, chosen, n_swaps = float(setting.ridge or 0.0), found.chosen, found.n_swaps
    exact = exact_search(gram, chosen, alpha, include, exclude)
    n_new = len(set(exact.chosen) - set(chosen))
    if n_new:
        chosen, n_swaps = order_within(gram, exact.chosen, alpha, include), n_swaps + n_new
    return replace(found, chosen=chosen, n_swaps=n_swaps, lower_bound=exact.lower_bound, proven=exact.proven)
