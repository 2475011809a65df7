"""The one door for tables: whatever holds them, they come in as parts, each an array with the names of its features.

``read_parts`` checks every part against those before it. What is one table in memory already has one part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ._arrays import Array, as_numbers, check_shape, is_foreign, namespace, to_dense
from ._containers import Container, Part, container_of


def check_unique(names: Iterable[Any]) -> None:
    """Raise if a feature name occurs more than once."""
    seen: set[str] = set()
    for name in map(str, names):
        if name in seen:
            raise ValueError(f"More than one feature is named {name!r}; rename them so that every name is unique.")
        seen.add(name)


def check_columns(X: Any) -> None:
    """Raise if a data frame has repeated names or features that are not numbers."""
    if not hasattr(X, "columns") or not hasattr(X, "dtypes"):
        return
    check_unique(X.columns)
    dtypes = X.dtypes.tolist() if hasattr(X.dtypes, "tolist") else list(X.dtypes)
    check_numeric(X.columns, [_is_numeric(X, j, dtype) for j, dtype in enumerate(dtypes)])


def check_numeric(names: Iterable[Any], numeric: Sequence[bool]) -> None:
    """Raise if features are not numbers, with the names of the first."""
    text = [str(name) for name, is_number in zip(names, numeric, strict=True) if not is_number]
    if text:
        shown = ", ".join(repr(c) for c in text[:5]) + (f" and {len(text) - 5} more" if len(text) > 5 else "")
        raise ValueError(f"Features must be numbers, but these hold text or dates: {shown}; drop or encode them first.")


def _is_numeric(X: Any, j: int, dtype: Any) -> bool:
    if hasattr(dtype, "is_numeric"):  # polars
        return bool(dtype.is_numeric()) or str(dtype) == "Boolean"
    if hasattr(dtype, "_is_numeric"):  # pandas extension types
        return bool(dtype._is_numeric) or bool(getattr(dtype, "_is_boolean", False))
    if getattr(dtype, "kind", "") == "O" and hasattr(X, "iloc"):  # Python objects: numbers or not
        try:
            as_numbers(X.iloc[:, j].to_numpy())
        except (TypeError, ValueError):
            return False
        return True
    return getattr(dtype, "kind", "") in "biuf"


@dataclass
class Features:
    """What the parts of a table must have in common: number and names of features, and the kind of their arrays.

    Attributes
    ----------
    names : tuple of str or None
        Names of the features; None where they have none.
    n_features : int or None
        Their number; None before the first part.
    foreign : bool or None
        Whether the parts are tensors; None before the first part.
    before : str
        What had these features, for messages.
    by_place : bool
        Whether features without names are taken to be in this order.
    """

    names: tuple[str, ...] | None = None
    n_features: int | None = None
    foreign: bool | None = None
    before: str = "the parts before"
    by_place: bool = False

    def admit(self, samples: Array, names: tuple[str, ...] | None, number: int) -> Array:
        """Return a part with its features in the order of the first; raise if it is no part of the same table."""
        part, others = f"Part {number}", self.before
        foreign = is_foreign(samples)
        if self.n_features is None:
            self.names, self.n_features = names, int(samples.shape[1])
        if self.names is None and self.by_place and samples.shape[1] == self.n_features:
            self.names = names
        if names is not None and self.names is not None:
            samples = samples if names == self.names else take_features(samples, self.places(names, part))
        elif samples.shape[1] != self.n_features:
            raise ValueError(
                f"Expected {self.n_features} features as in {others}, but {part.lower()} has {samples.shape[1]}; all "
                "must have the same features."
            )
        elif names != self.names and not self.by_place:
            one, other = ("no names", "names") if names is None else ("names", "no names")
            raise ValueError(f"The features of {part.lower()} have {one}, those of {others} {other}; name all or none.")
        if self.foreign not in (None, foreign):
            kind, other = ("a tensor", "none") if foreign else ("no tensor", "tensors")
            raise ValueError(f"{part} is {kind}, {others} are {other}; turn all into one kind of array.")
        self.foreign = foreign
        return samples

    def places(self, names: Sequence[str], part: str = "X") -> list[int]:
        """Return where these features are among those with other names; raise if the two sets are not the same."""
        known = {name: place for place, name in enumerate(names)}
        wanted = set(self.names or ())
        for name in self.names or ():
            if name not in known:
                raise ValueError(
                    f"{part} has no feature {name!r}, unlike {self.before}; all must have the same features."
                )
        for name in names:
            if name not in wanted:
                raise ValueError(
                    f"{part} has a feature {name!r}, unlike {self.before}; all must have the same features."
                )
        return [known[name] for name in self.names or ()]


def take_features(samples: Array, places: Sequence[int] | np.ndarray) -> Array:
    """Return some features of an array, tensor or CSR array."""
    at = np.asarray(places, dtype=np.int64)
    if not is_foreign(samples):
        return samples[:, at]
    xp = namespace(samples)
    return xp.take(samples, xp.asarray(at, device=samples.device), axis=1)


def feature_names(columns: Iterable[Any] | None) -> tuple[str, ...] | None:
    """Return names of features that are texts and unique; None where there are none, or only numbers."""
    if columns is None:
        return None
    names = list(columns)
    texts = sum(isinstance(name, str) for name in names)
    if not texts:
        return None
    if texts < len(names):
        raise TypeError("Some feature names are text and some are not; turn all of them into str.")
    check_unique(names)
    return tuple(str(name) for name in names)


def read_parts(X: Any, expected: Features | None = None) -> Iterator[tuple[Array, tuple[str, ...] | None]]:
    """Read a table in parts that have the same features in the same order; parts without samples are passed over.

    Parameters
    ----------
    X : table of any kind
        See :mod:`~stableselect._core._containers`.
    expected : Features, optional
        What the parts must have; otherwise the first part decides.

    Yields
    ------
    samples : array, tensor or CSR array of shape (n, m)
        Some of the samples.
    names : tuple of str or None
        Names of the features.
    """
    features = Features() if expected is None else expected
    container, read = container_of(X), False
    for number, (samples, names) in enumerate(_plain_parts(X, container), start=1):
        samples = features.admit(samples, names, number)
        if samples.shape[0] or container is None:
            read = True
            yield samples, features.names
    if container is not None and not read:
        hint = " that it has not handed out yet" if container.once else ""
        raise ValueError(f"X is {container.kind} and holds no samples{hint}; pass at least one sample.")


def _plain_parts(X: Any, container: Container | None) -> Iterator[tuple[Array, tuple[str, ...] | None]]:
    if container is None:
        yield as_part(X)
        return
    for number, part in enumerate(container.read(), start=1):
        if isinstance(part, Part):
            yield as_part(part.samples)[0], feature_names(part.names)
        elif container.lazy and (inner := container_of(part)) is not None:
            yield from _plain_parts(part, inner)
        else:
            yield _numbered_part(part, number if container.is_series else None)


def _numbered_part(part: Any, number: int | None) -> tuple[Array, tuple[str, ...] | None]:
    """Return :func:`as_part`; errors name the part of a series."""
    try:
        return as_part(part)
    except (TypeError, ValueError) as error:
        if number is None:
            raise
        raise type(error)(f"Part {number}: {error}") from error


def as_part(X: Any) -> tuple[Array, tuple[str, ...] | None]:
    """Return one table in memory as an array, tensor or CSR array of numbers, and the names of its features."""
    names = None
    if hasattr(X, "column_names"):  # pyarrow
        names, X = feature_names(X.column_names), _arrow_values(X)
    elif hasattr(X, "columns"):
        check_columns(X)
        names, X = feature_names(X.columns), _frame_values(X)
    else:
        X = as_numbers(X)
        X = sparse.csr_array(X) if sparse.issparse(X) else X
    check_shape(X)
    return X, names


def _frame_values(X: Any) -> np.ndarray:
    if hasattr(X, "iloc"):
        return np.asarray(X.to_numpy(dtype=np.float64, na_value=np.nan))
    return _filled(X.shape, (X[name].to_numpy() for name in X.columns))


def _arrow_values(X: Any) -> np.ndarray:
    import pyarrow as pa

    is_number = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal, pa.types.is_null)
    check_numeric(X.column_names, [any(test(field.type) for test in is_number) for field in X.schema])
    columns = (np.asarray(column) for column in X.columns)
    return _filled((X.num_rows, X.num_columns), columns)


def _filled(shape: tuple[int, int], columns: Iterator[np.ndarray]) -> np.ndarray:
    values = np.empty(shape)
    for place, column in enumerate(columns):
        values[:, place] = column.astype(np.float64)  # None becomes NaN
    return values


def joined(parts: Sequence[Array]) -> Array:
    """Return the samples of several parts as one array, sparse where all of them are."""
    if len(parts) == 1:
        return parts[0]
    if all(sparse.issparse(part) for part in parts):
        return sparse.csr_array(sparse.vstack(parts, format="csr"))
    if is_foreign(parts[0]):
        return namespace(parts[0]).concat(list(parts))
    return np.concatenate([to_dense(part) if sparse.issparse(part) else part for part in parts])


def in_memory(X: Any, who: str, name: str = "X") -> tuple[Any, tuple[str, ...] | None]:
    """Return a table that is in memory, and its names where it does not carry them; raise if it is elsewhere.

    Parameters
    ----------
    X : table of any kind
        What a user gave.
    who, name : str
        Who needs it in memory, and what the argument is called, for the message.
    """
    container = container_of(X)
    if container is None:
        return X, None
    if container.lazy:
        advice = container.advice.format(X=name)
        raise TypeError(f"{who} needs all samples in memory, but {name} is {container.kind}; pass {advice}.")
    ((samples, names),) = read_parts(X)
    return samples, names
