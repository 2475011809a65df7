"""Stability and error of every method."""

from ._found import find
from ._plan import INTERCHANGEABLE, TASK, fitted, interchangeable
from ._report import stability

EXPERIMENTS = (stability,)
TASKS = {INTERCHANGEABLE: interchangeable, TASK: fitted}
