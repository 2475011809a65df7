r"""The best swap of a feature subset without one sample, for every sample, from moments that are computed once.

With n samples, C the moments of all of them, S the selected features, alpha the ridge weight and d = x - mean the
sample that goes, the other samples have the moments (n / (n-1)) Ct with Ct = C - b d d', b = 1 / (n-1) [1]_. A common
factor of the moments and of the ridge weight changes no relative gain, so everything below is in the units of Ct, where
the ridge weight alpha of all samples becomes a = alpha (n-1) / n: one number for every sample. With P = (C_SS + a
I)^-1, V = C_S P, R = C - V C_S', and for the sample

    z = P d_S,   e = d - V d_S,   c = b / (1 - b d_S'z)

Sherman and Morrison's formula [2]_ for P, put into V and R, leaves rank-one changes of all three:

    Pt = P + c z z',   Vt = V - c e z',   Rt = R - c e e'.

What :mod:`stableselect._core._subset_search` needs for the gains of all swaps follows, with q = R e and t = V'e:

    diag Rt = diag R - c e^2                         |Rt_j|^2 = |R_j|^2 - 2c e_j q_j + c^2 |e|^2 e_j^2
    Rt Vt = R V - c q z' - c e (t - c |e|^2 z)'      |Vt_a|^2 = |V_a|^2 - 2c t_a z_a + c^2 |e|^2 z_a^2
    tr Rt = tr R - c |e|^2                           Pt_aa = P_aa + c z_a^2

So a sample costs a few passes over k x m numbers, after products with P, V and R that blocks of samples share. Where
the change cancels too many digits (a sample that alone moves some direction of the selected features, or alone makes up
what they leave of a feature) the moments are computed afresh without the sample.

References
----------
.. [1] Chan, Golub & LeVeque (1979), Updating formulae and a pairwise algorithm for computing sample variances.
.. [2] Sherman & Morrison (1950), Adjustment of an inverse matrix corresponding to a change in one element of a given
   matrix, Annals of Mathematical Statistics 21.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core import EXHAUSTED, TIE, TRUST, Gram, Moments, normalised_moments, pseudo_inverse
from ..base import check_some_selected, check_table, resolve_include_exclude

_CANCELS = 1e-5
"""A quantity that falls below this fraction of itself when a sample goes is computed afresh."""
_BLOCK_ELEMENTS = 2**19
"""Numbers of the table per block of samples."""


class SwapTask:
    """The checked arguments: table X, selected features ``chosen``, moments of mean variance one, fixed features."""

    def __init__(
        self,
        X: ArrayLike,
        selected: ArrayLike,
        ridge: Any,
        include: Iterable[str | int] | None,
        exclude: Iterable[str | int] | None,
    ) -> None:
        self.X = check_table(X, "X")
        self.n, self.m = self.X.shape
        if self.n < 3:
            raise ValueError(f"X must have at least 3 samples, so that 2 are left, but has {self.n}; give more.")
        if isinstance(ridge, bool) or not isinstance(ridge, Real) or not 0 <= float(ridge) < float("inf"):
            raise ValueError(f"ridge must be a number of at least 0 but is {ridge!r}; pass the selector's ridge_.")
        self.ridge = float(ridge)
        self.chosen = check_some_selected(selected, self.m)
        names: Any = getattr(X, "columns", None)
        self.fixed, self.barred = resolve_include_exclude(include, exclude, self.m, self.chosen.size, names)
        advice = "pass the settings the set was chosen with."
        kept = set(self.chosen.tolist())
        for feature in sorted(set(self.fixed) - kept):
            raise ValueError(f"Feature {feature} must be selected because include names it, but is not; {advice}")
        for feature in sorted(kept & set(self.barred)):
            raise ValueError(f"Feature {feature} must not be selected because exclude names it, but is; {advice}")
        moments = Moments.from_array(self.X)
        self.gram, self.unit = normalised_moments(moments)
        self.mean = np.asarray(moments.mean)
        self.varies = self.X.max(axis=0) > self.X.min(axis=0)
        self.free = np.flatnonzero(~np.isin(self.chosen, self.fixed))
        self.open = np.setdiff1d(np.arange(self.m), [*self.chosen, *self.barred])

    def centred(self, samples: np.ndarray) -> np.ndarray:
        """Return the samples less the mean, in the units of the gram; a constant feature is zero, not its rounding."""
        return (self.X[samples] - self.mean) * (self.varies / np.sqrt(self.unit))

    def gram_without(self, sample: int) -> Gram:
        """Return Ct computed afresh."""
        others = Moments.from_array(np.delete(self.X, sample, axis=0)).operator()
        return others.scaled((self.n - 1) / self.n / self.unit)


class State:
    """P, V, R and what follows from them for one matrix of moments; V and Y = R V are k x m.

    A selected feature that is a combination of the others has zero rows in P and V: dropping it costs nothing.
    """

    def __init__(self, gram: Gram, task: SwapTask, alpha: float) -> None:
        chosen = task.chosen
        self.alpha, self.free, self.open, self.chosen = alpha, task.free, task.open, chosen
        C_S = gram.columns(chosen)
        basis = _independent(C_S[chosen], np.isin(chosen, task.fixed)) if alpha == 0 else np.arange(chosen.size)
        self.P = np.zeros((chosen.size, chosen.size))
        self.P[np.ix_(basis, basis)] = pseudo_inverse(C_S[np.ix_(chosen[basis], basis)], alpha, gram.xp)
        V = C_S @ self.P
        self.R = gram.residual(chosen, V, alpha)
        self.V = np.ascontiguousarray(V.T)
        Y = self.R.dot(V).T
        self.variance, self.g, self.h = gram.diagonal(), self.R.squared_norms(), self.R.diagonal()
        self.pivots, self.norms = np.diagonal(self.P).copy(), np.sum(self.V**2, axis=1)
        self.loss = float(np.sum(self.h))
        swaps = np.ix_(self.free, self.open)
        self.V_swaps, self.Y_swaps = self.V[swaps], Y[swaps]

    def best(self) -> tuple[float, tuple[int, int]]:
        """Return the gain of the best swap, and the swap, with no sample left out."""
        left, right = np.zeros((self.chosen.size, 2)), np.zeros((2, self.variance.size))
        return self.best_swap(left, right, self.g, self.h, self.variance, self.pivots, self.norms, self.loss)

    def best_swap(
        self,
        left: np.ndarray,
        right: np.ndarray,
        g: np.ndarray,
        h: np.ndarray,
        variance: np.ndarray,
        pivots: np.ndarray,
        norms: np.ndarray,
        loss: float,
    ) -> tuple[float, tuple[int, int]]:
        """Return the largest gain and its features (dropped, added); minus infinity and -1 where there is no swap.

        The gain is (g + Vt/p (2 Yt + Vt |Vt|^2/p)) / (h + Vt^2/p + alpha) - |Vt|^2/p, with Yt = Y - left right,
        Vt = V - left[:, 0] right[1], and g = |Rt_j|^2, h = diag Rt, p = ``pivots`` = diag Pt, ``norms`` = |Vt_a|^2.
        Ties go to the lowest feature added, then to the lowest dropped.
        """
        if not self.free.size or not self.open.size:
            return -np.inf, (-1, -1)
        left, right = left[self.free], right[:, self.open]
        p = pivots[self.free, None]
        p = np.where(p > 0, p, np.inf)
        costs = norms[self.free, None] / p
        V = self.V_swaps - left[:, :1] * right[1]
        Y = self.Y_swaps - left @ right
        numerator = (2 * Y + V * costs) * (V / p) + g[self.open]
        denominator = V * (V / p) + (h[self.open] + self.alpha)
        usable = denominator > TRUST * variance[self.open]
        gains = np.where(usable, numerator / np.where(usable, denominator, 1.0) - costs, -np.inf)
        best = gains.max(axis=0)
        top = float(best.max())
        if top == -np.inf:
            return top, (-1, -1)
        slack = TIE * max(loss, top, 0.0)
        j = int(np.argmax(best >= top - slack))
        a = int(np.argmax(gains[:, j] >= best[j] - slack))
        return top, (int(self.chosen[self.free[a]]), int(self.open[j]))


def judge(task: SwapTask, samples: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield, block by block of samples, the best gain, the loss, the total variance and the best swap of each."""
    b = 1 / (task.n - 1)
    state = State(task.gram, task, task.ridge * (task.n - 1) / task.n)
    only = _only_samples(task.X)
    step = max(1, _BLOCK_ELEMENTS // task.m)
    for start in range(0, samples.size, step):
        block = samples[start : start + step]
        D = task.centred(block)
        U = D[:, task.chosen]
        Z = U @ state.P
        E = D - U @ state.V
        Q = state.R.dot(E.T).T
        T = E @ state.V.T
        room = 1 - b * np.sum(U * Z, axis=1)
        alone = room < _CANCELS  # the sample is all there is of some direction of the selected features
        c = (b / np.where(alone, 1.0, room))[:, None]
        size = np.sum(E * E, axis=1)[:, None]
        h = state.h - c * E**2
        g = state.g - 2 * c * E * Q + c**2 * size * E**2
        variance = state.variance - b * D**2
        gone = only == block[:, None]
        h[gone] = g[gone] = variance[gone] = 0.0
        total = np.sum(variance, axis=1)
        # What is left of such a feature is rounding: only its former variance tells it from a real residual.
        variance = np.where(gone, state.variance, variance)
        pivots = state.pivots + c * Z**2
        norms = state.norms - 2 * c * T * Z + c**2 * size * Z**2
        loss = state.loss - (c * size)[:, 0]
        shrunk = variance < _CANCELS * state.variance
        spent = (h + state.alpha < _CANCELS * (state.h + state.alpha)) & (state.h > TRUST / _CANCELS * state.variance)
        settled = (loss <= EXHAUSTED * total) & ~shrunk.any(axis=1)
        afresh = ~settled & (alone | shrunk.any(axis=1) | (spent & ~gone)[:, state.open].any(axis=1))
        gain, swaps = np.full(block.size, -np.inf), np.full((block.size, 2), -1)
        for i in np.flatnonzero(~settled):
            if afresh[i]:
                gram = task.gram_without(int(block[i]))
                exact = State(gram, task, state.alpha)
                loss[i], total[i] = exact.loss, gram.trace()
                gain[i], swaps[i] = exact.best()
                continue
            left = np.stack([c[i] * Z[i], c[i] * (T[i] - c[i] * size[i] * Z[i])], axis=1)
            right = np.stack([Q[i], E[i]])
            gain[i], swaps[i] = state.best_swap(left, right, g[i], h[i], variance[i], pivots[i], norms[i], loss[i])
        yield gain, loss, total, swaps


def _independent(M: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return the positions of features that span all of those with moments M; those marked ``first`` are taken first.

    Swaps may not drop the marked features, so a superfluous feature must be one of the others where there is a choice.
    """
    size = np.sqrt(np.where(np.diagonal(M) > 0, np.diagonal(M), 1.0))
    left = M / size[:, None] / size[None, :]
    kept = []
    for a in np.argsort(~first, kind="stable"):
        if left[a, a] > TRUST * M.shape[0]:
            kept.append(int(a))
            left -= np.outer(left[a], left[a] / left[a, a])
    return np.array(sorted(kept), dtype=np.intp)


def _only_samples(X: np.ndarray) -> np.ndarray:
    """Return, for every feature, the sample without which it is constant, -1 where there is none."""
    usual = np.median(X[:3], axis=0)  # all but one of three or more equal values: two of the first three are equal
    unusual = X != usual
    return np.where(unusual.sum(axis=0) == 1, unusual.argmax(axis=0), -1)
