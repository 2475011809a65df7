"""Forward searches in single precision; what that leaves open is settled in double precision.

Many searches side by side spend most of their time reading: C^2, and the directions found so far. In single precision
both are half as large. At every step it is noted which features may be the best, given what rounding may have done to
the gains; afterwards these gains alone are computed in double precision (:mod:`stableselect._core._settled_steps`).
Where another feature is the best after all, the search is made again with it.

So the features found are those of :func:`~stableselect._core._forward_search.forward_searches`, as far as rounding
stays within twice what was seen of it on many tables. Searches that come close to the rank of C, where single precision
tells little, are left to double precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ._forward_search import Lane, forward_searches
from ._gram import Gram
from ._settled_steps import Steps, certain_features
from ._threads import begun

_ROUNDING = 32 * float(np.finfo(np.float32).eps)
"""What rounding may have put into |R_j|^2 and R_jj + alpha, as a fraction of their sizes: see :class:`_Search`. On
tables of many kinds it was less than half of this, as the tests ask for. Of every feature chosen both are also computed
from R_j: a search in which one is off by more than that is not trusted."""
_UNSURE = 16
"""A pivot that is not this many times what rounding may have put into it is known to few digits."""
_VAGUE, _LIKELY = 0.9, 8
"""Where the gain that is certain of the best feature is less than this fraction of what it may be, those of so many
others are looked at."""
_SPREAD = 1e-12
"""Tables with variances below this fraction of their mean are left to double precision."""
_TOGETHER = 2**15
"""Searches are made side by side while they have so many features together, in double precision a third of that."""
_LEAST = 0.01
"""With less than this fraction of the variance left, single precision tells too little."""
_WATCHED, _HOPELESS = 8, 0.2
"""After so many steps it is reckoned what is left at the end if the loss goes on to fall like that: searches that come
to this fraction of the least are given up, if they are more than half."""
_ATTEMPTS = 4
"""A search that goes wrong as often as this is made in double precision."""


class SinglePrecision:
    """C and C^2 of several moments, in single precision and scaled to mean variance one.

    Parameters
    ----------
    n_grams, n_features : int
        The number of moments, and of their features.

    Attributes
    ----------
    usable : bool
        Whether single precision tells enough of all moments so far.
    """

    def __init__(self, n_grams: int, n_features: int) -> None:
        self.usable = True
        self.C, self.squares = np.empty((2, n_grams, n_features, n_features), dtype=np.float32)
        self.norms = np.empty((n_grams, n_features), dtype=np.float32)
        self._grams: dict[int, Gram] = {}

    def hold(self, at: int, gram: Gram) -> None:
        """Hold some moments, unless single precision tells too little.

        Parameters
        ----------
        at : int
            Their number.
        gram : Gram
            The moments, held whole in a NumPy array.
        """
        self._grams[at], variance, m = gram, gram.diagonal(), gram.n_features
        total, varying = float(variance.sum()), variance[variance > 0]
        if not (0 < total < np.inf and varying.min() * m >= _SPREAD * total):
            self.usable = False
        if not self.usable:
            return
        own = gram.unscaled(0.0)[0]
        scale = m / own.trace()
        np.multiply(own.dense(), scale, out=self.C[at], casting="same_kind")
        np.matmul(self.C[at].T, self.C[at], out=self.squares[at])
        # Of the diagonal of C^2, sums of squares, single precision keeps too few digits.
        np.multiply(own.squared_norms(), scale**2, out=self.norms[at], casting="same_kind")

    def search(
        self, ridges: Sequence[float], k: int, include: Sequence[int] = (), exclude: Sequence[int] = ()
    ) -> list[list[int]]:
        """Return what forward searches find with every ridge weight, gram by gram.

        Parameters
        ----------
        ridges : sequence of float
            The ridge weights, relative to the mean variance.
        k : int
            Number of features.
        include, exclude : sequence of int
            Features that come first, in this order, and features that are never chosen.

        Returns
        -------
        list of list of int
            The features in order of selection.
        """
        lanes = [(at, ridge) for at in range(len(self._grams)) for ridge in ridges]
        exact = [self._grams[at].unscaled(ridge) for at, ridge in lanes]
        m, found = len(self._grams[0].diagonal()), {}
        if self.usable and k < m:
            for some in _parts(range(len(lanes)), _TOGETHER // m):
                found.update(self._attempts(some, lanes, exact, k, include, exclude))
        left = [lane for lane in range(len(lanes)) if lane not in found]
        if self.usable and 2 * len(left) > len(lanes):  # nor will it do for larger ridge weights
            self.usable, self.C, self.squares = False, *np.empty((2, 0), dtype=np.float32)
        grams = dict.fromkeys(exact[lane][0] for lane in left)
        squares = {gram: begun(gram.expect_all) for gram in grams}  # other threads go on with them
        for some in _parts(left, _TOGETHER // 3 // m):
            for gram in {exact[lane][0] for lane in some}:
                squares[gram]()
            again = forward_searches([exact[lane] for lane in some], k, include, exclude)
            found.update(zip(some, again, strict=True))
        return [found[lane] for lane in range(len(lanes))]

    def _attempts(
        self,
        some: Sequence[int],
        lanes: Sequence[tuple[int, float]],
        exact: Sequence[Lane],
        k: int,
        include: Sequence[int],
        exclude: Sequence[int],
    ) -> dict[int, list[int]]:
        """Return what is found in some lanes, less those that need double precision."""
        found, left = {lane: list(include) for lane in some}, list(some)
        for _ in range(_ATTEMPTS):
            steps = _Search(self, [lanes[lane] for lane in left], k, exclude).run([found[lane] for lane in left])
            for lane, own in zip(left, certain_features([exact[lane] for lane in left], steps), strict=True):
                if own is None:
                    del found[lane]
                else:
                    found[lane] = own
            left = [lane for lane in left if lane in found and len(found[lane]) < k]
            if not left:
                break
        return {lane: own for lane, own in found.items() if len(own) == k}


def _parts(items: Sequence[int], size: int) -> list[Sequence[int]]:
    """Return the items in parts of a size, or one by one."""
    size = max(1, size)
    return [items[start : start + size] for start in range(0, len(items), size)]


class _Left(NamedTuple):
    """|R_j|^2 and R_jj + alpha of some features, each with what rounding may have put into it."""

    g: np.ndarray
    off_g: np.ndarray
    p: np.ndarray
    off_p: np.ndarray

    def least(self) -> np.ndarray:
        """Return the least that the features gain."""
        return (self.g - self.off_g) / (self.p + self.off_p)


class _Search:
    """What every lane has chosen, and what is left of its features.

    The notation is that of :class:`~stableselect._core._deflation.Deflation`. Of the norms g = |R_j|^2 the largest
    values are held that rounding allows, and of the pivots p = R_jj + alpha the smallest: g / p is the most that a
    feature may gain. A pivot is infinite where a feature is not looked at.

    Rounding is measured by the terms that cancel, as in double precision. The size of p is C_jj + alpha at first and
    that of g is |C_j|^2. What rounding has put into a feature i chosen gets into all others, divided by its pivot: each
    size grows by w_j^2 times the size of feature i over p_i.
    """

    def __init__(self, table: SinglePrecision, lanes: Sequence[tuple[int, float]], k: int, exclude: Sequence[int]):
        n, m, self.k = len(lanes), table.C.shape[1], k
        grams = np.array([at for at, _ in lanes])
        self.C, self.squares, self.first = table.C.reshape(-1, m), table.squares.reshape(-1, m), grams * m
        self.alphas = np.array([ridge for _, ridge in lanes], dtype=np.float32)
        variance, norms = np.diagonal(table.C, axis1=1, axis2=2)[grams], table.norms[grams]
        pivots = variance + self.alphas[:, None]
        self.off = _ROUNDING * np.stack([norms, pivots]).reshape(2, -1)  # at first
        self.growth = np.empty((n, k, 2), dtype=np.float32)  # off for what was chosen, over its pivot
        self.g, self.p = norms * (1 + _ROUNDING), pivots * (1 - _ROUNDING)
        self.p[:, list(exclude)] = np.inf
        self.p[variance <= 0] = np.inf
        self.limit = _UNSURE * _ROUNDING * pivots
        self.loss = variance.sum(axis=1, dtype=np.float64)
        self.least, self.before = _LEAST * self.loss, self.loss
        self.taken = np.empty((n, 2, k, m), dtype=np.float32)  # W and U / 2
        self.w, self.u, self.room = np.empty((3, n, m), dtype=np.float32)
        self.each, self.rows = np.arange(n), np.arange(n) * m
        self.order, self.lengths = np.empty((n, k), dtype=np.intp), np.empty((n, k), dtype=np.float32)
        self.trusted, self.seen = np.ones(n, dtype=bool), np.empty((k, 7, n))  # what :meth:`_check` asks for
        self.doubts: list[tuple[np.ndarray, ...]] = []  # lane, step and feature

    def run(self, known: Sequence[Sequence[int]]) -> Steps:
        """Return the features of all lanes, of which the first ones are known."""
        n_known = np.array([len(own) for own in known])
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):  # in lanes that are not trusted
            for step in range(self.k):
                given = step < n_known
                best, left = (np.zeros(len(known), dtype=np.intp), None) if given.all() else self._best(step, given)
                for lane in given.nonzero()[0].tolist():
                    best[lane], left = known[lane][step], None
                self._take(step, best, left)
                if (step + 1) % _WATCHED == 0:
                    self._check(slice(step + 1 - _WATCHED, step + 1))
                    ahead = self.loss * (self.loss / self.before) ** ((self.k - step - 1) / _WATCHED)
                    if 2 * np.count_nonzero(self.trusted & (ahead > _HOPELESS * self.least)) < len(known):
                        self.trusted[:] = False
                        break
                    self.before = self.loss.copy()
            else:
                self._check(slice(self.k // _WATCHED * _WATCHED, self.k))
        doubts = [np.concatenate(parts) for parts in zip(*self.doubts, strict=True)] or np.empty((3, 0), dtype=np.intp)
        return Steps(self.order, self.lengths, self.trusted, *doubts)

    def _best(self, step: int, given: np.ndarray) -> tuple[np.ndarray, _Left | None]:
        """Return what seems best in every lane, and what is left of it if known; note where other features may be."""
        self._set_aside(step)
        most = np.divide(self.g, self.p, out=self.room)
        best = most.argmax(axis=1)
        at = self.rows + best
        left = self._left(self.each, best, step)
        top, least = most.take(at), left.least()
        for lane in (least < _VAGUE * top).nonzero()[0].tolist():
            likely = np.argpartition(most[lane], -_LIKELY)[-_LIKELY:]
            least[lane] = self._left(np.full(_LIKELY, lane), likely, step).least().max()
        most.put(at, -np.inf)
        lanes = ((most.take(self.rows + most.argmax(axis=1)) >= least) & ~given).nonzero()[0]
        if len(lanes):
            most.put(at, top)
            own = most[lanes]
            place, features = ((own >= least[lanes, None]) & (own > 0)).nonzero()
            place = lanes[place]
            self.doubts.append((place, np.full(len(place), step), features))
            doubtful = self._left(place, features, step)
            ranked = np.argsort(doubtful.g / doubtful.p, kind="stable")
            best[place[ranked]] = features[ranked]  # the last one of a lane is the best
            return best, None
        return best, left

    def _left(self, lanes: np.ndarray, features: np.ndarray, step: int) -> _Left:
        """Return what is left of some features."""
        growth = self.growth[:, :step] if lanes is self.each else self.growth[lanes, :step]
        squares, at = np.square(self.taken[lanes, 0, :step, features]), self.rows[lanes] + features
        off_g, off_p = self.off.take(at, axis=1) + (squares[:, None] @ growth)[:, 0].T
        return _Left(self.g.take(at) - off_g, off_g, self.p.take(at) + off_p, off_p)

    def _set_aside(self, step: int) -> None:
        """Look no longer at features of which next to nothing is left: each may be the best of all steps to come."""
        unsure = self.p <= self.limit
        if unsure.any():
            lanes, features = unsure.nonzero()
            self.p[lanes, features] = np.inf
            steps = np.repeat(np.arange(step, self.k), len(lanes))
            self.doubts.append((np.tile(lanes, self.k - step), steps, np.tile(features, self.k - step)))

    def _take(self, step: int, best: np.ndarray, left: _Left | None) -> None:
        """Take a feature out of what is left in every lane."""
        w, u, room, at = self.w, self.u, self.room, self.rows + best
        last = step == self.k - 1
        np.take(self.C, self.first + best, axis=0, out=w, mode="clip")
        if step:
            own = self.taken[self.each, :, :step, best]  # W_j and U_j
            # Vector by vector, lane by lane: the second product of a lane finds its W in the processor's cache.
            both = (own[:, : 1 if last else 2, None] @ self.taken[:, :1, :step])[:, :, 0]
            w -= both[:, 0]
        pivots, norms = w.take(at) + self.alphas, np.einsum("ij,ij->i", w, w)
        inverse = 1 / pivots
        lengths = norms * inverse
        g, off_g, p, off_p = left or self._left(self.each, best, step)
        self.order[:, step], self.lengths[:, step] = best, lengths
        self.seen[step] = pivots, p, off_p, norms, g, off_g, self.loss
        self.loss = self.loss - lengths
        if last:
            return
        np.take(self.squares, self.first + best, axis=0, out=u, mode="clip")
        if step:
            u -= both[:, 1]
            u -= (own[:, :1] @ self.taken[:, 1, :step])[:, 0]
        units = np.sqrt(inverse)[:, None]
        w *= units
        u *= units
        u -= np.multiply(w, lengths[:, None] / 2, out=room)
        self.taken[:, 0, step], self.taken[:, 1, step] = w, u
        off_g, off_p = off_g * inverse, off_p * inverse
        self.growth[:, step, 0], self.growth[:, step, 1] = off_g, off_p
        np.multiply(w, (1 + off_p)[:, None], out=room)
        room *= w
        self.p -= room
        u *= 2
        u -= np.multiply(w, off_g[:, None], out=room)
        self.g -= np.multiply(w, u, out=room)
        self.p.reshape(-1)[at] = np.inf

    def _check(self, steps: slice) -> None:
        """Trust no lane further in which, at some of the steps, rounding did more than half of what is allowed."""
        pivots, p, off_p, norms, g, off_g, loss = self.seen[steps].transpose(1, 0, 2)
        sound = (np.abs(pivots - p) <= off_p / 2) & (np.abs(norms - g) <= off_g / 2)
        sound &= (loss > self.least) & (pivots > _UNSURE * off_p)
        self.trusted &= sound.all(axis=0)
