from __future__ import annotations

import pytest

from stableselect.experiments._run import Run
from stableselect.experiments._store import Stored
from stableselect.paper._registry import EXPERIMENTS
from stableselect.paper.methods._results import Results

FASHION = Run("mnist_fashion", "|W|", "paper", 0, 0, 3)


def test_summary_compares_split_by_split(tmp_path):
    errors = {
        "random": [[4.0, 6.0], [2.0, 2.0]],
        "ColumnSubset": [[2.0, 3.0], [1.0, 1.0]],
        "LS": [[3.0, 5.0], [2.0, 3.0]],
        "mean predictor": [[10.0, 20.0], [5.0, 10.0]],
    }
    items = [
        Stored(Run(name, method, "corrected", split, 0, 50), "done", {"ridge": value, "seconds": 1.0}, "")
        for method, table in errors.items()
        for name, values in zip(["coil20", "usps"], table, strict=True)
        for split, value in enumerate(values)
    ]
    document = EXPERIMENTS["summary"].render(Results(items, data_home=tmp_path))
    rows = {row["method"]: row for row in document.data if row["measure"] == "ridge"}
    against_random = ((-1 / 10 - 1 / 20) / 2 + (0 / 5 + 1 / 10) / 2) / 2
    assert rows["LS"]["difference_to_random"] == pytest.approx(against_random)
    assert rows["LS"]["difference_to_random_low"] <= against_random <= rows["LS"]["difference_to_random_high"]
    assert rows["ColumnSubset"]["difference_to_ColumnSubset"] == ""
    assert rows["random"]["difference_to_ColumnSubset"] == pytest.approx(
        ((2 / 10 + 3 / 20) / 2 + (1 / 5 + 0.1) / 2) / 2
    )
