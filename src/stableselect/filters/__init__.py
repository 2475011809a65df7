"""Selectors that rank columns by a score of their own, or at random."""

from ._inf_fs import InfFS
from ._random import RandomSelector

__all__ = ["InfFS", "RandomSelector"]
