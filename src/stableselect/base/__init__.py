"""What every selector shares: the base classes, the checks of their input, and explanations of a selection."""

from ._calibration import Calibration, NovelSamplesWarning, check_noise
from ._checks import (
    FactorModelWarning,
    NoValuesError,
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
from ._figures import Figures, data_frame, html_table
from ._progress import N_JOBS, counted, in_processes, in_threads, progress_text, steps, told_to, verbose_steps
from ._residuals import HeldOutResiduals
from ._selector import FEATURES, N_FEATURES, BaseSelector, Selection, unchanged_on_error
from ._streaming import StreamingSelector
from ._whole_fits import may_stop_short, whole_fits

__all__ = [
    "FEATURES",
    "N_FEATURES",
    "N_JOBS",
    "BaseSelector",
    "Calibration",
    "Explanation",
    "FactorModelWarning",
    "Figures",
    "HeldOutResiduals",
    "NoValuesError",
    "NovelSamplesWarning",
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
    "check_noise",
    "check_number",
    "check_pair",
    "check_some_selected",
    "check_supports",
    "check_table",
    "counted",
    "data_frame",
    "html_table",
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
