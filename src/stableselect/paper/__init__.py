"""The paper's tables and figures, each one command; results are kept run by run and shared between them."""

from ._api import Batch, list_experiments, run, show
from .report import Document

__all__ = ["Batch", "Document", "list_experiments", "run", "show"]
