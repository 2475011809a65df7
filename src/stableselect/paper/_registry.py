"""The one list of experiments; a new one is a module with an ``EXPERIMENT`` and a line here."""

from __future__ import annotations

from . import assumptions, figure3, stability
from .figures import _figure1, _figure2, _lambda_search, _supp_figure8
from .report import Experiment
from .tables import _halves, _summary, _supp_table1, _table1, _table2, _table3, _timing

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
    stability,
    assumptions,
)

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment for experiment in (*(module.EXPERIMENT for module in _MODULES), *figure3.EXPERIMENTS)
}
"""Every experiment by name, in the order in which ``all`` runs them."""


def find_experiment(name: str) -> Experiment:
    """Return an experiment by name."""
    if name not in EXPERIMENTS:
        raise ValueError(f"There is no experiment {name!r}; the experiments are {', '.join(EXPERIMENTS)}.")
    return EXPERIMENTS[name]
