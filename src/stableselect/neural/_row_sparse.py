"""A linear autoencoder whose encoder is penalised row by row, trained on the moments in closed-form steps.

With C = X'X/n of centred features, an encoder W (m x d) and a decoder G (d x m), both selectors here minimise

    1/2 tr (I - W G)' C (I - W G) + sum_j p(|w_j|) + decay/2 |G|^2,

w_j the rows of W, p concave in |w_j|^2. Every step lowers it and needs no step size:

1. p(|w_j|) lies below a quadratic (1/2) |w_j|^2 / t_j^2 + constant that touches it at the present row, and G G' below
   s I with s its largest eigenvalue, so W = (s C + T^-2)^-1 C (G' + W (s I - G G')), T = diag(t).
2. G = (W'C W + decay I)^-1 W'C, a ridge regression.
3. A factor moves from W to G, which leaves the product alone, to where the two penalties balance. Steps 1 and 2 would
   get there too, but slowly.

Only products with C are formed; with few samples C stays in its thin form.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from .._core import DualGram, Gram, to_numpy
from ._elimination import Elimination
from ._training import Trainable

_GIVEN_UP = 1e-10
"""Features at or below this fraction of the strongest converge to zero."""


class RowSparseTrainable(Trainable):
    """The network and the moments of the features; an epoch is one step.

    Parameters
    ----------
    gram : Gram
        C, of mean variance one.
    k : int
        Number of features to select.
    width : int
        d; at most the rank of C.
    weight : float
        Weight of the penalty.
    decay : float
        Weight decay of the decoder, above 0.
    eliminate : bool
        Drop the weakest features during training.
    """

    def __init__(self, gram: Gram, k: int, width: int, weight: float, decay: float, eliminate: bool) -> None:
        self._thin = isinstance(gram, DualGram)
        # C itself or its thin factor A, C = A'A.
        self._held = to_numpy(gram.A if isinstance(gram, DualGram) else gram.dense())
        diagonal = to_numpy(gram.diagonal())
        self._trace, self._weight, self._decay = float(diagonal.sum()), weight, decay
        self.elimination = Elimination(diagonal > 0, k, eliminate)
        vectors = to_numpy(gram.eigh()[1])[:, :width] if self._trace > 0 else np.zeros((len(diagonal), 0))
        self.rank = vectors.shape[1]
        self.G = np.ascontiguousarray(vectors.T)
        self.W = vectors[self.elimination.left]
        self._balance()

    @property
    def settled(self) -> bool:  # type: ignore[override]
        """Whether only k features are left."""
        return self.elimination.done

    @abstractmethod
    def reach(self, lengths: np.ndarray) -> np.ndarray:
        """Return t_j of the quadratic above the penalty of a row of this length."""

    @abstractmethod
    def penalty(self, lengths: np.ndarray) -> float:
        """Return the sum of p(|w_j|) over rows of these lengths."""

    @abstractmethod
    def balance(self, penalty: float, decay: float) -> float:
        """Return the c that minimises penalty(W / c) + c^2 decay for the two terms at c = 1."""

    def lengths(self) -> np.ndarray:
        """Return |w_j| of the features left."""
        return np.sqrt(np.einsum("jh,jh->j", self.W, self.W))

    def strength(self) -> np.ndarray:
        """Return the strength of the features left."""
        return self.lengths()

    def encoder(self) -> np.ndarray:
        """Return W (m x d), zero for the features dropped."""
        W = np.zeros((self.G.shape[1], self.rank))
        W[self.elimination.left] = self.W
        return W

    def weights(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Return encoder and decoder by torch's names."""
        return {"0.weight": self.encoder().T.copy()}, {"0.weight": self.G.T.copy()}

    @np.errstate(all="ignore")
    def train_epoch(self, start: float, end: float) -> tuple[float, ...]:
        """Make one step and drop features; return the objective and the mean squared error."""
        K = self.G @ self.G.T
        largest = float(np.linalg.eigvalsh(K)[-1]) if self.rank else 0.0
        target = self.G.T.copy()
        target[self.elimination.left] += self.W @ (largest * np.eye(self.rank) - K)
        self.W = self._solve(self.reach(self.lengths()), largest, target)
        self.W = self.W[self.elimination.update(self.strength(), end, _GIVEN_UP)]
        U = self._dot_encoder()
        M = self.W.T @ U[self.elimination.left]
        self.G = np.linalg.solve(M + self._decay * np.eye(self.rank), U.T)
        error = self._trace - 2 * float(np.sum(U.T * self.G)) + float(np.sum(M * (self.G @ self.G.T)))
        self._balance()
        self.elimination.record(self.strength())
        objective = 0.5 * error + self.penalty(self.lengths()) + 0.5 * self._decay * float(np.sum(self.G**2))
        return objective, error / max(1, self.G.shape[1])

    def state(self) -> Any:
        """Return the weights of the features left; those dropped stay dropped."""
        return self.W.copy(), self.G.copy(), self.elimination.left.copy()

    def restore(self, state: Any) -> None:
        """Set the weights."""
        W, self.G, left = state
        self.W = W[np.isin(left, self.elimination.left)]
        self.elimination.record(self.strength())

    def _dot_encoder(self) -> np.ndarray:
        """Return C W."""
        left = self.elimination.left
        return self._held.T @ (self._held[:, left] @ self.W) if self._thin else self._held[:, left] @ self.W

    def _solve(self, reach: np.ndarray, s: float, target: np.ndarray) -> np.ndarray:
        """Return (s C + T^-2)^-1 C target for the features left, as T (I + s T C T)^-1 T C target.

        No eigenvalue of the inner matrix is below one, however small t. In the thin form T C T = B'B is wide, and
        (I + s B'B)^-1 B' = B' (I + s B B')^-1 is solved in the space of the samples.
        """
        left = self.elimination.left
        if self._thin:
            B = self._held[:, left] * reach
            inner, right = B @ B.T, self._held @ target
            if len(left) > len(inner):
                return reach[:, None] * (B.T @ _solve_shifted(inner, s, right))
            inner, right = B.T @ B, B.T @ right
        else:
            inner = self._held[np.ix_(left, left)] * reach[:, None] * reach
            right = reach[:, None] * (self._held[left] @ target)
        return reach[:, None] * _solve_shifted(inner, s, right)

    def _balance(self) -> None:
        penalty, decay = self.penalty(self.lengths()), 0.5 * self._decay * float(np.sum(self.G**2))
        if penalty > 0 and decay > 0:
            c = self.balance(penalty, decay)
            self.W, self.G = self.W / c, self.G * c


class AEFSTrainable(RowSparseTrainable):
    """Linear AEFS on the moments: p(|w|) = alpha |w| <= alpha |w|^2 / (2 |w_0|) + constant, so t^2 = |w_0| / alpha."""

    def reach(self, lengths: np.ndarray) -> np.ndarray:
        """Return sqrt(|w_j| / alpha)."""
        return np.sqrt(lengths / self._weight)

    def penalty(self, lengths: np.ndarray) -> float:
        """Return alpha |W|_{2,1}."""
        return self._weight * float(np.sum(lengths))

    def balance(self, penalty: float, decay: float) -> float:
        """Return the minimiser of penalty / c + c^2 decay."""
        return (penalty / (2 * decay)) ** (1 / 3)


class AgnoSSTrainable(RowSparseTrainable):
    """Linear AgnoS-S on the moments: W = diag(a) E, and l1 sum a_j + decay/2 |E|^2 is minimised over a for a given W.

    For |w_j| = a_j |e_j| the penalty l1 a + decay |w|^2 / (2 a^2) is least at a^3 = decay |w|^2 / l1, where it is
    (3/2) l1 a, a concave function of |w|. The quadratic of the current slack, t = a / sqrt(decay), is an upper bound.
    """

    def encoder(self) -> np.ndarray:
        """Return E (m x d), zero for the features dropped."""
        W, slacks = super().encoder(), self.elimination.strength_left()[:, None]
        return np.divide(W, slacks, out=np.zeros_like(W), where=slacks > 0)

    def strength(self) -> np.ndarray:
        """Return the slacks of the features left."""
        return self._slack(self.lengths())

    def reach(self, lengths: np.ndarray) -> np.ndarray:
        """Return a_j / sqrt(decay)."""
        return self._slack(lengths) / self._decay**0.5

    def penalty(self, lengths: np.ndarray) -> float:
        """Return (3/2) l1 sum a_j."""
        return 1.5 * self._weight * float(np.sum(self._slack(lengths)))

    def balance(self, penalty: float, decay: float) -> float:
        """Return the minimiser of penalty c^(-2/3) + c^2 decay."""
        return (penalty / (3 * decay)) ** (3 / 8)

    def _slack(self, lengths: np.ndarray) -> np.ndarray:
        """Return a_j = (decay |w_j|^2 / l1)^(1/3)."""
        return np.cbrt(self._decay * lengths**2 / self._weight)


def _solve_shifted(inner: np.ndarray, s: float, right: np.ndarray) -> np.ndarray:
    """Return (I + s inner)^-1 right; inner is overwritten."""
    inner *= s
    inner.flat[:: len(inner) + 1] += 1.0
    try:
        solved = cho_solve(cho_factor(inner, overwrite_a=True, check_finite=False), right, check_finite=False)
    except np.linalg.LinAlgError:
        solved = np.full(1, np.nan)
    if not np.all(np.isfinite(solved)):
        raise ValueError(
            "The penalties are too small or too large for double precision on these data; choose values nearer to the "
            "defaults."
        )
    return solved
