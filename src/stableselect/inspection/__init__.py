"""Procedures that fit selectors to learn how far a choice can be trusted."""

from .._core import BlockKFold, Bootstrap, ComplementaryPairs, Subsample
from ._certificate import Certificate, leave_one_out_certificate, leave_one_out_change_rate
from ._error_curve import ErrorCurve, error_curve
from ._evaluate import evaluate
from ._generalization import (
    GeneralizationGap,
    bousquet_elisseeff_bound,
    explicit_stability_bound,
    generalization_gap,
)
from ._held_out import HeldOutErrors, held_out_report
from ._joint_replacements import JointReplacement, joint_replacements
from ._leave_one_out import LossChange, path_losses
from ._overview import SelectionOverview, overview
from ._panel_folds import Structure
from ._panel_result import PanelChange, PanelEvaluation, PanelMember, PanelRow
from ._power_law import PowerLawFit, fit_power_law
from ._stability_analysis import stability_analysis
from ._stability_result import StabilityAnalysis
from ._table_summary import TableSummary, table_summary
from ._uniform_stability import StabilityRate, UniformStability, uniform_stability

__all__ = [
    "BlockKFold",
    "Bootstrap",
    "Certificate",
    "ComplementaryPairs",
    "ErrorCurve",
    "GeneralizationGap",
    "HeldOutErrors",
    "JointReplacement",
    "LossChange",
    "PanelChange",
    "PanelEvaluation",
    "PanelMember",
    "PanelRow",
    "PowerLawFit",
    "SelectionOverview",
    "StabilityAnalysis",
    "StabilityRate",
    "Structure",
    "Subsample",
    "TableSummary",
    "UniformStability",
    "bousquet_elisseeff_bound",
    "error_curve",
    "evaluate",
    "explicit_stability_bound",
    "fit_power_law",
    "generalization_gap",
    "held_out_report",
    "joint_replacements",
    "leave_one_out_certificate",
    "leave_one_out_change_rate",
    "overview",
    "path_losses",
    "stability_analysis",
    "table_summary",
    "uniform_stability",
]
