"""The benchmark on tables that nobody tuned on: its tables, its store and its page."""

import csv
import hashlib
import importlib
import zipfile
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from stableselect import datasets
from stableselect.experiments import Run, Store, Stored
from stableselect.paper.methods import METHODS, OTHERS, find_method

ROOT = Path(__file__).parents[1]
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("the benchmarks are not in this copy", allow_module_level=True)

RESULTS = ROOT / "docs" / "results"


@pytest.fixture(autouse=True)
def path(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))


@pytest.fixture
def page():
    return importlib.import_module("_unseen_page")


@pytest.fixture
def tables():
    return importlib.import_module("_unseen_tables")


def packed(folder, files):
    """Write a package that holds some files."""
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / "nothing-1.0-py3-none-any.whl", "w") as wheel:
        for name, content in files.items():
            wheel.writestr(name, content)


def test_a_table_is_read_from_a_package_and_each_sample_kept_once(tmp_path, tables):
    content = b"@problemName a\n@data\n1,2,3:x\n4,5,6:y\n1,2,3:x\n"
    packed(tmp_path, {"data/a.ts": content})
    digest = hashlib.sha256(content).hexdigest()
    table = tables.Table("a", "A", "", 1, "nothing==1.0", {"data/a.ts": digest}, tables._series)
    X, y = table.load(tmp_path)
    assert X.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert y.tolist() == ["x", "y"]


def test_another_table_of_the_same_name_is_refused(tmp_path, tables):
    packed(tmp_path, {"data/a.ts": b"@data\n1,2:x\n"})
    table = tables.Table("a", "A", "", 1, "nothing==1.0", {"data/a.ts": "0" * 64}, tables._series)
    with pytest.raises(ValueError, match="another table"):
        table.load(tmp_path)


def test_no_table_is_one_that_was_tuned_on(tables):
    choice = importlib.import_module("_choice_tables")
    tuned = {table.title for table in choice.TABLES.values()} | {datasets.info(name).title for name in datasets.names()}
    assert {"Activity", "Wine"} <= tuned  # one that only the paper has, and one that only the choice has
    assert not {table.title for table in tables.TABLES.values()} & tuned


def test_agreement_counts_pairs(page):
    rng = np.random.default_rng(0)
    one, other = (dict(zip("abcdefgh", rng.normal(size=8), strict=True)) for _ in range(2))
    signs = [np.sign((one[a] - one[b]) * (other[a] - other[b])) for a, b in combinations(one, 2)]
    found = page.Agreement.of(one | {"only here": 1.0}, other)
    assert (found.tau, found.methods) == (pytest.approx(np.mean(signs)), 8)
    # A method and its twin are one.
    assert page.Agreement.of(one | {"twin": one["a"]}, other | {"twin": other["a"]}).tau == pytest.approx(found.tau)


def stored(folder, figures, unfinished=()):
    """Store made-up runs on the leaves; figures are errors by method."""
    with Store(folder, write=True) as store:
        for method, error in figures.items():
            seeds = 10 if method == "random" else 2 if find_method(method).seeded else 1
            for split in range(2 if method in unfinished else 5):
                for seed in range(seeds):
                    record = {"selected": [0], "ridge": error, "accuracy": 1 - error, "seconds": 1.0, "versions": {}}
                    run = Run("leaves", method, "corrected", split, seed, 20)
                    store.add(Stored(run, "done", record, "", ended=0.0))


def test_the_page_says_who_is_best_and_who_has_not_finished(tmp_path, page):
    figures = {"random": 0.4, "ColumnSubset": 0.2, "LS": 0.1, "AEFS": 0.3, "FAE": 0.05}
    stored(tmp_path, figures, unfinished=["FAE"])
    text = page.render(tmp_path, RESULTS)
    assert (
        "Leaves: ColumnSubset has 0.50 of the error of random features, rank 2 of 4; LS errs least, 50 % less." in text
    )
    assert "Leaves, FAE: not finished." in text
    assert "Against random features: better now LS." in text
    row = next(line for line in text.splitlines() if line.startswith("| FAE"))
    assert row.split("|")[3].strip() == "–"  # noqa: RUF001


def test_versions_are_one_line(tmp_path, page):
    some = [("LS", {"numpy": "2.4.6"}), ("CAE", {"numpy": "2.4.6", "torch": "2.13"}), ("FAE", {"numpy": "2.10.0"})]
    with Store(tmp_path, write=True) as store:
        for method, versions in some:
            store.add(Stored(Run("leaves", method, "corrected", 0, 0, 20), "done", {"versions": versions}, "", ended=0))
    made = page._made(page.stored_runs(tmp_path))
    assert made[1:] == ["Versions: numpy 2.10.0 or 2.4.6, torch 2.13."]


def test_the_committed_page_is_that_of_the_stored_runs(page):
    module = importlib.import_module("unseen")
    assert module.PAGE.read_text(encoding="utf-8") == page.render(module.STORE, RESULTS)


def test_every_method_of_table_2_is_there_or_said_to_be_missing(page):
    module = importlib.import_module("unseen")
    text = module.PAGE.read_text(encoding="utf-8")
    runs = page.stored_runs(module.STORE)
    for name, title in ((table.name, table.title) for table in page.TABLES.values()):
        methods = {item.run.method for item in runs[name] if item.status == "done"}
        for method in (*METHODS, *OTHERS):
            assert method in methods or f"{title}, {method}: " in text


def test_the_figures_of_the_page_by_hand(page):
    """The errors relative to random features, from the runs and from Table 2, without the aggregator."""
    module = importlib.import_module("unseen")
    lines = module.PAGE.read_text(encoding="utf-8").split("relative to random features**")[1].split("\n\n")[1]
    shown = {row[1].strip().replace("\\", ""): row[2:-1] for row in (split(line) for line in lines.splitlines()[2:])}
    for place, (name, items) in enumerate(page.stored_runs(module.STORE).items(), 1):
        errors = {}
        for item in items:
            if item.status == "done" and "note" not in item.record:
                errors.setdefault(item.run.method, {}).setdefault(item.run.split, []).append(item.record["ridge"])
        means = {method: np.mean([np.mean(seeds) for seeds in found.values()]) for method, found in errors.items()}
        for method, cells in shown.items():
            if cells[place].strip() != "–":  # noqa: RUF001
                assert float(cells[place].split("(")[0]) == pytest.approx(
                    means[method] / means["random"], abs=0.00051
                ), name
    with open(RESULTS / "table2.csv", encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    ridge = {
        (line["dataset"], line["method"]): float(line["mean"])
        for line in table
        if line["protocol"] == "corrected" and line["measure"] == "ridge" and line["mean"]
    }
    ratios = [ridge[d, "ColumnSubset"] / ridge[d, "random"] for d, method in ridge if method == "ColumnSubset"]
    assert float(shown["ColumnSubset"][0].split("(")[0]) == pytest.approx(np.exp(np.mean(np.log(ratios))), abs=0.00051)


def split(line):
    """Return the cells of a row, whose bars inside cells are escaped."""
    return line.replace("\\|", "\0").replace("|", "\n").replace("\0", "|").split("\n")
