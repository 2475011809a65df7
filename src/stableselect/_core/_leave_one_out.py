"""The leave-one-out error of the ridge map from a set of features, in closed form and without refitting.

Let p be the weights of the n samples, of sum one, A (n x m) the centred samples, each times the root of its weight,
K = AA', S the kept features, r the root of p and T = I - r r' - A_S (A_S'A_S + alpha I)^-1 A_S'. The rows of TA are the
residuals of the ridge map from S to all features, times the roots of the weights; the mean, which is fitted too, is
r r'. Where map and mean are fitted without sample i, the penalty unchanged, the residual of that sample is the one of
all samples divided by t_i = T_ii. So the leave-one-out error, summed over the features, is

    sum_i e_i / t_i^2,   e the diagonal of TKT [1]_ [2]_.

Adding feature j takes tau q q' away from T, with q = T a_j and tau = 1 / (alpha + a_j'q). Dropping it adds q q' divided
by alpha - a_j'q: the same with a negative tau. Then t loses tau q^2, and e loses 2 tau q (TKq) - tau^2 q^2 (q'Kq),
element by element. With G = TA and P = TKG kept up to date, one pass over these two n x m arrays gives a lower bound of
the error after adding any one feature, for all of them, and few need more than that.

References
----------
.. [1] Allen (1974), The relationship between variable selection and data augmentation and a method for prediction,
   Technometrics 16(1).
.. [2] Golub, Heath & Wahba (1979), Generalized cross-validation as a method for choosing a good ridge parameter,
   Technometrics 21(2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._arrays import Array, index, to_numpy
from ._inverse import pseudo_inverse
from ._kept_samples import KeptSamples
from ._threads import side_by_side

_STRETCH = 2**18
"""Elements per stretch of an m x n array, so that the few arrays a stretch needs stay in the processor's cache."""
_AT_ONCE = 4
"""Stretches that a thread takes at a time: about a millisecond's work."""
_REFRESH = 64
"""Changes of the set between two recomputations, to keep rounding from building up."""
_MARGIN = 1e-9
"""A bound is lower by this fraction of the error, for rounding and ties."""


_Measure = Callable[[Array, Array, Array, Array], Array]
"""From G', P', s and c of some features to a number for each."""


@dataclass(frozen=True)
class _Change:
    """What adding a feature (positive tau) or dropping it (negative) takes away, and what it leaves of t and e."""

    tau: float
    qKq: float
    left: Array  # a_j and Kq, n x 2
    right: Array  # TKq and q, times tau, 2 x n
    t: Array
    e: Array


class LeaveOneOutState:
    """The leave-one-out error of a set of features, and what every change of the set would do to it.

    Errors are summed over the features and are in the units of the gram. A change costs a few passes over m x n arrays:
    G' and P', a row for every feature.

    Parameters
    ----------
    samples : KeptSamples
        The samples.
    alpha : float
        Ridge weight, above zero.
    chosen : sequence of int
        The set.
    """

    def __init__(self, samples: KeptSamples, alpha: float, chosen: Sequence[int] = ()) -> None:
        self.samples, self.gram, self.alpha = samples, samples.gram, alpha
        self.chosen = list(chosen)
        self.refresh()

    def refresh(self) -> None:
        """Recompute everything from the samples and the set."""
        xp, A = self.gram.xp, self.gram.A
        T, TK, A_S, A_SP = _residual_maker(self.samples, self.chosen, self.alpha)
        self.t, self.e = xp.linalg.diagonal(T), xp.sum(TK * T, axis=1)
        K = self.samples.products
        self.G, self.P = (xp.empty((A.shape[1], A.shape[0]), dtype=A.dtype, device=self.gram.device) for _ in "GP")
        self.s, self.c = (xp.asarray(x, copy=True) for x in (self.gram.diagonal(), self.gram.squared_norms()))

        def compute(part: slice) -> None:
            own, G = A[:, part].T, self.G[part, :]
            if not self.chosen:  # TA = A, since A is centred
                G[:, :], self.P[part, :] = own, own @ K
                return
            G[:, :] = own - (own @ A_S) @ A_SP.T
            self.P[part, :] = G @ TK.T
            self.s[part] = xp.vecdot(own, G)  # a_j'T a_j
            self.c[part] = xp.vecdot(G, G @ K)  # a_j'TKT a_j

        self._of_parts(compute)
        self.low: Array = None
        self.stale = 0

    @property
    def error(self) -> float:
        """The leave-one-out error of the set."""
        return float(self.gram.xp.sum(self.e / self.t**2))

    def errors_with(self) -> Array:
        """Return the error after adding each feature, length m."""
        return self._each(self._errors, None)

    def least_errors(self, usable: Array, prices: Array, without: int | None = None) -> Array:
        """Return the error after adding each feature, infinite for those that cannot be the best of the usable ones.

        Parameters
        ----------
        usable : boolean array of length m
            Features that may be added.
        prices : array of length m
            What counts beside the error.
        without : int, optional
            A kept feature to drop first; nothing is changed.
        """
        xp = self.gram.xp
        change = None if without is None else self._planned(without, -1.0)
        if change is not None or self.low is None:
            low = self._each(self._bounds, change)
            self.low = low if change is None else self.low
        else:
            low = self.low
        low = xp.where(usable, low + prices, float("inf"))
        likely = int(xp.argmin(low))
        least = float(self._errors_of(index([likely], low, xp), change)[0] + prices[likely])
        limit = least + _MARGIN * (self.error + float(xp.max(prices)))
        left = index(np.flatnonzero(to_numpy(usable & ~(low > limit))), low, xp)
        errors = xp.full_like(low, float("inf"))
        errors[left] = self._errors_of(left, change)
        return errors

    def training_gains(self) -> Array:
        """Return by how much adding each feature lowers the training loss, a_j'TKT a_j / (a_j'T a_j + alpha)."""
        return self.c / (self.s + self.alpha)

    def add(self, j: int, *, last: bool = False) -> None:
        """Add feature j; what comes after that is not foreseen for the last one."""
        self._make(self._planned(j, 1.0), foresee=not last)
        self.chosen.append(j)

    def swap(self, old: int, new: int) -> None:
        """Replace a kept feature by another, which takes its place."""
        self._make(self._planned(old, -1.0))
        self._make(self._planned(new, 1.0))
        self.chosen[self.chosen.index(old)] = new
        if self.stale >= _REFRESH:
            self.refresh()

    def _of_parts(self, function: Callable[[Any], Array], features: Array = None) -> list[Array]:
        """Return a function of every stretch of all features, or of some, with several stretches side by side."""
        n, m = self.gram.A.shape
        size, stop = max(1, _STRETCH // n), m if features is None else max(1, int(features.shape[0]))
        parts: list[Any] = [slice(start, start + size) for start in range(0, stop, size)]
        if features is not None:
            parts = [features[part] for part in parts]
        if len(parts) <= _AT_ONCE or not isinstance(self.G, np.ndarray):
            return [function(part) for part in parts]
        groups = [parts[start : start + _AT_ONCE] for start in range(0, len(parts), _AT_ONCE)]
        return [found for group in side_by_side(lambda group: list(map(function, group)), groups) for found in group]

    def _planned(self, j: int, sign: float) -> _Change:
        """Return what adding feature j (sign 1) or dropping it (-1) changes."""
        xp = self.gram.xp
        q, TKq = (xp.asarray(array[j, :], copy=True) for array in (self.G, self.P))
        tau = sign / (self.alpha + sign * float(self.s[j]))
        Kq = self.samples.products @ q
        qKq = float(q @ Kq)
        t = self.t - tau * q * q
        e = self.e - tau * q * (2 * TKq - tau * qKq * q)
        return _Change(tau, qKq, xp.stack([self.gram.A[:, j], Kq], axis=1), tau * xp.stack([TKq, q]), t, e)

    def _after(self, rows: slice | Array, change: _Change | None, keep: bool = False) -> tuple[Array, ...]:
        """Return G', P', s and c of some features after a change, which is made in place to keep it."""
        G, P, s, c = self.G[rows, :], self.P[rows, :], self.s[rows], self.c[rows]
        if change is None:
            return G, P, s, c
        if not keep:
            G, P, s, c = (self.gram.xp.asarray(array, copy=True) for array in (G, P, s, c))
        # q'A = a_j'TA, so both products read the old G; the new P is (T - tau q q') K (G - tau q (q'A)).
        both = G @ change.left
        qA = both[:, 0]
        more = change.tau * change.qKq * qA
        s -= change.tau * qA * qA
        c -= change.tau * qA * (2 * both[:, 1] - more)
        G -= qA[:, None] * change.right[1, :]
        both[:, 1] -= more
        P -= both @ change.right
        return G, P, s, c

    def _make(self, change: _Change, foresee: bool = False) -> None:
        """Make a change, and bound what adding every feature leads to then, from the same arrays."""
        bounds = self._bounds(change.t, change.e)

        def make(part: slice) -> Array:
            state = self._after(part, change, keep=True)
            return bounds(*state) if foresee else None

        low = self._of_parts(make)
        self.t, self.e = change.t, change.e
        self.low = self.gram.xp.concat(low) if foresee else None
        self.stale += 1

    def _each(self, measure: Callable[..., _Measure], change: _Change | None) -> Array:
        """Return errors or bounds of all features, after a change if there is one."""
        of = measure(self.t, self.e) if change is None else measure(change.t, change.e)
        return self.gram.xp.concat(self._of_parts(lambda part: of(*self._after(part, change))))

    def _errors_of(self, features: Array, change: _Change | None) -> Array:
        """Return the error after adding each of some features."""
        errors = self._errors(self.t, self.e) if change is None else self._errors(change.t, change.e)
        return self.gram.xp.concat(self._of_parts(lambda part: errors(*self._after(part, change)), features))

    def _errors(self, t: Array, e: Array) -> _Measure:
        """Return what gives sum_i (e - 2 g TKg + g^2 g'Kg)_i / (t - g^2)_i^2 for every row g of G / sqrt(s + alpha)."""

        def errors(G: Array, P: Array, s: Array, c: Array) -> Array:
            inverse = 1 / (s + self.alpha)
            u = G * G
            u *= inverse[:, None]
            above = G * P
            above *= (-2 * inverse)[:, None]
            above += u * (c * inverse)[:, None]
            above += e
            u -= t
            u *= u
            above /= u
            return self.gram.xp.sum(above, axis=1)

        return errors

    def _bounds(self, t: Array, e: Array) -> _Measure:
        """Return what gives lower bounds of these errors.

        With u = g^2 and v = g TKg, none of the terms e - 2 v + u g'Kg is below zero, and 1 / (t - u)^2 is at least
        1 / t^2 + 2 u / t^3; the sums of the product are polynomials of G and P.
        """
        xp, square, cube = self.gram.xp, 1 / t**2, 1 / t**3
        total, weights = xp.sum(e * square), xp.stack([square, e * cube], axis=1)

        def bounds(G: Array, P: Array, s: Array, c: Array) -> Array:
            inverse = 1 / (s + self.alpha)
            squares, products, gain = G * G, G * P, c * inverse
            linear, cross = squares @ weights, products @ square
            weighted = squares * cube
            quadratic = gain * xp.vecdot(weighted, squares) - 2 * xp.vecdot(weighted, products)
            return total + inverse * (gain * linear[:, 0] - 2 * cross + 2 * (linear[:, 1] + inverse * quadratic))

        return bounds


def leave_one_out_error(samples: KeptSamples, chosen: Sequence[int], alpha: float) -> float:
    """Return the leave-one-out error of a set of features, summed over the features."""
    xp = samples.gram.xp
    T, TK, _, _ = _residual_maker(samples, chosen, alpha)
    return float(xp.sum(xp.sum(TK * T, axis=1) / xp.linalg.diagonal(T) ** 2))


def _residual_maker(samples: KeptSamples, chosen: Sequence[int], alpha: float) -> tuple[Array, Array, Array, Array]:
    """Return T, TK, A_S and A_S (A_S'A_S + alpha I)^-1."""
    xp, A = samples.gram.xp, samples.gram.A
    A_S = xp.take(A, index(chosen, A, xp), axis=1)
    n, k = A_S.shape
    eye = xp.eye(n, dtype=A.dtype, device=samples.gram.device)
    if k <= n:
        A_SP = A_S @ pseudo_inverse(A_S.T @ A_S, alpha, xp)
    else:
        A_SP = xp.linalg.solve(A_S @ A_S.T + alpha * eye, A_S)
    root = xp.sqrt(samples.weights)
    T = eye - root[:, None] * root[None, :] - A_SP @ A_S.T
    return T, T @ samples.products, A_S, A_SP
