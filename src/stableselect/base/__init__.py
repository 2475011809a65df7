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
from ._residuals import HeldOutResiduals
from ._selector import FEATURES, N_FEATURES, BaseSelector, Selection, unchanged_on_error
from ._sent import SentOnce
from ._streaming import StreamingSelector

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
