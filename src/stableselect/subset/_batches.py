"""Selectors that can be told the batches of the samples, and then look at what varies within batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core import (
    Array,
    Batches,
    HeldOut,
    Stream,
    batch_report,
    check_batch,
    read_batches,
    split_moments,
    split_parts,
    splits_of,
    to_dense,
)
from ..base import StreamingSelector, warn_if_uneven
from ._gathering import has_splitter, refuse_groups, wants_sketch

BATCHED = ("batches_", "batch_means_", "batch_explained_variance_", "batch_specific_", "_batch_centre")
"""What a fit with batches leaves."""


class BatchedSelector(StreamingSelector):
    """The part of a selector that reads batches and reconstructs with their means.

    Attributes
    ----------
    batches_ : ndarray of shape (B,)
        After a fit with ``batch``: the labels, sorted.
    batch_means_ : ndarray of shape (B, m)
        The mean of every batch.
    batch_explained_variance_ : ndarray of shape (B,)
        Fraction of the variance within every batch that the map from the selected features explains.
    batch_specific_ : ndarray of int
        Selected features that serve one batch only: of the rise of the error without one of them, 95 % is there.
    """

    cv: Any
    batches_: np.ndarray
    batch_means_: np.ndarray
    batch_explained_variance_: np.ndarray
    batch_specific_: np.ndarray

    def _around_batches(self, rebuilt: Any, batch: Any) -> np.ndarray:
        """Return reconstructed samples, each around the mean of its batch instead of that of all samples."""
        if not isinstance(rebuilt, np.ndarray):
            raise TypeError(
                f"batch needs the selected features as an array or data frame, not {type(rebuilt).__name__}."
            )
        # Moving the selected features by d moves the prediction by d W.
        moved = self._moves(batch, rebuilt.shape[0])
        shift = moved - moved[:, self.support_] @ self.reconstruction_coef_
        shift[:, self.support_] = 0.0
        return rebuilt + shift

    def score(self, X: Any, y: Any = None, batch: Any = None) -> float:
        """Return the negative mean squared error of reconstructing X, so that larger is better.

        A selector that scales (``scale=``) measures it on the scaled features.

        Parameters
        ----------
        X : table of shape (n, m), in any container
            Samples, usually held out.
        y : None
            Ignored, for scikit-learn's model selection.
        batch : array of shape (n,), optional
            As in :meth:`reconstruct`.

        Returns
        -------
        float
            Minus the squared error, averaged over samples and features.
        """
        if batch is None:
            return super().score(X, y)
        X = to_dense(self._check_table(X, reset=False))
        # Samples without the offset of their batch have the same errors.
        return super().score(X - self._moves(batch, len(X)))

    def _moves(self, batch: Any, n: int) -> np.ndarray:
        """Return by how much the mean of every sample's batch differs from that of all samples."""
        if not hasattr(self, "batches_"):
            raise ValueError(
                f"This {type(self).__name__} was fitted without batches; fit it with batch=..., or give none."
            )
        labels, codes = check_batch(batch)
        if len(codes) != n:
            raise ValueError(f"batch must hold one label for each of the {n} samples, but holds {len(codes)}.")
        known = {label: place for place, label in enumerate(self.batches_.tolist())}
        for label in labels.tolist():
            if label not in known:
                raise ValueError(
                    f"The batch {label!r} was not among those fitted on; leave batch out, or fit with samples of it."
                )
        at = np.array([known[label] for label in labels.tolist()], dtype=np.intp)[codes]
        return (self.batch_means_ - self._batch_centre)[at]

    def _fit_batches(self, X: Array | Stream, weights: np.ndarray | None, groups: Any, batch: Any) -> None:
        """Select the features by what varies within batches."""
        if wants_sketch(getattr(self, "sketch", False)):
            raise ValueError("A sketch cannot be divided into batches; use exact moments (sketch=False), or no batch.")
        n_folds, splits = self._folds_needed(), has_splitter(self.cv)
        if not (splits and n_folds):
            refuse_groups(groups)
        held_out: Sequence[HeldOut] | None = None
        pieces = X.pieces() if isinstance(X, Stream) else [(X, weights)]
        if isinstance(X, Stream) and splits and n_folds:
            n = len(check_batch(batch)[1])
            if groups is not None and len(groups) != n:
                raise ValueError(f"groups holds {len(groups)} labels and batch {n}; give both one for each sample.")
            split = split_parts(X, self.cv, groups, n)
            batches = read_batches(pieces, batch, len(split.sides), split.place)
            folds, held_out = split.held_out(batches.folds)
        else:
            batches = read_batches(pieces, batch, 0 if splits else n_folds)
            folds = batches.folds
            if splits and n_folds:
                folds, held_out = split_moments(batches.centred(X), weights, splits_of(self.cv, X, groups))
            elif n_folds:
                warn_if_uneven(folds)
        self._finish(folds, held_out=held_out)
        self._keep_batches(batches)

    def _keep_batches(self, batches: Batches) -> None:
        """Note the batches that the moments fitted to were within, and how the selection serves them."""
        kept, scale = np.flatnonzero(self.support_), getattr(self, "scale_", np.ones(self.n_features_in_))
        report = batch_report(batches.moments, self.reconstruction_coef_, kept, scale)
        self.batches_, self.batch_means_, self._batch_centre = batches.labels, batches.means, batches.mean
        self.batch_explained_variance_, self.batch_specific_ = report.explained, report.specific
