"""The one list of experiments and tasks; a new one is a line in its room."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..experiments import Run
from . import assumptions, figure3, figures, stability, tables
from ._report import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for room in (tables, figures, stability, assumptions, figure3)
    for experiment in room.EXPERIMENTS
}
"""Every experiment by name, in the order in which ``all`` runs them."""

TASKS: dict[str, Callable[[Run, str | None], dict[str, Any]]] = {
    **figure3.TASKS,
    **assumptions.TASKS,
    **stability.TASKS,
}
"""What a run can compute beside a selection, by the name that the run carries: from a run and the folder of the
datasets to the record, which should hold ``seconds``."""


def find_experiment(name: str) -> Experiment:
    """Return an experiment by name."""
    if name not in EXPERIMENTS:
        raise ValueError(f"There is no experiment {name!r}; the experiments are {', '.join(EXPERIMENTS)}.")
    return EXPERIMENTS[name]
