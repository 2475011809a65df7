"""Accuracy of a classifier that sees the selected features alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.ensemble import ExtraTreesClassifier

from ..base import check_count, check_labels, check_pair, check_some_selected


def downstream_accuracy(
    X_train: ArrayLike,
    y_train: ArrayLike,
    X_test: ArrayLike,
    y_test: ArrayLike,
    selected: ArrayLike,
    *,
    random_state: int | np.random.RandomState | None = 0,
    n_estimators: int = 50,
) -> float:
    """Fraction of test samples an extra-trees classifier gets right from the selected features.

    The labels play no part in the selection; they only judge it. The trees see a table of the selected features alone,
    in the order of the full table. Zeros in place of the other features would give another figure, since the number of
    features tried at each split depends on the width of the table.

    Parameters
    ----------
    X_train, X_test : array-like of shape (n_train, m) and (n_test, m)
        Tables with the same features.
    y_train, y_test : array-like of shape (n_train,) and (n_test,)
        Class labels. A test label that is not among the training labels counts as an error.
    selected : array-like
        The selected features: integer indices, or a Boolean mask of length m. Their order does not matter.
    random_state : int, RandomState instance or None, default=0
        Decides the trees. On small test sets the seed alone moves the figure by several points: average over seeds.
    n_estimators : int, default=50
        Number of trees, 50 in the published experiments [1]_.

    Returns
    -------
    float
        Accuracy between 0 and 1.

    References
    ----------
    .. [1] X. Wu and Q. Cheng, "Algorithmic stability and generalization of an unsupervised feature selection
       algorithm", NeurIPS, 2021.
    .. [2] P. Geurts, D. Ernst and L. Wehenkel, "Extremely randomized trees", Machine Learning 63, 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stableselect.metrics import downstream_accuracy
    >>> X, y = load_iris(return_X_y=True)
    >>> downstream_accuracy(X[::2], y[::2], X[1::2], y[1::2], [2, 3]) > 0.9
    True
    """
    train, test = check_pair(X_train, X_test)
    chosen = check_some_selected(selected, train.shape[1])
    labels_train = check_labels(y_train, train.shape[0], "y_train", "X_train")
    labels_test = check_labels(y_test, test.shape[0], "y_test", "X_test")
    n_estimators = check_count(n_estimators, "n_estimators", 1)
    trees = ExtraTreesClassifier(n_estimators=n_estimators, random_state=random_state)
    trees.fit(train[:, chosen], labels_train)
    return float(np.mean(trees.predict(test[:, chosen]) == labels_test))
