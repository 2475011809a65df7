"""What a shell offers for the values of options; methods are named without importing them, which takes a second."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import entry_points

from .. import __all__ as _public

_NO_SELECTORS = {
    *("BaseSelector", "Conditions", "ConditionsCost", "Explanation", "Group", "InfeasibleConditionsError"),
    *("Moments", "SelectionPath", "SketchedMoments", "TableSelection"),
}
"""Public classes that are none."""
_GROUP = "stableselect.selectors"


def method(incomplete: str) -> list[str]:
    """Return the methods that begin so, in any case, also those of other packages."""
    own = {name for name in _public if not name[0].islower()} - _NO_SELECTORS
    return _beginning(incomplete, own | entry_points(group=_GROUP).names)


def methods(incomplete: str) -> list[str]:
    """Return how a list of methods, separated by commas, can go on."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in (*method(last), *([] if comma else _beginning(last, ["all"])))]


def experiment(incomplete: str) -> list[str]:
    """Return the experiments of the paper that begin so."""
    from ..paper import list_experiments

    return _beginning(incomplete, list_experiments())


def experiments(incomplete: str) -> list[str]:
    """Return the experiments of the paper that begin so, and the word for every one."""
    return experiment(incomplete) + _beginning(incomplete, ["all"])


def dataset(incomplete: str) -> list[str]:
    """Return the datasets of the paper that begin so."""
    from ..datasets import names

    return _beginning(incomplete, names())


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    """Return the names that begin so; what was typed stays as it is, since shells drop what does not repeat it."""
    found = sorted(name for name in names if name.lower().startswith(incomplete.lower()))
    return [incomplete + name[len(incomplete) :] for name in found]
