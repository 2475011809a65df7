"""Selectors that score columns one by one or not at all."""

from ._random import RandomSelector

__all__ = ["RandomSelector"]
