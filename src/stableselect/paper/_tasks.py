"""What a run can compute beside a selection: one function a task, from a run to its record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..experiments import Run
from . import assumptions, figure3, stability

Task = Callable[[Run, str | None], dict[str, Any]]
"""From a run and the folder of the datasets to the record, which should hold ``seconds``."""

TASKS: dict[str, Task] = {**figure3.TASKS, **assumptions.TASKS, **stability.TASKS}
"""Every task by the name its runs carry."""


def find_task(name: str) -> Task:
    """Return a task by name."""
    if name not in TASKS:
        raise ValueError(f"There is no task {name!r} in this version; the tasks are {', '.join(TASKS)}.")
    return TASKS[name]
