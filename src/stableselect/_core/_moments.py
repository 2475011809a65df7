"""Second moments of a table, gathered in one pass over its samples.

Every linear reconstruction loss is a function of the features' means and of C = X'X/n (features centred). Once
:class:`Moments` has seen the samples, their number no longer matters.
"""

from __future__ import annotations

import copy
from types import ModuleType
from typing import Literal

import numpy as np
from scipy import sparse

from ._arrays import Array, contiguous, float64, like, namespace
from ._blocks import memory_limit, row_blocks, take_rows
from ._checks import check_finite, check_weights
from ._gram import DualGram, Gram, signed_factor

_CANCELLED = 1e-6
"""A sparse feature whose variance is below this fraction of its squared mean is centred first, as dense samples are."""


class Moments:
    """Weight, mean and centred second moments of the features of a table.

    Blocks of samples may come in any size and order, from several machines, and can be taken out again; the result is
    the same to rounding. Sums are kept in double precision whatever the blocks' type. There are two forms with the same
    interface: while the samples are few against the features the samples themselves are kept (``form == "dual"``), else
    the m x m matrix of second moments (``form == "primal"``).

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
        moments = cls()
        if sparse.issparse(X):
            X = sparse.csr_array(X)
        elif not hasattr(X, "ndim") or hasattr(X, "columns"):  # lists and data frames
            X = np.asarray(X)
        if X.ndim != 2:
            raise ValueError(f"Expected a table (two dimensions), got {X.ndim}.")
        for part in row_blocks(X.shape[0], X.shape[1], block_size):
            moments.update(X[part], None if sample_weight is None else sample_weight[part])
        return moments

    @property
    def form(self) -> Literal["primal", "dual"]:
        """Which of the two forms is held now."""
        return "dual" if self._second is None else "primal"

    @property
    def mean(self) -> Array:
        """Feature means, length m."""
        return self._known("_mean")

    @property
    def minimum(self) -> Array:
        """Smallest value of every feature, length m."""
        return self._known("_low")

    @property
    def maximum(self) -> Array:
        """Largest value of every feature, length m."""
        return self._known("_high")

    @property
    def variance(self) -> Array:
        """Feature variances (divisor n), length m."""
        return self.operator().diagonal()

    @property
    def gram(self) -> Array:
        """C = X'X/n of the centred features, as a dense m x m array whatever the form."""
        return self.operator().dense()

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
        part = self._read(block, sample_weight)
        return self if part is None else self.merge(part)

    def merge(self, other: Moments) -> Moments:
        """Add what another object has gathered, and return this one; ``other`` is left as it was."""
        if other.n_samples == 0:
            return self
        if self.n_features is None:
            self.__dict__.update(copy.copy(other).__dict__)
            self._rows, self._weights = list(other._rows), list(other._weights)
            if other._second is not None:
                self._second = namespace(other._second).asarray(other._second, copy=True)
        else:
            if other.n_features != self.n_features:
                raise ValueError(f"Expected {self.n_features} features as before, got {other.n_features}.")
            if type(other._mean) is not type(self._mean):
                raise TypeError(
                    f"These moments hold {type(self._mean).__name__} arrays, the new samples are "
                    f"{type(other._mean).__name__}; convert them first."
                )
            self._combine(other, 1.0)
            xp = namespace(self._low)
            self._low = xp.minimum(self._low, other._low)
            self._high = xp.maximum(self._high, other._high)
            self.range_is_exact &= other.range_is_exact
        self._settle_form()
        return self

    def remove(self, samples: Array, sample_weight: Array = None) -> Moments:
        """Take samples out again that were added before (leave-one-out); minimum and maximum keep the full range.

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
        part = self._read(samples, sample_weight)
        if part is None:
            return self
        if self.n_features != part.n_features or self.n_samples < part.n_samples:
            raise ValueError(
                f"Cannot remove {part.n_samples} samples of {part.n_features} features from {self.n_samples} samples "
                f"of {self.n_features} features; remove only samples that were added."
            )
        if self.n_samples == part.n_samples:
            self.__dict__.update(Moments().__dict__)
            return self
        if part.weight_sum >= self.weight_sum:
            raise ValueError(
                f"Cannot remove a weight of {part.weight_sum:g} from {self.weight_sum:g}; give the samples the weights "
                "they were added with."
            )
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
        xp = namespace(self._mean)
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
        varies = xp.astype(self._high > self._low, xp.float64)
        if self._second is not None:
            C = self._second / self.weight_sum
            return Gram(C * varies[:, None] * varies[None, :] if not bool(xp.all(varies > 0)) else C)
        rows, weights = self._stacked(xp)
        centred = (rows - (self._mean - self._shift)[None, :]) * varies[None, :]
        if bool(xp.all(weights > 0)):
            return DualGram(centred * xp.sqrt(weights / self.weight_sum)[:, None])
        return DualGram(signed_factor(centred, weights / self.weight_sum, xp))

    def _known(self, name: str) -> Array:
        if self.n_features is None:
            raise ValueError("These moments hold no samples yet; call update() first.")
        return getattr(self, name)

    def _read(self, block: Array, sample_weight: Array) -> Moments | None:
        """Return the moments of one block, or None if no sample has weight."""
        if not sparse.issparse(block) and not hasattr(block, "__array_namespace__") and not hasattr(block, "device"):
            block = np.asarray(block)
        if sparse.issparse(block):
            block = sparse.csr_array(block)
        if block.ndim != 2:
            raise ValueError(f"Expected a table (two dimensions), got {block.ndim}.")
        if self.n_features is not None and block.shape[1] != self.n_features:
            raise ValueError(f"Expected {self.n_features} features as before, got {block.shape[1]}.")
        xp = namespace(block)
        weights = check_weights(sample_weight, block.shape[0])
        if weights is not None and not np.all(weights > 0):
            kept = np.flatnonzero(weights)
            block, weights = take_rows(block, kept), weights[kept]
        if block.shape[0] == 0:
            return None
        return _sparse_block(block, weights) if sparse.issparse(block) else _dense_block(block, weights, xp)

    def _combine(self, other: Moments, sign: float) -> None:
        """Add (sign 1) or take away (sign -1) another object's sums; Chan's pairwise formula."""
        xp = namespace(self._mean)
        before, weight = self.weight_sum, sign * other.weight_sum
        total = before + weight
        difference = other._mean - self._mean
        mean = self._mean + difference * (weight / total)
        if self.form == "dual" and other.form == "dual":
            self._rows.extend([rows + (other._shift - self._shift)[None, :] for rows in other._rows])
            self._weights.extend([sign * weights for weights in other._weights])
        else:
            self._to_primal()
            self._second += sign * other._as_primal()
            # M2 = M2a + M2b + (wa wb / w) d d', d = mean_b - mean_a; a removal is a negative weight.
            self._second += (before * weight / total) * (difference[:, None] * difference[None, :])
        self._mean = xp.asarray(mean)
        self.weight_sum = total
        self.n_samples += int(sign) * other.n_samples

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
        rows, weights = self._stacked(namespace(self._mean))
        centred = rows - (self._mean - self._shift)[None, :]
        xp = namespace(centred)
        if bool(xp.all(weights > 0)):
            root = centred * xp.sqrt(weights)[:, None]
            return root.T @ root  # one array twice: half the work
        return (centred * weights[:, None]).T @ centred

    def _to_primal(self) -> None:
        self._second = self._as_primal() if self._second is None else self._second
        self._rows, self._weights, self._shift = [], [], None


def normalised_moments(moments: Moments) -> tuple[Gram, float]:
    """Return the moments scaled to mean variance one, and that variance; raise if double precision cannot hold them."""
    with np.errstate(over="ignore", invalid="ignore"):
        gram, unit = moments.operator().normalised()
    varies = bool(gram.xp.any(moments.maximum > moments.minimum))
    if not np.isfinite(unit) or (varies and gram.trace() == 0):
        raise ValueError("The features' variances leave the range of double precision; scale the table first.")
    return gram, unit


def _dense_block(block: Array, weights: np.ndarray | None, xp: ModuleType) -> Moments:
    part = Moments()
    values = float64(block, xp)
    part.n_samples, part.n_features = int(block.shape[0]), int(block.shape[1])
    part._low, part._high = float64(xp.min(block, axis=0), xp), float64(xp.max(block, axis=0), xp)
    check_finite(block, (part._low, part._high))
    w = None if weights is None else like(weights, values, xp)
    part.weight_sum = float(part.n_samples) if weights is None else float(weights.sum())
    part._mean = xp.mean(values, axis=0) if w is None else (w @ values) / part.weight_sum
    centred = values - part._mean[None, :]
    if 2 * part.n_samples > part.n_features:
        root = centred if w is None else centred * xp.sqrt(w)[:, None]
        with np.errstate(over="ignore", invalid="ignore"):  # the selectors refuse what overflows
            part._second = root.T @ root
    else:
        part._rows, part._shift = [contiguous(centred)], part._mean
        part._weights = [xp.ones_like(centred[:, 0]) if w is None else w]
    return part


def _sparse_block(block: sparse.sparray, weights: np.ndarray | None) -> Moments:
    if 2 * block.shape[0] <= block.shape[1]:
        return _dense_block(block.toarray(), weights, namespace())
    part = Moments()
    check_finite(block)
    values = sparse.csr_array(block, dtype=np.float64)
    w = np.ones(values.shape[0]) if weights is None else weights
    part.n_samples, part.n_features = values.shape
    part.weight_sum = float(w.sum())
    part._low, part._high = (np.asarray(f(axis=0).toarray()).ravel() for f in (values.min, values.max))
    part._mean = (w @ values) / part.weight_sum
    weighted = sparse.diags_array(w) @ values
    # X'WX minus the mean term: the samples stay sparse.
    part._second = (values.T @ weighted).toarray() - part.weight_sum * np.outer(part._mean, part._mean)
    if np.any(np.diagonal(part._second) < _CANCELLED * part.weight_sum * part._mean**2):
        return _dense_block(values.toarray(), weights, namespace())
    return part
