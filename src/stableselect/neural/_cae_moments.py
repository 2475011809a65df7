"""Training the concrete selector on moments, with the best linear decoder put in closed form.

Node h mixes the columns with weights P_h = softmax((logits_h + Gumbel noise) / T) [1]_. For a linear decoder the data
enters only through C, and the best decoder for a given P is a ridge regression, so only the logits are trained:

    L(P) = min_G |X - X P'G|^2 / n + alpha |G|^2 = tr C - tr((P C P' + alpha I)^-1 P C C P').

Putting the inner minimum in place before taking the gradient is variable projection [2]_. Two nodes that mix the same
columns span hardly more than one does, so L drives nodes apart while there is something left to explain; a small
penalty on crowded columns does so where there is not.

References
----------
.. [1] Abid, Balin & Zou (2019), Concrete autoencoders: differentiable feature selection and reconstruction, ICML.
.. [2] Golub & Pereyra (1973), The differentiation of pseudo-inverses and nonlinear least squares problems whose
   variables separate, SIAM Journal on Numerical Analysis.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import linear_sum_assignment
from scipy.special import logsumexp, softmax

from .._core import DualGram, Gram, PrimalGram, SwapState, open_columns, to_numpy
from ._scorer_parameters import Adam
from ._training import Trainee

_EPSILON = 1e-12
"""Adam's, beside gradients of the unexplained share: a node that has nothing to gain stays where it is."""
_DECAY = 0.1
"""Share of the first rate left at the last step; the fall is geometric. With a full rate at a low temperature a
difference in the last digit of C grows until it changes the choice."""
_NO_WORTH, _WORTH_RIDGE = 1e-3, 1e-6
"""Share of the variance below which no node's column is missed, and the ridge under which that is measured."""
_LEAST_DRAW = 1e-30
"""Exponential draws below this would give infinite noise."""


class ProjectedLoss:
    """L(P) / tr C and its gradient, for moments in either form.

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


class ConcreteMoments(Trainee):
    """Full-batch Adam on the logits; an epoch is one step with one draw of noise.

    Parameters
    ----------
    gram : Gram
        C of mean variance one.
    n_nodes : int
        Selector nodes.
    ridge : float
        alpha.
    penalty : float
        Weight of :func:`crowding` beside the unexplained share of the variance.
    temperature : tuple of float
        T at the start and at the end; it falls geometrically.
    learning_rate : float
        Adam's first, which falls geometrically to a tenth.
    unit : float
        What one unit of variance is in the table, for the history.
    rng : RandomState
        Draws the seed of the noise.

    Notes
    -----
    All logits start at zero, so that the noise alone is random. It belongs to positions in a list of the columns
    ordered by |C_j|, not to the columns' places in the table: permuting the table permutes the choice.
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
        self._weights = boxed(np.zeros((n_nodes, gram.n_features)))
        self._adam = Adam(self._weights, _EPSILON)

    @property
    def logits(self) -> np.ndarray:
        """The logits (nodes x columns), columns as in the table."""
        logits = np.empty_like(self._weights.flat)
        logits[:, self._order] = self._weights.flat
        return logits

    def train_epoch(self, start: float, end: float) -> tuple[float, ...]:
        """Take one step at the temperature of ``start``."""
        T = temperature_at(start, self._temperature)
        P = self._draw(T)
        loss, gradient = self._loss(P)
        crowded, slope = crowding(P)
        gradient += self._penalty * slope
        # Through the softmax: dL/dlogits = P (dL/dP - <P, dL/dP>) / T, row by row.
        gradient -= np.einsum("hj,hj->h", P, gradient)[:, None]
        gradient *= P
        gradient /= T
        self._adam.step(self._weights, boxed(gradient), self._rate * _DECAY**start)
        return ((loss + self._penalty * crowded) * self._scale, loss * self._scale)

    def state(self) -> np.ndarray:
        """Return a copy of the logits."""
        return self._weights.flat.copy()

    def restore(self, state: np.ndarray) -> None:
        """Take logits back."""
        self._weights.flat[...] = state

    def _draw(self, T: float) -> np.ndarray:
        """Return softmax((logits + noise) / T)."""
        P = self._weights.flat + gumbel(self._noise, self._weights.flat.shape)
        P -= P.max(axis=1, keepdims=True)
        P /= T
        np.exp(P, out=P)
        P /= P.sum(axis=1, keepdims=True)
        return P


def noise_source(rng: np.random.RandomState) -> np.random.Generator:
    """Return a generator seeded by ``rng``; it draws several times faster."""
    return np.random.Generator(np.random.PCG64(rng.randint(2**31 - 1)))


def gumbel(source: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Draw Gumbel noise in single precision: minus the logarithm of exponential draws."""
    draws = source.standard_exponential(shape, dtype=np.float32)
    np.log(np.maximum(draws, _LEAST_DRAW, out=draws), out=draws)
    return np.negative(draws, out=draws)


def crowding(P: np.ndarray) -> tuple[float, np.ndarray]:
    """Return sum_j max(0, sum_h P_hj - 1)^2 / k, for columns that several nodes mix in, and its gradient by column."""
    excess = np.maximum(P.sum(axis=0) - 1, 0.0)
    return float(excess @ excess) / len(P), 2 * excess / len(P)


def boxed(array: np.ndarray) -> Any:
    """Return an array as Adam takes it."""
    return SimpleNamespace(flat=array)


def take(gram: Gram, columns: np.ndarray) -> Gram:
    """Return the moments of some columns, in that order, in NumPy."""
    if isinstance(gram, DualGram):
        return DualGram(to_numpy(gram.A)[:, columns])
    return PrimalGram(to_numpy(gram.dense())[np.ix_(columns, columns)])


def temperature_at(progress: float, temperature: tuple[float, float]) -> float:
    """Return T_0 (T_1 / T_0)^progress."""
    first, last = temperature
    return first * (last / first) ** progress


def assign(logits: np.ndarray) -> np.ndarray:
    """Return a column for every node, no two the same, of the largest joint log-probability."""
    return linear_sum_assignment(log_probabilities(logits), maximize=True)[1]


def log_probabilities(logits: np.ndarray) -> np.ndarray:
    """Return the logarithms of the nodes' probabilities, without noise and at T = 1."""
    return logits - logsumexp(logits, axis=1, keepdims=True)


def log_odds(logits: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return log p - log(1 - p) of every node for its column, which tells near-certain nodes apart."""
    nodes = np.arange(len(columns))
    others = logits.copy()
    others[nodes, columns] = -np.inf
    return logits[nodes, columns] - logsumexp(others, axis=1)


def sampling_quality(gram: Gram, logits: np.ndarray, columns: np.ndarray) -> float:
    """Return what columns drawn by the nodes are worth, as a share of the worth of the nodes' own columns.

    A column is worth what it takes off the loss beside the other nodes' columns. Certain nodes give 1, and so do nodes
    that waver between columns that serve alike. A node that has nothing left to explain does not count.
    """
    state = SwapState(gram, columns.tolist(), _WORTH_RIDGE)
    own = np.maximum(to_numpy(state.drop_costs), 0.0)
    if own.sum() <= _NO_WORTH * gram.trace():
        return 1.0
    gains = to_numpy(state.swap_gains(open_columns(gram, columns.tolist())))
    worth = np.clip(gains + own[:, None], 0.0, own[:, None])
    worth[np.arange(len(columns)), columns] = own
    return float(np.sum(softmax(logits, axis=1) * worth) / own.sum())
