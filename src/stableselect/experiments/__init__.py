"""Run many fits, keep their results in a store, go on after an interruption, and compare them on equal terms."""

from ._aggregate import Comparison, Measure, MixedRevisionsError, by_repeat, part_of, refuse_mixed, stale_words, stalled
from ._compare import compare
from ._comparison_result import MethodComparison, MethodRow
from ._executor import Report, execute
from ._run import CURRENT, Current, Mode, Revision, Run
from ._store import Status, Store, Stored, has_results
from ._values import Interval, Value, geometric_mean, paired_interval

__all__ = [
    "CURRENT",
    "Comparison",
    "Current",
    "Interval",
    "Measure",
    "MethodComparison",
    "MethodRow",
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
    "compare",
    "execute",
    "geometric_mean",
    "has_results",
    "paired_interval",
    "part_of",
    "refuse_mixed",
    "stale_words",
    "stalled",
]
