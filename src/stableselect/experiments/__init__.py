"""Run many fits, keep their results in a store, and go on after an interruption."""

from ._cell import Cell, Mode, Options, Protocol
from ._executor import Outcome, Report, execute
from ._store import FILE, Status, Store, Stored

__all__ = [
    "FILE",
    "Cell",
    "Mode",
    "Options",
    "Outcome",
    "Protocol",
    "Report",
    "Status",
    "Store",
    "Stored",
    "execute",
]
