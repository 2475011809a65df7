from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import bootstrap

from stableselect.experiments import paired_interval
from stableselect.experiments._run import Run

FASHION = Run("mnist_fashion", "|W|", "paper", 0, 0, 3)


def test_the_interval_is_the_plain_bootstrap_where_there_is_one_split(rng):
    values = rng.normal(size=30)
    mean, low, high = paired_interval([[value] for value in values])
    expected = bootstrap((values,), np.mean, method="percentile", random_state=1, n_resamples=10_000)
    assert mean == pytest.approx(values.mean())
    width = np.ptp(expected.confidence_interval)
    assert low == pytest.approx(expected.confidence_interval.low, abs=0.05 * width)
    assert high == pytest.approx(expected.confidence_interval.high, abs=0.05 * width)


def test_the_interval_draws_splits_within_datasets():
    parts = [[1 - 0.2, 1 + 0.2], [1 - 0.2, 1 + 0.2]]
    mean, low, high = paired_interval(parts)
    assert mean == pytest.approx(1.0)
    # The mean of four draws of +-0.2 is 0.8 and 1.2 with probability 1/16 each: 2.5 % and 97.5 % lie there.
    assert (low, high) == pytest.approx((0.8, 1.2))
    assert paired_interval(parts) == (mean, low, high)
    with pytest.raises(ValueError, match="needs a split"):
        paired_interval([[1.0], []])
