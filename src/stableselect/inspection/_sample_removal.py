r"""The best swap of a feature subset without one sample, for every sample, from moments that are computed once.

With n samples, C the moments of all of them, S the selected features, alpha the ridge weight and d = x - mean the
sample that goes, the other samples have the moments (n / (n-1)) Ct with Ct = C - b d d', b = 1 / (n-1) [1]_. A common
factor of the moments and of the ridge weight changes no relative gain, so everything below is in the units of Ct, where
the ridge weight alpha of all samples becomes a = alpha (n-1) / n: one number for every sample. With P = (C_SS + a
I)^-1, V = C_S P, R = C - V C_S', and for the sample

    z = P d_S,   e = d - V d_S,   c = b / (1 - b d_S'z)

Sherman and Morrison's formula [2]_ for P, put into V and R, leaves rank-one changes of all three:

    Pt = P + c z z',   Vt = V - c e z',   Rt = R - c e e'.

What :mod:`stableselect._core._swap_state` needs for the gains of all swaps follows, with q = R e and t = V'e:

    diag Rt = diag R - c e^2      |Rt_j|^2 = |R_j|^2 - 2c e_j q_j + c^2 |e|^2 e_j^2
    tr Rt = tr R - c |e|^2        Rt Vt = R V - c q z' - c e (t - c |e|^2 z)'

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
from copy import copy
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core import (
    EXHAUSTED,
    TRUST,
    Gram,
    Moments,
    SwapState,
    best_swap,
    normalised_moments,
    open_columns,
    pseudo_inverse,
    refined_product,
)
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
        self.open = open_columns(self.gram, [*self.chosen, *self.barred])

    def centred(self, samples: np.ndarray) -> np.ndarray:
        """Return the samples less the mean, in the units of the gram; a constant feature is zero, not its rounding."""
        return (self.X[samples] - self.mean) * (self.varies / np.sqrt(self.unit))

    def gram_without(self, sample: int) -> Gram:
        """Return Ct computed afresh."""
        others = Moments.from_array(np.delete(self.X, sample, axis=0)).operator()
        return others.scaled((self.n - 1) / self.n / self.unit)


class State(SwapState):
    """The state of the exchange search for one matrix of moments, and the residual R.

    A selected feature that is a combination of the others has zero rows in P and V: dropping it costs nothing.
    """

    def __init__(self, gram: Gram, task: SwapTask, alpha: float) -> None:
        self.task = task
        super().__init__(gram, task.chosen.tolist(), alpha)

    def refresh(self) -> None:
        """Compute everything from the moments and the subset."""
        chosen, fixed = self.task.chosen, self.task.fixed
        C_S = self.gram.rows(chosen).T
        basis = _independent(C_S[chosen], np.isin(chosen, fixed)) if self.alpha == 0 else np.arange(chosen.size)
        self.P = np.zeros((chosen.size, chosen.size))
        self.P[np.ix_(basis, basis)] = pseudo_inverse(C_S[np.ix_(chosen[basis], basis)], self.alpha, self.gram.xp)
        V = refined_product(C_S, self.P, C_S[chosen], self.alpha)
        self.R = self.gram.residual(chosen, V, self.alpha)
        self.V, self.Y = np.ascontiguousarray(V.T), np.ascontiguousarray(self.R.dot(V).T)
        self.g, self.h = self.R.squared_norms(), self.R.diagonal()
        self.settle()

    def best(self) -> tuple[float, float, tuple[int, int]]:
        """Return the largest gain, its rounding and its features (dropped, added).

        Minus infinity and -1 where there is no swap.
        """
        gain, rounding, a, j = best_swap(self, self.task.open, self.task.fixed)
        return gain, rounding, (-1 if a < 0 else self.chosen[a], j)


def judge(task: SwapTask, samples: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield, block by block of samples: best gain, its rounding, loss, total variance, best swap."""
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
        loss = state.loss - (c * size)[:, 0]
        shrunk = variance < _CANCELS * state.variance
        spent = (h + state.alpha < _CANCELS * (state.h + state.alpha)) & (state.h > TRUST / _CANCELS * state.variance)
        settled = (loss <= EXHAUSTED * total) & ~shrunk.any(axis=1)
        afresh = ~settled & (alone | shrunk.any(axis=1) | (spent & ~gone)[:, task.open].any(axis=1))
        gain, rounding, swaps = np.full(block.size, -np.inf), np.zeros(block.size), np.full((block.size, 2), -1)
        for i in np.flatnonzero(~settled):
            if afresh[i]:
                gram = task.gram_without(int(block[i]))
                exact = State(gram, task, state.alpha)
                loss[i], total[i] = exact.loss, gram.trace()
                gain[i], rounding[i], swaps[i] = exact.best()
                continue
            others, z = copy(state), c[i] * Z[i]
            others.P = state.P + np.outer(z, Z[i])
            others.V = state.V - np.outer(z, E[i])
            others.Y = state.Y - np.stack([z, c[i] * T[i] - c[i] * size[i] * z], axis=1) @ np.stack([Q[i], E[i]])
            others.g, others.h, others.variance = g[i], h[i], variance[i]
            others.settle()
            gain[i], rounding[i], swaps[i] = others.best()
        yield gain, rounding, loss, total, swaps


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
