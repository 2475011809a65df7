from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from stableselect.io._held_out import held_out_errors
from stableselect.io._scaling import Scale

from stableselect import all_selectors
from stableselect.io import Table, TableError
from stableselect.workflow import select_table

USED = ["price", "noise", "share", "count", "mix", "same", "flag"]
ROLES = {"id_columns": ["id"], "drop_columns": ["word"]}


def matrix(table, columns=USED):
    return np.column_stack([table.data[name].to_numpy().astype(float) for name in columns])


@pytest.mark.parametrize("scale", ["none", "minmax", "standard"])
def test_the_map_is_the_regression_in_original_units(messy, scale):
    selection = select_table(messy, 3, scale=scale, ridge=0.0, **ROLES)
    kept, X = matrix(messy, selection.kept), matrix(messy)
    expected = LinearRegression().fit(kept, X).predict(kept)
    np.testing.assert_allclose(kept @ selection.coefficients + selection.intercept, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("scaler", [MinMaxScaler(), StandardScaler()])
def test_maps_are_unscaled_as_scikit_learn_would(scaler):
    rng = np.random.RandomState(1)
    X = rng.standard_normal((20, 4)) * [1e-3, 1, 50, 0] + [5, -3, 1e4, 2]
    W, b, kept = rng.standard_normal((2, 4)), rng.standard_normal(4), np.array([1, 2])
    scale = Scale.learn(X, "minmax" if isinstance(scaler, MinMaxScaler) else "standard")
    scaled = scaler.fit_transform(X)
    np.testing.assert_allclose(scale.apply(X.copy()), scaled, atol=1e-12)
    coefficients, intercept = scale.unscale_map(W, b, kept)
    expected = scaler.inverse_transform(scaled[:, kept] @ W + b)
    np.testing.assert_allclose(X[:, kept] @ coefficients + intercept, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", all_selectors())
@pytest.mark.parametrize("scale", ["minmax", "standard"])
def test_units_do_not_change_the_choice(messy, method, scale):
    # Powers of two, so that rounding is the same in both units.
    other = {
        name: pa.array(4.0 * messy.data[name].to_numpy()) if name in ("price", "share") else messy.data[name]
        for name in messy.columns
    }
    first = select_table(messy, 3, method=method, scale=scale, **ROLES)
    second = select_table(Table(pa.table(other), "other.csv"), 3, method=method, scale=scale, **ROLES)
    assert [c.name for c in first.selected] == [c.name for c in second.selected]


@pytest.mark.parametrize("method", all_selectors())
def test_every_method_gives_k_columns_that_apply_and_reconstruct(messy, method):
    selection = select_table(messy, 0.5, method=method.lower(), **ROLES)
    assert selection.method == method
    assert len(selection.kept) == 4
    assert {c.name for c in selection.selected} == set(selection.kept)
    assert all(messy.columns[c.index] == c.name for c in selection.selected)
    kept = selection.apply(messy)
    assert kept.column_names == ["id", *(name for name in USED if name in selection.kept)]
    assert all(kept[name].equals(messy.data[name]) for name in kept.column_names)
    rebuilt = selection.reconstruct(Table(kept, "kept.csv"))
    assert rebuilt.column_names == ["id", *USED]
    assert all(rebuilt[name].equals(kept[name]) for name in kept.column_names)


def test_include_and_exclude_hold(messy):
    selection = select_table(messy, 3, include=["same"], exclude=["price", "mix"], **ROLES)
    assert "same" in selection.kept
    assert not {"price", "mix"} & set(selection.kept)
    assert set(selection.features) == set(USED)
    assert selection.settings["include"] == ["same"]
    assert selection.settings["exclude"] == ["price", "mix"]


def test_the_same_call_gives_the_same_selection(messy):
    first, second = (select_table(messy, 3, method="RandomSelector", seed=5, **ROLES) for _ in range(2))
    assert first.selected == second.selected
    assert first.errors == second.errors


def test_held_out_errors_by_hand():
    rng = np.random.RandomState(3)
    X = rng.standard_normal((50, 3)) @ rng.standard_normal((3, 8)) + 0.1 * rng.standard_normal((50, 8))
    seen = []

    def choose(train):
        seen.append(train)
        return np.array([4, 1, 6])

    nobody = np.array([], dtype=int)
    errors = held_out_errors(X, choose, scaling="standard", include=nobody, exclude=nobody, seed=9)
    assert (errors.train_rows, errors.test_rows) == (40, 10)
    # The split as documented: a seeded permutation whose first fifth is held out.
    order = np.random.RandomState(9).permutation(50)
    scaler = StandardScaler().fit(X[order[10:]])
    train, test = scaler.transform(X[order[10:]]), scaler.transform(X[order[:10]])
    np.testing.assert_allclose(seen[0], train, atol=1e-12)
    fitted = LinearRegression().fit(train[:, [1, 4, 6]], train)
    assert errors.selection_least_squares == pytest.approx(np.mean((fitted.predict(test[:, [1, 4, 6]]) - test) ** 2))
    assert errors.mean_predictor == pytest.approx(np.mean(test**2))
    axes = np.linalg.svd(train)[2][:3]
    assert errors.floor == pytest.approx(np.mean((test - test @ axes.T @ axes) ** 2))


def test_refits_of_a_long_table_use_a_sample_of_the_training_rows():
    rng = np.random.RandomState(7)
    X = rng.standard_normal((13_000, 2)) @ rng.standard_normal((2, 3))
    nobody = np.array([], dtype=int)
    errors = held_out_errors(X, lambda train: np.array([0]), scaling="none", include=nobody, exclude=nobody, seed=0)
    assert (errors.train_rows, errors.refit_rows, errors.test_rows) == (10_400, 10_000, 2_600)
    order = np.random.RandomState(0).permutation(13_000)
    refit, test = X[order[2_600:12_600]], X[order[:2_600]]
    predicted = LinearRegression().fit(refit[:, [0]], refit).predict(test[:, [0]])
    assert errors.selection_least_squares == pytest.approx(np.mean((predicted - test) ** 2))


def test_random_columns_obey_include_and_exclude():
    X = np.random.RandomState(4).standard_normal((30, 4))
    errors = held_out_errors(
        X, lambda train: np.array([0, 3]), scaling="none", include=np.array([0]), exclude=np.array([1, 2]), seed=0
    )
    assert errors.random == pytest.approx(errors.selection)
    assert errors.random_std == pytest.approx(0)


def test_a_selection_no_better_than_random_is_called_so():
    rng = np.random.RandomState(5)
    noise = Table(pa.table({f"n{j}": rng.standard_normal(40) for j in range(6)}), "noise.csv")
    told = set()
    for seed in range(8):
        selection = select_table(noise, 2, method="RandomSelector", seed=seed)
        poor = any("no better than columns drawn at random" in note for note in selection.notes)
        assert poor == (selection.errors.selection >= selection.errors.random)
        told.add(poor)
    assert told == {True, False}
    # Where nothing is left to choose, random columns are the same columns and the remark would be empty.
    assert not select_table(noise, 2, include=["n0", "n1"]).notes
    everything = select_table(noise, 6)
    assert everything.errors is None
    assert everything.notes == (
        "No errors on held-out rows: without these all columns are kept, and nothing is rebuilt.",
    )


def test_nine_rows_have_no_held_out_errors_and_ten_have():
    X = np.random.RandomState(6).standard_normal((10, 3))

    def select(rows):
        return select_table(Table(pa.table(dict(zip("abc", X[:rows].T, strict=True))), "t.csv"), 1)

    assert select(9).errors is None
    assert any("has 9 rows and 10 are needed" in note for note in select(9).notes)
    assert select(10).errors is not None


def test_constant_tables_can_be_selected_from():
    selection = select_table(Table(pa.table({"a": [1.0] * 12, "b": [2.0] * 12}), "t.csv"), 1)
    assert selection.reconstruct(Table(pa.table({selection.kept[0]: [5.0]}), "t.csv")).num_columns == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_features_to_select": 8}, "asks for 8 columns and the table has 7"),
        ({"include": ["prise"]}, "--include: the table has no column 'prise'; did you mean 'price'"),
        ({"exclude": ["nothing like it"]}, "--exclude: the table has no column 'nothing like it'"),
        ({"include": ["mix"], "exclude": ["mix"]}, "'mix' is both included and excluded"),
        ({"include": ["id"]}, "'id' cannot be included or excluded"),
        ({"include": USED[:4]}, "--include names 4 columns and only 3 are kept"),
        ({"exclude": USED[:5]}, "--exclude leaves 2 columns and 3 are to be kept"),
        ({"id_columns": ["id", "word"]}, "'word' cannot be both dropped and an id column"),
        ({"drop_columns": [*USED, "word"]}, "No column is left"),
        ({"drop_columns": []}, "Not numbers: 'word'"),
        ({"method": "best"}, "no method 'best'; the methods are"),
        ({"method": "RandomSelector", "include": ["mix"]}, "RandomSelector has no setting include"),
        ({"method": "RandomSelector", "ridge": 1.0}, "RandomSelector has no setting ridge"),
        ({"scale": "log"}, "--scale must be one of none, minmax, standard"),
        ({"seed": -1}, "--seed must be"),
    ],
)
def test_bad_requests_get_one_sentence(messy, arguments, message):
    with pytest.raises(TableError, match=message):
        select_table(messy, **{"n_features_to_select": 3, **ROLES, **arguments})


def test_values_beyond_scaling_are_refused():
    table = Table(pa.table({"a": [1e308, -1e308] * 6, "b": [1.0, 2.0] * 6}), "t.csv")
    with pytest.raises(TableError, match="too large to scale"):
        select_table(table, 1)


def test_row_numbers_and_numeric_headers_are_pointed_out():
    rows = list(range(12))
    assert any("no name" in note for note in select_table(Table(pa.table({"": rows, "a": rows}), "t.csv"), 1).notes)
    assert any(
        "--no-header" in note for note in select_table(Table(pa.table({"1.5": rows, "2": rows}), "t.csv"), 1).notes
    )
