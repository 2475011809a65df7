"""What is left of C as columns are taken out of it one at a time, for several searches side by side.

Every search ("lane") has taken its own columns out with its own ridge weights; they share C and each product with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from types import ModuleType

import numpy as np

from ._arrays import Array, index, like
from ._gram import DualGram, Gram, column_products
from ._part_gram import PartGram
from ._threads import wide_product


class Deflation:
    """R = C - W'W for every lane, W the directions w = R_j / sqrt(R_jj + alpha) that it has taken out; R is not formed.

    With z = R w, R before the step, the square of R - w w' is R^2 - w z' - z w' + |w|^2 w w'. So the columns j of R and
    R^2 follow from those of C and C^2 and from all w and z so far:

        R_j = C_j - W'W_j,   (R^2)_j = (C^2)_j - Z'W_j - W'(Z_j - |w|^2 W_j).

    C is only multiplied with columns of its own, each once for all lanes that share it.
    """

    def __init__(self, grams: Sequence[Gram], n_steps: int) -> None:
        self.grams, self.xp, self.n_steps = list(grams), grams[0].xp, 0
        self.taken = self._empty(len(grams), 2, n_steps, grams[0].diagonal().shape[0])  # W and Z
        self.lengths = self._empty(len(grams), n_steps)  # |w|^2

    def _empty(self, *shape: int) -> Array:
        return self.xp.empty(shape, dtype=self.xp.float64, device=self.grams[0].device)

    def restart(self, lane: int, R: Gram) -> bool:
        """Go on from a residual that was computed afresh; tell whether this is possible."""
        self.grams[lane] = R
        self.taken[lane, :, : self.n_steps, :] = 0.0
        self.lengths[lane, : self.n_steps] = 0.0
        return True

    def keep(self, lanes: Sequence[int]) -> None:
        """Go on with some of the lanes only."""
        at, self.grams = index(lanes, self.taken, self.xp), [self.grams[lane] for lane in lanes]
        self.taken, self.lengths = (self.xp.take(array, at, axis=0) for array in (self.taken, self.lengths))

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
        w, Rw : arrays of shape (L, m)
            With R before the step.
        lengths : array of shape (L,)
            |w|^2.
        inverse : array of shape (L,)
            One over the pivots, zero where the column stays.
        """
        xp, t = self.xp, self.n_steps
        lanes, at = (index(values, self.taken, xp) for values in (range(len(features)), features))
        both = self._empty(len(features), 2, self.taken.shape[3])
        for i, (gram, j) in enumerate(zip(self.grams, features, strict=True)):
            both[i, 0, :], both[i, 1, :] = gram.C[j, :], gram.square_row(j)
        if t:
            own = self.taken[lanes, :, :t, at]  # W_j and Z_j
            own[:, 1, :] -= self.lengths[:, :t] * own[:, 0, :]
            both -= own @ self.taken[:, 0, :t, :]
            both[:, 1, :] -= (own[:, :1, :] @ self.taken[:, 1, :t, :])[:, 0, :]
        inverse = _inverse(both[lanes, 0, at] + like(alphas, both, xp), smallest, xp)
        unit = xp.sqrt(inverse)
        both *= unit[:, None, None]
        w = both[:, 0, :]
        # Of some columns z_j knows more than w: it is R_j'w.
        lengths = both[lanes, 1, at] * unit if isinstance(self.grams[0], PartGram) else xp.vecdot(w, w)
        self.taken[:, :, t, :], self.lengths[:, t] = both, lengths
        self.n_steps += 1
        return w, both[:, 1, :], lengths, inverse


class DualDeflation(Deflation):
    """R = A'(I - Q'Q)A, with w = A'q and A w = (AA')q, so that one pass over A gives both results, for all lanes."""

    grams: list[DualGram]  # type: ignore[assignment]

    def __init__(self, grams: Sequence[DualGram], n_steps: int) -> None:
        self.grams, self.xp, self.n_steps = list(grams), grams[0].xp, 0
        self.A, self.K = grams[0].A, grams[0].products
        self.taken = self._empty(len(grams), n_steps, self.A.shape[0])  # Q

    def restart(self, lane: int, R: Gram) -> bool:
        """Leave a lane out: its residual has another factor."""
        self.keep([i for i in range(self.taken.shape[0]) if i != lane])
        return False

    def keep(self, lanes: Sequence[int]) -> None:
        """Go on with some of the lanes only."""
        self.grams = [self.grams[lane] for lane in lanes]
        self.taken = self.xp.take(self.taken, index(lanes, self.taken, self.xp), axis=0)

    def norms(self, lane: int) -> tuple[Array, Array] | None:
        """Return the squared column norms and the diagonal of a lane's R afresh."""
        gram = self.grams[lane]
        A, Q = gram.A, self.taken[lane, : self.n_steps, : gram.A.shape[0]]
        left = A - Q.T @ (Q @ A)
        return column_products(left, gram.products @ left, self.xp), column_products(A, left, self.xp)

    def step(self, features: Sequence[int], alphas: np.ndarray, smallest: Array) -> tuple[Array, Array, Array, Array]:
        """Take a column out of every lane's R, as above."""
        xp, A, Q = self.xp, self.A, self.taken[:, : self.n_steps, :]
        own = xp.take(A, index(features, A, xp), axis=1).T
        left = own - _projected(Q, own)
        pivots = xp.sum(own * left, axis=1) + like(alphas, A, xp)
        inverse = _inverse(pivots, smallest, xp)
        q = left * xp.sqrt(inverse)[:, None]
        z = q @ self.K
        z = z - _projected(Q, z)
        self.taken[:, self.n_steps, :] = q
        self.n_steps += 1
        both = wide_product(xp.concat([q, z]), A)
        w = both[: len(features), :]
        return w, both[len(features) :, :], xp.vecdot(w, w), inverse


class SharedDeflation(DualDeflation):
    """The same for factors A = E B that share B: one pass over it gives the results of all lanes.

    Factors with fewer rows than others are filled up with zeros.
    """

    def __init__(self, grams: Sequence[DualGram], n_steps: int) -> None:
        self.grams, self.xp, self.n_steps = list(grams), grams[0].xp, 0
        self.length = max(gram.A.shape[0] for gram in grams)
        self.taken = self._empty(len(grams), n_steps, self.length)  # Q

    def _each(self) -> list[tuple[DualGram, slice]]:
        """Return every factor, and its lanes, which stand in a row."""
        runs = [list(run) for _, run in groupby(range(len(self.grams)), key=lambda lane: id(self.grams[lane]))]
        return [(self.grams[run[0]], slice(run[0], run[-1] + 1)) for run in runs]

    def step(self, features: Sequence[int], alphas: np.ndarray, smallest: Array) -> tuple[Array, Array, Array, Array]:
        """Take a column out of every lane's R, as above."""
        Q, n = self.taken[:, : self.n_steps, :], len(features)
        own = _padded([gram.A[:, j] for gram, j in zip(self.grams, features, strict=True)], self.length)
        left = own - _projected(Q, own)
        inverse = _inverse(np.sum(own * left, axis=1) + alphas, smallest, np)
        q = left * np.sqrt(inverse)[:, None]
        z = np.zeros_like(q)
        for gram, lanes in self._each():
            r = gram.A.shape[0]
            z[lanes, :r] = q[lanes, :r] @ gram.products
        z -= _projected(Q, z)
        self.taken[:, self.n_steps, :] = q
        self.n_steps += 1
        rows = self.grams[0].shared.rows  # type: ignore[union-attr]
        vectors = np.empty((2, n, len(rows)))
        for gram, lanes in self._each():
            for at, own in enumerate((q, z)):
                vectors[at, lanes] = own[lanes, : gram.A.shape[0]] @ gram.shared.embedding  # type: ignore[union-attr]
        w, Rw = wide_product(vectors.reshape(2 * n, -1), rows).reshape(2, n, -1)
        return w, Rw, self.xp.vecdot(w, w), inverse


def deflations(grams: Sequence[Gram], n_steps: int) -> list[tuple[Deflation, list[int]]]:
    """Return objects that take up to ``n_steps`` columns out of every lane's C, and the lanes of each."""
    if not isinstance(grams[0], DualGram):
        return [(Deflation(grams, n_steps), list(range(len(grams))))]
    if all(gram.shared is not None and gram.shared.rows is grams[0].shared.rows for gram in grams):  # type: ignore
        return [(SharedDeflation(grams, n_steps), list(range(len(grams))))]  # type: ignore[arg-type]
    runs = [list(run) for _, run in groupby(range(len(grams)), key=lambda lane: id(grams[lane]))]
    return [(DualDeflation([grams[lane] for lane in run], n_steps), run) for run in runs]  # type: ignore[misc]


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
