"""The paper's figures, but for Figure 3."""

from ._images import figure1, figure2
from ._sweeps import lambda_search, supp_figure8

EXPERIMENTS = (figure1, figure2, supp_figure8, lambda_search)
