"""``frontier`` and ``select --criterion stability``: the library's figures, the files, and what is refused."""

import builtins
import json
import os
import shlex

import numpy as np
import pandas as pd
import pytest

from stableselect import ColumnSubset, ScorerSelector, io, load
from stableselect.cli._report import above_least

RIDGE = 0.1
"""Fixed in most tests, so that there are two settings."""
FEW = ("-k", 4, "--ridge", RIDGE)
ROLES = ("--id-column", "sample id", "--drop-columns", "temp, C")


@pytest.fixture
def groups(rng, tmp_path):
    """A CSV of 120 rows: an identifier, eight columns in four pairs of near copies, a constant and a gap."""
    X = np.repeat(rng.normal(size=(120, 4)), 2, axis=1) + 0.4 * rng.normal(size=(120, 8))
    frame = pd.DataFrame(X.round(4), columns=[f"gene {j}" for j in range(8)])
    frame.insert(0, "sample id", [f"s{i:03d}" for i in range(120)])
    frame["batch"], frame["temp, C"] = 7, [None, *range(119)]
    path = tmp_path / "gene table.csv"
    frame.to_csv(path, index=False)
    return path


def scaled(path):
    X = pd.read_csv(path).drop(columns=["sample id", "temp, C"]).to_numpy(dtype=float)
    return (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)


def frontier(run, table, *options):
    code, out, err = run("frontier", table, *ROLES, *options)
    assert code == 0, err
    return out


@pytest.mark.slow
def test_roles_that_leave_no_choice_have_no_frontier(run, groups):
    every = [option for j in range(4) for option in ("--include", f"gene {j}")]
    code, _, err = run("frontier", groups, *ROLES, "-k", 4, *every)
    assert code == 2 and err.count("\n") == 1 and "leave no choice, so stability is undefined" in err
    code, _, err = run("select", groups, *ROLES, "-k", 4, *every, "--criterion", "stability")
    said = " ".join(err.split())
    assert code == 0 and "undefined" in said and "1.00 ±" not in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "selector"),
    [
        ((), ColumnSubset(4, criterion="stability")),
        (
            ("--ridge", 0.1, "--max-error-increase", 0.5),
            ColumnSubset(4, criterion="stability", max_error_increase=0.5, ridge=0.1),
        ),
        (("--ridge", 0.1, "--min-stability", 0.05), ColumnSubset(4, min_stability=0.05, ridge=0.1)),
        (("--method", "scorer-selector", "--ridge", 0.1), ScorerSelector(4, criterion="stability", ridge=0.1)),
    ],
)
def test_the_table_lists_what_none_beats(run, groups, options, selector):
    out = frontier(run, groups, "-k", 4, *options)
    expected = selector.fit(scaled(groups)).frontier_
    assert f"{type(selector).__name__}, 4 of 9 columns of gene table.csv (120 rows)" in " ".join(out.split())
    assert max(map(len, out.partition("To select")[0].splitlines())) <= 80
    assert f"{expected.error.size} settings tried" in " ".join(out.split())
    lines = [line.split() for line in out.splitlines() if " ± " in line and "Nogueira" not in line]
    taken = [line[1:] for line in lines if line[0] == ">"]
    listed = [line[1:] if line[0] == ">" else line for line in lines]
    least = expected.error.min()

    def row(i):
        figures = f"{expected.error[i]:#.4g} {expected.error[i] / least - 1:.1%} {expected.stability[i]:.2f}"
        return f"{figures} ± {expected.standard_error[i]:.2f} {expected.describe(i)}".split()

    assert taken == [row(expected.chosen)]
    shown = {*np.flatnonzero(expected.pareto_optimal).tolist(), expected.chosen}
    assert all(line in [row(i) for i in shown] for line in listed)
    assert len(listed) == len({(expected.error[i], expected.stability[i]) for i in shown})


@pytest.mark.slow
def test_the_command_it_names_takes_that_setting(run, groups, tmp_path):
    options = (*FEW, "--scale", "none", "--exclude", "gene 3", "--max-error-increase", 0.2)
    out = frontier(run, groups, *options, "-o", tmp_path / "a.png")
    command = next(line for line in out.splitlines() if " select " in line and "--criterion" in line)
    words = shlex.split(command)
    words = words[words.index("select") :]
    assert words[-4:] == ["--criterion", "stability", "--max-error-increase", "0.2"]
    code, text, err = run(*words, "-o", tmp_path / "kept.csv")
    assert code == 0, err
    chosen = pd.read_csv(tmp_path / "a.frontier.csv").query("chosen").iloc[0]
    record = json.loads((tmp_path / "kept.selection.json").read_text())
    stability = record["stability"]
    assert stability["stability"][stability["chosen"]] == chosen["stability"]
    assert record["settings"]["criterion"] == "stability" and record["settings"]["max_error_increase"] == 0.2
    said = " ".join(text.split())
    assert f"Stability {chosen['procedure_stability']:.2f} [{chosen['procedure_low']:.2f}" in said
    assert stability["procedure_stability"] == chosen["procedure_stability"]
    cost = stability["error"][stability["chosen"]] / min(stability["error"]) - 1
    assert f"Setting: {chosen['setting']}" in said and f"{cost:.1%} above the lowest (20% allowed)" in said
    assert "gene 3" not in load(tmp_path / "kept.selection.json").selected_names


@pytest.mark.slow
def test_an_increase_of_zero_stays_in_the_command(run, groups):
    out = frontier(run, groups, *FEW, "--max-error-increase", 0)
    assert "--criterion stability --max-error-increase 0" in out and "within 0% of the lowest error" in " ".join(
        out.split()
    )


@pytest.mark.parametrize(
    ("error", "least", "said"), [(0, 0, "0.0%"), (1, 0, "-"), (3, 2, "50.0%"), (2e-30, 1e-33, ">1000%")]
)
def test_errors_of_zero_have_words(error, least, said):
    assert above_least(error, least) == said


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".png", ".svg", ".PDF"])
def test_picture_and_figures_are_written(run, groups, tmp_path, suffix):
    picture = tmp_path / f"out{suffix}"
    assert f"{picture.name} and" in " ".join(frontier(run, groups, *FEW, "-o", picture).split())
    start = {".png": b"\x89PNG", ".svg": b"<?xml", ".PDF": b"%PDF"}[suffix]
    assert picture.read_bytes().startswith(start)
    expected = ColumnSubset(4, criterion="stability", ridge=RIDGE).fit(scaled(groups)).frontier_
    figures = pd.read_csv(tmp_path / "out.frontier.csv")
    for name in (
        "error",
        "stability",
        "standard_error",
        "ridge",
        "map_ridge",
        "vote_weight",
        "pareto_optimal",
    ):
        np.testing.assert_allclose(figures[name].astype(float), getattr(expected, name).astype(float), rtol=1e-9)
    assert figures["setting"].tolist() == [expected.describe(i) for i in range(len(figures))]
    assert set(figures["n_features_to_select"]) == {4}
    assert sorted(os.listdir(tmp_path)) == sorted([groups.name, picture.name, "out.frontier.csv"])


@pytest.mark.slow
def test_nothing_is_written_unasked_and_quiet_is_quiet(run, groups, tmp_path):
    assert "-o frontier.png" in frontier(run, groups, *FEW)
    assert frontier(run, groups, *FEW, "--quiet") == ""
    assert os.listdir(tmp_path) == [groups.name]


@pytest.mark.slow
def test_without_matplotlib_there_are_figures_and_a_hint(run, groups, tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, globals=None, locals=None, fromlist=(), level=0):
        if fromlist and "stability_frontier" in fromlist:
            raise ImportError('pictures need matplotlib: pip install "stableselect[plot]"')
        return real(name, globals, locals, fromlist, level)

    monkeypatch.setattr(builtins, "__import__", without)
    out = " ".join(frontier(run, groups, *FEW, "-o", tmp_path / "a.png").split())
    assert 'No picture: pictures need matplotlib: pip install "stableselect[plot]"' in out
    assert sorted(os.listdir(tmp_path)) == ["a.frontier.csv", groups.name]


@pytest.mark.slow
def test_a_target_that_none_reaches_is_said(run, groups):
    said = " ".join(frontier(run, groups, *FEW, "--min-stability", 1).split())
    assert "since none of these reaches 1" in said
    assert "Note: A stability of 1 is not reached: the best to be had within 5% more error is 0." in said
    code, _, err = run("select", groups, *ROLES, *FEW, "--min-stability", 1)
    assert code == 0 and "A stability of 1 is not reached" in " ".join(err.split())
    assert err.count("is not reached") == 1


@pytest.mark.slow
def test_an_open_number_of_columns(run, groups):
    selector = ColumnSubset("auto", min_explained_variance=0.5, ridge=RIDGE, criterion="stability")
    k = selector.fit(scaled(groups)).path_.n_features
    said = frontier(run, groups, "--ridge", RIDGE, "-k", "auto", "--min-explained-variance", 0.5)
    assert f"{k} of 9 columns" in said and "-k auto" in said and "--min-explained-variance 0.5" in said


@pytest.mark.slow
def test_keeping_all_columns_is_said(run, groups):
    code, out, err = run("frontier", groups, *ROLES, "-k", 9)
    assert (code, out) == (2, "") and "-k: all 9 columns would be selected, so stability is undefined" in err
    code, _, err = run("select", groups, *ROLES, "-k", 9, "--criterion", "stability")
    assert code == 0 and "its stability is undefined" in err


BAD = {
    "text": (("--include", "sample id"), "--include: 'sample id' does not hold numbers (text, such as"),
    "gap": (("--id-column", "sample id"), "Missing values in 'temp, C' (1)"),
    "method": ((*ROLES, "--method", "magic"), "--method: there is no 'magic'"),
    "other method": (
        (*ROLES, "--method", "pfa"),
        "PFA does not have this setting; leave it out or use",
    ),
    "max_error_increase": (
        (*ROLES, "--max-error-increase", "-0.1"),
        "--max-error-increase: must be a fraction of at least 0",
    ),
    "tolerance of no size": ((*ROLES, "--max-error-increase", "nan"), "--max-error-increase: must be"),
    "max_error_increase no number": ((*ROLES, "--max-error-increase", "much"), "--max-error-increase"),
    "target": ((*ROLES, "--min-stability", "1.5"), "--min-stability: must be above 0 and at most 1, got '1.5'"),
    "extension": ((*ROLES, "-o", "a.jpg"), "a.jpg has the extension .jpg; expected a picture, one of .png"),
    "no extension": ((*ROLES, "-o", "picture"), "picture has no extension"),
    "folder": ((*ROLES, "-o", "no/a.png"), "The folder no does not exist"),
    "picture there": ((*ROLES, "-o", "there.png"), "there.png exists already"),
    "figures there": ((*ROLES, "-o", "old.svg"), "old.frontier.csv exists already"),
    "k": ((*ROLES, "-k", "10"), "-k: 10 columns are asked for and there are 9"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_one_sentence_and_changes_nothing(run, groups, monkeypatch, case):
    monkeypatch.chdir(groups.parent)
    for name in ("there.png", "old.frontier.csv"):
        (groups.parent / name).write_text("precious")
    before = {path: path.read_bytes() for path in groups.parent.iterdir()}
    options, message = BAD[case]
    code, out, err = run("frontier", groups.name, "-k", 4, *options)
    assert (code, out) == (2, "") and err.count("\n") == 1 and message in err
    assert {path: path.read_bytes() for path in groups.parent.iterdir()} == before


@pytest.mark.slow
def test_force_replaces_and_a_failure_leaves_no_file(run, groups, tmp_path, monkeypatch):
    for name in ("a.png", "a.frontier.csv"):
        (tmp_path / name).write_text("old")
    frontier(run, groups, *FEW, "-o", tmp_path / "a.png", "--force")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG") and len(pd.read_csv(tmp_path / "a.frontier.csv"))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(io, "write_stream", full)
    code, _, err = run("frontier", groups, *ROLES, *FEW, "-o", tmp_path / "b.png")
    assert code == 2 and "No space left on device" in err
    assert sorted(os.listdir(tmp_path)) == ["a.frontier.csv", "a.png", groups.name]


def test_few_rows_are_refused(run, groups):
    groups.write_text("\n".join(groups.read_text().splitlines()[:5]) + "\n")
    for command in (("frontier",), ("select", "--criterion", "stability")):
        code, out, err = run(*command, groups, *ROLES, "-k", 4)
        assert (
            (code, out) == (2, "")
            and "too few rows to hold some out" in err
            and "6 are needed" in err
            and "give more rows" in err
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--criterion", "speed"), "'speed' is not"),
        (("--max-error-increase", "0.1"), "--max-error-increase: applies only to the criterion stability"),
        (
            ("--criterion", "stability", "--method", "mcfs"),
            "--criterion: MCFS does not have this setting",
        ),
        (
            ("--min-stability", "0.5", "--method", "pfa"),
            "PFA does not have this setting; leave it out or use",
        ),
        (("--min-stability", "0"), "must be above 0 and at most 1, got '0'"),
    ],
)
def test_select_refuses_what_makes_no_sense(run, groups, options, message):
    code, out, err = run("select", groups, *ROLES, "-k", 4, *options)
    assert (code, out) == (2, "") and err.count("\n") == 1 and message in err


@pytest.mark.slow
def test_several_processes_show_the_same(run, groups):
    one, two = (frontier(run, groups, *FEW, *jobs) for jobs in ((), ("--jobs", 2)))
    assert one.splitlines()[:-4] == two.splitlines()[:-4]  # then the command, with its options
    code, _, err = run("frontier", groups, *ROLES, *FEW, "--jobs", 0)
    assert code == 2 and "--jobs" in err
