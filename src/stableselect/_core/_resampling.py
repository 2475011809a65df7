"""What ``cv`` means: splits of the samples of a table, and resamples, of which only the training part is used."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, KFold
from sklearn.utils import check_random_state

from ._arrays import is_foreign, to_numpy

_PARTED = (
    "Samples of one group must stay together but cv parts them; use a splitter for groups, such as GroupKFold or "
    "GroupShuffleSplit."
)
RandomState = int | np.random.RandomState | np.random.SeedSequence | None


@dataclass(frozen=True, eq=False)
class Resample:
    """Samples kept by one repeat.

    Attributes
    ----------
    rows : ndarray of int
        The distinct samples kept, in ascending order.
    counts : ndarray of int or None
        How often each of them was drawn; None where each was drawn once.
    """

    rows: np.ndarray
    counts: np.ndarray | None = None

    @property
    def drawn(self) -> np.ndarray:
        """The samples kept, each as often as it was drawn."""
        return self.rows if self.counts is None else np.repeat(self.rows, self.counts)

    def reordered(self, order: np.ndarray) -> Resample:
        """Return the same resample of a table that lists sample ``order[i]`` where this one lists sample i."""
        rows = order[self.rows]
        ascending = np.argsort(rows)
        return Resample(rows[ascending], None if self.counts is None else self.counts[ascending])


def resamples(cv: Any, X: Any, groups: Any = None, random_state: RandomState = 0) -> list[Resample]:
    """Return the training part of every split.

    Parameters
    ----------
    cv : int, splitter or iterable
        Number of folds (of shuffled samples, or of whole groups), a splitter with scikit-learn's interface, or
        an iterable of (train, test) indices.
    X : table of shape (n, m)
        What is split.
    groups : array-like of shape (n,) or None
        Labels of samples that belong together. Raise if a split parts them.
    random_state : int, RandomState instance, SeedSequence or None
        Seed of the folds where ``cv`` is an integer.

    Returns
    -------
    list of Resample
    """
    n = int(X.shape[0])
    labels = None if groups is None else units(groups, n)[0]
    pairs = _pairs(as_splitter(cv, groups, random_state), X, labels)
    found = [_resample(train, n) for train, _ in pairs]
    if len(found) < 2:
        raise ValueError(f"cv must give at least 2 splits but gives {len(found)}; one run has nothing to agree with.")
    fewest = min(len(part.drawn) for part in found)
    if fewest < 2:
        raise ValueError(f"Every split must keep at least 2 samples but one keeps {fewest} of {n}; give more samples.")
    if labels is not None:
        _check_groups(found, labels)
    return found


def splits_of(cv: Any, X: Any, groups: Any = None) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the indices of the samples to fit on and of those held out, for every split.

    Parameters
    ----------
    cv : splitter or iterable
        A splitter with scikit-learn's interface, or an iterable of (train, test) indices.
    X : table of shape (n, m)
        What is split.
    groups : array-like of shape (n,) or None
        Labels of samples that belong together, for splitters that keep them together.

    Returns
    -------
    list of (train, test)
    """
    n = int(X.shape[0])
    labels = None if groups is None else units(groups, n)[0]
    found = [(_resample(train, n).rows, _resample(test, n).rows) for train, test in _pairs(cv, X, labels)]
    if len(found) < 2 or any(not len(train) or not len(test) for train, test in found):
        raise ValueError(
            "cv must give at least 2 splits, each with samples to fit on and samples to hold out; it gives "
            f"{len(found)} splits or an empty one."
        )
    return found


def held_out_splits(
    cv: Any, X: Any, groups: Any = None, random_state: RandomState = 0
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return what :func:`splits_of` does, also for a number of folds, with at least 2 samples to fit on in each.

    Parameters
    ----------
    cv : int, splitter or iterable
        Number of folds (of shuffled samples, or of whole groups), a splitter with scikit-learn's interface, or
        an iterable of (train, test) indices.
    X : table of shape (n, m)
        What is split.
    groups : array-like of shape (n,) or None
        Labels of samples that belong together.
    random_state : int, RandomState instance, SeedSequence or None
        Seed of the folds where ``cv`` is an integer.

    Returns
    -------
    list of (train, test)
    """
    check_cv(cv)
    if isinstance(cv, Integral):
        labels, what = units(groups, X.shape[0])
        size = np.unique(labels).size
        if not 2 <= int(cv) <= size:
            raise ValueError(f"cv must be from 2 to the number of {what}, {size}, but is {cv}; change it.")
    elif cv is None:
        raise ValueError("cv must be a number of folds, a splitter or indices but is None; use for example 5.")
    splits = splits_of(as_splitter(cv, groups, random_state), X, groups)
    if any(len(train) < 2 for train, _ in splits):
        raise ValueError("cv must leave at least 2 samples to fit on in every split but does not; give more samples.")
    if groups is not None:
        labels = units(groups, X.shape[0])[0]
        if any(np.isin(labels[train], labels[test]).any() for train, test in splits):
            raise ValueError(_PARTED)
    return splits


def check_cv(cv: Any) -> None:
    """Raise if ``cv`` is neither None nor a number of folds nor gives splits; text has a method ``split`` too."""
    if isinstance(cv, str | bool) or not (hasattr(cv, "split") or isinstance(cv, Integral | Iterable | None)):
        raise ValueError(
            f"cv must be a number of folds, a scikit-learn splitter or pairs of (train, test) indices but is {cv!r}; "
            "use for example 5 or ShuffleSplit()."
        )


def _pairs(cv: Any, X: Any, groups: np.ndarray | None) -> Iterable[tuple[Any, Any]]:
    check_cv(cv)
    return cv.split(np.zeros((X.shape[0], 1)) if is_foreign(X) else X, None, groups) if hasattr(cv, "split") else cv


def as_splitter(cv: Any, groups: Any = None, random_state: RandomState = 0) -> Any:
    """Return the folds that an integer means, and anything else as it is."""
    if not isinstance(cv, Integral) or isinstance(cv, bool):
        return cv
    seed = int(seed_sequence(random_state).generate_state(1)[0])
    return KFold(int(cv), shuffle=True, random_state=seed) if groups is None else GroupKFold(int(cv))


def _resample(train: Any, n: int) -> Resample:
    rows = to_numpy(train)
    if rows.dtype.kind == "b" and rows.shape == (n,):
        rows = np.flatnonzero(rows)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or (rows.size and not 0 <= rows.min() <= rows.max() < n):
        raise ValueError(
            f"cv must give indices of samples from 0 to {n - 1} but gives {train!r:.60}; count the samples from 0."
        )
    rows, counts = np.unique(rows, return_counts=True)
    return Resample(rows, counts if counts.max(initial=1) > 1 else None)


def _check_groups(found: list[Resample], labels: np.ndarray) -> None:
    sizes = np.bincount(labels)
    for part in found:
        inside = np.bincount(labels[part.rows], minlength=sizes.size)
        if np.any((inside > 0) & (inside < sizes)):
            raise ValueError(_PARTED)


def seed_sequence(random_state: RandomState) -> np.random.SeedSequence:
    """Return the root of the streams of all repeats."""
    if isinstance(random_state, np.random.SeedSequence):
        return random_state
    if random_state is None:
        return np.random.SeedSequence()
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return np.random.SeedSequence(int(random_state))
    return np.random.SeedSequence(int(check_random_state(random_state).randint(2**31 - 1)))


def units(groups: Any, n: int) -> tuple[np.ndarray, str]:
    """Return the number of every sample's group, and what is drawn."""
    if groups is None:
        return np.arange(n), "samples"
    values = to_numpy(groups)
    if values.shape != (n,):
        raise ValueError(
            f"groups must hold one label for each of the {n} samples but has shape {values.shape}; align it with X."
        )
    if values.dtype.kind == "O":
        missing = any(_is_missing(value) for value in values)
    else:
        missing = not np.isfinite(values).all() if values.dtype.kind == "f" else bool((values != values).any())
    if missing:
        raise ValueError("groups must hold labels but holds NaN, None or infinity; give every sample a group.")
    try:
        return np.unique(values, return_inverse=True)[1], "groups"
    except TypeError as error:
        raise ValueError("groups must hold labels of one type but mixes several; turn them into text.") from error


def _is_missing(value: Any) -> bool:
    """Tell whether a label is None or one of the values that do not equal themselves; those would each be a group."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA does not say
        return True
