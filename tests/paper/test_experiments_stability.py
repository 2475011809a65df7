"""The experiment of stability: its cells, its subsamples, what it makes of them and how it shows that."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import t as student
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split

from stableselect import LaplacianScore, RandomSelector, all_selectors
from stableselect.datasets import Dataset, info
from stableselect.experiments._cell import Cell, Options
from stableselect.experiments._store import Stored
from stableselect.metrics import similarity_stability
from stableselect.paper._measure import evaluate
from stableselect.paper._registry import EXPERIMENTS
from stableselect.paper.methods import _data, _methods
from stableselect.paper.methods._methods import NO_RIDGE, STABLE, find_method, registered
from stableselect.paper.methods._results import Results, Value
from stableselect.paper.methods._subsamples import pool, subsample
from stableselect.paper.report._document import Picture, Table
from stableselect.paper.stability import _interchangeable
from stableselect.paper.stability import _plan as _stability
from stableselect.paper.stability._found import family, find, paired, twins
from stableselect.paper.stability._interchangeable import Interchangeable, packed, unpacked
from stableselect.paper.stability._plan import RANDOM, SEEDLESS
from stableselect.paper.stability._report import _side

EXPERIMENT = EXPERIMENTS["stability"]
MICE = Cell("mice_protein", "LS", "sound", 0, 0, 10).of_task("stability")
GLIOMA = Cell("glioma", "LS", "sound", 0, 0, 3).of_task("stability")
PAIRS = Cell("mice_protein", "all columns", "sound", 0, 0, 10).of_task("interchangeable")


def fits(method, dataset="mice_protein", **options):
    """Return the subsamples and seeds that a method is fitted with."""
    found = EXPERIMENT.cells("sound", Options(**options))
    return [(cell.split, cell.seed) for cell in found if cell.method == method and cell.dataset == dataset]


def stored(cells):
    return [Stored(cell, "done", evaluate(cell), "") for cell in cells]


def invent(cell):
    """Return a record with columns drawn by the cell's name, without its seed where the method makes no use of it."""
    if cell.task == "interchangeable":
        return {"n_columns": 77, "pairs": packed(np.eye(77, dtype=bool)), "seconds": 0.0}
    named = cell if _stability.is_seeded(cell.method) else replace(cell, seed=0)
    rng = np.random.default_rng(zlib.crc32(named.key.encode()))
    columns = rng.choice(77, 10, replace=False).tolist()
    return {"selected": columns, "n_columns": 77, "seconds": 1.0, "ridge": rng.uniform(), "least_squares": 1.0}


def pairwise(sets, m):
    """Return the mean over pairs of Kuncheva's index, which is Nogueira's measure where the sets have one size."""
    k = len(sets[0])
    return np.mean([(len(set(a) & set(b)) * m - k**2) / (k * (m - k)) for a, b in combinations(sets, 2)])


def test_every_registered_selector_has_one_method_with_its_default_settings():
    assert Counter(find_method(name).selector for name in registered()) == Counter(all_selectors().keys())
    for name in registered():
        method = find_method(name)
        built = method.build(replace(GLIOMA, method=name)).get_params(deep=False)
        default = all_selectors()[method.selector]().get_params(deep=False)
        changed = {key for key in default if repr(default[key]) != repr(built[key])}
        assert changed <= {"n_features_to_select", "random_state", "device"}


def test_a_new_selector_appears_by_itself(monkeypatch):
    class Novel(RandomSelector):
        pass

    every = {**all_selectors(), "Novel": Novel}
    monkeypatch.setattr(_methods, "selector_classes", lambda: every)
    for known in (_methods._settings, _methods._unlisted):
        known.cache_clear()
    try:
        assert "Novel" in _stability.methods()
        assert len(fits("Novel")) == 23
        assert find_method("Novel").build(replace(GLIOMA, method="Novel", seed=4)).random_state == 4
    finally:
        monkeypatch.undo()
        for known in (_methods._settings, _methods._unlisted):
            known.cache_clear()
    with pytest.raises(ValueError, match="There is no method 'Novel'"):
        find_method("Novel")


def test_the_variants_are_skipped_where_a_setting_is_not_there(monkeypatch):
    assert find_method(NO_RIDGE).build(replace(GLIOMA, method=NO_RIDGE)).ridge == 0
    monkeypatch.setattr(_methods, "_settings", lambda name: frozenset({"n_features_to_select", "ridge"}))
    assert NO_RIDGE in _stability.methods()
    assert not set(STABLE.values()) & set(_stability.methods())
    monkeypatch.setattr(_methods, "_settings", lambda name: frozenset({"n_features_to_select", "ridge", "criterion"}))
    assert set(STABLE.values()) < set(_stability.methods())


def test_the_plan_shares_what_the_analyses_have_in_common():
    assert EXPERIMENT.cells("paper", Options()) == []
    cells = EXPERIMENT.cells("sound", Options())
    assert len(set(cells)) == len(cells)
    assert {cell.dataset for cell in cells} == set(_stability.DATASETS)
    assert all(cell.k == info(cell.dataset).k for cell in cells)
    assert fits("LS") == [(split, 0) for split in range(10)]
    assert fits("ScorerSelector search") == [*fits("LS"), (0, 1)]
    rows, seeds, both = (
        {(split, 0) for split in range(10)},
        {(0, seed) for seed in range(5)},
        {(i, i) for i in range(10)},
    )
    assert set(fits("|W|")) == rows | seeds | both
    assert len(fits("|W|")) == 23
    assert len(fits("|W|", "usps")) == 5 + 2 + 4
    assert len(fits("|W|", splits=12, seeds=6)) == 12 + 5 + 11
    draws = fits(RANDOM)
    assert both | seeds < set(draws)
    # Fifty different draws beside those of the seeds.
    assert len({seed for _, seed in draws}) == 50
    assert Counter(split for split, _ in draws)[7] == 5


def test_fast_has_two_small_tables_and_few_steps():
    cells = EXPERIMENT.cells("sound", Options(fast=True))
    assert {cell.dataset for cell in cells} == {"mice_protein", "coil20"}
    assert {cell.cap for cell in cells if cell.method == "|W|"} == {20}
    assert len(cells) < 250
    assert {cell.method for cell in cells if cell.dataset == "coil20"}.isdisjoint(STABLE.values())


def test_limits_are_on_steps_of_methods_that_can_be_limited():
    for method, dataset in _stability._STEPS:
        assert method in _methods.CAPPED
        assert dataset in _stability.DATASETS
    assert _methods.CAPPED.keys() >= _stability._FAST_STEPS.keys()
    built = find_method("|W|").build(
        Cell("usps", "|W|", "sound", 0, 0, 50, cap=_stability.steps("|W|", "usps", fast=False))
    )
    assert built.epochs == 95
    assert built.batch_size == info("usps").batch_size


def test_a_cell_is_what_its_definition_says(tiny):
    X, _ = tiny
    train, test = train_test_split(X, test_size=0.2, random_state=1)
    low, high = train.min(axis=0), train.max(axis=0)
    train, test = (train - low) / (high - low), (test - low) / (high - low)
    selected = LaplacianScore(3).fit(train).selected_
    error = np.mean((test - LinearRegression().fit(train[:, selected], train).predict(test[:, selected])) ** 2)
    record = evaluate(replace(GLIOMA, split=1))
    assert record["selected"] == selected.tolist()
    assert record["least_squares"] == pytest.approx(error)
    assert (record["n_rows"], record["n_columns"]) == (40, 20)
    json.dumps(record, allow_nan=False)


def test_the_seed_stays_while_the_rows_vary(tiny):
    cells = [replace(GLIOMA, method="PFA", split=split, seed=3) for split in range(2)]
    assert [evaluate(cell)["settings"]["random_state"] for cell in cells] == [3, 3]
    assert evaluate(replace(cells[0], seed=4))["settings"]["random_state"] == 4


def test_whole_mice_are_drawn(tiny):
    groups = np.repeat(np.arange(10), 5)
    split = subsample(MICE)
    assert len(split.train) == 40
    assert not set(groups[split.train]) & set(groups[split.test])


def test_subsamples_of_fashion_have_the_published_size(monkeypatch):
    table = Dataset(np.arange(18_000.0).reshape(9000, 2), np.zeros(9000, int), info("mnist_fashion"))
    monkeypatch.setattr(_data, "_load", lambda *args: table)
    cell = replace(GLIOMA, dataset="mnist_fashion")
    first, second = (subsample(replace(cell, split=split)) for split in range(2))
    assert (len(first.train), len(first.test)) == (6000, 1500)
    assert len(pool(cell).y) == 7500
    # Two subsamples of four fifths share four fifths of their rows on average.
    assert len(set(first.train) & set(second.train)) == pytest.approx(4800, abs=100)
    assert len(pool(replace(cell, mode="fast")).y) == 2000


@pytest.mark.parametrize("method", [name for name in SEEDLESS if name not in STABLE.values()])
def test_what_makes_no_use_of_its_seed_says_so_in_two_cells(tiny, method):
    cells = [replace(GLIOMA, method=method, seed=seed) for seed in range(2)]
    assert evaluate(cells[0])["selected"] == evaluate(cells[1])["selected"]


def test_pairs_survive_packing(rng):
    for m in (1, 2, 3, 8, 21):
        alike = rng.random((m, m)) < 0.3
        alike = alike | alike.T | np.eye(m, dtype=bool)
        np.testing.assert_array_equal(unpacked(packed(alike), m).toarray(), alike)
    with pytest.raises(ValueError, match="compute the cell again"):
        unpacked(packed(alike), 20)


def test_the_pairs_of_a_cell_are_those_of_the_correlations(tiny):
    X, _ = tiny
    record = evaluate(PAIRS)
    expected = np.abs(np.corrcoef(X.T)) >= 0.8
    assert 0 < record["n_pairs"] == (expected.sum() - 20) // 2
    np.testing.assert_array_equal(unpacked(record["pairs"], 20).toarray(), expected)


def test_stability_of_interchangeable_columns_is_that_of_the_metrics(rng):
    m, k = 15, 4
    alike = np.kron(np.eye(5), np.ones((3, 3))).astype(bool)
    alike[0, 3] = alike[3, 0] = True
    sets = [np.sort(rng.choice(m, k, replace=False)) for _ in range(6)]
    found = Interchangeable(unpacked(packed(alike), m))
    expected = similarity_stability(sets, alike.astype(float), threshold=1, n_draws=_interchangeable._DRAWS).adjusted
    assert found.stability(sets) == pytest.approx(expected)
    assert found.stability([[0, 6, 9, 12], [1, 7, 10, 14]]) == 1
    everything = Interchangeable(unpacked(packed(np.ones((m, m), dtype=bool)), m))
    assert np.isnan(everything.stability(sets))


def test_figures_come_from_the_fits(tiny, tmp_path):
    cells = [replace(MICE, method="PFA", split=split, seed=seed) for split, seed in fits("PFA", splits=1) if split < 4]
    draws = [replace(MICE, method=RANDOM, split=split, seed=seed) for split, seed in fits(RANDOM) if split < 4]
    items = stored([*cells, *draws, PAIRS])
    found = {item.method: item for item in find(Results(items, data_home=tmp_path))["mice_protein"]}
    by_cell = {(item.cell.method, item.cell.split, item.cell.seed): item.record for item in items}

    def sets(pairs):
        return [by_cell["PFA", split, seed]["selected"] for split, seed in pairs]

    pfa = found["PFA"]
    assert pfa.rows.value == pytest.approx(pairwise(sets((split, 0) for split in range(4)), 20))
    assert pfa.seed.value == pytest.approx(pairwise(sets((0, seed) for seed in range(5)), 20))
    assert pfa.both.value == pytest.approx(pairwise(sets((i, i) for i in range(4)), 20))
    assert (pfa.rows.runs, pfa.seed.runs, pfa.both.runs) == (4, 5, 4)
    alike = (np.abs(np.corrcoef(tiny[0].T)) >= 0.8).astype(float)
    rows = sets((split, 0) for split in range(4))
    expected = similarity_stability(rows, alike, threshold=1, n_draws=_interchangeable._DRAWS)
    assert pfa.alike == pytest.approx(expected.adjusted)
    ratios = [
        np.mean([record["ridge"] for (method, i, _), record in by_cell.items() if (method, i) == ("PFA", split)])
        / np.mean([record["ridge"] for (method, i, _), record in by_cell.items() if (method, i) == (RANDOM, split)])
        for split in range(4)
    ]
    assert pfa.relative.mean == pytest.approx(np.prod(ratios) ** 0.25)
    assert pfa.relative.spread == pytest.approx(np.prod(ratios) ** 0.25 * np.std(np.log(ratios), ddof=1) / 2)
    assert found[RANDOM].relative.mean == 1
    assert found["LS"].rows is None


def test_random_columns_are_at_0_within_their_interval(tiny, tmp_path):
    cells = [replace(MICE, method=RANDOM, split=split, seed=seed) for split, seed in fits(RANDOM)]
    found = {item.method: item for item in find(Results(stored(cells), data_home=tmp_path))["mice_protein"]}
    for part in (found[RANDOM].rows, found[RANDOM].seed, found[RANDOM].both):
        assert part.low <= 0 <= part.high
        assert abs(part.value) < 0.2
    # Real draws, not the same one again.
    assert found[RANDOM].both.runs == 10


def test_cells_of_another_limit_are_left_out(tiny, tmp_path):
    cells = [replace(MICE, dataset="usps", method="|W|", split=split, k=50, cap=5) for split in range(3)]
    items = [
        Stored(cell, "done", {"selected": [1], "ridge": 1.0, "least_squares": 1.0, "seconds": 1.0}, "")
        for cell in cells
    ]
    assert find(Results(items, data_home=tmp_path)) == {}


def made(cells, error, columns=lambda cell: [cell.split, 20 + cell.split]):
    """Return cells with invented errors and columns."""
    return [
        Stored(
            cell,
            "done",
            {"selected": columns(cell), "n_columns": 77, "seconds": 1.0, "ridge": error(cell), "least_squares": 1.0},
            "",
        )
        for cell in cells
    ]


def of(method, splits, dataset="mice_protein"):
    start = Cell(dataset, method, "sound", 0, 0, info(dataset).k).of_task("stability")
    limit = _stability.steps(method, dataset, fast=False)
    return [replace(start, split=split, seed=split if method == RANDOM else 0, cap=limit) for split in splits]


@pytest.mark.slow
def test_errors_side_by_side_are_over_the_same_subsamples(tmp_path):
    """LS and random columns have two hard subsamples more than PFA; on what they share all err alike."""

    def error(cell):
        return 10.0 if cell.split > 2 else 1.0 + cell.split

    items = made([*of(RANDOM, range(5)), *of("LS", range(5)), *of("PFA", range(3))], error)
    found = {item.method: item for item in find(Results(items, data_home=tmp_path))["mice_protein"]}
    assert {found[name].ridge.mean for name in ("LS", "PFA", RANDOM)} == {2.0}
    assert {found[name].relative.count for name in ("LS", RANDOM)} == {5}
    assert found["LS"].subsamples == (0, 1, 2)
    text = EXPERIMENT.render(Results(items, data_home=tmp_path)).markdown()
    assert "error: over the subsamples that all methods with cells have (0, 1, 2);" in text
    # A method with no subsample in common leaves no error to show, which is not the same as not run.
    items += made(of("UDFS", [8]), error)
    (table,) = [
        block
        for block in EXPERIMENT.render(Results(items, data_home=tmp_path)).blocks
        if isinstance(block, Table) and block.title.startswith("Mice")
    ]
    shown = {row[0]: row[6] for row in table.rows}
    assert (shown["LS"], shown["MCFS"]) == ("–", "not run")  # noqa: RUF001


def test_asking_for_stability_is_compared_on_the_subsamples_of_both(tmp_path):
    """Asked for, the error is half on subsample 0 and the same on 1 and 2; the others are of ridge 0 alone."""
    asked = STABLE["ColumnSubset"]

    def error(cell):
        return 4.0 if cell.split > 2 else (0.5 if (cell.method, cell.split) == (asked, 0) else 1.0)

    def columns(cell):
        # Ridge 0 keeps one set on the subsamples of both, and another on every other.
        return list(range(10)) if cell.split < 3 else list(range(10 * (cell.split - 2), 10 * (cell.split - 1)))

    items = made([*of(NO_RIDGE, range(6)), *of(asked, range(3))], error, columns)
    found = {item.method: item for item in find(Results(items, data_home=tmp_path))["mice_protein"]}
    both = paired(found[NO_RIDGE], found[asked])
    assert (both.before.value, both.after.value) == (1.0, 1.0)
    assert found[NO_RIDGE].rows.value < 0.5
    logs = np.log([0.5, 1.0, 1.0])
    assert both.ratio.mean == pytest.approx(0.5 ** (1 / 3))
    assert both.ratio.spread == pytest.approx(0.5 ** (1 / 3) * np.std(logs, ddof=1) / 3**0.5)
    (table,) = [
        block
        for block in EXPERIMENT.render(Results(items, data_home=tmp_path)).blocks
        if isinstance(block, Table) and block.title.startswith("Asking")
    ]
    change = f"{100 * (both.ratio.mean - 1):+.1f} ± {100 * both.ratio.spread:.1f} %"
    same = "1.00 [1.00, 1.00]"
    assert table.rows == [[f"Mice Protein, {asked}", "3", same, same, "+0.00", change]]
    assert paired(found[NO_RIDGE], found["LS"]) is None


def test_few_subsamples_have_to_differ_more():
    # One subsample is no evidence; of two, Student's factor is 12.7, of ten 2.26.
    assert _side(Value(2.0, None, 1)) == 0
    assert [_side(Value(1.5, 0.15, count)) for count in (2, 3, 10)] == [0, 0, 1]
    for count in (3, 10):
        edge = 1.5 * np.log(1.5) / student.ppf(0.975, count - 1)
        assert [_side(Value(1.5, share * edge, count)) for share in (0.99, 1.01)] == [1, 0]
        assert [_side(Value(1 / 1.5, share * edge / 1.5**2, count)) for share in (0.99, 1.01)] == [-1, 0]


@pytest.mark.slow
def test_limits_and_methods_that_are_one_are_named(tmp_path):
    names = ("LS", "SPEC", "UDFS", "ConsensusSelector", "|W|", RANDOM)
    cells = [cell for name in names for cell in of(name, range(10), "arcene")]

    def columns(cell):
        shift = {"LS": 0, "SPEC": 0, "UDFS": int(cell.split > 4)}.get(cell.method, names.index(cell.method))
        return list(range(64 * shift, 64 * shift + 64))

    def error(cell):
        # Subsample 7 is a hard one, and the network fails on 2.
        return (8.0 if cell.split == 7 else 1.0) * (5.0 if (cell.method, cell.split) == ("|W|", 2) else 1.0)

    items = [replace(item, record=item.record | {"n_columns": 10_000}) for item in made(cells, error, columns)]
    results = Results(items, data_home=tmp_path)
    assert twins(find(results)) == [("LS", "SPEC", 10, 10)]
    document = EXPERIMENT.render(results)
    text = document.markdown()
    assert "ConsensusSelector on arcene 6 of 50 resamples; |W| on arcene 60 of 200 epochs." in text
    assert "Limited: ConsensusSelector 6 of 50 resamples, |W| 60 of 200 epochs" in text
    assert "should be counted once: LS and SPEC (10 of 10 runs)." in text
    (drawn,) = [block for block in document.blocks if isinstance(block, Picture) and block.name == "stability"]
    assert "LS and SPEC (10 of 10 runs)" in drawn.caption
    assert "Random columns err 8.0 times as much on subsample 7 as on the median one." in text
    assert "|W| errs 5.0 times as much as random columns on subsample 2, 1.00 times in the median." in text
    assert text.count("times as much") == 2


def test_families():
    assert [family(name) for name in ("|W|", "LS", "CAE", "Inf-FS", NO_RIDGE, RANDOM)] == [
        "published network",
        "graph",
        "neural",
        "filters",
        "subset",
        "random",
    ]


@pytest.mark.slow
def test_render_with_nothing_some_and_all(tmp_path):
    empty = EXPERIMENT.render(Results([], data_home=tmp_path))
    assert empty.data == []
    assert "Mice Protein (not available)" in empty.markdown()
    cells = [cell for cell in EXPERIMENT.cells("sound", Options(fast=True)) if cell.dataset == "mice_protein"]
    done = [Stored(cell, "done", invent(cell), "") for cell in cells]
    one = EXPERIMENT.render(Results(done[1:2], data_home=tmp_path))
    assert "not run" in one.markdown()
    assert not any(isinstance(block, Picture) for block in one.blocks)
    lost = [Stored(item.cell, "failed", {}, "lost") if item.cell.method == "UDFS" else item for item in done]
    some = EXPERIMENT.render(Results(lost[:-20], data_home=tmp_path))
    assert "Cells that failed: UDFS 3." in some.markdown()
    full = EXPERIMENT.render(Results(done, data_home=tmp_path))
    (table,) = [block for block in full.blocks if isinstance(block, Table) and block.title.startswith("Mice")]
    assert [row[0] for row in table.rows] == list(_stability.methods())
    assert "not run" not in table.markdown()
    assert [block.name for block in full.blocks if isinstance(block, Picture)] == ["stability", "stability_seed"]
    lines = {(line["method"], line["measure"]): line for line in full.data}
    assert lines["ScorerSelector search", "seed"]["value"] == 1
    assert lines["LS", "seed"]["value"] == ""
    assert "Seed stability exactly 1" in full.markdown()
    assert full.csv().count("\n") == len(full.data) + 1


@pytest.mark.slow
def test_what_is_said_is_what_the_cells_say(tmp_path):
    """LS never moves and loses to random, the network follows its seed, ridge 0 moves with the rows: all invented."""

    def record(columns, ridge):
        return {"selected": columns, "n_columns": 77, "seconds": 1.0, "ridge": ridge, "least_squares": ridge}

    def sets(cell):
        block = {"LS": 0, "|W|": cell.seed % 7, NO_RIDGE: cell.split % 7, RANDOM: (cell.seed + cell.seed // 100) % 7}
        start = 10 * block[cell.method]
        return list(range(start, start + 10))

    error = {"LS": 1.5, "|W|": 1.0, NO_RIDGE: 0.7, RANDOM: 1.0}
    cells = [
        cell for cell in EXPERIMENT.cells("sound", Options()) if cell.dataset == "mice_protein" and cell.method in error
    ]
    items = [Stored(cell, "done", record(sets(cell), error[cell.method]), "") for cell in cells]
    document = EXPERIMENT.render(Results(items, data_home=tmp_path))
    text = " ".join(block for block in document.blocks if isinstance(block, str))
    assert "These lose to random columns: LS on Mice Protein." in text
    assert "more stable than they are; from rows varied to both varied: |W| 1.00 to" in text
    assert "Most stable, both varied: LS 1.00" in text
    assert f"with the error relative to theirs: Mice Protein {NO_RIDGE} (" in text
    assert "|W| -0.15 (moved more by the seed than by the rows on 1 of 1)" in text
