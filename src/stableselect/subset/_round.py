"""One round of holding samples out: what is fitted on, what is held out, and the errors of maps from one to the other.

All is done on second moments. With V (m x k) the ridge map from the selected features S to all, fitted on moments C,
and T those of the samples held out around the mean of the others, the error is tr(T - 2 V T_S + V T_SS V').
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._core import (
    INDEPENDENT,
    Array,
    DualGram,
    Gram,
    HeldOut,
    Moments,
    factor_of,
    index,
    inverse_factors,
    side_by_side,
)

_VALUES = 2**18
"""With more values in an array of all rounds, each round is measured by itself, and another thread pays."""
_COLLINEAR = 100
"""Where the others leave this many times less of a feature, products with the inverse lose too many digits."""


@dataclass(frozen=True)
class Round:
    """Samples held out, and the others: the moments of these, of mean variance one, and of those in the same units.

    ``shift`` is the difference of the means, and an error per sample times ``weight`` is one in the units of the
    samples, summed over the samples held out.
    """

    gram: Gram
    target: Gram
    shift: Array
    weight: float

    @classmethod
    def of(cls, train: Moments, test: Moments, *, thin: bool = True) -> Round:
        """Return the round of samples to fit on and samples held out; unless ``thin``, C is held whole."""
        gram, unit = train.operator().normalised()
        if not thin and isinstance(gram, DualGram):
            gram = Gram(gram.dense())
        shift = (test.mean - train.mean) / unit**0.5
        return cls(gram, test.operator().scaled(1 / unit), shift, test.weight_sum * unit)

    @classmethod
    def held_out(cls, split: HeldOut, *, thin: bool = True) -> Round:
        """Return the round of a part held out; unless ``thin``, C is held whole."""
        factor = factor_of(split.parts) if thin else None
        if factor is None:
            return cls.of(split.train, split.test, thin=thin)
        (gram, unit, mean), test = factor, split.test
        return cls(gram, test.operator().scaled(1 / unit), (test.mean - mean) / unit**0.5, test.weight_sum * unit)

    def summed(self, error: float) -> float:
        """Return an error per sample in the units of the samples, summed."""
        # Below this an error is rounding, and a fraction of it means nothing.
        return self.weight * max(error, 1e-12 * self.gram.n_features)

    def error(self, chosen: Sequence[int], ridge: float) -> float:
        """Return the squared error per sample held out of the ridge map from the features chosen."""
        return map_error(self.gram.coefficients(chosen, ridge), self.target, self.shift, chosen)

    def errors(self, found: Sequence[Sequence[int]], ridges: Sequence[float]) -> list[float]:
        """Return the errors of several choices, each with its ridge weight."""
        if len(set(map(len, found))) > 1:
            return [self.errors([chosen], [ridge])[0] for chosen, ridge in zip(found, ridges, strict=True)]
        return errors_of_rounds([self], [found], ridges)[0]

    def _terms(self, found: Sequence[Sequence[int]]) -> tuple[np.ndarray, ...]:
        """Return C_SS, T_SS, (C T)_SS and (C^2)_SS for several choices S of as many features."""
        every, shift = np.unique(found), self.shift
        moments = self.gram.unscaled(0.0)[0]
        C, T = moments.rows(every), self.target.rows(every)
        products, squares = C @ T.T + np.outer(C @ shift, shift[every]), moments.squares_among(every)
        T = T[:, every] + np.outer(shift[every], shift[every])
        at = np.searchsorted(every, found)
        places = at[:, :, None] * len(every) + at[:, None, :]
        return C[:, every].take(places), T.take(places), products.take(places), squares.take(places)


def errors_of_rounds(
    rounds: Sequence[Round],
    found: Sequence[Sequence[Sequence[int]]],
    ridges: Sequence[float],
    at_most: int | None = None,
) -> list[list[float]]:
    """Return the errors of several choices in each of several rounds.

    With Q = (C_SS + alpha I)^-1 an error is tr T - 2 tr Q (C T)_SS + tr Q (C^2)_SS Q T_SS. Whatever is large is done
    round by round, and the small arrays of all rounds at once.

    Parameters
    ----------
    rounds : sequence of Round
        The rounds.
    found : sequence
        Of each round, the features of every choice.
    ridges : sequence of float
        The ridge weight of every choice.
    at_most : int, optional
        Most threads.

    Returns
    -------
    list of list of float
        Round by round.
    """
    if any(isinstance(own.gram, DualGram) or not isinstance(own.shift, np.ndarray) for own in rounds):
        each = [zip(chosen, ridges, strict=True) for chosen in found]
        return [[own.error(*choice) for choice in choices] for own, choices in zip(rounds, each, strict=True)]
    if len(rounds) > 1 and len(rounds) * len(ridges) * len(found[0][0]) ** 2 > _VALUES:
        return side_by_side(lambda own: own[0].errors(own[1], ridges), zip(rounds, found, strict=True), at_most)
    parts = side_by_side(lambda own: own[0]._terms(own[1]), zip(rounds, found, strict=True), at_most)
    C, T, products, squares = (np.concatenate(terms) for terms in zip(*parts, strict=True))
    diagonal = np.einsum("ijj->ij", C).copy()
    H, pivots = inverse_factors(C, [own.gram.unscaled(ridge)[1] for own in rounds for ridge in ridges])
    Q = H @ H.transpose(0, 2, 1)
    explained = np.einsum("ijk,ijk->i", Q, 2 * products - T @ Q @ squares).reshape(len(rounds), -1)
    totals = [own.target.trace() + float(own.shift @ own.shift) for own in rounds]
    errors = np.array(totals)[:, None] - explained
    collinear = np.einsum("ijj->ij", Q) * diagonal > _COLLINEAR
    doubtful = ((pivots <= INDEPENDENT) | collinear).any(axis=1).reshape(len(rounds), -1)
    for at, choice in zip(*doubtful.nonzero(), strict=True):
        errors[at, choice] = rounds[at].error(found[at][choice], ridges[choice])
    return errors.tolist()


def map_error(V: Array, target: Gram, shift: Array, chosen: Sequence[int]) -> float:
    """Return the squared error per sample of a map on samples other than those it was fitted on.

    Parameters
    ----------
    V : array of shape (m, k)
        The map from the selected to all centred features.
    target : Gram
        The moments of the other samples.
    shift : array of shape (m,)
        Their mean less that of the samples fitted on.
    chosen : sequence of int
        The selected features.

    Returns
    -------
    float
    """
    xp, at = target.xp, index(chosen, V, target.xp)
    T_S = target.rows(chosen)
    T_S = T_S + shift[at][:, None] * shift[None, :]
    return target.trace() + float(xp.sum(shift * shift)) - float(xp.sum(V.T * (2 * T_S - T_S[:, at] @ V.T)))
