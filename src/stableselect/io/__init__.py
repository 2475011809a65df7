"""Tables in files, and selections used on them.

Tables stay in pyarrow from file to file, so a selected column has the values and the type it came with.
"""

try:
    import pyarrow  # noqa: F401
except ImportError as error:
    raise ImportError('reading and writing tables needs pyarrow: pip install "stableselect[cli]"') from error

from ._apply import apply, id_columns, needed, reconstruct
from ._live import Live
from ._parts import TableParts, open_table
from ._read import read_table
from ._sources import FORMATS, READABLE, find_parts, table_format
from ._style import TextError, TextStyle
from ._tables import (
    NotFiniteError,
    NotNumericError,
    Table,
    TableError,
    is_number,
    is_text,
    listed,
    looks_like_data,
    numeric_matrix,
    plain,
    quoted,
)
from ._turn import looks_transposed, transposed
from ._write import check_writable, formulas, quote_formulas, write_stream, write_table

__all__ = [
    "FORMATS",
    "READABLE",
    "Live",
    "NotFiniteError",
    "NotNumericError",
    "Table",
    "TableError",
    "TableParts",
    "TextError",
    "TextStyle",
    "apply",
    "check_writable",
    "find_parts",
    "formulas",
    "id_columns",
    "is_number",
    "is_text",
    "listed",
    "looks_like_data",
    "looks_transposed",
    "needed",
    "numeric_matrix",
    "open_table",
    "plain",
    "quote_formulas",
    "quoted",
    "read_table",
    "reconstruct",
    "table_format",
    "transposed",
    "write_stream",
    "write_table",
]
