"""Fitted selectors, and selections made from tables, as files that execute nothing when they are read."""

from ._save_load import load, save
from ._selection import BatchFigures, Completion, SelectedColumn, TableSelection
from ._selection_file import as_json, software_versions, to_json

__all__ = [
    "BatchFigures",
    "Completion",
    "SelectedColumn",
    "TableSelection",
    "as_json",
    "load",
    "save",
    "software_versions",
    "to_json",
]
