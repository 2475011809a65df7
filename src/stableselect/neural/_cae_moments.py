"""Training the concrete selector on moments, with the best linear decoder in closed form.

Node h mixes the features with weights P_h = softmax((logits_h + Gumbel noise) / T) [1]_. For a linear decoder the data
enter only through C, and the best decoder for a given P is a ridge regression, so only the logits are trained:

    L(P) = min_G |X - X P'G|^2 / n + alpha |G|^2 = tr C - tr((P C P' + alpha I)^-1 P C C P').

Inserting the inner minimum before taking the gradient is variable projection [2]_. Two nodes that mix the same features
span hardly more than one does, so L drives nodes apart while there is variance left to explain; a small penalty on
features used by several nodes does so when there is not.

References
----------
.. [1] Abid, Balin & Zou (2019), Concrete autoencoders: differentiable feature selection and reconstruction, ICML.
.. [2] Golub & Pereyra (1973), The differentiation of pseudo-inverses and nonlinear least squares problems whose
   variables separate, SIAM Journal on Numerical Analysis.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import linear_sum_assignment
from scipy.special import log_softmax, logsumexp, softmax

from .._core import DualGram, Gram, SwapState, open_columns, to_numpy
from ._adam import Adam
from ._training import Trainable

_EPSILON = 1e-12
"""Adam's epsilon, for gradients of the unexplained variance: a node with nothing to gain does not move."""
_DECAY = 0.1
"""Fraction of the initial learning rate left at the last step; the decay is geometric. With the full rate at a low
temperature a difference in the last digit of C would grow until it changes the selection."""
_NEGLIGIBLE, _QUALITY_RIDGE = 1e-3, 1e-6
"""Fraction of the variance below which the features of the nodes explain nothing, and the ridge of that measurement."""
_SMALLEST_DRAW = 1e-30
"""Exponential draws below this would give infinite noise."""


class ProjectedLoss:
    """L(P) / tr C and its gradient, for whole or thin moments.

    Parameters
    ----------
    gram : Gram
        C of mean variance one.
    ridge : float
        alpha.
    """

    def __init__(self, gram: Gram, ridge: float) -> None:
        self._ridge = ridge
        self._trace = gram.trace()
        self._evaluate: Callable[[np.ndarray], tuple[float, np.ndarray]]
        if isinstance(gram, DualGram):
            self._A = np.ascontiguousarray(to_numpy(gram.A))
            self._K = self._A @ self._A.T
            self._evaluate = self._dual
        else:
            self._C = np.ascontiguousarray(to_numpy(gram.dense()))
            self._evaluate = self._primal

    def __call__(self, P: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the loss and its gradient (k x m)."""
        loss, gradient = self._evaluate(P)
        gradient *= 2 / self._trace
        return loss / self._trace, gradient

    def _factor(self, M: np.ndarray) -> tuple[np.ndarray, bool]:
        M.flat[:: len(M) + 1] += self._ridge
        return cho_factor(M, overwrite_a=True, check_finite=False)

    def _primal(self, P: np.ndarray) -> tuple[float, np.ndarray]:
        """With U = C P' and H = U (P U + alpha I)^-1: L = tr C - <U, H>, half the gradient (U H'H - C H)'."""
        U = self._C @ P.T
        H = cho_solve(self._factor(P @ U), U.T, check_finite=False)
        gradient = (H @ H.T) @ U.T
        gradient -= H @ self._C
        return self._trace - float(np.vdot(U.T, H)), gradient

    def _dual(self, P: np.ndarray) -> tuple[float, np.ndarray]:
        """With B = A P', K = AA' and Q = (B'B + alpha I)^-1 B': the same through r x k arrays, one product with A'."""
        B = self._A @ P.T
        Q = cho_solve(self._factor(B.T @ B), B.T, check_finite=False)
        QK = Q @ self._K
        # C H = A' K Q' and H'H = Q K Q'.
        inner = (QK @ Q.T) @ B.T
        inner -= QK
        return self._trace - float(np.vdot(QK, B.T)), inner @ self._A


class ConcreteTrainable(Trainable):
    """Full-batch Adam on the logits of linear CAE; an epoch is one step with one draw of noise.

    Parameters
    ----------
    gram : Gram
        C of mean variance one.
    n_nodes : int
        Number of nodes.
    ridge : float
        alpha.
    penalty : float
        Weight of :func:`crowding`, relative to the unexplained fraction of the variance.
    temperature : tuple of float
        T at the start and at the end; it decays geometrically.
    learning_rate : float
        Initial learning rate of Adam, which decays geometrically to a tenth.
    unit : float
        Variance in the data that corresponds to one, for the history.
    rng : RandomState
        Draws the seed of the noise.

    Notes
    -----
    All logits start at zero, so that only the noise is random. It belongs to the features ordered by |C_j|, not to
    their order in the data: permuting the features permutes the selection.
    """

    def __init__(
        self,
        gram: Gram,
        n_nodes: int,
        *,
        ridge: float,
        penalty: float,
        temperature: tuple[float, float],
        learning_rate: float,
        unit: float,
        rng: np.random.RandomState,
    ) -> None:
        self._order = np.argsort(-to_numpy(gram.squared_norms()), kind="stable")
        self._loss = ProjectedLoss(take(gram, self._order), ridge)
        self._penalty, self._temperature, self._rate = penalty, temperature, learning_rate
        self._scale = unit * gram.trace() / gram.n_features
        self._noise = noise_source(rng)
        self._weights = np.zeros((n_nodes, gram.n_features))
        self._adam = Adam(self._weights, _EPSILON)

    @property
    def logits(self) -> np.ndarray:
        """The logits (nodes x features), with the features in the order of the data."""
        logits = np.empty_like(self._weights)
        logits[:, self._order] = self._weights
        return logits

    def train_epoch(self, start: float, end: float) -> tuple[float, ...]:
        """Make one step at the temperature of ``start``."""
        T = temperature_at(start, self._temperature)
        P = self._draw(T)
        loss, gradient = self._loss(P)
        crowded, slope = crowding(P)
        gradient += self._penalty * slope
        # Through the softmax: dL/dlogits = P (dL/dP - <P, dL/dP>) / T, row by row.
        gradient -= np.einsum("hj,hj->h", P, gradient)[:, None]
        gradient *= P
        gradient /= T
        self._adam.step(self._weights, gradient, self._rate * _DECAY**start)
        return ((loss + self._penalty * crowded) * self._scale, loss * self._scale)

    def state(self) -> np.ndarray:
        """Return a copy of the logits."""
        return self._weights.copy()

    def restore(self, state: np.ndarray) -> None:
        """Set the logits."""
        self._weights[...] = state

    def _draw(self, T: float) -> np.ndarray:
        """Return softmax((logits + noise) / T)."""
        P = self._weights + gumbel(self._noise, self._weights.shape)
        P -= P.max(axis=1, keepdims=True)
        P /= T
        np.exp(P, out=P)
        P /= P.sum(axis=1, keepdims=True)
        return P


def noise_source(rng: np.random.RandomState) -> np.random.Generator:
    """Return a generator seeded by ``rng``, which draws several times faster."""
    return np.random.Generator(np.random.PCG64(rng.randint(2**31 - 1)))


def gumbel(source: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Draw Gumbel noise in single precision: minus the logarithm of exponential draws."""
    draws = source.standard_exponential(shape, dtype=np.float32)
    np.log(np.maximum(draws, _SMALLEST_DRAW, out=draws), out=draws)
    return np.negative(draws, out=draws)


def crowding(P: np.ndarray) -> tuple[float, np.ndarray]:
    """Return sum_j max(0, sum_h P_hj - 1)^2 / k, for features that several nodes use, and its gradient by feature."""
    excess = np.maximum(P.sum(axis=0) - 1, 0.0)
    return float(excess @ excess) / len(P), 2 * excess / len(P)


def take(gram: Gram, features: np.ndarray) -> Gram:
    """Return the moments of some features, in that order, in NumPy."""
    if isinstance(gram, DualGram):
        return DualGram(to_numpy(gram.A)[:, features])
    return Gram(to_numpy(gram.dense())[np.ix_(features, features)])


def temperature_at(progress: float, temperature: tuple[float, float]) -> float:
    """Return T_0 (T_1 / T_0)^progress."""
    first, last = temperature
    return first * (last / first) ** progress


def assign(logits: np.ndarray) -> np.ndarray:
    """Return a different feature for every node, with the largest joint log-probability."""
    return linear_sum_assignment(log_softmax(logits, axis=1), maximize=True)[1]


def log_odds(logits: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Return log p - log(1 - p) of every node for its feature, which tells nearly certain nodes apart."""
    nodes = np.arange(len(features))
    others = logits.copy()
    others[nodes, features] = -np.inf
    return logits[nodes, features] - logsumexp(others, axis=1)


def sampling_quality(gram: Gram, logits: np.ndarray, features: np.ndarray) -> float:
    """Return how much features drawn by the nodes explain, as a fraction of what the nodes' own features explain.

    A feature explains what it takes off the loss, given the features of the other nodes. Nodes that are certain give 1,
    and so do nodes that hesitate between equivalent features. A node with nothing left to explain does not count.
    """
    state = SwapState(gram, features.tolist(), _QUALITY_RIDGE)
    own = np.maximum(to_numpy(state.drop_costs), 0.0)
    if own.sum() <= _NEGLIGIBLE * gram.trace():
        return 1.0
    gains = to_numpy(state.swap_gains(open_columns(gram, features.tolist())))
    value = np.clip(gains + own[:, None], 0.0, own[:, None])
    value[np.arange(len(features)), features] = own
    return float(np.sum(softmax(logits, axis=1) * value) / own.sum())


def fill(order: np.ndarray, m: int, k: int) -> list[int]:
    """Return the features in order, followed by those of lowest index up to k."""
    return [*order.tolist(), *np.setdiff1d(np.arange(m), order)[: k - len(order)].tolist()]


def default_steps(n_logits: int, most: int, fewest: int, work: float) -> int:
    """Return the number of steps that keeps steps x logits near ``work``, within bounds."""
    return int(min(most, max(fewest, work // n_logits)))
