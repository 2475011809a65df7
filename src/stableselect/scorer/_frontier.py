"""A setting of the stability frontier, finished with the scorer-selector's objective instead of the trace loss."""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Array, index
from ..subset import Finish, Found, Round, Setting, map_error
from ._objective import ScorerObjective
from ._search import search_scorer


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
