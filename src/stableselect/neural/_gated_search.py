"""The search for the features whose own graph is smoothest: gates that close step by step, pairs, and swaps."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from .._core import TIE, significant
from ..base import counted, steps
from ._gated_graph import GatedGraph, on_budget

_CLOSING = 0.8
"""Part of the steps in which gates close; in the others k are open in sum."""
_RATE = 0.3
"""Largest change of a gate in a step."""
_PAIR_SAMPLES = 200
"""Samples on which pairs are compared."""
_TRIALS = 50
"""Swaps tried before a set is kept."""


class GatedSearch:
    """Samples, and the settings of the search for k of their features.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        Samples, centred and divided so that the mean of their features' sums of squares is one.
    k : int
        Number of features to select.
    n_neighbors : int
        The neighbour whose distance is the scale of a sample.
    n_samples : int
        Samples of a graph.
    rng : RandomState
        Draws the samples of every step, and the noise.
    """

    def __init__(self, X: np.ndarray, k: int, n_neighbors: int, n_samples: int, rng: np.random.RandomState) -> None:
        self.k, self.n_neighbors, self._rng = k, n_neighbors, rng
        self._all, self._n = X, min(n_samples, len(X))
        self._squares = np.sum(X**2, axis=0)
        self.X = self._draw()
        """The samples on which sets are compared."""

    def _draw(self) -> np.ndarray:
        """Return samples for one graph, all if these are not too many."""
        n, _ = self._all.shape
        if self._n == n:
            return self._all
        return self._part(self._all, np.sort(self._rng.choice(n, self._n, replace=False)))

    def _part(self, X: np.ndarray, samples: np.ndarray) -> np.ndarray:
        """Return some of the samples, every feature centred and with the sum of squares it has in all.

        Else features that happen to vary more in these samples would be preferred.
        """
        part = X[samples]
        varying = np.ptp(part, axis=0) > 0
        part -= part.mean(axis=0)
        own = np.sum(part**2, axis=0)
        return part * np.sqrt(np.divide(self._squares, own, out=np.zeros_like(own), where=varying & (own > 0)))

    def gates(self, n_steps: int, noise: float) -> np.ndarray:
        """Close the gates by projected gradient steps until k are open in sum, and return them."""
        m = self._all.shape[1]
        gates = np.ones(m)
        for step in counted(range(n_steps), "steps"):
            left = max(0.0, 1.0 - (step + 1) / (_CLOSING * n_steps))
            used = gates if noise == 0 else np.clip(gates + noise * self._rng.standard_normal(m), 0.0, 1.0)
            X = self._draw()
            gains = GatedGraph(X, used, self.n_neighbors).gains()
            size = np.abs(gains).max()
            gains -= gains.mean()
            largest = np.abs(gains).max()
            if largest > 1e-9 * size:  # else all features are worth the same, and the rest is rounding
                gates = gates + _RATE * gains / largest
            gates = on_budget(gates, self.k * (m / self.k) ** left)
        return gates

    def best_pair(self) -> list[int]:
        """Return the two features of the smoothest graph, by trying all pairs on some of the samples."""
        n = len(self.X)
        X = self.X if n <= _PAIR_SAMPLES else self._part(self.X, np.linspace(0, n - 1, _PAIR_SAMPLES).astype(int))
        best, chosen = -np.inf, (0, 0)
        for pair in counted(list(combinations(range(X.shape[1]), 2)), "pairs"):
            value = self._value(X, list(pair))
            if value > best + TIE * abs(best) or best == -np.inf:
                best, chosen = value, pair
        return list(chosen)

    def grown(self, chosen: list[int]) -> list[int]:
        """Add the feature of largest gain until there are k."""
        chosen = list(chosen)
        while len(chosen) < self.k:
            gains = significant(self.graph(chosen).gains())
            gains[chosen] = -np.inf
            chosen.append(int(np.argmax(gains)))
        return chosen

    def swapped(self, chosen: list[int]) -> tuple[list[int], float, int]:
        """Swap features, those that promise most first, until none of the swaps tried helps.

        Returns
        -------
        chosen : list of int
            The features.
        value : float
            Their objective.
        n_swaps : int
            How many were swapped.
        """
        chosen, value, n_swaps = sorted(chosen), self.value(chosen), 0
        with steps("swaps") as advance:
            while n_swaps < self.k and (better := self._better(chosen, value)):
                chosen, value = better
                n_swaps += 1
                advance()
        return chosen, value, n_swaps

    def _better(self, chosen: list[int], value: float) -> tuple[list[int], float] | None:
        """Return the first set with one feature swapped that has a larger objective, and that, or None."""
        gains = self.graph(chosen).gains()
        others = np.setdiff1d(np.arange(len(gains)), chosen)
        weakest = np.array(chosen)[np.argsort(significant(gains[chosen]), kind="stable")[:_TRIALS]]
        strongest = others[np.argsort(-significant(gains[others]), kind="stable")[:_TRIALS]]
        promise = significant(gains[strongest][None, :] - gains[weakest][:, None]).ravel()
        for place in np.argsort(-promise, kind="stable")[:_TRIALS]:
            out, new = weakest[place // len(strongest)], strongest[place % len(strongest)]
            swapped = sorted([*(int(j) for j in chosen if j != out), int(new)])
            found = self.value(swapped)
            if found > value + TIE * abs(value):
                return swapped, found
        return None

    def value(self, chosen: list[int]) -> float:
        """Return the objective of a set of features."""
        return self._value(self.X, chosen)

    def _value(self, X: np.ndarray, chosen: list[int]) -> float:
        return float(GatedGraph(X[:, chosen], np.ones(len(chosen)), self.n_neighbors).smoothness.mean())

    def graph(self, chosen: list[int]) -> GatedGraph:
        """Return the graph with the gates of a set of features open and all others closed."""
        gates = np.zeros(self.X.shape[1])
        gates[chosen] = 1.0
        return GatedGraph(self.X, gates, self.n_neighbors)
