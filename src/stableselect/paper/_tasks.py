"""What a cell can compute beside a selection: one function a task, from a cell to its record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..experiments import Cell
from .assumptions import _task as _assumption_task
from .figure3 import _beta as _figure3_beta
from .figure3 import _gap as _figure3_gap
from .figure3 import _overlap as _figure3_overlap
from .stability import _interchangeable
from .stability import _plan as _stability

Task = Callable[[Cell, str | None], dict[str, Any]]
"""From a cell and the folder of the datasets to the record, which should hold ``seconds``."""

TASKS: dict[str, Task] = {
    _figure3_gap.TASK: _figure3_gap.measure_gap,
    _figure3_beta.TASK: _figure3_beta.measure_beta,
    _figure3_overlap.TASK: _figure3_overlap.measure_overlap,
    _assumption_task.TASK: _assumption_task.measure_assumptions,
    _interchangeable.TASK: _interchangeable.interchangeable,
    _stability.TASK: _stability.fitted,
}
"""Every task by the name its cells carry."""


def find_task(name: str) -> Task:
    """Return a task by name."""
    if name not in TASKS:
        raise ValueError(f"There is no task {name!r} in this version; the tasks are {', '.join(TASKS)}.")
    return TASKS[name]
