"""Selectors that can take samples with missing values, which a Gaussian completes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core import (
    Array,
    FactorModel,
    GaussianModel,
    Moments,
    Stream,
    as_numbers,
    check_columns,
    container_of,
    fit_factors,
    fit_gaussian,
    fit_gaussian_pieces,
    gaussian_of_moments,
    is_too_much,
    merged,
    row_folds,
    split_parts,
    takes_long,
    to_dense,
    work_of_gaps,
)
from ..base import FactorModelWarning, NoValuesError, warn_if_uneven
from ._batches import BatchedSelector
from ._gathering import gather_folds, has_splitter, refuse_groups, wants_sketch

COMPLETED = ("location_", "covariance_", "factors_", "noise_", "em_iterations_")
"""What a fit that completes samples leaves."""


class CompletingSelector(BatchedSelector):
    """The part of a selector that completes samples with missing values."""

    missing: str
    location_: np.ndarray
    covariance_: np.ndarray
    factors_: np.ndarray
    noise_: np.ndarray
    em_iterations_: int

    def transform(self, X: Any) -> Any:
        """Return the selected features of X, in the order of the features of X.

        Parameters
        ----------
        X : table of shape (n, m)
            Samples with the features of those fitted on, in an array, a data frame, or another container. After a fit
            with ``missing="em"`` or ``"factors"`` values may be missing: those of selected features are replaced by
            their means given all values of the sample that are there.

        Returns
        -------
        array of shape (n, k)
            A Dask array or dataframe, a polars LazyFrame or an AnnData gives one of its kind, lazily. Other containers
            (Arrow, DuckDB, HDF5, Zarr) are read part by part into an array.
        """
        check_is_fitted(self)
        if hasattr(self, "location_") and container_of(X) is None:
            table = self._check_table(X, reset=False)
            if _has_gaps(table):
                return self._model().fill(to_dense(table))[:, self.support_]
        return super().transform(X)

    def reconstruct(self, X_selected: Any, batch: Any = None, *, return_std: bool = False, noise: Any = None) -> Any:
        """Reconstruct all features from the selected ones, which are returned unchanged.

        Parameters
        ----------
        X_selected : table of shape (n, k)
            The selected features, in the order of :meth:`transform`; where they have names, they are found by name.
            After a fit with ``missing="em"`` or ``"factors"`` values may be missing: they are replaced by their means
            given the others.
        batch : array of shape (n,), optional
            After a fit with ``batch``: labels of the samples, each reconstructed around the mean of its batch. Without
            them, around the mean of all samples.
        return_std : bool, default=False
            Whether to return standard deviations too, which need :meth:`calibrate`. Those of selected features are 0,
            or their noise.
        noise : float, array of shape (k,) or dict, optional
            With ``return_std``: standard deviation of the noise that the selected features have here beyond that of
            the samples fitted on; one for all, one for each, or by name.

        Returns
        -------
        array of shape (n, m)
            The selected features as they are, and every other as predicted from them. A Dask array or dataframe gives
            one, lazily.
        std : array of shape (n, m)
            Only with ``return_std``.
        """
        check_is_fitted(self)
        if return_std or noise is not None:
            return self.reconstruct(X_selected, batch), self._deviations(X_selected, return_std, noise)
        if hasattr(self, "location_") and (isinstance(X_selected, np.ndarray) or hasattr(X_selected, "iloc")):
            given = X_selected
            if hasattr(given, "columns") and hasattr(self, "feature_names_in_"):
                check_columns(given)
                named = [name for name in self.get_feature_names_out() if name in set(given.columns)]
                given = given[named]  # a name that is not there is missed below
            values = as_numbers(given)
            values = values if isinstance(values, np.ndarray) else np.asarray(values, dtype=np.float64)
            if values.ndim == 2 and values.shape[1] == self.support_.sum() and _has_gaps(values):
                X_selected = self._model().part(np.flatnonzero(self.support_)).fill(values)
        rebuilt = super().reconstruct(X_selected)
        return rebuilt if batch is None else self._around_batches(rebuilt, batch)

    def _model(self) -> GaussianModel | FactorModel:
        if hasattr(self, "factors_"):
            return FactorModel(self.location_, self.factors_, self.noise_)
        return GaussianModel(self.location_, self.covariance_)

    def _fit_model(self, X: Array | Stream, weights: np.ndarray | None) -> GaussianModel | FactorModel:
        """Fit what completes samples."""
        if isinstance(X, Stream):
            return gaussian_of_moments(Moments()._add_stream(X))  # one with gaps is not fitted here
        X = to_dense(X)
        if self.missing == "em" and takes_long(X):
            model = fit_factors(X, weights)
            warnings.warn(
                f"A covariance of all {X.shape[1]} features takes too long here: missing values are completed by "
                f"{model.factors.shape[1]} factors, as by missing='factors'.",
                FactorModelWarning,
                stacklevel=2,
            )
            return model
        if self.missing == "factors":
            return fit_factors(X, weights)
        return fit_gaussian(X, weights) if _has_gaps(X) else gaussian_of_moments(Moments()._add(X, weights))

    def _check_completion(self, X: Array | Stream, batch: Any) -> bool:
        """Tell whether X has missing values, which are to be completed; raise if that cannot be."""
        if isinstance(X, Stream):
            if self.missing == "factors":
                raise TypeError(f"missing='factors' needs all samples in memory, but X is {X.kind}; pass {X.advice}.")
            if X.once:
                raise TypeError(
                    f"missing='em' reads the samples again for every step, but X is {X.kind}, which can be read only "
                    f"once; pass {X.advice}."
                )
            X.missing = self.missing
        if not _has_gaps(X):
            return False
        if batch is not None:
            raise ValueError("batch needs complete samples, but X has missing values; fill them in first.")
        if wants_sketch(getattr(self, "sketch", False)):
            raise ValueError("A sketch needs complete samples; fill in missing values first, or use sketch=False.")
        return True

    def _fit_incomplete(self, X: Array | Stream, weights: np.ndarray | None, groups: Any) -> None:
        """Select the features of a table with missing values."""
        if isinstance(X, Stream):
            self._fit_incomplete_stream(X, groups)
            return
        if weights is not None and not weights.any():
            raise ValueError("Every sample_weight is zero; give at least one sample some weight.")
        table = to_dense(X)
        seen = ~np.isnan(table if weights is None else table[weights > 0])
        self._check_values_of_each(seen.any(axis=0))
        model = self._fit_model(table, weights)
        if 2 * np.count_nonzero(seen.any(axis=1)) <= table.shape[1]:
            # Few samples are completed and kept: their leave-one-out error tells more than what is uncertain of gaps.
            table = model.fill(table)
            folds, held_out = self._gather(table, weights, groups)
            self._finish(folds, table, weights, held_out=held_out)
            self._keep_model(model)
            return

        def moments(rows: np.ndarray) -> Any:
            return model.moments(table, weights, rows)

        folds, held_out = gather_folds(table, weights, self.cv, groups, self._folds_needed(), moments)
        self._finish(folds, held_out=held_out)
        self._keep_model(model)

    def _fit_incomplete_stream(self, X: Stream, groups: Any) -> None:
        """Select the features of a table with missing values that is read piece by piece, again for every step."""
        weighted, n, work, seen = 0, 0, 0.0, np.zeros(self.n_features_in_, dtype=bool)
        for table, _ in _weighted_pieces(X):
            there = ~np.isnan(table)
            weighted += len(table)
            n += int(there.any(axis=1).sum())
            work += work_of_gaps(table)
            seen |= there.any(axis=0)
        if not weighted:
            raise ValueError("Every sample_weight is zero; give at least one sample some weight.")
        self._check_values_of_each(seen)
        if 2 * n <= self.n_features_in_ or is_too_much(self.n_features_in_, work):
            raise TypeError(
                f"missing='em' needs all samples in memory where they are few or have very many features, but X is "
                f"{X.kind}; pass {X.advice}."
            )
        n_folds, split = self._folds_needed(), None
        if n_folds and has_splitter(self.cv):
            split = split_parts(X, self.cv, groups)
            n_folds = len(split.sides)
        else:
            refuse_groups(groups)
        model, start = fit_gaussian_pieces(partial(_weighted_pieces, X)), 0
        parts = [Moments() for _ in range(max(1, n_folds))]
        for piece, weights in X.pieces():
            table = to_dense(piece)
            labels = np.zeros(len(table)) if split is None else split.place[start : start + len(table)]
            start += len(table)
            if split is None and n_folds:
                labels = row_folds(np.where(np.isnan(table), 0.0, table), n_folds)
            if len(labels) == len(table):  # else counted for the message
                for at in np.unique(labels).astype(int):
                    found = model.moments(table, weights, np.flatnonzero(labels == at))
                    parts[at] = merged([part for part in (parts[at], found) if part.n_samples] or [Moments()])
        if split is not None and start != len(split.place):
            raise ValueError(f"groups must hold one label for each of {start} samples, but holds {len(split.place)}.")
        if split is None and n_folds:
            warn_if_uneven(parts)
        folds, held_out = (parts, None) if split is None else split.held_out(parts)
        self._finish(folds, held_out=held_out)
        self._keep_model(model)

    def _check_values_of_each(self, seen: np.ndarray) -> None:
        """Raise if a feature has no values; ``seen`` tells which have some."""
        empty = np.flatnonzero(~seen)
        if empty.size:
            names = getattr(self, "feature_names_in_", None)
            which = int(empty[0]) if names is None else repr(str(names[empty[0]]))
            raise NoValuesError(f"Feature {which} has no values at all; leave it out.")

    def _keep_model(self, model: GaussianModel | FactorModel) -> None:
        self.location_ = model.mean
        if isinstance(model, FactorModel):
            self.factors_, self.noise_, self.em_iterations_ = model.factors, model.noise, model.n_steps
        else:
            self.covariance_, self.em_iterations_ = model.covariance, max(0, len(model.objectives) - 1)


def _has_gaps(X: Array | Stream) -> bool:
    if isinstance(X, Stream):
        return any([_has_gaps(piece) for piece, _ in X.pieces()])  # all of them, so that it is known how many there are
    return bool(np.isnan(to_dense(X)).any())


def _weighted_pieces(X: Stream) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Read the samples that have some weight, in dense pieces, with their weights."""
    for piece, weights in X.pieces():
        table = to_dense(piece)
        w = np.ones(len(table)) if weights is None else weights
        if w.any():
            yield (table, w) if w.all() else (table[w > 0], w[w > 0])
