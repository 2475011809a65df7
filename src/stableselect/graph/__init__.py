"""Selectors that work on the neighbour graph of the samples."""

from ._laplacian_score import LaplacianScore
from ._mcfs import MCFS
from ._ndfs import NDFS
from ._spec import SPEC
from ._udfs import UDFS
