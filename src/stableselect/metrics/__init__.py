"""Measures of a selected set of columns: how well it reconstructs, predicts, clusters, and repeats itself.

Every measure takes plain tables and column sets, so it judges the result of any selection method.
"""

from __future__ import annotations

from ._accuracy import downstream_accuracy
from ._clustering import ClusteringQuality, clustering_quality
from ._reconstruction import mean_predictor_error, random_error, reconstruction_error, reconstruction_floor
from ._stability import Stability, stability

__all__ = [
    "ClusteringQuality",
    "Stability",
    "clustering_quality",
    "downstream_accuracy",
    "mean_predictor_error",
    "random_error",
    "reconstruction_error",
    "reconstruction_floor",
    "stability",
]
