"""Moments of resamples of a table.

Those of all samples are gathered once, and what a resample leaves out is removed. Where that costs more than reading
the samples kept (a bootstrap, a small subsample, a table of few samples against its features), they are read instead.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import sparse

from ._arrays import Array, float64, index, namespace, row_blocks, take_rows, to_numpy
from ._folds import gather, gather_each, row_folds
from ._moments import Moments
from ._resampling import Resample

_CANCELS = 1e-4
"""A feature whose sum of squares falls below this fraction of itself when samples go is computed afresh."""


class ResampledMoments:
    """The moments of any resample of a table, in folds that belong to the samples.

    Parameters
    ----------
    X : array, CSR matrix or tensor of shape (n, m)
        The table.
    n_folds : int
        Folds of the samples to keep apart, as in :func:`~stableselect._core._folds.fold_moments`; 0 for none.
    """

    def __init__(self, X: Array, n_folds: int) -> None:
        self.X, self.n_folds = X, n_folds
        folds = row_folds(X, n_folds) if n_folds else np.zeros(X.shape[0], dtype=np.intp)
        self._fold_rows = [np.flatnonzero(folds == fold) for fold in range(max(1, n_folds))]

    @cached_property
    def _full(self) -> list[Moments]:
        """The moments of all samples, fold by fold."""
        return gather_each(self.X, self._fold_rows)

    def removes(self, resample: Resample | None) -> bool:
        """Tell whether taking out the samples left out costs less than reading those kept; None means all samples."""
        if resample is None:
            return True
        n, m = self.X.shape
        kept = len(resample.rows)
        return resample.counts is None and 2 * kept > max(n, m)

    def of(self, resample: Resample | None) -> list[Moments]:
        """Return the moments of each fold that has samples in the resample, one where there are no folds.

        They may share arrays with those of other resamples: read them, do not change them.
        """
        if resample is None:
            return [part for part in self._full if part.n_samples]
        kept = np.zeros(self.X.shape[0], dtype=bool)
        kept[resample.rows] = True
        if self.removes(resample):
            parts = [
                self._without(full, rows[kept[rows]], rows[~kept[rows]])
                for full, rows in zip(self._full, self._fold_rows, strict=True)
            ]
        else:
            weights = None
            if resample.counts is not None:
                weights = np.zeros(len(kept))
                weights[resample.rows] = resample.counts
            parts = gather_each(self.X, [rows[kept[rows]] for rows in self._fold_rows], weights)
        return [part for part in parts if part.n_samples]

    def _without(self, full: Moments, kept: np.ndarray, gone: np.ndarray) -> Moments:
        """Return the moments of one fold without some of its samples."""
        if not gone.size:
            return full
        if full.form == "dual" or gone.size > kept.size:
            return gather(self.X, kept)
        moments = Moments().merge(full)
        with np.errstate(over="ignore", invalid="ignore"):  # the selectors raise if something overflows
            for part in row_blocks(gone.size, self.X.shape[1]):
                moments.remove(take_rows(self.X, gone[part]))
        before, after = (to_numpy(namespace(s).linalg.diagonal(s)) for s in (full._second, moments._second))
        columns = np.flatnonzero(after < _CANCELS * before)
        if columns.size:
            self._repair(moments, kept, columns)
        return moments

    def _repair(self, moments: Moments, kept: np.ndarray, columns: np.ndarray) -> None:
        """Compute some features' moments afresh, so that a feature without variance in the samples kept has none."""
        xp = namespace(moments._mean)
        at = index(columns, moments._mean, xp)
        values = self._dense(kept, columns)
        moments._mean[at] = xp.mean(values, axis=0)
        centred = values - moments._mean[at][None, :]
        cross = xp.zeros_like(moments._second[:, : columns.size])
        for part in row_blocks(kept.size, self.X.shape[1]):
            cross += (self._dense(kept[part]) - moments._mean[None, :]).T @ centred[part]
        moments._second[:, at] = cross
        moments._second[at, :] = cross.T
        for name, extreme in (("_low", xp.min), ("_high", xp.max)):
            limits = xp.asarray(getattr(moments, name), copy=True)  # shared with the moments of all samples
            limits[at] = extreme(values, axis=0)
            setattr(moments, name, limits)

    def _dense(self, rows: np.ndarray, columns: np.ndarray | None = None) -> Array:
        block = take_rows(self.X, rows)
        xp = namespace(block)
        if columns is not None:
            block = block[:, columns] if sparse.issparse(block) else xp.take(block, index(columns, block, xp), axis=1)
        return float64(block.toarray() if sparse.issparse(block) else block, xp)
