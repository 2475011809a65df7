from __future__ import annotations

from dataclasses import replace

import pytest

from stableselect.experiments._run import Run
from stableselect.experiments._store import Stored
from stableselect.paper._measure import evaluate
from stableselect.paper._registry import EXPERIMENTS
from stableselect.paper.methods import _methods, _timing
from stableselect.paper.methods._methods import EPOCH
from stableselect.paper.methods._results import Results

FASHION = Run("mnist_fashion", "|W|", "paper", 0, 0, 3)


def test_timing_takes_its_seconds_from_the_runs(invented, tmp_path):
    runs = [Run("usps", "LS", "corrected", split, 0, 50) for split in range(2)]
    items = [Stored(run, "done", invented(run) | {"seconds": 2.0 + run.split}, "") for run in runs]
    document = EXPERIMENTS["timing"].render(Results(items, data_home=tmp_path))
    (line,) = [row for row in document.data if row["seconds"] != ""]
    assert (line["method"], line["dataset"], line["seconds"], line["runs"]) == ("LS", "usps", 2.5, 2)


def test_an_epoch_is_measured_for_all_three(tiny, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr(_timing, "_ROUNDS", 1)
    run = Run("coil20", EPOCH.name, "paper", 0, 0, 3)
    record = evaluate(run)
    found = record["epoch"]
    assert set(found["seconds"]) == {_timing.PLAIN, *_timing.NETWORKS}
    assert min(found["seconds"].values()) > 0
    for name in _timing.NETWORKS:
        assert found["ratio"][name] == pytest.approx(found["seconds"][name] / found["seconds"][_timing.PLAIN])
    assert "torch" in record["versions"]
    document = EXPERIMENTS["timing"].render(Results([Stored(replace(run, k=50), "done", record, "")]))
    assert [row["method"] for row in document.data if row["seconds"] != ""] == [_timing.PLAIN, *_timing.NETWORKS]


def test_without_torch_an_epoch_is_not_available(monkeypatch, tmp_path):
    monkeypatch.setattr(_methods, "find_spec", lambda name: None)
    (tmp_path / "coil20.npz").touch()
    text = EXPERIMENTS["timing"].render(Results([], data_home=tmp_path)).markdown()
    (line,) = [line for line in text.splitlines() if line.startswith("| COIL-20, plain")]
    assert "not available" in line


def test_times_are_medians_and_a_stalled_run_is_named(tmp_path):
    seconds = [0.6, 250.0, 0.5]
    items = [
        Stored(Run("isolet", "LS", "corrected", i, 0, 50), "done", {"seconds": s}, "") for i, s in enumerate(seconds)
    ]
    document = EXPERIMENTS["timing"].render(Results(items, data_home=tmp_path))
    (line,) = [row for row in document.data if row["seconds"] != ""]
    assert line["seconds"] == 0.6
    assert "ISOLET, LS, split 1, seed 0 (250 s, median 0.6 s)" in document.markdown()
    quick = EXPERIMENTS["timing"].render(Results(items[::2], data_home=tmp_path))
    assert "siblings" not in quick.markdown()
