"""Figure 3: generalisation and stability."""

from ._beta import measure_beta
from ._beta_report import EXPERIMENTS as _BETA
from ._curves import EXPERIMENTS as _CURVES
from ._gap import measure_gap
from ._norms import EXPERIMENT as _NORMS
from ._overlap import EXPERIMENTS as _OVERLAP
from ._overlap import measure_overlap
from ._shared import (
    FAST_NOTE,
    PROTOCOLS,
    PUBLISHED_EPOCHS,
    csv_value,
    drawn_legend,
    epochs,
    of_one,
    rate,
    written_rate,
)

EXPERIMENTS = (*_CURVES, _NORMS, *_BETA, *_OVERLAP)
TASKS = {"gap": measure_gap, "beta": measure_beta, "overlap": measure_overlap}

__all__ = [
    "EXPERIMENTS",
    "FAST_NOTE",
    "PROTOCOLS",
    "PUBLISHED_EPOCHS",
    "TASKS",
    "csv_value",
    "drawn_legend",
    "epochs",
    "of_one",
    "rate",
    "written_rate",
]
