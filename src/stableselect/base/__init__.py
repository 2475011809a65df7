"""What every selector shares: the base classes, the checks of their input, and explanations of a selection."""

from ._checks import (
    check_count,
    check_labels,
    check_number,
    check_pair,
    check_some_selected,
    check_supports,
    check_table,
)
from ._explanation import Explanation
from ._families import SamplesSelector, ScoreSelector
from ._figures import Figures
from ._frames import data_frame
from ._selector import FEATURES, N_FEATURES, BaseSelector, Selection, unchanged_on_error
from ._streaming import StreamingSelector
from ._validation import (
    TargetNotReachedWarning,
    TooFewSamplesError,
    UnevenFoldsWarning,
    check_columns,
    resolve_columns,
    resolve_include_exclude,
    resolve_k,
)

__all__ = [
    "FEATURES",
    "N_FEATURES",
    "BaseSelector",
    "Explanation",
    "Figures",
    "SamplesSelector",
    "ScoreSelector",
    "Selection",
    "StreamingSelector",
    "TargetNotReachedWarning",
    "TooFewSamplesError",
    "UnevenFoldsWarning",
    "check_columns",
    "check_count",
    "check_labels",
    "check_number",
    "check_pair",
    "check_some_selected",
    "check_supports",
    "check_table",
    "data_frame",
    "resolve_columns",
    "resolve_include_exclude",
    "resolve_k",
    "unchanged_on_error",
]
