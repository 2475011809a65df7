"""Tables in and out: files, the selection made from one, and the columns it keeps or rebuilds.

Tables stay in pyarrow from file to file, so a kept column has the values and the type it came with.
"""

from __future__ import annotations

try:
    import pyarrow  # noqa: F401
except ImportError as error:
    raise ImportError('reading and writing tables needs pyarrow: pip install "stableselect[cli]"') from error

from ._held_out import HeldOutErrors
from ._names import TableError
from ._read import FORMATS, Table, read_table
from ._select import select_table
from ._selection import Chosen, Selection
from ._write import write_table

__all__ = [
    "FORMATS",
    "Chosen",
    "HeldOutErrors",
    "Selection",
    "Table",
    "TableError",
    "read_table",
    "select_table",
    "write_table",
]
