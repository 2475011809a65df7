"""Column subset selection: search over subsets of features on second moments alone."""

from ._choice import Choice, in_indices, resolve_choice
from ._column_subset import ColumnSubset, bounds
from ._conditioned import ConditionsCost, replaceable, replacing_costs, weights_of
from ._conditions import Conditions, Group, InfeasibleConditionsError
from ._default import Wanted
from ._frontier import FEWEST_STABILITY_FOLDS, STABILITY_FOLDS
from ._gathering import Sketch
from ._kernel_subset import KernelSubset
from ._moments_selector import MomentsSelector
from ._problem import Problem
from ._round import Round, map_error
from ._search import N_FOLDS, Found, Setting
from ._selection_path import SelectionPath
from ._sketching import columns_again, error_again, roles_again
from ._stability_frontier import StabilityFrontier
from ._stability_task import Finish, Task
