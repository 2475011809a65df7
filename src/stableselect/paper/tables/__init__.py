"""The paper's tables."""

from ._comparison import table2, table3
from ._fae import fae
from ._parts import halves, supp_table1
from ._summary import summary
from ._table1 import table1
from ._timing import timing

EXPERIMENTS = (table1, table2, table3, summary, supp_table1, halves, timing, fae)
