"""Checks of what a user gives: names, numbers and sets of features, tables, labels and counts.

Each helper returns a clean value or raises an error that says what to do, so that what follows holds only maths.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from .._core import as_numbers, check_columns, check_unique, check_values, in_memory, is_foreign, to_numpy


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


class SketchWarning(UserWarning):
    """Exact moments do not fit in memory: features are selected from a sketch of the samples."""


class NoValuesError(ValueError):
    """A feature whose values are all missing, so that nothing can be learnt of it."""


class FactorModelWarning(UserWarning):
    """A covariance of all features takes too long: missing values are completed by a model of few factors."""


class UnscaledFeaturesWarning(UserWarning):
    """A few features have nearly all of the variance: their units decide which features are selected."""


class TargetNotReachedWarning(UserWarning):
    """No setting reaches what was asked for; ``reached`` of the fitted ``path_`` or ``frontier_`` tells the same."""


class NovelSamplesWarning(UserWarning):
    """Samples that are unlike those fitted on, so that their reconstruction is extrapolated."""


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


def check_table(X: ArrayLike, name: str, *, missing: str = "raise") -> np.ndarray:
    """Return ``X`` as a two-dimensional float64 array without infinity, and if ``missing`` is "raise" without NaN."""
    if not isinstance(X, np.ndarray):
        X = in_memory(X, "This function", name)[0]
        check_columns(X)
    X = as_numbers(X, name)
    host: Any = to_numpy(X) if is_foreign(X) else X
    try:
        table: np.ndarray = check_array(host, dtype=np.float64, ensure_all_finite=False, input_name=name)
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        raise ValueError(f"{name} must hold numbers only: {error}; drop or encode features of text first.") from None
    if not (np.isfinite(table).all() or (missing != "raise" and not np.isinf(table).any())):
        raise ValueError(
            f"{name} must hold finite numbers but holds NaN or infinity; impute or drop those values first."
        )
    check_values(table, missing=missing)
    return table


def check_pair(
    X_train: ArrayLike, X_test: ArrayLike, names: tuple[str, str] = ("X_train", "X_test")
) -> tuple[np.ndarray, np.ndarray]:
    """Return two arrays that have the same features; ``names`` are those of the arguments."""
    train, test = check_table(X_train, names[0]), check_table(X_test, names[1])
    both = " and ".join(names)
    if train.shape[1] != test.shape[1]:
        raise ValueError(
            f"{both} must have the same features but have {train.shape[1]} and {test.shape[1]} of them; "
            "pass both with all their features."
        )
    first, second = getattr(X_train, "columns", None), getattr(X_test, "columns", None)
    if first is not None and second is not None and list(first) != list(second):
        raise ValueError(
            f"{both} must name the same features in the same order but do not; "
            "reorder the features of one to match the other."
        )
    return train, test


def check_selected(selected: ArrayLike, n_features: int, name: str = "selected") -> np.ndarray:
    """Return a set of features, given as indices or as a Boolean mask, as sorted indices."""
    chosen = np.asarray(to_numpy(selected))
    if chosen.ndim != 1:
        raise ValueError(
            f"{name} must be one-dimensional, a Boolean mask or feature indices, but has {chosen.ndim} dimensions; "
            "pass one set of features."
        )
    if chosen.dtype.kind == "b":
        if chosen.size != n_features:
            raise ValueError(
                f"{name} must be a mask of {n_features} values but has {chosen.size}; pass one value per feature."
            )
        return np.flatnonzero(chosen)
    if chosen.size == 0:
        return np.empty(0, dtype=np.intp)
    if chosen.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be a Boolean mask or integer feature indices but has dtype {chosen.dtype}; "
            "pass support_ or selected_ of a fitted selector."
        )
    if chosen.min() < 0 or chosen.max() >= n_features:
        raise ValueError(
            f"{name} must hold indices from 0 to {n_features - 1} but holds {chosen.min()} to {chosen.max()}; "
            "count the features from 0."
        )
    unique = np.unique(chosen)
    if unique.size != chosen.size:
        raise ValueError(
            f"{name} must hold distinct features but repeats {chosen.size - unique.size} of {chosen.size}; "
            "name each feature once."
        )
    return unique.astype(np.intp)


def check_some_selected(selected: ArrayLike, n_features: int) -> np.ndarray:
    """Return a set of features as :func:`check_selected` does, and raise if it is empty."""
    chosen = check_selected(selected, n_features)
    if chosen.size == 0:
        raise ValueError("selected must hold at least one feature but is empty; select one or more.")
    return chosen


def check_labels(y: ArrayLike, n_samples: int, name: str, table: str) -> np.ndarray:
    """Return class labels, one per sample of the argument named ``table``."""
    host: Any = to_numpy(y) if is_foreign(y) else y
    labels: np.ndarray = column_or_1d(host)
    if labels.size != n_samples:
        raise ValueError(
            f"{name} must hold one label per sample of {table}, {n_samples}, but holds {labels.size}; align them."
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError(f"{name} must hold class labels but holds NaN or infinity; drop those samples first.")
    check_classification_targets(labels)
    return labels


def check_count(value: Any, name: str, low: int, high: int | None = None) -> int:
    """Return ``value`` as an integer between ``low`` and ``high``, both included."""
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_integer or value < low or (high is not None and value > high):
        span = f"of at least {low}" if high is None else f"from {low} to {high}"
        raise ValueError(f"{name} must be an integer {span} but is {value!r}; change {name}.")
    return int(value)


def check_supports(supports: Any, n_features: int | None) -> np.ndarray:
    """Return the feature sets of several runs, given as masks or as indices, as a Boolean matrix (runs x m)."""
    runs = [to_numpy(run) for run in (to_numpy(supports) if hasattr(supports, "__array__") else supports)]
    if len(runs) < 2:
        raise ValueError(
            f"stability needs at least two runs but got {len(runs)}; repeat the selection on other samples or seeds."
        )
    if n_features is None:
        if not all(run.dtype.kind == "b" and run.ndim == 1 for run in runs):
            raise ValueError(
                "n_features must be given where supports holds feature indices but is None; "
                "pass the number of features, or Boolean masks."
            )
        n_features = runs[0].size
    n_features = check_count(n_features, "n_features", 1)
    masks = np.zeros((len(runs), n_features), dtype=bool)
    for i, run in enumerate(runs):
        masks[i, check_selected(run, n_features, f"supports[{i}]")] = True
    return masks


def check_number(value: Any, name: str, low: float = 0.0, high: float = np.inf, *, inside: bool = False) -> float:
    """Return a finite number from ``low`` to ``high``; with ``inside``, the two are excluded."""
    number = isinstance(value, Real) and not isinstance(value, bool) and np.isfinite(float(value))
    if not number or not (low < value < high if inside else low <= value <= high):
        least = f"above {low:g}" if inside else f"of at least {low:g}" if high == np.inf else f"from {low:g}"
        most = "" if high == np.inf else f" and below {high:g}" if inside else f" to {high:g}"
        raise ValueError(f"{name} must be a finite number {least}{most} but is {value!r}; change {name}.")
    return float(value)


def check_noise(noise: Any, names: Sequence[str]) -> np.ndarray | float:
    """Return the noise of the selected features: one number, or one for each of them.

    Parameters
    ----------
    noise : float, array-like of shape (k,), mapping of str to float, or None
        What a user gave.
    names : sequence of str
        What the selected features are called.
    """
    if noise is None:
        return 0.0
    if isinstance(noise, Mapping):
        other = [name for name in noise if name not in set(names)]
        if other:
            raise ValueError(
                f"noise names {other[0]!r}, which is not among the selected ones: {', '.join(map(repr, names[:5]))}."
            )
        noise = [noise.get(name, 0.0) for name in names]
    found = np.asarray(noise, dtype=np.float64)
    if found.shape not in ((), (len(names),)) or not np.isfinite(found).all() or (found < 0).any():
        raise ValueError(
            f"noise must be a standard deviation of at least 0, or one for each of the {len(names)} selected features."
        )
    return found
