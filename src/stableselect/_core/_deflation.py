"""What is left of C as columns are taken out of it one at a time, for several searches side by side.

Every search ("lane") has taken its own columns out with its own ridge weights; they share C and each product with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from types import ModuleType
from typing import Any

import numpy as np

from ._arrays import Array, index, like
from ._dual_gram import DualGram
from ._gram import Gram, column_products
from ._part_gram import PartGram
from ._threads import wide_product


class Deflation:
    """R = C - W'W for every lane, W the directions w = R_j / sqrt(R_jj + alpha) that it has taken out; R is not formed.

    With u = 2 R w - |w|^2 w, R before the step, the square of R - w w' is R^2 - (w u' + u w') / 2. So the columns j of
    R and R^2 follow from those of C and C^2 and from all w and u so far:

        R_j = C_j - W'W_j,   (R^2)_j = (C^2)_j - (U'W_j + W'U_j) / 2.

    C is only multiplied with columns of its own, each once for all lanes that share it.
    """

    def __init__(self, grams: Sequence[Gram], n_steps: int) -> None:
        self.xp, self.device, self.n_steps = grams[0].xp, grams[0].device, 0
        self.taken = self._empty(len(grams), *self._shape(grams, n_steps))
        self._hold(grams)

    def _shape(self, grams: Sequence[Gram], n_steps: int) -> tuple[int, ...]:
        """Return the shape of what a lane has taken out: W and U."""
        return 2, n_steps, grams[0].diagonal().shape[0]

    def _hold(self, grams: Sequence[Gram]) -> None:
        """Note the moments of all lanes; those that stand in a row share them."""
        self.grams: list[Any] = list(grams)
        self.runs = in_a_row(self.grams)
        self.lanes = index(range(len(self.grams)), self.taken, self.xp)

    def _empty(self, *shape: int) -> Array:
        return self.xp.empty(shape, dtype=self.xp.float64, device=self.device)

    def restart(self, lane: int, R: Gram) -> bool:
        """Go on from a residual that was computed afresh; tell whether this is possible."""
        self._hold([*self.grams[:lane], R, *self.grams[lane + 1 :]])
        self.taken[lane, :, : self.n_steps, :] = 0.0
        return True

    def keep(self, lanes: Sequence[int]) -> None:
        """Go on with some of the lanes only."""
        self._hold([self.grams[lane] for lane in lanes])
        self.taken = self.xp.take(self.taken, index(lanes, self.taken, self.xp), axis=0)

    def norms(self, lane: int) -> tuple[Array, Array] | None:
        """Return the squared column norms and the diagonal of a lane's R afresh; None where W is needed anew too."""
        return None

    def step(self, features: Sequence[int], alphas: np.ndarray, smallest: Array) -> tuple[Array, Array, Array, Array]:
        """Take a column out of every lane's R.

        Parameters
        ----------
        features : sequence of int
            The column of every lane.
        alphas : ndarray of shape (L,)
            Its ridge weight.
        smallest : array of shape (L,)
            A column whose pivot is at most this stays, and its w is zero.

        Returns
        -------
        w, u : arrays of shape (L, m)
            With R before the step.
        lengths : array of shape (L,)
            |w|^2.
        inverse : array of shape (L,)
            One over the pivots, zero where the column stays.
        """
        xp, t, at = self.xp, self.n_steps, index(features, self.taken, self.xp)
        w, u = self._empty(2, len(features), self.taken.shape[3])  # R_j and (R^2)_j at first
        for gram, run in self.runs:
            w[run, :], u[run, :] = gram.with_squares(at[run])
        if t:
            own = self.taken[self.lanes, :, :t, at]  # W_j and U_j
            own[:, 1, :] /= 2
            W, U = self.taken[:, 0, :t, :], self.taken[:, 1, :t, :]
            # One vector at a time: BLAS needs no copy of W then, and the second finds it in the processor's cache.
            products = (own[:, :, None, :] @ W[:, None, :, :])[:, :, 0, :]
            w -= products[:, 0, :]
            u -= products[:, 1, :]
            u -= ((own[:, :1, :] / 2) @ U)[:, 0, :]
        inverse = _inverse(w[self.lanes, at] + like(alphas, w, xp), smallest, xp)
        unit = xp.sqrt(inverse)[:, None]
        w *= unit
        # Of some columns R^2 knows more than w: R_j'w is |w|^2 over the unit.
        lengths = u[self.lanes, at] * inverse if isinstance(self.grams[0], PartGram) else xp.vecdot(w, w)
        u *= 2 * unit
        u -= lengths[:, None] * w
        self.taken[:, 0, t, :], self.taken[:, 1, t, :] = w, u
        self.n_steps += 1
        return w, u, lengths, inverse


class DualDeflation(Deflation):
    """R = A'(I - Q'Q)A, with w = A'q and A w = (AA')q, so that one pass over A gives both results, for all lanes."""

    def _shape(self, grams: Sequence[Any], n_steps: int) -> tuple[int, ...]:
        """Return the shape of what a lane has taken out: Q, with zeros at the end where others have more rows."""
        return n_steps, max(gram.A.shape[0] for gram in grams)

    def restart(self, lane: int, R: Gram) -> bool:
        """Leave a lane out: its residual has another factor."""
        self.keep([i for i in range(self.taken.shape[0]) if i != lane])
        return False

    def norms(self, lane: int) -> tuple[Array, Array] | None:
        """Return the squared column norms and the diagonal of a lane's R afresh."""
        gram = self.grams[lane]
        A, Q = gram.A, self.taken[lane, : self.n_steps, : gram.A.shape[0]]
        left = A - Q.T @ (Q @ A)
        return column_products(left, gram.products @ left, self.xp), column_products(A, left, self.xp)

    def step(self, features: Sequence[int], alphas: np.ndarray, smallest: Array) -> tuple[Array, Array, Array, Array]:
        """Take a column out of every lane's R, as above."""
        xp, gram, Q = self.xp, self.grams[0], self.taken[:, : self.n_steps, :]
        A = gram.A
        own = xp.take(A, index(features, A, xp), axis=1).T
        left = own - _projected(Q, own)
        pivots = xp.sum(own * left, axis=1) + like(alphas, A, xp)
        inverse = _inverse(pivots, smallest, xp)
        q = left * xp.sqrt(inverse)[:, None]
        z = q @ gram.products
        z = z - _projected(Q, z)
        self.taken[:, self.n_steps, :] = q
        self.n_steps += 1
        w, Rw = wide_product(xp.concat([q, z]), A).reshape(2, len(features), -1)
        return _taken_out(w, Rw, inverse, xp)


class SharedDeflation(DualDeflation):
    """The same for factors A = E B that share B: one pass over it gives the results of all lanes."""

    def step(self, features: Sequence[int], alphas: np.ndarray, smallest: Array) -> tuple[Array, Array, Array, Array]:
        """Take a column out of every lane's R, as above."""
        Q, n = self.taken[:, : self.n_steps, :], len(features)
        own = _padded([gram.A[:, j] for gram, j in zip(self.grams, features, strict=True)], Q.shape[2])
        left = own - _projected(Q, own)
        inverse = _inverse(np.sum(own * left, axis=1) + alphas, smallest, np)
        q = left * np.sqrt(inverse)[:, None]
        z = np.zeros_like(q)
        for gram, lanes in self.runs:
            r = gram.A.shape[0]
            z[lanes, :r] = q[lanes, :r] @ gram.products
        z -= _projected(Q, z)
        self.taken[:, self.n_steps, :] = q
        self.n_steps += 1
        rows = self.grams[0].shared.rows
        vectors = np.empty((2, n, len(rows)))
        for gram, lanes in self.runs:
            for at, own in enumerate((q, z)):
                vectors[at, lanes] = own[lanes, : gram.A.shape[0]] @ gram.shared.embedding
        w, Rw = wide_product(vectors.reshape(2 * n, -1), rows).reshape(2, n, -1)
        return _taken_out(w, Rw, inverse, self.xp)


def deflations(grams: Sequence[Gram], n_steps: int) -> list[tuple[Deflation, list[int]]]:
    """Return objects that take up to ``n_steps`` columns out of every lane's C, and the lanes of each."""
    if not isinstance(grams[0], DualGram):
        return [(Deflation(grams, n_steps), list(range(len(grams))))]
    if all(gram.shared is not None and gram.shared.rows is grams[0].shared.rows for gram in grams):  # type: ignore
        return [(SharedDeflation(grams, n_steps), list(range(len(grams))))]
    every = range(len(grams))
    return [(DualDeflation(grams[run], n_steps), list(every[run])) for _, run in in_a_row(grams)]


def in_a_row(grams: Sequence[Any]) -> list[tuple[Any, slice]]:
    """Return the moments of all lanes, each with its lanes, which stand in a row."""
    runs = [list(run) for _, run in groupby(range(len(grams)), key=lambda lane: id(grams[lane]))]
    return [(grams[run[0]], slice(run[0], run[-1] + 1)) for run in runs]


def _taken_out(w: Array, Rw: Array, inverse: Array, xp: ModuleType) -> tuple[Array, Array, Array, Array]:
    """Return what :meth:`Deflation.step` does; R w is used up."""
    lengths = xp.vecdot(w, w)
    Rw *= 2
    Rw -= lengths[:, None] * w
    return w, Rw, lengths, inverse


def _projected(Q: Array, vectors: Array) -> Array:
    """Return Q'Q v for every lane's vector v."""
    inner = (Q @ vectors[:, :, None])[:, :, 0]
    return (inner[:, None, :] @ Q)[:, 0, :]


def _inverse(pivots: Array, smallest: Array, xp: ModuleType) -> Array:
    """Return 1 / pivot, zero for pivots that are too small."""
    return 1 / xp.where(pivots > smallest, pivots, float("inf"))


def _padded(vectors: Sequence[Array], length: int) -> np.ndarray:
    """Return vectors of several lengths as rows of one array, with zeros at their ends."""
    found = np.zeros((len(vectors), length))
    for row, vector in zip(found, vectors, strict=True):
        row[: len(vector)] = vector
    return found
