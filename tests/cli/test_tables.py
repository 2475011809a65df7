"""Tables as people have them: in parts, compressed, in other formats, with other marks, turned, mixed with text."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from stableselect.io import _parts


@pytest.fixture
def logs(tmp_path):
    """A folder of three parts of a table of 90 rows, as CSV and as Parquet, and all of it in one frame."""
    rng = np.random.RandomState(3)
    X = rng.standard_normal((90, 3)) @ rng.standard_normal((3, 8)) + 0.1 * rng.standard_normal((90, 8))
    frame = pd.DataFrame(X, columns=[f"s{j}" for j in range(8)])
    frame.insert(0, "id", [f"{j:03d}" for j in range(90)])
    (tmp_path / "logs").mkdir()
    for number in range(3):
        part = frame.iloc[30 * number : 30 * number + 30]
        part.to_csv(tmp_path / "logs" / f"day{number}.csv", index=False)
        part.to_parquet(tmp_path / "logs" / f"day{number}.parquet", index=False)
    frame.to_csv(tmp_path / "all.csv", index=False)
    return tmp_path, frame


def ok(run, *arguments):
    code, out, err = run(*arguments)
    assert code == 0, err
    assert all(len(line) <= 80 for line in err.splitlines()), err
    return out, err


@pytest.mark.parametrize("limit", [10, 1 << 24])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_pattern_and_several_files_are_one_table(run, logs, monkeypatch, kind, limit):
    folder, frame = logs
    options = ("-k", 3, "--id-column", "id", "--ridge", 0.1)
    expected, _ = ok(run, "select", folder / "all.csv", *options)
    monkeypatch.setattr(_parts, "WHOLE_VALUES", limit)
    files = [folder / "logs" / f"day{number}.{kind}" for number in range(3)]
    for given in ([f"{folder}/logs/*.{kind}"], files):
        out, err = ok(run, "select", *given, *options)
        assert out == expected
        assert "(90 rows)" in err
        assert ("piece by piece" in " ".join(err.split())) == (limit == 10)
    ok(run, "select", *files, *options, "-o", folder / "kept.csv")
    kept = pd.read_csv(folder / "kept.csv", dtype=str)  # older pandas reads numbers to 1e-14
    assert kept["id"].tolist() == frame["id"].tolist()
    np.testing.assert_allclose(kept[kept.columns[1:]].map(float), frame[kept.columns[1:]], rtol=1e-15)
    out, _ = ok(run, "apply", folder / "kept.selection.json", f"{folder}/logs/*.{kind}")
    assert out == (folder / "kept.csv").read_text()
    assert ok(run, "reconstruct", folder / "kept.selection.json", *files)[0].count("\n") == 91


def test_an_output_is_never_one_of_the_parts(run, logs):
    folder, _ = logs
    out = folder / "logs" / "day1.csv"
    code, _, err = run("select", f"{folder}/logs/*.csv", "-k", 3, "--id-column", "id", "-o", out, "--force")
    assert code == 2 and "is the input itself" in err


def test_a_part_that_differs_gets_one_sentence(run, logs):
    folder, _ = logs
    (folder / "logs" / "day1.csv").write_text("id,s0\x1b[31m\n1,2\n")
    code, out, err = run("select", f"{folder}/logs/*.csv", "-k", 3, "--id-column", "id")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "day1.csv lacks" in err and r"'s0\x1b[31m' besides" in err


def test_a_european_export_is_read_and_told(run, logs):
    folder, frame = logs
    expected, _ = ok(run, "select", folder / "all.csv", "-k", 3, "--id-column", "id")
    frame.rename(columns={"s1": "s1 [°C]"}).to_csv(
        folder / "eu.csv", sep=";", decimal=",", encoding="latin-1", index=False
    )
    out, err = ok(run, "select", folder / "eu.csv", "-k", 3, "--id-column", "id", "-o", folder / "kept.csv")
    told = "eu.csv was read with separator ';', decimal comma, encoding windows-1252."
    assert told in " ".join(err.split()) or told in " ".join(out.split())
    kept = pd.read_csv(folder / "kept.csv").columns[1:].tolist()
    assert sorted(kept) == sorted(name.replace("s1", "s1 [°C]") for name in expected.split())
    out, err = ok(run, "apply", folder / "kept.selection.json", folder / "eu.csv")
    assert out == (folder / "kept.csv").read_text()
    assert told in " ".join(err.split())


def test_marks_that_are_said_are_used(run, logs):
    folder, frame = logs
    expected, _ = ok(run, "select", folder / "all.csv", "-k", 3, "--id-column", "id")
    frame.to_csv(folder / "odd.csv", sep="/", decimal=",", index=False)
    said = ("--separator", "/", "--decimal", ",", "--encoding", "ascii", "--na", "fehlt")
    out, err = ok(run, "select", folder / "odd.csv", "-k", 3, "--id-column", "id", *said)
    assert out == expected and "was read with" not in err
    code, out, err = run("select", folder / "odd.csv", "-k", 3, "--id-column", "id")
    assert (code, err.count("\n")) == (2, 1)


def test_a_wrong_separator_does_not_print_the_whole_header(run, tmp_path):
    (tmp_path / "t.csv").write_text(",".join(f"column{j}" for j in range(400)) + "\n" + ",".join("1" * 400) + "\n")
    code, _, err = run("select", tmp_path / "t.csv", "--separator", ";")
    assert code == 2 and "seems to use another separator" in err and len(err) < 300


def test_selected_columns_that_are_text_in_another_table_are_told(run, logs):
    folder, frame = logs
    ok(run, "select", folder / "all.csv", "-k", 8, "--id-column", "id", "-o", folder / "kept.csv")
    frame["s3"] = "x"
    frame.to_csv(folder / "new.csv", index=False)
    _, err = ok(run, "apply", folder / "kept.selection.json", folder / "new.csv")
    assert "though not numbers: 's3' ('s3': text, such as 'x' in row 1)." in " ".join(err.split())


def test_a_file_that_cannot_be_read_names_the_options(run, tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n1;2\n3;4;5\n6\n")
    code, _, err = run("select", tmp_path / "t.csv", "-k", 1)
    assert code == 2 and "with separator ';', decimal point" in err
    assert "See --separator, --decimal, --encoding and --no-header." in err


@pytest.mark.parametrize("suffix", [".csv.gz", ".xlsx", ".feather"])
def test_apply_reads_what_select_reads(run, logs, suffix):
    folder, frame = logs
    path, frame = folder / f"t{suffix}", frame.round(6)  # workbooks keep fifteen digits
    if suffix == ".xlsx":
        pytest.importorskip("openpyxl", reason="Excel files need openpyxl")
        frame.to_excel(path, index=False)
    else:
        frame.to_feather(path) if suffix == ".feather" else frame.to_csv(path, index=False)
    ok(run, "select", path, "-k", 3, "--id-column", "id", "-o", folder / "kept.csv")
    shuffled = frame[frame.columns[::-1]].assign(extra=1)
    shuffled.to_parquet(folder / "other.parquet")
    out, _ = ok(run, "apply", folder / "kept.selection.json", folder / "other.parquet")
    assert out == ok(run, "apply", folder / "kept.selection.json", path)[0] == (folder / "kept.csv").read_text()


def test_a_messy_table_is_told_in_short_notes(run, logs):
    folder, frame = logs
    frame = frame.drop(columns="id").assign(
        comment=[f"all is well \x1b[31m {j}" for j in range(90)],
        flow=[*(f"{j / 7:.3f}" for j in range(60)), "ERR", *(f"{j / 7:.3f}" for j in range(29))],
        same=1,
        again=frame["s2"],
    )
    frame.to_csv(folder / "messy.csv")  # with the row numbers
    _, err = ok(run, "select", folder / "messy.csv", "-k", 3)
    assert "\x1b" not in err
    told = " ".join(err.split())
    for note in (
        r"'comment' (text, such as 'all is well \x1b[31m 0' in row 1); 'flow' (1 of 90 values, first 'ERR' in row 61).",
        "Row numbers? '' (the column without a name) goes up by one",
        "Constant: 'same'.",
        "'again' repeats 's2'; copies count again",
    ):
        assert told.count(note) == 1, err


@pytest.fixture
def genes(tmp_path):
    """Counts of 60 genes in 25 cells, genes as rows, with a column of symbols; and the same the other way round."""
    rng = np.random.RandomState(1)
    counts = rng.poisson(np.exp(rng.uniform(0, 6, size=(60, 1)) + 0.3 * rng.standard_normal((60, 25))))
    frame = pd.DataFrame(counts, index=[f"{j:05d}" for j in range(60)], columns=[f"cell{j}" for j in range(25)])
    frame.T.to_csv(tmp_path / "cells.csv", index_label="cell")
    frame.insert(0, "symbol", [f"G{j}" for j in range(60)])
    frame.to_csv(tmp_path / "genes.tsv", sep="\t", index_label="entrez")
    return tmp_path


def test_genes_as_rows_are_noticed_and_turned(run, genes):
    hint = "as where genes are rows: if so, transpose the table (--transpose)."
    expected, err = ok(run, "select", genes / "cells.csv", "-k", 5, "--id-column", "cell")
    assert hint not in " ".join(err.split())
    out, err = ok(run, "select", genes / "genes.tsv", "-k", 5, "--id-column", "symbol", "--drop-columns", "entrez")
    assert out.startswith("cell") and hint not in " ".join(err.split())  # what is first is not text
    out, err = ok(run, "select", genes / "genes.tsv", "-k", 5, "--id-column", "entrez")
    assert out.startswith("cell") and hint in " ".join(err.split())
    options = ("--transpose", "--id-column", "entrez", "-k", 5)
    out, err = ok(run, "select", genes / "genes.tsv", *options)
    assert out == expected and hint not in err
    assert "Left out of the transposed table, not numbers: 'symbol'." in " ".join(err.split())
    ok(run, "select", genes / "genes.tsv", *options, "-o", genes / "kept.csv")
    kept = pd.read_csv(genes / "kept.csv")
    assert kept["row"].tolist() == [f"cell{j}" for j in range(25)] and kept.shape == (25, 6)
    out, _ = ok(run, "apply", genes / "kept.selection.json", genes / "genes.tsv", *options[:3], "--quiet")
    assert out == (genes / "kept.csv").read_text()
    assert len(out.splitlines()[0].split(",")) == 6
    code, _, err = run("apply", genes / "kept.selection.json", genes / "genes.tsv")
    assert code == 2 and "lacks 5 of the 5 selected columns" in err


@pytest.mark.parametrize("limit", [10, 1 << 24])
def test_a_sketch_is_asked_for_and_told(run, logs, monkeypatch, limit):
    folder, _ = logs
    monkeypatch.setattr(_parts, "WHOLE_VALUES", limit)
    options = (f"{folder}/logs/*.parquet", "-k", 3, "--id-column", "id", "-o", folder / "kept.csv", "--force")
    out, _ = ok(run, "select", *options, "--sketch", 60)
    assert "(sketched, r = 60); no bound follows from it." in " ".join(out.split())
    record = json.loads((folder / "kept.selection.json").read_text())
    assert record["settings"]["sketch"] == 60 and len(record["selected"]) == 3
    out, _ = ok(run, "select", *options, "--sketch", "auto")
    assert "sketched" not in out


def test_tables_without_a_header_get_the_option(run, logs):
    folder, frame = logs
    ok(run, "select", folder / "all.csv", "-k", 2, "--id-column", "id", "-o", folder / "kept.csv")
    bare = [folder / f"bare{number}.csv" for number in range(2)]
    for number, path in enumerate(bare):
        frame.iloc[10 * number : 10 * number + 10].drop(columns="id").to_csv(path, index=False, header=False)
    for arguments, told in (
        (("apply", folder / "kept.selection.json", bare[0]), "lacks 2 of the 2 selected columns"),
        (("select", *bare, "-k", 2), "The part bare1.csv lacks"),
    ):
        code, _, err = run(*arguments)
        said = " ".join(err.split())
        assert code == 2 and told in said and said.endswith("read the table without a header. See --no-header.")
