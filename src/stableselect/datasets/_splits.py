"""Splits of a table into training, validation and test rows, and the scaling that goes with them."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Literal, get_args

import numpy as np
from sklearn.model_selection import GroupShuffleSplit, train_test_split

from ._registry import DatasetInfo

Protocol = Literal["corrected", "paper", "raw"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)
Kind = Literal["published", "random", "group"]
KINDS: tuple[Kind, ...] = get_args(Kind)

TEST_SIZE = 0.2
PUBLISHED_VALID_SIZE = 0.1
FASHION_TRAIN, FASHION_TEST = 6000, 4000
"""Images of Fashion-MNIST that the published experiments, and the random splits here, use."""

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Indices of the training, validation and test rows."""


@dataclass(frozen=True, eq=False)
class Split:
    """A table cut into training, validation and test rows.

    Attributes
    ----------
    X_train, X_valid, X_test : ndarray
        The rows, scaled as the protocol says. The validation part may have no rows.
    y_train, y_valid, y_test : ndarray
        Their labels.
    train, valid, test : ndarray of int
        Their indices in the table.

    Examples
    --------
    >>> import numpy as np
    >>> from stableselect.datasets import Dataset, info
    >>> table = np.arange(20.0).reshape(10, 2)
    >>> split = Dataset(table, np.arange(10), info("glioma")).split("random", seed=1)
    >>> split.X_train.shape, split.X_valid.shape, split.X_test.shape
    ((8, 2), (0, 2), (2, 2))
    >>> float(split.X_train.min()), float(split.X_train.max())
    (0.0, 1.0)
    """

    X_train: np.ndarray
    y_train: np.ndarray
    X_valid: np.ndarray
    y_valid: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    train: np.ndarray
    valid: np.ndarray
    test: np.ndarray


@dataclass(frozen=True)
class Scale:
    """Imputation and scaling of columns: NaN becomes ``fill``, then x becomes (x - shift) / span."""

    fill: np.ndarray
    shift: np.ndarray
    span: np.ndarray

    @classmethod
    def minmax(cls, X: np.ndarray) -> Scale:
        """Learn column means, minima and ranges from rows of X; a constant column becomes 0."""
        X = X.astype(np.float64)
        known = ~np.isnan(X)
        count = known.sum(axis=0)
        # A column without any value in these rows carries nothing; it becomes 0 like a constant one.
        fill = np.where(known, X, 0.0).sum(axis=0) / np.maximum(count, 1)
        low = np.min(X, axis=0, where=known, initial=np.inf)
        high = np.max(X, axis=0, where=known, initial=-np.inf)
        low, high = np.where(count > 0, low, 0.0), np.where(count > 0, high, 0.0)
        # An infinite range makes 0 of every value, also of a test value that differs from the constant: in its own
        # unit that difference could outweigh all other columns.
        return cls(fill, low, np.where(high > low, high - low, np.inf))

    @classmethod
    def published(cls, X: np.ndarray, info: DatasetInfo) -> Scale:
        """Return the published scaling, fitted on all rows of X."""
        if info.scaling == "minmax":
            return cls.minmax(X)
        m = X.shape[1]
        return cls(np.zeros(m), np.zeros(m), np.full(m, 255.0 if info.scaling == "pixels" else 1.0))

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Return X imputed and scaled, in double precision."""
        values = X.astype(np.float64)
        if X.dtype.kind == "f":
            values = np.where(np.isnan(values), self.fill, values)
        values -= self.shift
        values /= self.span
        return values


def check_choice(value: object, choices: tuple[str, ...], name: str) -> None:
    """Raise if a value is not one of the choices."""
    if value not in choices:
        raise ValueError(f"{name} should be one of {', '.join(map(repr, choices))}; got {value!r}.")


def split_rows(
    info: DatasetInfo, n_rows: int, groups: np.ndarray | None, kind: Kind, seed: int, valid_size: float | None
) -> Rows:
    """Return the training, validation and test rows of a split."""
    check_choice(kind, KINDS, "kind")
    if valid_size is not None and not (isinstance(valid_size, Real) and 0 <= valid_size < 1):
        raise ValueError(f"valid_size must be a fraction of the training rows, from 0 to below 1; got {valid_size!r}.")
    if kind == "published":
        if seed != 0 or valid_size is not None:
            raise ValueError(
                "The published split has seed 0 and its own validation rows; leave seed and valid_size out, "
                "or take kind='random'."
            )
        return _published_rows(info, n_rows)
    if kind == "random":
        sizes = {"test_size": TEST_SIZE}
        if info.published_split == "fashion":
            sizes = {"train_size": FASHION_TRAIN, "test_size": FASHION_TEST}
        train, test = train_test_split(np.arange(n_rows), random_state=seed, **sizes)
        return *hold_out(train, valid_size or 0.0, seed), test
    if groups is None:
        raise ValueError(f"{info.title} has no groups of rows; take kind='random'.")
    train, test = hold_out(np.arange(n_rows), TEST_SIZE, seed, groups)
    return *hold_out(train, valid_size or 0.0, seed, groups), test


def cut(X: np.ndarray, y: np.ndarray, info: DatasetInfo, rows: Rows, protocol: Protocol) -> Split:
    """Cut the stored table X at ``rows`` and scale the pieces as the protocol says."""
    train, valid, test = rows
    pieces = [X[train], X[valid], X[test]]
    if protocol != "raw":
        scale = Scale.minmax(pieces[0]) if protocol == "corrected" else Scale.published(X, info)
        pieces = [scale.apply(piece) for piece in pieces]
    return Split(pieces[0], y[train], pieces[1], y[valid], pieces[2], y[test], train, valid, test)


def _published_rows(info: DatasetInfo, n_rows: int) -> Rows:
    if info.published_split == "random":
        train, test = train_test_split(np.arange(n_rows), test_size=TEST_SIZE, random_state=0)
        return *hold_out(train, PUBLISHED_VALID_SIZE, 0), test
    parts = info.parts or ()
    boundary = sum(parts[:-1])
    if info.published_split == "last_part":
        return *hold_out(np.arange(boundary), PUBLISHED_VALID_SIZE, 0), np.arange(boundary, n_rows)
    test = np.arange(parts[-1])
    # The same stream as numpy.random.seed(0), without touching the global one.
    np.random.RandomState(0).shuffle(test)
    last = FASHION_TRAIN - round(PUBLISHED_VALID_SIZE * FASHION_TRAIN)
    return np.arange(last), np.arange(last, FASHION_TRAIN), boundary + test[:FASHION_TEST]


def hold_out(
    rows: np.ndarray, fraction: float, seed: int, groups: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Hold out a fraction of the rows, or of the groups, each with all its rows."""
    if fraction == 0:
        return rows, rows[:0]
    if groups is None:
        kept, held = train_test_split(rows, test_size=fraction, random_state=seed)
        return kept, held
    splitter = GroupShuffleSplit(n_splits=1, test_size=fraction, random_state=seed)
    kept, held = next(splitter.split(rows, groups=groups[rows]))
    return rows[kept], rows[held]
