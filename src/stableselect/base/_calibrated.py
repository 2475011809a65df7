"""The part of a selector that says how sure its reconstruction is."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from .._core import (
    Array,
    as_splitter,
    container_of,
    in_memory,
    is_foreign,
    like,
    namespace,
    splits_of,
    take_rows,
    to_dense,
    to_numpy,
)
from ._calibration import Calibration, HeldOutResiduals
from ._checks import NovelSamplesWarning, check_noise
from ._fitting import Fitting
from ._progress import counted, whole_fits

_FOLDS = 5
_FEWEST = 10
"""Fewer samples than this leave too few to hold out."""
_MOST_VALUES = 1 << 25
"""Residuals that are held at once; more of them would make the intervals no better."""


class Calibrated(Fitting):
    """What a selector can tell of its reconstruction after :meth:`calibrate`."""

    _calibration: dict[str, Any]

    def calibrate(self, X: Any, *, cv: Any = None, groups: Any = None, random_state: Any = 0) -> Self:
        """Learn how sure the reconstruction is, from samples held out of selection and map.

        A copy of the selector is fitted for every split, on samples without weights. Then :meth:`reconstruct` gives
        standard deviations and warns of samples that are unlike those fitted on, :meth:`reconstruct_interval` gives
        intervals, and :meth:`novelty` says how unlike a sample is. Fit again, and all of this is forgotten.

        After a fit with ``batch`` this is an error: subtract the mean of its batch from every sample instead, then fit
        and calibrate without ``batch``.

        Parameters
        ----------
        X : table of shape (n, m)
            The samples fitted on, in memory; ten or more.
        cv : int, splitter, iterable or None, default=None
            How samples are held out: a number of folds, a splitter of scikit-learn, or (train, test) indices. None:
            the selector's own ``cv`` if that is a splitter, else five folds.
        groups : array-like of shape (n,), optional
            Labels of samples that belong together: they are held out together.
        random_state : int, RandomState or None, default=0
            Shuffles the samples before they are cut into folds.

        Returns
        -------
        self

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from stableselect import ColumnSubset
        >>> X = load_wine().data
        >>> selector = ColumnSubset(5, scale="standard").fit(X[::2]).calibrate(X[::2])
        >>> low, high = selector.reconstruct_interval(selector.transform(X[1::2]), 0.9)
        >>> inside = (low <= X[1::2]) & (X[1::2] <= high)
        >>> 0.85 < float(inside[:, ~selector.support_].mean()) < 0.95
        True
        """
        check_is_fitted(self)
        if hasattr(self, "batches_"):
            raise ValueError(
                "calibrate knows nothing of batches; subtract the mean of its batch from every sample, then fit and "
                "calibrate without batch."
            )
        X = in_memory(X, f"{type(self).__name__}.calibrate")[0]
        table = to_dense(self._check_table(X, reset=False))
        if len(table) < _FEWEST:
            raise ValueError(f"calibrate needs at least {_FEWEST} samples, got {len(table)}; give more of them.")
        own = getattr(self, "cv", None)
        if cv is None:
            cv = own if hasattr(own, "split") else _FOLDS
        splits = splits_of(as_splitter(cv, groups, random_state), table, groups)
        most = max(1, _MOST_VALUES // table.shape[1] // len(splits))
        held_out = [self._residuals(X, table, train, test[:most], groups) for train, test in counted(splits, "splits")]
        given = to_dense(self.transform(X))
        self._calibration = dict(vars(Calibration.of(given, held_out, len(table))))
        return self

    @property
    def calibration_(self) -> Calibration:
        """What :meth:`calibrate` learnt."""
        try:
            return Calibration(**self._calibration)
        except AttributeError:
            raise NotFittedError(
                f"This {type(self).__name__} is not calibrated; call calibrate(X) with the samples fitted on."
            ) from None

    def reconstruct_interval(self, X_selected: Any, level: float = 0.9, *, noise: Any = None) -> tuple[Array, Array]:
        """Return intervals that hold each value with a given probability, after :meth:`calibrate`.

        Parameters
        ----------
        X_selected : table of shape (n, k)
            The selected features, as for :meth:`reconstruct`.
        level : float, default=0.9
            The fraction of values to hold, from 0.5 to 0.99.
        noise : float, array of shape (k,) or dict, optional
            As for :meth:`reconstruct`.

        Returns
        -------
        low, high : array of shape (n, m)
            The ends of the intervals. Both are the value itself for a selected feature without noise.
        """
        reach = self.calibrated().reach(level, self.support_)
        values, std = self.reconstruct(X_selected, return_std=True, noise=noise)
        to_either_side = std * like(reach, std, namespace(std))
        return values - to_either_side, values + to_either_side

    def novelty(self, X_selected: Any) -> np.ndarray:
        """Return how unlike those fitted on samples are, after :meth:`calibrate`.

        It is the Mahalanobis distance in the selected features, relative to one and a half times the distance that 99 %
        of the held-out samples keep, or to that of the farthest sample fitted on if this is larger: a sample above 1 is
        unlike those fitted on, and :meth:`reconstruct` warns of it.

        Parameters
        ----------
        X_selected : table of shape (n, k)
            The selected features, as for :meth:`reconstruct`.

        Returns
        -------
        ndarray of shape (n,)
            From 0, at the mean of the samples fitted on.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from stableselect import ColumnSubset
        >>> X = load_wine().data
        >>> selector = ColumnSubset(4, scale="standard").fit(X).calibrate(X)
        >>> kept = selector.transform(X[:2])
        >>> (selector.novelty(kept) > 1).tolist(), (selector.novelty(1000 * kept) > 1).tolist()
        ([False, False], [True, True])
        """
        calibration = self.calibrated()
        return calibration.novelty(to_dense(self._selected_values(X_selected)))

    def calibrated(self) -> Calibration:
        """Return ``calibration_``, or raise a ``ValueError`` that says how to get it."""
        check_is_fitted(self)
        return self.calibration_

    def _residuals(self, X: Any, table: np.ndarray, train: np.ndarray, test: np.ndarray, groups: Any) -> Any:
        """Return what is left of held-out samples."""
        model: Any = clone(self)
        own = getattr(model, "cv", None)
        if own is not None and not hasattr(own, "split") and not np.isscalar(own):
            model.set_params(cv=None)  # indices of all samples mean nothing among some of them
        samples = take_rows(X, train) if hasattr(X, "shape") else table[train]
        splits = hasattr(getattr(model, "cv", None), "split") or getattr(model, "_keeps_groups", bool)()
        by_group = groups is not None and splits
        with whole_fits():
            model.fit(samples, **({"groups": to_numpy(groups)[train]} if by_group else {}))
        given, held = to_dense(model.transform(samples)), table[test]
        return HeldOutResiduals.of(given, held, model.reconstruct(held[:, model.support_]), model.support_)

    def _deviations(self, X_selected: Any, wanted: bool, noise: Any) -> Array:
        """Return the standard deviation of every value that is reconstructed."""
        if not wanted:
            raise ValueError("noise is part of the standard deviations; ask for them with return_std=True.")
        calibration = self.calibrated()
        if container_of(X_selected) is not None:
            raise TypeError("Standard deviations need the selected features in memory; pass them as an array.")
        values = self._selected_values(X_selected)
        names = self.get_feature_names_out().tolist()
        std = calibration.deviations(
            to_dense(values), self.reconstruction_coef_, self.support_, check_noise(noise, names)
        )
        return like(std, values, namespace(values)) if is_foreign(values) else std

    def _warn_if_novel(self, values: Array) -> None:
        """Warn of samples that are unlike those fitted on."""
        names = self.get_feature_names_out().tolist()
        told = self.calibration_.unlike(to_dense(values), names)
        if told is not None:
            warnings.warn(told, NovelSamplesWarning, stacklevel=4)
