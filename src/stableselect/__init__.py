"""Unsupervised feature selection that keeps original columns and says how far the choice can be trusted."""

from . import metrics
from ._base import BaseSelector
from ._explain import Explanation
from ._registry import all_selectors
from .filters import RandomSelector
from .moments import Moments
from .reconstruction import ColumnSubset, ScorerSelector

__version__ = "0.1.0"

__all__ = [
    "BaseSelector",
    "ColumnSubset",
    "Explanation",
    "Moments",
    "RandomSelector",
    "ScorerSelector",
    "all_selectors",
    "metrics",
]
