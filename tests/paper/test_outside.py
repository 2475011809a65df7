"""Methods of other packages: what they select, where they are shown, what happens where they are missing."""

from itertools import product

import numpy as np
import pytest
from scipy.linalg import qr
from typer.testing import CliRunner

from stableselect import ColumnSubset
from stableselect.cli._app import app
from stableselect.datasets import info, names
from stableselect.experiments import Run, Stored
from stableselect.paper import Request
from stableselect.paper._api import Batch
from stableselect.paper._measure import evaluate
from stableselect.paper._registry import EXPERIMENTS
from stableselect.paper._report import NONE, Table
from stableselect.paper.methods import OTHERS, Results, TooManyFeaturesError, _methods, find_method
from stableselect.paper.methods import _outside as module

OUTSIDE = [name for name in OTHERS if find_method(name).outside]
OWN = ["PivotedQR", "VarianceScore", "GatedLaplacian", "KernelSubset"]


@pytest.fixture(params=OUTSIDE)
def select(request):
    method = find_method(request.param)
    if not method.available():
        pytest.skip(f"{method.needs} is not installed")
    return method.outside


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 4, 12])
def test_k_different_features(select, tall, k):
    before = tall.copy()
    found = select(tall, k)
    assert len(set(found.tolist())) == k == len(found) and set(found) <= set(range(12))
    np.testing.assert_array_equal(tall, before)


@pytest.mark.slow
def test_constant_features_come_last_and_few_samples_are_no_fault(select, wide):
    X = wide.copy()
    X[:, [2, 30]] = 1.5
    assert not {2, 30} & set(select(X, 5).tolist())
    if select is module.interpolative:
        assert len(set(select(X, 20).tolist())) == 20 > len(X)
    else:
        with pytest.raises(TooManyFeaturesError, match="selects at most 8 features"):
            select(X, 20)
    assert set(select(X[:, :4], 4).tolist()) == {0, 1, 2, 3}
    assert select(np.ones((5, 3)), 2).tolist() == [0, 1]


@pytest.mark.slow
def test_they_beat_random_features(select, tall, rng):
    def left(S):
        gram = np.cov(tall.T)
        return np.trace(gram - gram[:, S] @ np.linalg.solve(gram[np.ix_(S, S)], gram[S]))

    drawn = np.mean([left(rng.choice(12, 4, replace=False)) for _ in range(200)])
    assert left(ColumnSubset(4, ridge=0.0).fit(tall).selected_) <= left(select(tall, 4)) < drawn


@pytest.mark.slow
def test_the_interpolative_decomposition_is_pivoted_qr_of_the_samples(tall):
    expected = qr(tall - tall.mean(axis=0), mode="r", pivoting=True)[1][:5]
    np.testing.assert_array_equal(module.interpolative(tall, 5), expected)


def test_a_process_that_dies_is_an_error_and_no_more(tall, monkeypatch):
    monkeypatch.setattr(module, "_INTERPOLATIVE", "import os; os.abort()")
    with pytest.raises(RuntimeError, match="interpolative decomposition ended with exit code -"):
        module.interpolative(tall, 3)


def test_the_wrong_number_of_features_is_refused(tall):
    @module._of_varying
    def stuck(X, k):
        return np.zeros(k, dtype=int)

    with pytest.raises(RuntimeError, match="stuck returned 1 different features instead of 3"):
        stuck(tall, 3)


def test_they_are_run_where_they_are_named_and_under_corrected_alone():
    assert not {run.method for run in Request("table2").runs()["table2"]} & set(OTHERS)
    runs = Request("table2", methods=OTHERS, splits=3).runs()["table2"]
    assert {run.method for run in runs} == set(OTHERS)
    assert {run.protocol for run in runs} == {"corrected"}
    # Methods, splits, datasets; GatedLaplacian alone depends on a seed, and has two.
    assert len(runs) == (6 + 2) * 3 * 10
    assert len(Request("summary", methods=["LS", "fastcan"], splits=1, datasets=["usps"]).runs()["summary"]) == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", [*OUTSIDE, *OWN])
def test_a_run_is_measured_like_any_other(name, tiny):
    if not find_method(name).available():
        pytest.skip(f"{find_method(name).needs} is not installed")
    record = evaluate(Run("glioma", name, "corrected", 0, 0, 3))
    assert len(set(record["selected"])) == 3
    assert 0 < record["ridge"] and 0 < record["least_squares"] and 0 < record["accuracy"] <= 1
    assert record["seconds"] > 0
    assert find_method(name).needs is None or find_method(name).needs in record["versions"]


def test_what_cannot_be_selected_is_a_note_and_no_failure(tiny, monkeypatch):
    monkeypatch.setattr(module.np.linalg, "matrix_rank", lambda X: 2)
    record = evaluate(Run("glioma", "fastcan", "corrected", 0, 0, 3))
    assert record["selected"] is None and "ridge" not in record
    assert record["note"] == "fastcan selects at most 2 features of these samples, their rank, and not 3."


@pytest.fixture
def without_fastcan(monkeypatch):
    real = _methods.find_spec
    monkeypatch.setattr(_methods, "find_spec", lambda name: None if name == "fastcan" else real(name))


def test_a_missing_package_is_named_with_its_extra(without_fastcan, tmp_path, monkeypatch):
    method = find_method("fastcan")
    assert not method.available()
    text = "fastcan needs fastcan, which is not installed: pip install 'stableselect[bench]'."
    assert method.missing() == text
    assert find_method("scipy ID").missing() == ""
    monkeypatch.setattr("stableselect.paper._api.is_available", lambda name, home: True)
    assert Batch(Request("table2", methods=["fastcan", "LS"], results=tmp_path)).missing == [text]
    command = ["paper", "run", "table2", "--method", "fastcan", "--results", str(tmp_path)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0 and text in " ".join(done.output.split())


NAMES = ("coil20", "usps", "glioma")
PLAIN = ("LS", "ColumnSubset", "random", "mean predictor")


@pytest.fixture
def items(invented):
    """Return a function that makes runs of methods on datasets."""

    def made(methods, datasets=NAMES, splits=(0, 1)):
        runs = [
            Run(name, method, "corrected", split, 0, info(name).k)
            for name, method, split in product(datasets, methods, splits)
        ]
        return [Stored(run, "done", invented(run), "") for run in runs]

    return made


def rows_of(page, title, place=-1):
    tables = [block for block in page.blocks if isinstance(block, Table) and block.title.startswith(title)]
    table = tables[place]
    return {row[0]: row[1:] for row in table.rows}, table.notes


@pytest.mark.parametrize("name", ["table2", "table3", "summary"])
def test_pages_of_a_store_without_them_do_not_name_them(name, items, tmp_path):
    text = EXPERIMENTS[name].render(Results(items(PLAIN), data_home=tmp_path)).markdown()
    assert not any(other in text for other in OTHERS)


@pytest.mark.parametrize("name", ["table2", "table3"])
def test_tables_show_them_below_the_others_which_stay_as_they_are(name, items, tmp_path):
    plain = EXPERIMENTS[name].render(Results(items(PLAIN), data_home=tmp_path))
    # One split less than the others have: they keep theirs.
    found = Results(items(PLAIN) + items(OTHERS, splits=(1,)), data_home=tmp_path)
    page = EXPERIMENTS[name].render(found)
    for title in ("Error after" if name == "table2" else "Accuracy in", "USPS"):
        before, after = rows_of(plain, title)[0], rows_of(page, title)[0]
        assert list(after) == [*before, *OTHERS]
        assert {method: after[method] for method in before} == before
    measure = "ridge" if name == "table2" else "accuracy"
    (record,) = [record for _, record in found.records("usps", "fastcan", "corrected")]
    value = found.value("usps", "fastcan", "corrected", measure)
    assert value.mean == record[measure] and value.mark == "1 of 2 splits"
    lines = [line for line in page.data if line["method"] == "fastcan"]
    assert {line["protocol"] for line in lines} == {"corrected"}
    assert plain.data == [line for line in page.data if line["method"] not in OTHERS]


def test_a_table_says_why_a_cell_is_empty(items, tmp_path, without_fastcan):
    note = "linselect selects at most 39 features of these samples, their rank, and not 64."
    unable = Stored(Run("glioma", "linselect", "corrected", 0, 0, 64), "done", {"selected": None, "note": note}, "")
    some = items(PLAIN) + items(["linselect"], ("coil20", "usps")) + [unable] + items(["fastcan"], ("coil20",))
    page = EXPERIMENTS["table2"].render(Results(some, data_home=tmp_path))
    rows, notes = rows_of(page, "GLIOMA")
    assert rows["linselect"][-2] == NONE
    assert rows["fastcan"][-2] == "not run"
    assert notes == [f"GLIOMA: {note}"]
    rows, notes = rows_of(page, "Error after")
    assert notes[-2:] == [f"GLIOMA: {note}", "fastcan has not been run on USPS, GLIOMA."]
    assert rows["fastcan"][names().index("coil20")] != NONE == rows["fastcan"][names().index("usps")]


def test_the_summary_ranks_those_that_have_every_split(items, tmp_path):
    plain = EXPERIMENTS["summary"].render(Results(items(PLAIN), data_home=tmp_path))
    some = items(PLAIN) + items(["PivotedQR"]) + items(["fastcan"], ("coil20", "usps"))
    page = EXPERIMENTS["summary"].render(Results(some, data_home=tmp_path))
    rows, notes = rows_of(page, "Reconstruction error (ridge refit)", 0)
    assert rows["fastcan"][0] == NONE and rows["fastcan"][1].endswith(" of 2")
    assert "Not ranked, since they lack some of these splits: fastcan." in notes
    ranks = [float(rows[name][0]) for name in ("LS", "ColumnSubset", "random", "PivotedQR")]
    assert sum(ranks) == pytest.approx(1 + 2 + 3 + 4, abs=0.02)
    before = {line["method"]: line for line in plain.data if line["measure"] == "ridge"}
    for line in page.data:
        if line["measure"] == "ridge" and line["method"] in before:
            ranked = ("average_rank", "critical_difference")  # of one method more
            assert {key: value for key, value in line.items() if key not in ranked} == {
                key: value for key, value in before[line["method"]].items() if key not in ranked
            }
