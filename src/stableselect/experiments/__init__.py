"""Run many fits, keep their results in a store, go on after an interruption, and compare them on equal terms."""

from ._aggregate import Comparison, Measure, MixedRevisionsError, by_repeat, one_revision, part_of, stalled
from ._executor import Report, execute
from ._run import CURRENT, Mode, Revision, Run
from ._store import Status, Store, Stored, has_results
from ._values import Interval, Value, geometric_mean, paired_interval

__all__ = [
    "CURRENT",
    "Comparison",
    "Interval",
    "Measure",
    "MixedRevisionsError",
    "Mode",
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
