"""Second moments of a table that is both long and wide, from a sketch of its samples.

Every sample is added to one of r rows with a random sign: Y = Omega X, r x m, where X is centred. The expectation of
Y'Y is X'X, so that a search sees about the same moments while nothing larger than r x m is kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse

from ._arrays import SMALLEST, Array, is_foreign, namespace, row_blocks, to_numpy
from ._dual_gram import DualGram
from ._inverse import pseudo_inverse, refined_product
from ._moment_sums import check_alike
from ._moments import Moments
from ._roles import Roles, correlations
from ._sums import Block, Room, read_blocks, writable

LEAST_SIZE = 500
"""Least number of rows of a sketch that is not asked for otherwise."""
ROWS_PER_FEATURE = 16
"""Rows of a sketch for every feature to select: their loss is then about 1 % above what exact moments lead to."""


def sketch_size(k: int) -> int:
    """Return the number of rows of a sketch from which k features are selected."""
    return max(LEAST_SIZE, ROWS_PER_FEATURE * k)


class SketchedMoments(Moments):
    """Moments of a table too long and too wide for :class:`Moments`, from a random sketch of r rows.

    Means, variances, minima and maxima are exact; covariances are estimates, whose only bias comes from scaling them to
    the exact variances. Memory is that of r samples and one block, whatever the number of samples. Sketches of parts
    can be merged where every part has a name of its own. Samples cannot be taken out again. ``form`` is ``"sketched"``.

    Parameters
    ----------
    size : int, default=500
        Number r of rows. To select k features, 16 k are within about 1 % of the loss that exact moments lead to, 8 k
        within 2 %.
    seed : int, default=0
        The signs are drawn from it, from ``part`` and from the number of the sample in its part.
    part : str, default=""
        Name of the part of the table that is read here. Parts that will be merged need different names.

    See Also
    --------
    Moments : Exact moments.

    Notes
    -----
    Covariances follow, by chance, the order of the samples within a part and how they are divided into parts; the size
    of blocks does not matter. Samples of weight 2 and samples listed twice agree in expectation. Tensors are
    read into NumPy arrays.

    References
    ----------
    Charikar, Chen & Farach-Colton (2002), Finding frequent items in data streams.
    Clarkson & Woodruff (2013), Low rank approximation and regression in input sparsity time.

    Examples
    --------
    >>> import numpy as np
    >>> from stableselect import ColumnSubset, SketchedMoments
    >>> X = np.random.default_rng(0).normal(size=(5000, 40)) * np.linspace(1, 3, 40)
    >>> parts = [SketchedMoments(800, part=day).update(rows) for day, rows in zip(("Mon", "Tue"), (X[:3000], X[3000:]))]
    >>> both = SketchedMoments(800).merge(parts[0]).merge(parts[1])
    >>> both
    SketchedMoments of 5000 samples and 40 features (sketched, r = 800)
    >>> bool(np.allclose(both.variance, X.var(axis=0)))
    True
    >>> sorted(ColumnSubset(2).fit_moments(both).selected_.tolist())
    [38, 39]
    """

    size: int
    seed: int
    part: str
    _sketch: Array
    _signs: np.ndarray
    _squares: Array
    _counts: dict[str, int]

    def __init__(self, size: int = LEAST_SIZE, *, seed: int = 0, part: str = "") -> None:
        if isinstance(size, bool) or not isinstance(size, Integral) or size < 1:
            raise ValueError(f"size must be a whole number of at least 1, but is {size!r}.")
        if isinstance(seed, bool) or not isinstance(seed, Integral):
            raise ValueError(f"seed must be a whole number, but is {seed!r}.")
        if not isinstance(part, str):
            raise TypeError(f"part must be a text, but is {part!r}.")
        super().__init__()
        self.size = int(size)
        self.seed = int(seed)
        self.part = part
        self._sketch = None  # sum of sign sqrt(w) (x - shift), by row
        self._signs = np.zeros(self.size)  # sum of sign sqrt(w), by row
        self._squares = None  # sum of w (x - mean)^2
        self._counts = {}  # samples read of every part

    def __repr__(self) -> str:
        """Say how much was read, and that it is a sketch."""
        read = f"{self.n_samples} samples and {self.n_features or 0} features"
        return f"SketchedMoments of {read} (sketched, r = {self.size})"

    @property
    def form(self) -> Literal["primal", "dual", "sketched"]:
        """Always "sketched"."""
        return "sketched"

    @property
    def variance(self) -> Array:
        """Feature variances (divisor n), length m; exact."""
        self._checked()
        return np.where(self._high - self._low >= SMALLEST, self._squares / self.weight_sum, 0.0)

    def merge(self, other: Moments) -> Self:
        """Add what another sketch has gathered, and return this one; ``other`` is left as it was."""
        if isinstance(other, SketchedMoments) and other.n_samples:
            self._check_parts(other)
        super().merge(other)
        return self

    def remove(self, samples: Array, sample_weight: Array = None) -> Self:
        """Raise an error: a sketch has no samples to take out."""
        raise ValueError("Samples cannot be taken out of a sketch; gather the samples that are left anew.")

    def operator(self) -> DualGram:
        """Return C as the subset searches use it: a thin factor of r rows with the exact variances."""
        centred = self._known("_sketch") - self._signs[:, None] * (self._mean - self._shift)[None, :]
        norms = np.einsum("ij,ij->j", centred, centred)
        variance = np.where(self._high - self._low >= SMALLEST, self._squares / self.weight_sum, 0.0)
        seen = norms > 1e-20 * self.weight_sum * variance  # else the samples cancel, and rounding is left
        centred *= np.sqrt(np.divide(variance, norms, out=np.zeros_like(norms), where=seen))[None, :]
        return DualGram(centred)

    def _multiply(self, factor: Array) -> None:
        self._sketch, self._squares = self._sketch * factor[None, :], self._squares * factor**2

    def _empty(self) -> Self:
        return type(self)(self.size, seed=self.seed, part=self.part)

    def _of_part(self, name: str) -> Self:
        return type(self)(self.size, seed=self.seed, part=f"{self.part}, {name}")

    def _add(self, X: Array, weights: np.ndarray | None, *, size: int | None = None, **how: Any) -> Self:
        if is_foreign(X):
            for part in row_blocks(X.shape[0], X.shape[1], size):
                self._add(to_numpy(X[part]), None if weights is None else weights[part])
            return self
        for block in read_blocks(X, weights, None, size, Room(), keep_sparse=True, thin=True):
            check_alike(block, self)
            self._absorb(block)
        return self

    def _absorb(self, block: Block) -> None:
        """Add a block; for ``centre`` see :meth:`Moments._absorb`."""
        if self.n_features is None:
            self.n_features = block.n_features
            self._mean, self._low, self._high = block.mean, block.minimum, block.maximum
            self._shift, self._squares = block.mean, np.zeros(block.n_features)
            self._sketch = np.zeros((self.size, block.n_features))
        self._sketch = writable(self._sketch)
        total = self.weight_sum + block.weight_sum
        difference = block.mean - self._mean
        centre = block.mean - (self.weight_sum / total) ** 0.5 * difference
        signs = self._draw(block)
        values, added = block.values, np.asarray(signs.sum(axis=1))
        if sparse.issparse(values):
            self._sketch += (signs @ values).toarray() - added[:, None] * self._shift[None, :]
            w = np.ones(block.n_samples) if block.weights is None else block.weights
            squares = w @ values.power(2) - block.weight_sum * block.mean**2
            self._squares = self._squares + np.maximum(squares, 0.0) + block.weight_sum * (block.mean - centre) ** 2
        else:
            values -= centre[None, :]
            self._sketch += signs @ values + added[:, None] * (centre - self._shift)[None, :]
            for part in row_blocks(*values.shape):
                w = np.ones(len(values[part])) if block.weights is None else block.weights[part]
                self._squares = self._squares + np.einsum("i,ij,ij->j", w, values[part], values[part])
        self._signs = self._signs + added
        self._mean = self._mean + difference * (block.weight_sum / total)
        self._widen(block.minimum, block.maximum)
        self.weight_sum = total
        self.n_samples += block.n_samples

    def _draw(self, block: Block) -> sparse.csr_array:
        """Return the r x n matrix of signs, times the roots of the weights, of the next samples of this part."""
        first, n = self._counts.get(self.part, 0), block.n_samples
        self._counts = {**self._counts, self.part: first + n}
        key = hashlib.blake2b(f"{self.seed} {self.part}".encode(), digest_size=8).digest()
        bits = _mixed(np.frombuffer(key, dtype=np.uint64) + np.arange(first, first + n, dtype=np.uint64) * _STEP)
        rows = ((bits >> np.uint64(32)) * np.uint64(self.size)) >> np.uint64(32)
        signs = np.where(bits & np.uint64(1), 1.0, -1.0)
        signs = signs if block.weights is None else signs * np.sqrt(block.weights)
        return sparse.csr_array((signs, (rows.astype(np.int64), np.arange(n))), shape=(self.size, n))

    def _check_parts(self, other: SketchedMoments) -> None:
        if other.size != self.size:
            raise ValueError(
                f"Sketches of {self.size} and of {other.size} rows cannot be merged; gather them with one size."
            )
        shared = sorted(set(self._counts) & set(other._counts))
        if shared:
            raise ValueError(
                f"Both sketches hold the part {shared[0]!r}, whose signs would add up; give every part its own name, "
                "SketchedMoments(part=...), and merge each once."
            )

    def _take(self, other: Self) -> None:
        if self.n_features is None:
            own = self.part, self.seed
            self.__dict__.update(vars(other))
            self.part, self.seed = own
            self._sketch = other._sketch.copy()
            return
        check_alike(other, self)
        self._sketch = writable(self._sketch)
        total = self.weight_sum + other.weight_sum
        difference = other._mean - self._mean
        self._sketch += other._sketch + other._signs[:, None] * (other._shift - self._shift)[None, :]
        self._signs = self._signs + other._signs
        both = self.weight_sum * (other.weight_sum / total)
        self._squares = self._squares + other._squares + both * difference**2
        self._counts = {**self._counts, **other._counts}
        self._mean = self._mean + difference * (other.weight_sum / total)
        self._widen(other._low, other._high)
        self.weight_sum = total
        self.n_samples += other.n_samples


_STEP = np.uint64(0x9E3779B97F4A7C15)
"""An odd number near 2^64 divided by the golden ratio: what samples' numbers are multiplied by."""


def _mixed(bits: np.ndarray) -> np.ndarray:
    """Return 64 random bits for every number (the finaliser of the splitmix generator)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def exact_columns(X: Array, weights: np.ndarray | None, chosen: Sequence[int], mean: np.ndarray) -> np.ndarray:
    """Return C[:, chosen], m x k, of the centred features of a table, in a pass over it."""
    at, total = list(chosen), 0.0
    found = np.zeros((len(mean), len(at)))
    for part in row_blocks(X.shape[0], X.shape[1]) if is_foreign(X) else [slice(None)]:
        rows = to_numpy(X[part]) if is_foreign(X) else X
        w_part = None if weights is None else weights[part]
        for block in read_blocks(rows, w_part, None, None, Room(), keep_sparse=True, thin=True):
            values, w = block.values, np.ones(block.n_samples) if block.weights is None else block.weights
            total += block.weight_sum
            if sparse.issparse(values):
                # The sum of w (x - mean)(y - mean)' is that of w x y' less the mean terms.
                found += values.T @ (values[:, at].toarray() * w[:, None])
                shift = mean - block.mean
                found += block.weight_sum * (np.outer(shift, shift[at]) - np.outer(block.mean, block.mean[at]))
            else:
                values -= mean[None, :]
                found += values.T @ (values[:, at] * w[:, None])
    return found / total


def exact_roles(roles: Roles, C_S: np.ndarray, variance: np.ndarray, chosen: Sequence[int], alpha: float) -> Roles:
    """Return what a sketch says of a selection, with the map, its loss and what it explains from exact moments.

    Parameters
    ----------
    roles : Roles
        From the sketch.
    C_S : ndarray of shape (m, k)
        Exact moments of all features with the chosen ones.
    variance : ndarray of shape (m,)
        Exact variances.
    chosen : sequence of int
        The kept features.
    alpha : float
        Ridge weight of the linear map.

    Returns
    -------
    Roles
    """
    M = C_S[list(chosen)]
    V = refined_product(C_S, pseudo_inverse(M, alpha, namespace()), M, alpha)
    varies = variance > 0
    shares = np.where(varies[:, None], V * (2 * C_S - V @ M) / np.where(varies, variance, 1.0)[:, None], 0.0).T
    return replace(
        roles,
        coefficients=np.ascontiguousarray(V.T),
        loss=max(0.0, float(variance.sum() - np.sum(V * C_S)) / len(variance)),
        r2=np.where(varies, np.minimum(shares.sum(axis=0), 1.0), np.nan),
        shares=shares,
        likeness=correlations(C_S.T, variance, chosen, roles.substitutes),
    )
