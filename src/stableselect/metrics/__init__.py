"""Measures of a selected set of features: reconstruction, prediction, clustering and stability.

Every measure is a function of arrays, so it judges the result of any selection method.
"""

from ._accuracy import downstream_accuracy
from ._clustering import ClusteringQuality, clustering_quality
from ._ranking_stability import RankingStability, ranking_stability, score_stability
from ._reconstruction import mean_predictor_error, pca_reconstruction_error, random_error, reconstruction_error
from ._significance import StabilityTest, stability_test
from ._similarity_stability import SimilarityStability, feature_similarity, similarity_stability
from ._stability import Stability, as_masks, has_choice, no_choice, stability

__all__ = [
    "ClusteringQuality",
    "RankingStability",
    "SimilarityStability",
    "Stability",
    "StabilityTest",
    "as_masks",
    "clustering_quality",
    "downstream_accuracy",
    "feature_similarity",
    "has_choice",
    "mean_predictor_error",
    "no_choice",
    "pca_reconstruction_error",
    "random_error",
    "ranking_stability",
    "reconstruction_error",
    "score_stability",
    "similarity_stability",
    "stability",
    "stability_test",
]
