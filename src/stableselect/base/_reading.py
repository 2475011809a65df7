"""How selectors read what a user gives: checks, names of features, and containers other than arrays and data frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from .._core import (
    Array,
    Container,
    Features,
    Stream,
    as_numbers,
    check_columns,
    check_values,
    container_of,
    feature_names,
    in_memory,
    is_foreign,
    joined,
    open_table,
    read_parts,
    row_blocks,
    take_features,
)


class TableReader:
    """The part of a selector that reads tables; it sets ``n_features_in_`` and ``feature_names_in_``."""

    n_features_in_: int
    feature_names_in_: np.ndarray

    def _check_table(self, X: Any, *, reset: bool = True) -> Array:
        """Return X as a dense array, tensor or CSR matrix of finite numbers, and note its features.

        Containers that are not in memory are refused.
        """
        X, names = (X, None) if isinstance(X, np.ndarray) else in_memory(X, type(self).__name__)
        return self._check_plain(X, names, reset)

    def _open_table(self, X: Any, weights: Any = None, *, reset: bool = True) -> Array | Stream:
        """Return X as :meth:`_check_table` does, or as a stream where it is elsewhere and has more than one piece."""
        if isinstance(X, np.ndarray) or container_of(X) is None:
            return self._check_plain(X, None, reset)
        opened = open_table(X, weights, None if reset else self._features(), getattr(self, "missing", None))
        if not isinstance(opened, Stream):
            return self._check_plain(opened[0], opened[1].names, reset)
        if reset:
            self._note_features(opened.shape[1], opened.features.names)
        return opened

    def _read_pieces(self, X: Any) -> Iterator[Array]:
        """Read samples with the features of those fitted on, piece by piece."""
        opened = self._open_table(X, reset=False)
        if isinstance(opened, Stream):
            yield from (samples for samples, _ in opened.pieces())
        else:
            yield from (opened[part] for part in row_blocks(*opened.shape))

    def _features(self) -> Features:
        """Return the features of the table fitted on."""
        names = getattr(self, "feature_names_in_", None)
        return Features(
            None if names is None else tuple(names), self.n_features_in_, before="the table fitted on", by_place=True
        )

    def _note_features(self, n_features: int, names: tuple[str, ...] | None) -> None:
        self.n_features_in_ = n_features
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)

    def _check_plain(self, X: Any, names: tuple[str, ...] | None, reset: bool) -> Array:
        X = as_numbers(X)
        if is_foreign(X):
            X = self._check_tensor(X, names, reset)
        elif names is None:
            if hasattr(X, "columns"):
                check_columns(X)
            X = _canonical(validate_data(self, X, accept_sparse="csr", ensure_all_finite=False, reset=reset))
        else:  # an array whose names were beside it; scikit-learn would take it for one without names
            X = _canonical(check_array(X, accept_sparse="csr", ensure_all_finite=False))
            if reset:
                self._note_features(int(X.shape[1]), names)
            else:
                X = self._features().admit(X, names, 1)
        check_values(X, names=getattr(self, "feature_names_in_", None), missing=getattr(self, "missing", None))
        return X

    def _check_tensor(self, X: Array, names: tuple[str, ...] | None, reset: bool) -> Array:
        if X.ndim != 2 or 0 in X.shape:
            raise ValueError(f"Expected a tensor with samples and features, got shape {tuple(X.shape)}.")
        if reset:
            self._note_features(int(X.shape[1]), names)
        elif X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} features, but {self.n_features_in_} are expected.")
        return X


def _canonical(X: Array) -> Array:
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


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
