"""``compare``: the library's figures in 80 columns, files, the folder of finished runs, and what is refused."""

import os
from html import unescape

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

import stableselect as ss
from stableselect.experiments import Store

ASIDE = ("--label-column", "class", "--drop-columns", "batch")
TWO = ("-m", "pivoted-qr,VarianceScore", "--folds", 3)


@pytest.fixture
def wine(tmp_path, monkeypatch):
    """A CSV of 178 rows: thirteen columns of numbers, a class in letters and a number for each ten rows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    X, y = load_wine(return_X_y=True, as_frame=True)
    path = tmp_path / "wine.csv"
    X.assign(**{"class": ["abc"[i] for i in y], "batch": np.arange(178) // 10}).to_csv(path, index=False)
    return path


@pytest.mark.slow
def test_the_report_and_the_files_have_the_figures_of_the_library(run, wine, tmp_path):
    code, text, err = run("compare", wine, "-k", 4, *TWO, *ASIDE, "-o", "out.csv", "--plot", "out.png")
    assert code == 0, err
    assert max(map(len, text.splitlines())) <= 80
    X, y = load_wine(return_X_y=True, as_frame=True)
    expected = ss.compare(X, 4, methods=["PivotedQR", "VarianceScore"], y=y, scaler=StandardScaler(), cv=3)
    said = " ".join(text.split())
    assert "4 of 13 columns of wine.csv (178 rows): 3 folds, 1 seed, the same for all methods." in said
    for row in expected.rows[:5]:
        if row.name != "all":
            assert f"{row.name} {row.error:.4g}" in said
    assert f"{expected.best.accuracy:.1%}" in said and "samples" not in said and "features" not in said
    frame = pd.read_csv("out.csv")
    assert list(frame["name"]) == [row.name for row in expected.rows]
    np.testing.assert_allclose(frame["error"], expected.to_frame()["error"])
    np.testing.assert_allclose(frame["accuracy"], expected.to_frame()["accuracy"])
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
    assert "[1/30] PivotedQR, fold 1, seed 0: done in" in err and "s left)" in err
    assert Store(tmp_path / "wine.compare").runs()
    code, _, err = run("compare", wine, "-k", 4, "-o", "out.csv")
    assert code == 2 and "out.csv exists already" in err


def test_the_same_command_goes_on_from_the_folder(run, wine, tmp_path):
    assert run("compare", wine, "-k", 4, *TWO, *ASIDE[2:], "--drop-columns", "class", "--store", "kept", "-q")[0] == 0
    runs = len(Store(tmp_path / "kept").runs())
    code, text, err = run("compare", wine, "-k", 4, *TWO, "--drop-columns", "class,batch", "--store", "kept")
    assert (code, err) == (0, "") and len(Store(tmp_path / "kept").runs()) == runs
    assert "Finished runs are kept in kept." in text and "accuracy" not in text
    code, _, err = run(
        "compare", wine, "-k", 4, *TWO, "--drop-columns", "class", "--group-column", "batch", "--store", "kept"
    )
    assert code == 0 and err.count("done") == runs  # other rows are held out


def test_ctrl_c_says_how_to_go_on(run, wine, monkeypatch):
    def interrupted(*args, **how):
        raise KeyboardInterrupt

    monkeypatch.setattr("stableselect.experiments.compare", interrupted)
    code, _, err = run("compare", wine, "-k", 4)
    assert code == 130 and "Finished runs are kept in wine.compare; the same command goes on from there." in err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("-k", 13), "-k: all 13 columns would be selected"),
        (("-k", "1.0"), "-k: all 13 columns would be selected"),
        (("-k", 20), "-k: 20 columns are asked for and there are 13"),
        (("-k", "auto"), "-k: methods are compared with the same number"),
        (("-k", 3, "-m", "ColumnSubst"), "--method: there is no 'ColumnSubst'; did you mean ColumnSubset?"),
        (("-k", 3, "--label-column", "klass"), "--labels: the table has no column"),
        (("-k", 3, "--folds", 500), "--folds: 500 folds need as many rows"),
        (("-k", 3, "-o", "out.png"), "a table, "),
        (("-k", 3, "--plot", "out.csv"), "a picture, "),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(run, wine, words, sentence):
    given = words if "--label-column" in words else (*words, "--drop-columns", "class,batch")
    code, text, err = run("compare", wine, *given)
    assert code == 2 and sentence in err and not text and err.count("\n") == 1


def test_names_are_left_as_they_are(run, tmp_path, monkeypatch, rng):
    def fails(self, X, k):
        raise ValueError("'features_a' and 'samples_b' cannot be scored; leave them out.")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ss.VarianceScore, "_score_features", fails)
    names = ["features_a", "samples_b", "c", "d"]
    pd.DataFrame(rng.normal(size=(40, 4)), columns=names).to_csv("t.csv", index=False)
    code, text, err = run("compare", "t.csv", "-k", 2, *TWO, "--report", "page.html")
    assert code == 0, err
    for said in (" ".join(text.split()), unescape((tmp_path / "page.html").read_text())):
        assert "'features_a' and 'samples_b' cannot be scored" in said
