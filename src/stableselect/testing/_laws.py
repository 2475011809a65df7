"""The laws: every public function of this module is one, of what a selector gives or of what it takes.

First how many features, which, and the map from them to all; then kinds of tables, and tables that it must refuse.
"""

from __future__ import annotations

import pickle
from functools import partial
from importlib.util import find_spec
from unittest import SkipTest

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ._tables import AWKWARD, SCALES, M, Make, check_result, hold, refused, rng, tall


def exactly_k_features(make: Make) -> None:
    """Select as many features as asked for, by number, by fraction or by default."""
    X = tall()
    for wanted, k in ((1, 1), (5, 5), (M, M), (0.25, 3), (0.3, 4), (1.0, M), (None, 6), (1e-12, 1)):
        check_result(make(wanted).fit(X), M, k)


def bad_k_is_refused(make: Make) -> None:
    """Say in a sentence what the number of features must be."""
    X = tall()
    for wanted in (0, -1, 13, 0.0, -0.5, 1.5, "all", True, np.nan):
        words = r"n_features_to_select'?( parameter of \w+)? must be"
        refused(partial(make(wanted).fit, X), words, f"n_features_to_select={wanted!r}")


def sample_order_does_not_matter(make: Make) -> None:
    """Select the same features from samples in another order."""
    draw, X = rng(), tall()
    for table in (X, draw.integers(1, 6, size=(40, M)).astype(float)):
        expected, found = make(4).fit(table), make(4).fit(table[draw.permutation(len(table))])
        np.testing.assert_array_equal(found.selected_, expected.selected_)
        np.testing.assert_allclose(found.scores_, expected.scores_, rtol=1e-9, atol=1e-12)


def feature_order_does_not_matter(make: Make) -> None:
    """Select the same features from a table that has them in another order."""
    X, order = tall(), rng().permutation(M)
    # The folds that choose the ridge follow the positions of the features.
    ridge = {"ridge": 0.1} if make(4).get_params().get("ridge") == "auto" else {}
    one, other = (make(4).set_params(**ridge).fit(table).selected_ for table in (X[:, order], X))
    np.testing.assert_array_equal(order[one], other)


def same_seed_same_result(make: Make) -> None:
    """Give the same scores twice, and leave NumPy's global random numbers alone."""
    X, state = tall(), np.random.get_state(legacy=False)["state"]["key"].copy()  # noqa: NPY002
    first, second = make(4).fit(X), make(4).fit(X)
    np.testing.assert_array_equal(first.scores_, second.scores_)
    np.testing.assert_array_equal(state, np.random.get_state(legacy=False)["state"]["key"])  # noqa: NPY002


def awkward_tables_give_k_features(make: Make) -> None:
    """Select k features where there is little or nothing to choose by."""
    _give_k(make, AWKWARD)


def extreme_scales_give_k_features(make: Make) -> None:
    """Select k features of tables with very small, large and unequal numbers."""
    _give_k(make, SCALES)


def _give_k(make: Make, tables: dict) -> None:
    for kind, of in tables.items():
        X = of(tall())
        for k in (1, 6, M):
            try:
                selector = make(k).fit(X)
                check_result(selector, M, k)
                hold(selector.reconstruct(selector.transform(X)).shape == X.shape, "all features must come back")
            except Exception as error:
                raise AssertionError(f"table '{kind}', k={k}: {type(error).__name__}: {error}") from error


def constant_features_come_last(make: Make) -> None:
    """Select features that vary before any that do not."""
    for kind in ("constants", "zeros"):
        X = AWKWARD[kind](tall())
        varying = np.flatnonzero(X.std(axis=0) > 1e-12).tolist()
        chosen = sorted(make(len(varying)).fit(X).selected_.tolist())
        hold(chosen == varying, f"table '{kind}': {varying} vary but {chosen} are selected")


def one_feature(make: Make) -> None:
    """Select the only feature of a table."""
    check_result(make(1).fit(rng().normal(size=(8, 1))), 1, 1)


def all_features_are_reconstructed_exactly(make: Make) -> None:
    """Give a table back where all of its features are kept."""
    X = tall()
    selector = make(M).fit(X)
    np.testing.assert_array_equal(selector.reconstruct(selector.transform(X)), X)


def reconstruction_keeps_the_selected_features(make: Make) -> None:
    """Leave the selected features as they are in a reconstructed table."""
    X, selector = tall(), make(4)
    if "ridge" in selector.get_params():
        selector.set_params(ridge=1.0)
    kept = selector.fit(X).transform(X)
    rebuilt = selector.reconstruct(kept)
    np.testing.assert_array_equal(rebuilt[:, selector.support_], kept)
    hold(not np.allclose(rebuilt[:, ~selector.support_], X[:, ~selector.support_]), "four features cannot give all")


def score_is_minus_the_mean_squared_error(make: Make) -> None:
    """Score other samples by the error of their reconstruction."""
    other, selector = rng().normal(size=(7, M)), make(4).fit(tall())
    expected = -np.mean((selector.reconstruct(selector.transform(other)) - other) ** 2)
    np.testing.assert_allclose([selector.score(other), selector.score(sparse.csr_array(other))], expected, rtol=1e-6)


def include_and_exclude_are_obeyed(make: Make) -> None:
    """Select what must be selected, and not what must not be."""
    if "include" not in make(4).get_params():
        raise SkipTest("takes neither include nor exclude")
    X = tall()
    free = make(4).fit(X)
    last, best = np.argsort(-free.ranking_)[:2].tolist(), free.selected_[0]
    chosen = make(4).set_params(include=last, exclude=[best]).fit(X)
    check_result(chosen, M, 4, included=last)
    hold(chosen.support_[last].all(), "include must be selected")
    hold(not chosen.support_[best], "exclude must not be selected")
    refused(
        lambda: make(4).set_params(include=[1], exclude=[1]).fit(X), "both include and exclude", "a feature in both"
    )


def explanation_covers_every_feature(make: Make) -> None:
    """Explain each selected and each discarded feature once."""
    X = tall()
    selector = make(4).fit(X)
    explanation = selector.explain(X)
    hold([kept.feature for kept in explanation.selected] == selector.selected_.tolist(), "selected features differ")
    gone = sorted(int(lost.feature) for lost in explanation.discarded)
    hold(gone == np.flatnonzero(~selector.support_).tolist(), "discarded features differ")


def copies_agree(make: Make) -> None:
    """Be cloned with the same settings, and come back the same from a pickle."""
    X = tall()
    selector = make(4).fit(X)
    hold(clone(selector).get_params() == selector.get_params(), "a clone must have the same settings")
    copy = pickle.loads(pickle.dumps(selector))
    np.testing.assert_array_equal(copy.scores_, selector.scores_)
    np.testing.assert_array_equal(copy.reconstruct(X[:, :4]), selector.reconstruct(X[:, :4]))


def works_in_a_pipeline(make: Make) -> None:
    """Stand behind a scaler."""
    X = tall()
    hold(make_pipeline(StandardScaler(), make(4)).fit(X).transform(X).shape == (60, 4), "four features must come out")


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
