"""Selectors that keep the columns from which all others can be rebuilt."""

from ._column_subset import ColumnSubset
from ._pfa import PFA
from ._scorer_selector import ScorerSelector
from ._selection_path import SelectionPath
from ._stability_frontier import StabilityFrontier

__all__ = ["PFA", "ColumnSubset", "ScorerSelector", "SelectionPath", "StabilityFrontier"]
