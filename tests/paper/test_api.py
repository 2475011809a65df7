from __future__ import annotations

import contextlib
import csv
import io
import re
import signal
import sys
from contextlib import redirect_stderr

import pytest

from stableselect import datasets
from stableselect.cli import _progress, main
from stableselect.experiments._run import Run
from stableselect.experiments._store import Store, Stored
from stableselect.paper import Request, _api, build, list_experiments, run, show
from stableselect.paper._registry import EXPERIMENTS
from stableselect.paper._revisions import SEARCHED


@pytest.fixture
def pretend(monkeypatch, invented, tmp_path):
    """Invent the results of runs, with three experiments only; the data folder has an (empty) file for one dataset."""
    monkeypatch.setattr(_api, "evaluate", invented)
    monkeypatch.setattr(_api, "EXPERIMENTS", {name: EXPERIMENTS[name] for name in ("table1", "table2", "table3")})
    home = tmp_path / "data"
    home.mkdir()
    (home / "glioma.npz").touch()
    return home


def files(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.*") if path.name != "journal.jsonl"}


def one(name, report=None, **settings):
    """Run one experiment and return what it shows."""
    return run(Request(name, **settings), report=report)[name]


def test_run_writes_every_format_and_twice_gives_the_same(pretend, tmp_path):
    results = tmp_path / "results"
    document = one("table2", results=results, fast=True, data_home=pretend)
    first = files(results / "fast")
    assert set(first) == {"table2.md", "table2.csv"}
    assert first["table2.md"].decode() == document.markdown()
    assert len(list(csv.DictReader(io.StringIO(first["table2.csv"].decode())))) == len(document.data)
    again = one("table2", results=results, fast=True, data_home=pretend)
    assert again.markdown() == document.markdown()
    assert files(results / "fast") == first
    other = tmp_path / "other"
    one("table2", results=other, fast=True, data_home=pretend)
    assert files(other / "fast") == first


def test_fast_files_leave_the_full_ones_alone(pretend, tmp_path):
    results = tmp_path / "results"
    one("table2", results=results, methods=["LS"], splits=1, data_home=pretend)
    first = files(results)
    assert b"A fast run" not in first["table2.md"]
    one("table2", results=results, methods=["LS"], fast=True, data_home=pretend)
    assert files(results) == first
    assert b"A fast run" in (results / "fast" / "table2.md").read_bytes()


@pytest.mark.slow
def test_experiments_share_their_runs(pretend, tmp_path):
    heard = []
    one("table2", results=tmp_path, fast=True, data_home=pretend)
    one("table3", results=tmp_path, fast=True, data_home=pretend, report=lambda *args: heard.append(args))
    assert heard == []
    one("supp_table1", results=tmp_path, fast=True, data_home=pretend, report=lambda *args: heard.append(args))
    assert {args[0].run.method for args in heard} == {"all features"}
    assert (tmp_path / "fast" / "supp_figure9.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (tmp_path / "fast" / "supp_figure9.svg").read_bytes()


def test_a_run_renders_what_it_was_asked_for_and_build_the_rest(pretend, tmp_path):
    one("table2", results=tmp_path, fast=True, data_home=pretend)
    assert set(files(tmp_path / "fast")) == {"table2.md", "table2.csv"}
    page = build(results=tmp_path, data_home=pretend)
    assert page == tmp_path / "fast" / "index.md"
    text = page.read_text()
    linked = re.findall(r"\]\((.*?)\)", text)
    assert linked == ["table1.md", "table2.md", "table3.md"]
    assert all((page.parent / name).is_file() for name in linked)
    assert f"Revision: {SEARCHED} (" in text
    assert "earlier revision" not in text
    assert "Versions: numpy 1." in text


def test_the_page_lists_runs_that_failed(pretend, tmp_path, monkeypatch):
    def evaluate(run, data_home):
        raise ValueError("a | b")

    monkeypatch.setattr(_api, "evaluate", evaluate)
    one("table2", results=tmp_path, fast=True, methods=["LS"], protocol="corrected", data_home=pretend)
    text = build(results=tmp_path, data_home=pretend).read_text()
    assert "0 runs (fast), 1 failed." in text
    assert r"ValueError: a \| b" in text


def test_only_datasets_that_are_there_are_computed(pretend, tmp_path):
    one("table2", results=tmp_path, fast=True, protocol="corrected", data_home=pretend)
    runs = [item.run for item in Store(tmp_path).runs()]
    assert {run.dataset for run in runs} == {"glioma"}
    assert {run.protocol for run in runs} == {"corrected"}


def test_show_computes_nothing(pretend, tmp_path, monkeypatch):
    one("table3", results=tmp_path, fast=True, data_home=pretend)
    monkeypatch.setattr(_api, "evaluate", None)
    assert "Table 3" in show("table3", results=tmp_path, data_home=pretend).markdown()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"experiments": "table9"}, "There is no experiment 'table9'"),
        ({"protocol": "mine"}, "protocol must be"),
        ({"splits": 0}, "splits must be a whole number"),
        ({"seeds": True}, "seeds must be a whole number"),
        ({"jobs": 1.5}, "jobs must be a whole number"),
        ({"methods": ["XY"]}, "There is no method 'XY'"),
        ({"datasets": ["XY"]}, "XY"),
    ],
)
def test_a_bad_request_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Request(**{"experiments": "table2"} | arguments)


def test_a_request_names_experiments_in_one_or_many():
    assert Request("table2").names == ["table2"]
    assert Request(["table3", "table2", "table3"]).names == ["table3", "table2"]
    assert Request("all").names == Request(["all", "table2"]).names == list(list_experiments())


def test_experiments_and_datasets_come_in_order():
    assert list(list_experiments()) == [
        "table1",
        "table2",
        "table3",
        "summary",
        "supp_table1",
        "halves",
        "timing",
        "fae",
        "figure1",
        "figure2",
        "supp_figure8",
        "lambda_search",
        "stability",
        "assumptions",
        *(f"figure3{panel}" for panel in "abcdefgh"),
    ]
    assert len(datasets.names()) == 10


class Terminal(io.StringIO):
    def isatty(self):
        return True


OUTCOMES = [
    Stored(Run("glioma", "LS", "corrected", 0, 0, 64), "done", {"seconds": 1.25}, ""),
    Stored(Run("glioma", "|W|", "paper", 0, 1, 64, "fast", 20), "failed", {}, "ValueError: [bad]"),
    Stored(Run("glioma", "UDFS", "corrected", 0, 0, 64), "done", {}, ""),
]


def test_progress_in_plain_lines():
    stream = io.StringIO()
    with redirect_stderr(stream), _progress.progress() as report:
        for i, outcome in enumerate(OUTCOMES, 1):
            report(outcome, i, 3)
    assert re.sub(r" \(\d+\.\d s left\)\n", "\n", stream.getvalue(), count=1).splitlines() == [
        "[1/3] glioma, LS, corrected, k 64, split 0, seed 0: done in 1.2 s",
        "[2/3] glioma, |W|, paper, k 64, split 0, seed 1, fast: failed: ValueError: [bad]",
        "[3/3] glioma, UDFS, corrected, k 64, split 0, seed 0: done",
    ]


def test_progress_on_a_terminal_shows_a_bar_and_failures(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with redirect_stderr(stream), _progress.progress() as report:
        for i, outcome in enumerate(OUTCOMES, 1):
            report(outcome, i, 3)
    assert "3/3" in stream.getvalue()
    assert "ValueError: [bad]" in stream.getvalue()
    assert "LS, corrected" not in stream.getvalue()


def test_quiet_says_nothing():
    stream = io.StringIO()
    with redirect_stderr(stream), _progress.progress(quiet=True) as report:
        assert report is None
    assert stream.getvalue() == ""


@pytest.mark.slow
def test_command_line(pretend, tmp_path, capsys):
    assert main(["paper", "list"]) == 0
    assert "table2" in capsys.readouterr().out
    where = ["--results", str(tmp_path / "r"), "--data", str(pretend)]
    assert main(["paper", "run", "table2", "--fast", "--with-faults", *where]) == 0
    captured = capsys.readouterr()
    assert captured.out.endswith("table2.md.\n")
    assert "LS with fault A" in captured.err
    assert main(["paper", "show", "table2", *where]) == 0
    assert capsys.readouterr().out.startswith("# Table 2")
    assert main(["paper", "run", "all", "--fast", "-q", *where]) == 0
    assert capsys.readouterr() == ("", "")
    assert main(["paper", "build", *where]) == 0
    assert capsys.readouterr().out.endswith("index.md and the pages it links.\n")
    assert {f"{name}.md" for name in list_experiments()} <= {path.name for path in (tmp_path / "r" / "fast").iterdir()}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", "table2"), "There are no results in"),
        (("run", "nothing"), "There is no experiment 'nothing'"),
        (("run", "table2", "--protocol", "mine"), "mine"),
        (("run", "table2", "--jobs", "0"), "--jobs"),
    ],
)
def test_command_line_refuses(tmp_path, capsys, arguments, message):
    assert main(["paper", *arguments, "--results", str(tmp_path / "none")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert not (tmp_path / "none").exists()


def test_only_methods_and_datasets_asked_for_are_computed():
    (runs,) = Request("table2", methods=["LS", "random"]).runs().values()
    assert {run.method for run in runs} == {"LS", "random"}
    (runs,) = Request("table2", methods=["LS"], with_faults=True, datasets=["usps", "glioma"]).runs().values()
    assert {run.method for run in runs} == {"LS", "LS with fault A"}
    assert {run.dataset for run in runs} == {"usps", "glioma"}


def test_command_line_takes_datasets(pretend, tmp_path):
    (pretend / "usps.npz").touch()
    where = ["--results", str(tmp_path / "r"), "--data", str(pretend), "-q"]
    assert main(["paper", "run", "table2", "--fast", "-m", "LS", "--dataset", "usps", *where]) == 0
    assert {item.run.dataset for item in Store(tmp_path / "r").runs()} == {"usps"}


def test_no_dataset_at_all_is_an_error_that_says_where_it_looked(tmp_path, capsys):
    home, results = tmp_path / "nowhere", tmp_path / "results"
    with pytest.raises(FileNotFoundError, match=r"nowhere; expected a file like mice_protein\.npz.*STABLESELECT_DATA"):
        one("table2", results=results, data_home=home)
    assert main(["paper", "run", "all", "--results", str(results), "--data", str(home)]) == 2
    assert "stableselect.datasets.fetch('mice_protein')" in capsys.readouterr().err
    assert not results.exists()


def test_results_are_shown_where_the_data_is_gone(pretend, tmp_path):
    first = one("table3", results=tmp_path, fast=True, methods=["LS"], data_home=pretend)
    again = one("table3", results=tmp_path, fast=True, methods=["LS"], data_home=tmp_path / "gone")
    assert [row["mean"] for row in again.data] == [row["mean"] for row in first.data]


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_ends_with_130_and_stores_nothing_cut_short(pretend, tmp_path, monkeypatch, invented):
    """A network that is interrupted returns its best weights so far; the run must not pass for a whole one."""
    calls = []

    def evaluate(run, data_home):
        calls.append(run)
        if len(calls) == 3:
            with contextlib.suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        return invented(run)

    monkeypatch.setattr(_api, "evaluate", evaluate)
    where = ["--results", str(tmp_path / "r"), "--data", str(pretend), "-q"]
    assert main(["paper", "run", "table2", "--fast", *where]) == 130
    assert {item.run for item in Store(tmp_path / "r").runs()} == set(calls[:2])
    assert main(["paper", "run", "table2", "--fast", *where]) == 0
    assert len(Store(tmp_path / "r").runs()) == len(calls) - 1


def test_command_line_names_what_is_left_out_and_counts_failures(pretend, tmp_path, capsys, monkeypatch, invented):
    where = ["--fast", "-m", "LS", "--results", str(tmp_path / "r"), "--data", str(pretend)]
    assert main(["paper", "run", "table2", *where]) == 0
    assert capsys.readouterr().out.startswith("Datasets that are missing, and left out: mice_protein, coil20, usps.\n")
    where[2] = "random"
    calls = []

    def evaluate(run, data_home):
        calls.append(run)
        if run.seed == 0 and run.protocol == "corrected":
            raise ValueError("no")
        return invented(run)

    monkeypatch.setattr(_api, "evaluate", evaluate)
    assert main(["paper", "run", "table2", "-q", *where]) == 1
    assert "stableselect: 1 run failed" in capsys.readouterr().err
    assert (tmp_path / "r" / "fast" / "table2.md").exists()
    assert main(["paper", "run", "table3", "-q", *where]) == 1
    # Experiments that share a failing run try it again once between them.
    calls.clear()
    assert main(["paper", "run", "all", "-q", "--retry", *where]) == 1
    assert len(calls) == 1


def test_tables_are_written_without_pictures(pretend, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    where = ["--fast", "-m", "|W|", "--results", str(tmp_path / "r"), "--data", str(pretend)]
    assert main(["paper", "run", "supp_table1", *where]) == 0
    assert 'pip install "stableselect[plot]"' in capsys.readouterr().out
    assert set(files(tmp_path / "r" / "fast")) == {"supp_table1.md", "supp_table1.csv"}
    assert "Pictures are left out" in (tmp_path / "r" / "fast" / "supp_table1.md").read_text()
