"""One round of holding samples out: what is fitted on, what is held out, and the errors of maps from one to the other.

All is done on second moments. With V (m x k) the ridge map from the selected features S to all, fitted on moments C,
and T those of the samples held out around the mean of the others, the error is tr(T - 2 V T_S + V T_SS V').
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._core import Array, DualGram, Gram, HeldOut, Moments, factor_of, index, inverse_of_independent

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
        """Return the errors of several choices, each with its ridge weight.

        With U the features of all of them, what is needed of C and T is (C T)_UU, (C^2)_UU, C_UU and T_UU: with
        Q = (C_SS + alpha I)^-1 an error is tr T - 2 tr Q (C T)_SS + tr Q (C^2)_SS Q T_SS.
        """
        if isinstance(self.gram, DualGram) or not isinstance(self.shift, np.ndarray):
            return [self.error(*own) for own in zip(found, ridges, strict=True)]
        every, shift = np.array(sorted({j for chosen in found for j in chosen})), self.shift
        moments = self.gram.unscaled(0.0)[0]
        C, T = moments.rows(every), self.target.rows(every)
        products, squares = C @ T.T + np.outer(C @ shift, shift[every]), moments.squares_among(every)
        T = T[:, every] + np.outer(shift[every], shift[every])
        among = np.stack([C[:, every], T, products, squares])
        total, errors = self.target.trace() + float(shift @ shift), []
        for chosen, ridge in zip(found, ridges, strict=True):
            at = np.searchsorted(every, chosen)
            C, T, products, squares = among[:, at[:, None], at]
            Q = inverse_of_independent(C, self.gram.unscaled(ridge)[1], np)
            if Q is None or (Q.diagonal() * C.diagonal() > _COLLINEAR).any():
                errors.append(self.error(chosen, ridge))
            else:
                errors.append(total - float(np.vdot(Q, 2 * products - T @ Q @ squares)))
        return errors


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
