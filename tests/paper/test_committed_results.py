"""The committed results: what is stored, what the pages say of it, and that a misleading page would be noticed."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_rel

from stableselect.datasets import info, names
from stableselect.experiments import (
    CURRENT,
    MixedRevisionsError,
    Revision,
    Stored,
    part_of,
    refuse_mixed,
    stale_words,
    stalled,
)
from stableselect.paper import read, readme_table
from stableselect.paper._files import with_results
from stableselect.paper._registry import EXPERIMENTS
from stableselect.paper.methods import METHODS, OTHERS, Results, find_method, is_available

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "results"
LARGEST_FILE = 2_000_000
FIRST, FIRST_ENDED = 3_630, 1794775000.0
FIRST_DIGEST = "afececd109d3842bdab7a151de941e4c6c6faaa71adbf4ed651603e98b26f16e"
"""Of the runs that were moved from a database into text files, those whose method has kept its first revision: their
number, when the last of all ended, and the SHA-256 of their records and names, methods and protocols left out since
these may be renamed."""

BOUNDS = (
    ("training.error", "training.lower_bound"),
    # The second network of the core samples, trained on the rows that it is judged on, against least squares.
    ("network_mse", "best_mse"),
)
"""Parts of a record: an error on the rows that were fitted, and the least it can be."""

NUMBER = re.compile(r"-?\d+\.\d+(e[-+]\d+)?|-?\d+e[-+]\d+")
"""A float as Python writes it."""

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the results are not part of this distribution")


@pytest.fixture(scope="module")
def runs(committed):
    return committed


@pytest.fixture(scope="module")
def results(runs):
    return Results(runs, "full")


def rows(name):
    """Return the committed figures of an experiment."""
    return list(csv.DictReader(io.StringIO((FOLDER / f"{name}.csv").read_text())))


def unequal(data, row):
    """Name the rows of a table whose figures are over different splits, or over different seeds without a mark."""
    groups = defaultdict(list)
    for line in data:
        if line["mean"] != "":
            groups[tuple(line[key] for key in row)].append(line)
    found = []
    for place, lines in groups.items():
        splits = {int(line["splits"]) for line in lines}
        # A single seed is that of a method that has none.
        seeds = {int(line["seeds"]) for line in lines if not line["mark"]} - {1}
        found += [place] if len(splits) > 1 or len(seeds) > 1 else []
    return found


def bounded(runs):
    """Give the runs that store a training error with its lower bound, and these two."""
    for item in runs:
        for error, bound in BOUNDS:
            value, least = part_of(item.record, error), part_of(item.record, bound)
            if value is not None and least is not None:
                yield item, value, least


def below(runs):
    return [str(item.run) for item, value, least in bounded(runs) if value < least * (1 - 1e-6)]


def slower_than_its_runs(lines, runs):
    """Name the times of a table that one stalled run decides."""
    times = defaultdict(list)
    for item in runs:
        run = item.run
        if not run.task and run.k == info(run.dataset).k and item.status == "done":
            times[run.dataset, run.method, run.protocol].append(item)
    found = []
    for line in lines:
        place = line["dataset"], line["method"], line["protocol"]
        if line["seconds"] == "" or line["what"] != "selection":
            continue
        out = stalled(times[place])
        siblings = [item.record["seconds"] for item in times[place] if item not in out]
        if float(line["seconds"]) > max(siblings):
            found.append(place)
    return found


@pytest.mark.slow
def test_every_run_is_stored(runs):
    first = [item for item in runs if item.ended <= FIRST_ENDED and item.current == Revision()]
    assert len(first) == FIRST
    assert hashlib.sha256("\n".join(sorted(map(unnamed, first))).encode()).hexdigest() == FIRST_DIGEST
    assert len(runs) >= 5_947
    assert {item.status for item in runs} == {"done"}


def unnamed(item):
    """Return a run as text, without what may be renamed."""
    content = json.loads(item.line())
    del content["run"]["method"], content["run"]["protocol"], content["revision"]
    return json.dumps(content, sort_keys=True)


def test_files_are_small_and_hold_nothing_else():
    paths = sorted((FOLDER / "runs").iterdir())
    assert all(path.name.endswith(".jsonl.xz") for path in paths)
    assert max(path.stat().st_size for path in paths) < LARGEST_FILE
    assert not list(FOLDER.glob("*.sqlite"))
    assert not list(FOLDER.glob("*.html"))


def test_one_version_computed_all_runs_and_if_not_this_one_that_is_said(runs, results):
    refuse_mixed(runs)
    assert all(item.revision <= item.current <= CURRENT for item in runs)
    assert stale_words(results.everything()) in (FOLDER / "index.md").read_text(encoding="utf-8")


def test_mixed_revisions_would_be_noticed(runs):
    doctored = [replace(runs[0], revision=Revision(CURRENT.engine + 1)), *runs[1:]]
    with pytest.raises(MixedRevisionsError):
        refuse_mixed(doctored)
    first = next(i for i, item in enumerate(runs) if not item.run.task and item.run.protocol == "corrected")
    doctored = [*runs[:first], replace(runs[first], revision=Revision(CURRENT.engine + 1)), *runs[first + 1 :]]
    with pytest.raises(MixedRevisionsError):
        EXPERIMENTS["table2"].render(Results(doctored, "full"))


TABLES = {
    "table2": ("dataset", "protocol", "measure"),
    "table3": ("dataset", "protocol", "measure"),
    "halves": ("dataset", "protocol", "measure", "half"),
    "supp_figure8": ("k", "protocol", "measure"),
}


@pytest.mark.parametrize("name", TABLES)
def test_figures_that_stand_side_by_side_are_over_the_same_splits_and_seeds(name):
    data = [line for line in rows(name) if "fault" not in line["method"]]
    assert unequal(data, TABLES[name]) == []
    assert {line["splits"] for line in data if line["mean"] and line["protocol"] == "corrected"} == {
        "2" if name == "supp_figure8" else "5"
    }
    assert not any("of" in line["mark"] for line in data)


@pytest.mark.parametrize("key", ["splits", "seeds"])
def test_unequal_figures_would_be_noticed(key):
    data = rows("table2")
    (line,) = [
        line
        for line in data
        if (line["dataset"], line["method"], line["protocol"], line["measure"])
        == ("arcene", "CAE", "corrected", "ridge")
    ]
    line[key] = "3"
    assert unequal(data, TABLES["table2"]) == [("arcene", "corrected", "ridge")]


def test_a_method_with_fewer_splits_takes_the_others_down_with_it(runs):
    kept = [item for item in runs if (item.run.dataset, item.run.method) != ("arcene", "CAE") or item.run.split < 3]
    text = EXPERIMENTS["table2"].render(Results(kept, "full"))
    lines = [line for line in text.data if (line["dataset"], line["protocol"]) == ("arcene", "corrected")]
    assert {line["splits"] for line in lines if line["mean"] != ""} == {3}
    assert {line["mark"] for line in lines if line["mean"] != ""} == {"3 of 5 splits"}
    assert "(3 of 5 splits)" in text.markdown()


def test_table2_by_hand(runs):
    """The means of Table 2 from the runs, without the aggregator."""
    found = defaultdict(dict)
    for item in runs:
        run = item.run
        current = run.mode == "full" and not run.task and run.protocol == "corrected" and run.k == info(run.dataset).k
        if current and run.method in (*METHODS, *OTHERS) and "note" not in item.record:
            found[run.dataset, run.method][run.split, run.seed] = item.record["ridge"]
    printed = {
        (line["dataset"], line["method"]): float(line["mean"])
        for line in rows("table2")
        if line["protocol"] == "corrected" and line["measure"] == "ridge" and line["mean"]
    }
    assert set(printed) == set(found)
    for (dataset, method), numbers in found.items():
        seeds = range(10 if method == "random" else 2 if find_method(method).seeded else 1)
        mean = np.mean([np.mean([numbers[split, seed] for seed in seeds]) for split in range(5)])
        assert printed[dataset, method] == pytest.approx(mean, rel=1e-12)


def listed(title):
    """Return dataset and method of each row of a table of the summary."""
    text = (FOLDER / "summary.md").read_text().split(f"**{title}**\n\n")[1].split("\n\n")[0]
    return [
        tuple(cell.strip() for cell in line.split(" | ")[:2]) for line in text.replace("| ", "", 1).splitlines()[2:]
    ]


@pytest.mark.parametrize(
    ("name", "measure", "title", "sign"),
    [
        ("table2", "ridge", "Lower error than ColumnSubset", 1),
        ("table3", "accuracy", "Higher accuracy than ColumnSubset", -1),
    ],
)
def test_the_summary_lists_every_loss(name, measure, title, sign):
    figures = defaultdict(dict)
    for line in rows(name):
        if line["protocol"] == "corrected" and line["measure"] == measure and line["mean"]:
            figures[line["dataset"]][line["method"]] = sign * float(line["mean"])
    lost = {
        (info(dataset).title, method)
        for dataset, found in figures.items()
        for method, value in found.items()
        if value < found["ColumnSubset"] and method not in ("ScorerSelector", "mean predictor", "PCA, k components")
    }
    shown = [(dataset.removeprefix("| "), method.replace("\\", "")) for dataset, method in listed(title)]
    assert len(shown) == len(set(shown))
    assert set(shown) == lost
    text = (FOLDER / "summary.md").read_text()
    assert text.index("## What we do not win") < text.index("|---")


def test_the_summary_counts_who_is_quicker_and_who_is_more_stable():
    text = (FOLDER / "summary.md").read_text()
    seconds = {line["method"]: float(line["median_seconds"]) for line in rows("summary") if line["measure"] == "ridge"}
    del seconds["random"]
    quicker = sum(value < seconds["ColumnSubset"] for value in seconds.values())
    assert f"{quicker} of {len(seconds) - 1} others take less" in text
    both, ratios = defaultdict(list), defaultdict(list)
    for line in rows("stability"):
        if line["value"]:
            {"both": both, "relative": ratios}.get(line["measure"], defaultdict(list))[line["method"]].append(
                float(line["value"])
            )
    means = {method: np.mean(values) for method, values in both.items() if len(values) == 8 == len(ratios[method])}
    steadier = sum(value > means["ColumnSubset"] for value in means.values())
    ours = f"ColumnSubset has {means['ColumnSubset']:.2f}, and {steadier} of {len(means) - 1} others have more"
    assert ours in text


def test_won_tied_and_lost_by_a_paired_test(runs):
    """Against random features, from the runs, by Student's paired test instead of the interval."""
    found = defaultdict(lambda: defaultdict(list))
    for item in runs:
        run = item.run
        plain = run.mode == "full" and not run.task and run.protocol == "corrected" and run.k == info(run.dataset).k
        if plain and run.method in (*METHODS, *OTHERS) and run.split < 5 and "note" not in item.record:
            if run.seed < (10 if run.method == "random" else 2):
                found[run.dataset, run.method][run.split].append(item.record["ridge"])
    means = {place: np.array([np.mean(found[place][split]) for split in range(5)]) for place in found}
    shown = {line["method"]: line for line in rows("summary") if line["measure"] == "ridge"}
    for method in set(shown) - {"random"}:
        sides = [0, 0, 0]
        for dataset, other in means:
            if other == method:
                test = ttest_rel(means[dataset, method], means[dataset, "random"])
                sides[1 if test.pvalue > 0.05 else 0 if test.statistic < 0 else 2] += 1
        assert [int(shown[method][side]) for side in ("won", "tied", "lost")] == sides, method


def test_no_training_error_is_below_its_bound(runs):
    # Runs of later versions store the bound of every search; of these, the networks of the core samples do.
    assert len(list(bounded(runs))) >= 48
    assert below(runs) == []


@pytest.mark.parametrize("error", ["network_mse", "training"])
def test_a_training_error_below_its_bound_would_be_noticed(runs, error):
    item, _, least = next(iter(bounded(runs)))
    record = {"network_mse": least * 0.9, "best_mse": least}
    if error == "training":
        record = {"training": {"error": least * 0.9, "lower_bound": least}}
    assert below([*runs, replace(item, record=record)]) == [str(item.run)]


def test_no_time_is_that_of_a_stalled_machine(runs):
    assert slower_than_its_runs(rows("timing"), runs) == []


def grouped(runs):
    groups = defaultdict(list)
    for item in runs:
        if not item.run.task:
            groups[item.run.dataset, item.run.method, item.run.protocol, item.run.k].append(item)
    return groups


def test_a_mean_over_a_stalled_run_would_be_noticed(runs):
    place = "isolet", "ScorerSelector", "corrected", info("isolet").k
    group = [item for item in grouped(runs)[place] if item not in stalled(grouped(runs)[place])]
    slow = 1000 * max(item.record["seconds"] for item in group)
    group = [replace(group[0], record=group[0].record | {"seconds": slow}), *group[1:]]
    assert stalled(group) == group[:1]
    mean = np.mean([item.record["seconds"] for item in group])
    line = {"what": "selection", "dataset": place[0], "method": place[1], "protocol": place[2], "seconds": str(mean)}
    assert slower_than_its_runs([line], group) == [place[:3]]
    assert slower_than_its_runs([line | {"seconds": str(group[1].record["seconds"])}], group) == []


def test_the_readme_has_the_figures_of_the_store(results):
    text = (ROOT / "README.md").read_text()
    assert with_results(text, readme_table(results)) == text


def test_a_figure_of_the_readme_that_is_not_in_the_store_would_be_noticed(results):
    text = (ROOT / "README.md").read_text()
    table = readme_table(results)
    figure = re.findall(r"0\.\d{4}", table)[7]
    doctored = text.replace(figure, "0.0001", 1)
    assert doctored != text
    assert with_results(doctored, table) != doctored
    with pytest.raises(ValueError, match="no lines"):
        with_results("no marks", table)


def cells(text, number=float):
    """Return the rows of a table, with a function of its numbers."""
    return [[number(cell) if NUMBER.fullmatch(cell) else cell for cell in row] for row in csv.reader(io.StringIO(text))]


def to_rounding(cell):
    """Return what equals a number up to its last digits, which change with the versions of NumPy and SciPy."""
    return pytest.approx(float(cell), rel=1e-9, abs=1e-12)


LONG = {"assumptions", "figure1", "figure2", "stability", "summary", *(f"figure3{panel}" for panel in "acdefgh")}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in EXPERIMENTS]
)
def test_pages_are_those_of_the_stored_runs(name, results, monkeypatch):
    if name in ("figure1", "figure2") and not all(map(is_available, ("usps", "coil20", "mnist_fashion"))):
        pytest.skip("the images are not in the data folder")

    def small(self, stream, *, format, **settings):
        stream.write(_PIXEL if format == "png" else b"<svg/>")

    from matplotlib.figure import Figure

    monkeypatch.setattr(Figure, "savefig", small)
    document = EXPERIMENTS[name].render(results)
    assert document.markdown() == (FOLDER / f"{name}.md").read_text()
    assert cells(document.csv()) == cells((FOLDER / f"{name}.csv").read_text(), to_rounding)
    pictures = [block.name for block in document.blocks if hasattr(block, "png")]
    assert all((FOLDER / f"{picture}.png").is_file() for picture in pictures)


def test_the_pages_are_linked():
    links = re.findall(r"\]\((.*?)\)", (FOLDER / "index.md").read_text())
    assert links == [f"{name}.md" for name in EXPERIMENTS]


def _pixel():
    from PIL import Image

    stream = io.BytesIO()
    Image.new("RGB", (1, 1)).save(stream, format="png")
    return stream.getvalue()


_PIXEL = _pixel()


@pytest.mark.slow
def test_read_finds_the_runs_of_every_dataset():
    found = read(FOLDER, fast=False)
    assert {item.run.dataset for item in found.everything()} == set(names()) - {"activity", "smk_can_187"}
    assert all(isinstance(item, Stored) for item in found.everything())
