"""The samples themselves, where moments still hold them: what a leave-one-out error needs beside second moments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ._arrays import Array, index, namespace, to_numpy
from ._dual_gram import DualGram
from ._gram import Gram
from ._moments import Moments

FEWEST_SAMPLES = 3
"""Fewest different samples of which one can be left out."""


@dataclass(frozen=True)
class KeptSamples:
    """Samples that differ from each other, with their weights.

    Attributes
    ----------
    gram : DualGram
        Its factor A holds the centred samples, each times the root of its weight, of mean variance one.
    weights : array of shape (n,)
        Their weights, of sum one.
    """

    gram: DualGram
    weights: Array

    @property
    def products(self) -> Array:
        """AA', n x n."""
        return self.gram.products

    @cached_property
    def shared_variance(self) -> Array:
        """True for features whose variance does not rest on one sample, length m.

        False where one sample makes up more than 1/2 + 2/n of a feature's sum of squares, and where there is none. Such
        a feature is nearly constant but for that sample: scaled by its range, other samples can have any value in it.
        """
        xp, squares = self.gram.xp, self.gram.A**2
        total = xp.sum(squares, axis=0)
        limit = (0.5 + 2 / squares.shape[0]) * (1 + 1e-9)  # one of six samples that differs is just at it
        return (total > 0) & (xp.max(squares, axis=0) <= limit * total)


def kept_samples(moments: Moments, gram: Gram | None = None) -> KeptSamples | None:
    """Return the samples that moments hold, equal ones merged into one, or None where they hold sums only.

    That is so in the primal form. A sample listed twice is one sample of twice the weight: left
    out, it is left out altogether. ``gram`` are the moments of mean variance one, where they are known already.
    """
    if moments.form != "dual" or not moments.n_samples:
        return None
    xp = namespace(moments.mean)
    rows, weights = moments._stacked(xp)
    if not bool(xp.all(weights > 0)):
        return None
    gram = gram or moments.operator().normalised()[0]
    if not isinstance(gram, DualGram) or gram.trace() == 0:
        return None
    products = to_numpy(gram.products) / np.sqrt(np.outer(*[to_numpy(weights)] * 2))
    first = _first_equals(rows, products, xp.maximum(xp.abs(moments.minimum), xp.abs(moments.maximum)))
    places, merged = np.unique(first, return_inverse=True)
    if len(places) < FEWEST_SAMPLES:
        return None
    p = np.bincount(merged, weights=to_numpy(weights) / moments.weight_sum)
    shares = xp.asarray(p, device=gram.device)
    if len(places) == len(first):
        return KeptSamples(gram, shares)
    at = index(places, rows, xp)
    own = xp.take(weights, at) / moments.weight_sum
    return KeptSamples(DualGram(xp.take(gram.A, at, axis=0) * xp.sqrt(shares / own)[:, None]), shares)


def _first_equals(rows: Array, products: np.ndarray, size: Array) -> np.ndarray:
    """Return for every sample the first one equal to it, to the rounding of values as large as ``size``.

    Blocks of samples are centred each by its own mean first, so that equal samples may differ in their last digits.
    ``products`` are the samples' inner products with each other, in any unit.
    """
    xp = namespace(rows)
    limit = 16 * np.finfo(np.float64).eps * size
    norms = np.diag(products)
    near = norms[:, None] + norms[None, :] - 2 * products <= 1e-10 * (norms[:, None] + norms[None, :])
    first = np.arange(len(norms))
    for i, j in np.argwhere(np.triu(near, 1)):
        if first[j] == j and bool(xp.all(xp.abs(rows[int(i), :] - rows[int(j), :]) <= limit)):
            first[j] = first[i]
    return first
