"""The paper's tables and figures, each one command; results are kept run by run and shared between them."""

from ._api import Batch, build, list_experiments, read, run, show
from ._files import readme_table, write_readme
from ._report import NO_PICTURES, Document, can_draw
from ._request import Request

__all__ = [
    "NO_PICTURES",
    "Batch",
    "Document",
    "Request",
    "build",
    "can_draw",
    "list_experiments",
    "read",
    "readme_table",
    "run",
    "show",
    "write_readme",
]
