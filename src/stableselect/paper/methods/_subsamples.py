"""The samples of ``stability``: the table that subsamples are drawn from, and the subsamples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...datasets import FASHION_TRAIN, TEST_SIZE, Dataset, Split, cut, hold_out_groups, hold_out_rows
from ...experiments import Run
from . import _data
from ._methods import FAST_ROWS


def pool(run: Run, data_home: str | None = None) -> Dataset:
    """Return the table that subsamples are drawn from.

    It is the whole table, but for Fashion-MNIST: there as many images, drawn once, as make a subsample of the published
    size. Fast runs have fewer samples.
    """
    dataset = _data._load(run.dataset, "corrected", data_home)
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
    if table.groups is None:
        kept, left = hold_out_rows(rows, TEST_SIZE, run.split)
    else:
        kept, left = hold_out_groups(rows, table.groups, TEST_SIZE, run.split)
    return cut(table.raw, table.y, table.info, (kept, rows[:0], left), "corrected")
