"""Second moments of a table, gathered in one pass over its samples.

Every linear reconstruction loss is a function of the features' means and of C = X'X/n (features centred). Once
:class:`Moments` has seen the samples, their number no longer matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse

from ._arrays import (
    Array,
    as_block,
    check_shape,
    check_values,
    check_weights,
    is_foreign,
    namespace,
    row_blocks,
)
from ._containers import container_of
from ._gram import Gram
from ._moment_sums import check_alike, check_removable
from ._moment_units import SumsInUnits, varying
from ._streams import ChunkStream, Stream, open_table
from ._tables import Features, as_part


class Moments(SumsInUnits):
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
    feature_names : tuple of str or None
        Names of the features, where the samples came with names.
    range_is_exact : bool
        False once samples were removed: ``minimum`` and ``maximum`` then still describe the table before the removal.

    See Also
    --------
    SketchedMoments : For tables that are both too long and too wide for either form.

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

    @classmethod
    def from_array(cls, X: Array, sample_weight: Array = None, *, block_size: int | None = None) -> Self:
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
        if container_of(X) is not None:
            return cls.from_batches(X, sample_weight)
        names = None
        if sparse.issparse(X) or is_foreign(X) or hasattr(X, "columns") or not hasattr(X, "ndim"):
            X, names = as_part(X)
        check_shape(X)  # an array may be larger than memory, so it is checked block by block
        return cls()._named(names)._add(X, check_weights(sample_weight, X.shape[0]), size=block_size)

    @classmethod
    def from_batches(cls, batches: Any, sample_weight: Array = None) -> Self:
        """Read a table part by part, whatever holds it, in one pass.

        Parameters
        ----------
        batches : table of any kind, or iterable of parts of one
            A generator of arrays or data frames, a polars LazyFrame, an Arrow dataset or stream, a DuckDB relation, a
            Dask array or dataframe, an AnnData, an HDF5 or Zarr array. The names of the features come from the first
            part; later parts are put in its order.
        sample_weight : array of shape (n,), optional
            Non-negative weights of all samples.

        Returns
        -------
        Moments

        Examples
        --------
        >>> import pandas as pd
        >>> from stableselect import Moments
        >>> parts = (pd.DataFrame({"a": [day, 2.0], "b": [3.0, day]}) for day in range(5))
        >>> moments = Moments.from_batches(parts)
        >>> moments.n_samples, moments.feature_names
        (10, ('a', 'b'))
        """
        opened = open_table(batches, sample_weight)
        if not isinstance(opened, Stream):
            samples, features = opened
            weights = check_weights(sample_weight, samples.shape[0])
            return cls()._named(features.names)._add(samples, weights)
        return cls()._named(opened.features.names)._add_stream(opened)

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

    def update(self, block: Array, sample_weight: Array = None) -> Self:
        """Add samples.

        Parameters
        ----------
        block : table of shape (n, m), of any kind
            Dense samples of any numeric type (NumPy, torch), a scipy sparse matrix, a data frame, or what
            :meth:`from_batches` reads. Features with names are put in the order of those before.
        sample_weight : array of shape (n,), optional
            Non-negative weights.

        Returns
        -------
        Moments
            The object itself.
        """
        known = Features(self.feature_names, self.n_features, before="the samples before", by_place=True)
        opened = open_table(block, sample_weight, known)
        if isinstance(opened, Stream):
            grown = self._empty().merge(self)  # the samples are added all, or none
            self.__dict__.update(grown._add_stream(opened).__dict__)
            return self._named(known.names)
        samples, weights = opened[0], check_weights(sample_weight, opened[0].shape[0])
        if len(row_blocks(*samples.shape)) > 1:
            check_values(samples)  # all of it, before any of it is added
        return self._named(known.names)._add(samples, weights)

    def merge(self, other: Moments) -> Self:
        """Add what another object has gathered, and return this one; ``other`` is left as it was."""
        if not isinstance(other, Moments):
            raise TypeError(f"Expected Moments to merge, got {type(other).__name__}; samples are added with update().")
        if other.n_samples == 0:
            return self
        if (self.form == "sketched") != (other.form == "sketched"):
            raise ValueError("Sketched and exact moments cannot be merged; gather all parts in the same way.")
        names = self.feature_names or other.feature_names
        if other.feature_names not in (None, names):
            raise ValueError(
                "Moments of features with other names, or in another order, cannot be merged; gather all parts from "
                "tables with the same features."
            )
        self._take(other)  # type: ignore[arg-type]
        return self._named(names)

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
        part = Moments()._add(block, check_weights(sample_weight, block.shape[0], whole=False))
        if not part.n_samples:
            return self
        check_alike(part, self)
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

    def scale(self, kind: Literal["minmax", "standard"] | None, like: Moments | None = None) -> Moments:
        """Return the moments of the scaled table, without another pass over it.

        Parameters
        ----------
        kind : {"minmax", "standard"} or None
            Map every feature to [0, 1], to zero mean and unit variance, or leave it. Constant features are only
            shifted.
        like : Moments, optional
            Whose means and spreads to scale by, such as those of all samples for the moments of a fold.

        Returns
        -------
        Moments
        """
        if kind not in ("minmax", "standard", None):
            raise ValueError(f"Scaling must be 'minmax', 'standard' or None, got {kind!r}.")
        if kind is None or self.n_features is None:
            return self._empty().merge(self)
        return self._in_units(*(like or self)._scaling(kind))

    @staticmethod
    def pooled(parts: Sequence[Moments]) -> Moments:
        """Return the moments within several parts: of all samples, each part moved to the mean of all.

        What differs between the parts (batches, instruments, days) has no share in them.

        Parameters
        ----------
        parts : sequence of Moments
            One for each batch.

        Returns
        -------
        Moments

        Examples
        --------
        >>> import numpy as np
        >>> from stableselect import Moments
        >>> day = np.array([[0.0, 1.0], [2.0, 1.5], [4.0, 0.5]])
        >>> within = Moments.pooled([Moments.from_array(day), Moments.from_array(day + 100)])
        >>> bool(np.allclose(within.variance, day.var(axis=0)))
        True
        """
        filled = [part for part in parts if part.n_samples]
        if not filled:
            raise ValueError("These moments hold no samples yet; call update() first.")
        mean = sum(part._mean * part.weight_sum for part in filled) / sum(part.weight_sum for part in filled)
        varies, whole = varying(filled), filled[0]._empty()
        for part in filled:
            whole.merge(part._moved(part._mean, mean, varies))
        return whole

    def _add_stream(self, stream: Stream) -> Self:
        """Add all samples of a table that is read piece by piece; those of chunks are gathered where they are."""
        if isinstance(stream, ChunkStream):
            return self.merge(stream.gather(partial(_of_chunk, self._empty(), self.n_samples), _together))
        for samples, weights in stream.pieces():
            self._add(samples, weights)
        return self


def _of_chunk(kind: Moments, before: int, samples: Array, weights: np.ndarray | None, number: int) -> Moments:
    return kind._of_part(f"after {before} samples, chunk {number}")._add(samples, weights)


def _together(parts: list[Moments]) -> Moments:
    whole = parts[0]._empty()
    for part in parts:
        whole.merge(part)
    return whole


def _copy(x: Array) -> Array:
    return namespace(x).asarray(x, copy=True)


def normalised_moments(moments: Moments) -> tuple[Gram, float]:
    """Return the moments scaled to mean variance one, and that variance; raise if double precision cannot hold them."""
    with np.errstate(over="ignore", invalid="ignore"):
        gram, unit = moments.operator().normalised()
    varies = bool(gram.xp.any(moments._high > moments._low))
    if varies and gram.trace() == 0 and moments.form == "sketched":
        rows = f"which has too few rows ({getattr(moments, 'size', 0)})"
        raise ValueError(f"The samples cancel in the sketch, {rows}; take more, or exact moments.")
    if not np.isfinite(unit) or not np.isfinite(1 / unit) or (varies and gram.trace() == 0):
        raise ValueError("The features' variances leave the range of double precision; scale the table first.")
    return gram, unit
