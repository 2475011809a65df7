"""What the summary says first: every loss, and nothing that is not in the runs."""

from __future__ import annotations

import pytest

from stableselect.experiments import Run, Stored
from stableselect.paper._registry import EXPERIMENTS
from stableselect.paper.methods import Results

ERRORS = {
    "random": [[4.0, 6.0], [2.0, 2.2]],
    "ColumnSubset": [[2.0, 3.0], [1.0, 1.2]],
    "ScorerSelector": [[1.9, 3.0], [1.0, 1.2]],
    "LS": [[1.0, 3.5], [3.0, 3.2]],
    "AEFS": [[5.0, 5.0], [1.1, 1.3]],
    "mean predictor": [[10.0, 20.0], [5.0, 10.0]],
    "PCA, k components": [[1.0, 1.5], [0.5, 0.6]],
}
DATASETS = ["coil20", "usps"]


def render(tmp_path, errors):
    items = [
        Stored(
            Run(name, method, "corrected", split, 0, 50),
            "done",
            {"ridge": value, "accuracy": 0.5 + 0.01 * value, "seconds": 0.5 if method == "LS" else 1.0},
            "",
        )
        for method, table in errors.items()
        for name, values in zip(DATASETS, table, strict=True)
        for split, value in enumerate(values)
    ]
    return EXPERIMENTS["summary"].render(Results(items, data_home=tmp_path))


def losses(document, title):
    """Return the first two cells of each row of a table, none where there is no such table."""
    found = [block for block in document.blocks if getattr(block, "title", "") == title]
    return [tuple(row[:2]) for block in found for row in block.rows]


def test_losses_come_first_and_are_all_there(tmp_path):
    document = render(tmp_path, ERRORS)
    assert document.blocks[0] == "## What we do not win"
    # LS is better on COIL-20 alone, by its first split; the other search of the package is no rival.
    assert losses(document, "Lower error than ColumnSubset") == [("COIL-20", "LS")]
    text = document.markdown()
    assert "ColumnSubset is not the best on 1 of 2 datasets: COIL-20, where LS errs 10 % less" in text
    assert "(2.25 against 2.5; better on 1 of 2 splits)" in text
    assert "1 of 3 others take less: LS 0.5." in text
    assert "have 0.50 of the error of ColumnSubset" in text


def test_a_loss_more_is_a_row_more(tmp_path):
    document = render(tmp_path, ERRORS | {"AEFS": [[5.0, 5.0], [0.5, 1.3]]})
    assert losses(document, "Lower error than ColumnSubset") == [("COIL-20", "LS"), ("USPS", "AEFS")]


def test_where_nothing_is_lost_that_is_said(tmp_path):
    document = render(tmp_path, ERRORS | {"LS": [[3.0, 3.5], [3.0, 3.2]]})
    assert losses(document, "Lower error than ColumnSubset") == []
    assert "Error: ColumnSubset is not the best on 0 of 2 datasets." in document.markdown()


def test_larger_accuracies_are_losses_too(tmp_path):
    # Here the accuracy grows with the error.
    found = losses(render(tmp_path, ERRORS), "Higher accuracy than ColumnSubset")
    assert found == [("COIL-20", "AEFS"), ("COIL-20", "random"), ("USPS", "LS"), ("USPS", "random"), ("USPS", "AEFS")]


def test_won_tied_and_lost_are_over_splits(tmp_path):
    rows = {row["method"]: row for row in render(tmp_path, ERRORS).data if row["measure"] == "ridge"}
    # On USPS both splits differ by one: no spread, hence won or lost; on COIL-20 the interval of two splits is wide.
    assert [rows["ColumnSubset"][side] for side in ("won", "tied", "lost")] == [1, 1, 0]
    assert [rows["LS"][side] for side in ("won", "tied", "lost")] == [0, 1, 1]


@pytest.mark.parametrize("missing", ["ColumnSubset", "random"])
def test_copes_without(tmp_path, missing):
    document = render(tmp_path, {method: table for method, table in ERRORS.items() if method != missing})
    assert ("What we do not win" in document.markdown()) == (missing == "random")
