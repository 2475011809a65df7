"""The samples of a run: which are fitted on, refitted on and tested on; for ``stability``, subsamples of a table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ... import datasets
from ...datasets import FASHION_TRAIN, TEST_SIZE, Dataset, Split, cut, hold_out, resolve_home
from ...experiments import Run
from ._methods import FAST_ROWS, find_method


@dataclass(frozen=True)
class Rows:
    """Scaled samples of one split.

    Attributes
    ----------
    X_fit : ndarray
        What the selector sees.
    X_train, y_train : ndarray
        What the regression and the classifier are fitted on.
    X_test, y_test : ndarray
        What they are judged on.
    X_valid : ndarray or None
        Training rows that the selector does not see, where it sees only a part.
    """

    X_fit: np.ndarray
    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    X_valid: np.ndarray | None = None


def load_rows(run: Run, data_home: str | Path | None = None) -> Rows:
    """Return the samples of a run.

    Under "paper" the published split, and the selector sees what it saw there. Under "corrected" a split of whole
    groups where samples are replicates, and at random elsewhere, by the run's number; the selector sees all training
    samples.

    Parameters
    ----------
    run : Run
        Which.
    data_home : path, optional
        Folder of the datasets.

    Returns
    -------
    Rows
    """
    dataset = _load(run.dataset, run.protocol, None if data_home is None else str(data_home))
    kind = "published" if run.protocol == "paper" else "random" if dataset.groups is None else "group"
    split = dataset.split(kind=kind, seed=run.split, protocol=run.protocol)
    parts = [(split.X_train, split.y_train), (split.X_valid, split.y_valid), (split.X_test, split.y_test)]
    if run.mode == "fast":
        parts = _cut(parts, run.split)
    X_train = np.concatenate([X for X, _ in parts[:-1]])
    only_train = run.protocol == "paper" and find_method(run.method).part == "train"
    return Rows(
        X_fit=parts[0][0] if only_train else X_train,
        X_train=X_train,
        y_train=np.concatenate([y for _, y in parts[:-1]]),
        X_test=parts[-1][0],
        y_test=parts[-1][1],
        X_valid=parts[1][0] if only_train else None,
    )


def pool(run: Run, data_home: str | None = None) -> Dataset:
    """Return the table that subsamples are drawn from.

    It is the whole table, but for Fashion-MNIST: there as many images, drawn once, as make a subsample of the published
    size. Fast runs have fewer samples.
    """
    dataset = _load(run.dataset, "corrected", data_home)
    number = len(dataset.y)
    if dataset.info.published_split == "fashion":
        number = round(FASHION_TRAIN / (1 - TEST_SIZE))
    if run.mode == "fast":
        number = min(number, FAST_ROWS)
    if number == len(dataset.y):
        return dataset
    kept = np.sort(np.random.default_rng(0).permutation(len(dataset.y))[:number])
    groups = None if dataset.groups is None else dataset.groups[kept]
    return replace(dataset, raw=dataset.raw[kept], y=dataset.y[kept], groups=groups)


def subsample(run: Run, data_home: str | None = None) -> Split:
    """Return a run's samples: four fifths of the table (of the groups, where there are any), and those left out."""
    table = pool(run, data_home)
    rows = np.arange(len(table.y))
    kept, left = hold_out(rows, TEST_SIZE, run.split, table.groups)
    return cut(table.raw, table.y, table.info, (kept, rows[:0], left), "corrected")


def is_available(name: str, data_home: str | Path | None = None) -> bool:
    """Tell whether the file of a dataset is there, without reading it."""
    return (resolve_home(data_home) / f"{name}.npz").is_file()


@lru_cache(maxsize=1)
def _load(name: str, protocol: str, data_home: str | None) -> Any:
    """Load a table; the one used last is kept, since runs come by dataset."""
    return datasets.load(name, protocol=protocol, data_home=data_home)  # type: ignore[arg-type]


def _cut(parts: list[tuple[np.ndarray, np.ndarray]], seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Cut every part by the same fraction, so that all together have the samples of a fast run."""
    total = sum(len(X) for X, _ in parts)
    if total <= FAST_ROWS:
        return parts
    rng = np.random.default_rng(seed)
    kept = [np.sort(rng.permutation(len(X))[: round(len(X) * FAST_ROWS / total)]) for X, _ in parts]
    return [(X[rows], y[rows]) for (X, y), rows in zip(parts, kept, strict=True)]
