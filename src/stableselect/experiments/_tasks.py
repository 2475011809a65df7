"""What a cell can compute beside a selection: one function a task, from a cell to its record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _assumption_task, _figure3_beta, _figure3_gap, _figure3_overlap, _interchangeable, _stability
from ._cell import Cell

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
