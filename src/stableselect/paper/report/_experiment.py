"""The one form of an experiment: which runs it needs, and what it shows of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...experiments import Run
from ..methods import Options, Protocol, Results
from ._document import Document


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper.

    Attributes
    ----------
    name, title : str
        For the command line and for the reader.
    runs : callable
        From a protocol and the options to the runs it needs; shared runs are computed once.
    render : callable
        From the results to what is shown; copes with runs that are missing.
    """

    name: str
    title: str
    runs: Callable[[Protocol, Options], list[Run]]
    render: Callable[[Results], Document]
