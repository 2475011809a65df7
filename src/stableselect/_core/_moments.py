"""Second moments of a table, gathered in one pass over its samples.

Every linear reconstruction loss is a function of the features' means and of C = X'X/n (features centred). Once
:class:`Moments` has seen the samples, their number no longer matters.
"""

from __future__ import annotations

from numbers import Integral
from types import ModuleType
from typing import Literal

import numpy as np
from scipy import sparse

from ._arrays import (
    SMALLEST,
    Array,
    as_block,
    check_shape,
    check_spread,
    check_weights,
    is_foreign,
    memory_limit,
    namespace,
    row_blocks,
)
from ._gram import DualGram, Gram, ScaledGram
from ._sums import block_sums, check_alike, check_removable, remaining_samples


class Moments:
    """Weight, mean and centred second moments of the features of a table.

    Blocks of samples may come in any size and order, from several machines, and can be taken out again; the result is
    the same to rounding. Sums are kept in double precision whatever the blocks' type. There are two forms with the same
    interface: while the samples are few against the features the samples themselves are kept (``form == "dual"``), else
    the m x m matrix of second moments (``form == "primal"``).

    Blocks hold real numbers up to 1e140 without missing values, in samples of weight 0 too. They and their weights are
    copied, and so is every array that comes back.

    Attributes
    ----------
    weight_sum : float
        Sum of the sample weights (the number of samples when there are none).
    n_samples : int
        Number of samples of positive weight.
    n_features : int or None
        Number of features, None before the first block.
    range_is_exact : bool
        False once samples were removed: ``minimum`` and ``maximum`` then still describe the table before the removal.

    References
    ----------
    Chan, Golub & LeVeque (1979), Updating formulae and a pairwise algorithm for computing sample variances.

    Examples
    --------
    >>> import numpy as np
    >>> from stableselect import Moments
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> both = Moments.from_array(X[:40]).merge(Moments.from_array(X[40:]))
    >>> bool(np.allclose(both.gram, np.cov(X.T, bias=True)))
    True
    """

    def __init__(self) -> None:
        self.weight_sum = 0.0
        self.n_samples = 0
        self.n_features: int | None = None
        self.range_is_exact = True
        self._mean: Array = None
        self._low: Array = None
        self._high: Array = None
        self._second: Array = None  # primal form: sum of w (x - mean)(x - mean)'
        self._rows: list[Array] = []  # dual form: samples minus the first block's mean, and their weights
        self._weights: list[Array] = []
        self._shift: Array = None

    @classmethod
    def from_array(cls, X: Array, sample_weight: Array = None, *, block_size: int | None = None) -> Moments:
        """Read a whole array, memory map, tensor or sparse matrix, a block of samples at a time.

        Parameters
        ----------
        X : array of shape (n, m)
            The table.
        sample_weight : array of shape (n,), optional
            Non-negative sample weights.
        block_size : int, optional
            Samples per block; by default about 32 MiB worth.

        Returns
        -------
        Moments
        """
        if block_size is not None and (not isinstance(block_size, Integral) or block_size < 1):
            raise ValueError(f"block_size must be a whole number of at least 1, or None, but is {block_size!r}.")
        moments = cls()
        if sparse.issparse(X) or is_foreign(X) or hasattr(X, "columns") or not hasattr(X, "ndim"):
            X = as_block(X)
        check_shape(X)  # an array may be larger than memory, so it is checked block by block
        weights = check_weights(sample_weight, X.shape[0])
        for part in row_blocks(X.shape[0], X.shape[1], block_size):
            moments._add(as_block(X[part]), None if weights is None else weights[part])
        return moments

    @property
    def form(self) -> Literal["primal", "dual"]:
        """Which of the two forms is held now."""
        return "dual" if self._second is None else "primal"

    @property
    def mean(self) -> Array:
        """Feature means, length m."""
        return _copy(self._known("_mean"))

    @property
    def minimum(self) -> Array:
        """Smallest value of every feature, length m."""
        return _copy(self._known("_low"))

    @property
    def maximum(self) -> Array:
        """Largest value of every feature, length m."""
        return _copy(self._known("_high"))

    @property
    def variance(self) -> Array:
        """Feature variances (divisor n), length m."""
        return _copy(self._checked().operator().diagonal())

    @property
    def gram(self) -> Array:
        """C = X'X/n of the centred features, as a dense m x m array whatever the form."""
        return self._checked().operator().dense()

    def update(self, block: Array, sample_weight: Array = None) -> Moments:
        """Add samples.

        Parameters
        ----------
        block : array of shape (n, m)
            Dense samples of any numeric type (NumPy, torch) or a scipy sparse matrix.
        sample_weight : array of shape (n,), optional
            Non-negative weights.

        Returns
        -------
        Moments
            The object itself.
        """
        block = as_block(block)
        return self._add(block, check_weights(sample_weight, block.shape[0]))

    def _add(self, block: Array, weights: np.ndarray | None) -> Moments:
        """Add samples of a checked table with checked weights."""
        part = self._read(block, weights)
        return self if part is None else self.merge(part)

    def merge(self, other: Moments) -> Moments:
        """Add what another object has gathered, and return this one; ``other`` is left as it was."""
        if not isinstance(other, Moments):
            raise TypeError(f"Expected Moments to merge, got {type(other).__name__}; samples are added with update().")
        if other.n_samples == 0:
            return self
        if self.n_features is None:
            self.__dict__.update(vars(other))
            self._rows, self._weights = list(other._rows), list(other._weights)
            self._second = None if other._second is None else _copy(other._second)
        else:
            check_alike(other, self)
            self._combine(other, 1.0)
            xp = namespace(self._low)
            self._low = xp.minimum(self._low, other._low)
            self._high = xp.maximum(self._high, other._high)
            self.range_is_exact &= other.range_is_exact
        self._settle_form()
        return self

    def remove(self, samples: Array, sample_weight: Array = None) -> Moments:
        """Take samples out again that were added before (leave-one-out); minimum and maximum keep the full range.

        In the dual form nothing is lost. In the primal form their squares are subtracted: what is left carries the
        rounding of the sums before, so a feature that hardly varies without these samples keeps few digits.

        Parameters
        ----------
        samples : array of shape (n, m)
            The samples, as they were given to :meth:`update`.
        sample_weight : array of shape (n,), optional
            Their weights.

        Returns
        -------
        Moments
            The object itself.
        """
        block = as_block(samples)
        part = self._read(block, check_weights(sample_weight, block.shape[0], whole=False))
        if part is None:
            return self
        check_removable(part, self)
        if self.n_samples == part.n_samples:
            self.__dict__.update(Moments().__dict__)
            return self
        if self.form == "dual" and part.form == "dual":
            self._drop_rows(part)
        else:
            self._combine(part, -1.0)
        self.range_is_exact = False
        self._settle_form()
        return self

    def scale(self, kind: Literal["minmax", "standard"] | None) -> Moments:
        """Return the moments of the scaled table, without another pass over it.

        Parameters
        ----------
        kind : {"minmax", "standard"} or None
            Map every feature to [0, 1], to zero mean and unit variance, or leave it. Constant features are only
            shifted.

        Returns
        -------
        Moments
        """
        if kind not in ("minmax", "standard", None):
            raise ValueError(f"Scaling must be 'minmax', 'standard' or None, got {kind!r}.")
        scaled = Moments().merge(self)
        if kind is None or self.n_features is None:
            return scaled
        xp = namespace(self._checked()._mean)
        varies = self._high > self._low
        spread = self._high - self._low if kind == "minmax" else xp.sqrt(self.variance)
        factor = 1 / xp.where(varies & (spread > 0), spread, xp.ones_like(spread))
        origin = self._low if kind == "minmax" else self._mean
        for name in ("_mean", "_low", "_high", "_shift"):
            if getattr(self, name) is not None:
                setattr(scaled, name, (getattr(self, name) - origin) * factor)
        scaled._rows = [rows * factor[None, :] for rows in self._rows]
        if self._second is not None:
            scaled._second = self._second * factor[:, None] * factor[None, :]
        return scaled

    def operator(self) -> Gram:
        """Return C as the subset searches use it: dense in the primal form, a thin factor in the dual form."""
        xp = namespace(self._known("_mean"))
        # A constant feature's variance is zero, not the rounding of its mean.
        varies = xp.astype(self._high - self._low >= SMALLEST, xp.float64)
        if self._second is not None:
            # Sums of exactly zero need no mask.
            varies = xp.where(xp.linalg.diagonal(self._second) == 0, 1.0, varies)
            return ScaledGram(self._second, 1 / self.weight_sum, None if bool(xp.all(varies > 0)) else varies)
        rows, weights = self._stacked(xp)
        centred = (rows - (self._mean - self._shift)[None, :]) * varies[None, :]
        return DualGram(centred * xp.sqrt(weights / self.weight_sum)[:, None])

    def _known(self, name: str) -> Array:
        if self.n_features is None:
            raise ValueError("These moments hold no samples yet; call update() first.")
        return getattr(self, name)

    def _checked(self) -> Moments:
        """Return these moments; raise if double precision does not hold the variance of a feature."""
        check_spread(self._known("_low"), self._high)
        return self

    def _read(self, block: Array, weights: np.ndarray | None) -> Moments | None:
        """Return the moments of one block, or None if no sample has weight."""
        sums = block_sums(block, weights)
        if sums is None:
            return None
        part = Moments()
        part.__dict__.update(sums)
        check_alike(part, self)
        return part

    def _combine(self, other: Moments, sign: float) -> None:
        """Add (sign 1) or take away (sign -1) another object's sums; Chan's pairwise formula."""
        before, weight = self.weight_sum, sign * other.weight_sum
        total = before + weight
        difference = other._mean - self._mean
        if self.form == "dual" and other.form == "dual":
            self._rows.extend([rows + (other._shift - self._shift)[None, :] for rows in other._rows])
            self._weights.extend(other._weights)
        else:
            self._to_primal()
            self._second += sign * other._as_primal()
            # M2 = M2a + M2b + (wa wb / w) d d', d = mean_b - mean_a; a removal is a negative weight.
            self._second += (before * weight / total) * (difference[:, None] * difference[None, :])
        self._mean = self._mean + difference * (weight / total)
        self.weight_sum = total
        self.n_samples += int(sign) * other.n_samples

    def _drop_rows(self, part: Moments) -> None:
        """Take samples out of those kept in the dual form."""
        samples, (gone, taken) = (moments._stacked(namespace(self._mean)) for moments in (self, part))
        gone = gone + (part._shift - self._shift)
        rows, weights, self.weight_sum = remaining_samples(*samples, gone, taken, self._high - self._low)
        self._rows, self._weights = [rows], [weights]
        self.n_samples -= part.n_samples
        self._mean = self._shift + (weights @ rows) / self.weight_sum

    def _settle_form(self) -> None:
        """Hold the cheaper form; refuse when neither fits in memory."""
        m = int(self.n_features or 0)
        limit = memory_limit()
        if self.form == "dual":
            stored = sum(int(rows.shape[0]) for rows in self._rows)
            if 2 * stored > m and 8 * m * m <= limit:
                self._to_primal()
            elif 8 * stored * m > limit:
                raise MemoryError(
                    f"{m} features need {8 * m * m / 2**30:.1f} GiB for their second moments and the {stored} samples "
                    f"so far {8 * stored * m / 2**30:.1f} GiB, of {limit / 2**30:.1f} GiB that may be used; drop "
                    "features (for instance those of least variance) or use a subsample of the samples."
                )

    def _stacked(self, xp: ModuleType) -> tuple[Array, Array]:
        if len(self._rows) > 1:
            self._rows, self._weights = [xp.concat(self._rows)], [xp.concat(self._weights)]
        return self._rows[0], self._weights[0]

    def _as_primal(self) -> Array:
        """Return the sum of w (x - mean)(x - mean)' without changing the form."""
        if self._second is not None:
            return self._second
        rows, weights = self._stacked(xp := namespace(self._mean))
        root = (rows - (self._mean - self._shift)[None, :]) * xp.sqrt(weights)[:, None]
        return root.T @ root  # one array twice: half the work

    def _to_primal(self) -> None:
        self._second = self._as_primal() if self._second is None else self._second
        self._rows, self._weights, self._shift = [], [], None


def _copy(x: Array) -> Array:
    return namespace(x).asarray(x, copy=True)


def normalised_moments(moments: Moments) -> tuple[Gram, float]:
    """Return the moments scaled to mean variance one, and that variance; raise if double precision cannot hold them."""
    with np.errstate(over="ignore", invalid="ignore"):
        gram, unit = moments.operator().normalised()
    varies = bool(gram.xp.any(moments._high > moments._low))
    if not np.isfinite(unit) or not np.isfinite(1 / unit) or (varies and gram.trace() == 0):
        raise ValueError("The features' variances leave the range of double precision; scale the table first.")
    return gram, unit
