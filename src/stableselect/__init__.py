"""Unsupervised feature selection that keeps original columns and says how far the choice can be trusted."""

from . import datasets, inspection, metrics
from ._core import Moments
from ._registry import all_selectors
from .base import BaseSelector, Explanation
from .ensemble import ConsensusSelector
from .filters import PFA, InfFS, RandomSelector
from .graph import MCFS, NDFS, SPEC, UDFS, LaplacianScore
from .neural import AEFS, CAE, AgnoSS, ScorerSelectorNetwork
from .persistence import load
from .scorer import ScorerSelector
from .subset import ColumnSubset, SelectionPath

__version__ = "0.1.0"

__all__ = [
    "AEFS",
    "CAE",
    "MCFS",
    "NDFS",
    "PFA",
    "SPEC",
    "UDFS",
    "AgnoSS",
    "BaseSelector",
    "ColumnSubset",
    "ConsensusSelector",
    "Explanation",
    "InfFS",
    "LaplacianScore",
    "Moments",
    "RandomSelector",
    "ScorerSelector",
    "ScorerSelectorNetwork",
    "SelectionPath",
    "all_selectors",
    "datasets",
    "inspection",
    "load",
    "metrics",
]
