"""Pictures of a selection. Needs the extra ``plot``."""

try:
    import matplotlib  # noqa: F401
except ImportError as error:
    raise ImportError('pictures need matplotlib: pip install "stableselect[plot]"') from error

from ._frontier import stability_frontier
from ._images import reconstructed_images
from ._method_comparison import method_comparison
from ._selection_frequency import selection_frequency
from ._selection_path import selection_path
from ._uniform_stability import uniform_stability

__all__ = [
    "method_comparison",
    "reconstructed_images",
    "selection_frequency",
    "selection_path",
    "stability_frontier",
    "uniform_stability",
]
