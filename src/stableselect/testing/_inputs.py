"""Laws of what a selector takes: kinds of tables, and tables that it must refuse."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from unittest import SkipTest

import numpy as np
from scipy import sparse

from ._tables import M, Make, hold, refused, tall


def input_is_left_alone(make: Make) -> None:
    """Change nothing in the table, which may be read-only or in Fortran order."""
    X = tall()
    expected, frozen = make(4).fit(X).selected_, X.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(make(4).fit(frozen).selected_, expected)
    np.testing.assert_array_equal(make(4).fit(np.asfortranarray(X)).selected_, expected)
    np.testing.assert_array_equal(frozen, X)


def single_precision_agrees_with_double(make: Make) -> None:
    """Select the same features from the same numbers in single precision."""
    single = tall().astype(np.float32)
    np.testing.assert_array_equal(make(4).fit(single).selected_, make(4).fit(single.astype(np.float64)).selected_)


def sparse_agrees_with_dense(make: Make) -> None:
    """Select the same features from a sparse table."""
    X = tall()
    dense = np.where(np.abs(X) > 1.5, X, 0.0)
    expected, selector = make(4).fit(dense), make(4).fit(sparse.csr_array(dense))
    np.testing.assert_array_equal(selector.selected_, expected.selected_)
    kept = selector.transform(sparse.csr_array(dense))
    hold(sparse.issparse(kept), "what comes out of a sparse table must be sparse")
    np.testing.assert_allclose(selector.reconstruct(kept), expected.reconstruct(expected.transform(dense)), atol=1e-6)


def data_frames_keep_names(make: Make) -> None:
    """Name the selected features as the data frame does."""
    if find_spec("pandas") is None:
        raise SkipTest("pandas is not installed")
    import pandas as pd

    names = [f"gene {j}" for j in range(M)]
    frame = pd.DataFrame(tall(), columns=names)
    selector = make(3).set_output(transform="pandas").fit(frame)
    kept = selector.transform(frame)
    hold(list(kept.columns) == [names[j] for j in sorted(selector.selected_)], "names must be those of the features")
    hold(list(selector.get_feature_names_out()) == list(kept.columns), "get_feature_names_out must agree")
    shuffled = kept[list(kept.columns)[::-1]]
    np.testing.assert_allclose(selector.reconstruct(shuffled), selector.reconstruct(kept.to_numpy()))
    refused(lambda: selector.reconstruct(kept[list(kept.columns)[:2]]), "is missing", "a table without a kept feature")


def text_and_missing_values_are_named(make: Make) -> None:
    """Say which features hold what cannot be used."""
    if find_spec("pandas") is None:
        raise SkipTest("pandas is not installed")
    import pandas as pd

    frame = pd.DataFrame(tall(), columns=[f"c{j}" for j in range(M)])
    refused(lambda: make(3).fit(frame.assign(c1="a")), r"text or dates: 'c1'", "text")
    holes = frame.copy()
    holes.loc[:2, "c4"] = np.nan
    refused(lambda: make(3).fit(holes), r"NaN in 'c4' \(3\).*SimpleImputer", "a missing value")
    twice = pd.DataFrame(tall()[:, :3], columns=list("aab"))
    refused(lambda: make(2).fit(twice), "More than one feature is named 'a'", "a name that is given twice")


def wrong_width_is_refused(make: Make) -> None:
    """Take no table with another number of features than the one fitted."""
    X = tall()
    selector = make(3).fit(X)
    refused(lambda: selector.transform(X[:, :5]), "12", "a narrower table")
    refused(lambda: selector.reconstruct(X), "expects the 3 selected features", "a table that is not of kept features")


def a_refused_table_changes_nothing(make: Make) -> None:
    """Stay fitted as before where a second fit is refused."""
    X = tall()
    selector = make(4).fit(X)
    before, bad = selector.selected_.copy(), X[:, :7].copy()
    bad[0, 0] = np.nan
    for table in (bad, np.ones((3, 2)), [["a", "b"]]):
        refused(partial(selector.fit, table), "", "a table that cannot be used")
    np.testing.assert_array_equal(selector.selected_, before)
    hold(selector.transform(X).shape == (60, 4), "it must still transform the table")


LAWS = (
    input_is_left_alone,
    single_precision_agrees_with_double,
    sparse_agrees_with_dense,
    data_frames_keep_names,
    text_and_missing_values_are_named,
    wrong_width_is_refused,
    a_refused_table_changes_nothing,
)
