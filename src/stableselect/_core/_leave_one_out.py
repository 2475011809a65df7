"""Search for the features with the least leave-one-out error of the ridge map, in closed form and without refitting.

Let p be the weights of the n samples, of sum one, A (n x m) the centred samples, each times the root of its weight,
K = AA', S the kept features, r the root of p and T = I - r r' - A_S (A_S'A_S + alpha I)^-1 A_S'. The rows of TA are the
residuals of the ridge map from S to all features, times the roots of the weights; the mean, which is fitted too, is
r r'. Where map and mean are fitted without sample i, the penalty unchanged, the residual of that sample is the one of
all samples divided by t_i = T_ii. So the leave-one-out error, summed over the features, is

    sum_i e_i / t_i^2,   e the diagonal of TKT [1]_ [2]_.

Adding feature j takes tau q q' away from T, with q = T a_j and tau = 1 / (alpha + a_j'q). Dropping it adds q q' divided
by alpha - a_j'q: the same with a negative tau. Then t loses tau q^2, and e loses 2 tau q (TKq) - tau^2 q^2 (q'Kq),
element by element. With G = TA and P = TKG kept up to date, one pass over these two n x m arrays gives the error after
adding any one feature, for all of them.

References
----------
.. [1] Allen (1974), The relationship between variable selection and data augmentation and a method for prediction,
   Technometrics 16(1).
.. [2] Golub, Heath & Wahba (1979), Generalized cross-validation as a method for choosing a good ridge parameter,
   Technometrics 21(2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import ModuleType

from ._arrays import Array, index
from ._forward_search import TIE, open_columns
from ._gram import pseudo_inverse
from ._kept_samples import KeptSamples

_STRETCH = 2**16
"""Elements per stretch of an n x m array, so that the few arrays a stretch needs stay in the processor's cache."""
_REFRESH = 64
"""Changes of the set between two recomputations, to keep rounding from building up."""


class LeaveOneOutState:
    """The leave-one-out error of a set of features, and what every change of the set would do to it.

    Errors are summed over the features and are in the units of the gram. A change costs a few passes over n x m arrays.

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
        xp, A, K = self.gram.xp, self.gram.A, self.samples.products
        T, TK, A_S, A_SP = _residual_maker(self.samples, self.chosen, self.alpha)
        self.t, self.e = xp.linalg.diagonal(T), xp.sum(TK * T, axis=1)
        self.G = A - A_SP @ (A_S.T @ A)
        self.P = TK @ self.G
        self.s = xp.sum(A * self.G, axis=0)  # a_j'T a_j
        self.c = xp.sum(self.G * (K @ self.G), axis=0)  # a_j'TKT a_j
        self.stale = 0

    @property
    def error(self) -> float:
        """The leave-one-out error of the set."""
        return float(self.gram.xp.sum(self.e / self.t**2))

    def errors_with(self) -> Array:
        """Return the error after adding each feature, length m."""
        parts = [self._errors(self.G[:, c], self.P[:, c], self.s[c], self.c[c], self.t, self.e) for c in self._parts()]
        return self.gram.xp.concat(parts)

    def training_gains(self) -> Array:
        """Return by how much adding each feature lowers the training loss, a_j'TKT a_j / (a_j'T a_j + alpha)."""
        return self.c / (self.s + self.alpha)

    def add(self, j: int) -> Array:
        """Add feature j, and return the error after adding each feature then."""
        errors = self._change(j, 1.0, keep=True)
        self.chosen.append(j)
        return errors

    def errors_without(self, j: int) -> Array:
        """Return the error after dropping the kept feature j and adding each feature; nothing is changed."""
        return self._change(j, -1.0, keep=False)

    def swap(self, old: int, new: int) -> None:
        """Replace a kept feature by another, which takes its place."""
        self._change(old, -1.0, keep=True)
        self._change(new, 1.0, keep=True)
        self.chosen[self.chosen.index(old)] = new
        if self.stale >= _REFRESH:
            self.refresh()

    def _parts(self) -> Iterator[slice]:
        n, m = self.gram.A.shape
        size = max(1, _STRETCH // n)
        return (slice(start, start + size) for start in range(0, m, size))

    def _change(self, j: int, sign: float, keep: bool) -> Array:
        """Return the error after adding each feature to the set with j added (sign 1) or dropped (-1)."""
        xp = self.gram.xp
        q, TKq = (xp.asarray(array[:, j], copy=True) for array in (self.G, self.P))
        tau = sign / (self.alpha + sign * float(self.s[j]))
        Kq = self.samples.products @ q
        qKq = float(q @ Kq)
        t = self.t - tau * q * q
        e = self.e - tau * q * (2 * TKq - tau * qKq * q)
        left, right = xp.stack([self.gram.A[:, j], Kq]), tau * xp.stack([TKq, q], axis=1)
        errors = []
        for part in self._parts():
            # q'A = a_j'TA, so both products read the old G; the new P is (T - tau q q') K (G - tau q (q'A)).
            both = left @ self.G[:, part]
            qA, KqG = both[0, :], both[1, :]
            G, P, s, c = self.G[:, part], self.P[:, part], self.s[part], self.c[part]
            if not keep:
                G, P, s, c = (xp.asarray(array, copy=True) for array in (G, P, s, c))
            G -= (tau * q)[:, None] * qA[None, :]
            P -= right @ xp.stack([qA, KqG - tau * qKq * qA])
            s -= tau * qA * qA
            c -= tau * qA * (2 * KqG - tau * qKq * qA)
            errors.append(self._errors(G, P, s, c, t, e))
        if keep:
            self.t, self.e = t, e
            self.stale += 1
        return xp.concat(errors)

    def _errors(self, G: Array, P: Array, s: Array, c: Array, t: Array, e: Array) -> Array:
        """Return sum_i (e - 2 g TKg + g^2 g'Kg)_i / (t - g^2)_i^2 for every column g of G / sqrt(s + alpha)."""
        xp = self.gram.xp
        scale = 1 / xp.sqrt(s + self.alpha)
        g = G * scale[None, :]
        above = g * (c * scale * scale)[None, :]
        above -= P * (2 * scale)[None, :]
        above *= g
        above += e[:, None]
        g *= g
        g -= t[:, None]
        g *= g
        above /= g
        return xp.sum(above, axis=0)


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


def forward_leave_one_out(
    samples: KeptSamples,
    k: int,
    alpha: float,
    include: Sequence[int] = (),
    exclude: Sequence[int] = (),
    prices: Array = None,
) -> LeaveOneOutState:
    """Choose k features one at a time, each by the least leave-one-out error, and its price where features have one.

    Features whose variance rests on one sample come after all others, and constant ones last. Where no feature lowers
    the error, the one that lowers the training loss most is taken.

    Parameters
    ----------
    samples : KeptSamples
        The samples.
    k : int
        Number of features.
    alpha : float
        Ridge weight, above zero.
    include, exclude : sequence of int
        Features that come first, in this order, and features that are never chosen.
    prices : array of length m, optional
        What keeping a feature costs beside the error, in its units; none below zero.

    Returns
    -------
    LeaveOneOutState
        ``chosen`` holds the features in order of selection.
    """
    gram, xp = samples.gram, samples.gram.xp
    price = 0.0 if prices is None else prices
    state = LeaveOneOutState(samples, alpha, include)
    allowed = open_columns(gram, [*include, *exclude])
    errors = state.errors_with()
    while len(state.chosen) < k:
        usable = _first_tier(samples, allowed)
        falls = state.error - errors
        helps = bool(xp.any(usable & (falls > TIE * state.error)))
        gain = xp.where(usable, (falls if helps else state.training_gains()) - price, -float("inf"))
        j = _first_of_best(gain, TIE * state.error if helps else 0.0, xp)
        allowed[j] = False
        errors = state.add(j)
    return state


def exchange_leave_one_out(
    state: LeaveOneOutState, include: Sequence[int] = (), exclude: Sequence[int] = (), prices: Array = None
) -> int:
    """Swap kept features for others until no single swap lowers the leave-one-out error and prices.

    Kept features are tried in turn, each against its best replacement.

    Parameters
    ----------
    state : LeaveOneOutState
        The start, changed in place.
    include, exclude, prices
        As for :func:`forward_leave_one_out`.

    Returns
    -------
    int
        Number of swaps made.
    """
    gram, xp = state.gram, state.gram.xp
    price = xp.zeros_like(state.s) if prices is None else prices
    n_swaps, unchanged = 0, 0
    free = [position for position, feature in enumerate(state.chosen) if feature not in set(include)]
    while unchanged < len(free):
        for position in free:
            old, error = state.chosen[position], state.error
            usable = _first_tier(state.samples, open_columns(gram, [*state.chosen, *exclude]))
            gain = xp.where(usable, error - state.errors_without(old) + price[old] - price, -float("inf"))
            new = _first_of_best(gain, TIE * error, xp)
            unchanged += 1
            if float(gain[new]) > TIE * error:
                state.swap(old, new)
                n_swaps, unchanged = n_swaps + 1, 0
            if unchanged >= len(free):
                break
    return n_swaps


def _first_of_best(gain: Array, rounding: float, xp: ModuleType) -> int:
    """Return the lowest index whose gain ties with the largest: within TIE of it, or within ``rounding``."""
    top = float(xp.max(gain))
    return int(xp.argmax(xp.astype(gain >= top - max(TIE * abs(top), rounding), xp.int32)))


def _first_tier(samples: KeptSamples, allowed: Array) -> Array:
    """Return which allowed features come first: those that several samples vary, else all that vary, else all."""
    xp = samples.gram.xp
    for tier in (samples.shared_variance, samples.gram.diagonal() > 0):
        if bool(xp.any(allowed & tier)):
            return allowed & tier
    return allowed
