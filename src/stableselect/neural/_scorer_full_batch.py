"""The scorer-selector network trained on the moments: full-batch Adam, no rows, no batches.

On centred columns both paths' errors depend on the rows only through C = X'X/n, so a step costs one product of C with
m x 2d numbers however many rows there are, and the result does not depend on their order. Written against the
gram's array namespace (NumPy, torch), for C held whole or as a thin factor alike.
"""

from __future__ import annotations

import numpy as np

from .._core import Array, Gram, index, like, to_numpy
from ._scorer_parameters import (
    Adam,
    Init,
    Network,
    Parameters,
    Score,
    kept_columns,
    kept_count,
    pca_parameters,
    random_parameters,
    reach,
    score_slope,
    score_weights,
    top_columns,
)
from ._training import Stopping, Trainee, train

EPOCHS = 2000
_LEARNING_RATE = {False: 0.01, True: 0.003}
"""Adam's first rate, plain and annealed; chosen by test error on five tables."""
_EPSILON = 5e-8
"""Adam's eps as a share of tr C, so that the path does not depend on the units of the table."""
_DECAY = 0.03
"""Share of the first rate left at the last step; the fall is geometric."""


def train_gradient(
    gram: Gram,
    k: int,
    *,
    score: Score = "abs",
    scorer_weight: float = 1 / 128,
    latent_width: int | None = None,
    learning_rate: float | None = None,
    epochs: int | None = None,
    init: Init = "published",
    anneal: bool = False,
    random_state: object = None,
) -> Network:
    """Train the network on the moments of centred columns.

    Parameters
    ----------
    gram : Gram
        C = X'X/n of the centred columns.
    k : int
        Number of columns to keep.
    score : {"abs", "square"}
        phi in s = phi(w).
    scorer_weight : float
        Weight of the scorer's error beside the selector's.
    latent_width : int or None
        d; None means k.
    learning_rate : float or None
        Adam's first rate, which falls geometrically to 3 % of itself; None means 0.01, or 0.003 when annealing.
    epochs : int or None
        Full-batch steps; None means 2000.
    init : {"published", "pca"}
        Random start, or the principal components (see ``pca_parameters``).
    anneal : bool
        Start with every column kept, shrink to k over the first 70 % of the steps, and rank by
        s_j ||E_j|| sigma_j throughout instead of by s_j.
    random_state : int, RandomState or None
        Draws the start; nothing else is random.

    Returns
    -------
    Network
        Without biases. Row t of ``history`` is the objective after t + 1 steps with the mask of that moment; the last
        row has the final mask, exactly k columns.

    Examples
    --------
    >>> import numpy as np
    >>> from stableselect._core._gram import PrimalGram
    >>> X = np.random.default_rng(0).random((40, 6))
    >>> network = train_gradient(PrimalGram(np.cov(X.T, bias=True)), 2, epochs=100, random_state=0)
    >>> network.selected.shape, network.history.shape
    ((2,), (100, 2))
    """
    d = k if latent_width is None else latent_width
    m = gram.n_features
    begin = random_parameters(m, d, False, random_state) if init == "published" else pca_parameters(gram, d)
    trainee = GradientTrainee(
        begin, gram, k, score=score, scorer_weight=scorer_weight, learning_rate=learning_rate, anneal=anneal
    )
    history = train(trainee, Stopping(EPOCHS if epochs is None else epochs))
    return trainee.network(np.array(history.losses))


class GradientTrainee(Trainee):
    """The linear network without biases, with the moments of centred columns; an epoch is one full-batch step.

    Parameters
    ----------
    begin : Parameters
        The weights at the start.
    gram : Gram
        C = X'X/n of the centred columns.
    k : int
        Number of columns to keep.
    score : {"abs", "square"}
        phi in s = phi(w).
    scorer_weight : float
        Weight of the scorer's error beside the selector's.
    learning_rate : float or None
        Adam's first rate; None for the default.
    anneal : bool
        Shrink the kept columns from m to k, and rank by reach instead of by score.
    keeps_best : bool
        Whether :meth:`state` will be asked for.
    """

    def __init__(
        self,
        begin: Parameters,
        gram: Gram,
        k: int,
        *,
        score: Score,
        scorer_weight: float,
        learning_rate: float | None,
        anneal: bool,
        keeps_best: bool = False,
    ) -> None:
        self._keeps_best = keeps_best
        self._xp, diagonal = gram.xp, gram.diagonal()
        self._at = begin.around(like(begin.flat, diagonal, self._xp))
        self._gradient = self._at.around(self._xp.zeros_like(self._at.flat))
        self._deviation = self._xp.sqrt(diagonal)
        self._objective = Objective(gram, score, scorer_weight)
        self._adam = Adam(self._at, _EPSILON * (gram.trace() or 1.0))
        self._k, self._score, self._scorer_weight, self._anneal = k, score, scorer_weight, anneal
        self._rate = _LEARNING_RATE[anneal] if learning_rate is None else learning_rate
        self.settled = not anneal

    def train_epoch(self, start: float, end: float) -> tuple[float, ...]:
        """Make one step; return the objective, the selector's and the scorer's error before it."""
        count = kept_count(start, 1, len(self._deviation), self._k, self._anneal)
        self.settled = count == self._k
        if self._keeps_best:
            self._before = self._xp.asarray(self._at.flat, copy=True)
        selector, scorer = self._objective(self._at, kept_columns(self._ranks(), count), self._gradient)
        self._adam.step(self._at, self._gradient, self._rate * _DECAY**start)
        return selector + self._scorer_weight * scorer, selector, scorer

    def state(self) -> Array:
        """Return the weights that the last losses belong to: those before the step."""
        return self._before

    def restore(self, state: Array) -> None:
        """Take weights back."""
        self._at.flat[...] = state

    def network(self, losses: np.ndarray) -> Network:
        """Return the network as it is; ``losses`` are those of its steps."""
        ranks = self._ranks()
        selected = top_columns(ranks, self._k)
        final = self._objective(self._at, np.sort(selected), self._gradient)
        return self._at.network(self._score, selected, ranks, np.vstack([losses[1:, 1:], final]), final)

    def _ranks(self) -> np.ndarray:
        s = score_weights(self._at.w, self._score, self._xp)
        return to_numpy(reach(s, self._at.encoder, self._deviation, self._xp) if self._anneal else s)


class Objective:
    """selector + scorer_weight * scorer for given moments, with its gradient.

    With F = sE and H = G' (both m x d), U = C F, M = F'U and K = H'H, a path's error is

        tr C - 2<U, H> + <M, K>,    d/dF = 2 (U K - C H),    d/dH = 2 (H M - U).

    C [F, H] is the one product with all of C. The selector's F is zero outside the kept columns, so its U needs only
    those columns of C, or only the others.
    """

    def __init__(self, gram: Gram, score: Score, scorer_weight: float) -> None:
        self.gram, self.score, self.scorer_weight = gram, score, scorer_weight
        self._trace = gram.trace()

    def __call__(self, at: Parameters, kept: np.ndarray, gradient: Parameters) -> tuple[float, float]:
        """Write the gradient of half the objective summed over columns; return the errors per cell, selector first."""
        xp, m, d, lam = self.gram.xp, self.gram.n_features, at.width, self.scorer_weight
        E, H = at.encoder, at.decoder
        s = score_weights(at.w, self.score, xp)
        F = s[:, None] * E
        product = self.gram.dot(xp.concat([F, H], axis=1))
        U, CH = product[:, :d], product[:, d:]
        if 2 * kept.shape[0] <= m:
            V = self.gram.partial_dot(kept, F)
        else:
            V = U - self.gram.partial_dot(np.setdiff1d(np.arange(m), kept), F)
        rows = index(kept, F, xp)
        F_kept, V_kept, CH_kept = (xp.take(part, rows, axis=0) for part in (F, V, CH))
        K, M, N = H.T @ H, F.T @ U, F_kept.T @ V_kept
        scorer = self._trace - 2 * xp.sum(U * H) + xp.sum(M * K)
        selector = self._trace - 2 * xp.sum(CH_kept * F_kept) + xp.sum(N * K)

        D = U @ K
        D -= CH
        D *= lam
        D[rows, :] += V_kept @ K - CH_kept
        gradient.w[...] = xp.sum(D * E, axis=1) * score_slope(at.w, self.score, xp)
        gradient.encoder[...] = D * s[:, None]
        V += lam * U
        gradient.decoder[...] = H @ (lam * M + N) - V
        return float(selector) / m, float(scorer) / m
