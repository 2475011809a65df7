"""Kinds of files beside CSV, Parquet and NumPy: compressed text, Arrow, Excel, AnnData, and standard input."""

from __future__ import annotations

import gzip
import io
import sys
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from scipy import sparse

from stableselect.io import Table, TableError, TableParts, _excel, _parts, _read, _sources, open_table, read_table
from stableselect.io._tables import numeric_matrix
from stableselect.workflow import SelectionRequest, select_table

TEXT = "id,a,b\nr1,1,2.5\nr2,3,4.5\n"
DATA = {"id": ["r1", "r2"], "a": [1, 3], "b": [2.5, 4.5]}


def compressed(content, codec):
    return gzip.compress(content) if codec == "gzip" else pa.Codec(codec).compress(content, asbytes=True)


@pytest.mark.parametrize("suffix", ["csv.gz", "csv.zst", "CSV.GZ", "gz", "zst", "csv"])
def test_compressed_text_is_read_as_it_is(tmp_path, suffix):
    codec = "zstd" if suffix.endswith("zst") else "gzip"
    (tmp_path / f"t.{suffix}").write_bytes(compressed(TEXT.encode(), codec))
    assert read_table(tmp_path / f"t.{suffix}").data.to_pydict() == DATA


def test_compressed_tsv_and_several_members(tmp_path):
    halves = gzip.compress(b"a\tb\n1\t2\n"), gzip.compress(b"3\t4\n")
    (tmp_path / "t.tsv.gz").write_bytes(b"".join(halves))
    assert read_table(tmp_path / "t.tsv.gz").data.to_pydict() == {"a": [1, 3], "b": [2, 4]}


def test_a_decompression_bomb_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(_sources, "ARCHIVE_LIMIT", 1 << 22)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * (1 << 21)))
    with pytest.raises(TableError, match=r"t\.csv\.gz holds more than 0\.00391 GiB once decompressed"):
        read_table(tmp_path / "t.csv.gz")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * (1 << 19)))
    assert read_table(tmp_path / "t.csv.gz").data.num_rows == 1 << 19


@pytest.mark.parametrize("cut", [1, 20])
def test_truncated_compressed_files_are_refused(tmp_path, cut):
    whole = gzip.compress("".join(f"{j},{j * j % 17}\n" for j in range(3000)).encode())
    (tmp_path / "t.csv.gz").write_bytes(whole[: -len(whole) // 2 if cut == 20 else -9])
    with pytest.raises(TableError, match=r"t\.csv\.gz cannot be read"):
        read_table(tmp_path / "t.csv.gz")


@pytest.mark.parametrize("suffix", [".arrow", ".feather", ".ipc"])
@pytest.mark.parametrize("form", ["file", "stream", "lz4", "zstd"])
def test_arrow_files(tmp_path, suffix, form):
    path, table = tmp_path / f"t{suffix}", pa.table(DATA)
    if form in ("file", "stream"):
        with (pa.ipc.new_file if form == "file" else pa.ipc.new_stream)(path, table.schema) as writer:
            writer.write_table(table)
    else:
        pa.feather.write_feather(table, path, compression=form)
    assert read_table(path).data.to_pydict() == DATA


@pytest.mark.parametrize("form", ["file", "stream"])
def test_compressed_batches_are_bounded(tmp_path, monkeypatch, form):
    monkeypatch.setattr(_read, "ARCHIVE_LIMIT", 1 << 20)
    zeros, path = pa.table({"a": np.zeros(1 << 20)}), tmp_path / "t.arrow"
    for codec in ("zstd", None):
        options = pa.ipc.IpcWriteOptions(compression=codec)
        with (pa.ipc.new_file if form == "file" else pa.ipc.new_stream)(path, zeros.schema, options=options) as writer:
            writer.write_table(zeros, max_chunksize=1 << 12)
        if codec is None:  # as large in memory as in the file
            assert read_table(path).data.num_rows == 1 << 20
            continue
        with pytest.raises(TableError, match=r"t\.arrow takes more than 0\.000977 GiB decompressed"):
            read_table(path)


def test_parquet_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(_read, "ARCHIVE_LIMIT", 1 << 20)
    table, path = pa.table({"a": np.arange(4096.0), "id": ["x" * 2000] * 4096}), tmp_path / "t.parquet"
    pa.parquet.write_table(table, path)
    with pytest.raises(TableError, match=r"t\.parquet takes more than 0\.000977 GiB decompressed; give fewer rows"):
        read_table(path)
    pa.parquet.write_table(table.slice(0, 400), path, row_group_size=100)
    assert read_table(path).data.equals(table.slice(0, 400))


def test_excel(tmp_path):
    pytest.importorskip("openpyxl", reason="Excel files need openpyxl")
    frame = pd.DataFrame({"id": ["r1", "r2", "r3"], "a": [1, 2, 3], "b": [0.5, None, 2], "c": [1, "N/A", 2.5]})
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        frame.to_excel(book, sheet_name="first", index=False)
        frame.to_excel(book, sheet_name="second", index=False)
    table = read_table(tmp_path / "t.xlsx")
    assert table.data.to_pydict() == {
        "id": ["r1", "r2", "r3"],
        "a": [1, 2, 3],
        "b": [0.5, None, 2],
        "c": [1.0, None, 2.5],
    }
    assert table.notes == ("t.xlsx has 2 sheets; the first, 'first', was read.",)
    assert read_table(tmp_path / "t.xlsx", header=False).columns == ["c0", "c1", "c2", "c3"]


def test_excel_says_what_is_missing(tmp_path, monkeypatch):
    (tmp_path / "t.xlsx").write_bytes(b"PK")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match=r't\.xlsx needs openpyxl: pip install "stableselect\[excel\]"'):
        read_table(tmp_path / "t.xlsx")


def test_a_workbook_that_is_none_or_too_large(tmp_path, monkeypatch):
    openpyxl = pytest.importorskip("openpyxl", reason="Excel files need openpyxl")
    path = tmp_path / "t.xlsx"
    path.write_bytes(b"PK no")
    with pytest.raises(TableError, match=r"t\.xlsx cannot be read as XLSX"):
        read_table(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/other.xml", "<a/>")
    with pytest.raises(TableError, match=r"t\.xlsx cannot be read as XLSX"):
        read_table(path)
    book = openpyxl.Workbook()
    book.active["A1"], book.active["B1"], book.active["B200000"] = "a", "b", 2.0
    book.save(path)
    monkeypatch.setattr(_excel, "_CELL_LIMIT", 100_000)
    with pytest.raises(TableError, match="has more than 100000 cells"):
        read_table(path)
    monkeypatch.setattr(_excel, "_SHEET_LIMIT", 100)
    with pytest.raises(TableError, match="sheet of more than"):
        read_table(path)


@pytest.mark.parametrize("how", ["csv", "tsv", "gz", "parquet", "arrow", "npy", "npz", "xlsx"])
def test_standard_input_is_of_any_kind(monkeypatch, how):
    sink, numbers = io.BytesIO(), pd.DataFrame({"a": [1.0, 3.0], "b": [2.5, 4.5]})
    if how == "xlsx":
        pytest.importorskip("openpyxl", reason="Excel files need openpyxl")
        numbers.to_excel(sink, index=False)
    elif how in ("csv", "tsv", "gz"):
        text = numbers.to_csv(index=False, sep="\t" if how == "tsv" else ",").encode()
        sink.write(gzip.compress(text) if how == "gz" else text)
    elif how == "parquet":
        numbers.to_parquet(sink, index=False)
    elif how == "arrow":
        pa.feather.write_feather(pa.Table.from_pandas(numbers), sink)
    elif how == "npy":
        np.save(sink, numbers.to_numpy())
    else:
        np.savez(sink, X=numbers.to_numpy())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(sink.getvalue())))
    table = read_table("-")
    assert table.name == "standard input"
    np.testing.assert_array_equal(numeric_matrix(table, table.columns), numbers)


def h5ad(path, X, *, names=None, index="_index", cells=None):
    """Write what anndata writes of a matrix and the names of its rows and columns."""
    h5py = pytest.importorskip("h5py", reason="AnnData files need h5py")
    n, m = X.shape
    with h5py.File(path, "w") as file:
        if sparse.issparse(X):
            group = file.create_group("X")
            group.attrs["encoding-type"] = f"{X.format}_matrix"
            group.attrs["shape"] = X.shape
            for part in ("data", "indices", "indptr"):
                group.create_dataset(part, data=getattr(X, part), compression="gzip")
        else:
            file.create_dataset("X", data=X)
        axes = {"var": names or [f"gene{j}" for j in range(m)], "obs": cells or [f"cell{j}" for j in range(n)]}
        for axis, labels in axes.items():
            group = file.create_group(axis)
            group.attrs["_index"] = index
            group.create_dataset(index, data=np.array(labels, dtype=object), dtype=h5py.string_dtype())
    return path


def counts(rng, n=300, m=20):
    return sparse.random(n, m, density=0.2, format="csr", random_state=int(rng.integers(99)), dtype=np.float32)


@pytest.mark.parametrize("form", ["dense", "csr", "csc"])
def test_anndata_small_enough_is_a_table(tmp_path, rng, form):
    X = counts(rng)
    path = h5ad(tmp_path / "t.h5ad", X.toarray() if form == "dense" else X.asformat(form))
    table = open_table(path)
    assert isinstance(table, Table)
    assert table.columns == ["cell", *(f"gene{j}" for j in range(20))] and table.ids == ("cell",)
    np.testing.assert_array_equal(numeric_matrix(table, table.columns[1:]), X.toarray())
    assert table.data["cell"].to_pylist()[:2] == ["cell0", "cell1"]


def test_names_that_are_stored_with_a_mask(tmp_path, rng):
    h5py = pytest.importorskip("h5py", reason="AnnData files need h5py")
    path = h5ad(tmp_path / "t.h5ad", counts(rng))
    with h5py.File(path, "a") as file:
        names = file["var/_index"][()]
        del file["var/_index"]
        group = file["var"].create_group("_index")
        group.create_dataset("values", data=names, dtype=h5py.string_dtype())
        group.create_dataset("mask", data=np.zeros(20, dtype=bool))
    assert read_table(path).columns[:2] == ["cell", "gene0"]


@pytest.mark.filterwarnings("ignore")
def test_a_file_that_anndata_wrote(tmp_path, rng):
    anndata = pytest.importorskip("anndata", reason="compared with anndata where it is installed")
    X, path = counts(rng), tmp_path / "t.h5ad"
    frames = [
        pd.DataFrame(index=pd.Index([f"{axis}{j}" for j in range(size)], dtype=object))
        for axis, size in zip("cg", X.shape, strict=True)
    ]
    anndata.AnnData(X, *frames).write_h5ad(path)
    table = read_table(path)
    assert table.columns[1:] == [f"g{j}" for j in range(20)]
    np.testing.assert_array_equal(numeric_matrix(table, table.columns[1:]), X.toarray())


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_sparse_anndata_stays_sparse(tmp_path, rng, monkeypatch, form):
    X = counts(rng, n=3000)
    monkeypatch.setattr(_parts, "WHOLE_VALUES", 10)
    monkeypatch.setattr(_read, "_PIECE_VALUES", 20)
    table = open_table(h5ad(tmp_path / "t.h5ad", X.asformat(form), index="barcode"))
    assert isinstance(table, TableParts) and table.ids == ("barcode",)
    blocks = list(table.blocks(["gene3", "gene0"]))
    assert len(blocks) == 3 and all(sparse.issparse(block) for block in blocks)
    np.testing.assert_array_equal(sparse.vstack(blocks).toarray(), X[:, [3, 0]].toarray())
    taken = table.take(["gene1", "barcode"]).data
    np.testing.assert_array_equal(taken["gene1"].to_numpy(), X[:, [1]].toarray().ravel())
    assert taken.column_names == ["gene1", "barcode"] and taken["barcode"].to_pylist()[2999] == "cell2999"
    assert table.head(["barcode"]).data["barcode"].to_pylist()[0] == "cell0"
    assert table.not_numbers(["barcode", "gene1"]) == {"barcode": "text"}


def test_columns_are_selected_from_sparse_anndata_without_making_it_dense(tmp_path, rng, monkeypatch):
    X = counts(rng, n=2500)
    X = sparse.csr_matrix(sparse.hstack([X, X @ sparse.csr_matrix(rng.normal(size=(20, 5)))]))
    path = h5ad(tmp_path / "t.h5ad", X)
    request = SelectionRequest(k=6, ridge=0.01)
    expected = select_table(open_table(path), request)
    monkeypatch.setattr(_parts, "WHOLE_VALUES", 10)
    monkeypatch.setattr(_parts, "h5ad_pieces", lambda *_: pytest.fail("all of it was made dense"))
    selection = select_table(open_table(path), request)
    assert selection.selected_names == expected.selected_names
    assert selection.id_columns == expected.id_columns == ("cell",)


def test_anndata_says_what_is_missing(tmp_path, monkeypatch):
    (tmp_path / "t.h5ad").write_bytes(b"\x89HDF")
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match=r't\.h5ad needs h5py: pip install "stableselect\[tables\]"'):
        read_table(tmp_path / "t.h5ad")


def test_anndata_never_reads_another_file(tmp_path, rng):
    h5py = pytest.importorskip("h5py", reason="AnnData files need h5py")
    X = counts(rng).toarray()
    h5ad(tmp_path / "secret.h5ad", X)
    path = h5ad(tmp_path / "t.h5ad", X)
    with h5py.File(path, "a") as file:
        del file["X"]
        file["X"] = h5py.ExternalLink("secret.h5ad", "/X")
    with pytest.raises(TableError, match=r"t\.h5ad cannot be read as H5AD \(X is a link, which is not followed\)"):
        read_table(path)
    with h5py.File(path, "a") as file:
        del file["X"]
        layout = h5py.VirtualLayout(X.shape, dtype=X.dtype)
        layout[:] = h5py.VirtualSource(str(tmp_path / "secret.h5ad"), "X", shape=X.shape)
        file.create_virtual_dataset("X", layout)
    with pytest.raises(TableError, match="in another file"):
        read_table(path)
    with h5py.File(path, "a") as file:
        del file["X"]
        raw = [(str(tmp_path / "secret.h5ad"), 0, h5py.h5f.UNLIMITED)]
        file.create_dataset("X", shape=X.shape, dtype="f4", external=raw)
    with pytest.raises(TableError, match="in another file"):
        read_table(path)


def test_anndata_that_does_not_fit_together(tmp_path, rng, monkeypatch):
    h5py = pytest.importorskip("h5py", reason="AnnData files need h5py")
    X = counts(rng)

    def broken(change):
        path = h5ad(tmp_path / "t.h5ad", X)
        with h5py.File(path, "a") as file:
            change(file)
        with pytest.raises(TableError, match=r"t\.h5ad") as caught:
            table = read_table(path)
            numeric_matrix(table, table.columns[1:])
        return str(caught.value)

    def set_shape(file):
        file["X"].attrs["shape"] = (10**9, 10**9)

    def set_indices(file):
        file["X/indices"][0] = 10**6

    def set_indptr(file):
        file["X/indptr"][3] = 10**6

    def drop_names(file):
        del file["var"]

    def bomb(file):
        del file["X"]
        file.create_dataset("X", shape=(10**6, 10**6), dtype="f8", chunks=(1000, 1000), compression="gzip")

    assert "do not fit together" in broken(set_shape)
    assert "outside of its shape" in broken(set_indices)
    assert "do not fit together" in broken(set_indptr)
    assert "there is no var" in broken(drop_names)
    assert "names for 1000000" in broken(bomb)


@pytest.mark.parametrize("suffix", [".csv.gz", ".feather", ".xlsx", ".h5ad"])
def test_damaged_files_are_read_or_refused_in_one_sentence(tmp_path, rng, suffix):
    path = tmp_path / f"t{suffix}"
    X = counts(rng, n=30, m=5)
    frame = pd.DataFrame(X.toarray())
    frame.columns = list("abcde")
    if suffix == ".h5ad":
        h5ad(path, X)
    elif suffix == ".xlsx":
        pytest.importorskip("openpyxl", reason="Excel files need openpyxl")
        frame.to_excel(path, index=False)
    elif suffix == ".feather":
        pa.feather.write_feather(pa.Table.from_pandas(frame), path)
    else:
        path.write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    whole, refused = path.read_bytes(), 0
    for _ in range(40):
        content = bytearray(whole)
        for place in rng.integers(len(content), size=0 if suffix == ".h5ad" else 3):  # HDF5 itself may crash
            content[place] = rng.integers(256)
        if rng.random() < 0.3 or suffix == ".h5ad":
            del content[rng.integers(len(content)) :]
        path.write_bytes(content)
        try:
            read_table(path)
        except TableError as error:
            refused += 1
            assert str(error).isprintable() and path.name in str(error), str(error)
    assert refused > 3
