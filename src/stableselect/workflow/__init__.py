"""What the command line offers, callable from Python: select from a table, and measure error against stability."""

from ._frontier import FRONTIER_STAGES, TableFrontier, measure_frontier
from ._request import RequestError, Scaling, SelectionRequest
from ._select import SELECT_STAGES, select_table

__all__ = [
    "FRONTIER_STAGES",
    "SELECT_STAGES",
    "RequestError",
    "Scaling",
    "SelectionRequest",
    "TableFrontier",
    "measure_frontier",
    "select_table",
]
