"""Agreement between known classes and k-means clusters found in the selected features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.utils import check_random_state

from ..base import Figures, check_count, check_labels, check_some_selected, check_table


@dataclass(frozen=True)
class ClusteringQuality(Figures):
    """Result of :func:`clustering_quality`.

    Attributes
    ----------
    nmi, nmi_std : float
        Mean and standard deviation, over the repeats, of the normalised mutual information (arithmetic normalisation).
    accuracy, accuracy_std : float
        Mean and standard deviation of the clustering accuracy.
    n_clusters, n_repeats : int
        Number of clusters, and of k-means runs.

    Examples
    --------
    >>> from stableselect.metrics import clustering_quality
    >>> quality = clustering_quality([[0.0], [0.1], [5.0], [5.1]], ["a", "a", "b", "b"], [0])
    >>> quality.n_clusters, quality.accuracy
    (2, 1.0)
    """

    nmi: float
    nmi_std: float
    accuracy: float
    accuracy_std: float
    n_clusters: int
    n_repeats: int


def clustering_quality(
    X: ArrayLike,
    y: ArrayLike,
    selected: ArrayLike,
    *,
    n_clusters: int | None = None,
    n_repeats: int = 20,
    random_state: int | np.random.RandomState | None = 0,
) -> ClusteringQuality:
    """Cluster the samples by their selected features and compare the clusters with known classes.

    Parameters
    ----------
    X : array-like of shape (n, m)
        Table; k-means measures distances, so scale its features first.
    y : array-like of shape (n,)
        Class labels. They judge the clusters and take no part in finding them.
    selected : array-like
        The selected features: integer indices, or a Boolean mask of length m. Their order does not matter.
    n_clusters : int or None, default=None
        Number of clusters; the number of classes in ``y`` when None.
    n_repeats : int, default=20
        Number of k-means runs, each from one fresh k-means++ start.
    random_state : int, RandomState instance or None, default=0
        Decides the starts.

    Returns
    -------
    ClusteringQuality
        Means and standard deviations over the repeats.

    Notes
    -----
    Clustering accuracy is the fraction of samples whose cluster matches their class under the best one-to-one matching
    of clusters with classes, found by the Hungarian method [1]_. Clusters and classes left without a partner count as
    errors.

    References
    ----------
    .. [1] H. W. Kuhn, "The Hungarian method for the assignment problem", Naval Research Logistics Quarterly 2, 1955.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect.metrics import clustering_quality
    >>> X, y = load_iris(return_X_y=True)
    >>> clustering_quality(X, y, [2, 3], n_repeats=5).accuracy > 0.8
    True
    """
    table = check_table(X, "X")
    chosen = check_some_selected(selected, table.shape[1])
    labels = check_labels(y, table.shape[0], "y", "X")
    if n_clusters is None:
        n_clusters = np.unique(labels).size
    n_clusters = check_count(n_clusters, "n_clusters", 1, table.shape[0])
    n_repeats = check_count(n_repeats, "n_repeats", 1)
    rng = check_random_state(random_state)
    kept = table[:, chosen]
    found = [KMeans(n_clusters, n_init=1, random_state=rng).fit_predict(kept) for _ in range(n_repeats)]
    nmi = [normalized_mutual_info_score(labels, clusters) for clusters in found]
    accuracy = [_matched_fraction(labels, clusters) for clusters in found]
    return ClusteringQuality(
        nmi=float(np.mean(nmi)),
        nmi_std=float(np.std(nmi)),
        accuracy=float(np.mean(accuracy)),
        accuracy_std=float(np.std(accuracy)),
        n_clusters=n_clusters,
        n_repeats=n_repeats,
    )


def _matched_fraction(classes: np.ndarray, clusters: np.ndarray) -> float:
    """Return the fraction of samples on the best one-to-one matching of clusters with classes."""
    counts = contingency_matrix(classes, clusters)
    return float(counts[linear_sum_assignment(counts, maximize=True)].sum() / classes.size)
