"""``evaluate``: the library's figures in 80 columns, the panel from names or files, and what is refused."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from stableselect.inspection import evaluate

PANEL = ["alcohol", "hue", "proline"]
FEW = ("--random", 5)


@pytest.fixture
def wine(tmp_path):
    """A CSV of 178 rows: thirteen columns of numbers, a class in letters and a number for each ten rows."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    path = tmp_path / "wine.csv"
    X.assign(**{"class": ["abc"[i] for i in y], "batch": np.arange(178) // 10}).to_csv(path, index=False)
    return path


def judged(panel=PANEL, **how):
    return evaluate(panel, load_wine(as_frame=True).data, scaler=StandardScaler(), n_random=5, **how)


def test_the_report_has_the_figures_of_the_library(run, wine, tmp_path):
    out = tmp_path / "out.json"
    code, text, err = run(
        "evaluate",
        wine,
        "--columns",
        "alcohol,hue",
        "--columns",
        "proline",
        *FEW,
        "--drop-columns",
        "class,batch",
        "-o",
        out,
    )
    assert code == 0, err
    expected, said = judged(), " ".join(text.split())
    assert max(map(len, text.replace(str(out), "").splitlines())) <= 80
    assert "3 of 13 columns of wine.csv, judged on held-out rows (178 rows in 5 folds)." in said
    assert f"better than {expected.n_beaten} of 5 random panels" in said
    rows = {row.name: row for row in expected.comparison}
    for name, words in (("panel", "the panel"), ("selected", "3 columns selected on the other rows")):
        row = rows[name]
        assert f"{words} {row.explained_variance:.1%} {row.neighbor_overlap:.1%}" in said
    assert f"swap {expected.swap.drop} for {expected.swap.add} {expected.swap.gain:+.1%}" in said
    for member in expected.members:
        assert f"{member.feature} {member.worth:.1%} {member.r2_from_others:.1%}" in said
    assert "accuracy" not in said and "features" not in said and "samples" not in said
    record = json.loads(out.read_text())
    assert (record["format"], record["source"], record["nothing_to_select"]) == (
        "stableselect evaluation",
        "wine.csv",
        False,
    )
    np.testing.assert_allclose(record["evaluation"]["random"], expected.random)
    np.testing.assert_allclose(record["evaluation"]["r2"], expected.r2)
    assert record["evaluation"]["panel"] == PANEL and record["verdict"] == expected.verdict
    code, _, err = run("evaluate", wine, "--columns", "hue", "-o", out)
    assert code == 2 and "exists already" in err


def test_the_panel_from_a_file_of_names_or_a_selection(run, wine, tmp_path):
    ignored = ("--drop-columns", "class,batch")
    names = tmp_path / "names.txt"
    names.write_text("\ufeffalcohol\n\n  hue  \nproline\n", encoding="utf-8")
    code, text, err = run("evaluate", wine, "--columns", names, *ignored, *FEW)
    assert code == 0 and f"{judged().explained_variance:.1%}" in text, err
    assert run("select", wine, "-k", 3, *ignored, "-o", tmp_path / "kept.csv")[0] == 0
    selection = tmp_path / "kept.selection.json"
    code, text, err = run("evaluate", wine, "--columns", selection, *ignored, *FEW)
    chosen = json.loads(selection.read_text())["selected"]
    assert code == 0 and all(column["name"] in text for column in chosen), err
    names.write_bytes(b"\xff\xfe\x00")
    code, _, err = run("evaluate", wine, "--columns", names, *ignored)
    assert code == 2 and "one column name on each line" in err


@pytest.mark.slow
def test_labels_and_groups(run, wine):
    code, text, err = run(
        "evaluate", wine, "--columns", "alcohol,hue,proline", "--labels", "class", "--group-column", "batch", *FEW
    )
    expected = judged(y=["abc"[i] for i in load_wine().target], groups=np.array([str(i // 10) for i in range(178)]))
    row = expected.comparison[0]
    figures = f"the panel {row.explained_variance:.1%} {row.neighbor_overlap:.1%} {row.accuracy:.1%}"
    assert code == 0 and figures in " ".join(text.split()), err


def test_noise_has_nothing_to_select(run, tmp_path, rng):
    path = tmp_path / "noise.csv"
    pd.DataFrame(rng.normal(size=(60, 8)), columns=list("abcdefgh")).to_csv(path, index=False)
    code, text, _ = run("evaluate", path, "--columns", "a,b", *FEW)
    assert code == 0
    said = "Nothing to select: the columns explain each other no better than columns shuffled one by one"
    assert said in " ".join(text.split())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--columns", "alcohl"), "--columns: the table has no column 'alcohl'; did you mean 'alcohol'?"),
        (("--columns", "hue,ash,hue"), "--columns: 'hue' is named twice"),
        (("--columns", "class", "--labels", "class"), "--columns: 'class' is dropped or an id column"),
        (("--columns", "hue", "--labels", "klass"), "--labels: the table has no column 'klass'"),
        (("--columns", "hue", "--labels", "proline"), "--labels: 'proline' has 121 different values in 178 rows"),
        (("--columns", "hue", "--folds", 200), "--folds: 200 folds need as many rows and the table has 178"),
        (("--columns", "hue", "--group-column", "batch", "--folds", 20), "--folds: 20 folds need as many groups"),
        (("--columns", "hue", "-o", "out.csv"), "expected a report, one of .json"),
        ((), "Missing option"),
    ],
)
def test_what_is_refused(run, wine, options, said):
    ignored = ("--drop-columns", "class" if "--group-column" in options else "class,batch")
    code, _, err = run("evaluate", wine, *options, *([] if "class" in options[-1:] else ignored))
    assert code == 2 and err.count("\n") == 1 and said in " ".join(err.split())


def test_all_columns_are_no_panel(run, messy):
    code, _, err = run("evaluate", messy, "--columns", "a,b", "--drop-columns", "id,word,sum,near a,flag,same")
    assert code == 2 and "names all 2 columns, so nothing is left to reconstruct" in err


def test_a_comma_in_a_name(run, tmp_path, rng):
    path = tmp_path / "t.csv"
    pd.DataFrame(rng.normal(size=(30, 4)), columns=["temp, C", "b", "c", "d"]).to_csv(path, index=False)
    code, text, err = run("evaluate", path, "--columns", "temp, C", *FEW)
    assert code == 0 and "1 of 4 columns" in text and "temp, C" in text, err
