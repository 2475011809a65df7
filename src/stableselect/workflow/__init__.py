"""What the command line offers, callable from Python: select from a table, and measure error against stability."""

from ._evaluate import EvaluationRequest, TableEvaluation, evaluate_table
from ._frontier import TableFrontier, measure_frontier
from ._prepare import RequestError, Scaling, SelectionRequest
from ._select import TableOverview, inspect_table, select_table

__all__ = [
    "EvaluationRequest",
    "RequestError",
    "Scaling",
    "SelectionRequest",
    "TableEvaluation",
    "TableFrontier",
    "TableOverview",
    "evaluate_table",
    "inspect_table",
    "measure_frontier",
    "select_table",
]
