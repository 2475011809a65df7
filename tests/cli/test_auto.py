"""``select -k auto``: the report, the file, and what is refused."""

import json

import numpy as np
import pytest

from stableselect.io import read_table
from stableselect.persistence._selection_file import to_plain
from stableselect.workflow import SelectionRequest, select_table

ROLES = ("--id-column", "id", "--drop-columns", "word")


def test_the_report_says_how_many_and_how_sure(run, rng, tmp_path):
    table, out = tmp_path / "table.npy", tmp_path / "out.npy"
    np.save(table, rng.normal(size=(80, 2)) @ rng.normal(size=(2, 12)) + 0.05 * rng.normal(size=(80, 12)))
    code, text, err = run("select", table, "-k", "auto", "--min-explained-variance", "0.6", "-o", out)
    assert code == 0, err
    path = json.loads((tmp_path / "out.selection.json").read_text())["path"]
    k, low, high = path["n_features"], min(path["fold_n_features"]), max(path["fold_n_features"])
    said = " ".join(text.split())
    assert f"selected {k} of 12 columns" in said
    assert f"{path['explained_variance_ratio'][k - 1]:.1%} of the variance of held-out rows" in said
    assert f"Single folds would select {low}" in said and (high == low or f"{low} to {high}" in said)
    assert "60% asked for" in said
    same = select_table(read_table(table), SelectionRequest(k="auto", min_explained_variance=0.6))
    assert to_plain(same.path) == path


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-k", "auto", "--min-explained-variance", "1.5"), "a fraction above 0 and below 1, got '1.5'"),
        (("-k", "auto", "--min-explained-variance", "elbow"), "a fraction above 0 and below 1, got 'elbow'"),
        (
            ("-k", "2", "--min-explained-variance", "0.5"),
            "--min-explained-variance: applies only to",
        ),
        (
            ("-k", "auto", "--method", "mcfs"),
            "-k: MCFS cannot choose the number of columns; give a number or use the method ColumnSubset",
        ),
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
    assert "selected 40 of 40 columns" in said and "40 columns explain 100.0% of the variance" in said
    assert "nothing is reconstructed" in said and "unexplained" not in said


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
    assert code == 2 and "too few rows to hold some out" in err and "fit_moments" not in err


def test_a_name_is_not_taken_for_what_a_note_says(run, rng, tmp_path):
    """Notes that end in advice get its option; those that only list a column of such a name do not."""
    table = tmp_path / "t.csv"
    X = np.column_stack([np.arange(40), np.ones(40), rng.normal(size=(40, 3))])
    np.savetxt(table, X, delimiter=",", header="number,drop it,a,b,c", comments="")
    _, _, said = run("select", table, "-k", 2)
    assert "Constant: 'drop it'." in " ".join(said.split())
    assert "drop it if so (--drop-columns)." in " ".join(said.split())
