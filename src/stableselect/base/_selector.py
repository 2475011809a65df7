"""What every selector is: fitted once, it transforms, reconstructs, explains and scores, tables of any kind."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._compat import Constraints, Interval, RealNotInt, gives_frames
from .._core import (
    Array,
    Container,
    Features,
    Moments,
    as_numbers,
    check_columns,
    check_reconstructed,
    check_values,
    column_roles,
    container_of,
    feature_names,
    index,
    is_foreign,
    joined,
    like,
    namespace,
    read_parts,
    summed,
    take_features,
    to_dense,
    to_numpy,
)
from ._calibrated import Calibrated
from ._explanation import Explanation, build_explanation

N_FEATURES = [Interval(Integral, 1, None, closed="left"), Interval(RealNotInt, 0, 1, closed="right"), None]
"""Constraint of ``n_features_to_select``."""
FEATURES = [Iterable, Integral, None]
"""Constraint of ``include`` and ``exclude``."""


class BaseSelector(Calibrated):
    """Base of every selector: implement ``fit`` so that it ends in ``_store``, and inherit the rest.

    A selector that needs the samples derives from :class:`SamplesSelector`, one that scores every feature from
    :class:`ScoreSelector`, one that needs second moments only from ``MomentsSelector``.

    Attributes
    ----------
    support_ : ndarray of bool, shape (m,)
        True for the selected features.
    selected_ : ndarray of int, shape (k,)
        The selected features in order of selection, best first.
    ranking_ : ndarray of int, shape (m,)
        1 is best; the selected features have 1 to k in order of selection, the others follow by score.
    scores_ : ndarray of float, shape (m,)
        Larger is better. No discarded feature scores above a selected one, unless ``include`` forced that in.
    reconstruction_coef_ : ndarray of shape (k, m)
        Fitted linear map from the selected features, in the order of :meth:`transform`, to all features. For a network
        that is not linear it is the least-squares map, and :meth:`reconstruct` uses the network.
    reconstruction_intercept_ : ndarray of shape (m,)
        Its intercept.
    """

    n_features_to_select: int | float | str | None
    _parameter_constraints: ClassVar[Constraints] = {"n_features_to_select": N_FEATURES}

    @abstractmethod
    def fit(self, X: Any, y: Any = None) -> Self:
        """Select the features.

        Parameters
        ----------
        X : array, data frame, torch tensor or sparse matrix of shape (n, m)
            The samples.
        y : None
            Ignored, for scikit-learn pipelines.

        Returns
        -------
        self
        """

    def transform(self, X: Any) -> Any:
        """Return the selected features of X, in the order of the features of X.

        Parameters
        ----------
        X : table of shape (n, m)
            Samples with the features of those fitted on, in an array, a data frame, or another container.

        Returns
        -------
        array of shape (n, k)
            A Dask array or dataframe, a polars LazyFrame or an AnnData gives one of its kind, lazily. Other containers
            (Arrow, DuckDB, HDF5, Zarr) are read part by part into an array.
        """
        check_is_fitted(self)
        container = one_table(X)
        if container is not None:
            at = np.flatnonzero(self.support_)
            return take_selected(X, container, self._features(), at, lazily=not gives_frames(self))
        X = as_numbers(X)
        if not hasattr(X, "columns") and X.ndim == 2:
            check_values(X)
        if not is_foreign(X):
            return super().transform(X)
        self._check_tensor(X, None, reset=False)
        return take_features(X, np.flatnonzero(self.support_))

    def reconstruct(self, X_selected: Any, *, return_std: bool = False, noise: Any = None) -> Any:
        """Reconstruct all features from the selected ones, which are returned unchanged.

        After :meth:`calibrate`, samples that are unlike those fitted on give a ``NovelSamplesWarning``.

        Parameters
        ----------
        X_selected : table of shape (n, k)
            The selected features, in the order of :meth:`transform`; where they have names, they are found by name.
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
            return self.reconstruct(X_selected), self._deviations(X_selected, return_std, noise)
        if one_table(X_selected) is not None:
            return reconstruct_parts(self, X_selected)
        X_selected = self._selected_values(X_selected)
        xp = namespace(X_selected)
        check_values(X_selected)
        values = xp.astype(X_selected, xp.float64, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            predicted = self._predict_features(values)
        check_reconstructed(predicted, values)
        if hasattr(self, "_calibration"):
            self._warn_if_novel(values)
        predicted[:, index(np.flatnonzero(self.support_), values, xp)] = values
        return predicted

    def _selected_values(self, X_selected: Any) -> Array:
        """Return the selected features of a plain table as an array or tensor; they may be missing or infinite."""
        k = int(self.support_.sum())
        if hasattr(X_selected, "columns") and hasattr(self, "feature_names_in_"):
            wanted = list(self.get_feature_names_out())
            places_of(wanted, X_selected.columns)
            X_selected = X_selected[wanted]
            check_columns(X_selected)
        X_selected = as_numbers(X_selected)
        if not is_foreign(X_selected):
            X_selected = to_dense(X_selected)
        if X_selected.ndim != 2 or X_selected.shape[1] != k:
            raise ValueError(
                f"reconstruct expects the {k} selected features, got an array of shape {tuple(X_selected.shape)}; "
                "pass the output of transform."
            )
        return X_selected

    def _predict_features(self, values: Array) -> Array:
        """Return all features as the fitted map predicts them, the selected ones too, in double precision."""
        xp = namespace(values)
        decoded = self._decode(to_numpy(values))
        if decoded is not None:
            return like(decoded, values, xp)
        coef = like(self.reconstruction_coef_, values, xp)
        return values @ coef + like(self.reconstruction_intercept_, values, xp)[None, :]

    def _decode(self, values: np.ndarray) -> np.ndarray | None:
        """Return what :meth:`_predict_features` does where the map is not linear, else None."""
        return None

    def _maps_linearly(self) -> bool:
        return self._decode(np.zeros((1, int(self.support_.sum())))) is None

    def inverse_transform(self, X: Any) -> Array:
        """Return what :meth:`reconstruct` does, for pipelines: predictions in place of scikit-learn's zeros."""
        return self.reconstruct(X)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the negative mean squared error of reconstructing X, so that larger is better.

        A selector that scales (``scale=``) measures it on the scaled features.

        Parameters
        ----------
        X : table of shape (n, m), in any container
            Samples, usually held out.
        y : None
            Ignored, for scikit-learn's model selection.

        Returns
        -------
        float
            Minus the squared error, averaged over samples and features.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.model_selection import GridSearchCV
        >>> from sklearn.preprocessing import StandardScaler
        >>> from stableselect import ColumnSubset
        >>> X = StandardScaler().fit_transform(load_wine().data)
        >>> GridSearchCV(ColumnSubset(), {"n_features_to_select": [2, 5]}).fit(X).best_params_
        {'n_features_to_select': 5}
        """
        check_is_fitted(self)
        n, total = summed(self._open_table(X, reset=False), partial(_squared_error, self))
        return -total / n

    def explain(self, X: Any = None) -> Explanation:
        """Tell which selected features explain each discarded one, and the best replacements of each selected one.

        Parameters
        ----------
        X : table of shape (n, m), in any container, optional
            The samples fitted on. Selectors that work from moments do not need them.

        Returns
        -------
        Explanation
        """
        check_is_fitted(self)
        roles = getattr(self, "_roles", None)
        if roles is None:
            if X is None:
                raise ValueError(f"{type(self).__name__} does not keep the moments of the samples; call explain(X).")
            gram, _ = Moments.from_batches(self._read_pieces(X)).operator().normalised()
            roles = column_roles(gram, self.selected_.tolist(), 0.0).explaining
        return build_explanation(getattr(self, "feature_names_in_", None), self.selected_, *roles)


def _squared_error(selector: BaseSelector, block: Array) -> tuple[int, float]:
    """Return the number of values of a block that are there, and the squared error of reconstructing them."""
    values = to_dense(block)
    error = (values - selector.reconstruct(values[:, selector.support_])) / getattr(selector, "scale_", 1.0)
    return int(np.count_nonzero(~np.isnan(error))), float(np.nansum(error**2))


def one_table(X: Any) -> Container | None:
    """Return how to read a table that is no plain one, None for a plain one; raise for a series of parts."""
    container = None if isinstance(X, np.ndarray) else container_of(X)
    if container is not None and container.is_series:
        raise TypeError(f"X is {container.kind} of a table; call this for each part, or pass the table itself.")
    return container


def take_selected(X: Any, container: Container, features: Features, chosen: np.ndarray, *, lazily: bool) -> Any:
    """Return the chosen features of a container; they are found by name if they have any.

    Parameters
    ----------
    X : container
        What a user gave.
    container : Container
        How it is read.
    features : Features
        The features of the table fitted on.
    chosen : ndarray of int
        Which of them are wanted.
    lazily : bool
        Whether to return the same kind of container where it allows that; otherwise an array.
    """
    if container.take is None or container.columns is None or not lazily:
        kept = []
        for samples, names in read_parts(X, features):
            check_values(samples, names=names)
            kept.append(take_features(samples, chosen))
        return joined(kept)
    names, m = feature_names(container.columns()), int(X.shape[1]) if hasattr(X, "shape") else None
    if names is not None and features.names is not None:
        places = np.array(features.places(names))[chosen]
    else:
        n_features = len(names) if names is not None else m
        if n_features != features.n_features:
            raise ValueError(f"X has {n_features} features, but {features.n_features} are expected.")
        places = chosen
    return container.take(places.tolist())


def reconstruct_parts(selector: Any, X: Any) -> Any:
    """Return all features of a container that holds the selected ones: part by part, on Dask lazily."""
    names, m = getattr(selector, "feature_names_in_", None), selector.n_features_in_
    wanted = None if names is None else selector.get_feature_names_out().tolist()
    if hasattr(X, "map_partitions"):
        if wanted is not None:
            places_of(wanted, X.columns)
        rebuilt = partial(_rebuilt_frame, selector=selector, names=range(m) if names is None else names)
        return X.map_partitions(rebuilt, meta=rebuilt(X._meta))
    if hasattr(X, "map_blocks"):
        return X.map_blocks(selector.reconstruct, chunks=(X.chunks[0], (m,)), dtype=np.float64, meta=np.empty((0, 0)))
    parts = []
    for samples, known in read_parts(X):
        if wanted is not None and known is not None:
            samples = take_features(samples, places_of(wanted, known))
        parts.append(selector.reconstruct(samples))
    return joined(parts)


def places_of(wanted: Sequence[str], names: Iterable[str]) -> list[int]:
    """Return where the selected features are among features of these names; raise if one is missing."""
    places = {name: place for place, name in enumerate(names)}
    for name in wanted:
        if name not in places:
            raise ValueError(f"reconstruct needs the selected features, but {name!r} is missing.")
    return [places[name] for name in wanted]


def _rebuilt_frame(part: Any, selector: Any, names: Any) -> Any:
    values = selector.reconstruct(part) if len(part) else np.empty((0, len(names)))
    return type(part)(values, index=part.index, columns=names)
