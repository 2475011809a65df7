"""Measures of a selected set of columns: how well it reconstructs, predicts, clusters, and repeats itself.

Every measure takes plain tables and column sets, so it judges the result of any selection method.
"""

from __future__ import annotations

from ._accuracy import downstream_accuracy
from ._bounds import bousquet_elisseeff_bound, explicit_stability_bound
from ._certificate import Certificate, differs_from_search, leave_one_out_certificate
from ._clustering import ClusteringQuality, clustering_quality
from ._generalization import GeneralizationGap, generalization_gap
from ._ranking_stability import RankingStability, ranking_stability, score_stability
from ._rate import Rate, fit_rate
from ._reconstruction import mean_predictor_error, random_error, reconstruction_error, reconstruction_floor
from ._significance import StabilityTest, stability_test
from ._similarity_stability import SimilarityStability, column_similarity, similarity_stability
from ._stability import Stability, stability
from ._stability_analysis import StabilityAnalysis, stability_analysis
from ._uniform_stability import LossChange, StabilityRate, UniformStability, uniform_stability

__all__ = [
    "Certificate",
    "ClusteringQuality",
    "GeneralizationGap",
    "LossChange",
    "RankingStability",
    "Rate",
    "SimilarityStability",
    "Stability",
    "StabilityAnalysis",
    "StabilityRate",
    "StabilityTest",
    "UniformStability",
    "bousquet_elisseeff_bound",
    "clustering_quality",
    "column_similarity",
    "differs_from_search",
    "downstream_accuracy",
    "explicit_stability_bound",
    "fit_rate",
    "generalization_gap",
    "leave_one_out_certificate",
    "mean_predictor_error",
    "random_error",
    "ranking_stability",
    "reconstruction_error",
    "reconstruction_floor",
    "score_stability",
    "similarity_stability",
    "stability",
    "stability_analysis",
    "stability_test",
    "uniform_stability",
]
