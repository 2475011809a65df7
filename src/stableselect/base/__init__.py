"""What every selector shares: the base classes, the checks of their input, and explanations of a selection."""

from ._checks import (
    SketchWarning,
    TargetNotReachedWarning,
    TooFewSamplesError,
    UnevenFoldsWarning,
    UnscaledFeaturesWarning,
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
    warn_if_uneven,
)
from ._explanation import Explanation
from ._families import SamplesSelector, ScoreSelector
from ._figures import Figures, data_frame
from ._progress import N_JOBS, counted, in_processes, in_threads, progress_text, steps, told_to, verbose_steps
from ._selector import FEATURES, N_FEATURES, BaseSelector, Selection, may_stop_short, unchanged_on_error, whole_fits
from ._streaming import StreamingSelector

__all__ = [
    "FEATURES",
    "N_FEATURES",
    "N_JOBS",
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
    "UnscaledFeaturesWarning",
    "check_columns",
    "check_count",
    "check_labels",
    "check_number",
    "check_pair",
    "check_some_selected",
    "check_supports",
    "check_table",
    "counted",
    "data_frame",
    "in_processes",
    "in_threads",
    "may_stop_short",
    "progress_text",
    "resolve_columns",
    "resolve_include_exclude",
    "resolve_k",
    "steps",
    "told_to",
    "unchanged_on_error",
    "verbose_steps",
    "warn_if_uneven",
    "whole_fits",
]
