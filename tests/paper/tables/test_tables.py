from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from stableselect.experiments._run import Run
from stableselect.experiments._store import Stored
from stableselect.paper._registry import EXPERIMENTS
from stableselect.paper._report import Table, published
from stableselect.paper.methods import Options
from stableselect.paper.methods._methods import METHODS
from stableselect.paper.methods._results import Results
from stableselect.paper.tables import _summary
from stableselect.paper.tables._comparison import CAUSES, causes, differs, printed

PAPER = Path(__file__).parents[4] / "shared" / "paper" / "paper.tex"
NAMES = ["mice_protein", "coil20", "activity", "isolet", "mnist_fashion"]
NAMES += ["usps", "glioma", "prostate_ge", "smk_can_187", "arcene"]


def stored(runs, evaluate):
    return [Stored(run, "done", evaluate(run), "") for run in runs]


@pytest.fixture(scope="module")
def full(invented, tmp_path_factory):
    """Every run of every experiment, but for the datasets that are not available; there are no images to draw."""
    options = Options(splits=2, seeds=1, with_faults=True)
    runs = {
        run
        for experiment in EXPERIMENTS.values()
        for protocol in ("paper", "corrected")
        for run in experiment.runs(protocol, options)
        if run.dataset not in ("activity", "smk_can_187")
    }
    return Results(stored(sorted(runs, key=str), invented), data_home=tmp_path_factory.mktemp("empty"))


def rows_of(text):
    """Check that every table of a Markdown text is rectangular, and return all of its rows."""
    rows = []
    for block in re.findall(r"(?:^\|.*\|$\n?)+", text, flags=re.MULTILINE):
        lines = block.strip().splitlines()
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1
        rows += [[run.strip() for run in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return rows


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiments_render_without_a_run(name, tmp_path):
    document = EXPERIMENTS[name].render(Results([], data_home=tmp_path))
    assert document.name == name
    assert "not available" in document.markdown() or name == "summary" or "n/a" in document.markdown()
    rows_of(document.markdown())
    assert document.csv()


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiments_render_with_gaps(name, full, invented, tmp_path):
    some = full.everything()[::7]
    some[0] = Stored(some[0].run, "failed", {}, "ValueError: <no>")
    document = EXPERIMENTS[name].render(Results(some, data_home=tmp_path))
    rows_of(document.markdown())


@pytest.mark.slow
def test_datasets_that_are_not_at_hand_are_shown_in_every_table(full):
    for name in ("table1", "table2", "table3", "supp_table1", "halves"):
        text = EXPERIMENTS[name].render(full).markdown()
        for title in ("Activity", "SMK_CAN_187"):
            assert title in text
        assert "not available" in text


def test_table2_shows_published_paper_and_corrected_side_by_side(full):
    document = EXPERIMENTS["table2"].render(full)
    (table,) = [block for block in document.blocks if isinstance(block, Table) and block.title.startswith("arcene")]
    assert table.header == [
        "method",
        "published",
        "paper",
        "fault A",
        "paper ridge",
        "corrected",
        "corrected ridge",
        "why",
    ]
    rows = {row[0]: row[1:] for row in table.rows}
    assert list(rows) == list(METHODS)
    assert rows["Inf-FS"][0] == "329.507"
    assert rows["UDFS"][0] == "stopped"
    assert rows["random"][0] == "–"  # noqa: RUF001
    assert set(rows["Inf-FS"][-1]) == {"A"}
    value = full.value("arcene", "|W|", "paper", "least_squares")
    assert rows["|W|"][1] == f"{value.mean:.4f} ± {value.spread:.4f} (3 seeds)"
    (line,) = [
        row
        for row in document.data
        if row["method"] == "LS"
        and row["dataset"] == "usps"
        and row["protocol"] == "corrected"
        and row["measure"] == "ridge"
    ]
    assert line["mean"] == full.value("usps", "LS", "corrected", "ridge").mean


def test_limits_and_failures_to_converge_are_shown(invented, tmp_path):
    runs = [Run("usps", "|W|", "paper", 0, seed, 50, "fast", 20) for seed in range(2)]
    items = [Stored(run, "done", invented(run) | {"converged": run.seed == 0}, "") for run in runs]
    document = EXPERIMENTS["table2"].render(Results(items, data_home=tmp_path))
    (table,) = [block for block in document.blocks if isinstance(block, Table) and block.title.startswith("Step")]
    assert table.rows == [["|W|, paper", "USPS 20", "USPS 1 of 2"]]


def test_values_are_means_over_splits_of_means_over_seeds():
    runs = [Run("glioma", "random", "corrected", split, seed, 64) for split, seed in [(0, 0), (0, 1), (1, 0)]]
    items = [
        Stored(run, "done", {"ridge": x, "own": {"a": x}}, "") for run, x in zip(runs, (1.0, 3.0, 8.0), strict=True)
    ]
    items.append(Stored(Run("glioma", "random", "corrected", 2, 0, 64), "failed", {}, "no"))
    items.append(Stored(Run("glioma", "random", "corrected", 0, 0, 64, "fast"), "done", {"ridge": 99.0}, ""))
    items.append(Stored(Run("glioma", "random", "corrected", 3, 0, 64, "full", 7), "done", {"ridge": 99.0}, ""))
    found = Results(items).value("glioma", "random", "corrected", "ridge")
    assert (found.mean, found.count) == (5.0, 3)
    assert found.spread == pytest.approx(np.std([2.0, 8.0], ddof=1) / np.sqrt(2))
    assert Results(items).value("glioma", "random", "corrected", "own.a") == found
    assert Results(items).value("glioma", "random", "corrected", "own.b") is None
    paper = [Stored(Run("glioma", "random", "paper", 0, s, 64), "done", {"ridge": s}, "") for s in range(3)]
    assert Results(paper).value("glioma", "random", "paper", "ridge").spread == pytest.approx(1.0)


def test_mode_is_the_full_one_where_there_is_any(invented):
    fast = stored([Run("glioma", "LS", "corrected", 0, 0, 64, "fast")], invented)
    whole = stored([Run("glioma", "LS", "corrected", 0, 0, 64)], invented)
    assert Results(fast).mode == "fast"
    assert Results(fast + whole).mode == "full"


def test_average_ranks_by_hand(tmp_path):
    scores = {"LS": [1.0, 1.0, 3.0], "PFA": [2.0, 1.0, 1.0], "random": [3.0, 2.0, 2.0]}
    items = [
        Stored(Run(name, method, "corrected", 0, 0, k), "done", {"ridge": value, "accuracy": 0.5, "seconds": 1.0}, "")
        for method, values in scores.items()
        for (name, k), value in zip([("glioma", 64), ("coil20", 50), ("usps", 50)], values, strict=True)
    ]
    document = EXPERIMENTS["summary"].render(Results(items, data_home=tmp_path))
    rows = {row["method"]: row for row in document.data if row["measure"] == "ridge"}
    assert rows["LS"]["average_rank"] == pytest.approx((1 + 1.5 + 3) / 3)
    assert rows["PFA"]["average_rank"] == pytest.approx((2 + 1.5 + 1) / 3)
    assert (rows["LS"]["wins"], rows["PFA"]["wins"], rows["LS"]["compared"]) == (2, 3, 3)
    assert rows["PFA"]["ratio_to_random"] == pytest.approx((2 / 3 * 1 / 2 * 1 / 2) ** (1 / 3))


def test_methods_are_compared_on_the_same_splits(tmp_path):
    # The second split is the harder one, and PFA has not finished it; on the first it is the worst.
    scores = {"LS": [1.0, 9.0], "PFA": [3.0], "UDFS": [2.5, 9.0], "random": [2.0, 9.0]}
    items = [
        Stored(Run(name, method, "corrected", split, 0, k), "done", {"ridge": value, "seconds": 1.0}, "")
        for method, values in scores.items()
        for split, value in enumerate(values)
        for name, k in [("glioma", 64), ("coil20", 50)]
    ]
    # A split that only LS has counts for nobody.
    items.append(Stored(Run("glioma", "LS", "corrected", 2, 0, 64), "done", {"ridge": 99.0, "seconds": 1.0}, ""))
    document = EXPERIMENTS["summary"].render(Results(items, data_home=tmp_path))
    rows = {row["method"]: row for row in document.data if row["measure"] == "ridge"}
    assert {method: row["average_rank"] for method, row in rows.items()} == {"LS": 1, "random": 2, "UDFS": 3, "PFA": 4}
    assert (rows["PFA"]["datasets"], rows["PFA"]["splits"]) == (2, 2)
    assert (rows["LS"]["wins"], rows["PFA"]["wins"]) == (2, 0)
    assert (rows["LS"]["compared_splits"], rows["PFA"]["compared_splits"]) == (4, 2)
    assert rows["PFA"]["ratio_to_random"] == pytest.approx(1.5)
    assert rows["LS"]["ratio_to_random"] == pytest.approx(10 / 11)
    assert "on the 2 splits that all of them finished" in document.markdown()
    assert "COIL-20 (1), GLIOMA (1)" in document.markdown()


def test_methods_that_keep_the_same_columns_count_once(tmp_path):
    scores = {"LS": [1.0, 2.0], "SPEC": [1.0, 2.0], "PFA": [3.0, 1.0], "UDFS": [1.0, 2.0], "random": [2.0, 3.0]}
    kept = {"LS": [4, 2], "SPEC": [4, 2], "UDFS": [4, 3]}
    items = [
        Stored(Run(name, method, "corrected", 0, 0, k), "done", {"ridge": value, "selected": kept.get(method, [1])}, "")
        for method, values in scores.items()
        for (name, k), value in zip([("glioma", 64), ("coil20", 50)], values, strict=True)
    ]
    document = EXPERIMENTS["summary"].render(Results(items, data_home=tmp_path))
    rows = {row["method"]: row for row in document.data if row["measure"] == "ridge"}
    assert rows["LS"]["average_rank"] == rows["SPEC"]["average_rank"] == (1.5 + 2.5) / 2
    assert rows["PFA"]["average_rank"] == (4 + 1) / 2
    assert [row["same_as"] for row in rows.values()].count("LS") == 1
    assert "Ranks of 4 methods" in document.markdown()
    assert "SPEC selects the same features as LS" in document.markdown()


def test_runs_that_failed_are_counted_beside_the_figure(invented, tmp_path):
    runs = [Run("glioma", "LS", "corrected", split, 0, 64) for split in range(5)]
    items = [Stored(runs[0], "done", {"least_squares": 0.01, "ridge": 0.01}, "")]
    items += [Stored(run, "failed", {}, "no") for run in runs[1:]]
    document = EXPERIMENTS["table2"].render(Results(items, data_home=tmp_path))
    assert document.markdown().count("0.0100 (1 of 5 splits)") == 3
    lines = {
        (row["mean"], row["runs"], row["failed"])
        for row in document.data
        if (row["dataset"], row["method"], row["protocol"]) == ("glioma", "LS", "corrected")
    }
    assert lines == {(0.01, 1, 4)}


def test_own_errors_show_how_far_apart_the_seeds_are(tmp_path):
    runs = [Run("glioma", "|W|", "paper", 0, seed, 64) for seed in range(3)]
    items = [
        Stored(run, "done", {"own": {"scorer": error, "selector": 0.02654}}, "")
        for run, error in zip(runs, (0.04, 0.06, 0.5), strict=True)
    ]
    document = EXPERIMENTS["table2"].render(Results(items, data_home=tmp_path))
    (table,) = [block for block in document.blocks if isinstance(block, Table) and "own errors" in block.title]
    rows = {row[0]: row[-2:] for row in table.rows}
    assert rows["GLIOMA |W| scorer"] == ["NO", "12.50"]
    assert rows["GLIOMA |W| selector"] == ["yes", "1.00"]


@pytest.mark.parametrize(("methods", "q"), [(2, 1.960), (5, 2.728), (10, 3.164)])
def test_critical_difference_agrees_with_the_published_quantiles(methods, q):
    # Demsar (2006), Table 5(a).
    expected = q * np.sqrt(methods * (methods + 1) / (6 * 14))
    assert _summary.critical_difference(methods, 14) == pytest.approx(expected, rel=5e-4)


def test_large_differences_have_a_cause():
    assert differs(0.01, 0.014, "least_squares")
    assert not differs(0.0083, 0.008, "least_squares")
    assert not differs(0.0049, 0.005, "least_squares")
    assert differs(0.80, 0.86, "accuracy")
    assert not differs(0.80, 0.84, "accuracy")
    assert causes("arcene", "Inf-FS", "least_squares") == "A"
    assert causes("isolet", "LS", "least_squares") == "B"
    assert causes("glioma", "CAE", "accuracy").startswith("F")
    assert causes("usps", "UDFS", "accuracy") == "HUS"
    assert "U" not in causes("coil20", "UDFS", "accuracy")
    assert causes("arcene", "PFA", "accuracy") == "?"
    for method in published()["accuracy"]["glioma"]:
        for dataset in NAMES:
            assert set(causes(dataset, method, "least_squares")) <= set(CAUSES) and causes(dataset, method, "accuracy")


def test_published_figures_agree_with_the_paper():
    if not PAPER.exists():
        pytest.skip("the paper's source is not at hand")
    text = PAPER.read_text()
    for measure, label in (("least_squares", "table2"), ("accuracy", "table3")):
        part = text[text.index(f"\\label{{{label}}}") :]
        part = part[: part.index("\\end{tabular}")]
        for place, dataset in enumerate(NAMES, 1):
            (line,) = re.findall(rf"^\s*{place}\s*&.*$", part, flags=re.MULTILINE)
            runs = [re.sub(r"[^0-9.]", "", run) for run in line.split("&")[1:]]
            ours = [printed(dataset, method, measure) for method in published()[measure][dataset]]
            assert [float(run) if run else "stopped" for run in runs] == [
                text if text == "stopped" else float(text) for text in ours
            ]


def test_published_averages_are_those_of_the_columns():
    for method, (mean, std) in published()["average_accuracy"].items():
        values = [row[method] for row in published()["accuracy"].values() if row[method] is not None]
        # The paper prints 70.0 for AgnoS-S.
        assert round(np.mean(values), 1) == pytest.approx(69.0 if method == "AgnoS-S" else mean, abs=0.051)
        assert np.std(values) == pytest.approx(std, abs=0.051)


def test_markdown_escapes_bars():
    assert r"| \|W\| |" in Table("t", ["m"], [["|W|"]]).markdown()
