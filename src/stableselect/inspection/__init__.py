"""Procedures that fit selectors to learn how far a choice can be trusted."""

from ._bounds import bousquet_elisseeff_bound, explicit_stability_bound
from ._certificate import Certificate, differs_from_search, leave_one_out_certificate
from ._generalization import GeneralizationGap, generalization_gap
from ._power_law import Rate, fit_rate
from ._stability_analysis import StabilityAnalysis, stability_analysis, wilson_interval
from ._uniform_stability import LossChange, StabilityRate, UniformStability, uniform_stability

__all__ = [
    "Certificate",
    "GeneralizationGap",
    "LossChange",
    "Rate",
    "StabilityAnalysis",
    "StabilityRate",
    "UniformStability",
    "bousquet_elisseeff_bound",
    "differs_from_search",
    "explicit_stability_bound",
    "fit_rate",
    "generalization_gap",
    "leave_one_out_certificate",
    "stability_analysis",
    "uniform_stability",
    "wilson_interval",
]
