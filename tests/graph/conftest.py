"""The planted example shared by the graph methods."""

import numpy as np
import pytest


@pytest.fixture
def planted():
    """Return a function that makes 300 x 60: four clusters in ten columns, all columns of variance 1."""

    def make(seed, clusters=4):
        rng = np.random.default_rng(seed)
        informative = rng.permutation(60)[:10]
        X = rng.normal(size=(300, 60))
        centres = rng.normal(size=(clusters, 10))
        X[:, informative] = centres[rng.integers(0, clusters, 300)] + 0.1 * rng.normal(size=(300, 10))
        return (X - X.mean(axis=0)) / X.std(axis=0), informative

    return make
