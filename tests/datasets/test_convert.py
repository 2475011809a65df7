"""Converters on small files of the published forms, and on real tables turned back into their published form."""

from __future__ import annotations

import bz2
import gzip
import io
import shutil
import struct
import subprocess
import zipfile
from dataclasses import replace
from importlib import resources

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import savemat
from scipy.ndimage import gaussian_filter1d

from stableselect import datasets
from stableselect.datasets._convert import convert
from stableselect.datasets._lzw import decompress
from stableselect.datasets._storage import digest


def zipped(**members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def compressed(data, max_bits=16):
    """Encode as the program ``compress`` does; the table is cleared when it is full."""
    out = bytearray(b"\x1f\x9d" + bytes([0x80 | max_bits]))
    group, bits = [], 9

    def flush(whole):
        value = sum(code << (bits * i) for i, code in enumerate(group))
        out.extend(value.to_bytes(bits if whole else -(-bits * len(group) // 8), "little"))
        group.clear()

    def emit(code):
        group.append(code)
        if len(group) == 8:
            flush(True)

    table, free, current = {bytes([i]): i for i in range(256)}, 257, b""
    for i in range(len(data)):
        longer = current + data[i : i + 1]
        if longer in table:
            current = longer
            continue
        emit(table[current])
        if free >= 1 << bits and bits < max_bits:
            if group:
                flush(True)
            bits += 1
        if free < 1 << max_bits:
            table[longer], free = free, free + 1
        else:
            emit(256)
            if group:
                flush(True)
            table, free, bits = {bytes([i]): i for i in range(256)}, 257, 9
        current = data[i : i + 1]
    if current:
        emit(table[current])
        flush(False)
    return bytes(out)


@pytest.fixture
def mixed(rng):
    """60 kB of text and bytes that repeat now and then."""
    words = [rng.integers(97, 123, size=size).astype(np.uint8).tobytes() for size in rng.integers(1, 9, size=300)]
    text = b" ".join(words[i] for i in rng.integers(0, 300, size=9000))
    return text + bytes(5000) + rng.integers(0, 256, size=7000).astype(np.uint8).tobytes()


@pytest.mark.parametrize("max_bits", [10, 12, 16])
def test_lzw_is_read_as_gzip_reads_it(mixed, max_bits):
    packed = compressed(mixed, max_bits)
    if shutil.which("gzip"):
        assert subprocess.run(["gzip", "-dc"], input=packed, capture_output=True, check=True).stdout == mixed
    assert decompress(packed, len(mixed)) == mixed


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([0, 1, 255]), max_size=3000).map(bytes), st.sampled_from([10, 11, 16]))
def test_lzw_round_trip(data, max_bits):
    assert decompress(compressed(data, max_bits), len(data)) == data


def test_lzw_refuses_what_is_wrong(mixed):
    packed = compressed(mixed)
    with pytest.raises(datasets.DatasetError, match="more than the 1000 bytes"):
        decompress(packed, 1000)
    with pytest.raises(datasets.DatasetError, match="1f 9d"):
        decompress(gzip.compress(mixed), 10**6)
    with pytest.raises(datasets.DatasetError, match="codes of up to 9 bits"):
        decompress(b"\x1f\x9d\x89" + packed[3:], 10**6)
    with pytest.raises(datasets.DatasetError, match="has not been seen"):
        decompress(packed[:3] + b"\xff" * 9, 10**6)


def test_mice_from_the_openml_file_that_scikit_learn_tests_with(real):
    """Seven rows of the published file agree with the stored table."""
    folder = resources.files("sklearn.datasets.tests.data.openml.id_40966")
    content = gzip.decompress(folder.joinpath("data-v1-dl-17928620.arff.gz").read_bytes())
    arrays = convert(datasets.info("mice_protein"), "openml_mice", {"MiceProtein.arff": content})
    stored = real("mice_protein")
    n = len(arrays["y"])
    assert n == 7
    np.testing.assert_array_equal(arrays["X"], stored.X[:n])
    np.testing.assert_array_equal(arrays["y"], stored.y[:n])
    assert digest(arrays["feature_names"]) == stored.info.sha256["feature_names"]
    assert digest(arrays["class_names"]) == stored.info.sha256["class_names"]
    assert arrays["mouse_id"].tolist() == stored.groups[:n].tolist() == ["309"] * n


def test_mice_missing_values_and_classes():
    text = (
        "% comment\n@relation mice\n@attribute MouseID {'3411_1','3411_2'}\n@attribute A_N numeric\n"
        "@attribute B_N real\n@attribute class {'t-SC-m','c-CS-s'}\n@data\n% comment\n"
        "'3411_1',?,1.5,'t-SC-m'\n'J1_2',2,?,'c-CS-s'\n"
    )
    arrays = convert(datasets.info("mice_protein"), "openml_mice", {"a": text.encode()})
    np.testing.assert_array_equal(arrays["X"], np.array([[np.nan, 1.5], [2, np.nan]], dtype=np.float32))
    assert arrays["y"].tolist() == [7, 0]
    assert arrays["mouse_id"].tolist() == ["3411", "J1"]
    with pytest.raises(datasets.DatasetError, match="does not have 4 values"):
        convert(datasets.info("mice_protein"), "openml_mice", {"a": text.encode() + b"'3411_3',1\n"})
    with pytest.raises(datasets.DatasetError, match="a cannot be read"):
        convert(datasets.info("mice_protein"), "openml_mice", {"a": b"<html>"})


def png(pixels):
    Image = pytest.importorskip("PIL.Image")
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def test_coil_images_by_file_name(rng):
    entry = replace(datasets.info("coil20"), n_rows=33, n_classes=11)
    # Each image has one grey level, which no filter changes.
    level = {(i, j): 10 * i + j for i in range(1, 12) for j in range(3)}
    members = {f"coil-20-proc/obj{i}__{j}.png": png(np.full((128, 128), v, np.uint8)) for (i, j), v in level.items()}
    arrays = convert(entry, "coil_zip", {"a.zip": zipped(**members, **{"../outside.png": b"never read"})})
    order = sorted(members)
    assert order[0] == "coil-20-proc/obj10__0.png"
    expected = [tuple(map(int, name[16:-4].split("__"))) for name in order]
    assert arrays["X"].shape == (33, 400)
    np.testing.assert_array_equal(arrays["X"], [[level[key]] * 400 for key in expected])
    np.testing.assert_array_equal(arrays["y"], [i - 1 for i, _ in expected])


def test_coil_image_is_resized_and_laid_out_by_rows():
    pixels = np.zeros((128, 128), dtype=np.uint8)
    pixels[:64] = 200
    entry = replace(datasets.info("coil20"), n_rows=1, n_classes=1)
    arrays = convert(entry, "coil_zip", {"a.zip": zipped(**{"coil-20-proc/obj1__0.png": png(pixels)})})
    image = arrays["X"].reshape(20, 20)
    np.testing.assert_array_equal(image[:6], 200)
    np.testing.assert_array_equal(image[14:], 0)


def test_coil_refuses_other_images_and_missing_members():
    entry = replace(datasets.info("coil20"), n_rows=1, n_classes=1)
    name = "coil-20-proc/obj1__0.png"
    with pytest.raises(datasets.DatasetError, match="grey 128 x 128"):
        convert(entry, "coil_zip", {"a.zip": zipped(**{name: png(np.zeros((64, 64), np.uint8))})})
    with pytest.raises(datasets.DatasetError, match=f"no member {name}"):
        convert(entry, "coil_zip", {"a.zip": zipped(other=b"")})
    with pytest.raises(datasets.DatasetError, match="cannot be read"):
        convert(entry, "coil_zip", {"a.zip": zipped(**{name: b"GIF89a"})})
    with pytest.raises(datasets.DatasetError, match="at most"):
        convert(entry, "coil_zip", {"a.zip": zipped(**{name: bytes(2**20 + 1)})})


@pytest.mark.parametrize("separator", [",", " ", ", "])
def test_activity_stacks_training_and_test_files(rng, separator):
    X, y = rng.normal(size=(5, 4)).round(6), np.array([3, 1, 2, 2, 6])
    lines = [separator.join(map(str, row)) for row in X]
    members = {
        "dataset_uci/final_X_train.txt": "\n".join(lines[:3]),
        "dataset_uci/final_X_test.txt": "\n".join(lines[3:]),
        "dataset_uci/final_y_train.txt": "3\n1\n2\n",
        "dataset_uci/final_y_test.txt": "2\n6\n",
    }
    arrays = convert(datasets.info("activity"), "activity_zip", {"a.zip": zipped(**members)})
    np.testing.assert_array_equal(arrays["X"], X.astype(np.float32))
    np.testing.assert_array_equal(arrays["y"], np.searchsorted([1, 2, 3, 6], y))


def test_isolet_groups_are_sorted_by_letter_but_the_last(rng):
    entry = replace(datasets.info("isolet"), parts=(8, 8, 8, 7, 8))
    letters = [1, 1, 2, 2] * 2
    by_speaker = [letters, letters, letters, letters[:-1], letters]
    rows = [[(round(rng.uniform(-1, 1), 4), letter) for letter in group] for group in by_speaker]
    text = [b"".join(f"{v:.4f}, {-v:.4f}, {letter}.\n".encode() for v, letter in group) for group in rows]
    members = {"isolet1+2+3+4.data.Z": compressed(b"".join(text[:4])), "isolet5.data.Z": compressed(text[4])}
    arrays = convert(entry, "isolet_zip", {"isolet.zip": zipped(**members)})
    expected = [row for group in rows[:4] for row in sorted(group, key=lambda row: row[1])] + rows[4]
    np.testing.assert_array_equal(arrays["X"], np.array([[v, -v] for v, _ in expected], dtype=np.float32))
    np.testing.assert_array_equal(arrays["y"], [letter - 1 for _, letter in expected])
    np.testing.assert_array_equal(arrays["group"], np.repeat([1, 2, 3, 4, 5], [8, 8, 8, 7, 8]))
    with pytest.raises(datasets.DatasetError, match="39 rows; 7797 are expected"):
        convert(datasets.info("isolet"), "isolet_zip", {"isolet.zip": zipped(**members)})


def test_stored_isolet_has_the_order_the_converter_gives(real):
    """Rows of one letter and group come in pairs of one speaker, and speakers keep their order over the letters."""
    found = real("isolet")
    rows = found.X[:1560].reshape(26, 30, 2, 617)
    within = np.linalg.norm(rows[:, :, 0] - rows[:, :, 1], axis=2).mean()
    across = np.linalg.norm(rows[:, :-1, 1] - rows[:, 1:, 0], axis=2).mean()
    assert within < 0.75 * across
    voices = rows.mean(axis=2)
    voices -= voices.mean(axis=1, keepdims=True)
    match = np.corrcoef(voices[:13].mean(axis=0), voices[13:].mean(axis=0))[:30, 30:]
    np.testing.assert_array_equal(match.argmax(axis=1), np.arange(30))


def idx_bytes(array):
    return b"\0\0\x08" + bytes([array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def test_idx_files(rng):
    images, labels = rng.integers(0, 256, size=(5, 2, 3)).astype(np.uint8), np.arange(5, dtype=np.uint8)
    files = {
        "train-images": gzip.compress(idx_bytes(images[:3])),
        "train-labels": gzip.compress(idx_bytes(labels[:3])),
        # A server may unpack a file on the way.
        "test-images": idx_bytes(images[3:]),
        "test-labels": gzip.compress(idx_bytes(labels[3:])),
    }
    arrays = convert(datasets.info("mnist_fashion"), "idx", files)
    np.testing.assert_array_equal(arrays["X"], images.reshape(5, 6))
    np.testing.assert_array_equal(arrays["y"], labels)
    for broken, message in (
        (gzip.compress(idx_bytes(images))[:-9], "cannot be read: EOFError"),
        (idx_bytes(images)[:-1], "its header says"),
        (b"<html></html>", "not an IDX file"),
        (b"\0\0\x08\xff", "not an IDX file"),
    ):
        with pytest.raises(datasets.DatasetError, match=message):
            convert(datasets.info("mnist_fashion"), "idx", files | {"test-images": broken})


def usps_files(train, digits, test, test_digits):
    """Write the unsmoothed training rows and the smoothed test rows in their published forms."""
    lines = "\n".join(f"{d:.4f} " + " ".join(f"{v:.4f}" for v in row) for d, row in zip(digits, train, strict=True))
    sparse = "\n".join(
        f"{d + 1} " + " ".join(f"{j + 1}:{v:.6f}" for j, v in enumerate(row))
        for d, row in zip(test_digits, test, strict=True)
    )
    return {"zip.train.gz": gzip.compress(lines.encode(), 1), "usps.t.bz2": bz2.compress(sparse.encode() + b"\n")}


def test_usps_filter_and_order_by_definition():
    """A single bright pixel becomes the product of two Gaussians of sigma 0.75, cut at three pixels."""
    train = -np.ones((3, 256))
    train[:, 16 * 8 + 5] = 1.0
    test = np.linspace(-1, 1, 256)[None]
    arrays = convert(datasets.info("usps"), "usps_text", usps_files(train, [0, 2, 1], test, [9]))
    assert arrays["y"].tolist() == [1, 2, 0, 9]
    kernel = np.exp(-0.5 * (np.arange(-3, 4) / 0.75) ** 2)
    kernel /= kernel.sum()
    expected = -np.ones((16, 16))
    expected[5:12, 2:9] += 2 * np.outer(kernel, kernel)
    np.testing.assert_allclose(arrays["X"][0].reshape(16, 16), expected, atol=6e-7)
    np.testing.assert_allclose(arrays["X"][3], test[0], atol=6e-7)


def test_stored_usps_is_what_the_converter_makes_of_the_unsmoothed_digits(real):
    """The filter is undone exactly, since the unsmoothed values are multiples of 0.001, and applied again."""
    found = real("usps")
    train, test = np.arange(0, 7291, 7), np.arange(7291, 9298, 7)
    inverse = np.linalg.inv(gaussian_filter1d(np.eye(16), 0.75, axis=0, mode="constant"))
    images = (found.X[train].astype(float).reshape(-1, 16, 16) + 1) / 2
    thousandths = (1000 * (2 * (inverse @ images @ inverse.T) - 1)).reshape(-1, 256)
    assert np.abs(thousandths - thousandths.round()).max() < 0.05
    # The published file mixes the digits but keeps those of one kind in this order.
    mixed = np.concatenate([np.flatnonzero(found.y[train] == digit) for digit in (6, 5, 4, 7, 3, 1, 0, 2, 8, 9)])
    files = usps_files(thousandths[mixed].round() / 1000, found.y[train][mixed], found.X[test], found.y[test])
    arrays = convert(found.info, "usps_text", files)
    rows = np.concatenate([train, test])
    np.testing.assert_array_equal(arrays["X"], found.X[rows])
    np.testing.assert_array_equal(arrays["y"], found.y[rows])


def mat_bytes(**variables):
    stream = io.BytesIO()
    savemat(stream, variables)
    return stream.getvalue()


@pytest.mark.parametrize(("name", "labels"), [("glioma", None), ("prostate_ge", None), ("arcene", [-1, 1])])
def test_mat_gives_the_stored_tables(name, labels, real):
    found = real(name)
    Y = found.y.astype(float) + 1 if labels is None else np.array(labels)[found.y]
    content = mat_bytes(X=found.X.astype(float), Y=Y[:, None])
    arrays = convert(found.info, "mat", {f"{name}.mat": content})
    assert {key: digest(array) for key, array in arrays.items()} == dict(found.info.sha256)


def test_mat_refuses_other_content():
    entry = replace(datasets.info("glioma"), n_rows=3, n_columns=2)
    good = {"X": np.zeros((3, 2)), "Y": np.ones((3, 1))}
    for content, message in (
        (mat_bytes(X=np.zeros((3, 5)), Y=good["Y"]), r"X of shape \(3, 2\)"),
        (mat_bytes(X=good["X"]), "a Y with 3 rows"),
        (mat_bytes(X=np.array([["a", 1], ["b", 2], ["c", 3]], dtype=object), Y=good["Y"]), "numbers are expected"),
        (b"not a matlab file" * 20, "cannot be read"),
        (mat_bytes(**good)[:150], "GLIOMA.mat"),
    ):
        with pytest.raises(datasets.DatasetError, match=message):
            convert(entry, "mat", {"GLIOMA.mat": content})


def test_zip_damage_is_refused():
    whole = zipped(**{"dataset_uci/final_X_train.txt": b"1 2 3\n" * 500})
    flipped = bytearray(whole)
    flipped[62] ^= 0xFF
    for content, message in ((whole[:-30], "not a whole ZIP"), (bytes(flipped), "damaged in the ZIP")):
        with pytest.raises(datasets.DatasetError, match=message):
            convert(datasets.info("activity"), "activity_zip", {"a.zip": content})
