"""Figure 3: generalisation and stability."""

from ._beta import measure_beta
from ._beta_report import EXPERIMENTS as _BETA
from ._curves import EXPERIMENTS as _CURVES
from ._gap import measure_gap
from ._overlap import EXPERIMENTS as _OVERLAP
from ._overlap import measure_overlap
from ._shared import PUBLISHED_EPOCHS, epochs

EXPERIMENTS = (*_CURVES, *_BETA, *_OVERLAP)
TASKS = {"gap": measure_gap, "beta": measure_beta, "overlap": measure_overlap}
