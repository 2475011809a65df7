from __future__ import annotations

import datetime
import io
import os
import pickle
import sys
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from stableselect.io import TableError, _numpy, _tables, _text, read_table
from stableselect.io._tables import numeric_matrix
from stableselect.persistence import load


def written(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_csv_agrees_with_pandas(tmp_path):
    text = 'a,"b, c",d\n1,2.5,true\n-3,1e-7,false\n4,.5,true\n'
    path = written(tmp_path, "t.csv", text)
    table = read_table(path)
    frame = pd.read_csv(path)
    assert table.columns == list(frame.columns)
    np.testing.assert_array_equal(numeric_matrix(table, table.columns), frame.to_numpy(dtype=float))


def test_tsv_and_crlf_and_byte_order_mark(tmp_path):
    table = read_table(written(tmp_path, "t.TSV", b"\xef\xbb\xbfa\tb\r\n1\t2\r\n"))
    assert table.data.to_pydict() == {"a": [1], "b": [2]}


def test_types_are_inferred_from_the_whole_file(tmp_path):
    rows = "\n".join(["1"] * 400_000 + ["2.5"])
    assert read_table(written(tmp_path, "t.csv", f"a\n{rows}\n")).data.schema.types == [pa.float64()]


def test_rows_wider_than_a_megabyte_are_read(tmp_path):
    m = 2_000
    header, row = ",".join(f"{j:01000d}" for j in range(m)), ",".join(f"0.{'1' * 700}" for _ in range(m))
    assert read_table(written(tmp_path, "t.csv", f"{header}\n{row}\n")).data.num_columns == m


def test_line_breaks_inside_quotes_survive_block_boundaries(tmp_path, monkeypatch):
    monkeypatch.setattr(_text, "_BLOCK_BYTES", 64)
    words = [f"{'x' * j}\n{'y' * (20 - j)}" for j in range(20)]
    text = "word,n\n" + "".join(f'"{word}",{j}\n' for j, word in enumerate(words))
    assert read_table(written(tmp_path, "t.csv", text)).data["word"].to_pylist() == words


def test_standard_input_is_csv(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,2\n")))
    table = read_table("-")
    assert (table.name, table.columns) == ("standard input", ["a", "b"])


def test_no_header_names_columns_by_position(tmp_path):
    table = read_table(written(tmp_path, "t.csv", "1,2\n3,4\n"), header=False)
    assert table.data.to_pydict() == {"c0": [1, 3], "c1": [2, 4]}
    assert not table.named


@pytest.mark.parametrize(
    ("cells", "expected"),
    [(["007", "008"], ["007", "008"]), (["7", "8"], [7, 8]), (["NA", ""], ["NA", ""]), (["1e5", "2"], ["1e5", "2"])],
)
def test_verbatim_columns_lose_nothing(tmp_path, cells, expected):
    path = written(tmp_path, "t.csv", "id,a\n" + "".join(f"{cell},1\n" for cell in cells))
    assert read_table(path, verbatim=["id", "not there"]).data["id"].to_pylist() == expected


def test_folder_names_do_not_become_parquet_columns(tmp_path):
    (tmp_path / "year=2020").mkdir()
    path = tmp_path / "year=2020" / "t.parquet"
    pa.parquet.write_table(pa.table({"a": [1]}), path)
    assert read_table(path).columns == ["a"]


@pytest.mark.parametrize("dtype", ["u1", "i2", ">f4", "f8", "f2", "?"])
def test_numpy_arrays_keep_values_and_type(tmp_path, dtype):
    X = np.array([[0, 1], [1, 0], [1, 1]]).astype(dtype)
    np.save(tmp_path / "t.npy", X)
    table = read_table(tmp_path / "t.npy")
    np.testing.assert_array_equal(numeric_matrix(table, table.columns), X.astype(float))
    assert table.data["c0"].to_numpy().dtype == X.dtype.newbyteorder("=")
    assert not table.named


def test_archive_takes_its_column_names(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.eye(2), feature_names=["p", "q"], y=np.ones(2))
    table = read_table(tmp_path / "t.npz")
    assert (table.columns, table.named) == (["p", "q"], True)


class Bomb:
    def __reduce__(self):
        return (sys.exit, ("unpickled",))


@pytest.mark.parametrize("name", ["t.npy", "t.npz"])
def test_pickles_are_never_loaded(tmp_path, name):
    bombs = np.empty((1, 1), dtype=object)
    bombs[0, 0] = Bomb()
    with open(tmp_path / name, "wb") as stream:
        np.save(stream, bombs) if name == "t.npy" else np.savez(stream, X=bombs)
    with pytest.raises(TableError, match="cannot be read"):
        read_table(tmp_path / name)
    (tmp_path / "u.npy").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(TableError, match="cannot be read"):
        read_table(tmp_path / "u.npy")


BAD_FILES = {
    "empty": ("t.csv", "", "t.csv is empty"),
    "header alone": ("t.csv", "a,b\n", "t.csv is empty"),
    "ragged": ("t.csv", "a,b\n1,2\n3\n", "Row #3"),
    "repeated names": ("t.csv", "a,b,a\n1,2,3\n", "more than one column named 'a'"),
    "repeated names of data": ("t.csv", "1,2,1\n1,2,3\n", "without a header"),
    "another encoding": ("t.csv", b"na\x81ve,b\n1,2\n", "not UTF-8 text, nor Latin-1; name its encoding"),
    "not compressed": ("t.csv.gz", b"\x1f\x8b no", "t.csv.gz cannot be read"),
    "not arrow": ("t.feather", "ARROW1 no", "cannot be read as FEATHER"),
    "not arrow either": ("t.arrow", "no", "cannot be read as ARROW"),
    "compressed parquet": ("t.parquet.gz", "", "decompress it"),
    "not parquet": ("t.parquet", "PAR1 no", "cannot be read as PARQUET"),
    "not an array": ("t.npy", "\x93NUMPY", "cannot be read as NPY"),
    "not an archive": ("t.npz", "PK\x03\x04 no", "cannot be read as NPZ"),
    "unknown extension": ("t.xyz", "a\n1\n", "expected one of .csv, .tsv"),
    "no extension": ("t", "a\n1\n", "no extension"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files_get_one_sentence(tmp_path, case):
    name, content, message = BAD_FILES[case]
    with pytest.raises(TableError, match=message.replace(".", r"\.")) as caught:
        read_table(written(tmp_path, name, content))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"Z": np.eye(2)}, "'Z' but no array 'X'"),
        ({}, "nothing but no array 'X'"),
        ({"X": np.ones(3)}, r"shape \(3,\)"),
        ({"X": np.array([["a"]])}, "type <U1"),
        ({"X": np.ones((2, 2), dtype=complex)}, "type complex128"),
        ({"X": np.eye(2), "feature_names": ["a"]}, "expected 2 strings"),
        ({"X": np.eye(2), "feature_names": [1, 2]}, "expected 2 strings"),
        ({"X": np.eye(2), "feature_names": ["a", "a"]}, "more than one column named 'a'"),
        ({"X": np.ones((0, 3))}, "is empty"),
    ],
)
def test_bad_archives_get_one_sentence(tmp_path, arrays, message):
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(TableError, match=message):
        read_table(tmp_path / "t.npz")


def test_missing_files_and_folders_are_told_apart(tmp_path):
    with pytest.raises(TableError, match="does not exist"):
        read_table(tmp_path / "none.csv")
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path / "d.csv")


def matrix_of(tmp_path, text):
    table = read_table(written(tmp_path, "t.csv", text))
    return numeric_matrix(table, table.columns)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a,b,c\n1,x,2020-01-01\n2,y,2020-01-02\n",
            r"'b', 'c' \('b': text, such as 'x' in row 1\); only columns of numbers",
        ),
        (",b\nr1,1\nr2,2\n", r"'' \(the column without a name\)"),
        ("a;b\n1;2\n3;4;5\n6\n", "cannot be read as CSV with separator ';'"),
        ("a,b\n1,\n2,NA\n3,4\n", r"Missing values in 'b' \(2\); .*SimpleImputer"),
        ("a,b\n1,\n2,\n", r"Missing values in 'b' \(2\)"),
        ("a,b\n1,inf\n2,-inf\n", "Infinite values in 'b'"),
        ("a\n12:30:00\n", "Not numbers: 'a'"),
        ("\n".join([",".join(f"t{j}" for j in range(9)), ",".join("x" * 9)]), "'t4' and 4 more"),
    ],
)
def test_cells_that_are_not_finite_numbers_are_refused_by_name(tmp_path, text, message):
    with pytest.raises(TableError, match=message):
        matrix_of(tmp_path, text)


def test_nan_in_a_binary_file_counts_as_missing(tmp_path):
    np.save(tmp_path / "t.npy", np.array([[1, np.nan], [2, np.nan]], dtype=np.float16))
    table = read_table(tmp_path / "t.npy")
    with pytest.raises(TableError, match=r"'c1' \(2\)"):
        numeric_matrix(table, table.columns)


def test_booleans_decimals_and_dictionaries_of_numbers_count_as_numbers(tmp_path):
    data = pa.table(
        {
            "flag": [True, False],
            "price": pa.array([1, 2], pa.decimal128(5, 2)),
            "level": pa.array([7, 9]).dictionary_encode(),
            "large": pa.array([2**60 + 1, 1], pa.int64()),
        }
    )
    pa.parquet.write_table(data, tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    np.testing.assert_array_equal(numeric_matrix(table, table.columns), [[1, 1, 7, 2.0**60], [0, 2, 9, 1]])


@pytest.mark.parametrize("value", [datetime.date(2020, 1, 1), datetime.timedelta(1), b"x", [1, 2], {"p": 1}])
def test_other_parquet_types_count_as_text(tmp_path, value):
    pa.parquet.write_table(pa.table({"odd": [value]}), tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    with pytest.raises(TableError, match="Not numbers: 'odd'"):
        numeric_matrix(table, table.columns)


def test_control_characters_in_names_are_written_out(tmp_path):
    with pytest.raises(TableError) as caught:
        matrix_of(tmp_path, "\x1b[31mred\nx\n")
    assert "\x1b" not in str(caught.value)
    assert r"\x1b[31mred" in str(caught.value)


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def archive(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in members.items():
            target.writestr(f"{name}.npy", content)
    return path


def header(shape, dtype="<f8"):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": dtype, "fortran_order": False, "shape": shape})
    return stream.getvalue()


def refusal(path):
    """Read a file that cannot be read in little memory; return the sentence, which is safe to print and names it."""
    tracemalloc.start()
    try:
        with pytest.raises(TableError) as caught:
            read_table(path)
        assert tracemalloc.get_traced_memory()[1] < 40e6
    finally:
        tracemalloc.stop()
    sentence = str(caught.value)
    assert path.name in sentence and sentence.isprintable()
    return sentence


def test_an_archive_is_not_decompressed_past_the_limit(tmp_path, monkeypatch):
    large = npy(np.zeros((3_000_000, 2)))
    path = archive(tmp_path / "t.npz", X=large)
    assert path.stat().st_size < 100_000
    monkeypatch.setattr(_numpy, "ARCHIVE_LIMIT", 30 << 20)
    assert "0.0447 GiB once decompressed" in refusal(path)
    monkeypatch.setattr(_numpy, "ARCHIVE_LIMIT", 60 << 20)
    assert read_table(path).data.num_rows == 3_000_000


def test_an_archive_that_lies_about_its_size_is_not_decompressed_further(tmp_path):
    """The directory of the archive says 1000 bytes where 48 MB follow."""
    path = archive(tmp_path / "t.npz", X=npy(np.zeros((3_000_000, 2))))
    content, size = path.read_bytes(), zipfile.ZipFile(path).getinfo("X.npy").file_size
    assert content.count(size.to_bytes(4, "little")) >= 2
    path.write_bytes(content.replace(size.to_bytes(4, "little"), (1000).to_bytes(4, "little")))
    assert "cannot be read as NPZ" in refusal(path)


@pytest.mark.parametrize("shape", [(10**9, 10**3), (0, 10**10), (10**10, 0), (-5, -7), (3,), ()])
@pytest.mark.parametrize("suffix", ["npy", "npz"])
def test_arrays_of_shapes_that_no_table_has(tmp_path, shape, suffix):
    content = header(shape) + bytes(8 * 35)
    path = tmp_path / f"t.{suffix}"
    path.write_bytes(content) if suffix == "npy" else archive(path, X=content)
    refusal(path)


def test_names_without_characters_take_no_memory(tmp_path):
    path = archive(tmp_path / "t.npz", X=npy(np.eye(2)), feature_names=header((10**9,), "<U0"))
    assert "shorter than its header says" in refusal(path)


def test_members_that_are_no_arrays(tmp_path):
    assert "cannot be read as NPZ" in refusal(archive(tmp_path / "a.npz", X=b"no array at all"))
    assert "cannot be read as NPZ" in refusal(archive(tmp_path / "b.npz", X=npy(np.eye(2)), feature_names=b""))
    with zipfile.ZipFile(tmp_path / "c.npz", "w") as target:
        target.writestr("X", "text, and no .npy in its name")
    assert "cannot be read as NPZ" in refusal(tmp_path / "c.npz")


def test_a_checksum_that_does_not_fit_is_noticed(tmp_path):
    path = archive(tmp_path / "t.npz", X=npy(np.arange(40.0).reshape(20, 2)))
    checksum = zipfile.ZipFile(path).getinfo("X.npy").CRC.to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(checksum, b"\x1b\x1b\x1b\x1b"))
    assert "Bad CRC" in refusal(path)


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """By extension: the bytes of a small table."""
    folder = tmp_path_factory.mktemp("samples")
    X = np.random.RandomState(0).standard_normal((30, 5))
    names = [f"column {j}" for j in range(5)]
    table = pa.table({**dict(zip(names, X.T, strict=True)), "text": ["x", "yy", "zzz"] * 10})
    np.save(folder / "t.npy", X)
    np.savez_compressed(folder / "t.npz", X=X, feature_names=names)
    pa.parquet.write_table(table, folder / "t.parquet")
    pa.csv.write_csv(table, folder / "t.csv")
    return {path.suffix: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npy", ".npz"])
def test_damaged_files_are_read_or_refused_in_one_sentence(tmp_path, samples, suffix):
    rng = np.random.default_rng(0)
    whole, path, refused = samples[suffix], tmp_path / f"t{suffix}", 0
    for _ in range(150):
        content = bytearray(whole)
        for place in rng.integers(len(content), size=rng.integers(1, 6)):
            # Most of what a reader can trip over lies at the ends.
            place = place if rng.random() < 0.4 else place % 300 if rng.random() < 0.5 else -1 - place % 300
            content[place] = rng.integers(256)
        if rng.random() < 0.2:
            del content[rng.integers(len(content)) :]
        path.write_bytes(content)
        try:
            read_table(path)
        except TableError as error:
            refused += 1
            assert str(error).isprintable() and path.name in str(error), (str(error), bytes(content))
    assert refused > 10


def test_text_of_a_binary_file_is_checked_when_it_is_read(tmp_path):
    text = pa.StringArray.from_buffers(1, pa.py_buffer(np.array([0, 2], "i4").tobytes()), pa.py_buffer(b"\xff\x1b"))
    pa.parquet.write_table(pa.table({"a": text}), tmp_path / "t.parquet")
    assert "Invalid UTF8" in refusal(tmp_path / "t.parquet")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such files")
def test_pipes_devices_and_loops_are_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "zero.npy").symlink_to("/dev/zero")
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    for name in ("pipe.csv", "zero.npy"):
        for read in (read_table, load):
            with pytest.raises(ValueError, match=f"{name} is not a plain file"):
                read(tmp_path / name)
    for read in (read_table, load):
        with pytest.raises(OSError, match="levels of symbolic links"):
            read(tmp_path / "loop.csv")
        with pytest.raises(ValueError, match="NUL character"):
            read(f"{tmp_path}/a\0.csv")


@pytest.mark.skipif(sys.platform != "linux", reason="names are text elsewhere")
def test_a_file_name_that_is_no_text(tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.csv")
    with open(path, "w") as stream:
        stream.write("a,b\n1,2\n")
    assert read_table(path).name == r"\udcff.csv"


def test_the_names_of_a_wide_table_are_made_once(tmp_path):
    """pyarrow makes the list anew each time, which took minutes for twenty thousand columns of text."""

    class Counting:
        def __init__(self, data):
            self.data, self.count = data, 0

        def __getattr__(self, name):
            self.count += name == "column_names"
            return getattr(self.data, name)

    counting = Counting(pa.table({f"c{j}": ["x"] for j in range(100)}))
    with pytest.raises(TableError, match="and 95 more"):
        _tables._check_numbers(counting)
    assert counting.count <= 2
