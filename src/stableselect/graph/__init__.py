"""Selectors that keep the columns that follow the neighbour graph of the rows."""

from ._laplacian_score import LaplacianScore
from ._mcfs import MCFS
from ._ndfs import NDFS
from ._spec import SPEC
from ._udfs import UDFS

__all__ = ["MCFS", "NDFS", "SPEC", "UDFS", "LaplacianScore"]
