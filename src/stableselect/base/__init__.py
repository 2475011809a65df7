"""What every selector shares: the base classes, the checks of their input, and explanations of a selection."""

from ._calibration import Calibration, HeldOutResiduals
from ._checks import (
    FactorModelWarning,
    NoValuesError,
    NovelSamplesWarning,
    SketchWarning,
    TargetNotReachedWarning,
    TooFewSamplesError,
    UnscaledFeaturesWarning,
    check_columns,
    check_count,
    check_labels,
    check_noise,
    check_number,
    check_pair,
    check_some_selected,
    check_supports,
    check_table,
)
from ._explanation import Explanation
from ._families import IncludingSelector, SamplesSelector, ScoreSelector, StreamingSelector
from ._figures import Figures, data_frame, html_table
from ._fitting import (
    Selection,
    UnevenFoldsWarning,
    resolve_columns,
    resolve_include_exclude,
    resolve_k,
    unchanged_on_error,
    warn_if_uneven,
)
from ._progress import (
    N_JOBS,
    counted,
    in_processes,
    in_threads,
    may_stop_short,
    progress_text,
    steps,
    told_to,
    verbose_steps,
    whole_fits,
)
from ._selector import FEATURES, N_FEATURES, BaseSelector
from ._sent import SentOnce

# What a selector of one's own may need; the rest serves the other rooms.
__all__ = [
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
]
