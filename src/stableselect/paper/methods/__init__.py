"""The methods that the paper compares, the data they see and the measures of each run."""

from ._data import Rows, is_available, load_rows
from ._epoch import NETWORKS, PLAIN, epoch_times
from ._faults import Ranking, crossed_measures, inf_fs_twice_scaled, spec_wrong_end
from ._limits import CAPPED, FAULTY, cap
from ._methods import (
    ALL_FEATURES,
    EPOCH,
    METHODS,
    NO_RIDGE,
    STABLE,
    WEIGHTS,
    WITH_FAULT,
    find_method,
    plan,
    registered,
    selector_classes,
    weighted,
)
from ._options import Options, Protocol
from ._results import NOT_AVAILABLE, NOT_RUN, Results
from ._subsamples import pool, subsample
from ._timed_fit import timed_fit, torch_on_one_thread

__all__ = [
    "ALL_FEATURES",
    "CAPPED",
    "EPOCH",
    "FAULTY",
    "METHODS",
    "NETWORKS",
    "NOT_AVAILABLE",
    "NOT_RUN",
    "NO_RIDGE",
    "PLAIN",
    "STABLE",
    "WEIGHTS",
    "WITH_FAULT",
    "Options",
    "Protocol",
    "Ranking",
    "Results",
    "Rows",
    "cap",
    "crossed_measures",
    "epoch_times",
    "find_method",
    "inf_fs_twice_scaled",
    "is_available",
    "load_rows",
    "plan",
    "pool",
    "registered",
    "selector_classes",
    "spec_wrong_end",
    "subsample",
    "timed_fit",
    "torch_on_one_thread",
    "weighted",
]
