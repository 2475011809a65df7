"""The paper's figures, but for Figure 3."""

from . import _figure1, _figure2, _lambda_search, _supp_figure8

EXPERIMENTS = tuple(module.EXPERIMENT for module in (_figure1, _figure2, _supp_figure8, _lambda_search))

__all__ = ["EXPERIMENTS"]
