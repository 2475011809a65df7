"""The picture of a path says what the path says."""

import numpy as np
import pytest

from stableselect import ColumnSubset
from stableselect.plot import selection_path


def labels(axes):
    return axes.get_legend_handles_labels()[1]


def line(axes, label):
    return next(drawn for drawn in axes.get_lines() if drawn.get_label() == label)


def test_it_draws_the_path_of_a_selector(tall):
    selector = ColumnSubset("auto", min_explained_variance=0.8).fit(tall)
    path = selector.path_
    upper, lower = selection_path(selector)
    np.testing.assert_array_equal(line(upper, "held-out samples").get_ydata(), path.explained_variance_ratio)
    np.testing.assert_array_equal(line(upper, "held-out samples").get_xdata(), np.arange(1, 13))
    np.testing.assert_allclose(
        line(lower, "held-out samples").get_ydata(), np.maximum(1 - path.explained_variance_ratio, 1e-6)
    )
    low, high = path.n_features_range
    assert f"chosen, {path.n_features} (single folds: {low} to {high})" in labels(upper)
    assert "target, 0.8" in labels(upper) and lower.get_yscale() == "log"
    assert lower.get_xlabel() == "features selected"
    assert upper.get_title().startswith(f"{path.n_features} features explain")


def test_failures_are_named(tall):
    with pytest.warns(UserWarning, match="not reached"):
        missed = ColumnSubset("auto", min_explained_variance=0.999, max_features=2).fit(tall).path_
    assert "the target of 0.999 is not reached" in selection_path(missed)[0].get_title()


def test_what_has_no_path_is_refused(tall):
    for other in (ColumnSubset(3).fit(tall), None, np.arange(3)):
        with pytest.raises(TypeError, match="a selector fitted with n_features_to_select='auto'"):
            selection_path(other)
