"""Checks of feature names, numbers and lists given by a user, each with an error that says what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from .._core import as_numbers


class TooFewSamplesError(ValueError):
    """Samples that fill too few folds to hold some of them out.

    Parameters
    ----------
    message : str
        What needs the folds, and what to do.
    n_folds, n_needed : int
        How many folds the samples fill, and how many are needed.
    """

    def __init__(self, message: str, n_folds: int, n_needed: int) -> None:
        super().__init__(message)
        self.n_folds, self.n_needed = n_folds, n_needed

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self.args, self.n_folds, self.n_needed)


class UnevenFoldsWarning(UserWarning):
    """Folds of very different sizes; ``fold_sizes_`` of the fitted selector has them."""


class TargetNotReachedWarning(UserWarning):
    """No setting reaches what was asked for; ``reached`` of the fitted ``path_`` or ``frontier_`` tells the same."""


def check_unique(names: Iterable[Any]) -> None:
    """Raise if a feature name occurs more than once."""
    seen: set[str] = set()
    for name in map(str, names):
        if name in seen:
            raise ValueError(f"More than one feature is named {name!r}; rename them so that every name is unique.")
        seen.add(name)


def check_names(names: Any, m: int) -> np.ndarray:
    """Return the names of m features as an array; raise if they are not m different texts."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise TypeError(f"feature_names must be a list of names but is {names!r}; give one name for each feature.")
    names = list(names)
    if len(names) != m:
        raise ValueError(f"Expected {m} feature names, got {len(names)}.")
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"Feature names must be text, but one is {name!r}; turn them into str.")
    check_unique(names)
    return np.array([str(name) for name in names], dtype=object)


def check_columns(X: Any) -> None:
    """Raise if a data frame has repeated names or features that are not numbers."""
    if not hasattr(X, "columns") or not hasattr(X, "dtypes"):
        return
    check_unique(X.columns)
    dtypes = X.dtypes.tolist() if hasattr(X.dtypes, "tolist") else list(X.dtypes)
    text = [str(c) for j, (c, t) in enumerate(zip(X.columns, dtypes, strict=True)) if not _is_numeric(X, j, t)]
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


def resolve_k(n_features_to_select: int | float | str | None, m: int) -> int:
    """Return the number of features to select of m: an integer, a fraction rounded up, or None for half."""
    wanted = n_features_to_select
    if wanted is None:
        return max(1, m // 2)
    if isinstance(wanted, Integral) and not isinstance(wanted, bool | np.bool_):
        if not 1 <= wanted <= m:
            raise ValueError(f"n_features_to_select must be between 1 and the number of features, {m}; got {wanted}.")
        return int(wanted)
    if isinstance(wanted, Real) and not isinstance(wanted, bool | np.bool_) and 0 < wanted <= 1:
        return max(1, int(np.ceil(round(float(wanted) * m, 9))))
    raise ValueError(
        "n_features_to_select must be a whole number, a fraction above 0 and at most 1, or None for half; "
        f"got {wanted!r}."
    )


def resolve_columns(columns: Iterable[str | int] | None, m: int, names: Sequence[str] | None, what: str) -> list[int]:
    """Return feature indices for names or indices given by a user, in their order, each once."""
    if columns is None:
        return []
    if isinstance(columns, str | Integral):
        columns = [columns]
    if isinstance(columns, Iterator):
        raise ValueError(f"{what} is an iterator, which only the first fit could read; give a list.")
    ordered = not isinstance(columns, set | frozenset)
    lookup = {} if names is None else {str(name): j for j, name in enumerate(names)}
    found: list[int] = []
    for column in columns:
        if isinstance(column, str):
            if column not in lookup:
                hint = "the samples have no feature names; give indices" if names is None else "check the spelling"
                raise ValueError(f"Unknown feature {column!r} in {what}: {hint}.")
            found.append(lookup[column])
        elif isinstance(column, Integral) and not isinstance(column, bool) and -m <= column < m:
            found.append(int(column) % m)
        else:
            raise ValueError(f"Unknown feature {column!r} in {what}: expected a name or an index from 0 to {m - 1}.")
    return list(dict.fromkeys(found if ordered else sorted(found)))


def resolve_include_exclude(
    include: Iterable[str | int] | None,
    exclude: Iterable[str | int] | None,
    m: int,
    k: int | None,
    names: Sequence[str] | None,
) -> tuple[list[int], list[int]]:
    """Return the indices to force in and to leave out, after checking that k features can be selected with them.

    Where k is None, at least one feature has to be left.
    """
    forced = resolve_columns(include, m, names, "include")
    barred = resolve_columns(exclude, m, names, "exclude")
    both = sorted(set(forced) & set(barred))
    if both:
        shown = repr(str(names[both[0]])) if names is not None else both[0]
        raise ValueError(f"Feature {shown} is in both include and exclude; remove it from one.")
    if k is None:
        if len(barred) == m:
            raise ValueError("exclude leaves no feature to select; exclude fewer.")
        return forced, barred
    if len(forced) > k:
        raise ValueError(
            f"include names {len(forced)} features but only {k} are to be selected; raise the number or include fewer."
        )
    if m - len(barred) < k:
        raise ValueError(
            f"exclude leaves {m - len(barred)} features but {k} are to be selected; lower the number or exclude fewer."
        )
    return forced, barred
