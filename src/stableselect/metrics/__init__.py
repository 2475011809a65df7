"""Measures of a selected set of features: reconstruction, prediction, clustering and stability.

Every measure is a function of arrays, so it judges the result of any selection method.
"""

from ._accuracy import downstream_accuracy
from ._clustering import ClusteringQuality, clustering_quality
from ._correlated_groups import correlated_groups
from ._ranking_stability import RankingStability, ranking_stability, score_stability
from ._reconstruction import mean_predictor_error, pca_reconstruction_error, random_error, reconstruction_error
from ._similarity_stability import SimilarityStability, feature_similarity, similarity_stability
from ._stability import NoChoiceWarning, Stability, stability
from ._stability_test import StabilityTest, stability_test

__all__ = [
    "ClusteringQuality",
    "NoChoiceWarning",
    "RankingStability",
    "SimilarityStability",
    "Stability",
    "StabilityTest",
    "clustering_quality",
    "correlated_groups",
    "downstream_accuracy",
    "feature_similarity",
    "mean_predictor_error",
    "pca_reconstruction_error",
    "random_error",
    "ranking_stability",
    "reconstruction_error",
    "score_stability",
    "similarity_stability",
    "stability",
    "stability_test",
]
