from __future__ import annotations

import copy
import json
from dataclasses import fields, is_dataclass

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stableselect import load, save
from stableselect.base import NovelSamplesWarning
from stableselect.io import Table, TableError, apply, reconstruct
from stableselect.workflow import SelectionRequest, select_table


@pytest.fixture(scope="module")
def selection(messy):
    return select_table(messy, SelectionRequest(k=3, id_columns=["id"], drop=["word"]))


@pytest.fixture(scope="module")
def written(selection, tmp_path_factory):
    path = tmp_path_factory.mktemp("made") / "made.selection.json"
    save(selection, path)
    return path.read_text()


@pytest.fixture
def record(written):
    return json.loads(written)


def assert_same(one, other):
    """Hold that two values are equal and of the same types, all the way down."""
    assert type(one) is type(other)
    if is_dataclass(one):
        for field in fields(one):
            assert_same(getattr(one, field.name), getattr(other, field.name))
    elif isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, other, strict=True)
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
    else:
        np.testing.assert_equal(one, other)


@pytest.mark.parametrize(
    "options",
    [
        {"k": 3},
        {"k": "auto", "explain": True},
        {"k": 2, "criterion": "stability", "ridge": 0.1},
        {"k": 6, "explain": True},
    ],
    ids=["plain", "path", "stability", "constant"],
)
def test_a_saved_selection_is_loaded_exactly(messy, tmp_path, options):
    selection = select_table(messy, SelectionRequest(id_columns=["id"], drop=["word"], **options))
    save(selection, tmp_path / "s.json")
    again = load(tmp_path / "s.json")
    assert_same(selection, again)
    save(again, tmp_path / "t.json")
    assert (tmp_path / "s.json").read_bytes() == (tmp_path / "t.json").read_bytes()


def test_the_file_tells_how_it_was_made(record, messy):
    assert (record["format"], record["version"]) == ("stableselect selection", 1)
    assert (record["source"], record["rows"], record["columns"]) == ("messy.csv", 60, messy.columns)
    assert set(record["versions"]) == {"stableselect", "python", "numpy", "scipy", "scikit-learn"}
    assert record["method"] == "ColumnSubset"
    assert record["scaling"] == "standard"
    assert record["features"] == [name for name in messy.columns if name not in ("id", "word")]
    assert np.shape(record["coefficients"]) == (3, 7)
    assert record["settings"]["ridge"] == "auto" and record["ridge"] >= 0


def test_the_map_in_the_file_rebuilds_columns(record, selection, messy):
    selected = {column["name"] for column in record["selected"]}
    kept = np.column_stack([messy.data[name].to_numpy() for name in record["features"] if name in selected])
    byhand = kept @ np.array(record["coefficients"]) + record["intercept"]
    rebuilt = reconstruct(selection, Table(apply(selection, messy), "kept.csv"))
    for j, name in enumerate(record["features"]):
        if name not in selected:
            np.testing.assert_allclose(rebuilt[name].to_numpy(), byhand[:, j])


def test_apply_takes_any_order_and_ignores_other_columns(selection, messy):
    shuffled = messy.data.select([*reversed(messy.columns)]).append_column("extra", pa.array(["?"] * 60))
    assert apply(selection, Table(shuffled, "new.csv")).equals(apply(selection, messy))


def test_apply_does_without_identifiers(selection, messy):
    assert apply(selection, Table(messy.data.drop_columns(["id"]), "new.csv")).column_names == selection.selected_names


def test_a_table_without_names_is_matched_by_position(selection, messy):
    def unnamed(table):
        return Table(table.rename_columns([f"c{j}" for j in range(table.num_columns)]), "t.npy", named=False)

    assert apply(selection, unnamed(messy.data)).equals(apply(selection, messy))
    kept = apply(selection, messy)
    assert reconstruct(selection, unnamed(kept)).equals(reconstruct(selection, Table(kept, "kept.csv")))
    with pytest.raises(TableError, match=r"has 4 columns, matched by position; expected .* 9"):
        apply(selection, unnamed(kept))


def test_arrays_and_frames_go_through_a_loaded_selection(selection, messy, tmp_path):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    save(selection, tmp_path / "s.json")
    made, frame = load(tmp_path / "s.json"), messy.data.to_pandas().set_index("id")
    X = frame[list(made.features)].to_numpy(dtype=float)
    kept = made.transform(X)
    np.testing.assert_array_equal(kept, frame[made.selected_names].to_numpy(dtype=float))
    rebuilt = made.reconstruct(kept)
    np.testing.assert_array_equal(made.transform(rebuilt), kept)
    other = ~np.isin(made.features, made.selected_names)
    np.testing.assert_allclose(rebuilt[:, other], (kept @ made.coefficients + made.intercept)[:, other])
    shuffled = frame[frame.columns[::-1]]
    pandas.testing.assert_frame_equal(made.transform(shuffled), frame[made.selected_names])
    again = made.reconstruct(made.transform(shuffled))
    assert list(again.columns) == list(made.features) and again.index.equals(frame.index)
    np.testing.assert_array_equal(again.to_numpy(), rebuilt)
    table = polars.from_arrow(messy.data)
    np.testing.assert_array_equal(made.reconstruct(made.transform(table)).to_numpy(), rebuilt)
    with pytest.raises(ValueError, match=r"Expected the features, 7 columns; got an array of shape \(60, 3\)"):
        made.transform(kept)
    with pytest.raises(ValueError, match="X lacks 1 of the 3 selected columns"):
        made.transform(frame.drop(columns=made.selected_names[0]))


def test_a_selection_leaves_no_parameter_open(selection, tmp_path):
    save(selection, tmp_path / "s.json")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        save(selection, tmp_path / "s.json")
    with pytest.raises(ValueError, match="leaves no parameter open; leave ridge out"):
        load(tmp_path / "s.json", ridge=1.0)


def test_a_table_that_lacks_selected_columns_is_refused_by_name(selection, messy):
    gone = selection.selected_names[1]
    with pytest.raises(TableError, match=f"new.csv lacks 1 of the 3 selected columns: '{gone}'"):
        apply(selection, Table(messy.data.drop_columns([gone]), "new.csv"))


def test_values_beyond_double_precision_are_told(record, messy, tmp_path):
    record["coefficients"][0] = [1e308] * 7
    (tmp_path / "far.selection.json").write_text(json.dumps(record))
    far = load(tmp_path / "far.selection.json")
    with pytest.raises(ValueError, match="Reconstructed values leave the range of double precision"):
        far.reconstruct(np.full((2, 3), 1e3))
    with pytest.warns(NovelSamplesWarning, match="'price' in 1"):
        rebuilt = far.reconstruct(np.array([[np.nan] * 3, [0.0] * 3]))  # what is missing stays so
    assert np.isnan(rebuilt[0]).all() and np.isfinite(rebuilt[1]).all()


def test_reconstruct_refuses_gaps_and_text(selection, messy):
    kept = apply(selection, messy)
    holes = kept.set_column(1, kept.column_names[1], pa.nulls(60, pa.float64()))
    with pytest.raises(TableError, match="Missing values"):
        reconstruct(selection, Table(holes, "t.csv"))
    words = kept.set_column(1, kept.column_names[1], pa.array(["x"] * 60))
    with pytest.raises(TableError, match="Not numbers"):
        reconstruct(selection, Table(words, "t.csv"))


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
    "no coefficients": (("coefficients",), None, "'coefficients' is missing"),
    "coefficients cut": (("coefficients",), [[1.0]], "coefficients should be finite numbers of shape"),
    "coefficients of text": (("coefficients", 0, 0), "x", "coefficients should be numbers"),
    "ragged coefficients": (("coefficients", 0), [1.0], "is damaged"),
    "overflow": (("intercept", 0), 10**400, "is damaged"),
    "no version": (("version",), None, "version is not a positive integer"),
    "version of text": (("version",), "1", "version is not a positive integer"),
    "newer": (("version",), 2, r"was written by a newer stableselect \(file version 2.*upgrade"),
    "foreign": (("format",), "something else", "neither a selector nor a selection of stableselect"),
    "index off": (("selected", 0, "index"), 0, "is not column 0 of the table"),
    "score of text": (("selected", 0, "score"), "high", "score should be a finite number"),
    "selected twice": (("selected",), [{"name": "price", "index": 1, "score": 1.0}] * 2, "not different ones"),
    "repeated features": (("features",), ["price"] * 7, "repeat a name"),
    "repeated id columns": (("id_columns",), ["id", "id"], "repeat a name"),
    "other features": (("features",), ["a", "b", "c", "d", "e", "f", "g"], "not different ones of the features"),
    "names of numbers": (("columns",), [1, 2], "should be of type str"),
    "errors of text": (("errors", "random"), "x", "random should be a finite number"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damaged_selections_are_refused(record, tmp_path, case):
    path, value, message = DAMAGE[case]
    (tmp_path / "bad.json").write_text(json.dumps(damage(record, *path, to=value)))
    with pytest.raises(ValueError, match=message) as caught:
        load(tmp_path / "bad.json")
    assert str(caught.value).startswith(f"{tmp_path / 'bad.json'} ") and str(caught.value).endswith(".")


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000, '{"format": NaN}', "\udcff"])
def test_files_that_are_not_selections_are_refused(tmp_path, text):
    (tmp_path / "bad.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match=r"bad\.json is (neither a selector nor a selection|damaged)"):
        load(tmp_path / "bad.json")


def test_a_missing_selection_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.json"):
        load(tmp_path / "none.json")


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
@pytest.mark.filterwarnings("ignore::stableselect.base.NovelSamplesWarning")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data(), value=JSON)
def test_a_changed_selection_is_refused_or_usable(record, tmp_path, data, value):
    path = data.draw(st.sampled_from([place for place in places(record) if place]))
    (tmp_path / "changed.json").write_text(json.dumps(damage(record, *path, to=value)))
    try:
        made = load(tmp_path / "changed.json")
    except ValueError:
        return
    table = Table(pa.table({name: [1.0, 2.0] for name in made.selected_names}), "t.csv")
    assert reconstruct(made, table).column_names == list(made.features)
