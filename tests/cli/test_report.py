"""The page that ``--report`` writes."""

import sys

import numpy as np
import pytest


def test_select_writes_a_page_beside_its_other_files(run, messy, tmp_path):
    page, out = tmp_path / "page.html", tmp_path / "out.csv"
    code, printed, _ = run("select", messy, "-k", 2, "--id-column", "id", "--report", page, "-o", out)
    assert code == 0 and "and" in printed and "page.html" in printed.replace("\n", "")
    html = page.read_text(encoding="utf-8")
    assert "2 of 6 columns of messy.csv" in html and "near a" in html
    assert {one.name for one in tmp_path.iterdir()} == {"messy.csv", "page.html", "out.csv", "out.selection.json"}


def test_the_page_changes_nothing_of_the_selection(run, messy, tmp_path):
    out = [tmp_path / "a.csv", tmp_path / "b.csv"]
    run("select", messy, "-k", 2, "-o", out[0])
    run("select", messy, "-k", 2, "-o", out[1], "--report", tmp_path / "page.html")
    assert out[0].read_bytes() == out[1].read_bytes()
    one, other = (path.with_suffix(".selection.json").read_bytes() for path in out)
    assert one == other


def test_without_an_output_the_names_are_printed_as_ever(run, messy, tmp_path):
    code, printed, told = run("select", messy, "-k", 2, "--report", tmp_path / "page.html")
    assert code == 0 and len(printed.split("\n")) == 3 and "page.html" in told.replace("\n", "")


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", "--columns", "a,b", "--random", 5, "--folds", 3],
        ["compare", "-k", 2, "-m", "ColumnSubset,VarianceScore", "--folds", 3],
        pytest.param(["frontier", "-k", 2], marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_other_commands_have_a_page_too(run, messy, tmp_path, words, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.html"
    code, printed, _ = run(words[0], messy, *words[1:], "--drop-columns", "id", "--report", page)
    assert code == 0 and "page.html" in printed.replace("\n", "") and "messy.csv" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("command", ["select", "evaluate", "frontier", "compare"])
def test_a_page_that_cannot_be_written_is_refused_before_any_work(run, messy, tmp_path, command):
    more = ["--columns", "a"] if command == "evaluate" else ["-k", 2]
    there = tmp_path / "there.html"
    there.write_text("mine")
    code, _, told = run(command, messy, *more, "--report", there)
    assert code == 2 and "exists already" in told and there.read_text() == "mine"
    code, _, told = run(command, messy, *more, "--report", tmp_path / "page.pdf")
    assert code == 2 and ".html" in told
    code, _, told = run(command, messy, *more, "--report", messy)
    assert code == 2


def test_without_jinja_an_error_names_the_extra(run, messy, tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "stableselect._report", raising=False)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    code, _, told = run("select", messy, "-k", 2, "--report", tmp_path / "page.html")
    assert code == 2 and 'pip install "stableselect[report]"' in told and not (tmp_path / "page.html").exists()


def test_where_one_column_would_replace_several_each_has_a_replacement_of_its_own(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(200, 9))
    names = [f"c{j}" for j in range(9)]
    path = tmp_path / "weak.csv"
    path.write_text("\n".join([",".join(names), *(",".join(f"{x:.5f}" for x in row) for row in X)]) + "\n")
    code, _, told = run("select", path, "-k", 3, "--explain", "--ridge", 0)
    assert code == 0 and "Some replacements are named twice" in told
    lines = told.split("take for each:")[1].splitlines()
    own = [line.split()[1] for line in lines if line.startswith("c")]
    assert len(own) == len(set(own)) == 3


@pytest.mark.parametrize(
    ("words", "missing"),
    [
        (["--group-column", "part", "--drop-columns", "time"], 0),
        (["--time-column", "time", "--drop-columns", "part"], 0),
        (["--missing", "em", "--drop-columns", "part,time"], 7),
    ],
    ids=str,
)
def test_rows_that_belong_together_and_gaps_have_a_page_too(run, tmp_path, words, missing):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 5)) + 0.2 * rng.normal(size=(60, 5))
    X[: 9 * missing : 9, 2] = np.nan
    cells = [",".join("" if np.isnan(value) else f"{value:.4f}" for value in row) for row in X]
    path, page = tmp_path / "table.csv", tmp_path / "page.html"
    path.write_text("\n".join(["part,time,a,b,c,d,e", *(f"p{j // 5},{j},{row}" for j, row in enumerate(cells))]) + "\n")
    code, _, told = run("select", path, "-k", 2, *words, "--report", page)
    assert code == 0, told
    html = page.read_text(encoding="utf-8")
    assert "2 of 5 columns" in html and "Which runs selected" in html
    assert f"Missing values</dt><dd><bdi>{missing}</bdi>" in html


def test_the_page_of_a_table_with_gaps(run, messy, tmp_path):
    rows = messy.read_text().splitlines()
    cells = rows[3].rsplit(",", 5)
    cells[1] = ""
    messy.write_text("\n".join([*rows[:3], ",".join(cells), *rows[4:]]) + "\n")
    code, printed, _ = run(
        "select", messy, "-k", 2, "--id-column", "id", "--missing", "em", "--report", tmp_path / "p.html"
    )
    assert code == 0, printed
    assert "a Gaussian model stands in for them" in (tmp_path / "p.html").read_text()
