import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import ExtraTreesClassifier

from stableselect.metrics import downstream_accuracy


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X[::2], y[::2], X[1::2], y[1::2]


@pytest.mark.parametrize("seed", [0, 5])
@pytest.mark.parametrize("n_estimators", [1, 3, 50])
def test_equals_extra_trees_on_the_compact_table(iris, n_estimators, seed):
    X_train, y_train, X_test, y_test = iris
    trees = ExtraTreesClassifier(n_estimators, random_state=seed).fit(X_train[:, [0, 1]], y_train)
    figure = downstream_accuracy(*iris, [0, 1], n_estimators=n_estimators, random_state=seed)
    assert figure == trees.score(X_test[:, [0, 1]], y_test)


def test_defaults_are_the_published_ones(iris):
    assert downstream_accuracy(*iris, [0, 1]) == downstream_accuracy(*iris, [0, 1], n_estimators=50, random_state=0)


def test_same_set_in_another_order_or_form_gives_the_same_figure(iris):
    expected = downstream_accuracy(*iris, [0, 1, 3])
    assert downstream_accuracy(*iris, [3, 0, 1]) == expected
    assert downstream_accuracy(*iris, np.array([True, True, False, True])) == expected


def test_informative_columns_win_over_noise():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    X = np.column_stack([rng.normal(size=(200, 3)), y + 0.05 * rng.normal(size=200)])
    assert downstream_accuracy(X[::2], y[::2], X[1::2], y[1::2], [3]) == 1.0
    assert downstream_accuracy(X[::2], y[::2], X[1::2], y[1::2], [0, 1, 2]) < 0.7


def test_unseen_test_labels_count_as_errors(iris):
    X_train, y_train, X_test, _ = iris
    assert downstream_accuracy(X_train, y_train, X_test, np.full(len(X_test), 9), [2, 3]) == 0.0


def test_frames_and_text_labels(iris):
    X_train, y_train, X_test, y_test = iris
    names = np.array(["a", "b", "c"])
    figure = downstream_accuracy(
        pd.DataFrame(X_train), pd.Series(names[y_train]), pd.DataFrame(X_test), pd.Series(names[y_test]), [2, 3]
    )
    assert figure == downstream_accuracy(*iris, [2, 3])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_train": [0, 1]}, "y_train must hold one label per sample of X_train, 75, but holds 2"),
        ({"y_test": np.full(75, np.nan)}, "y_test must hold class labels but holds NaN"),
        ({"y_train": np.linspace(0, 1, 75)}, "Unknown label type"),
        ({"X_test": np.zeros((75, 3))}, "same features"),
        ({"selected": [4]}, "indices from 0 to 3"),
        ({"selected": []}, "is empty"),
        ({"n_estimators": 0}, "n_estimators must be an integer of at least 1"),
    ],
)
def test_bad_input_is_refused(iris, change, message):
    X_train, y_train, X_test, y_test = iris
    arguments = {"X_train": X_train, "y_train": y_train, "X_test": X_test, "y_test": y_test, "selected": [0]}
    with pytest.raises(ValueError, match=message):
        downstream_accuracy(**(arguments | change))
