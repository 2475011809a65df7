from __future__ import annotations

import csv
import io
import sys

import pytest

from stableselect import datasets
from stableselect.cli import _progress, main
from stableselect.experiments._cell import Cell
from stableselect.experiments._executor import Outcome
from stableselect.experiments._store import Store
from stableselect.paper import _api, list_experiments, run, show
from stableselect.paper._registry import EXPERIMENTS


@pytest.fixture
def pretend(monkeypatch, invented, tmp_path):
    """Invent the results of cells, with three experiments only; the data folder has an (empty) file for one dataset."""
    monkeypatch.setattr(_api, "evaluate", invented)
    monkeypatch.setattr(_api, "EXPERIMENTS", {name: EXPERIMENTS[name] for name in ("table1", "table2", "table3")})
    home = tmp_path / "data"
    home.mkdir()
    (home / "glioma.npz").touch()
    return home


def files(folder):
    return {path.name: path.read_bytes() for path in folder.glob("[!r]*.*")}


def test_run_writes_every_format_and_twice_gives_the_same(pretend, tmp_path):
    results = tmp_path / "results"
    document = run("table2", results=results, fast=True, data_home=pretend)
    first = files(results / "fast")
    assert set(first) == {"table2.md", "table2.csv", "index.html"}
    assert first["table2.md"].decode() == document.markdown()
    assert len(list(csv.DictReader(io.StringIO(first["table2.csv"].decode())))) == len(document.data)
    again = run("table2", results=results, fast=True, data_home=pretend)
    assert again.markdown() == document.markdown()
    assert files(results / "fast") == first
    other = tmp_path / "other"
    run("table2", results=other, fast=True, data_home=pretend)
    assert files(other / "fast") == first


def test_fast_files_leave_the_full_ones_alone(pretend, tmp_path):
    results = tmp_path / "results"
    run("table2", results=results, methods=["LS"], splits=1, data_home=pretend)
    first = files(results)
    assert b"A fast run" not in first["table2.md"]
    run("table2", results=results, methods=["LS"], fast=True, data_home=pretend)
    assert files(results) == first
    assert b"A fast run" in (results / "fast" / "table2.md").read_bytes()


def test_experiments_share_their_cells(pretend, tmp_path):
    heard = []
    run("table2", results=tmp_path, fast=True, data_home=pretend, page=False)
    assert not (tmp_path / "fast" / "index.html").exists()
    run("table3", results=tmp_path, fast=True, data_home=pretend, report=lambda *args: heard.append(args))
    assert heard == []
    page = (tmp_path / "fast" / "index.html").read_text()
    assert "id='table1'" in page
    assert "id='table2'" in page
    assert "id='table3'" in page
    run("supp_table1", results=tmp_path, fast=True, data_home=pretend, report=lambda *args: heard.append(args))
    assert {args[0].cell.method for args in heard} == {"all columns"}
    assert (tmp_path / "fast" / "supp_figure9.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (tmp_path / "fast" / "supp_figure9.svg").read_bytes()


def test_only_what_is_at_hand_is_computed(pretend, tmp_path):
    run("table2", results=tmp_path, fast=True, protocol="sound", data_home=pretend)
    with Store(tmp_path) as store:
        cells = [item.cell for item in store.cells()]
    assert {cell.dataset for cell in cells} == {"glioma"}
    assert {cell.protocol for cell in cells} == {"sound"}


def test_show_computes_nothing(pretend, tmp_path, monkeypatch):
    run("table3", results=tmp_path, fast=True, data_home=pretend)
    monkeypatch.setattr(_api, "evaluate", None)
    assert "Table 3" in show("table3", results=tmp_path, data_home=pretend).markdown()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "table9"}, "There is no experiment 'table9'"),
        ({"name": "table2", "protocol": "mine"}, "protocol must be"),
        ({"name": "table2", "splits": 0}, "splits must be a whole number"),
        ({"name": "table2", "seeds": True}, "seeds must be a whole number"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_written(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        run(results=tmp_path / "new", **arguments)
    assert not (tmp_path / "new").exists()


def test_experiments_and_datasets_come_in_order():
    assert list(list_experiments()) == [
        "table1",
        "table2",
        "table3",
        "summary",
        "figure1",
        "figure2",
        "supp_figure8",
        "supp_table1",
        "halves",
        "lambda_search",
        "timing",
        "stability",
        "assumptions",
        *(f"figure3{panel}" for panel in "abcdefgh"),
    ]
    assert len(datasets.names()) == 10


class Terminal(io.StringIO):
    def isatty(self):
        return True


OUTCOMES = [
    Outcome(Cell("glioma", "LS", "sound", 0, 0, 64), "done", 1.25),
    Outcome(Cell("glioma", "|W|", "paper", 0, 1, 64, "fast", 20), "failed", error="ValueError: [bad]"),
    Outcome(Cell("glioma", "UDFS", "sound", 0, 0, 64), "running"),
]


def test_progress_in_plain_lines():
    stream = io.StringIO()
    with _progress.progress(stream) as report:
        for i, outcome in enumerate(OUTCOMES, 1):
            report(outcome, i, 3)
    assert stream.getvalue().splitlines() == [
        "[1/3] glioma, LS, sound, k 64, split 0, seed 0: done in 1.2 s",
        "[2/3] glioma, |W|, paper, k 64, split 0, seed 1, fast: failed: ValueError: [bad]",
        "[3/3] glioma, UDFS, sound, k 64, split 0, seed 0: left to another run",
    ]


def test_progress_on_a_terminal_shows_a_bar_and_failures(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with _progress.progress(stream) as report:
        for i, outcome in enumerate(OUTCOMES, 1):
            report(outcome, i, 3)
    assert "3/3" in stream.getvalue()
    assert "ValueError: [bad]" in stream.getvalue()
    assert "LS, sound" not in stream.getvalue()


def test_quiet_says_nothing():
    stream = io.StringIO()
    with _progress.progress(stream, quiet=True) as report:
        assert report is None
    assert stream.getvalue() == ""


def test_command_line(pretend, tmp_path, capsys):
    assert main(["paper", "list"]) == 0
    assert "table2" in capsys.readouterr().out
    where = ["--results", str(tmp_path / "r"), "--data", str(pretend)]
    assert main(["paper", "run", "table2", "--fast", "--with-faults", *where]) == 0
    captured = capsys.readouterr()
    assert captured.out.endswith("index.html.\n")
    assert "LS with fault A" in captured.err
    assert main(["paper", "show", "table2", *where]) == 0
    assert capsys.readouterr().out.startswith("# Table 2")
    assert main(["paper", "all", "--fast", "-q", *where]) == 0
    assert capsys.readouterr() == ("", "")
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


def test_only_the_methods_asked_for_are_computed(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(_api, "is_available", lambda name, home: True)
    monkeypatch.setattr(_api, "execute", lambda cells, *args, **kwargs: asked.extend(cells) or [])
    monkeypatch.setattr(_api, "show", lambda *args, **kwargs: None)
    _api.run("table2", results=tmp_path, methods=["LS", "random"])
    assert {cell.method for cell in asked} == {"LS", "random"}
    asked.clear()
    _api.run("table2", results=tmp_path, methods=["LS"], with_faults=True)
    assert {cell.method for cell in asked} == {"LS", "LS with fault A"}
    with pytest.raises(ValueError, match="There is no method 'XY'"):
        _api.run("table2", results=tmp_path, methods=["XY"])


def test_no_dataset_at_all_is_an_error_that_says_where_it_looked(tmp_path, capsys):
    home, results = tmp_path / "nowhere", tmp_path / "results"
    with pytest.raises(FileNotFoundError, match=r"nowhere; expected a file like mice_protein\.npz.*STABLESELECT_DATA"):
        run("table2", results=results, data_home=home)
    assert main(["paper", "all", "--results", str(results), "--data", str(home)]) == 2
    assert "stableselect.datasets.fetch('mice_protein')" in capsys.readouterr().err
    assert not results.exists()


def test_results_are_shown_where_the_data_is_gone(pretend, tmp_path):
    first = run("table3", results=tmp_path, fast=True, methods=["LS"], data_home=pretend)
    again = run("table3", results=tmp_path, fast=True, methods=["LS"], data_home=tmp_path / "gone")
    assert [row["mean"] for row in again.data] == [row["mean"] for row in first.data]


def test_command_line_names_what_is_left_out_and_counts_failures(pretend, tmp_path, capsys, monkeypatch, invented):
    where = ["--fast", "-m", "LS", "--results", str(tmp_path / "r"), "--data", str(pretend)]
    assert main(["paper", "run", "table2", *where]) == 0
    assert capsys.readouterr().out.startswith("Not at hand, and left out: mice_protein, coil20, usps.\n")
    where[2] = "random"
    calls = []

    def evaluate(cell, data_home):
        calls.append(cell)
        if cell.seed == 0 and cell.protocol == "sound":
            raise ValueError("no")
        return invented(cell)

    monkeypatch.setattr(_api, "evaluate", evaluate)
    assert main(["paper", "run", "table2", "-q", *where]) == 1
    assert "stableselect: 1 cell failed" in capsys.readouterr().err
    assert (tmp_path / "r" / "fast" / "table2.md").exists()
    assert main(["paper", "run", "table3", "-q", *where]) == 1
    # Experiments that share a failing cell try it again once between them.
    calls.clear()
    assert main(["paper", "all", "-q", "--retry", *where]) == 1
    assert len(calls) == 1


def test_tables_are_written_without_pictures(pretend, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    where = ["--fast", "-m", "|W|", "--results", str(tmp_path / "r"), "--data", str(pretend)]
    assert main(["paper", "run", "supp_table1", *where]) == 0
    assert 'pip install "stableselect[plot]"' in capsys.readouterr().out
    assert set(files(tmp_path / "r" / "fast")) == {"supp_table1.md", "supp_table1.csv", "index.html"}
    assert "Pictures are left out" in (tmp_path / "r" / "fast" / "supp_table1.md").read_text()
