"""What moments keep, and how samples are added: the private part of :class:`~stableselect.Moments`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from types import ModuleType
from typing import Any, Literal, Self

import array_api_compat
import numpy as np

from ._arrays import SMALLEST, Array, check_spread, index, like, memory_limit, namespace, row_blocks, to_numpy
from ._dual_gram import DualGram
from ._gram import Gram, ScaledGram
from ._sums import Block, Room, add_outer, add_products, mirror, pooled_sums, read_blocks, writable
from ._threads import one_thread, side_by_side

_SAME = 1e-6
"""Samples are the same if they agree to this fraction of every feature's range, and weights to this fraction."""
_NARROW, _MODERATE = 896, 2048
"""The most features of a table that is read in four parts side by side: m x m sums of each, and their blocks, take no
more memory than one long block. Then in two, where there is room for another array of m x m. Of wider tables most of
the time goes into one product, which BLAS shares."""
_SHORT = 10**8
"""Fewer multiplications than this take a millisecond or two, and no other thread."""
_NOT_ADDED = "Some of these samples are not among those added, or not with this weight; remove only what was added."


class MomentSums:
    """The sums of a table in one of two forms, and their arithmetic.

    The *dual* form keeps the samples, the *primal* form the m x m sum of w (x - mean)(x - mean)'.
    """

    feature_names: tuple[str, ...] | None = None

    def __init__(self) -> None:
        self.feature_names = None
        self.weight_sum = 0.0
        self.n_samples = 0
        self.n_features: int | None = None
        self.range_is_exact = True
        self._mean: Array = None
        self._low: Array = None
        self._high: Array = None
        self._second: Array = None  # primal form: sum of w (x - mean)(x - mean)'
        self._symmetric = True  # whether its lower triangle is up to date; the upper one always is
        self._rows: list[Array] = []  # dual form: samples minus the first block's mean, and their weights
        self._weights: list[Array] = []
        self._shift: Array = None

    @property
    def form(self) -> Literal["primal", "dual", "sketched"]:
        """Which of the two forms is held now."""
        return "dual" if self._second is None else "primal"

    def _named(self, names: tuple[str, ...] | None) -> Self:
        """Note the names of the features, where there are any and none are known."""
        self.feature_names = self.feature_names or names
        return self

    def _known(self, name: str) -> Array:
        if self.n_features is None:
            raise ValueError("These moments hold no samples yet; call update() first.")
        return getattr(self, name)

    def _empty(self) -> Self:
        """Return moments of the same kind without samples."""
        return type(self)()

    def _of_part(self, name: str) -> Self:
        """Return moments of the same kind for a part of the samples that will be merged."""
        return type(self)()

    def _add(
        self,
        X: Array,
        weights: np.ndarray | None,
        *,
        rows: np.ndarray | None = None,
        size: int | None = None,
        primal: bool = False,
        room: Room | None = None,
        keep_sparse: bool | None = None,
        roomy: bool = False,
    ) -> Self:
        """Add samples of a table, block by block.

        Parameters
        ----------
        X : array of shape (n, m)
            The table.
        weights : ndarray or None
            Weights of the samples that are read.
        rows : ndarray of int, optional
            The samples to read; all by default.
        size : int, optional
            Samples per block.
        primal : bool
            Whether to hold m x m sums however few the samples are.
        room : Room, optional
            Memory for blocks that are added to such sums.
        keep_sparse : bool or None
            Whether sparse blocks stay sparse; None for what costs less.
        roomy : bool
            Whether there is memory for more than m x m sums and one block.
        """
        n = (X.shape[0] if rows is None else len(rows)) if weights is None else int(np.count_nonzero(weights))
        m = int(X.shape[1])
        primal |= self.form == "primal" or whole_pays(self._n_stored() + n, m)
        first = primal and rows is None and size is None and self.n_features is None
        if first and isinstance(X, np.ndarray) and 0 < m <= (_MODERATE if roomy else _NARROW):
            return self._add_side_by_side(X, weights)
        for block in read_blocks(X, weights, rows, size, (room or Room()) if primal else None, keep_sparse=keep_sparse):
            check_alike(block, self)
            if primal:
                self._absorb(block)
            else:
                self._take(self._of_few(block))
        return self

    def _add_side_by_side(self, X: np.ndarray, weights: np.ndarray | None) -> Self:
        """Add the samples of an array to m x m sums: the same parts of it for every number of threads.

        BLAS gets one thread a part. Its own would wait while samples are read, and go on waiting beside the next work.
        """
        n, m = X.shape
        size, n_parts = row_blocks(max(1, n), m)[0].stop, 4 if m <= _NARROW else 2
        if n * m * m < _SHORT:
            with one_thread():
                return self._add(X, weights, size=size, primal=True)
        if m <= _NARROW:
            size = max(1, (size - (n_parts - 1) * m) // n_parts)
        ends = [n * part // n_parts for part in range(n_parts + 1)]

        def read(part: slice) -> MomentSums:
            return self._empty()._add(X[part], None if weights is None else weights[part], size=size, primal=True)

        parts = [own for own in side_by_side(read, [slice(*own) for own in pairwise(ends)]) if own.n_samples]
        return self._pool(parts, sums_of(parts, parts[0]._second)) if parts else self

    def _pool(self, parts: Sequence[MomentSums], second: Array) -> Self:
        """Hold the samples of all parts, whose m x m sums together are known."""
        weights, means = [part.weight_sum for part in parts], [part._mean for part in parts]
        with np.errstate(over="ignore", invalid="ignore"):  # the selectors refuse what overflows
            self.weight_sum, self.n_samples = sum(weights), sum(part.n_samples for part in parts)
            self.n_features = parts[0].n_features
            self.range_is_exact = all(part.range_is_exact for part in parts)
            self._mean = sum(mean * (weight / self.weight_sum) for mean, weight in zip(means, weights, strict=True))
            xp = namespace(second)
            self._low = xp.min(xp.stack([part._low for part in parts]), axis=0)
            self._high = xp.max(xp.stack([part._high for part in parts]), axis=0)
        self._second, self._symmetric = second, False
        return self

    def _take(self, other: Self) -> None:
        """Add what another object holds."""
        if self.n_features is None:
            self.__dict__.update(vars(other))
            self._rows, self._weights = list(other._rows), list(other._weights)
            self._second = None if other._second is None else namespace(other._second).asarray(other._second, copy=True)
        else:
            check_alike(other, self)
            self._combine(other, 1.0)
            self._widen(other._low, other._high)
            self.range_is_exact &= other.range_is_exact
        self._settle_form()

    def _absorb(self, block: Block) -> None:
        """Add a block to the m x m sums: Chan's pairwise formula, without sums of the block alone.

        M2 = M2a + M2b + (wa wb / w) d d' with d = mean_b - mean_a; and M2b plus the last term is the sum of
        w (x - c)(x - c)' over the block, for c = mean_b - sqrt(wa / w) d.
        """
        if self.n_features is None:
            self.n_features = block.n_features
            self._mean, self._low, self._high = block.mean, block.minimum, block.maximum
        self._to_primal()
        self._second = writable(self._second)
        total = self.weight_sum + block.weight_sum
        difference = block.mean - self._mean
        self._second = block.add_to(self._second, block.mean - (self.weight_sum / total) ** 0.5 * difference)
        self._symmetric = False
        self._mean = self._mean + difference * (block.weight_sum / total)
        self._widen(block.minimum, block.maximum)
        self.weight_sum = total
        self.n_samples += block.n_samples

    def _combine(self, other: Self, sign: float) -> None:
        """Add (sign 1) or take away (sign -1) another object's sums; Chan's pairwise formula."""
        before, weight = self.weight_sum, sign * other.weight_sum
        total = before + weight
        difference = other._mean - self._mean
        if self.form == "dual" and other.form == "dual":
            self._rows.extend([rows + (other._shift - self._shift)[None, :] for rows in other._rows])
            self._weights.extend(other._weights)
        else:
            self._to_primal()
            self._second = writable(self._second)
            if other._second is None:
                self._add_rows(other, other._mean - (before / total) ** 0.5 * difference, sign)
            else:
                self._second += other._second if sign > 0 else -other._second
                # A removal is a negative weight.
                add_outer(self._second, before * weight / total, difference)
                self._symmetric &= other._symmetric
        self._mean = self._mean + difference * (weight / total)
        self.weight_sum = total
        self.n_samples += int(sign) * other.n_samples

    def _add_rows(self, other: Self, centre: Array, sign: float = 1.0) -> None:
        """Add the sum of w (x - centre)(x - centre)' over the samples that an object in dual form keeps."""
        xp = namespace(self._mean)
        for rows, weights in zip(other._rows, other._weights, strict=True):
            root = (rows - (centre - other._shift)[None, :]) * xp.sqrt(weights)[:, None]
            self._second = add_products(self._second, root, sign)
        self._symmetric = False

    def _widen(self, low: Array, high: Array) -> None:
        xp = namespace(low)
        self._low, self._high = xp.minimum(self._low, low), xp.maximum(self._high, high)

    def _checked(self) -> Self:
        """Return these moments; raise if double precision does not hold the variance of a feature."""
        check_spread(self._known("_low"), self._high)
        return self

    def operator(self) -> Gram:
        """Return C as the subset searches use it: dense in the primal form, a thin factor in the dual form.

        In the primal form it shares its array with these moments; after an update, ask for it anew.
        """
        xp = namespace(self._known("_mean"))
        # A constant feature's variance is zero, not the rounding of its mean.
        varies = xp.astype(self._high - self._low >= SMALLEST, xp.float64)
        if self._second is not None:
            self._mirror()
            # Sums of exactly zero need no mask.
            varies = xp.where(xp.linalg.diagonal(self._second) == 0, 1.0, varies)
            return ScaledGram(self._second, 1 / self.weight_sum, None if bool(xp.all(varies > 0)) else varies)
        rows, weights = self._stacked(xp)
        centred = rows - (self._mean - self._shift)[None, :]
        centred *= varies[None, :]
        centred *= xp.sqrt(weights / self.weight_sum)[:, None]
        return DualGram(centred)

    def _mirror(self) -> None:
        """Bring the lower triangle of the sums up to date."""
        if not self._symmetric:
            self._second, self._symmetric = mirror(self._second), True

    def _drop_rows(self, part: Self) -> None:
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
            stored = self._n_stored()
            if whole_pays(stored, m):
                self._to_primal()
            elif 8 * stored * m > limit:
                raise MemoryError(
                    f"{m} features need {8 * m * m / 2**30:.1f} GiB for their second moments and the {stored} samples "
                    f"so far {8 * stored * m / 2**30:.1f} GiB, of {limit / 2**30:.1f} GiB that may be used; gather "
                    "SketchedMoments instead, drop features (for instance those of least variance), or use a subsample."
                )

    def _stacked(self, xp: ModuleType) -> tuple[Array, Array]:
        """Return all samples and their weights; nothing is changed, since other threads may be reading."""
        if len(self._rows) == 1:
            return self._rows[0], self._weights[0]
        return xp.concat(self._rows), xp.concat(self._weights)

    def _n_stored(self) -> int:
        return sum(int(rows.shape[0]) for rows in self._rows)

    def _to_primal(self) -> None:
        """Hold the sum of w (x - mean)(x - mean)', from the samples kept so far, if any."""
        if self._second is not None:
            return
        xp, m = namespace(self._mean), int(self.n_features or 0)
        self._second = xp.zeros((m, m), dtype=xp.float64, device=array_api_compat.device(self._mean))
        self._add_rows(self, self._mean)
        self._rows, self._weights, self._shift = [], [], None

    def _of_few(self, block: Block) -> Self:
        """Return the moments of one block in dual form, which keeps its samples."""
        moments, xp = type(self)(), namespace(block.mean)
        moments.n_samples, moments.n_features, moments.weight_sum = block.n_samples, block.n_features, block.weight_sum
        moments._mean, moments._low, moments._high = block.mean, block.minimum, block.maximum
        rows = block.values
        rows -= block.mean[None, :]
        weights = xp.ones_like(rows[:, 0]) if block.weights is None else block.weights
        moments._rows, moments._weights, moments._shift = [rows], [like(weights, rows, xp)], block.mean
        return moments


def sums_of(parts: Sequence[MomentSums], out: Array = None) -> Array:
    """Return the m x m sums of all parts together, in a new array or that of the first."""
    for part in parts[1:]:
        check_alike(part, parts[0])
    with np.errstate(over="ignore", invalid="ignore"):  # the selectors refuse what overflows
        seconds, means = [part._second for part in parts], [part._mean for part in parts]
        return pooled_sums(seconds, means, [part.weight_sum for part in parts], out)


def whole_pays(n_samples: int, m: int) -> bool:
    """Tell whether m x m sums of so many samples take less than the samples, and fit in memory."""
    return 2 * n_samples > m and 8 * m * m <= memory_limit()


def check_alike(part: Any, whole: Any) -> None:
    """Raise if one Moments does not go with another, which may be empty."""
    if whole.n_features is None:
        return
    if part.n_features != whole.n_features:
        raise ValueError(f"Expected {whole.n_features} features as before, got {part.n_features}.")
    if type(part.mean) is not type(whole.mean):
        raise TypeError(
            f"These moments hold {type(whole.mean).__name__} arrays, the new samples are "
            f"{type(part.mean).__name__}; convert them first."
        )


def check_removable(part: Any, whole: Any) -> None:
    """Raise if the samples of one Moments cannot be among those of another, as far as their sums tell."""
    if whole.n_features is None or whole.n_samples < part.n_samples:
        raise ValueError(
            f"Cannot remove {part.n_samples} samples from {whole.n_samples}; remove only samples that were added."
        )
    all_samples = whole.n_samples == part.n_samples
    if part.weight_sum >= whole.weight_sum * (1 + _SAME if all_samples else 1):
        raise ValueError(
            f"Cannot remove a weight of {part.weight_sum:g} from {whole.weight_sum:g}; give the samples the weights "
            "they were added with."
        )
    low, high = whole.minimum, whole.maximum
    xp = namespace(low)
    slack = _SAME * (high - low) + 1e-12 * xp.maximum(xp.abs(low), xp.abs(high))
    strange = (part.minimum < low - slack) | (part.maximum > high + slack)
    if all_samples:
        strange |= xp.abs(part.mean - whole.mean) > slack
    if bool(xp.any(strange)) or (all_samples and part.weight_sum < whole.weight_sum * (1 - _SAME)):
        raise ValueError(_NOT_ADDED)


def remaining_samples(
    rows: Array, weights: Array, gone: Array, taken: Array, size: Array
) -> tuple[Array, Array, float]:
    """Return samples, their weights and the sum of these after some of them, or part of their weight, are taken out.

    Parameters
    ----------
    rows, gone : arrays of shape (n, m) and (r, m)
        All samples, and those to take out.
    weights, taken : arrays of shape (n,) and (r,)
        Their weights.
    size : array of shape (m,)
        The features' ranges.

    Returns
    -------
    rows, weights : arrays
        Those of weight left.
    weight_sum : float
    """
    xp = namespace(rows)
    size = xp.where(size > 0, size, xp.ones_like(size))[None, :]
    before = to_numpy(weights)
    left = before.copy()
    for r, weight in enumerate(to_numpy(taken)):
        distance = to_numpy(xp.max(xp.abs(rows - gone[r, :][None, :]) / size, axis=1))
        wanted = float(weight)
        for i in np.argsort(distance, kind="stable"):
            if wanted <= _SAME * weight or distance[i] > _SAME:
                break
            less = min(wanted, float(left[i]))
            left[i] -= less
            wanted -= less
        if wanted > _SAME * weight:
            raise ValueError(_NOT_ADDED)
    left = np.where(left > _SAME * before, left, 0.0)
    if not left.any():
        raise ValueError(_NOT_ADDED)
    kept = np.flatnonzero(left)
    return xp.take(rows, index(kept, rows, xp), axis=0), like(left[kept], rows, xp), float(left.sum())
