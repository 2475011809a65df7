"""What every selector shares: the base class, the checks of its input, and explanations of a choice."""

from ._checks import check_count, check_labels, check_pair, check_selected, check_some_selected, check_table
from ._explanation import Explanation
from ._selector import BaseSelector, Selection, least_squares_map, unchanged_on_error
from ._validation import (
    TargetNotReachedWarning,
    TooFewSamplesError,
    check_columns,
    check_unique,
    resolve_columns,
    resolve_include_exclude,
    resolve_k,
)

__all__ = [
    "BaseSelector",
    "Explanation",
    "Selection",
    "TargetNotReachedWarning",
    "TooFewSamplesError",
    "check_columns",
    "check_count",
    "check_labels",
    "check_pair",
    "check_selected",
    "check_some_selected",
    "check_table",
    "check_unique",
    "least_squares_map",
    "resolve_columns",
    "resolve_include_exclude",
    "resolve_k",
    "unchanged_on_error",
]
