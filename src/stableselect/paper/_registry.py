"""The one list of experiments; a new one is a module with an ``EXPERIMENT`` and a line in its room."""

from __future__ import annotations

from . import assumptions, figure3, figures, stability, tables
from .report import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for room in (tables, figures, stability, assumptions, figure3)
    for experiment in room.EXPERIMENTS
}
"""Every experiment by name, in the order in which ``all`` runs them."""


def find_experiment(name: str) -> Experiment:
    """Return an experiment by name."""
    if name not in EXPERIMENTS:
        raise ValueError(f"There is no experiment {name!r}; the experiments are {', '.join(EXPERIMENTS)}.")
    return EXPERIMENTS[name]
