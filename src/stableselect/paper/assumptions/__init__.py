"""The assumptions of the paper's theorems, measured."""

from ._page import assumptions
from ._task import TASK, measure_assumptions

EXPERIMENTS = (assumptions,)
TASKS = {TASK: measure_assumptions}
