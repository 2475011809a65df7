"""What the command line offers, callable from Python: select from a table, and measure error against stability."""

from ._conditions import read_conditions
from ._evaluate import EvaluationRequest, TableEvaluation, evaluate_table
from ._frontier import TableFrontier, measure_frontier
from ._labelled import LabelledNumbers, labelled_numbers
from ._prepare import RequestError, Scaling, SelectionRequest
from ._select import TableOverview, inspect_table, select_table

__all__ = [
    "EvaluationRequest",
    "LabelledNumbers",
    "RequestError",
    "Scaling",
    "SelectionRequest",
    "TableEvaluation",
    "TableFrontier",
    "TableOverview",
    "evaluate_table",
    "inspect_table",
    "labelled_numbers",
    "measure_frontier",
    "read_conditions",
    "select_table",
]
