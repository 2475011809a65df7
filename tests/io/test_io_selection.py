from __future__ import annotations

import copy
import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stableselect.io import Selection, Table, TableError
from stableselect.workflow import select_table


@pytest.fixture
def selection(messy):
    return select_table(messy, 3, id_columns=["id"], drop_columns=["word"])


@pytest.fixture
def record(selection, tmp_path):
    selection.save(tmp_path / "made.selection.json")
    return json.loads((tmp_path / "made.selection.json").read_text())


def test_a_saved_selection_is_loaded_exactly(selection, tmp_path):
    selection.save(tmp_path / "s.json")
    again = Selection.load(tmp_path / "s.json")
    for name, value in vars(selection).items():
        np.testing.assert_equal(getattr(again, name), value)
    again.save(tmp_path / "t.json")
    assert (tmp_path / "s.json").read_bytes() == (tmp_path / "t.json").read_bytes()


def test_the_file_tells_how_it_was_made(record, messy):
    assert (record["format"], record["version"]) == ("stableselect selection", 1)
    assert record["input"] == {"name": "messy.csv", "rows": 60, "columns": messy.columns}
    assert set(record["versions"]) == {"stableselect", "python", "numpy", "scipy", "scikit-learn"}
    assert record["method"] == "ColumnSubset"
    assert record["scaling"] == "standard"
    assert record["decoder"]["inputs"] == [name for name in messy.columns if name in record["decoder"]["inputs"]]
    assert np.shape(record["decoder"]["coefficients"]) == (3, 7)


def test_the_map_in_the_file_rebuilds_columns(record, selection, messy):
    decoder = record["decoder"]
    kept = np.column_stack([messy.data[name].to_numpy() for name in decoder["inputs"]])
    byhand = kept @ np.array(decoder["coefficients"]) + decoder["intercept"]
    rebuilt = selection.reconstruct(Table(selection.apply(messy), "kept.csv"))
    for j, name in enumerate(decoder["outputs"]):
        if name not in decoder["inputs"]:
            np.testing.assert_allclose(rebuilt[name].to_numpy(), byhand[:, j])


def test_apply_takes_any_order_and_ignores_other_columns(selection, messy):
    shuffled = messy.data.select([*reversed(messy.columns)]).append_column("extra", pa.array(["?"] * 60))
    assert selection.apply(Table(shuffled, "new.csv")).equals(selection.apply(messy))


def test_apply_does_without_identifiers(selection, messy):
    assert selection.apply(Table(messy.data.drop_columns(["id"]), "new.csv")).column_names == selection.kept


def test_a_table_without_names_is_matched_by_position(selection, messy):
    def unnamed(table):
        return Table(table.rename_columns([f"c{j}" for j in range(table.num_columns)]), "t.npy", named=False)

    assert selection.apply(unnamed(messy.data)).equals(selection.apply(messy))
    kept = selection.apply(messy)
    assert selection.reconstruct(unnamed(kept)).equals(selection.reconstruct(Table(kept, "kept.csv")))
    with pytest.raises(TableError, match=r"no column names and 4 columns; expected .* 9"):
        selection.apply(unnamed(kept))


def test_a_table_that_lacks_selected_columns_is_refused_by_name(selection, messy):
    gone = selection.kept[1]
    with pytest.raises(TableError, match=f"new.csv lacks 1 of the 3 selected columns: '{gone}'"):
        selection.apply(Table(messy.data.drop_columns([gone]), "new.csv"))


def test_reconstruct_refuses_gaps_and_text(selection, messy):
    kept = selection.apply(messy)
    holes = kept.set_column(1, kept.column_names[1], pa.nulls(60, pa.float64()))
    with pytest.raises(TableError, match="Missing values"):
        selection.reconstruct(Table(holes, "t.csv"))
    words = kept.set_column(1, kept.column_names[1], pa.array(["x"] * 60))
    with pytest.raises(TableError, match="Not numbers"):
        selection.reconstruct(Table(words, "t.csv"))


def damage(record, *path, to):
    record = copy.deepcopy(record)
    *parents, last = path
    place = record
    for key in parents:
        place = place[key]
    if to is None:
        del place[last]
    else:
        place[last] = to
    return record


DAMAGE = {
    "no coefficients": (("decoder", "coefficients"), None, "'coefficients' is missing"),
    "coefficients cut": (("decoder", "coefficients"), [[1.0]], "coefficients should be finite numbers of shape"),
    "coefficients of text": (("decoder", "coefficients", 0, 0), "x", "coefficients should be"),
    "ragged coefficients": (("decoder", "coefficients", 0), [1.0], "is damaged"),
    "overflow": (("decoder", "intercept", 0), 10**400, "is damaged"),
    "no version": (("version",), None, "version is not a positive integer"),
    "version of text": (("version",), "1", "version is not a positive integer"),
    "newer": (("version",), 2, "reads up to 1; upgrade stableselect"),
    "foreign": (("format",), "something else", "not a selection made by stableselect"),
    "index off": (("selected", 0, "index"), 0, "is not column 0 of the input"),
    "score of text": (("selected", 0, "score"), "high", "score should be a finite number"),
    "other inputs": (("decoder", "inputs"), ["price"], "not the selected columns"),
    "repeated outputs": (("decoder", "outputs"), ["price"] * 7, "repeat a name"),
    "names of numbers": (("input", "columns"), [1, 2], "should be of type str"),
    "errors of text": (("errors", "random"), "x", "random should be a finite number"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damaged_selections_are_refused(record, tmp_path, case):
    path, value, message = DAMAGE[case]
    (tmp_path / "bad.json").write_text(json.dumps(damage(record, *path, to=value)))
    with pytest.raises(TableError, match=message) as caught:
        Selection.load(tmp_path / "bad.json")
    assert str(caught.value).startswith("bad.json")


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000, '{"format": NaN}', "\udcff"])
def test_files_that_are_not_selections_are_refused(tmp_path, text):
    (tmp_path / "bad.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(TableError, match=r"bad\.json is not a selection"):
        Selection.load(tmp_path / "bad.json")


def test_a_missing_selection_is_refused(tmp_path):
    with pytest.raises(TableError, match="does not exist"):
        Selection.load(tmp_path / "none.json")


def places(value, path=()):
    yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        yield from places(entry, (*path, key))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data(), value=JSON)
def test_a_changed_selection_is_refused_or_usable(record, tmp_path, data, value):
    path = data.draw(st.sampled_from([place for place in places(record) if place]))
    (tmp_path / "changed.json").write_text(json.dumps(damage(record, *path, to=value)))
    try:
        made = Selection.load(tmp_path / "changed.json")
    except TableError:
        return
    table = Table(pa.table({name: [1.0, 2.0] for name in made.kept}), "t.csv")
    assert made.reconstruct(table).column_names == list(made.features)
