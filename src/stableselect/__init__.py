"""Unsupervised feature selection that keeps original columns and says how far the choice can be trusted."""

from . import datasets, metrics
from ._base import BaseSelector
from ._explain import Explanation
from ._persist import load
from ._registry import all_selectors
from .ensemble import ConsensusSelector
from .filters import InfFS, RandomSelector
from .graph import MCFS, NDFS, SPEC, UDFS, LaplacianScore
from .moments import Moments
from .neural import AEFS, CAE, AgnoSS
from .reconstruction import PFA, ColumnSubset, ScorerSelector, SelectionPath

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
    "SelectionPath",
    "all_selectors",
    "datasets",
    "load",
    "metrics",
]
