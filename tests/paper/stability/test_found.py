"""What the fits show: agreement of the sets and errors, against other computations."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from stableselect.experiments import Run, Stored
from stableselect.metrics import similarity_stability
from stableselect.paper._measure import evaluate
from stableselect.paper._registry import EXPERIMENTS
from stableselect.paper._report import Table
from stableselect.paper.methods import Results
from stableselect.paper.methods._methods import NO_RIDGE, STABLE
from stableselect.paper.stability._found import family, find, paired
from stableselect.paper.stability._plan import RANDOM

EXPERIMENT = EXPERIMENTS["stability"]
MICE = Run("mice_protein", "LS", "corrected", 0, 0, 10).of_task("stability")
PAIRS = Run("mice_protein", "all columns", "corrected", 0, 0, 10).of_task("interchangeable")


def stored(runs):
    return [Stored(run, "done", evaluate(run), "") for run in runs]


def pairwise(sets, m):
    """Return the mean over pairs of Kuncheva's index, which is Nogueira's measure where the sets have one size."""
    k = len(sets[0])
    return np.mean([(len(set(a) & set(b)) * m - k**2) / (k * (m - k)) for a, b in combinations(sets, 2)])


def test_figures_come_from_the_fits(tiny, fits, tmp_path):
    runs = [replace(MICE, method="PFA", split=split, seed=seed) for split, seed in fits("PFA", splits=1) if split < 4]
    draws = [replace(MICE, method=RANDOM, split=split, seed=seed) for split, seed in fits(RANDOM) if split < 4]
    items = stored([*runs, *draws, PAIRS])
    found = {item.method: item for item in find(Results(items, data_home=tmp_path))["mice_protein"]}
    by_run = {(item.run.method, item.run.split, item.run.seed): item.record for item in items}

    def sets(pairs):
        return [by_run["PFA", split, seed]["selected"] for split, seed in pairs]

    pfa = found["PFA"]
    assert pfa.rows.nogueira == pytest.approx(pairwise(sets((split, 0) for split in range(4)), 20))
    assert pfa.seed.nogueira == pytest.approx(pairwise(sets((0, seed) for seed in range(5)), 20))
    assert pfa.both.nogueira == pytest.approx(pairwise(sets((i, i) for i in range(4)), 20))
    assert (pfa.rows.n_runs, pfa.seed.n_runs, pfa.both.n_runs) == (4, 5, 4)
    alike = (np.abs(np.corrcoef(tiny[0].T)) >= 0.8).astype(float)
    rows = sets((split, 0) for split in range(4))
    expected = similarity_stability(rows, alike, threshold=1, n_draws=500)
    assert pfa.alike == pytest.approx(expected.adjusted)
    ratios = [
        np.mean([record["ridge"] for (method, i, _), record in by_run.items() if (method, i) == ("PFA", split)])
        / np.mean([record["ridge"] for (method, i, _), record in by_run.items() if (method, i) == (RANDOM, split)])
        for split in range(4)
    ]
    assert pfa.relative.mean == pytest.approx(np.prod(ratios) ** 0.25)
    assert pfa.relative.error == pytest.approx(np.prod(ratios) ** 0.25 * np.std(np.log(ratios), ddof=1) / 2)
    assert found[RANDOM].relative.mean == 1
    assert found["LS"].rows is None


@pytest.mark.slow
def test_random_features_are_at_0_within_their_interval(tiny, fits, tmp_path):
    runs = [replace(MICE, method=RANDOM, split=split, seed=seed) for split, seed in fits(RANDOM)]
    found = {item.method: item for item in find(Results(stored(runs), data_home=tmp_path))["mice_protein"]}
    for part in (found[RANDOM].rows, found[RANDOM].seed, found[RANDOM].both):
        low, high = part.confidence_interval
        assert low <= 0 <= high
        assert abs(part.nogueira) < 0.2
    # Real draws, not the same one again.
    assert found[RANDOM].both.n_runs == 10


def test_seeded_methods_share_their_seeds(made, tmp_path):
    """PFA has a second seed on subsample 0, which the network lacks: its error is over the first seed alone."""

    def repeated(method, repeats):
        return [replace(MICE, method=method, split=split, seed=seed) for split, seed in repeats]

    runs = [
        *repeated("PFA", [(0, 0), (0, 1), (1, 0)]),
        *repeated("|W|", [(0, 0), (1, 0)]),
        *repeated(RANDOM, [(0, 0), (0, 100), (1, 1)]),
    ]
    items = made(runs, lambda run: 1.0 + 10 * (run.seed > 0))
    found = {item.method: item for item in find(Results(items, data_home=tmp_path))["mice_protein"]}
    assert (found["PFA"].ridge.mean, found["|W|"].ridge.mean) == (1.0, 1.0)
    # Random features keep all draws: (1 + 11) / 2 on subsample 0, 11 on the other.
    assert found[RANDOM].ridge.mean == pytest.approx((6 + 11) / 2)
    assert found["PFA"].seconds == 1.0


def test_runs_of_another_limit_are_left_out(tiny, tmp_path):
    runs = [replace(MICE, dataset="usps", method="|W|", split=split, k=50, cap=5) for split in range(3)]
    items = [
        Stored(run, "done", {"selected": [1], "ridge": 1.0, "least_squares": 1.0, "seconds": 1.0}, "") for run in runs
    ]
    assert find(Results(items, data_home=tmp_path)) == {}


@pytest.mark.slow
def test_errors_side_by_side_are_over_the_same_subsamples(made, of, tmp_path):
    """LS and random features have two hard subsamples more than PFA; on what they share all err alike."""

    def error(run):
        return 10.0 if run.split > 2 else 1.0 + run.split

    items = made([*of(RANDOM, range(5)), *of("LS", range(5)), *of("PFA", range(3))], error)
    found = {item.method: item for item in find(Results(items, data_home=tmp_path))["mice_protein"]}
    assert {found[name].ridge.mean for name in ("LS", "PFA", RANDOM)} == {2.0}
    assert {found[name].relative.splits for name in ("LS", RANDOM)} == {5}
    assert found["LS"].subsamples == (0, 1, 2)
    text = EXPERIMENT.render(Results(items, data_home=tmp_path)).markdown()
    assert "error: over the subsamples that all methods with runs have (0, 1, 2);" in text
    # A method with no subsample in common leaves no error to show, which is not the same as not run.
    items += made(of("UDFS", [8]), error)
    (table,) = [
        block
        for block in EXPERIMENT.render(Results(items, data_home=tmp_path)).blocks
        if isinstance(block, Table) and block.title.startswith("Mice")
    ]
    shown = {row[0]: row[6] for row in table.rows}
    assert (shown["LS"], shown["MCFS"]) == ("–", "not run")  # noqa: RUF001


def test_asking_for_stability_is_compared_on_the_subsamples_of_both(made, of, tmp_path):
    """Asked for, the error is half on subsample 0 and the same on 1 and 2; the others are of ridge 0 alone."""
    asked = STABLE["ColumnSubset"]

    def error(run):
        return 4.0 if run.split > 2 else (0.5 if (run.method, run.split) == (asked, 0) else 1.0)

    def columns(run):
        # Ridge 0 keeps one set on the subsamples of both, and another on every other.
        return list(range(10)) if run.split < 3 else list(range(10 * (run.split - 2), 10 * (run.split - 1)))

    items = made([*of(NO_RIDGE, range(6)), *of(asked, range(3))], error, columns)
    found = {item.method: item for item in find(Results(items, data_home=tmp_path))["mice_protein"]}
    both = paired(found[NO_RIDGE], found[asked])
    assert (both.before.nogueira, both.after.nogueira) == (1.0, 1.0)
    assert found[NO_RIDGE].rows.nogueira < 0.5
    logs = np.log([0.5, 1.0, 1.0])
    assert both.ratio.mean == pytest.approx(0.5 ** (1 / 3))
    assert both.ratio.error == pytest.approx(0.5 ** (1 / 3) * np.std(logs, ddof=1) / 3**0.5)
    (table,) = [
        block
        for block in EXPERIMENT.render(Results(items, data_home=tmp_path)).blocks
        if isinstance(block, Table) and block.title.startswith("criterion=stability")
    ]
    change = f"{100 * (both.ratio.mean - 1):+.1f} ± {100 * both.ratio.error:.1f} %"
    same = "1.00 [1.00, 1.00]"
    assert table.rows == [[f"Mice Protein, {asked}", "3", same, same, "+0.00", change]]
    assert paired(found[NO_RIDGE], found["LS"]) is None


def test_families():
    assert [family(name) for name in ("|W|", "LS", "CAE", "Inf-FS", NO_RIDGE, RANDOM)] == [
        "published network",
        "graph",
        "neural",
        "filters",
        "subset",
        "random",
    ]
