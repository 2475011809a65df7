"""Files that commands write: permissions, links, full disks; and what cannot be read or printed."""

from __future__ import annotations

import gc
import os
import stat
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="not so on Windows")


@pytest.fixture
def table(tmp_path):
    np.save(tmp_path / "t.npy", np.random.RandomState(0).standard_normal((2000, 6)))
    return tmp_path / "t.npy"


@POSIX
def test_force_keeps_permissions_and_links(run, table, tmp_path):
    os.mkdir(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "private.csv").write_text("old")
    (tmp_path / "out.csv").symlink_to("elsewhere/private.csv")
    (tmp_path / "out.selection.json").write_text("old")
    for name in ("elsewhere/private.csv", "out.selection.json"):
        os.chmod(tmp_path / name, 0o600)
    select = ("select", table, "-k", 2, "-q", "-o", tmp_path / "out.csv")
    assert run(*select)[0] == 2
    assert run(*select, "--force") == (0, "", "")
    assert (tmp_path / "out.csv").is_symlink()
    assert len(pd.read_csv(tmp_path / "elsewhere" / "private.csv")) == 2000
    apply = ("apply", tmp_path / "out.selection.json", table, "-q", "-o", tmp_path / "out.csv")
    assert run(*apply)[0] == 2
    assert run(*apply, "--force") == (0, "", "")
    for name in ("elsewhere/private.csv", "out.selection.json"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    assert (tmp_path / "out.csv").is_symlink()


@POSIX
def test_a_link_to_nothing_stays_one(run, table, tmp_path):
    (tmp_path / "out.csv").symlink_to("not yet.csv")
    assert run("select", table, "-k", 2, "-q", "-o", tmp_path / "out.csv") == (0, "", "")
    assert (tmp_path / "out.csv").is_symlink() and len(pd.read_csv(tmp_path / "not yet.csv")) == 2000


@POSIX
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # NumPy 1 leaves an open archive behind
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".npy", ".npz"])
def test_a_full_disk_is_told_with_the_name_of_the_file(run, table, tmp_path, suffix):
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        code, out, err = run("select", table, "-k", 3, "-o", tmp_path / f"out{suffix}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (code, out, err) == (2, "", f"stableselect: {tmp_path}/out{suffix}: File too large.\n")
    assert os.listdir(tmp_path) == ["t.npy"]
    gc.collect()  # while its complaint is ignored


def program(*arguments, **settings):
    command = [sys.executable, "-m", "stableselect", *map(str, arguments)]
    return subprocess.run(command, stderr=subprocess.PIPE, timeout=120, **settings)


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("command", [("methods",), ("methods", "--names"), ("--help",), ("paper", "list"), ("select",)])
def test_output_that_cannot_be_written_gets_one_sentence(table, command):
    extra = (table, "-k", 2, "-q") if command == ("select",) else ()
    with open("/dev/full", "w") as full:
        done = program(*command, *extra, stdout=full)
    assert done.returncode == 2
    assert done.stderr == b"stableselect: Standard output: No space left on device.\n"


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("command", [("methods",), ("--help",), ("paper", "list")])
def test_a_pipe_that_nobody_reads_ends_the_program_in_silence(command):
    read, write = os.pipe()
    os.close(read)
    try:
        done = program(*command, stdout=write)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.slow
@POSIX
def test_closed_streams_are_told(run, table, tmp_path):
    assert run("select", table, "-k", 2, "-q", "-o", tmp_path / "out.csv")[0] == 0
    shell = [sys.executable, "-m", "stableselect", "apply", tmp_path / "out.selection.json"]
    for source, close, sentence in (
        (table, ">&-", "Standard output is closed; give a file with -o."),
        ("-", "<&-", "Standard input is closed; give a file."),
    ):
        command = ["bash", "-c", f'"$@" {close}', "bash", *shell, source]
        done = subprocess.run(command, stderr=subprocess.PIPE, timeout=120)
        assert (done.returncode, done.stderr.decode()) == (2, f"stableselect: {sentence}\n")


@pytest.fixture
def tempting(tmp_path):
    rng = np.random.RandomState(0)
    a, b = rng.standard_normal((2, 30))
    frame = pd.DataFrame({"=cmd()": a, "plain": 2 * a + 1e-3 * b, "who": ["@me"] * 2 + ["you", "-7"] * 14})
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


SELECT = ("-k", 1, "--include", "=cmd()", "--id-column", "who")
NOTE = "column '=cmd()' and 2 cells; --quote-formulas prevents it."


def told(text):
    return " ".join(text.split())


def test_formulas_are_told_and_quoted_on_request(run, tempting, tmp_path):
    code, out, err = run("select", tempting, *SELECT, "-o", tmp_path / "out.csv")
    assert (code, err) == (0, "") and f"Note: A spreadsheet would run text as formulas: {NOTE}" in told(out)
    assert list(pd.read_csv(tmp_path / "out.csv").columns) == ["who", "=cmd()"]

    code, out, err = run("select", tempting, *SELECT, "--quote-formulas", "-o", tmp_path / "safe.csv")
    assert (code, err) == (0, "") and "spreadsheet" not in out
    safe, plain = pd.read_csv(tmp_path / "safe.csv"), pd.read_csv(tmp_path / "out.csv")
    assert list(safe.columns) == ["who", "'=cmd()"]
    assert safe["who"].tolist() == ["'@me"] * 2 + ["you", "-7"] * 14
    np.testing.assert_array_equal(safe["'=cmd()"], plain["=cmd()"])
    assert (safe["'=cmd()"] < 0).any()
    # The selection itself keeps the true names.
    made = tmp_path / "safe.selection.json"

    code, out, err = run("apply", made, tempting)
    assert code == 0 and NOTE in told(err) and out.startswith("who,=cmd()\n")
    assert run("apply", made, tempting, "-q")[2] == ""
    code, out, err = run("apply", made, tempting, "--quote-formulas")
    assert (code, err) == (0, "") and out.startswith("who,'=cmd()\n")
    code, out, err = run("reconstruct", made, tempting, "-o", tmp_path / "all.tsv")
    assert (code, err) == (0, "") and NOTE in told(out)


def test_other_formats_hold_no_formulas(run, tempting, tmp_path, monkeypatch):
    out = tmp_path / "out.parquet"
    assert "spreadsheet" not in run("select", tempting, *SELECT, "-o", out)[1]
    monkeypatch.setattr("stableselect.io.read_table", lambda *_, **__: pytest.fail("the work was begun"))
    code, _, err = run("select", tempting, *SELECT, "--quote-formulas", "--force", "-o", out)
    assert code == 2 and "--quote-formulas: is for .csv and .tsv files, not for .parquet" in err
