"""The linear scorer-selector network: its weights, where they start, and which features they select.

Model (2) of [1]_: a score w_j per feature, s = phi(w), and one linear autoencoder (encoder E, m x d; decoder G, d x m)
shared by two paths. The *scorer* sees every feature, X diag(s) E G; the *selector* sees only the k features with the
highest scores. Training minimises ``selector + scorer_weight * scorer``. Two engines share this module: mini-batches
of samples (``_scorer_minibatch``) and full batches on the moments (``_scorer_full_batch``).

References
----------
.. [1] Wu and Cheng, "Algorithmic Stability and Generalization of an Unsupervised Feature Selection Algorithm",
   NeurIPS 2021.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal, NamedTuple

import numpy as np

from .._core import Array, Gram, namespace, to_numpy
from ..scorer import ScorerObjective, canonical_scores
from ._adam import Adam
from ._training import Trainable

Score = Literal["abs", "square", "identity"]
"""phi in s = phi(w); "identity" is for weights that are kept at or above 0."""

_SHRINKING_FRACTION = 0.7
"""Fraction of the steps over which annealing reduces the number of selected features from m to k."""


@dataclass(frozen=True)
class Objective:
    """What a network is trained for.

    Attributes
    ----------
    k : int
        Number of features to select.
    score : {"abs", "square", "identity"}
        phi in s = phi(w).
    scorer_weight : float
        Weight of the scorer's error.
    anneal : bool
        Reduce the number of selected features from m to k, and rank by reach instead of by score.
    """

    k: int
    score: Score
    scorer_weight: float
    anneal: bool

    def n_selected(self, progress: float, n_features: int) -> int:
        """Return how many features are selected at this point of the schedule: k, or m (k/m)^(t/T) while annealing."""
        progress /= _SHRINKING_FRACTION
        if not self.anneal or progress >= 1:
            return self.k
        return max(self.k, round(n_features * (self.k / n_features) ** progress))


@dataclass(frozen=True)
class Network:
    """A trained network as plain arrays.

    Attributes
    ----------
    score_weights : ndarray of shape (m,)
        s = phi(w), the factors of the features.
    scores : ndarray of shape (m,)
        What the features are ranked by, larger is better.
    selected : ndarray of shape (k,)
        Indices of the selected features, best first.
    losses : ndarray of shape (epochs, 2)
        Mean squared errors of the selector and the scorer path during training.
    errors : tuple of float
        The same for the final network, with exactly k features.
    encoder, decoder : ndarray of shape (m, d) and (d, m), or dict of str to ndarray
        E and G of a linear network; the weights of a nonlinear one, by torch's names.
    encoder_bias, decoder_bias : ndarray of shape (d,) and (m,), or None
        None if the network is nonlinear or was trained on centred features.
    network_weight : float or None
        Factor of a nonlinear network beside a linear map; None where there is no such map.
    """

    score_weights: np.ndarray
    scores: np.ndarray
    selected: np.ndarray
    losses: np.ndarray
    errors: tuple[float, float]
    encoder: Any
    decoder: Any
    encoder_bias: np.ndarray | None = None
    decoder_bias: np.ndarray | None = None
    network_weight: float | None = None


class LinearMap(NamedTuple):
    """A map x_S B + b from the features S to all; what it makes of S is S itself.

    Attributes
    ----------
    coefficients : ndarray of shape (k, m)
        B.
    intercept : ndarray of shape (m,)
        b.
    selected : ndarray of int of shape (k,)
        S, sorted.
    """

    coefficients: np.ndarray
    intercept: np.ndarray
    selected: np.ndarray


class Parameters:
    """All weights in one flat array, which the optimiser moves as a whole, with a view for each part.

    A gradient has the same layout. ``decoder`` is G' (m x d) or, with biases, [G', decoder bias]: the decoder bias is
    the weight of one more latent unit that is always one. In memory the weights of a feature lie together or, where
    ``by_units`` says so, those of a latent unit.
    """

    def __init__(self, flat: Array, n_features: int, width: int, bias: bool, by_units: bool = False) -> None:
        xp = namespace(flat)
        m, d = n_features, width
        self.flat, self.width, self.bias, self.by_units = flat, d, bias, by_units
        ends = np.cumsum([m, d * bias, m * d, m * (d + bias)]).tolist()
        self.w = flat[: ends[0]]
        self.encoder_bias = flat[ends[0] : ends[1]]
        self.encoder, self.decoder = (
            xp.reshape(part, (units, m)).T if by_units else xp.reshape(part, (m, units))
            for part, units in ((flat[ends[1] : ends[2]], d), (flat[ends[2] : ends[3]], d + bias))
        )

    @classmethod
    def zeros(cls, n_features: int, width: int, bias: bool) -> Parameters:
        """Return weights that are all zero."""
        return cls(np.zeros(n_features + width * bias + n_features * (2 * width + bias)), n_features, width, bias)

    def around(self, flat: Array) -> Parameters:
        """Return parameters with the same layout over another flat array."""
        return Parameters(flat, self.w.shape[0], self.width, self.bias, self.by_units)

    def copied_by_units(self) -> Parameters:
        """Return a copy in which the weights of a latent unit lie together."""
        flat = namespace(self.flat).zeros_like(self.flat)
        copy = Parameters(flat, self.w.shape[0], self.width, self.bias, by_units=True)
        copy.w[...], copy.encoder_bias[...] = self.w, self.encoder_bias
        copy.encoder[...], copy.decoder[...] = self.encoder, self.decoder
        return copy


class ScorerTrainable(Trainable):
    """The linear network and its optimiser; subclasses add the data.

    Parameters
    ----------
    at : Parameters
        The weights, changed in place.
    objective : Objective
        What to train for.
    deviation : array of shape (m,)
        Standard deviations of the features, for the ranking while annealing.
    epsilon : float
        Adam's eps.
    """

    def __init__(self, at: Parameters, objective: Objective, deviation: Array, epsilon: float = 1e-7) -> None:
        self._xp = namespace(at.flat)
        self._at, self._gradient = at, at.around(self._xp.zeros_like(at.flat))
        self._objective, self._deviation = objective, deviation
        self._adam = Adam(at.flat, epsilon)
        self.settled = not objective.anneal

    def restore(self, state: Array) -> None:
        """Set the weights."""
        self._at.flat[...] = state

    def _step(self, learning_rate: float) -> None:
        """Move the weights against the gradient, which is overwritten."""
        self._adam.step(self._at.flat, self._gradient.flat, learning_rate)

    def _ranks(self) -> np.ndarray:
        s = score_weights(self._at.w, self._objective.score, self._xp)
        return to_numpy(reach(s, self._at.encoder, self._deviation, self._xp) if self._objective.anneal else s)

    def _network(self, scores: np.ndarray, losses: np.ndarray, errors: tuple[float, float]) -> Network:
        """Return the network in NumPy double precision; ``scores`` are what the features are ranked by."""
        at, d = self._at, self._at.width
        parts = (at.w, at.encoder, at.decoder, at.encoder_bias)
        w, encoder, decoder, encoder_bias = (to_numpy(part).astype(np.float64, order="C") for part in parts)
        return Network(
            score_weights(w, self._objective.score, np),
            np.array(scores, dtype=np.float64),
            top_features(scores, self._objective.k),
            losses,
            errors,
            encoder,
            decoder[:, :d].T.copy(),
            encoder_bias if at.bias else None,
            decoder[:, d].copy() if at.bias else None,
        )


def random_scores(n_features: int, rng: np.random.RandomState) -> np.ndarray:
    """Draw the published initial scores: uniform on [0.999999, 0.9999999] in single precision.

    Single precision has about sixteen values there, so that the first top k consists mostly of ties.
    """
    return rng.uniform(0.999999, 0.9999999, n_features).astype(np.float32)


def random_parameters(n_features: int, width: int, bias: bool, rng: np.random.RandomState) -> Parameters:
    """Draw the published start: nearly equal scores, Glorot-uniform encoder and decoder, zero biases."""
    m, d = n_features, width
    parameters = Parameters.zeros(m, d, bias)
    parameters.w[:] = random_scores(m, rng)
    limit = (6 / (m + d)) ** 0.5
    parameters.encoder[:] = rng.uniform(-limit, limit, (m, d))
    parameters.decoder[:, :d] = rng.uniform(-limit, limit, (d, m)).T
    return parameters


def pca_parameters(gram: Gram, width: int, mean: np.ndarray | None = None) -> Parameters:
    """Start from the principal components, the best the scorer can do; nothing is random.

    E and G' are the top d eigenvectors. The scores lie in [0.999, 1], ordered by the features' reach: with equal scores
    every feature would be selected, the gradient would be zero, and rounding would decide the first top k.
    With ``mean`` the biases do the centring: X E - mean'E before the decoder, the mean itself after it.
    """
    parameters = Parameters.zeros(gram.n_features, width, mean is not None)
    vectors = to_numpy(gram.eigh()[1])[:, :width]
    parameters.encoder[:, : vectors.shape[1]] = vectors
    parameters.decoder[:, : vectors.shape[1]] = vectors
    order = reach(1.0, parameters.encoder, to_numpy(gram.diagonal()) ** 0.5, np)
    parameters.w[:] = 1 - 1e-3 * (1 - order / (order.max() or 1.0))
    if mean is not None:
        parameters.encoder_bias[:] = -(mean @ parameters.encoder)
        parameters.decoder[:, width] = mean
    return parameters


def search_parameters(
    gram: Gram, width: int, weight: float, ridge: float, selected: Sequence[int], mean: np.ndarray | None = None
) -> Parameters:
    """Start from the closed form for the given features: its weights, and scores that rank these features first.

    With ``mean`` the biases do the centring of the selector path.
    """
    selected = list(selected)
    objective = ScorerObjective(gram, width, weight, ridge)
    M, W_D = (to_numpy(part) for part in objective.weights(selected, objective.exact(selected)[1]))
    parameters = Parameters.zeros(gram.n_features, width, mean is not None)
    found = M.shape[1]
    parameters.w[:] = canonical_scores(M, to_numpy(gram.diagonal()) ** 0.5, selected)
    parameters.w[:] /= parameters.w.max()
    parameters.w[:] = np.maximum(parameters.w, 1e-3 * parameters.w[selected].min())
    parameters.encoder[:, :found] = M / parameters.w[:, None]
    parameters.decoder[:, :found] = W_D.T
    if mean is not None:
        parameters.encoder_bias[:found] = -(mean[selected] @ M[selected])
        parameters.decoder[:, width] = mean
    return parameters


def score_weights(w: Array, score: Score, xp: ModuleType) -> Array:
    """Return s = phi(w): abs(w), w^2 or w itself."""
    return w if score == "identity" else xp.abs(w) if score == "abs" else w * w


def score_slope(w: Array, score: Score, xp: ModuleType) -> Array:
    """Return phi'(w), zero at w = 0 but for "identity"."""
    return xp.ones_like(w) if score == "identity" else xp.sign(w) if score == "abs" else 2 * w


def reach(s: Array, encoder: Array, deviation: Array, xp: ModuleType) -> Array:
    """Return s_j ||E_j|| sigma_j, how strongly feature j acts on the latent units.

    Unlike s_j alone it does not change when a factor moves from the score to the encoder.
    """
    return s * deviation * xp.sqrt(xp.sum(encoder * encoder, axis=1))


def top_features_with_ties(scores: np.ndarray, k: int) -> np.ndarray:
    """Return the features at or above the k-th largest score: k of them, or more if there are ties."""
    m = scores.shape[0]
    if k >= m:
        return np.arange(m)
    return np.flatnonzero(scores >= np.partition(scores, m - k)[m - k])


def top_features(scores: np.ndarray, k: int) -> np.ndarray:
    """Return exactly k features, best first; ties go to the lowest index."""
    return np.argsort(-scores, kind="stable")[:k]
