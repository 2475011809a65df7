"""``select -k auto``: the report, the file, and what is refused."""

import json

import numpy as np
import pytest

from stableselect.io import read_table
from stableselect.workflow import select_table

ROLES = ("--id-column", "id", "--drop-columns", "word")


@pytest.mark.parametrize("target", ["0.6", "elbow"])
def test_the_report_says_how_many_and_how_sure(run, rng, tmp_path, target):
    table, out = tmp_path / "table.npy", tmp_path / "out.npy"
    np.save(table, rng.normal(size=(80, 2)) @ rng.normal(size=(2, 12)) + 0.05 * rng.normal(size=(80, 12)))
    code, text, err = run("select", table, "-k", "auto", "--min-explained-variance", target, "-o", out)
    assert code == 0, err
    path = json.loads((tmp_path / "out.selection.json").read_text())["path"]
    k, (low, high) = path["n_features"], path["n_features_range"]
    said = " ".join(text.split())
    assert f"kept {k} of 12 columns" in said
    assert f"{path['explained_variance_ratio'][k - 1]:.1%} of the variance of held-out rows" in said
    assert f"Single folds would keep {low}" in said and (high == low or f"{low} to {high}" in said)
    assert ("the elbow of their error" if target == "elbow" else "the target is 60%") in said
    same = select_table(
        read_table(table), "auto", min_explained_variance=target if target == "elbow" else float(target)
    )
    assert same.path == path


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-k", "auto", "--min-explained-variance", "1.5"), "must be a share above 0 and below 1, or elbow, not '1.5'"),
        (("-k", "auto", "--min-explained-variance", "knee"), "or elbow, not 'knee'"),
        (("-k", "2", "--min-explained-variance", "0.5"), "goes with -k auto"),
        (("-k", "auto", "--method", "mcfs"), "ColumnSubset and ScorerSelector only"),
        (("-k", "auto", "--method", "ScorerSelector", "--min-explained-variance", "0"), "above 0 and below 1"),
    ],
)
def test_bad_settings_get_one_sentence(run, messy, options, message):
    code, _, err = run("select", messy, *ROLES, *options)
    assert code == 2 and message in err


def test_keeping_every_column_explains_everything(run, rng, tmp_path):
    np.save(tmp_path / "noise.npy", rng.normal(size=(20, 40)))
    code, out, err = run("select", tmp_path / "noise.npy", "-k", "auto", "-o", tmp_path / "out.npy")
    assert code == 0, err
    said = " ".join(out.split())
    assert "kept 40 of 40 columns" in said and "40 columns explain 100.0% of the variance" in said
    assert "nothing is rebuilt" in said and "of the mean row's" not in said


@pytest.mark.slow
def test_notes_name_options_and_not_settings(run, rng, tmp_path):
    np.save(tmp_path / "noise.npy", rng.normal(size=(40, 30)))
    asked = ("-k", "auto", "--exclude", "c0", "--min-explained-variance", "0.99")
    _, _, err = run("select", tmp_path / "noise.npy", *asked)
    said = " ".join(err.split())
    assert (
        "lower --min-explained-variance" in said and "min_explained_variance" not in said and "max_features" not in said
    )
    _, _, err = run("select", tmp_path / "noise.npy", "-k", 5, "--min-stability", "1")
    assert "Lower --min-stability" in " ".join(err.split())


def test_few_rows_are_refused(run, messy):
    messy.write_text("\n".join(messy.read_text().splitlines()[:3]) + "\n")
    code, _, err = run("select", messy, *ROLES, "-k", "auto")
    assert code == 2 and "-k auto measures" in err and "fit_moments" not in err
