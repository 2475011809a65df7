"""Run many fits, keep their results in a store, go on after an interruption, and compare them on equal terms."""

from ._aggregate import (
    Comparison,
    Measure,
    MixedRevisionsError,
    by_repeat,
    one_revision,
    part_of,
    stalled,
)
from ._bootstrap import paired_interval
from ._executor import Outcome, Report, execute
from ._revision import CURRENT, Revision
from ._run import Mode, Run
from ._store import Rename, Status, Store, Stored, has_results
from ._values import Interval, Value, geometric_mean

__all__ = [
    "CURRENT",
    "Comparison",
    "Interval",
    "Measure",
    "MixedRevisionsError",
    "Mode",
    "Outcome",
    "Rename",
    "Report",
    "Revision",
    "Run",
    "Status",
    "Store",
    "Stored",
    "Value",
    "by_repeat",
    "execute",
    "geometric_mean",
    "has_results",
    "one_revision",
    "paired_interval",
    "part_of",
    "stalled",
]
