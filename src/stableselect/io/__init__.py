"""Tables and selections in files.

Tables stay in pyarrow from file to file, so a selected column has the values and the type it came with.
"""

try:
    import pyarrow  # noqa: F401
except ImportError as error:
    raise ImportError('reading and writing tables needs pyarrow: pip install "stableselect[cli]"') from error

from ._held_out import HELD_OUT_STAGES, MIN_ROWS, HeldOutErrors, held_out_errors
from ._names import TableError, listed, looks_like_data, resolve, shown, split_names
from ._read import FORMATS, Table, read_table, table_format
from ._scaling import SCALINGS, Scale, Scaling
from ._selection import Chosen, Selection
from ._selection_file import to_json
from ._tables import check_separator, numeric_matrix
from ._write import check_outputs, check_writable, replacing, write_stream, write_table

__all__ = [
    "FORMATS",
    "HELD_OUT_STAGES",
    "MIN_ROWS",
    "SCALINGS",
    "Chosen",
    "HeldOutErrors",
    "Scale",
    "Scaling",
    "Selection",
    "Table",
    "TableError",
    "check_outputs",
    "check_separator",
    "check_writable",
    "held_out_errors",
    "listed",
    "looks_like_data",
    "numeric_matrix",
    "read_table",
    "replacing",
    "resolve",
    "shown",
    "split_names",
    "table_format",
    "to_json",
    "write_stream",
    "write_table",
]
