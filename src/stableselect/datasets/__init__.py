"""The ten benchmark tables of Wu & Cheng (2021): registry, download, verification and splits."""

from ._dataset import Dataset, load, verify
from ._fetch import fetch
from ._own import add, own_names
from ._registry import DatasetError, DatasetInfo, info, names, registry
from ._splits import FASHION_TRAIN, TEST_SIZE, Scale, Split, cut, hold_out
from ._storage import resolve_home

__all__ = [
    "FASHION_TRAIN",
    "TEST_SIZE",
    "Dataset",
    "DatasetError",
    "DatasetInfo",
    "Scale",
    "Split",
    "add",
    "cut",
    "fetch",
    "hold_out",
    "info",
    "load",
    "names",
    "own_names",
    "registry",
    "resolve_home",
    "verify",
]
