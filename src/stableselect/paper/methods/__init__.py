"""The methods that the paper compares, the data they see and the measures of each run."""

from ._data import Rows, is_available, load_rows, pool, subsample
from ._methods import (
    ALL_FEATURES,
    EPOCH,
    METHODS,
    NO_RIDGE,
    OTHERS,
    STABLE,
    WEIGHTS,
    WITH_FAULT,
    find_method,
    first_run,
    fraction,
    is_other,
    plan,
    registered,
    selector_classes,
    weighted,
)
from ._options import CAPPED, FAULTY, PROTOCOLS, Options, Protocol, cap
from ._outside import TooManyFeaturesError, fastcan
from ._results import NOT_AVAILABLE, NOT_RUN, Results, agreement, of_one, rate
from ._timing import NETWORKS, PLAIN, epoch_times, timed_fit
