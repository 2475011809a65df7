"""The paper's tables and figures, each one command; results are kept run by run and shared between them."""

from ._api import Batch, build, list_experiments, read, run, show
from ._readme import readme_table, write_readme
from ._request import Request
from .report import Document

__all__ = [
    "Batch",
    "Document",
    "Request",
    "build",
    "list_experiments",
    "read",
    "readme_table",
    "run",
    "show",
    "write_readme",
]
