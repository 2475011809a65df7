"""The paper's tables."""

from . import _halves, _summary, _supp_table1, _table1, _table2, _table3, _timing

EXPERIMENTS = tuple(
    module.EXPERIMENT for module in (_table1, _table2, _table3, _summary, _supp_table1, _halves, _timing)
)

__all__ = ["EXPERIMENTS"]
