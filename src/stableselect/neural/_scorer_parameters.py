"""The scorer-selector network: its weights, how they start, how Adam moves them, which columns they keep.

Model (2) of [1]_: a score w_j per column, s = phi(w), and one linear autoencoder (encoder E, m x d; decoder G, d x m)
shared by two paths. The *scorer* sees every column, X diag(s) E G; the *selector* sees only the k columns that score
highest. Training lowers ``selector + scorer_weight * scorer``. Two engines share this module: mini-batches of rows
(``_scorer_minibatch``) and full batches on the moments (``_scorer_full_batch``).

References
----------
.. [1] Wu and Cheng, "Algorithmic Stability and Generalization of an Unsupervised Feature Selection Algorithm",
   NeurIPS 2021.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Literal

import numpy as np
from sklearn.utils import check_random_state

from .._core import Array, Gram, namespace, to_numpy
from ..scorer import ScorerObjective, canonical_scores

Score = Literal["abs", "square"]
Init = Literal["published", "pca", "search"]

_SHRINKING_SHARE = 0.7
"""Share of the steps over which annealing shrinks the number of kept columns from m to k."""


@dataclass(frozen=True)
class Network:
    """A trained network, in NumPy double precision whatever it was trained in.

    Attributes
    ----------
    score_weights : ndarray of shape (m,)
        s = phi(w), what the columns are multiplied with.
    raw_scores : ndarray of shape (m,)
        w.
    encoder : ndarray of shape (m, d)
        E.
    decoder : ndarray of shape (d, m)
        G.
    encoder_bias : ndarray of shape (d,) or None
        None where the network was trained on centred columns.
    decoder_bias : ndarray of shape (m,) or None
        None where the network was trained on centred columns.
    selected : ndarray of shape (k,)
        Indices of the chosen columns, best first.
    scores : ndarray of shape (m,)
        What the columns were ranked by, larger is better.
    history : ndarray of shape (steps or epochs, 2)
        Mean squared error per cell of the selector and of the scorer path.
    errors : tuple of float
        The same for the network as it is, with exactly k columns.
    """

    score_weights: np.ndarray
    raw_scores: np.ndarray
    encoder: np.ndarray
    decoder: np.ndarray
    encoder_bias: np.ndarray | None
    decoder_bias: np.ndarray | None
    selected: np.ndarray
    scores: np.ndarray
    history: np.ndarray
    errors: tuple[float, float]


class Parameters:
    """All weights in one flat vector, which the optimiser moves in one go, with a view for each part.

    A gradient has the same layout. ``decoder`` is G' (m x d) or, with biases, [G', decoder bias]: a decoder bias is one
    more latent unit that is always one.
    """

    def __init__(self, flat: Array, n_features: int, width: int, bias: bool) -> None:
        xp = namespace(flat)
        m, d = n_features, width
        self.flat, self.width, self.bias = flat, d, bias
        ends = np.cumsum([m, d * bias, m * d, m * (d + bias)]).tolist()
        self.w = flat[: ends[0]]
        self.encoder_bias = flat[ends[0] : ends[1]]
        self.encoder = xp.reshape(flat[ends[1] : ends[2]], (m, d))
        self.decoder = xp.reshape(flat[ends[2] : ends[3]], (m, d + bias))

    def around(self, flat: Array) -> Parameters:
        """Return parameters of the same layout over another flat vector."""
        return Parameters(flat, self.w.shape[0], self.width, self.bias)

    def network(
        self,
        score: Score,
        selected: np.ndarray,
        scores: np.ndarray,
        history: np.ndarray,
        errors: tuple[float, float],
    ) -> Network:
        """Return the trained network in NumPy double precision."""
        parts = (self.w, self.encoder, self.decoder, self.encoder_bias)
        w, encoder, decoder, encoder_bias = (to_numpy(part).astype(np.float64) for part in parts)
        d = self.width
        return Network(
            score_weights=score_weights(w, score, np),
            raw_scores=w,
            encoder=encoder,
            decoder=decoder[:, :d].T.copy(),
            encoder_bias=encoder_bias if self.bias else None,
            decoder_bias=decoder[:, d].copy() if self.bias else None,
            selected=selected,
            scores=np.array(scores, dtype=np.float64),
            history=history,
            errors=errors,
        )


def random_parameters(n_features: int, width: int, bias: bool, random_state: object) -> Parameters:
    """Draw the published start: near-equal scores, Glorot uniform encoder and decoder, biases zero.

    The scores are uniform on [0.999999, 0.9999999] in single precision, which has about sixteen values there, so the
    first top k is mostly ties.
    """
    rng = check_random_state(random_state)
    m, d = n_features, width
    parameters = Parameters(np.zeros(m + d * bias + m * (2 * d + bias)), m, d, bias)
    parameters.w[:] = rng.uniform(0.999999, 0.9999999, m).astype(np.float32)
    limit = (6 / (m + d)) ** 0.5
    parameters.encoder[:] = rng.uniform(-limit, limit, (m, d))
    parameters.decoder[:, :d] = rng.uniform(-limit, limit, (d, m)).T
    return parameters


def pca_parameters(gram: Gram, width: int, mean: np.ndarray | None = None) -> Parameters:
    """Start at the best the scorer can do: E and G' the top-d eigenvectors, all scores near one; nothing is drawn.

    The scores lie in [0.999, 1] in the order of the columns' reach. Were they equal, everything would be kept, the
    gradient would be zero there, and rounding would decide the first top k.
    With ``mean`` the biases carry the centring: X E - mean'E before the decoder, the mean itself after it.
    """
    m, d, bias = gram.n_features, width, mean is not None
    vectors = to_numpy(gram.eigh()[1])[:, :d]
    parameters = Parameters(np.zeros(m + d * bias + m * (2 * d + bias)), m, d, bias)
    parameters.encoder[:, : vectors.shape[1]] = vectors
    parameters.decoder[:, : vectors.shape[1]] = vectors
    order = reach(1.0, parameters.encoder, to_numpy(gram.diagonal()) ** 0.5, np)
    parameters.w[:] = 1 - 1e-3 * (1 - order / (order.max() or 1.0))
    if mean is not None:
        parameters.encoder_bias[:] = -(mean @ parameters.encoder)
        parameters.decoder[:, d] = mean
    return parameters


def search_parameters(
    gram: Gram, width: int, weight: float, ridge: float, chosen: Sequence[int], mean: np.ndarray | None = None
) -> Parameters:
    """Start at the closed form for given columns: its weights, and scores that rank these columns first.

    With ``mean`` the biases carry the centring of the selector's path.
    """
    m, d, bias = gram.n_features, width, mean is not None
    objective = ScorerObjective(gram, d, weight, ridge)
    M, W_D = (to_numpy(part) for part in objective.weights(chosen, objective.exact(chosen)[1]))
    parameters = Parameters(np.zeros(m + d * bias + m * (2 * d + bias)), m, d, bias)
    found = M.shape[1]
    parameters.w[:] = canonical_scores(M, to_numpy(gram.diagonal()) ** 0.5, chosen)
    parameters.w[:] /= parameters.w.max()
    parameters.w[:] = np.maximum(parameters.w, 1e-3 * parameters.w[list(chosen)].min())
    parameters.encoder[:, :found] = M / parameters.w[:, None]
    parameters.decoder[:, :found] = W_D.T
    if mean is not None:
        parameters.encoder_bias[:found] = -(mean[list(chosen)] @ M[list(chosen)])
        parameters.decoder[:, d] = mean
    return parameters


def score_weights(w: Array, score: Score, xp: ModuleType) -> Array:
    """Return s = phi(w): abs(w) or w^2."""
    return xp.abs(w) if score == "abs" else w * w


def score_slope(w: Array, score: Score, xp: ModuleType) -> Array:
    """Return phi'(w), zero at w = 0."""
    return xp.sign(w) if score == "abs" else 2 * w


def reach(s: Array, encoder: Array, deviation: Array, xp: ModuleType) -> Array:
    """Return s_j ||E_j|| sigma_j, how much of column j reaches the latent units.

    Unlike s_j alone it does not change when a factor moves from the score to the encoder.
    """
    return s * deviation * xp.sqrt(xp.sum(encoder * encoder, axis=1))


def kept_columns(ranks: np.ndarray, k: int) -> np.ndarray:
    """Return the columns at or above the k-th largest value: k of them, or more where there are ties."""
    m = ranks.shape[0]
    if k >= m:
        return np.arange(m)
    return np.flatnonzero(ranks >= np.partition(ranks, m - k)[m - k])


def top_columns(ranks: np.ndarray, k: int) -> np.ndarray:
    """Return exactly k columns, best first; ties go to the lowest index."""
    return np.argsort(-ranks, kind="stable")[:k]


def kept_count(step: float, steps: float, n_features: int, k: int, anneal: bool) -> int:
    """Return how many columns the selector keeps at a step: k, or m (k/m)^(t/T) while annealing."""
    progress = step / (_SHRINKING_SHARE * steps)
    if not anneal or progress >= 1:
        return k
    return max(k, round(n_features * (k / n_features) ** progress))


class Adam:
    """Adam in Keras's form: theta -= rate_t m / (sqrt(v) + eps), rate_t = rate sqrt(1 - b2^t) / (1 - b1^t).

    The moments are kept without their factors (1 - b1) and (1 - b2), which go into the rate and eps instead.
    """

    _B1, _B2 = 0.9, 0.999
    _FLUSH_EVERY = 64
    _TINY = 1e-20

    def __init__(self, parameters: Parameters, epsilon: float = 1e-7) -> None:
        self._xp = namespace(parameters.flat)
        self._first = self._xp.zeros_like(parameters.flat)
        self._second = self._xp.zeros_like(parameters.flat)
        self._epsilon = epsilon / (1 - self._B2) ** 0.5
        self._step = 0

    def step(self, parameters: Parameters, gradient: Parameters, learning_rate: float) -> None:
        """Move the parameters against the gradient, in place; the gradient is used up."""
        first, second, g = self._first, self._second, gradient.flat
        self._step += 1
        rate = learning_rate * (1 - self._B2**self._step) ** 0.5 / (1 - self._B1**self._step)
        first *= self._B1
        first += g
        second *= self._B2
        g *= g
        second += g
        scale = self._xp.sqrt(second)
        scale += self._epsilon
        move = first / scale
        move *= rate * (1 - self._B1) / (1 - self._B2) ** 0.5
        flat = parameters.flat
        flat -= move
        if self._step % self._FLUSH_EVERY == 0:
            self._flush()

    def _flush(self) -> None:
        """Zero moments far below eps: those of a column without gradient would decay into slow denormal numbers."""
        self._first *= self._xp.astype(self._xp.abs(self._first) > self._TINY, self._first.dtype)
        self._second *= self._xp.astype(self._second > self._TINY**1.5, self._second.dtype)
