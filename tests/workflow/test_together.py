"""Rows that belong together: groups and blocks of time in everything held out, batches, and the note on their order."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import StandardScaler

from stableselect import ColumnSubset, KernelSubset
from stableselect.cli import main
from stableselect.inspection import BlockKFold, held_out_report
from stableselect.io import Table, TableParts, _parts, open_table
from stableselect.workflow import (
    EvaluationRequest,
    RequestError,
    SelectionRequest,
    evaluate_table,
    inspect_table,
    measure_frontier,
    select_table,
)
from stableselect.workflow._notes import neighbour_excess

NAMES = [f"x{j}" for j in range(8)]


def table_of(X, **aside):
    return Table(pa.table({**aside, **dict(zip(NAMES, X.T, strict=True))}), "t.csv")


@pytest.fixture
def mice(rng):
    """Twenty animals of ten rows each: rows of one animal are nearly equal."""
    own = rng.normal(size=(20, 3)) @ rng.normal(size=(3, 8)) + 0.5 * rng.normal(size=(20, 8))
    X = np.repeat(own, 10, axis=0) + 0.01 * rng.normal(size=(200, 8))
    order = rng.permutation(200)
    return X[order], np.repeat([f"m{i}" for i in range(20)], 10)[order]


@pytest.fixture
def series(rng):
    """A slow series of 400 rows, and its times in another order."""
    steps = rng.normal(size=(400, 8))
    for t in range(1, 400):
        steps[t] += 0.98 * steps[t - 1]
    return steps, np.arange(400)


def test_groups_are_held_out_together(mice):
    X, mouse = mice
    found = select_table(table_of(X, mouse=mouse), SelectionRequest(k=3, group_column="mouse"))
    assert "mouse" not in found.features
    expected = held_out_report(
        ColumnSubset(3, cv=GroupKFold(5)), X, scaler=StandardScaler(), cv=GroupKFold(5), groups=mouse, random_state=0
    )
    assert found.errors.selection == pytest.approx(expected.selection, rel=1e-10)
    flattering = select_table(table_of(X), SelectionRequest(k=3)).errors.selection
    assert found.errors.selection > 1.5 * flattering
    fitted = ColumnSubset(3, cv=GroupKFold(5)).fit(StandardScaler().fit_transform(X), groups=mouse)
    assert found.ridge == fitted.ridge_
    assert any("rows with the same 'mouse'" in note for note in found.notes)


def test_the_selector_is_told_the_groups_of_the_rows_it_is_fitted_to(mice):
    X, mouse = mice
    seen = []

    class Splitter(GroupKFold):
        def split(self, X, y=None, groups=None):
            seen.append(np.unique(groups).size)
            return super().split(X, y, groups)

    held_out_report(ColumnSubset(3, cv=Splitter(3)), X, cv=GroupKFold(5), groups=mouse)
    assert seen == [16] * 5


@pytest.mark.parametrize("way", ["held_out_report", "calibrate", "select", "report"])
def test_a_selector_with_groups_of_its_own_is_told_them(mice, monkeypatch, way):
    X, mouse = mice
    seen, own = [], KernelSubset.fit

    def fit(self, X, y=None, groups=None):
        seen.append(None if groups is None else (len(X), np.unique(groups).size))
        return own(self, X, y, groups)

    monkeypatch.setattr(KernelSubset, "fit", fit)
    selector = KernelSubset(3, n_landmarks=20, max_sweeps=0)
    if way == "held_out_report":
        held_out_report(selector, X, cv=GroupKFold(5), groups=mouse)
        assert seen == [(160, 16)] * 5
    elif way == "calibrate":
        selector.fit(X, groups=mouse).calibrate(X, cv=GroupKFold(5), groups=mouse)
        assert seen == [(200, 20)] + [(160, 16)] * 5
    else:
        request = SelectionRequest(k=3, method="KernelSubset", group_column="mouse")
        (select_table if way == "select" else inspect_table)(table_of(X, mouse=mouse), request)
        assert seen[:6] == [(160, 16)] * 5 + [(200, 20)]


def test_blocks_of_time_do_not_depend_on_the_order_of_rows(series, rng):
    X, time = series
    request = SelectionRequest(k=3, time_column="time", ridge=0.1)
    order = rng.permutation(len(X))
    one = select_table(table_of(X, time=time), request)
    other = select_table(table_of(X[order], time=time[order]), request)
    assert one.selected_names == other.selected_names
    assert one.errors.selection == pytest.approx(other.errors.selection, rel=1e-9)
    expected = held_out_report(ColumnSubset(3, ridge=0.1), X, scaler=StandardScaler(), cv=BlockKFold())
    assert one.errors.selection == pytest.approx(expected.selection, rel=1e-9)
    assert one.errors.selection > select_table(table_of(X), SelectionRequest(k=3, ridge=0.1)).errors.selection


@pytest.mark.parametrize(
    "times",
    [
        [f"2026-01-{1 + i // 24:02d} {i % 24:02d}:00:00" for i in range(400)],
        pa.array(range(400), pa.timestamp("s")),
        pa.array(range(400), pa.date32()),
        [str(i) for i in range(400)],
        np.arange(400) / 7,
    ],
)
def test_times_may_be_dates_numbers_or_their_text(series, times):
    X, _ = series
    found = select_table(table_of(X, time=times), SelectionRequest(k=3, time_column="time", ridge=0.1))
    expected = held_out_report(ColumnSubset(3, ridge=0.1), X, scaler=StandardScaler(), cv=BlockKFold())
    assert found.errors.selection == pytest.approx(expected.selection, rel=1e-9)


def test_blocks_leave_a_gap_and_keep_equal_times_together():
    times = np.repeat(np.arange(20), 5)
    for train, test in BlockKFold(4, gap=0.1).split(np.zeros((100, 1)), groups=times):
        assert not set(times[train]) & set(times[test])
        assert len(test) == 25
        # Ten rows, or two times, on either side.
        assert min(abs(a - b) for a in times[train] for b in times[test]) == 3
    with pytest.raises(ValueError, match="gap must be at least 0 and below 1 / 5"):
        list(BlockKFold(5, gap=0.2).split(np.zeros((100, 1))))
    with pytest.raises(ValueError, match="there are 2 times in all; ask for fewer blocks"):
        list(BlockKFold(5).split(np.zeros((4, 1)), groups=[0, 0, 1, 1]))


@pytest.mark.parametrize("which", ["group_column", "time_column"])
def test_large_tables_are_held_out_in_the_same_way(tmp_path, mice, monkeypatch, which):
    X, mouse = mice
    label = np.unique(mouse, return_inverse=True)[1]
    data = table_of(X, label=label).data
    for part in range(2):
        pa.parquet.write_table(data.slice(100 * part, 100), tmp_path / f"{part}.parquet")
    monkeypatch.setattr(_parts, "WHOLE_VALUES", 100)
    parts = open_table(tmp_path)
    assert isinstance(parts, TableParts)
    request = SelectionRequest(k=3, **{which: "label"})
    one, other = select_table(parts, request), select_table(table_of(X, label=label), request)
    assert one.selected_names == other.selected_names
    assert one.errors.selection == pytest.approx(other.errors.selection, rel=1e-9)
    if which == "group_column":  # blocks of time have no gaps there
        assert one.ridge == other.ridge


@pytest.mark.slow
@pytest.mark.parametrize("which", ["group_column", "time_column"])
def test_stability_is_measured_without_whole_groups_or_blocks(mice, which):
    X, mouse = mice
    label = np.unique(mouse, return_inverse=True)[1]
    found = measure_frontier(table_of(X, label=label), SelectionRequest(k=3, **{which: "label"}))
    plain = measure_frontier(table_of(X), SelectionRequest(k=3))
    assert found.frontier.error.min() > plain.frontier.error.min()
    assert found.frontier.procedure_stability <= plain.frontier.procedure_stability


def test_panels_are_judged_on_whole_groups_and_on_blocks_of_time(mice):
    X, mouse = mice
    label = np.unique(mouse, return_inverse=True)[1]
    table = table_of(X, label=label)
    plain = evaluate_table(table_of(X), EvaluationRequest(["x0", "x1"], n_random=3))
    for which in ("group_column", "time_column"):
        found = evaluate_table(table, EvaluationRequest(["x0", "x1"], n_random=3, **{which: "label"}))
        assert found.evaluation.explained_variance < plain.evaluation.explained_variance
        assert "label" not in found.evaluation.feature_names


@pytest.mark.parametrize(
    ("aside", "request_", "message"),
    [
        ({"g": ["a", "b"] * 100}, {"group_column": "h"}, "group_column: the table has no column 'h'"),
        ({"g": ["a"] * 200}, {"group_column": "g"}, "group_column: 'g' has 1 groups and 2 are needed"),
        ({"g": ["a", None] * 100}, {"group_column": "g"}, "group_column: 'g' has empty cells"),
        ({"g": ["soon"] * 200}, {"time_column": "g"}, "time_column: 'g' holds text such as 'soon', which may sort"),
        ({"g": [1.0, None] * 100}, {"time_column": "g"}, "time_column: 'g' has empty cells"),
        ({"g": [1, 2] * 100}, {"time_column": "g"}, "time_column: 'g' has 2 different times and 5 are needed"),
        (
            {"g": [1, 2] * 100},
            {"group_column": "g", "criterion": "stability"},
            "group_column: 'g' has 2 groups and 6 are needed",
        ),
        ({"g": [1, 2] * 100}, {"group_column": "g", "time_column": "g"}, "time_column: holds out blocks of time"),
        ({"g": ["a"] * 199 + ["b"]}, {"batch": "g"}, "batch: 'b' has one row, in which nothing varies"),
        ({"g": [1, 2] * 100}, {"batch": "g", "method": "PFA"}, "batch: PFA does not have this setting"),
        ({"g": [1, 2] * 100}, {"batch": "g", "missing": "em"}, "batch: needs complete rows"),
        ({"g": [1, 2] * 100}, {"batch": "g", "include": ["g"]}, "include: 'g' is dropped or an id column, or says"),
    ],
)
def test_what_cannot_be_gets_one_sentence(mice, aside, request_, message):
    with pytest.raises(RequestError, match=message):
        select_table(table_of(mice[0], **aside), SelectionRequest(k=2, **request_))


def test_batches_are_selected_within(rng):
    # The drift of two instruments has most of the variance of three columns.
    sources = rng.normal(size=(90, 2))
    drift = np.repeat(rng.normal(size=(3, 3)) * 20, 30, axis=0) + rng.normal(size=(90, 3)) / 100
    X = np.column_stack([sources, sources @ rng.normal(size=(2, 3)), drift])
    day = np.repeat(["mon", "tue", "wed"], 30)
    request = SelectionRequest(k=2, scale="none", batch="day")
    found = select_table(table_of(X, day=day), request)
    assert set(found.selected_names) <= {*NAMES[:5]}
    assert not set(select_table(table_of(X), SelectionRequest(k=2, scale="none")).selected_names) <= {*NAMES[:5]}
    fitted = ColumnSubset(2).fit(X, batch=day)
    assert [column.name for column in found.selected] == [NAMES[j] for j in fitted.selected_]
    assert found.batches.labels == ("mon", "tue", "wed")
    np.testing.assert_allclose(found.batches.explained, fitted.batch_explained_variance_)
    scaled = select_table(table_of(X, day=day), SelectionRequest(k=2, batch="day", ridge=0.1))
    own = ColumnSubset(2, scale="standard", ridge=0.1).fit(X, batch=day)
    assert [column.name for column in scaled.selected] == [NAMES[j] for j in own.selected_]
    np.testing.assert_allclose(scaled.coefficients, own.reconstruction_coef_, atol=1e-9)


def test_held_out_errors_within_batches_by_hand(rng):
    X = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4))
    batch = np.arange(60) % 3
    shifted = X + 100 * rng.normal(size=(3, 4))[batch]
    found = held_out_report(ColumnSubset(2, ridge=0), shifted, batch=batch)
    order = np.random.RandomState(0).permutation(60)
    train, test = order[12:], order[:12]

    def within(rows):
        means = np.stack([shifted[train][batch[train] == b].mean(axis=0) for b in range(3)])
        return shifted[rows] - means[batch[rows]]

    assert found.mean_predictor == pytest.approx(np.mean(within(test) ** 2))


def test_the_report_lists_batches_and_what_serves_one(tmp_path, rng, capsys, monkeypatch):
    # Column 4 varies in one batch only, and column 5 follows it there.
    X = rng.normal(size=(120, 2)) @ rng.normal(size=(2, 6)) + 0.05 * rng.normal(size=(120, 6))
    site = np.repeat(["a", "b"], 60)
    X[:, 4] = np.where(site == "a", 5 * rng.normal(size=120), 1e-3 * rng.normal(size=120))
    X[:, 5] = X[:, 4] + 0.01 * rng.normal(size=120)
    X = np.column_stack([X, rng.normal(size=(120, 2)) / 100])
    pa.csv.write_csv(table_of(X, site=site).data, tmp_path / "t.csv")
    monkeypatch.setenv("COLUMNS", "120")
    options = ("-k", "3", "--batch", "site", "--scale", "none", "-o", str(tmp_path / "o.csv"))
    assert main(["select", str(tmp_path / "t.csv"), *options]) == 0
    out = capsys.readouterr().out
    assert "Variance within each batch that the selected columns explain" in out
    assert "Of use in one batch only: x" in out
    stored = json.loads((tmp_path / "o.selection.json").read_text())["batches"]
    assert stored["labels"] == ["a", "b"]
    assert stored["serve_one"][0] in ("x4", "x5")


def test_neighbours_that_are_alike_are_told_of(series, rng):
    X, _ = series
    found = select_table(table_of(X), SelectionRequest(k=3))
    assert any("hold rows out by their time" in note for note in found.notes)
    held = select_table(table_of(X, t=np.arange(400)), SelectionRequest(k=3, time_column="t"))
    assert not any("Rows that follow each other are alike" in note for note in held.notes)
    assert neighbour_excess(X[rng.permutation(400)]) is None
    judged = evaluate_table(table_of(X), EvaluationRequest(["x0"], n_random=2))
    assert any("hold rows out by their time" in note for note in judged.notes)


def test_shuffled_rows_are_never_alike(rng):
    # One factor, so that all columns err in the same direction; and tails that are heavy.
    for _ in range(300):
        n = int(rng.integers(20, 1000))
        assert neighbour_excess(np.outer(rng.normal(size=n), np.ones(4))) is None
        assert neighbour_excess(np.exp(3 * rng.normal(size=(n, 1)))) is None
    assert neighbour_excess(np.ones((100, 3))) is None
    assert neighbour_excess(rng.normal(size=(8, 3))) is None
