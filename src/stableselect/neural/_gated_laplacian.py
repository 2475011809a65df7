"""Gated Laplacian: the features that are smooth on a neighbour graph of their own."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.utils import check_random_state

from .._compat import Constraints, Interval
from .._core import Array, dense_rows, significant, sorted_samples
from ..base import SamplesSelector, Selection
from ._gated_search import GatedSearch
from ._trained_selector import AT_LEAST_ONE


class GatedLaplacian(SamplesSelector):
    """Select the k features that vary least on a neighbour graph of their own, which nuisance features do not blur.

    A gate g_j between 0 and 1 weighs every feature in the distances, and the graph is built anew from the gated samples
    at each step. With d_il = sum_j g_j (x_ij - x_lj)^2, K_il = exp(-d_il / sqrt(s_i s_l)), P = D^-1 K the random walk
    on the graph and v the mean variance, the objective is ::

        sum_j g_j x_j' P^2 x_j / (n v sum_j g_j)

    the part of the variance that two steps of the walk keep. All gates start open. They follow the gradient while
    their sum falls from m to k; the k largest are selected. Where there are not too many pairs of features, the best of
    them all, grown to k features, is a second start. Of the two the better is improved by swaps.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to select, a fraction of them (rounded up), or None for half.
    n_neighbors : int, default=5
        The scale s_i of a sample is d to this neighbour; at most n - 1 is used.
    noise : float, default=0.0
        Standard deviation of normal noise that is added to the gates at each step (stochastic gates); 0 for none.
    n_steps : int, default=100
        Number of steps in which the gates close.
    max_pairs : int, default=2500
        Try all pairs of features if there are at most this many; 0 to start from the gates alone.
    max_samples : int, default=500
        Samples in a graph. Of larger tables this many are drawn anew for each step, and once for pairs and swaps.
    random_state : int, RandomState instance or None, default=None
        Draws noise and samples; without noise and with at most ``max_samples`` samples nothing is drawn.
    verbose : bool, default=False
        Print the steps done and the time left to standard error.

    Attributes
    ----------
    gates_ : ndarray of shape (m,)
        The gates after the last step, before pairs and swaps; their sum is k (less if fewer features vary).
    objective_ : float
        The objective of the selected features: the mean of their ``scores_``.
    n_swaps_ : int
        Features swapped after the better start.

    See Also
    --------
    LaplacianScore : Scores on the graph of all features, nuisance features included.

    Notes
    -----
    For tables in which only some features have a structure of clusters or curves in common and all others are noise
    of their own. A reconstruction loss cannot leave out such noise: nothing else reconstructs it. The features of two
    moons were found in all tables tried, among up to 20 nuisance features (``make bench-nuisance``; the settings were
    chosen on other seeds).

    ``scores_`` is x_j' P^2 x_j / (n v) on the graph of the selected features, for constant features one less than the
    lowest. The scales are held when the gradient is taken, and recomputed at each step. One scale for all samples, as
    published, would make outliers islands that keep their own values, and features of long tails be preferred.

    Features that hold the same twice are smooth on each other's graph and selected together: unlike
    :class:`~stableselect.ColumnSubset` this method does not look for features that complement each other. Nor are
    features scaled: those of large variance weigh more, in the graph and the objective.

    From all features together the gates find what shows in the graph of all features. Among many nuisance features
    that is structure with some correlation, such as two moons; rings, which have none, are found by the pairs only.

    Lindenbaum et al. draw the gates at random, give their number a price, and descend a loss with the same numerator.
    Here k fixes the sum of the gates, and they are drawn only on request (``noise``). The derivative is with respect to
    the weight g_j in the squared distance and not its root, so that closed gates too have one and may open again.

    References
    ----------
    Lindenbaum, Shaham, Peterfreund, Svirsky, Casey & Kluger (2021), Differentiable unsupervised feature selection based
    on a gated Laplacian, NeurIPS.
    Shaham, Lindenbaum, Svirsky & Kluger (2022), Deep unsupervised feature selection by discarding nuisance and
    correlated features, Neural Networks 152.
    Zelnik-Manor & Perona (2004), Self-tuning spectral clustering, NIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.preprocessing import StandardScaler
    >>> from stableselect import GatedLaplacian
    >>> moons, _ = make_moons(100, noise=0.05, random_state=0)
    >>> noise = np.random.default_rng(0).uniform(size=(100, 5))
    >>> X = StandardScaler().fit_transform(np.hstack([noise, moons]))
    >>> sorted(GatedLaplacian(2).fit(X).selected_.tolist())
    [5, 6]
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **SamplesSelector._parameter_constraints,
        "n_neighbors": [AT_LEAST_ONE],
        "noise": [Interval(Real, 0, 1e100, closed="both")],
        "n_steps": [AT_LEAST_ONE],
        "max_pairs": [Interval(Integral, 0, None, closed="left")],
        "max_samples": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["boolean"],
    }

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        n_neighbors: int = 5,
        noise: float = 0.0,
        n_steps: int = 100,
        max_pairs: int = 2500,
        max_samples: int = 500,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_neighbors = n_neighbors
        self.noise = noise
        self.n_steps = n_steps
        self.max_pairs = max_pairs
        self.max_samples = max_samples
        self.random_state = random_state
        self.verbose = verbose

    def _select(self, X: Array, k: int) -> Selection:
        values, _ = dense_rows(sorted_samples(X)[0])
        m = values.shape[1]
        varying = np.flatnonzero(np.ptp(values, axis=0) > 0)
        values = values[:, varying] - values[:, varying].mean(axis=0)
        unit = float(np.sqrt(np.sum(values**2) / max(1, varying.size)))
        self.gates_, scores = np.zeros(m), np.zeros(m)
        self.objective_, self.n_swaps_ = 0.0, 0
        chosen: list[int] = []
        if varying.size:
            kept = min(k, varying.size)
            search = GatedSearch(
                values / unit, kept, self.n_neighbors, self.max_samples, check_random_state(self.random_state)
            )
            self.gates_[varying] = search.gates(self.n_steps, self.noise)
            found = self._search(search, self.gates_[varying])
            scores[varying] = search.graph(found).smoothness
            self.objective_ = float(scores[varying[found]].mean())
            by_score = np.argsort(-significant(scores[varying[found]]), kind="stable")
            chosen = varying[found][by_score].tolist()
        constant = np.setdiff1d(np.arange(m), varying)
        scores[constant] = scores.min(initial=0.0) - 1.0
        return Selection([*chosen, *constant[: k - len(chosen)].tolist()], scores)

    def _search(self, search: GatedSearch, gates: np.ndarray) -> list[int]:
        """Return the features found from both starts and swaps, in ascending order."""
        m, k = len(gates), search.k
        if k == m:
            return list(range(m))
        start = sorted(np.argsort(-significant(gates), kind="stable")[:k].tolist())
        if 1 < k and m * (m - 1) // 2 <= self.max_pairs:
            other = sorted(search.grown(search.best_pair()))
            start = max(start, other, key=search.value)
        found, _, self.n_swaps_ = search.swapped(start)
        return found
