"""What the page of the assumptions shows of no, some and all runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stableselect.experiments import Stored
from stableselect.paper import _report
from stableselect.paper._measure import evaluate
from stableselect.paper._plots import Picture
from stableselect.paper._registry import EXPERIMENTS
from stableselect.paper._report import Table
from stableselect.paper.assumptions._task import TASK
from stableselect.paper.methods import Options, Results

EXPERIMENT = EXPERIMENTS["assumptions"]


@pytest.mark.slow
def test_nothing_some_and_all_of_it_is_shown(tiny, tmp_path, monkeypatch):
    panels = []
    draw = _report.picture
    monkeypatch.setattr(_report, "picture", lambda *given: panels.append(len(given[-1].axes)) or draw(*given))
    empty = EXPERIMENT.render(Results([], data_home=tmp_path))
    assert "not available" in empty.markdown()
    assert not [block for block in empty.blocks if isinstance(block, Picture)]
    runs = [
        replace(run, k=3).of_task(TASK, **{**run.details, "u": 5, "n": {100: 20, 200: 25, 300: 30}[run.details["n"]]})
        for protocol in ("paper", "corrected")
        for run in EXPERIMENT.runs(protocol, Options(fast=True))
    ]
    stored = [Stored(run, "done", evaluate(run), "") for run in runs]
    some = EXPERIMENT.render(Results(stored[:1], data_home=tmp_path))
    assert [block.name for block in some.blocks if isinstance(block, Picture)] == ["assumptions_core"]
    document = EXPERIMENT.render(Results(stored, data_home=tmp_path))
    pictures = [block.name for block in document.blocks if isinstance(block, Picture)]
    assert pictures == ["assumptions_core", "assumptions_sides"]
    # No panel for a dataset without runs; two datasets by three columns.
    assert panels == [2, 2, 6]
    assert document.blocks[0].startswith("A fast run")
    assert "200 epochs, here 20)" in document.markdown()
    assert "epochs, here" not in empty.markdown()
    tables = {block.title: block for block in document.blocks if isinstance(block, Table)}
    shown = {row[0]: row for row in tables["Assumption 2, paper: 50 core samples"].rows}
    first = next(item.record for item in stored if item.run.details["part"] == "core")
    assert shown["COIL-20, n = 20"][1] == f"{first['plain']['eta_max']:.3g}"
    assert "COIL-20: the slope is above -1; n |eta| goes from" in document.markdown()
    published = tables["Assumption 2, published procedure"].rows
    network = next(item.record for item in stored if "network_mse" in item.record)
    assert [row[0] for row in published] == ["COIL-20, paper, n = 20", "COIL-20, corrected, n = 20"]
    assert published[0][1:4] == ["–", f"{network['network_mse']:.5f}", f"{network['best_mse']:.5f}"]  # noqa: RUF001
    assert {row["part"] for row in document.data} == {
        *(f"assumption {i}" for i in (1, 2, 3)),
        "P1",
        "constants",
    }
    removal = next(item for item in stored if item.run.details["part"] == "removal")
    older = replace(removal, run=removal.run.of_task(TASK, **{**removal.run.details, "refitted": 9}))
    assert EXPERIMENT.render(Results([*stored, older], data_home=tmp_path)).data == document.data
    failed = Stored(runs[0], "failed", {}, "ValueError: no")
    assert "not available" in EXPERIMENT.render(Results([failed], data_home=tmp_path)).markdown()
