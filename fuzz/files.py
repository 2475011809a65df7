"""Damaged files: every reader answers with a result or with one sentence that names the file."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.feather
from scipy import sparse

import stableselect as ss
from stableselect.cli import main
from stableselect.experiments import Run, Store, Stored
from stableselect.io import Table, apply, read_table, reconstruct, write_table
from stableselect.persistence import to_json
from stableselect.workflow import SelectionRequest, select_table

from .checks import check_sentence, expect, no_escaping_warnings
from .tables import Generator, factors

TEXTS = (
    b"1e999",
    b"-1",
    b"99999999999999999999999",
    b"nan",
    b"",
    b'"',
    b"\x1b[31m",
    b"\x00",
    b"\xff\xfe",
    b"\r",
    b"=cmd()",
)
VALUES = (None, True, -1, 10**25, 1e308, "", "x\x1b[2J", [], {}, [[]], {"array": "scores_-0"}, {"tuple": [1]}, 0.5, "0")
NASTY = "odd\x1b[31m\n"
"""A file name that would steer the terminal if it were printed as it is."""


_PACKED: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    ".csv.gz": (lambda content: gzip.compress(content, mtime=0), gzip.decompress),
    ".csv.zst": (
        lambda content: pa.Codec("zstd").compress(content, asbytes=True),
        lambda content: pa.CompressedInputStream(io.BytesIO(content), "zstd").read(),
    ),
}
"""By extension: how a text is compressed, and how it is read again."""


class _Payload:
    """Makes a folder when it is unpickled."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.folder,)


@cache
def sound_table() -> Table:
    """Return a small table with an identifier and a flag."""
    X = factors(np.random.default_rng(0), 12, 4)
    columns: dict[str, Any] = {"id": [f"r{j}" for j in range(12)], **{f"a{j}": X[:, j] for j in range(4)}}
    return Table(pa.table(columns | {"flag": X[:, 0] > 0, "count": np.arange(12)}), "sound.csv")


@cache
def sound_file(kind: str) -> bytes:
    """Return the content of a valid file of this extension."""
    X = factors(np.random.default_rng(1), 12, 4)
    with tempfile.TemporaryDirectory(prefix="fuzz") as folder:
        path = Path(folder, f"sound{kind}")
        if kind in (".csv", ".tsv", ".parquet"):
            write_table(sound_table().data, path)
        elif kind in _PACKED:
            path.write_bytes(_PACKED[kind][0](sound_file(".csv")))
        elif kind in (".feather", ".arrow"):
            pa.feather.write_feather(sound_table().data, path, compression="uncompressed" if kind == ".arrow" else None)
        elif kind == ".xlsx":
            book = openpyxl.Workbook()
            for row in (sound_table().columns, *zip(*sound_table().data.to_pydict().values(), strict=True)):
                book.active.append(list(row))
            book.save(path)
        elif kind == ".h5ad":
            with h5py.File(path, "w") as file:
                file["X"] = X
                for axis, size in zip(("obs", "var"), X.shape, strict=True):
                    file.create_group(axis).attrs["_index"] = "names"
                    file[f"{axis}/names"] = [f"{axis}{j}" for j in range(size)]
        elif kind == ".npy":
            np.save(path, X)
        elif kind == ".npz":
            np.savez(path, X=X, feature_names=np.array(list("abcd")))
        elif kind == ".sselect":
            ss.save(ss.ScorerSelector(2).partial_fit(X), path)
        elif kind == ".selection.json":
            path.write_text(to_json(select_table(sound_table(), SelectionRequest(k=2, id_columns=["id"]))))
        else:
            run = Run("glioma", "LS", "paper", 0, 0, 64)
            with Store(folder, write=True) as store:
                store.add(Stored(run, "done", {"least_squares": 0.5, "selected": [1, 2]}, "", ended=1.0))
            path = Path(folder, "runs", "selection-glioma.jsonl.xz")
        return path.read_bytes()


def damaged(content: bytes, rng: Generator) -> bytes:
    """Return bytes with one thing changed."""
    at, to = np.sort(rng.integers(0, len(content) + 1, size=2)).tolist()
    part = content[at : min(to, at + 40)]
    noise, text = rng.bytes(int(rng.integers(1, 9))), TEXTS[rng.integers(len(TEXTS))]
    flipped = bytes([part[0] ^ (1 << int(rng.integers(8)))]) + part[1:] if part else noise
    changes = (
        content[:at],
        content[at:],
        content[:at] + noise + content[at:],
        content[:at] + text + content[at + len(text) :],
        content[:at] + text + content[at:],
        content[:at] + content[at + len(part) :],
        content[:at] + part + content[at:],
        content[:at] + flipped + content[at + len(flipped) :],
        content[:at] + flipped + content[at + len(flipped) :],
        content[to:] + content[at:to] + content[:at],
        b"",
    )
    return changes[rng.integers(len(changes))]


def _edited(tree: Any, rng: Generator) -> Any:
    """Return a JSON tree with one entry replaced, dropped or repeated."""
    if not isinstance(tree, dict | list) or not tree or rng.random() < 0.15:
        return VALUES[rng.integers(len(VALUES))]
    keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
    key = keys[rng.integers(len(keys))]
    copy = tree.copy()
    if rng.random() < 0.15:
        del copy[key]
    elif rng.random() < 0.1:
        copy = [*copy, copy[key]] if isinstance(copy, list) else copy | {f"{key}\n": copy[key]}
    else:
        copy[key] = _edited(tree[key], rng)
    return copy


def edited_text(content: bytes, rng: Generator) -> bytes:
    """Return JSON text with one entry changed, or one byte."""
    if rng.random() < 0.3:
        return damaged(content, rng)
    return json.dumps(_edited(json.loads(content), rng)).encode()


def edited_zip(content: bytes, rng: Generator, marker: str) -> bytes:
    """Return an archive, valid as such, with one member changed."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = str(rng.choice(list(parts)))
    if rng.random() < 0.15:
        del parts[name]
    elif name.endswith(".json"):
        parts[name] = edited_text(parts[name], rng)
    else:
        parts[name] = pickled(marker) if rng.random() < 0.2 else damaged(parts[name], rng)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)[rng.integers(2)]) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return stream.getvalue()


def edited_h5ad(content: bytes, rng: Generator) -> bytes:
    """Return an HDF5 file, valid as such, with one item replaced, gone or linked elsewhere."""
    stream = io.BytesIO(content)
    with h5py.File(stream, "r+") as file:
        if rng.random() < 0.5:  # sparse
            X = sparse.csr_matrix(file["X"][:])
            del file["X"]
            group = file.create_group("X")
            group.attrs.update({"encoding-type": str(rng.choice(["csr_matrix", "csc_matrix"])), "shape": X.shape})
            for part in ("data", "indices", "indptr"):
                values = getattr(X, part).copy()
                if rng.random() < 0.3:
                    values[rng.integers(len(values))] = rng.choice([-1, 0, 3, 10**6])
                group[part] = values[: rng.integers(len(values))] if rng.random() < 0.1 else values
        name = str(rng.choice(["X", "obs", "var", "obs/names", "var/names"]))
        how = int(rng.integers(5))
        if how == 0:
            file[name].attrs[str(rng.choice(["_index", "shape", "encoding-type"]))] = str(
                rng.choice(["", "X", "../X", "9"])
            )
        elif how < 4:
            del file[name]
        if how == 1:
            odd = (
                np.zeros((0, 4)),
                np.full((12, 4), np.nan),
                np.array([b"\xff\x1b"]),
                np.zeros(()),
                np.ones((2, 2, 2)),
            )
            file[name] = odd[rng.integers(len(odd))]
        elif how == 2:
            file[name] = (h5py.ExternalLink("other.h5", "/X"), h5py.SoftLink("/obs"))[rng.integers(2)]
    return stream.getvalue()


def pickled(marker: str) -> bytes:
    """Return an array of objects that make a folder when they are unpickled."""
    stream = io.BytesIO()
    np.save(stream, np.array([[_Payload(marker)]], dtype=object), allow_pickle=True)
    return stream.getvalue()


def mutated(kind: str, rng: Generator, marker: str) -> bytes:
    """Return a damaged file of this extension."""
    content = sound_file(kind)
    deep = rng.random() < 0.6
    if deep and kind in (".npz", ".sselect", ".xlsx"):
        content = edited_zip(content, rng, marker)
    elif deep and kind == ".selection.json":
        content = edited_text(content, rng)
    elif deep and kind == ".jsonl.xz":
        content = lzma.compress(edited_text(lzma.decompress(content).strip(), rng) + b"\n")
    elif kind == ".h5ad":  # cut short, or valid as HDF5: with other bytes changed, HDF5's own library can hang
        content = edited_h5ad(content, rng) if deep else content[: rng.integers(len(content))]
    elif deep and kind in _PACKED:
        pack, unpack = _PACKED[kind]
        content = pack(damaged(unpack(content), rng))
    elif deep and kind == ".npy" and rng.random() < 0.2:
        content = pickled(marker)
    else:
        for _ in range(rng.integers(1, 4)):
            content = damaged(content, rng)
    return content


def _read(path: Path, kind: str, rng: Generator) -> None:
    """Read a file and use what came."""
    if kind == ".jsonl.xz":
        Store(path.parent.parent).runs()
    elif kind == ".sselect":
        selector = ss.load(path)
        kept = selector.transform(np.zeros((2, selector.n_features_in_)))
        selector.reconstruct(kept)
    elif kind == ".selection.json":
        selection: Any = ss.load(path)
        reconstruct(selection, Table(apply(selection, sound_table()), "kept.csv"))
    else:
        table = read_table(path, header=bool(rng.random() < 0.8))
        if rng.random() < 0.5:
            select_table(table, SelectionRequest(k=1))


def _command(path: Path, kind: str, rng: Generator) -> list[str]:
    """Return a command line that reads the file."""
    out = ["-o", str(path.parent / f"out{('.csv', '.parquet', '.npy')[rng.integers(3)]}")]
    if kind == ".sselect":
        return ["apply", str(path), str(path), *out]
    if kind == ".jsonl.xz":
        return ["paper", "show", "table3", "--results", str(path.parent.parent)]
    if kind == ".selection.json":
        table = path.parent / "sound.csv"
        table.write_bytes(sound_file(".csv"))
        return [("apply", "reconstruct")[rng.integers(2)], str(path), str(table), *out]
    flags: list[list[str]] = [[], ["-q"], ["--no-header"], ["--drop-columns", "id"], ["--scale", "none"], ["--explain"]]
    flags += [["--transpose"], ["--separator", ";"], ["--decimal", ","], ["--encoding", "utf-16"], ["--sketch", "5"]]
    return ["select", str(path), "-k", "1", *(out if rng.random() < 0.5 else []), *flags[rng.integers(len(flags))]]


def run_command(argv: list[str]) -> tuple[int, str, str]:
    """Run the command line in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(argv)
    return code, out.getvalue(), err.getvalue()


TABLES = (".csv", ".tsv", *_PACKED, ".feather", ".arrow", ".npy", ".npz", ".parquet", ".xlsx", ".h5ad")
FORMATS = (*TABLES, ".sselect", ".selection.json", ".jsonl.xz")


def file_case(rng: Generator, note: Any) -> None:
    """Damage a file and read it, by the library or by the command line."""
    kind = str(rng.choice(FORMATS))
    note.kind = kind
    with tempfile.TemporaryDirectory(prefix="fuzz") as name:
        folder = Path(name)
        marker = folder / "unpickled"
        stem = NASTY if rng.random() < 0.1 else "odd"
        path = folder / f"{stem}{kind}"
        if kind == ".jsonl.xz":
            path = folder / "runs" / path.name
            path.parent.mkdir()
        path.write_bytes(mutated(kind, rng, str(marker)))
        before = {item.name for item in folder.iterdir()} | {"sound.csv"}
        by_command = rng.random() < (0.05 if kind == ".jsonl.xz" else 0.35)
        note.law, note.subject = "damaged file", "command" if by_command else "library"
        if by_command:
            argv = _command(path, kind, rng)
            note.detail = " ".join(argv)
            with no_escaping_warnings():
                code, out, err = run_command(argv)
            expect(code in (0, 2), f"exit code {code}: {err!r:.300}")
            expect((out + err).replace("\n", "").isprintable(), f"control characters: {(out + err)!r:.300}")
            left = {item.name for item in folder.iterdir()} - before
            if code:
                expect(err.count("\n") == 1, f"not one sentence: {err!r:.300}")
                expect(not left, f"files are left after an error: {sorted(left)}")
            expect(not any(item.endswith(".tmp") for item in left), f"temporary files are left: {sorted(left)}")
        else:
            try:
                with no_escaping_warnings():
                    _read(path, kind, rng)
            except Exception as error:
                told = check_sentence(error, (ValueError, OSError))
                expect(
                    "odd" in told or "sound" in told or _about_values(told), f"does not name the file: {told!r:.300}"
                )
        expect(not marker.exists(), "code in the file was run")


def _about_values(told: str) -> bool:
    """Tell whether a sentence is about columns and rows of a table that was read."""
    return any(word in told.lower() for word in ("column", "row", "feature", "sample", "value"))
