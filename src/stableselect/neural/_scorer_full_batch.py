"""The scorer-selector network trained on the moments: full-batch Adam, without the samples.

On centred features the errors of both paths depend on the samples only through C = X'X/n, so a step costs one product
of C with m x 2d numbers however many samples there are, and the result does not depend on their order. Written for the
gram's array namespace (NumPy, torch), whether C is stored whole or as a thin factor.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np

from .._core import Array, Gram, Together, column_products, index, like
from ._scorer_parameters import (
    Network,
    Objective,
    Parameters,
    ScorerTrainable,
    score_slope,
    score_weights,
    top_features,
    top_features_with_ties,
)

STEPS = 2000
_LEARNING_RATE = {False: 0.01, True: 0.003}
"""Adam's initial learning rate, plain and annealed; chosen by test error on five datasets."""
_EPSILON = 5e-8
"""Adam's eps relative to tr C, so that the result does not depend on the units of the data."""
_DECAY = 0.03
"""Fraction of the initial learning rate left at the last step; the decay is geometric."""
_SHARED_PRODUCT = 5e6
"""Multiplications from which two products may be made side by side: they take some tenths of a millisecond."""


class FullBatchTrainable(ScorerTrainable):
    """The linear network without biases, and the moments of the centred features; an epoch is one full-batch step.

    Parameters
    ----------
    begin : Parameters
        The initial weights.
    gram : Gram
        C = X'X/n of the centred features.
    objective : Objective
        What to train for.
    learning_rate : float or None
        Initial learning rate of Adam; None for 0.01, or 0.003 when annealing.
    keeps_best : bool
        Whether :meth:`state` will be needed.
    """

    def __init__(
        self,
        begin: Parameters,
        gram: Gram,
        objective: Objective,
        learning_rate: float | None = None,
        keeps_best: bool = False,
    ) -> None:
        diagonal = gram.diagonal()
        at = begin.around(like(begin.flat, diagonal, gram.xp)).copied_by_units()
        super().__init__(at, objective, gram.xp.sqrt(diagonal), _EPSILON * (gram.trace() or 1.0))
        self._loss, self._keeps_best = MomentsLoss(gram, objective), keeps_best
        self._rate = _LEARNING_RATE[objective.anneal] if learning_rate is None else learning_rate

    def train_epoch(self, start: float, end: float) -> tuple[float, ...]:
        """Make one step; return the objective, the selector's and the scorer's error before it."""
        count = self._objective.n_selected(start, len(self._deviation))
        self.settled = count == self._objective.k
        if self._keeps_best:
            self._before = self._xp.asarray(self._at.flat, copy=True)
        selector, scorer = self._loss(self._at, top_features_with_ties(self._ranks(), count), self._gradient)
        self._step(self._rate * _DECAY**start)
        return selector + self._objective.scorer_weight * scorer, selector, scorer

    def state(self) -> Array:
        """Return the weights that the last losses belong to: those before the step."""
        return self._before

    def network(self, losses: np.ndarray) -> Network:
        """Return the network as it is; ``losses`` are those of its steps.

        Row t of the network's losses holds the errors after t + 1 steps; the last row those with exactly k features.
        """
        ranks = self._ranks()
        final = self._loss(self._at, np.sort(top_features(ranks, self._objective.k)), self._gradient)
        return self._network(ranks, np.vstack([losses[1:, 1:], final]), final)


class MomentsLoss:
    """selector + scorer_weight * scorer for given moments, with its gradient.

    With F = E's and H = G (both d x m, s for every column), U = F C, M = U F' and K = H H', the error of a path is

        tr C - 2<U, H> + <M, K>,    d/dF = 2 (K U - H C),    d/dH = 2 (M H - U).

    F C and H C are the only products with all of C. The selector's F is zero for features that are not selected, so
    its U needs only the rows of C of the selected features, or only the others.
    """

    def __init__(self, gram: Gram, objective: Objective) -> None:
        self.gram, self.objective = gram, objective
        self._trace, self._together = gram.trace(), Together()

    def __call__(self, at: Parameters, selected: np.ndarray, gradient: Parameters) -> tuple[float, float]:
        """Write the gradient of half the objective summed over features; return the two mean squared errors."""
        xp, m = self.gram.xp, self.gram.n_features
        score, lam = self.objective.score, self.objective.scorer_weight
        E, H = at.encoder.T, at.decoder.T
        s = score_weights(at.w, score, xp)
        F = E * s
        few = 2 * selected.shape[0] <= m
        part = selected if few else np.setdiff1d(np.arange(m), selected)

        def of_encoder() -> tuple[Array, ...]:
            U = self.gram.dot(F.T).T
            return U, U @ F.T, H @ H.T

        def of_decoder() -> tuple[Array, ...]:
            return self.gram.dot(H.T).T, self.gram.partial_dot(part, F.T).T

        if isinstance(F, np.ndarray) and m * F.size >= _SHARED_PRODUCT:
            (U, M, K), (HC, V) = self._together(of_encoder, of_decoder)
        else:
            (U, M, K), (HC, V) = of_encoder(), of_decoder()
        if not few:
            V = U - V
        rows = index(selected, F, xp)
        F_selected, V_selected, HC_selected = F[:, rows], V[:, rows], HC[:, rows]
        N = V_selected @ F_selected.T
        scorer = self._trace - 2 * _inner(U, H, xp) + _inner(M, K, xp)
        selector = self._trace - 2 * _inner(HC_selected, F_selected, xp) + _inner(N, K, xp)

        D = K @ U
        D -= HC
        D *= lam
        D[:, rows] += K @ V_selected - HC_selected
        gradient.w[...] = column_products(D, E, xp) * score_slope(at.w, score, xp)
        D *= s
        gradient.encoder.T[...] = D
        U *= lam
        V += U
        dH = (lam * M + N) @ H
        dH -= V
        gradient.decoder.T[...] = dH
        return float(selector) / m, float(scorer) / m


def _inner(A: Array, B: Array, xp: ModuleType) -> Array:
    """Return the sum of the products of all elements."""
    return float(np.vdot(A, B)) if isinstance(A, np.ndarray) else xp.sum(A * B)
