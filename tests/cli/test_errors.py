from __future__ import annotations

import os
import stat

import numpy as np
import pandas as pd
import pytest

import stableselect.cli
from stableselect import io, persistence, workflow

ROLES = ("--id-column", "id", "--drop-columns", "word")


def refused(run, folder, *arguments):
    """Run, check that one sentence on standard error is all that came of it, and return the sentence."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    return err


BAD_OPTIONS = {
    "text": (("--include", "word"), "--include: 'word' does not hold numbers (text, such as 'w, 0' in row 1)"),
    "k of zero": ((*ROLES, "-k", "0"), "-k: must be a whole number from 1,"),
    "k below zero": ((*ROLES, "-k", "-2"), "got '-2'"),
    "k no number": ((*ROLES, "-k", "few"), "got 'few'"),
    "k no share": ((*ROLES, "-k", "1.5"), "a fraction above 0.0 and up to 1.0"),
    "k too large": ((*ROLES, "-k", "7"), "-k: 7 columns are asked for and there are 6"),
    "unknown include": ((*ROLES, "--include", "summ"), "did you mean 'sum'?"),
    "both": ((*ROLES, "--include", "a", "--exclude", "a"), "'a' is both included and excluded"),
    "unknown drop": ((*ROLES, "--drop-columns", "a,zzz"), "--drop-columns: the table has no column 'zzz'"),
    "unknown id": (("--id-column", "zzz"), "--id-column: the table has no column 'zzz'"),
    "method without include": (
        (*ROLES, "--method", "pfa", "--include", "a"),
        "--include: PFA does not have this setting",
    ),
    "method": ((*ROLES, "--method", "magic"), "--method: there is no 'magic'"),
    "scale": ((*ROLES, "--scale", "log"), "'log' is not one of"),
    "ridge": ((*ROLES, "--ridge", "-1"), "--ridge: must be auto or a number"),
    "ridge beyond computing": ((*ROLES, "--ridge", "1e308"), "--ridge: must be auto or a number from 0 to 1e99"),
    "output without a name": ((*ROLES, "-o", ""), "has no extension"),
    "control characters": ((*ROLES, "--scale", "\x1b[31m"), r"'\x1b[31m' is not one of"),
    "seed": ((*ROLES, "--seed", "-1"), "--seed: must be"),
    "sketch": ((*ROLES, "--sketch", "some"), "--sketch: must be auto or a whole number from 1, got 'some'"),
    "sketch of nothing": ((*ROLES, "--sketch", "0"), "--sketch: must be auto"),
    "sketch and auto": ((*ROLES, "-k", "auto", "--sketch", "50"), "--sketch: holds no rows out"),
    "sketch of another method": ((*ROLES, "--method", "pfa", "--sketch", "50"), "--sketch: PFA does not have"),
    "separator": ((*ROLES, "--separator", ";;"), "The separator must be one character"),
    "decimal": ((*ROLES, "--decimal", "x"), "--decimal"),
    "encoding": ((*ROLES, "--encoding", "klingon"), "There is no encoding 'klingon'; try latin-1"),
    "wrong separator": ((*ROLES, "--separator", "|"), "--drop-columns: the table has no column 'word'"),
    "seed no number": ((*ROLES, "--seed", "x"), "--seed"),
    "unknown option": (("--magic",), "--magic"),
    "extension": ((*ROLES, "-o", "out.xlsx"), "expected one of .csv"),
    "folder": ((*ROLES, "-o", "no/out.csv"), "folder no does not exist"),
    "text ids in arrays": ((*ROLES, "-k", "1", "-o", "out.npy"), "write .csv or .parquet"),
}


@pytest.mark.parametrize("case", BAD_OPTIONS)
def test_bad_options_get_one_sentence_and_change_nothing(run, messy, monkeypatch, case):
    monkeypatch.chdir(messy.parent)
    options, message = BAD_OPTIONS[case]
    assert message in refused(run, messy.parent, "select", "messy.csv", *options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,\n2,3\n", "Missing values in 'b' (1)"),
        ("a,b\n1,inf\n2,3\n", "Infinite values in 'b'"),
        ("a,b\n1,2\n3\n", "Row #3"),
        ("a,b\n", "is empty"),
        ("a,a\n1,2\n", "more than one column named 'a'"),
        ("b,c\n0.5,x\n<0.5,y\n7,z\n", "No column holds numbers ('b': 1 of 3 values, first '<0.5' in row 2, 'c': text"),
    ],
)
def test_bad_tables_get_one_sentence(run, tmp_path, text, message):
    (tmp_path / "t.csv").write_text(text)
    assert message in refused(run, tmp_path, "select", tmp_path / "t.csv", "-o", tmp_path / "out.csv")


def test_missing_values_of_real_size_are_counted(run, tmp_path):
    X = np.ones((20, 30))
    X[:7, 3] = X[:9, 20] = np.nan
    np.save(tmp_path / "t.npy", X)
    assert "Missing values in 'c20' (9), 'c3' (7);" in refused(run, tmp_path, "select", tmp_path / "t.npy")


def test_missing_file_and_missing_argument(run, tmp_path):
    assert "does not exist" in refused(run, tmp_path, "select", tmp_path / "none.csv")
    assert "Missing argument 'TABLE'" in refused(run, tmp_path, "select")
    assert "No such command 'pick'" in refused(run, tmp_path, "pick")


@pytest.mark.parametrize("there", ["out.csv", "out.selection.json"])
def test_both_outputs_are_checked_before_the_work(run, messy, tmp_path, monkeypatch, there):
    (tmp_path / there).write_text("precious")
    monkeypatch.setattr(io, "open_table", lambda *a, **k: pytest.fail("the work was begun"))
    assert f"{there} exists already" in refused(run, tmp_path, "select", messy, *ROLES, "-o", tmp_path / "out.csv")


def test_force_replaces(run, messy, tmp_path):
    for name in ("out.csv", "out.selection.json"):
        (tmp_path / name).write_text("old")
    code, _, err = run("select", messy, *ROLES, "-k", 1, "-o", tmp_path / "out.csv", "--force")
    assert code == 0, err
    assert len(pd.read_csv(tmp_path / "out.csv")) == 40


def test_the_input_is_never_the_output(run, messy, tmp_path):
    assert "is the input itself" in refused(run, tmp_path, "select", messy, *ROLES, "-o", messy, "--force")
    run("select", messy, *ROLES, "-k", 1, "-o", tmp_path / "out.csv", "--quiet")
    made = tmp_path / "out.selection.json"
    assert "is the input itself" in refused(run, tmp_path, "apply", made, messy, "-o", messy, "--force")
    assert "exists already" in refused(run, tmp_path, "apply", made, messy, "-o", tmp_path / "out.csv")
    assert "is neither a selector nor a selection" in refused(run, tmp_path, "apply", messy, messy)
    lacking = tmp_path / "lacking.csv"
    lacking.write_text("x\n1\n")
    assert "lacks 1 of the 1 selected columns" in refused(run, tmp_path, "reconstruct", made, lacking)


def test_a_failure_while_writing_leaves_no_file(run, messy, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(persistence, "to_json", full)
    arguments = ("select", messy, *ROLES, "-k", 1, "-o", tmp_path / "out.csv")
    assert "No space left on device" in refused(run, tmp_path, *arguments)
    assert os.listdir(tmp_path) == ["messy.csv"]


def test_outputs_have_the_usual_permissions(run, messy, tmp_path):
    run("select", messy, *ROLES, "-k", 1, "-o", tmp_path / "out.csv")
    (tmp_path / "plain").write_text("")
    assert stat.S_IMODE((tmp_path / "out.csv").stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


def test_debug_shows_the_traceback(run, tmp_path):
    code, _, err = run("select", tmp_path / "none.csv", "--debug")
    assert code == 2
    assert "Traceback" in err
    assert err.splitlines()[-1].startswith("stableselect: ")


def test_a_fault_of_the_program_says_so(run, messy, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("it broke")

    monkeypatch.setattr(workflow, "select_table", broken)
    code, _, err = run("select", messy)
    assert code == 1
    assert err == "stableselect: Unexpected RuntimeError: it broke. Run with --debug for a traceback.\n"


@pytest.mark.parametrize("missing", ["typer", "rich", "pyarrow"])
def test_a_missing_extra_gets_a_hint(run, monkeypatch, missing):
    monkeypatch.setattr(stableselect.cli._main, "find_spec", lambda name: None if name == missing else object())
    code, _, err = run("methods")
    assert code == 2
    assert err == f'The command line needs {missing}: pip install "stableselect[cli]"\n'
