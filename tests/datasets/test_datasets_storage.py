"""Stored tables: digests by their definition, refusal of wrong, damaged and pickled files, the folder."""

from __future__ import annotations

import hashlib
import json
import struct
import zipfile
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
    with pytest.raises(datasets.DatasetError, match="Delete the file and fetch the table again"):
        datasets.verify("glioma", stored.parent)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: {"y": y}, "has no array 'X'"),
        (lambda X, y: {"X": X.T, "y": y}, "6 rows and 3 columns"),
        (lambda X, y: {"X": X.astype(str), "y": y}, "numbers and integers are expected"),
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


def test_a_file_that_would_fill_the_memory_is_refused(stored, monkeypatch):
    monkeypatch.setattr(_storage, "MAX_STORED_BYTES", 100)
    with pytest.raises(datasets.DatasetError, match="at most 100"):
        datasets.load("glioma", data_home=stored.parent)


def test_missing_file_says_what_to_do(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"coil20.npz.*STABLESELECT_DATA.*fetch\('coil20'\).*1440 x 400"):
        datasets.load("coil20", data_home=tmp_path)


@pytest.mark.parametrize("protocol", ["Paper", None, 1])
def test_unknown_protocol_is_refused(protocol, tmp_path):
    with pytest.raises(ValueError, match="protocol should be one of 'sound', 'paper', 'raw'"):
        datasets.load("coil20", protocol=protocol, data_home=tmp_path)


def test_record_of_the_first_download_is_kept(small, tmp_path):
    X, y, _ = small
    path = _storage.record_path(tmp_path / "activity.npz")
    assert path.name == "activity.sha256.json"
    assert _storage.read_record(path) is None
    _storage.write_record(path, {"X": X, "y": y})
    assert json.loads(path.read_text()) == {"X": _storage.digest(X), "y": _storage.digest(y)}
    for content in ("{", "[1]", '{"X": 1}'):
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
