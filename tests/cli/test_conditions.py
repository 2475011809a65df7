"""``select`` under conditions: files, options, what the report and the selection file say, and what is refused."""

import json

import numpy as np
import pandas as pd
import pytest

from stableselect import ColumnSubset, Conditions, Group, load

COLUMNS = """name,cost,group,block,x,y,role,penalty,weight
s0,1,low,,0,0,,,
s1,2,low,,1,0,,,
s2,3,low,,2,0,,0.01,
s3,1,,pair,3,0,,,
s4,1,,pair,3,0,,,
s5,2,,,5,0,include,,
s6,2,,,6,0,,,
s7,,,,,,only_reconstruct,,4
"""
LIMITS = """
budget = 8
min_distance = 1.5
only_choose = ["s6"]

[groups.low]
at_most = 1
"""


@pytest.fixture
def plant(tmp_path):
    """A CSV of 80 rows and eight columns that three variables drive, with files of conditions beside it."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3)) @ rng.normal(size=(3, 8)) + 0.5 * rng.normal(size=(80, 8))
    pd.DataFrame(X, columns=[f"s{j}" for j in range(8)]).to_csv(tmp_path / "plant.csv", index=False)
    (tmp_path / "columns.csv").write_text(COLUMNS)
    (tmp_path / "limits.toml").write_text(LIMITS)
    return tmp_path


def expected(plant, **change):
    given = {
        "cost": {"s0": 1, "s1": 2, "s2": 3, "s3": 1, "s4": 1, "s5": 2, "s6": 2},
        "budget": 8,
        "groups": [Group(["s0", "s1", "s2"], at_most=1, name="low")],
        "blocks": [["s3", "s4"]],
        "coordinates": {f"s{j}": (x, 0) for j, x in enumerate((0, 1, 2, 3, 3, 5, 6))},
        "min_distance": 1.5,
        "penalty": {"s2": 0.01},
        "target_weight": {"s7": 4},
        "only_reconstruct": ["s7"],
        "only_choose": ["s6"],
    }
    conditions = Conditions(**given | change)
    X = pd.read_csv(plant / "plant.csv")
    return conditions, ColumnSubset(scale="standard", include=["s5"], conditions=conditions).fit(X)


def test_files_report_and_selection(run, plant):
    files = "--conditions", plant / "columns.csv", "--conditions", plant / "limits.toml"
    code, out, err = run("select", plant / "plant.csv", *files, "-o", plant / "kept.csv")
    assert code == 0, err
    conditions, selector = expected(plant)
    assert pd.read_csv(plant / "kept.csv").columns.tolist() == selector.get_feature_names_out().tolist()
    cost, said = selector.conditions_cost_, " ".join(out.split())
    assert f"Conditions: {cost.explained_variance:.1%} of the variance of these rows is explained" in said
    assert f"explains {cost.free_explained_variance:.1%}" in said
    assert f"The selected columns cost {cost.spent:g}." in said
    assert max(map(len, out.replace(str(plant), "").splitlines())) <= 80
    selection = load(plant / "kept.selection.json")
    assert Conditions.from_plain(selection.settings["conditions"]) == conditions
    assert selection.conditions_cost.free_selected == cost.free_selected
    assert selection.conditions_cost.loss == pytest.approx(cost.loss)
    assert json.loads((plant / "kept.selection.json").read_text())["settings"]["include"] == ["s5"]


def test_options_come_before_files(run, plant):
    files = "--conditions", plant / "columns.csv", "--conditions", plant / "limits.toml"
    code, out, err = run("select", plant / "plant.csv", *files, "--budget", 4, "--min-distance", 0.5)
    assert code == 0, err
    assert out.split() and set(out.split()) == set(
        expected(plant, budget=4, min_distance=0.5)[1].get_feature_names_out()
    )


def test_a_panel_grows_and_shrinks(run, plant):
    panel = plant / "panel.txt"
    panel.write_text("s1\ns2\n\ns6\n")
    code, out, err = run("select", plant / "plant.csv", "-k", 5, "--grow-from", panel)
    assert code == 0 and {"s1", "s2", "s6"} < set(out.split()) and len(out.split()) == 5, err
    assert "the free choice of 5 columns explains" in " ".join(err.split())
    code, out, err = run("select", plant / "plant.csv", "-k", 2, "--shrink-from", panel, "-o", plant / "two.csv")
    assert code == 0 and "Proven optimal: no other choice that meets the conditions" in " ".join(out.split()), err
    chosen = pd.read_csv(plant / "two.csv").columns.tolist()
    assert set(chosen) < {"s1", "s2", "s6"}
    code, out, err = run("select", plant / "plant.csv", "-k", 3, "--grow-from", plant / "two.selection.json")
    assert code == 0 and set(chosen) < set(out.split()), err
    code, out, err = run("select", plant / "plant.csv", "-k", 3, "--include", panel)
    assert code == 0 and set(out.split()) == {"s1", "s2", "s6"}, err


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("c.toml", "budgt = 3", "there is no setting 'budgt'; did you mean 'budget'?"),
        ("c.toml", "budget = ", "c.toml: Invalid value"),
        ("c.toml", "cost = 3\nbudget = 2", "cost must be a table, got 3."),
        ("c.toml", "budget = 2", "Conditions have budget but no cost"),
        ("c.toml", "[groups.a]\ncolumns = ['s1']", "group 'a' has no limit"),
        ("c.toml", "[groups.a]\nat_most = 1", "group 'a' has no columns"),
        ("c.toml", "[penalty]\ns9 = 1", "the table has no column 's9'; the columns are 's0'"),
        ("c.toml", "[groups.a]\ncolumns = ['s1', 's2']\nexactly = 2\n[groups.b]\ncolumns = ['s1']\nat_most = 0",
         "The conditions cannot be met: 2 of group 'a' are asked for, and the other conditions allow at most 1"),
        ("c.csv", "cost,block\n1,2\n", "it needs a column 'name'"),
        ("c.csv", "name,costs\ns1,2\n", "there is no setting 'costs'; did you mean 'cost'?"),
        ("c.csv", "name,cost\ns1,2\ns2\n", "row 3 has 1 cells and the first row 2"),
        ("c.csv", "name,cost\ns1,two\n", "row 2 has 'two' as cost, which must be a number."),
        ("c.csv", "name,cost\ns1,2\ns1,3\n", "row 3 names 's1' again."),
        ("c.csv", "name,role\ns1,maybe\n", "row 2 has the role 'maybe'; the roles are include"),
        ("c.csv", "name,at_most\ns1,1\n", "row 2 has at_most but no group"),
        ("c.csv", "name,group,at_most\ns1,a,1\ns2,a,2\n", "row 3 has another at_most for group 'a'"),
        ("c.csv", "name,group,at_most\ns1,a,0.5\n", "at_most of group 'a' must be a whole number"),
        ("c.csv", b"name\xff\n", "is not text in UTF-8"),
        ("c.csv", "", "it needs a column 'name'"),
        ("c.csv", "name,x,y,z\ns1,0,5,\ns2,0,,5\n", "c.csv: row 3 has no y, and an earlier row has one"),
        ("c.csv", "name,x,y\ns1,0,\ns2,,\ns3,0,5\n", "c.csv: row 4 has y, and an earlier row has none"),
        ("c.csv", "name,role\ns1,\"include\n" + "s2,include\n" * 20_000, "c.csv is not a CSV file that can be read"),
        ("c.toml", "include = " + "[" * 3000 + "]" * 3000, "c.toml: lists and tables are nested too deep"),
        ("c.toml", "include = [1]", "c.toml: include must be a list of names in quotes, and one of them is 1."),
        ("c.toml", "include = [['s1']]", "c.toml: include must be a list of names in quotes"),
        ("c.toml", "only_choose = [1.5]", "c.toml: only_choose must be a list of names in quotes"),
        ("c.toml", "choose_from = [true]", "c.toml: choose_from must be a list of names in quotes"),
        ("c.toml", "[blocks]\na = ['s1', 2]", "c.toml: block 'a' must be a list of names in quotes"),
        ("c.toml", "[groups.a]\ncolumns = [['s1']]\nat_most = 1", "c.toml: columns of group 'a' must be a list"),
        ("c.toml", "min_distance = 1\ncoordinates = {s1 = [[1]]}", "c.toml: coordinates of 's1' must be finite"),
        ("c.toml", "min_distance = 1\ncoordinates = {s1 = ['x']}", "c.toml: coordinates of 's1' must be finite"),
        ("c.toml", "min_distance = [1]", "c.toml: min_distance must be a number from 0"),
        ("c.toml", "choose_from = []", "The conditions cannot be met: they leave no column to select"),
        ("c.toml", "choose_from = ['s1']\n[blocks]\na = ['s1', 's7']", "they leave no column to select"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_used(run, plant, name, text, words):
    (plant / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    code, out, err = run("select", plant / "plant.csv", "-k", 3, "--conditions", plant / name)
    assert (code, out) == (2, "")
    assert words in " ".join(err.split())
    assert err.count("stableselect:") == 1 and "Traceback" not in err


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--budget", 3], "--budget needs a file of costs"),
        (["--conditions", "none.toml"], "none.toml: No such file"),
        (["--shrink-from", "s1,s2", "-k", "auto"], "go neither with an automatic number of columns nor with stability"),
        (["--shrink-from", "s1,s2", "--method", "PFA"], "PFA does not have this setting"),
        (["--shrink-from", "s1,s2", "--drop-columns", "s1"], "'s1' is dropped or an id column"),
    ],
)
def test_options_that_cannot_be_met(run, plant, more, words):
    code, _, err = run("select", plant / "plant.csv", "-k", 2, *more)
    assert code == 2 and words in " ".join(err.split()), err


def test_axes_are_the_same_in_all_files(run, plant):
    (plant / "a.csv").write_text("name,x,y\ns1,0,5\n")
    (plant / "b.csv").write_text("name,x,z\ns2,0,5\n")
    files = "--conditions", plant / "a.csv", "--conditions", plant / "b.csv"
    code, _, err = run("select", plant / "plant.csv", "-k", 3, *files, "--min-distance", 1)
    assert code == 2 and "b.csv: row 2 has no y, and an earlier row has one" in " ".join(err.split()), err


def test_names_are_left_as_they_are(run, tmp_path):
    names = ["feature", "feature_1", "it's a feature", 'Feature "2"', "features"]
    pd.DataFrame(np.random.default_rng(0).normal(size=(30, 5)), columns=names).to_csv(tmp_path / "t.csv", index=False)
    for name in names:
        cost = pd.DataFrame({"name": [other for other in names if other != name], "cost": 1})
        cost.to_csv(tmp_path / "cost.csv", index=False)
        code, _, err = run("select", tmp_path / "t.csv", "--conditions", tmp_path / "cost.csv", "--budget", 3)
        assert code == 2 and f"cost lacks {name!r}, which may be selected" in " ".join(err.split()), err
    (tmp_path / "c.toml").write_text("[groups.features]\ncolumns = ['feature']\nexactly = 1\n")
    code, _, err = run(
        "select", tmp_path / "t.csv", "-k", 2, "--exclude", "feature", "--conditions", tmp_path / "c.toml"
    )
    assert code == 2 and "1 of group 'features' are asked for" in " ".join(err.split()), err
    (tmp_path / "c.toml").write_text("choose_from = ['features']\n")
    code, _, err = run("select", tmp_path / "t.csv", "-k", 2, "--conditions", tmp_path / "c.toml")
    assert code == 2 and "2 columns are to be selected" in " ".join(err.split()), err
    (tmp_path / "c.toml").write_text("[blocks]\na = ['features', 'feature']\nb = ['feature', 'feature_1']\n")
    code, _, err = run("select", tmp_path / "t.csv", "-k", 2, "--conditions", tmp_path / "c.toml")
    assert code == 2 and "Column 'feature' is in two blocks" in " ".join(err.split()), err


@pytest.mark.parametrize("end", ["\r", "\r\n"])
def test_line_ends_of_other_systems(run, plant, end):
    (plant / "c.csv").write_bytes(f"name;group;at_most{end}s0;a,b;0{end}s1;a,b;{end}".encode())
    code, out, err = run("select", plant / "plant.csv", "-k", 6, "--conditions", plant / "c.csv")
    assert code == 0 and set(out.split()) == {"s2", "s3", "s4", "s5", "s6", "s7"}, err


def test_semicolons_and_several_groups(run, plant):
    (plant / "c.csv").write_text("name;penalty;group;at_most\ns0;0,5;a|b;1\ns1;;a;\ns2;;b;\n")
    code, out, err = run("select", plant / "plant.csv", "-k", 4, "--conditions", plant / "c.csv")
    assert code == 0 and "s0" not in out.split(), err


def test_a_list_longer_than_a_file_name_is_a_list(run, tmp_path):
    names = [f"a rather long name of column {j}" for j in range(12)]
    rows = np.random.default_rng(0).normal(size=(40, 12))
    np.savetxt(tmp_path / "table.csv", rows, delimiter=",", header=",".join(names), comments="")
    code, out, err = run("select", tmp_path / "table.csv", "-k", 10, "--include", ",".join(names[:9]), "-q")
    assert (code, err) == (0, "")
    assert set(names[:9]) < set(out.splitlines())
