"""Stability and error of every method."""

from ._interchangeable import TASK as _INTERCHANGEABLE
from ._interchangeable import interchangeable
from ._plan import TASK as _STABILITY
from ._plan import fitted
from ._report import EXPERIMENT

EXPERIMENTS = (EXPERIMENT,)
TASKS = {_INTERCHANGEABLE: interchangeable, _STABILITY: fitted}

__all__ = ["EXPERIMENTS", "TASKS"]
