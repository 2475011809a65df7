"""Downloads from a server on the loopback address: what is stored, what is refused, and that nothing stays behind."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from scipy.io import savemat

from stableselect import datasets
from stableselect.datasets import _fetch, _registry
from stableselect.datasets._fetch import fetch_info
from stableselect.datasets._registry import RemoteFile, Source
from stableselect.datasets._storage import digest

pooch = pytest.importorskip("pooch")


def mat_bytes(X, y):
    stream = io.BytesIO()
    savemat(stream, {"X": X.astype(float), "Y": y[:, None].astype(float) + 1})
    return stream.getvalue()


@pytest.fixture
def served(small, server):
    """The small table's entry with its source on the server, as GLIOMA.mat."""
    X, y, entry = small
    return replace(entry, sources=(server.source("mat", GLIOMA__mat=mat_bytes(X, y)),))


def refused(entry, home, message):
    with pytest.raises(datasets.DatasetError, match=message) as caught:
        fetch_info(entry, home)
    assert not home.exists() or list(home.iterdir()) == []
    return str(caught.value)


def test_fetch_converts_checks_and_stores(served, small, server, tmp_path):
    path = fetch_info(served, tmp_path / "new" / "folder")
    assert path == tmp_path / "new" / "folder" / "glioma.npz"
    assert [file.name for file in path.parent.iterdir()] == ["glioma.npz"]
    with np.load(path, allow_pickle=False) as stored:
        np.testing.assert_array_equal(stored["X"], small[0])
        np.testing.assert_array_equal(stored["y"], small[1])
    assert fetch_info(served, path.parent) == path
    assert server.requests == ["GLIOMA.mat"]


def test_load_downloads_when_asked(served, small, tmp_path, monkeypatch):
    monkeypatch.setattr(_registry, "registry", {"glioma": served})
    with pytest.raises(FileNotFoundError):
        datasets.load("glioma", data_home=tmp_path)
    np.testing.assert_array_equal(datasets.load("glioma", data_home=tmp_path, download=True).X, small[0])
    monkeypatch.setenv("STABLESELECT_DATA", str(tmp_path))
    np.testing.assert_array_equal(datasets.load("glioma").X, small[0])


def test_altered_content_is_refused(served, small, server, tmp_path):
    X = small[0].copy()
    X[2, 1] += 1
    server.files["GLIOMA.mat"] = mat_bytes(X, small[1])
    refused(served, tmp_path, "SHA-256 of X is")


def test_short_content_is_refused(served, server, tmp_path):
    server.claimed["GLIOMA.mat"] = len(server.files["GLIOMA.mat"]) + 1000
    refused(served, tmp_path, "did not arrive")


def test_truncated_file_is_refused(served, server, tmp_path):
    server.files["GLIOMA.mat"] = server.files["GLIOMA.mat"][:-40]
    refused(served, tmp_path, r"GLIOMA\.mat")


def test_file_hash_of_the_publisher_is_checked(served, tmp_path):
    (file,) = served.sources[0].files
    wrong = Source("mat", (replace(file, known_hash="md5:" + "0" * 32),))
    refused(replace(served, sources=(wrong,)), tmp_path, f"has the md5 .*; {'0' * 32} was expected")


def test_large_file_is_refused(served, tmp_path):
    (file,) = served.sources[0].files
    capped = Source("mat", (replace(file, max_bytes=100),))
    refused(replace(served, sources=(capped,)), tmp_path, "has more than 100 bytes")


def test_message_says_what_to_get_and_where_to_put_it(served, server, tmp_path):
    del server.files["GLIOMA.mat"]
    message = refused(served, tmp_path, "404")
    for part in (
        "GLIOMA.mat",
        server.url("GLIOMA.mat"),
        str(tmp_path / "glioma.npz"),
        "arrays X (6 x 3, float32) and y (6 labels",
    ):
        assert part in message


def test_no_network(served, server, tmp_path):
    server.stop()
    message = refused(served, tmp_path, "GLIOMA could not be downloaded: GLIOMA.mat did not arrive from http://127")
    assert str(tmp_path / "glioma.npz") in message
    assert "\n" not in message


def test_next_source_is_tried(served, server, tmp_path):
    gone = Source("mat", (RemoteFile("gone.mat", server.url("gone.mat")),))
    damaged = server.source("activity_zip", damaged__zip=b"PK")
    fetch_info(replace(served, sources=(gone, damaged, *served.sources)), tmp_path)
    assert server.requests == ["gone.mat", "damaged.zip", "GLIOMA.mat"]


def test_several_files_of_one_source(server, tmp_path):
    images, labels = np.arange(24, dtype=np.uint8).reshape(4, 2, 3), np.array([0, 1, 1, 0], dtype=np.uint8)
    header = {1: b"\0\0\x08\x01\0\0\0\x02", 3: b"\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x03"}
    source = server.source(
        "idx",
        images__idx=header[3] + images[:2].tobytes(),
        labels__idx=header[1] + labels[:2].tobytes(),
        images2__idx=header[3] + images[2:].tobytes(),
        labels2__idx=header[1] + labels[2:].tobytes(),
    )
    X = images.reshape(4, 6)
    entry = replace(
        datasets.info("mnist_fashion"),
        n_rows=4,
        n_columns=6,
        n_classes=2,
        class_counts=(2, 2),
        sources=(source,),
        sha256={"X": digest(X), "y": digest(labels)},
    )
    with np.load(fetch_info(entry, tmp_path), allow_pickle=False) as stored:
        np.testing.assert_array_equal(stored["X"], X)


def test_unregistered_table_is_held_to_its_first_download(small, server, tmp_path):
    X, y, _ = small

    def archive(values):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as made:
            made.writestr("../escape.txt", "never unpacked")
            for part, rows in (("train", slice(4)), ("test", slice(4, 6))):
                text = "\n".join(",".join(map(repr, row)) for row in values[rows].astype(float).tolist())
                made.writestr(f"dataset_uci/final_X_{part}.txt", text)
                made.writestr(f"dataset_uci/final_y_{part}.txt", "\n".join(str(label + 1) for label in y[rows]))
        return stream.getvalue()

    source = server.source("activity_zip", activity__zip=archive(X))
    entry = replace(datasets.info("activity"), n_rows=6, n_columns=3, n_classes=2, sources=(source,))
    path = fetch_info(entry, tmp_path)
    record = tmp_path / "activity.sha256.json"
    assert json.loads(record.read_text()) == {"X": digest(X), "y": digest(y)}
    assert sorted(tmp_path.iterdir()) == [path, record]
    path.unlink()
    server.files["activity.zip"] = archive(X + 1)
    with pytest.raises(
        datasets.DatasetError, match=r"SHA-256 of X is .*, as .*activity\.sha256\.json noted at the first"
    ):
        fetch_info(entry, tmp_path)
    assert list(tmp_path.iterdir()) == [record]
    server.files["activity.zip"] = archive(X)
    assert fetch_info(entry, tmp_path) == path


def test_an_unregistered_table_never_stands_without_its_record(small, server, tmp_path, monkeypatch):
    X, y, entry = small
    entry = replace(entry, sha256=None, sources=(server.source("mat", GLIOMA__mat=mat_bytes(X, y)),))

    def interrupted(*args):
        raise KeyboardInterrupt

    for step in ("write_record", "write_arrays"):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(_fetch, step, interrupted)
            fetch_info(entry, tmp_path)
        assert not (tmp_path / "glioma.npz").exists()
    fetch_info(entry, tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["glioma.npz", "glioma.sha256.json"]


def test_missing_values_of_an_unregistered_table_are_refused(small, server, tmp_path):
    X, y, entry = small
    for value in (np.nan, np.inf):
        changed = X.astype(float)
        changed[2, 1] = value
        source = server.source("mat", GLIOMA__mat=mat_bytes(changed, y))
        refused(replace(entry, sha256=None, sources=(source,)), tmp_path, "missing or infinite values")


def test_a_wrong_file_in_place_is_not_overwritten(served, tmp_path):
    path = tmp_path / "glioma.npz"
    path.write_bytes(b"mine")
    with pytest.raises(datasets.DatasetError, match="delete it"):
        fetch_info(served, tmp_path)
    assert path.read_bytes() == b"mine"


def test_folder_that_cannot_be_made(served, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(datasets.DatasetError, match="cannot be written to; choose another"):
        fetch_info(served, tmp_path / "file" / "below")


@pytest.mark.parametrize(("missing", "name"), [("pooch", "glioma"), ("PIL", "coil20")])
def test_missing_package_is_named(missing, name, server, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, missing, None)
    entry = replace(datasets.info(name), sources=(server.source(datasets.info(name).sources[0].form, a__zip=b""),))
    with pytest.raises(ImportError, match=r'pip install "stableselect\[data\]"'):
        fetch_info(entry, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_real_table_through_the_server(server, real, tmp_path):
    """Only the address differs from the registry: the converted arrays have the registered digests."""
    found = real("glioma")
    entry = replace(found.info, sources=(server.source("mat", GLIOMA__mat=mat_bytes(found.X, found.y)),))
    fetch_info(entry, tmp_path)
    datasets.verify("glioma", tmp_path)
