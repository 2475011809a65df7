from __future__ import annotations

import pickle
import warnings

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from stableselect import ScorerSelectorNetwork, all_selectors
from stableselect.base import NovelSamplesWarning
from stableselect.io import Table, TableError, apply, read_table, reconstruct
from stableselect.workflow import RequestError, SelectionRequest, select_table
from stableselect.workflow._notes import map_notes
from stableselect.workflow._numbers import fitted_scaler, unscale_map

USED = ["price", "noise", "share", "count", "mix", "same", "flag"]
ROLES = {"id_columns": ["id"], "drop": ["word"]}
LONG = {"CAE", "ConsensusSelector", "NDFS", "ScorerSelectorNetwork"}
METHODS = [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in all_selectors()]


def select(table, k, **options):
    return select_table(table, SelectionRequest(k=k, **options))


def matrix(table, columns=USED):
    return np.column_stack([table.data[name].to_numpy().astype(float) for name in columns])


@pytest.mark.parametrize("scale", ["none", "minmax", "standard"])
def test_the_map_is_the_regression_in_original_units(messy, scale):
    selection = select(messy, 3, scale=scale, ridge=0.0, **ROLES)
    kept, X = matrix(messy, selection.selected_names), matrix(messy)
    expected = LinearRegression().fit(kept, X).predict(kept)
    np.testing.assert_allclose(kept @ selection.coefficients + selection.intercept, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("scaler", [MinMaxScaler(), StandardScaler()])
def test_maps_are_unscaled_as_scikit_learn_would(scaler):
    rng = np.random.RandomState(1)
    X = rng.standard_normal((20, 4)) * [1e-3, 1, 50, 0] + [5, -3, 1e4, 2]
    W, b, kept = rng.standard_normal((2, 4)), rng.standard_normal(4), np.array([1, 2])
    ours = fitted_scaler("minmax" if isinstance(scaler, MinMaxScaler) else "standard", X)
    scaled = scaler.fit_transform(X)
    np.testing.assert_allclose(ours.transform(X.copy()), scaled, atol=1e-12)
    coefficients, intercept = unscale_map(ours, W, b, kept)
    expected = scaler.inverse_transform(scaled[:, kept] @ W + b)
    np.testing.assert_allclose(X[:, kept] @ coefficients + intercept, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", ["minmax", pytest.param("standard", marks=pytest.mark.slow)])
def test_units_do_not_change_the_choice(messy, method, scale):
    # Powers of two, so that rounding is the same in both units.
    other = {
        name: pa.array(4.0 * messy.data[name].to_numpy()) if name in ("price", "share") else messy.data[name]
        for name in messy.columns
    }
    first = select(messy, 3, method=method, scale=scale, **ROLES)
    second = select(Table(pa.table(other), "other.csv"), 3, method=method, scale=scale, **ROLES)
    assert [c.name for c in first.selected] == [c.name for c in second.selected]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_k_columns_that_apply_and_reconstruct(messy, method):
    selection = select(messy, 0.5, method=method.lower(), **ROLES)
    assert selection.method == method
    assert len(selection.selected_names) == 4
    assert {c.name for c in selection.selected} == set(selection.selected_names)
    assert all(messy.columns[c.index] == c.name for c in selection.selected)
    kept = apply(selection, messy)
    assert kept.column_names == ["id", *(name for name in USED if name in selection.selected_names)]
    assert all(kept[name].equals(messy.data[name]) for name in kept.column_names)
    rebuilt = reconstruct(selection, Table(kept, "kept.csv"))
    assert rebuilt.column_names == ["id", *USED]
    assert all(rebuilt[name].equals(kept[name]) for name in kept.column_names)


def test_include_and_exclude_hold(messy):
    selection = select(messy, 3, include=["same"], exclude=["price", "mix"], **ROLES)
    assert "same" in selection.selected_names
    assert not {"price", "mix"} & set(selection.selected_names)
    assert set(selection.features) == set(USED)
    assert selection.settings["include"] == ["same"]
    assert selection.settings["exclude"] == ["price", "mix"]


def test_the_same_call_gives_the_same_selection(messy):
    first, second = (select(messy, 3, method="RandomSelector", seed=5, **ROLES) for _ in range(2))
    assert first.selected == second.selected
    assert first.errors == second.errors


def test_a_selection_no_better_than_random_is_called_so():
    rng = np.random.RandomState(5)
    noise = Table(pa.table({f"n{j}": rng.standard_normal(40) for j in range(6)}), "noise.csv")
    told = set()
    for seed in range(8):
        selection = select(noise, 2, method="RandomSelector", seed=seed)
        poor = any("no better than columns drawn at random" in note for note in selection.notes)
        assert poor == (selection.errors.selection >= selection.errors.random)
        told.add(poor)
    assert told == {True, False}
    # Where nothing is left to choose, random columns are the same columns and the remark would be empty.
    assert not any("random" in note for note in select(noise, 2, include=["n0", "n1"]).notes)
    everything = select(noise, 6)
    assert everything.errors is None
    assert [note for note in everything.notes if "folds" not in note] == [
        "No errors on held-out rows: all columns are selected, so nothing is reconstructed."
    ]


def test_nine_rows_have_no_held_out_errors_and_ten_have():
    X = np.random.RandomState(6).standard_normal((10, 3))

    def of(rows):
        return select(Table(pa.table(dict(zip("abc", X[:rows].T, strict=True))), "t.csv"), 1)

    assert of(9).errors is None
    assert any("has 9 rows and 10 are needed" in note for note in of(9).notes)
    assert of(10).errors is not None


def test_constant_tables_can_be_selected_from():
    selection = select(Table(pa.table({"a": [1.0] * 12, "b": [2.0] * 12}), "t.csv"), 1)
    given = Table(pa.table({selection.selected_names[0]: [5.0]}), "t.csv")
    with pytest.warns(NovelSamplesWarning, match="5; 1 to 1 was seen"):
        assert reconstruct(selection, given).num_columns == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 8}, "k: 8 columns are asked for and there are 7"),
        ({"include": ["prise"]}, "include: the table has no column 'prise'; did you mean 'price'"),
        ({"exclude": ["nothing like it"]}, "exclude: the table has no column 'nothing like it'"),
        ({"include": ["mix"], "exclude": ["mix"]}, "'mix' is both included and excluded"),
        ({"include": ["id"]}, "include: 'id' is dropped or an id column"),
        ({"include": USED[:4]}, "include: 4 columns are included and 3 are to be selected"),
        ({"exclude": USED[:5]}, "exclude: 2 columns are left and 3 or more are to be selected"),
        ({"id_columns": ["id", "word"]}, "'word' cannot be both dropped and an id column"),
        ({"drop": [*USED, "word"]}, "drop: no column is left"),
        ({"include": ["word"], "drop": []}, r"include: 'word' does not hold numbers \(text, such as"),
        ({"method": "best"}, "method: there is no 'best'; the methods are"),
        ({"method": "PFA", "include": ["mix"]}, "include: PFA does not have this setting"),
        (
            {"method": "RandomSelector", "ridge": 1.0},
            "ridge: RandomSelector does not have this setting; .* use ",
        ),
        (
            {"method": "SPEC", "criterion": "stability"},
            "criterion: SPEC does not have this setting; .* ColumnSubset or Scorer",
        ),
        ({"scale": "log"}, "scale: must be one of none, minmax, standard"),
        ({"max_error_increase": 0.1}, "max_error_increase: applies only to the criterion stability"),
        ({"min_explained_variance": 0.5}, "min_explained_variance: applies only to an automatic number"),
        ({"max_error_increase": -1, "criterion": "stability"}, r"max_error_increase.* must be"),
        ({"min_stability": 2}, r"min_stability.* must be"),
        ({"seed": -1}, "Seed must be between 0"),
    ],
)
def test_bad_requests_get_one_sentence(messy, arguments, message):
    with pytest.raises(ValueError, match=message):
        select(messy, **{"k": 3, **ROLES, **arguments})


def test_requests_tell_which_field_is_at_fault(messy):
    with pytest.raises(RequestError) as caught:
        select(messy, 9, **ROLES)
    assert (caught.value.parameter, str(caught.value)) == ("k", f"k: {caught.value.reason}")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.parameter, again.reason) == (caught.value.parameter, caught.value.reason)


def test_values_beyond_scaling_are_refused():
    table = Table(pa.table({"a": [1e308, -1e308] * 6, "b": [1.0, 2.0] * 6}), "t.csv")
    with pytest.raises(TableError, match="too large to scale"):
        select(table, 1)


def notes_on(columns, **options):
    """Return the notes on a table that are not about held-out rows or folds."""
    options = {"k": 1, **options}
    selection = select_table(Table(pa.table(columns), "t.csv"), SelectionRequest(**options))
    return [note for note in selection.notes if "held-out" not in note and "folds" not in note]


ROWS = list(range(12))
ODD = [5.0, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]
OTHER = [2.0, 7, 1, 8, 2, 8, 1, 8, 2, 8, 4, 5]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"a": ODD, "b": OTHER}, []),
        (
            {"": ROWS, "a": ODD, "b": OTHER},
            ["Row numbers? '' (the column without a name) goes up by one from row to row; drop it if so."],
        ),
        ({"": OTHER, "a": ODD}, ["One column has no name; if it numbers the rows, drop it."]),
        ({"a": ODD, "b": OTHER, "c": [3] * 12, "d": [True] * 12}, ["Constant: 'c', 'd'."]),
        ({"a": ODD, "b": OTHER, "c": ODD}, ["'c' repeats 'a'; copies count again in the error."]),
        (
            {"a": ODD, "b": OTHER, "c": ODD, "d": OTHER},
            ["'c' repeats 'a' (2 such columns); copies count again in the error."],
        ),
        ({"a": [1], "b": [2.5]}, ["The table has one row, so every column is constant and the choice means nothing."]),
        (
            {"1.5": ODD, "0.5": OTHER},
            ["All column names are numbers; if the first row is data, read the table without a header."],
        ),
        ({f"{400 + j}": np.roll(ODD, j) for j in range(6)}, []),
    ],
)
def test_what_a_person_would_want_to_know_is_told_once(columns, expected):
    assert notes_on(columns) == expected


def test_a_column_with_nearly_all_the_variance_is_named_where_nothing_is_scaled():
    columns = {"a": ODD, "b": [1000 * value for value in OTHER], "c": ODD[::-1]}
    assert notes_on(columns) == []
    assert notes_on(columns, scale="none") == [
        "'b' has 100.0% of the variance and decides nearly alone; scale the columns."
    ]


def test_an_empty_column_is_left_out(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,strand,\n" + "".join(f"{x},{y},-,\n" for x, y in zip(ODD, OTHER, strict=True)))
    selection = select_table(read_table(tmp_path / "t.csv"), SelectionRequest(k=1))
    assert selection.features == ("a", "b")
    told = "'strand' (no values); '' (the column without a name) (no values)"
    assert f"Left out, not numbers: {told}." in selection.notes


def test_columns_without_numbers_are_left_out_and_told_with_value_row_and_count():
    days = pa.array(ROWS, pa.int32()).cast(pa.date32())
    columns = {
        "name": [f"n{j}" for j in ROWS],
        "a": ODD,
        "flow": ["1.5", "NA", *(str(value) for value in OTHER[:7]), "ERR", "<0.5", "2"],
        "b": OTHER,
        "day": days,
    }
    told = (
        "'name' (text, such as 'n0' in row 1); 'flow' (2 of 12 values, first 'ERR' in row 10); 'day' (dates or times)"
    )
    assert notes_on(columns) == [f"Left out, not numbers: {told}."]
    many = notes_on(columns | {f"w{j}": ["x"] * 12 for j in range(7)})
    assert many == [f"Left out, not numbers: {told}; and 'w0', 'w1', 'w2', 'w3', 'w4' and 2 more."]
    table = Table(pa.table(columns), "t.csv")
    selection = select_table(table, SelectionRequest(k=1))
    assert selection.features == ("a", "b") and selection.columns == tuple(columns)
    with pytest.raises(TableError, match=r"No column holds numbers \('name': text, such as 'n0' in row 1\)"):
        select_table(table, SelectionRequest(k=1, drop=["a", "b", "flow", "day"]))


def test_a_report_says_that_the_columns_come_from_a_sketch(rng, monkeypatch):
    from stableselect.subset import _gathering

    monkeypatch.setattr(_gathering, "memory_limit", lambda: 1.0)
    X = rng.normal(size=(60, 6))
    data = pa.table({f"c{j}": X[:, j] for j in range(6)})
    selection = select_table(Table(data, "t.csv"), SelectionRequest(k=2))
    assert [note for note in selection.notes if "sketch" in note] == [
        "The columns were selected from a sketch of the rows (sketched, r = 500), since exact moments do not fit in "
        "memory; no bound follows from it."
    ]
    assert selection.optimality_gap is None


def curved(rng, n=240):
    """Features that are functions of the first two."""
    u, v = rng.uniform(-1, 1, size=(2, n))
    X = np.column_stack([u, v, u**2, v**2, np.sin(3 * u), u * v, np.exp(v), np.cos(3 * v)])
    return X + 0.02 * rng.normal(size=X.shape)


def test_a_selection_says_that_its_map_is_linear_where_the_selectors_is_not(rng):
    X = curved(rng)
    table = Table(pa.table(dict(zip("abcdefgh", X.T, strict=True))), "curved.csv")
    found, linear = (select(table, 2, method=method) for method in ("KernelSubset", "ColumnSubset"))
    assert sum("a linear one refitted to the selected columns" in note for note in found.notes) == 1
    assert not any("refitted" in note for note in linear.notes)
    assert found.ridge is None and linear.ridge is not None
    # The intervals are those of the map in the file.
    rest = [j for j, name in enumerate("abcdefgh") if name not in found.selected_names]
    fresh = curved(rng, 1000)
    kept = fresh[:, ["abcdefgh".index(name) for name in found.selected_names]]
    low, high = found.reconstruct_interval(kept, 0.9)
    inside = (low <= fresh) & (fresh <= high)
    assert 0.8 < inside[:, rest].mean() < 0.97


def test_networks_are_treated_alike(rng):
    pytest.importorskip("torch")
    X = curved(rng, 60)
    settings = {"epochs": 2, "init": "search", "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        deep = ScorerSelectorNetwork(2, decoder=(4,), validation_fraction=0.0, **settings).fit(X)
        flat = ScorerSelectorNetwork(2, **settings).fit(X)
    assert "ScorerSelectorNetwork has a map that is not linear" in map_notes(deep, SelectionRequest())[0]
    assert map_notes(flat, SelectionRequest()) == []
