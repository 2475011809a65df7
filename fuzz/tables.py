"""Random small tables of many kinds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Generator = np.random.Generator


@dataclass(frozen=True)
class Table:
    """A table, with what the laws must know about it.

    Attributes
    ----------
    kind : str
        How it was made.
    X : ndarray of shape (n, m)
        Its values.
    ties : bool
        Features may be exchangeable (copies, whole numbers, samples that do not tell them apart), so that ties go to
        the lowest index and the order of the features decides.
    extreme : bool
        Values or variances may leave the range of double precision, which selectors may refuse in a sentence.
    """

    kind: str
    X: np.ndarray
    ties: bool = False
    extreme: bool = False

    def __str__(self) -> str:
        return f"{self.kind} {self.X.shape[0]}x{self.X.shape[1]}"


def factors(rng: Generator, n: int, m: int) -> np.ndarray:
    """Return correlated features: a few factors and some noise."""
    q = int(rng.integers(1, m + 1))
    noise = 10 ** rng.uniform(-2, 0) * rng.normal(size=(n, m))
    return rng.normal(size=(n, q)) @ rng.normal(size=(q, m)) + noise


def _copies(rng: Generator, X: np.ndarray) -> np.ndarray:
    """Return the features of X, some replaced by others or by their negatives."""
    source = rng.integers(0, X.shape[1], size=X.shape[1])
    return X[:, source] * rng.choice([1.0, 1.0, -1.0], size=X.shape[1])


def _near_twins(rng: Generator, X: np.ndarray) -> np.ndarray:
    return _copies(rng, X) + 10 ** rng.uniform(-10, -2) * rng.normal(size=X.shape)


def _low_rank(rng: Generator, X: np.ndarray) -> np.ndarray:
    q = int(rng.integers(1, max(2, X.shape[1])))
    return rng.normal(size=(len(X), q)) @ rng.normal(size=(q, X.shape[1]))


def _constants(rng: Generator, X: np.ndarray) -> np.ndarray:
    values = rng.choice([0.0, 0.1, 1.0, -7.0, 1e6], size=X.shape[1])
    return np.where(rng.random(X.shape[1]) < rng.choice([0.2, 0.6, 1.0]), values, X)


def _heavy(rng: Generator, X: np.ndarray) -> np.ndarray:
    return np.sign(X) * np.abs(X) ** rng.choice([3, 5]) if rng.random() < 0.5 else rng.standard_cauchy(X.shape)


def _far_row(rng: Generator, X: np.ndarray) -> np.ndarray:
    X[rng.integers(len(X)), :: int(rng.integers(1, 4))] += 10 ** rng.uniform(1, 6)
    return X


def _one_hot(rng: Generator, X: np.ndarray) -> np.ndarray:
    levels = rng.integers(0, X.shape[1], size=len(X))
    return np.eye(X.shape[1])[levels]


KINDS: dict[str, Callable[[Generator, np.ndarray], np.ndarray]] = {
    "factors": lambda rng, X: X,
    "wide": lambda rng, X: factors(rng, int(rng.integers(3, 20)), int(rng.integers(20, 60))),
    "tall": lambda rng, X: factors(rng, int(rng.integers(100, 400)), int(rng.integers(2, 20))),
    "low rank": _low_rank,
    "copies": _copies,
    "near twins": _near_twins,
    "likert": lambda rng, X: rng.integers(1, 6, size=X.shape),
    "binary": lambda rng, X: (X > rng.choice([0, 1])).astype(rng.choice([np.float64, np.int8, bool])),
    "one-hot": _one_hot,
    "counts": lambda rng, X: rng.poisson(np.exp(np.clip(X, -3, 5))),
    "wide likert": lambda rng, X: rng.integers(1, 6, size=(rng.integers(8, 20), rng.integers(20, 50))),
    "constants": _constants,
    "units": lambda rng, X: X * 10.0 ** rng.uniform(-1, 1, size=X.shape[1]) * 10 ** rng.uniform(-3, 3),
    "far units": lambda rng, X: X * 10.0 ** rng.choice([-8, -4, 0, 0, 0], size=X.shape[1]),
    "offset": lambda rng, X: X + 10 ** rng.uniform(0, 6) * rng.normal(size=X.shape[1]),
    "heavy tails": _heavy,
    "far row": _far_row,
    "equal rows": lambda rng, X: X[rng.integers(0, max(1, len(X) // 3), size=len(X))],
    "sparse": lambda rng, X: np.where(rng.random(X.shape) < rng.uniform(0.05, 0.4), X, 0.0),
    "one row": lambda rng, X: X[:1],
    "two rows": lambda rng, X: X[:2],
    "one column": lambda rng, X: X[:, :1],
    "float32": lambda rng, X: X.astype(np.float32),
    "tiny": lambda rng, X: X * 10 ** rng.uniform(-320, -100),
    "huge": lambda rng, X: X * 10 ** rng.uniform(100, 306),
}
"""From a generator and a table of factors to the table."""

TIES = {"low rank", "copies", "likert", "binary", "one-hot", "counts", "wide likert", "constants", "wide", "far units"}
TIES |= {"near twins", "one row", "two rows", "equal rows", "sparse", "one column", "far row", "tiny", "huge"}
EXTREME = {"tiny", "huge"}


def draw_table(rng: Generator, kinds: tuple[str, ...] = tuple(KINDS)) -> Table:
    """Return a random table."""
    kind = str(rng.choice(kinds))
    n, m = (
        (rng.integers(3, 50), rng.integers(2, 13))
        if rng.random() < 0.9
        else (rng.integers(3, 12), rng.integers(20, 40))
    )
    X = np.asarray(KINDS[kind](rng, factors(rng, int(n), int(m))))
    ties = kind in TIES or X.shape[0] <= X.shape[1] + 1
    return Table(kind, X, ties, kind in EXTREME)
