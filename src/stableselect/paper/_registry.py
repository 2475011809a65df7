"""The one list of experiments; a new one is a module with an ``EXPERIMENT`` and a line here."""

from __future__ import annotations

from .assumptions import _experiment as _assumptions
from .figure3 import _beta_report as _figure3_beta_show
from .figure3 import _curves as _figure3_curves
from .figure3 import _norms as _figure3_norms
from .figure3 import _overlap_report as _figure3_overlap_show
from .figures import _figure1, _figure2, _lambda_search, _supp_figure8
from .report import Experiment
from .stability import _report as _stability_show
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
    _stability_show,
    _assumptions,
)

_FIGURE3 = (
    *_figure3_curves.EXPERIMENTS,
    _figure3_norms.EXPERIMENT,
    *_figure3_beta_show.EXPERIMENTS,
    *_figure3_overlap_show.EXPERIMENTS,
)
"""The panels of one figure: those of a module are alike."""

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment for experiment in (*(module.EXPERIMENT for module in _MODULES), *_FIGURE3)
}
"""Every experiment by name, in the order in which ``all`` runs them."""


def find_experiment(name: str) -> Experiment:
    """Return an experiment by name."""
    if name not in EXPERIMENTS:
        raise ValueError(f"There is no experiment {name!r}; the experiments are {', '.join(EXPERIMENTS)}.")
    return EXPERIMENTS[name]
