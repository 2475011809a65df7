"""The Adam optimiser for weights that lie in one array, in NumPy or torch."""

from __future__ import annotations

from .._core import Array, namespace


class Adam:
    """Adam as in Keras: theta -= rate_t m / (sqrt(v) + eps), rate_t = rate sqrt(1 - b2^t) / (1 - b1^t).

    The moments m and v are stored without their factors (1 - b1) and (1 - b2), which go into the rate and eps instead.

    Parameters
    ----------
    weights : array
        The weights; only their shape, type and device matter here.
    epsilon : float
        eps.
    """

    _B1, _B2 = 0.9, 0.999
    _FLUSH_EVERY = 64
    _TINY = 1e-20

    def __init__(self, weights: Array, epsilon: float = 1e-7) -> None:
        self._xp = namespace(weights)
        self._first = self._xp.zeros_like(weights)
        self._second = self._xp.zeros_like(weights)
        self._epsilon = epsilon / (1 - self._B2) ** 0.5
        self._step = 0

    def step(self, weights: Array, gradient: Array, learning_rate: float) -> None:
        """Move the weights against the gradient, in place. The gradient array is overwritten."""
        xp, first, second = self._xp, self._first, self._second
        self._step += 1
        rate = learning_rate * (1 - self._B2**self._step) ** 0.5 / (1 - self._B1**self._step)
        first *= self._B1
        first += gradient
        second *= self._B2
        gradient *= gradient
        second += gradient
        # In the gradient's place: new arrays of this size cost more than the arithmetic.
        xp.sqrt(second, out=gradient)
        gradient += self._epsilon
        xp.divide(first, gradient, out=gradient)
        gradient *= rate * (1 - self._B1) / (1 - self._B2) ** 0.5
        weights -= gradient
        if self._step % self._FLUSH_EVERY == 0:
            self._flush()

    def _flush(self) -> None:
        """Set moments far below eps to zero; without a gradient they would decay into slow denormal numbers."""
        self._first *= self._xp.astype(self._xp.abs(self._first) > self._TINY, self._first.dtype)
        self._second *= self._xp.astype(self._second > self._TINY**1.5, self._second.dtype)
