"""Save a fitted selector to one file and load it again."""

from ._files import load, save

__all__ = [
    "load",
    "save",
]
