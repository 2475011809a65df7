"""A selector and a table from outside the package in the paper's comparison, and a machine without the data."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor
from sklearn.datasets import load_wine

from stableselect import datasets
from stableselect.cli import main
from stableselect.experiments import Revision, Store, Stored
from stableselect.metrics import reconstruction_error
from stableselect.paper import Request, read, run, show
from stableselect.paper._revisions import current

OWN = """
import pathlib
import numpy as np
from stableselect import Moments
from stableselect.base import ScoreSelector
pathlib.Path(__file__).with_name("imported").touch()
class Least(ScoreSelector):
    "Select the features that vary least."
    def __init__(self, n_features_to_select=None, *, include=None, exclude=None):
        self.n_features_to_select, self.include, self.exclude = n_features_to_select, include, exclude
    def _score_features(self, X, k):
        return -np.asarray(Moments.from_array(X).variance)
class Other:
    pass
"""
NAME = "ownleast:Least"


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A module of the user's, and a folder with a table of the user's."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "ownleast.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path / "code")
    monkeypatch.setattr("stableselect.datasets._registry.own", {})
    monkeypatch.setattr("stableselect.datasets._own.own", datasets._registry.own)
    home = tmp_path / "data"
    datasets.add("wine", *load_wine(return_X_y=True), k=4, title="Wine", data_home=home)
    yield home
    sys.modules.pop("ownleast", None)


def wanted(home, results, **how):
    methods = ["ColumnSubset", "random", "PFA", "mean predictor", "PCA, k components", NAME]
    given = {"datasets": ["wine"], "methods": methods, "splits": 2, "results": results, "data_home": home}
    return Request("table2", **given | how)


def test_an_own_selector_on_an_own_table_stands_in_the_paper_s_table(own, tmp_path):
    results = tmp_path / "results"
    page = run(wanted(own, results))["table2"].markdown()
    stored = Store(results, current=current).runs()
    assert {item.status for item in stored} == {"done"} and {item.run.protocol for item in stored} == {"corrected"}
    assert "Wine, 4 of 13 features" in page, page[-3000:]
    found = read(results, data_home=own)
    value = found.value("wine", NAME, "corrected", "ridge")
    table = datasets.load("wine", data_home=own)
    expected = []
    for seed in range(2):
        split = table.split("random", seed=seed, protocol="corrected")
        chosen = np.argsort(split.X_train.var(axis=0))[:4]
        expected.append(reconstruction_error(split.X_train, split.X_test, chosen, refit="ridge"))
    assert value.mean == pytest.approx(np.mean(expected))
    rows = [line for line in page.splitlines() if line.startswith(f"| {NAME} ")]
    assert rows and f"{value.mean:.4f}" in rows[-1]
    assert found.tables[-1] == "wine" and len(found.datasets) == 10 and NAME in found.others
    summary = show("summary", results=results, data_home=own)
    ranked = {row["method"]: row["datasets"] for row in summary.data if row["measure"] == "ridge"}
    assert ranked[NAME] == ranked["ColumnSubset"] == 1


@pytest.mark.slow
def test_other_processes_know_them_too(own, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "code"))
    get_reusable_executor().shutdown()  # processes of an earlier test know another path
    results = tmp_path / "results"
    run(wanted(own, results, methods=[NAME, "ColumnSubset"], jobs=2))
    assert [item.status for item in Store(results, current=current).runs()] == ["done"] * 6


def test_a_table_of_groups_is_split_by_them(own):
    X, y = load_wine(return_X_y=True)
    groups = np.repeat(np.arange(89), 2)
    datasets.add("pairs", X, y, k=3, groups=groups, data_home=own)
    table = datasets.load("pairs", data_home=own)
    split = table.split("group", seed=1)
    assert not set(groups[split.train]) & set(groups[split.test])
    assert datasets.own_names(own) == ["pairs", "wine"] and len(datasets.names()) == 10
    with pytest.raises(ValueError, match="another table called 'pairs'"):
        datasets.add("pairs", X + 1, y, k=3, groups=groups, data_home=own)
    datasets.add("pairs", X, y, k=5, groups=groups, data_home=own)
    assert datasets.info("pairs").k == 5


def test_stored_names_are_never_imported(own, tmp_path):
    """A results folder may come from anywhere."""
    results = tmp_path / "results"
    plain = run(wanted(own, results, methods=["ColumnSubset"], splits=1))["table2"].markdown()
    assert NAME not in plain
    with Store(results, write=True, current=current) as store:
        one = store.runs()[0]
        store.add(Stored(type(one.run)(**{**vars(one.run), "method": NAME}), "done", one.record, "", Revision()))
    assert f"| {NAME} " in show("table2", results=results, data_home=own).markdown()
    assert not (tmp_path / "code" / "imported").exists()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": "glioma"}, "not that of one of the ten tables"),
        ({"name": "../up"}, "lower-case letters"),
        ({"k": 13}, "k must be from 1 to less than the 13"),
        ({"y": np.arange(178)[:5]}, "align them"),
        ({"groups": [1, 2]}, "one label for each sample"),
        ({"X": np.full((178, 13), np.inf)}, "finite"),
    ],
)
def test_tables_that_cannot_be_added(tmp_path, given, words):
    X, y = load_wine(return_X_y=True)
    with pytest.raises(ValueError, match=words):
        datasets.add(**{"name": "fine", "X": X, "y": y, "k": 3} | given, data_home=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no_such_module:Least", "No module named 'no_such_module'"),
        ("ownleast:Most", "AttributeError"),
        ("ownleast:Other", "is not a subclass of stableselect.BaseSelector"),
        ("Most", "There is no method 'Most'.*package.module:Class"),
    ],
)
def test_selectors_that_cannot_be_used(own, tmp_path, name, words):
    with pytest.raises(ValueError, match=words):
        wanted(own, tmp_path, methods=[name])


def test_without_data_it_says_what_to_do_and_what_can_be_run(own, tmp_path, capsys):
    empty = tmp_path / "empty"
    empty.mkdir()
    words = ["paper", "run", "table2", "--results", str(tmp_path / "r")]
    assert main([*words, "--data", str(empty)]) == 2
    said = capsys.readouterr().err
    assert "There is nothing to compute" in said and "stableselect.datasets.fetch('mice_protein')" in said
    assert "Without data: stableselect paper run table1" in said and said.count("\n") == 1
    assert main([*words, "--data", str(own)]) == 2
    assert "What is there can be run: --dataset wine." in capsys.readouterr().err
    assert not (tmp_path / "r").exists()
    chosen = ["--dataset", "wine", "--dataset", "glioma", "--method", "ColumnSubset", "--splits", "1"]
    assert main([*words, "--data", str(own), *chosen]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "Datasets that are missing, and left out: glioma." and "--dataset wine" in said[1]
