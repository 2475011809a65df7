"""The assumptions of the paper's theorems, measured."""

from ._experiment import EXPERIMENT
from ._task import TASK, measure_assumptions

EXPERIMENTS = (EXPERIMENT,)
TASKS = {TASK: measure_assumptions}

__all__ = ["EXPERIMENTS", "TASKS"]
