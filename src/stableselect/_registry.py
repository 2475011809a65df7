"""The one list of selectors; tests, the command line and the benchmarks read it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

from . import ensemble, filters, graph, neural, scorer, subset
from .base import BaseSelector

_FAMILIES = (subset, scorer, graph, filters, neural, ensemble)


def all_selectors() -> dict[str, type[BaseSelector]]:
    """Return every selector of the package by name.

    A selector is a concrete subclass of ``BaseSelector`` in a module of one of the families' folders, so adding one
    means adding one file.

    Returns
    -------
    dict of str to class
        In alphabetical order.

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
