"""The progress bar: on a terminal only, with counts and the time left, and nothing left behind by Ctrl-C."""

import io
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from rich.console import Console

from stableselect.base import _progress, counted
from stableselect.cli import _shell


def shown(monkeypatch, *, terminal, quiet=False):
    """Return what a command of two stages writes, the second of them a loop."""
    stream = io.StringIO()
    monkeypatch.setattr(_progress, "_SECONDS", 0.0)
    monkeypatch.setattr(_shell, "console", lambda **_: Console(file=stream, force_terminal=terminal, width=120))
    with _shell.progress_bar(2, quiet=quiet) as begin:
        begin("Reading the table")
        begin("Selecting")
        for _ in counted(range(3), "folds"):
            pass
    return stream.getvalue()


def test_bar_tells_the_stage_and_counts(monkeypatch):
    text = shown(monkeypatch, terminal=True)
    assert "Selecting" in text
    assert "folds 3 of 3" in text


@pytest.mark.parametrize(("terminal", "quiet"), [(False, False), (True, True)])
def test_no_bar_where_output_is_redirected_or_quiet(monkeypatch, terminal, quiet):
    assert shown(monkeypatch, terminal=terminal, quiet=quiet) == ""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_interrupted_command_leaves_nothing(tmp_path, rng):
    import pty

    table = tmp_path / "wide.csv"
    header = ",".join(f"c{j}" for j in range(8000))
    np.savetxt(table, rng.normal(size=(150, 8000)), delimiter=",", fmt="%.3f", header=header, comments="")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "stableselect", "select", str(table), "-k", "5", "--method", "UDFS"]
    with subprocess.Popen(
        [*command, "-o", str(tmp_path / "out.csv")], stdout=subprocess.PIPE, stderr=theirs
    ) as process:
        os.close(theirs)
        seen = b""
        while b" s left" not in seen and process.poll() is None:
            seen += os.read(ours, 4096)
        assert b" of 100, " in seen
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    os.close(ours)
    assert (process.returncode, out) == (130, b"")
    assert [path.name for path in tmp_path.iterdir()] == ["wide.csv"]
