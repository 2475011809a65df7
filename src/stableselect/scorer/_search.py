"""Subset search on the scorer-selector objective J(S), started from the best subset of the plain trace loss.

The trace loss of the start carries the full certificate (no swap improves it). J is searched among the most promising
swaps by the trace gain and by the first-order gain within J's own top directions; a swap is made only if J falls.
Settings of the stability frontier are finished by the same search instead of by the trace loss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .._core import EXHAUSTED, ROUNDING, TIE, Array, SwapState, index, open_columns, to_numpy
from ..subset import Finish, Found, Round, Setting, map_error
from ._objective import ScorerObjective

_CANDIDATES = 5
"""Swaps tried per gain and round."""
_UNIT = 1e-8
"""Gains are rounded to this fraction of the cost: of equal ones the lowest features are tried."""
_SETTLE_STEPS = 8
"""Subspace steps after a swap, so that the bound on J is as good as exact."""


def search_scorer(
    objective: ScorerObjective,
    chosen: Sequence[int],
    include: Sequence[int],
    exclude: Sequence[int],
    prices: Array = None,
    swappable: Callable[[list[int]], np.ndarray] | None = None,
) -> tuple[list[int], int]:
    """Lower J, and the prices of the features where they have any, by swaps; return the features and how many swaps.

    Parameters
    ----------
    objective : ScorerObjective
        J and its weights.
    chosen : sequence of int
        The start.
    include, exclude : sequence of int
        Features that must or must not be selected.
    prices : array of length m, optional
        What selecting a feature costs beside J.
    swappable : callable, optional
        From the features chosen to which may replace each of them, k x m.

    Returns
    -------
    chosen : list of int
        A new feature takes the place of the one it replaces.
    n_swaps : int
        Swaps made.
    """
    gram = objective.gram
    start = list(chosen)
    if len(start) == gram.n_features or objective.values.shape[0] <= objective.width:
        return start, 0
    state = SwapState(gram, start, objective.alpha, prices, objective.targets)
    price = np.zeros(gram.n_features) if prices is None else to_numpy(prices)
    if state.loss <= EXHAUSTED * objective.total:
        return start, 0
    J, top = objective.exact(start)
    cost_start = J + price[start].sum()
    cost, n_swaps = cost_start, 0
    while True:
        slack = TIE * cost + ROUNDING * objective.total
        best: tuple[float, int, int, Array] | None = None
        for a, j in _candidates(state, objective.directions(top), include, exclude, swappable):
            trial = list(state.chosen)
            trial[a] = j
            J, reached = objective.bound(trial, top)
            value = J + price[trial].sum()
            if value < (cost if best is None else best[0]) - slack:
                best = value, a, j, reached
        if best is None:
            break
        cost, a, j, top = best
        if not state.swap(a, j):
            break
        J, top = objective.bound(state.chosen, top, _SETTLE_STEPS)
        cost = J + price[state.chosen].sum()
        n_swaps += 1
    if n_swaps and objective.exact(state.chosen)[0] + price[state.chosen].sum() >= cost_start:
        return start, 0
    return list(state.chosen), n_swaps


def _candidates(
    state: SwapState,
    directions: Array,
    include: Sequence[int],
    exclude: Sequence[int],
    swappable: Callable[[list[int]], np.ndarray] | None,
) -> list[tuple[int, int]]:
    """Return the best few swaps (position, feature) by each of the two gains, no swap twice."""
    allowed = open_columns(state.gram, [*state.chosen, *exclude])
    fixed = np.isin(state.chosen, list(include))[:, None]
    if swappable is not None:
        fixed = ~swappable(state.chosen)
    unit = _UNIT * (state.cost + state.gram.trace() * ROUNDING / TIE)
    found: dict[tuple[int, int], None] = {}

    def lowest(swap: tuple[float, int, int]) -> tuple[float, int, int]:
        return swap[0], swap[1], state.chosen[swap[2]]

    for gains in (state.swap_gains(allowed), state.projected_gains(allowed, directions)):
        table = np.where(fixed, -np.inf, to_numpy(gains))
        table = np.round(table / unit)
        least = np.partition(table, -min(_CANDIDATES, table.size), axis=None)[-min(_CANDIDATES, table.size)]
        near = [(-table[a, j], int(j), int(a)) for a, j in np.argwhere((table >= least) & np.isfinite(table))]
        found.update(((a, j), None) for _, j, a in sorted(near, key=lowest)[:_CANDIDATES])
    return sorted(found, key=lambda swap: (swap[1], state.chosen[swap[0]]))


def scorer_finisher(
    scorer_weight: float, latent_width: int | None, include: Sequence[int], exclude: Sequence[int]
) -> Finish:
    """Return what lowers J from the features found and reconstructs all features by J's own map.

    Parameters
    ----------
    scorer_weight : float
        Weight of the scorer's error beside the selector's.
    latent_width : int or None
        Width of the autoencoder's inner layer; None for the number of features selected.
    include, exclude : sequence of int
        Features that must or must not be selected.

    Returns
    -------
    callable
        Eigenvectors of the samples of a round are found once.
    """
    known: list[tuple[Round, tuple[Array, Array]]] = []

    def finish(part: Round, found: Found, setting: Setting) -> tuple[list[int], float]:
        last = next(iter(known), None)  # other threads have rounds of their own
        if last is None or last[0] is not part:
            last = part, part.gram.eigh()
            known[:] = [last]
        width = int(latent_width or len(found.chosen))
        objective = ScorerObjective(part.gram, width, scorer_weight, setting.refit, last[1])
        chosen = found.chosen
        if setting.exchange:
            chosen, _ = search_scorer(objective, chosen, include, exclude, found.prices)
        M, W_D = objective.weights(chosen, objective.exact(chosen)[1])
        V = (part.gram.xp.take(M, index(chosen, M, part.gram.xp), axis=0) @ W_D).T
        return chosen, map_error(V, part.target, part.shift, chosen)

    return finish
