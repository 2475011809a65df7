"""The one list of selectors, and those that other packages add; tests, the command line and the benchmarks read it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import warnings
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points

from . import ensemble, filters, graph, neural, scorer, subset
from ._files import printable
from .base import BaseSelector

_FAMILIES = (subset, scorer, graph, filters, neural, ensemble)
GROUP = "stableselect.selectors"
"""Entry points of other packages in this group are selectors."""


class EntryPointWarning(UserWarning):
    """A package has registered a selector that cannot be used."""


def all_selectors() -> dict[str, type[BaseSelector]]:
    """Return every selector of the package by name.

    A selector is a concrete subclass of ``BaseSelector`` in a module of one of the families' folders, so adding one
    means adding one file.

    Returns
    -------
    dict of str to class
        In alphabetical order.

    See Also
    --------
    available_selectors : Those of other packages too.

    Examples
    --------
    >>> from stableselect import all_selectors
    >>> list(all_selectors())[:4]
    ['AEFS', 'AgnoSS', 'CAE', 'ColumnSubset']
    """
    found: dict[str, type[BaseSelector]] = {}
    for family in _FAMILIES:
        for info in pkgutil.iter_modules(family.__path__, family.__name__ + "."):
            module = importlib.import_module(info.name)
            for name, item in inspect.getmembers(module, inspect.isclass):
                here = item.__module__ == module.__name__
                if here and issubclass(item, BaseSelector) and not inspect.isabstract(item):
                    found[name] = item
    return dict(sorted(found.items()))


def available_selectors() -> dict[str, type[BaseSelector]]:
    """Return every selector by name: those of this package, then those that installed packages have registered.

    A package registers a selector by an entry point in the group ``stableselect.selectors``. One that cannot be
    imported, is not a :class:`~stableselect.BaseSelector`, or has the name of another selector is left out, and a
    warning says so in one sentence.

    Returns
    -------
    dict of str to class
        Each part in alphabetical order.

    See Also
    --------
    all_selectors : Those of this package alone.
    stableselect.testing.check_selector : Tests a selector before it is registered.

    Examples
    --------
    >>> from stableselect import all_selectors, available_selectors
    >>> set(available_selectors()) >= set(all_selectors())
    True
    """
    found = all_selectors()
    taken = {_plain(name): "stableselect" for name in found}
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, _package(point))):
        try:
            if owner := taken.get(_plain(point.name)):
                raise ValueError(f"the name is taken by {owner}")
            found[point.name] = _loaded(point)
        except ValueError as error:
            reason = printable(" ".join(str(error).split())).rstrip(".")
            warnings.warn(
                f"The selector {printable(point.name)} of the package {_package(point)} cannot be used "
                f"({reason:.200}); update or remove that package.",
                EntryPointWarning,
                stacklevel=2,
            )
        else:
            taken[_plain(point.name)] = _package(point)
    return found


def find_selector(name: str) -> tuple[str, type[BaseSelector]]:
    """Return a selector by its name; case, ``-`` and ``_`` do not matter.

    Other packages are looked at only where this one has no selector of that name.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    name, selector : str and class
        As registered.

    Raises
    ------
    ValueError
        If there is none.
    """
    known: dict[str, type[BaseSelector]] = {}
    for listed in (all_selectors, available_selectors):
        known = listed()
        names = {_plain(one): one for one in known}
        if _plain(name) in names:
            return names[_plain(name)], known[names[_plain(name)]]
    if _plain(name) in map(_plain, registered_names()):
        raise ValueError(f"'{printable(name)}' is registered but cannot be used, as the warning says; take another.")
    close = get_close_matches(_plain(name), names, n=1)
    hint = f"did you mean {names[close[0]]}?" if close else f"the methods are {', '.join(known)}."
    raise ValueError(f"there is no '{printable(name)}'; {hint}")


def load_selector(path: str) -> type[BaseSelector]:
    """Return the selector that ``package.module:Class`` names, or that a package has registered under this name.

    Raises
    ------
    ValueError
        If there is none, or it cannot be used.
    """
    if ":" not in path:
        return find_selector(path)[1]
    return _loaded(EntryPoint(path, path, GROUP))


def registered_names() -> set[str]:
    """Return the names of the selectors that installed packages have registered, without loading one."""
    return {point.name for point in entry_points(group=GROUP)}


def _loaded(point: EntryPoint) -> type[BaseSelector]:
    try:
        selector = point.load()
    except (Exception, SystemExit) as error:  # the code of others can fail in any way
        raise ValueError(f"{type(error).__name__}: {error}") from None
    if not inspect.isclass(selector) or not issubclass(selector, BaseSelector) or inspect.isabstract(selector):
        raise ValueError(f"{point.value} is not a subclass of stableselect.BaseSelector")
    return selector


def _package(point: EntryPoint) -> str:
    return printable(point.dist.name) if point.dist is not None else point.module


def _plain(name: str) -> str:
    return name.replace("-", "").replace("_", "").lower()
