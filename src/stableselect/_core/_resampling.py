"""Resamples of the rows of a table: which rows each repeat keeps, and how often. Nothing here knows of selectors."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, get_args

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from ._arrays import index, is_foreign, namespace, to_numpy

Scheme = Literal["bootstrap", "subsample", "leave-one-out", "splits"]
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)


@dataclass(frozen=True, eq=False)
class Resample:
    """Rows kept by one repeat.

    Attributes
    ----------
    rows : ndarray of int
        The distinct rows kept, in ascending order.
    counts : ndarray of int or None
        How often each of them was drawn; None where each was drawn once.
    """

    rows: np.ndarray
    counts: np.ndarray | None = None

    @property
    def drawn(self) -> np.ndarray:
        """The rows kept, each as often as it was drawn."""
        return self.rows if self.counts is None else np.repeat(self.rows, self.counts)


def resamples(
    n: int,
    scheme: Scheme = "subsample",
    n_repeats: int | None = 10,
    *,
    fraction: float = 0.8,
    groups: Any = None,
    random_state: int | np.random.RandomState | np.random.SeedSequence | None = 0,
) -> list[Resample]:
    """Return the rows of every repeat.

    Parameters
    ----------
    n : int
        Number of rows.
    scheme : {"bootstrap", "subsample", "leave-one-out", "splits"}
        "bootstrap" draws n rows with replacement; "subsample" draws a share of the rows without; "leave-one-out" leaves
        out one row a repeat, drawn at random, no row twice; "splits" deals the rows into ``n_repeats`` parts at random
        and leaves out one part a repeat.
    n_repeats : int or None
        Number of repeats, at least 2. "leave-one-out" stops at n, and takes None for n.
    fraction : float
        Share of the rows that a subsample keeps, above 0 and below 1; rounded to whole rows.
    groups : array-like of shape (n,) or None
        Labels of rows that belong together, such as replicates. Groups then take the place of rows: they are drawn or
        left out as a whole.
    random_state : int, RandomState instance, SeedSequence or None
        Seed. Every drawn repeat has its own stream, so the first repeats stay the same when more are asked for.

    Returns
    -------
    list of Resample
    """
    if scheme not in SCHEMES:
        raise ValueError(f"scheme must be one of {', '.join(SCHEMES)} but is {scheme!r}; choose one of them.")
    labels, what = units(groups, n)
    size = int(labels.max()) + 1 if n else 0
    n_repeats = _repeats(n_repeats, scheme, size, what)
    root = seed_sequence(random_state)
    if scheme == "bootstrap":
        kept = [_drawn_with_replacement(size, seed)[labels] for seed in root.spawn(n_repeats)]
    elif scheme == "subsample":
        number = _subsample_size(fraction, size, what)
        kept = [_drawn_without_replacement(size, number, seed)[labels] for seed in root.spawn(n_repeats)]
    else:
        order = np.random.default_rng(root).permutation(size)
        part = np.empty(size, dtype=np.intp)
        part[order] = np.arange(size) if scheme == "leave-one-out" else np.arange(size) % n_repeats
        kept = [(part[labels] != left_out).astype(np.intp) for left_out in range(n_repeats)]
    fewest = min(int(counts.sum()) for counts in kept)
    if fewest < 2:
        raise ValueError(f"Every resample must keep at least 2 rows but one keeps {fewest} of {n}; give more rows.")
    return [_resample(counts, scheme == "bootstrap") for counts in kept]


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """Return rows of an array, data frame, sparse matrix or tensor, as the same kind of table."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if sparse.issparse(X):
        return (X if X.format == "csr" else X.tocsr())[rows]
    if is_foreign(X):
        xp = namespace(X)
        return xp.take(X, index(rows, X, xp), axis=0)
    return X[rows]


def seed_sequence(random_state: int | np.random.RandomState | np.random.SeedSequence | None) -> np.random.SeedSequence:
    """Return the root of the streams of all repeats."""
    if isinstance(random_state, np.random.SeedSequence):
        return random_state
    if random_state is None:
        return np.random.SeedSequence()
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return np.random.SeedSequence(int(random_state))
    return np.random.SeedSequence(int(check_random_state(random_state).randint(2**31 - 1)))


def _resample(counts: np.ndarray, repeated: bool) -> Resample:
    rows = np.flatnonzero(counts)
    return Resample(rows, counts[rows] if repeated else None)


def _drawn_with_replacement(size: int, seed: np.random.SeedSequence) -> np.ndarray:
    return np.bincount(np.random.default_rng(seed).integers(size, size=size), minlength=size)


def _drawn_without_replacement(size: int, number: int, seed: np.random.SeedSequence) -> np.ndarray:
    counts: np.ndarray = np.zeros(size, dtype=np.intp)
    counts[np.random.default_rng(seed).choice(size, number, replace=False)] = 1
    return counts


def units(groups: Any, n: int) -> tuple[np.ndarray, str]:
    """Return the number of every row's group, and what is drawn."""
    if groups is None:
        return np.arange(n), "rows"
    values = to_numpy(groups)
    if values.shape != (n,):
        raise ValueError(
            f"groups must hold one label for each of the {n} rows but has shape {values.shape}; align it with X."
        )
    if values.dtype.kind == "O":
        missing = any(_is_missing(value) for value in values)
    else:
        missing = not np.isfinite(values).all() if values.dtype.kind == "f" else bool((values != values).any())
    if missing:
        raise ValueError("groups must hold labels but holds NaN, None or infinity; give every row a group.")
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


def _repeats(n_repeats: int | None, scheme: Scheme, size: int, what: str) -> int:
    if n_repeats is None and scheme == "leave-one-out":
        n_repeats = max(2, size)
    if not isinstance(n_repeats, Integral) or isinstance(n_repeats, bool) or n_repeats < 2:
        raise ValueError(
            f"n_repeats must be a whole number of at least 2 but is {n_repeats!r}; one run has nothing to agree with."
        )
    if size < 2:
        raise ValueError(f"Resampling needs at least 2 {what} but there are {size}; give more {what}.")
    if scheme == "splits" and n_repeats > size:
        raise ValueError(
            f"Each of the {n_repeats} splits must leave out one of the {what} at least but there are {size} {what}; "
            "lower n_repeats."
        )
    return min(int(n_repeats), size) if scheme == "leave-one-out" else int(n_repeats)


def _subsample_size(fraction: float, size: int, what: str) -> int:
    if not isinstance(fraction, Real) or isinstance(fraction, bool) or not 0 < fraction < 1:
        raise ValueError(
            f"fraction must be a number above 0 and below 1 but is {fraction!r}; 0.8 keeps four fifths of the {what}."
        )
    number = round(float(fraction) * size)
    if not 1 <= number < size:
        raise ValueError(
            f"A subsample must keep some of the {what} and leave some out but fraction={fraction!r} keeps {number} of "
            f"{size}; change fraction or give more {what}."
        )
    return number
