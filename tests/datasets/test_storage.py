"""Stored tables: digests by their definition, refusal of wrong, damaged and pickled files, the folder."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stableselect import datasets
from stableselect.datasets import _registry, _storage


@pytest.fixture
def stored(small, tmp_path, monkeypatch):
    """The small table stored as glioma.npz; returns its path."""
    X, y, entry = small
    monkeypatch.setattr(_registry, "registry", {"glioma": entry})
    path = tmp_path / "glioma.npz"
    _storage.write_arrays(path, {"X": X, "y": y})
    return path


def test_digest_by_definition():
    array = np.array([[1.5, -2.0], [0.25, 3.0]], dtype=np.float32)
    by_hand = hashlib.sha256(b"<f4 (2, 2) " + struct.pack("<4f", 1.5, -2.0, 0.25, 3.0)).hexdigest()
    assert _storage.digest(array) == by_hand
    assert _storage.digest(np.asfortranarray(array)) == by_hand
    assert _storage.digest(array.astype(">f4")) == by_hand


def test_digest_tells_apart_type_shape_and_values():
    array = np.array([[1, 2], [3, 4]], dtype=np.int16)
    changed = array.copy()
    changed[0, 0] = 9
    others = [array.astype(np.int32), array.ravel(), array.T, changed, array.astype(np.float32)]
    assert len({_storage.digest(other) for other in [array, *others]}) == 6


def test_digest_has_one_nan_and_one_zero():
    negative_nan = np.array([0xFFC00001, 0x80000000], dtype=np.uint32).view(np.float32)
    assert np.isnan(negative_nan[0])
    assert _storage.digest(negative_nan) == _storage.digest(np.array([np.nan, 0.0], dtype=np.float32))


def test_stored_table_loads(stored, small):
    found = datasets.load("glioma", data_home=stored.parent, protocol="raw")
    np.testing.assert_array_equal(found.X, small[0])
    np.testing.assert_array_equal(found.y, small[1])
    assert found.feature_names is None and found.groups is None
    assert found.splits == ("published", "random")
    datasets.verify("glioma", stored.parent)


def test_altered_value_is_refused(stored, small):
    X = small[0].copy()
    X[0, 0] += 1e-6
    _storage.write_arrays(stored, {"X": X, "y": small[1]})
    with pytest.raises(datasets.DatasetError, match=r"glioma.npz is not the registered table: the SHA-256 of X"):
        datasets.load("glioma", data_home=stored.parent)
    advice = r"Replace the file by one with arrays X \(6 x 3, float32\) and y \(6 labels from 0, uint8\), or delete it"
    with pytest.raises(datasets.DatasetError, match=advice):
        datasets.verify("glioma", stored.parent)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: {"y": y}, "has no array 'X'"),
        (lambda X, y: {"X": X.T, "y": y}, "6 rows and 3 columns"),
        (lambda X, y: {"X": X.astype(str), "y": y}, "holds X of type <U32; numbers of type float32 are expected"),
        (lambda X, y: {"X": X.astype(complex), "y": y}, "holds X of type complex128; numbers"),
        (lambda X, y: {"X": X, "y": y.astype(str)}, "holds y of type <U3; numbers of type uint8"),
        (lambda X, y: {"X": X, "y": y + 0.5}, "holds y of type float64, whose values are not all of the type uint8"),
        (lambda X, y: {"X": X, "y": y.astype(np.int64) - 1}, "holds y of type int64, whose values are not all"),
        (lambda X, y: {"X": X, "y": y + 1}, "0 to 1 are expected"),
        (lambda X, y: {"X": X, "y": np.array([0, 0, 0, 0, 0, 1])}, "rows per class"),
    ],
)
def test_another_table_is_refused(stored, small, change, message):
    _storage.write_arrays(stored, change(*small[:2]))
    with pytest.raises(datasets.DatasetError, match=message):
        datasets.load("glioma", data_home=stored.parent)


def test_pickles_are_refused(stored, small):
    with open(stored, "wb") as stream:
        np.savez(stream, X=np.array([[{}]], dtype=object), y=small[1])
    with pytest.raises(datasets.DatasetError, match="plain arrays"):
        datasets.load("glioma", data_home=stored.parent)


@pytest.mark.parametrize("damage", ["truncated", "flipped", "text"])
def test_damaged_files_are_refused(stored, damage):
    content = bytearray(stored.read_bytes())
    if damage == "truncated":
        content = content[: len(content) // 2]
    elif damage == "flipped":
        with zipfile.ZipFile(stored) as archive:
            start = archive.getinfo("X.npy").header_offset
        for position in range(start + 60, start + 80):
            content[position] ^= 0xFF
    else:
        content = b"X,y\n1,2\n"
    stored.write_bytes(content)
    with pytest.raises(datasets.DatasetError, match="readable NPZ file"):
        datasets.load("glioma", data_home=stored.parent)


def npy(descr, shape, data=b""):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": descr, "fortran_order": False, "shape": shape})
    return stream.getvalue() + data


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (npy("<f8", (10**12,)), "does not have the size that its header says"),
        (npy("<f8", (2**40, 2**40)), "does not have the size"),
        (npy("<f4", (6, 3), bytes(73)), "does not have the size"),
        (npy("<U0", (10**12,)), "holds values of type <U0"),
        (npy("|O", (1,), bytes(8)), "holds values of type object"),
        (npy("<f4", (6, 3), bytes(72)).replace(b"NUMPY\1", b"NUMPY\7"), "unknown version"),
        (b"not an array", "plain arrays"),
        (b"PK\3\4", "plain arrays"),
        (b"", "plain arrays"),
    ],
)
def test_members_that_are_not_what_they_say_are_refused(stored, small, content, message):
    with zipfile.ZipFile(stored, "w") as archive:
        archive.writestr("X.npy", content)
        archive.writestr("y.npy", npy("|u1", (6,), small[1].tobytes()))
    with pytest.raises(datasets.DatasetError, match=f"readable NPZ file of plain arrays .*{message}|{message}"):
        datasets.load("glioma", data_home=stored.parent)


@pytest.mark.parametrize("flip", [0x01, 0xFF])
def test_every_flipped_byte_is_refused_or_harmless(stored, small, flip):
    whole = stored.read_bytes()
    refused = 0
    for position in range(len(whole)):
        stored.write_bytes(whole[:position] + bytes([whole[position] ^ flip]) + whole[position + 1 :])
        try:
            found = _storage.read_verified(small[2], stored)
            assert found["X"].tobytes() == small[0].tobytes() and found["y"].tobytes() == small[1].tobytes()
        except datasets.DatasetError:
            refused += 1
    assert refused > len(whole) / 2


@pytest.mark.parametrize(
    "kind",
    ["float64", "float128" if hasattr(np, "float128") else "float64", ">f4"],
    ids=["double", "long", "big-endian"],
)
@pytest.mark.parametrize("labels", ["int64", "uint16", "float32"])
def test_equal_values_of_another_type_are_the_table(stored, small, kind, labels):
    X, y, _ = small
    _storage.write_arrays(stored, {"X": X.astype(kind), "y": y.astype(labels)})
    found = datasets.load("glioma", data_home=stored.parent)
    assert (found.raw.dtype, found.y.dtype) == (np.float32, np.uint8)
    np.testing.assert_array_equal(found.raw, X)
    np.testing.assert_array_equal(found.y, y)


def test_doubles_are_rounded_as_the_converters_do(stored, small):
    exact = np.arange(18).reshape(6, 3) ** 2 / 7
    assert not np.array_equal(exact, small[0])
    _storage.write_arrays(stored, {"X": exact, "y": small[1]})
    np.testing.assert_array_equal(datasets.load("glioma", data_home=stored.parent).raw, small[0])


def test_integers_are_never_rounded(stored, small, monkeypatch):
    X = np.arange(18, dtype=np.int16).reshape(6, 3)
    entry = replace(small[2], dtype="int16", sha256={"X": _storage.digest(X), "y": _storage.digest(small[1])})
    monkeypatch.setattr(_registry, "registry", {"glioma": entry})
    for values in (X + 0.25, X.astype(int) + 2**16, np.where(X == 3, np.nan, X)):
        _storage.write_arrays(stored, {"X": values, "y": small[1]})
        with pytest.raises(datasets.DatasetError, match="whose values are not all of the type int16"):
            datasets.load("glioma", data_home=stored.parent)
    _storage.write_arrays(stored, {"X": X.astype(float), "y": small[1]})
    assert datasets.load("glioma", data_home=stored.parent).raw.dtype == np.int16


def test_arrays_outside_the_registry_are_left_out(stored, small):
    X, y, _ = small
    _storage.write_arrays(stored, {"X": X, "y": y, "mouse_id": np.array(["1"]), "feature_names": np.array(["a"])})
    found = datasets.load("glioma", data_home=stored.parent)
    assert found.groups is None and found.feature_names is None and found.splits == ("published", "random")


@pytest.mark.parametrize(("name", "kept"), [("mice_protein", ("X", "y", "mouse_id")), ("isolet", ("X", "y"))])
def test_a_real_table_made_by_hand_needs_only_what_the_messages_say(name, kept, real, tmp_path):
    table = real(name)
    arrays = {"X": table.raw.astype(float), "y": table.y.astype(int)}
    if "mouse_id" in kept:
        _storage.write_arrays(tmp_path / f"{name}.npz", arrays)
        with pytest.raises(datasets.DatasetError, match="has no array 'mouse_id', which Mice Protein needs") as caught:
            datasets.load(name, data_home=tmp_path)
        assert "X (1080 x 77, float32), y (1080 labels from 0, uint8) and mouse_id (1080 texts)" in str(caught.value)
        arrays["mouse_id"] = table.groups.astype("U7")
    with open(tmp_path / f"{name}.npz", "wb") as stream:
        np.savez(stream, **arrays)
    found = datasets.load(name, data_home=tmp_path)
    np.testing.assert_array_equal(found.raw, table.raw)
    np.testing.assert_array_equal(found.split().train, table.split().train)
    assert found.splits == table.splits and found.raw.dtype == table.raw.dtype


def test_missing_and_infinite_values_of_an_unregistered_table_are_refused(stored, small, monkeypatch):
    monkeypatch.setattr(_registry, "registry", {"glioma": replace(small[2], sha256=None)})
    # The last is finite as a double only.
    for value in (np.nan, np.inf, -np.inf, 1e300):
        X = small[0].astype(float)
        X[1, 1] = value
        _storage.write_arrays(stored, {"X": X, "y": small[1]})
        with pytest.raises(datasets.DatasetError, match="missing or infinite values; GLIOMA has none"):
            datasets.load("glioma", data_home=stored.parent)


def test_a_file_that_would_fill_the_memory_is_refused(stored, monkeypatch):
    monkeypatch.setattr(_storage, "MAX_STORED_BYTES", 100)
    with pytest.raises(datasets.DatasetError, match="at most 100"):
        datasets.load("glioma", data_home=stored.parent)


def test_missing_file_says_what_to_do(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"coil20.npz.*STABLESELECT_DATA.*fetch\('coil20'\).*1440 x 400"):
        datasets.load("coil20", data_home=tmp_path)


@pytest.mark.parametrize("protocol", ["Paper", None, 1])
def test_unknown_protocol_is_refused(protocol, tmp_path):
    with pytest.raises(ValueError, match="protocol should be one of 'corrected', 'paper', 'raw'"):
        datasets.load("coil20", protocol=protocol, data_home=tmp_path)


def test_record_of_the_first_download_is_kept(small, tmp_path):
    X, y, _ = small
    path = _storage.record_path(tmp_path / "activity.npz")
    assert path.name == "activity.sha256.json"
    assert _storage.read_record(path) is None
    _storage.write_record(path, {"X": X, "y": y})
    assert json.loads(path.read_text()) == {"X": _storage.digest(X), "y": _storage.digest(y)}
    for content in ("{", "[1]", '{"X": 1}', "{}", '{"X": "0"}'):
        path.write_text(content)
        with pytest.raises(datasets.DatasetError, match="delete it"):
            _storage.read_record(path)


def test_nothing_is_left_when_writing_fails(tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise OSError("no space left")

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(OSError, match="no space"):
        _storage.write_arrays(tmp_path / "glioma.npz", {"X": np.eye(2)})
    assert list(tmp_path.iterdir()) == []


def test_folder_is_argument_then_variable_then_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("STABLESELECT_DATA", str(tmp_path / "variable"))
    assert _storage.resolve_home(tmp_path) == tmp_path
    assert _storage.resolve_home(None) == tmp_path / "variable"
    monkeypatch.delenv("STABLESELECT_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(_storage.sys, "platform", "linux")
    assert _storage.resolve_home(None) == tmp_path / "stableselect"
    monkeypatch.setattr(_storage.sys, "platform", "darwin")
    assert _storage.resolve_home(None) == Path.home() / "Library" / "Caches" / "stableselect"
    monkeypatch.setattr(_storage.sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert _storage.resolve_home(None) == tmp_path / "local" / "stableselect"


def test_cache_folder_is_where_pooch_puts_it(monkeypatch):
    pooch = pytest.importorskip("pooch")
    monkeypatch.delenv("STABLESELECT_DATA", raising=False)
    if _storage.sys.platform != "linux":
        pytest.skip("pooch adds folders of its own on other systems")
    assert _storage.resolve_home(None) == Path(pooch.os_cache("stableselect"))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in datasets.names() if datasets.info(name).sha256])
def test_real_tables_have_the_registered_digests(name, real):
    found = real(name)
    assert found.X.shape == (found.info.n_rows, found.info.n_columns)
    assert found.X.dtype == found.info.dtype
    assert np.bincount(found.y).tolist() == list(found.info.class_counts)
    assert np.isnan(found.X.astype(float)).sum() == (1396 if name == "mice_protein" else 0)
    if name == "mice_protein":
        assert found.splits == ("published", "random", "group")
        assert len(found.feature_names) == 77
        assert set(np.unique(found.groups, return_counts=True)[1]) == {15}
