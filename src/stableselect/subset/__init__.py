"""Column subset selection: search over subsets of features on second moments alone."""

from ._column_subset import ColumnSubset, bounds
from ._default import Wanted
from ._frontier import FEWEST_STABILITY_FOLDS, STABILITY_FOLDS
from ._moments_selector import MomentsSelector
from ._problem import Problem
from ._search import N_FOLDS, Found, Setting, map_error
from ._selection_path import SelectionPath
from ._stability_frontier import StabilityFrontier
from ._stability_task import Finish, Round, Task

__all__ = [
    "FEWEST_STABILITY_FOLDS",
    "N_FOLDS",
    "STABILITY_FOLDS",
    "ColumnSubset",
    "Finish",
    "Found",
    "MomentsSelector",
    "Problem",
    "Round",
    "SelectionPath",
    "Setting",
    "StabilityFrontier",
    "Task",
    "Wanted",
    "bounds",
    "map_error",
]
