"""The paper's tables and figures, each one command; results are kept cell by cell and shared between them."""

from __future__ import annotations

from ._api import list_experiments, run, show
from ._tables import Document

__all__ = ["Document", "list_experiments", "run", "show"]
