"""What every selector shares: the base classes, the checks of their input, and explanations of a selection."""

from ._checks import (
    SketchWarning,
    TargetNotReachedWarning,
    TooFewSamplesError,
    UnevenFoldsWarning,
    check_columns,
    check_count,
    check_labels,
    check_number,
    check_pair,
    check_some_selected,
    check_supports,
    check_table,
    resolve_columns,
    resolve_include_exclude,
    resolve_k,
)
from ._explanation import Explanation
from ._families import SamplesSelector, ScoreSelector
from ._figures import Figures, data_frame
from ._selector import FEATURES, N_FEATURES, BaseSelector, Selection, may_stop_short, unchanged_on_error, whole_fits
from ._streaming import StreamingSelector

__all__ = [
    "FEATURES",
    "N_FEATURES",
    "BaseSelector",
    "Explanation",
    "Figures",
    "SamplesSelector",
    "ScoreSelector",
    "Selection",
    "SketchWarning",
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
    "may_stop_short",
    "resolve_columns",
    "resolve_include_exclude",
    "resolve_k",
    "unchanged_on_error",
    "whole_fits",
]
