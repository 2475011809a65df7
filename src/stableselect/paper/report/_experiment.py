"""The one form of an experiment: which cells it needs, and what it shows of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...experiments import Cell, Options, Protocol
from ..methods import Results
from ._document import Document


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper.

    Attributes
    ----------
    name, title : str
        For the command line and for the reader.
    cells : callable
        From a protocol and the options to the cells it needs; shared cells are computed once.
    render : callable
        From the results to what is shown; copes with cells that are missing.
    """

    name: str
    title: str
    cells: Callable[[Protocol, Options], list[Cell]]
    render: Callable[[Results], Document]
