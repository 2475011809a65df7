"""The benchmark of stated stability and of the default's error: its runs, its store and its page."""

import importlib
from dataclasses import replace
from itertools import product
from math import comb
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from stableselect import ColumnSubset
from stableselect.experiments import CURRENT, MixedRevisionsError, Run, Store, Stored
from stableselect.inspection import stability_analysis
from stableselect.metrics import reconstruction_error

ROOT = Path(__file__).parents[1]
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("the benchmarks are not in this copy", allow_module_level=True)


@pytest.fixture(autouse=True)
def path(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))


@pytest.fixture
def choice():
    return importlib.import_module("choice")


@pytest.fixture
def runs_module():
    return importlib.import_module("_choice_runs")


@pytest.fixture
def tables():
    module = importlib.import_module("_choice_tables")
    module.load_table.cache_clear()
    module._inside.cache_clear()
    return module


def done(dataset, method, task, split, k, **record):
    protocol = "corrected" if task == "error" else "whole"
    about = {"seconds": 1.0, "warned": False, "versions": {"stableselect": "0"}}
    return Stored(Run(dataset, method, protocol, split, 0, k, task=task), "done", record | about, "", ended=0.0)


@pytest.fixture
def made_up():
    """Runs of two tables: Diabetes (10 features, 4 selected), complete, and Wine, with errors alone."""
    table = {"n": 442, "m": 10, "source": "nowhere 1.0"}
    found = [
        done("diabetes", "stability", "stated", 0, 4, stated=0.8, interval=[0.5, 0.7], reached=True, table=table),
        done("diabetes", "stability 0.8", "stated", 0, 4, stated=0.85, interval=[0.7, 0.9], reached=True, table=table),
    ]
    sets = {
        "default": ([0, 1, 2, 3], [0, 1, 2, 4]),
        "stability": ([0, 1, 2, 3], [0, 1, 2, 3]),
        "stability 0.8": ([0, 1, 2, 3], [4, 5, 6, 7]),
    }
    errors = {"default": 1.0, "stability": 1.06, "stability 0.8": 1.02}
    for method, split in product(sets, range(20)):
        selected = sets[method][split % 2]
        found.append(
            done("diabetes", method, "repeated", split, 4, selected=selected, m=10, ridge=errors[method], own=2.0)
        )
    # The default's error is 1, 2, ..., 10 tenths of that of random features, and twice that of pivoted QR.
    for split in range(10):
        found += [
            done("diabetes", "default", "error", split, 4, ridge=(split + 1) / 10),
            done("diabetes", "random", "error", split, 4, ridge=1.0),
            done("diabetes", "pivoted QR", "error", split, 4, ridge=(split + 1) / 20),
            replace(done("diabetes", "fastcan", "error", split, 4), status="failed", record={}, error="Too few."),
        ]
    found += [done("wine", "default", "error", 0, 5, ridge=0.5), done("wine", "random", "error", 0, 5, ridge=1.0)]
    found.append(done("wine", "default", "error", 1, 5, ridge=9.0))  # random features lack this split
    return found


def cells(page, heading, first):
    """Return the cells of the row that begins with a text, in the first table after a heading."""
    part = page.split(heading, 1)[1]
    line = next(line for line in part.splitlines() if line.lstrip("| *").startswith(first))
    return [cell.strip() for cell in line.strip("|").split(" | ")]


def test_page_of_a_made_up_store(choice, made_up, tmp_path):
    with Store(tmp_path / "store", write=True) as store:
        for item in made_up:
            store.add(item)
    choice.main(["page", "--store", str(tmp_path / "store"), "--output", str(tmp_path / "page.md")])
    page = (tmp_path / "page.md").read_text(encoding="utf-8")

    row = cells(page, "**Stated and repeated**", "Diabetes")
    assert row[0] == "*Diabetes, 442 x 10, 4*"
    assert row[1:] == ["0.80 [0.50, 0.70]", "1.00 ± 0.00", "-0.20", "no", "no"]
    # By hand: features 3 and 4 are each in half of 20 sets, so both have variance 1/4 * 20/19, and 4/10 * 6/10 is the
    # variance of a feature drawn at random.
    plain = 1 - (2 * 0.25 * 20 / 19 / 10) / 0.24
    apart = 1 - (8 * 0.25 * 20 / 19 / 10) / 0.24
    row = cells(page, "**Stability and error", "Diabetes")
    assert row[1].startswith(f"{plain:.2f} ±") and row[2] == "1.00 ± 0.00"
    assert row[3:] == [f"{1 - plain:+.2f}", "1.060 [1.060, 1.060]", "1.000 [1.000, 1.000]", "no"]
    row = cells(page, "**Asked for a stability of 0.8**", "Diabetes")
    assert row[1:3] == ["0.85 [0.70, 0.90]", "reached"] and row[3].startswith(f"{apart:.2f} ±")
    assert row[4:] == [f"{0.85 - apart:+.2f}", "1.020 [1.020, 1.020]"]

    row = cells(page, "**Other tables", "Diabetes")
    assert row[1:6] == ["0.55 [0.20, 0.90], 1.00", "–", "2.00 [2.00, 2.00], 2.00", "failed", "not run"]  # noqa: RUF001
    assert cells(page, "**Other tables", "Wine")[1] == "0.50, 0.50"
    assert cells(page, "**On how many", "random features")[1:] == ["2 of 2", "1 of 2", "none", "none"]
    assert cells(page, "**On how many", "pivoted QR")[1:] == ["0 of 1", "0 of 1", "Diabetes (2.00)", "Diabetes"]
    assert cells(page, "**Where the tables come from**", "Diabetes")[2] == "nowhere 1.0"
    assert cells(page, "**Failed runs**", "Diabetes") == ["Diabetes, fastcan, error: Too few.", "10"]

    summary = page.split("##", 1)[0]
    assert "within 0.1 of the repeated one on 0 of 1 tables (0 of 1 new ones)" in summary
    assert "too low: Diabetes (-0.20)" in summary and "beyond: Diabetes (1.060)" in summary
    assert f"Said to be reached and not: Diabetes ({apart:.2f})" in summary
    assert cells(page, "**Stated and repeated**", "Wine")[1:3] == ["not run", "not run"]


def test_runs_of_another_revision_are_not_mixed_in(choice, made_up):
    older = replace(CURRENT, engine=CURRENT.engine - 1)
    with pytest.raises(MixedRevisionsError):
        choice.render([*made_up, replace(made_up[0], run=replace(made_up[0].run, split=5), revision=older)])


@pytest.mark.slow
def test_committed_page_is_what_the_committed_store_renders(choice):
    assert choice.PAGE.read_text(encoding="utf-8") == choice.render(choice.stored()), (
        "docs/choice.md is not what benchmarks/results/choice gives; run python benchmarks/choice.py page"
    )


@pytest.mark.parametrize("n", [6, 10, 20, 25])
def test_sign_interval_holds_the_median(n):
    module = importlib.import_module("_choice_results")
    low, high = module.sign_interval(range(1, n + 1))
    # Low is the r-th smallest: the median lies outside if fewer than r of n fall on one side of it.
    outside = [2 * sum(comb(n, i) for i in range(r)) / 2**n for r in (low, low + 1)]
    assert high == n + 1 - low and outside[0] <= 0.05 < outside[1]


def test_sign_interval_needs_six_values():
    assert np.isnan(importlib.import_module("_choice_results").sign_interval([1.0] * 5)).all()


def test_runs_are_computed_once_and_by_the_rules(choice, tmp_path, capsys):
    command = [
        "run",
        "--jobs",
        "1",
        "--table",
        "diabetes",
        "--only",
        "error",
        "--splits",
        "2",
        "--store",
        str(tmp_path),
    ]
    choice.main(command)
    assert "/" in capsys.readouterr().out
    found = {(item.run.method, item.run.split): item for item in Store(tmp_path).runs()}
    assert {item.status for item in found.values()} == {"done"}
    assert not any(method == "variance" for method, _ in found)  # the features have unit variance
    X = load_diabetes().data
    for split in range(2):
        train, test = train_test_split(X, test_size=0.2, random_state=split)
        scaler = StandardScaler().fit(train)
        train, test = scaler.transform(train), scaler.transform(test)
        expected = reconstruction_error(train, test, ColumnSubset(4).fit(train).selected_, refit="ridge")
        assert found["default", split].record["ridge"] == pytest.approx(expected, rel=1e-9)
        errors = {method: item.record["ridge"] for (method, number), item in found.items() if number == split}
        assert errors["principal components"] < errors["default"] < errors["random"] < errors["mean predictor"]
    choice.main(command)
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_repeated_stability_is_that_of_the_inspection(runs_module):
    plan = runs_module.plan(["diabetes"], parts=["stated", "repeated"], subsamples=2)
    runs = [run for run in plan if run.method != "stability 0.8"]
    items = [Stored(run, "done", runs_module.evaluate(run), "") for run in runs]
    found = importlib.import_module("_choice_results").Found(runs_module.TABLES["diabetes"], items)
    X = StandardScaler().fit_transform(load_diabetes().data)
    cv = [train_test_split(np.arange(len(X)), test_size=0.2, random_state=split) for split in range(2)]
    for method, settings in (("default", {}), ("stability", {"criterion": "stability"})):
        expected = stability_analysis(ColumnSubset(4, **settings), X, cv=cv).stability.nogueira
        assert found.repeated(method).nogueira == pytest.approx(expected)
    frontier = ColumnSubset(4, criterion="stability").fit(X).frontier_
    record = found.stated("stability").record
    assert record["stated"] == pytest.approx(frontier.procedure_stability)
    assert record["interval"] == pytest.approx(frontier.procedure_interval)


def test_every_rival_selects_k_features(runs_module, tall):
    for method in ("default", "variance", "pivoted QR", "AEFS"):
        assert len(set(np.asarray(runs_module._SELECT[method](tall, 5)).tolist())) == 5, method


def test_tables_go_through_a_folder(tables, tmp_path, monkeypatch):
    few = {name: tables.TABLES[name] for name in ("wine", "noise", "glioma")}
    monkeypatch.setattr(tables, "TABLES", few)
    assert tables.prepare(tmp_path) == ["wine", "noise"]
    whole = tables.load_table("wine")
    tables.load_table.cache_clear()
    monkeypatch.setitem(few, "wine", replace(few["wine"], load=lambda: pytest.fail("the folder has it")))
    found = tables.load_table("wine", str(tmp_path))
    np.testing.assert_array_equal(found.X, whole.X)
    assert found.source == whole.source and found.source.startswith("scikit-learn ")


def test_tables_inside_packages(tables, tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "find_spec", lambda name: None)
    with pytest.raises(tables.NotAvailableError, match="pip install --no-deps sktime"):
        tables.load_table("gun_point")
    monkeypatch.undo()
    monkeypatch.setattr(tables, "_inside", lambda package: tmp_path / package)
    series = tmp_path / "sktime" / "datasets" / "data" / "GunPoint"
    series.mkdir(parents=True)
    (series / "GunPoint_TRAIN.ts").write_text("#About\n@classLabel true 1 2\n@data\n\n1,2.5,-3:1\n")
    (series / "GunPoint_TEST.ts").write_text("@data\n4,5,6:2\n4,5,6:2\n")
    assert tables.load_table("gun_point").X.tolist() == [[1, 2.5, -3], [4, 5, 6]]  # equal samples count once
    (tmp_path / "Orange" / "datasets").mkdir(parents=True)
    (tmp_path / "Orange" / "datasets" / "brown-selected.tab").write_text(
        "a\tb\ty\nc\tcontinuous\td\n\t\tclass\n?\t2\tx\n"
    )
    np.testing.assert_array_equal(tables.load_table("yeast").X, [[np.nan, 2.0]])


def test_scaling_is_learnt_from_the_samples_given(tables):
    X = np.array([[1.0, 5.0, np.nan], [3.0, 5.0, 4.0]])
    units = tables.scale(X, "standard")
    np.testing.assert_allclose(units.apply(X), [[-1, 0, 0], [1, 0, 0]])
    np.testing.assert_allclose(units.apply(np.array([[5.0, 9.0, 7.0]])), [[3, 0, 0]])
    np.testing.assert_allclose(tables.scale(X, "none").apply(X), [[1, 5, 4], [3, 5, 4]])
    np.testing.assert_allclose(tables.scale(X, "minmax").apply(X), [[0, 0, 0], [1, 0, 0]])


def test_at_least_six_tables_are_new_and_twelve_in_all(tables):
    real = [table for table in tables.TABLES.values() if table.origin == "new"]
    assert len(real) >= 6 and len(tables.TABLES) >= 12
