"""Unsupervised feature selection that keeps original features and measures how far the selection can be trusted.

Names and submodules are imported when they are first used, so that ``import stableselect`` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import datasets, experiments, inspection, io, metrics, paper, plot, pp, testing, workflow
    from ._core import Moments, SketchedMoments
    from ._registry import all_selectors, available_selectors
    from ._report import report
    from .base import BaseSelector, Explanation
    from .ensemble import ConsensusSelector
    from .experiments import compare
    from .filters import PFA, InfFS, PivotedQR, RandomSelector, VarianceScore
    from .graph import MCFS, NDFS, SPEC, UDFS, LaplacianScore
    from .neural import AEFS, CAE, FAE, AgnoSS, GatedLaplacian, ScorerSelectorNetwork
    from .persistence import TableSelection, load, save
    from .scorer import ScorerSelector
    from .subset import (
        ColumnSubset,
        Conditions,
        ConditionsCost,
        Group,
        InfeasibleConditionsError,
        KernelSubset,
        SelectionPath,
    )

__version__ = "0.1.0"

_ROOMS = {
    "_core": ("Moments", "SketchedMoments"),
    "_registry": ("all_selectors", "available_selectors"),
    "_report": ("report",),
    "base": ("BaseSelector", "Explanation"),
    "ensemble": ("ConsensusSelector",),
    "experiments": ("compare",),
    "filters": ("PFA", "InfFS", "PivotedQR", "RandomSelector", "VarianceScore"),
    "graph": ("MCFS", "NDFS", "SPEC", "UDFS", "LaplacianScore"),
    "neural": ("AEFS", "CAE", "FAE", "AgnoSS", "GatedLaplacian", "ScorerSelectorNetwork"),
    "persistence": ("TableSelection", "load", "save"),
    "scorer": ("ScorerSelector",),
    "subset": (
        "ColumnSubset",
        "Conditions",
        "ConditionsCost",
        "Group",
        "InfeasibleConditionsError",
        "KernelSubset",
        "SelectionPath",
    ),
}
"""By submodule: the public names that come from it."""

_SUBMODULES = ("datasets", "experiments", "inspection", "io", "metrics", "paper", "plot", "pp", "testing", "workflow")
_HOMES = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "AEFS",
    "CAE",
    "FAE",
    "MCFS",
    "NDFS",
    "PFA",
    "SPEC",
    "UDFS",
    "AgnoSS",
    "BaseSelector",
    "ColumnSubset",
    "Conditions",
    "ConditionsCost",
    "ConsensusSelector",
    "Explanation",
    "GatedLaplacian",
    "Group",
    "InfFS",
    "InfeasibleConditionsError",
    "KernelSubset",
    "LaplacianScore",
    "Moments",
    "PivotedQR",
    "RandomSelector",
    "ScorerSelector",
    "ScorerSelectorNetwork",
    "SelectionPath",
    "SketchedMoments",
    "TableSelection",
    "VarianceScore",
    "all_selectors",
    "available_selectors",
    "compare",
    "datasets",
    "experiments",
    "inspection",
    "io",
    "load",
    "metrics",
    "paper",
    "plot",
    "pp",
    "report",
    "save",
    "testing",
    "workflow",
]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value  # found by itself from now on
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
