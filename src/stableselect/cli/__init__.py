"""The command line: a thin shell over the library. Needs the extra ``cli``."""

from ._main import main

__all__ = ["main"]
