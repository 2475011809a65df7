"""The ten benchmark tables of Wu & Cheng (2021): registry, download, verification and splits."""

from ._dataset import Dataset, load, verify
from ._fetch import fetch
from ._registry import DatasetError, DatasetInfo, info, names, registry
from ._splits import Split

__all__ = ["Dataset", "DatasetError", "DatasetInfo", "Split", "fetch", "info", "load", "names", "registry", "verify"]
