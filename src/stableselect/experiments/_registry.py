"""The one list of experiments; a new one is a module with an ``EXPERIMENT`` and a line here."""

from __future__ import annotations

from . import (
    _figure1,
    _figure2,
    _halves,
    _lambda_search,
    _summary,
    _supp_figure8,
    _supp_table1,
    _table1,
    _table2,
    _table3,
    _timing,
)
from ._experiment import Experiment

_MODULES = (
    _table1,
    _table2,
    _table3,
    _summary,
    _figure1,
    _figure2,
    _supp_figure8,
    _supp_table1,
    _halves,
    _lambda_search,
    _timing,
)

EXPERIMENTS: dict[str, Experiment] = {module.EXPERIMENT.name: module.EXPERIMENT for module in _MODULES}
"""Every experiment by name, in the order in which ``all`` runs them."""


def find_experiment(name: str) -> Experiment:
    """Return an experiment by name."""
    if name not in EXPERIMENTS:
        raise ValueError(f"There is no experiment {name!r}; the experiments are {', '.join(EXPERIMENTS)}.")
    return EXPERIMENTS[name]
