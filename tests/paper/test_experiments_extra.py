"""The search for lambda, the timing, and the paired bootstrap of the summary."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import bootstrap
from sklearn.linear_model import LinearRegression

from stableselect import ScorerSelector
from stableselect.experiments import paired_interval
from stableselect.experiments._run import Options, Run
from stableselect.experiments._store import Stored
from stableselect.paper._measure import evaluate
from stableselect.paper._registry import EXPERIMENTS
from stableselect.paper.methods import _epoch, _methods
from stableselect.paper.methods._data import load_rows
from stableselect.paper.methods._methods import EPOCH, WEIGHTS, find_method, weighted
from stableselect.paper.methods._results import Results
from stableselect.paper.report._document import Table

FASHION = Run("mnist_fashion", "|W|", "paper", 0, 0, 3)


def test_the_grid_is_the_published_one():
    assert [1 / weight for weight in WEIGHTS] == [0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
    assert weighted("|W|", 1 / 128) == "|W|"
    for weight in WEIGHTS:
        for solver in ("minibatch", "search"):
            name = weighted("|W|" if solver == "minibatch" else "ScorerSelector", weight)
            selector = find_method(name).build(replace(FASHION, method=name))
            assert (selector.solver, selector.scorer_weight) == (solver, weight)


def test_the_weights_are_the_published_network_otherwise():
    plain, other = (find_method(name).build(FASHION).get_params() for name in ("|W|", "|W|, weight 1/8"))
    assert {key for key in plain if plain[key] != other[key]} == {"scorer_weight"}


def test_lambda_runs_share_the_tables_and_have_one_seed_by_default():
    experiment = EXPERIMENTS["lambda_search"]
    assert experiment.runs("corrected", Options()) == []
    runs = experiment.runs("paper", Options())
    assert len(runs) == 2 * len(WEIGHTS)
    assert {run.seed for run in runs} == {0}
    assert set(runs) & set(EXPERIMENTS["table2"].runs("paper", Options())) == {
        replace(FASHION, method=method, k=50) for method in ("|W|", "ScorerSelector")
    }
    assert {run.seed for run in experiment.runs("paper", Options(seeds=3))} == {0, 1, 2}


def test_validation_errors_are_those_of_the_rows_left_out(tiny):
    run = replace(FASHION, dataset="glioma", method="|W|, weight 2")
    rows = load_rows(run)
    assert (len(rows.X_fit), len(rows.X_valid)) == (36, 4)
    selector = ScorerSelector.published(3, batch_size=16, random_state=0).set_params(scorer_weight=2.0).fit(rows.X_fit)
    own = np.mean((rows.X_valid - selector.forward(rows.X_valid)) ** 2)
    model = LinearRegression().fit(rows.X_fit[:, selector.selected_], rows.X_fit)
    refitted = np.mean((rows.X_valid - model.predict(rows.X_valid[:, selector.selected_])) ** 2)
    assert evaluate(run)["validation"] == pytest.approx({"own": own, "least_squares": refitted})
    assert "validation" not in evaluate(replace(run, method="LS", protocol="corrected"))


def test_lambda_table_names_the_best_weight_and_the_seeds(tmp_path):
    items = []
    for i, weight in enumerate(WEIGHTS):
        for seed in range(3 if weight == 1 / 128 else 1):
            run = replace(FASHION, method=weighted("|W|", weight), seed=seed, k=50)
            record = {"validation": {"own": 0.02 + 0.001 * abs(i - 5) + 0.01 * seed, "least_squares": 0.02}}
            items.append(Stored(run, "done", record, ""))
    document = EXPERIMENTS["lambda_search"].render(Results(items, data_home=tmp_path))
    (table,) = [block for block in document.blocks if isinstance(block, Table)]
    assert [row[3] for row in table.rows] == ["3" if weight == 1 / 128 else "1" for weight in WEIGHTS]
    assert table.rows[0][4:] == ["not run", "not run"]
    assert "0.0200 at 1/16" in document.markdown()
    assert "3 seeds of the network go from 0.0230 to 0.0430" in document.markdown()


def test_timing_takes_its_seconds_from_the_runs(invented, tmp_path):
    runs = [Run("usps", "LS", "corrected", split, 0, 50) for split in range(2)]
    items = [Stored(run, "done", invented(run) | {"seconds": 2.0 + run.split}, "") for run in runs]
    document = EXPERIMENTS["timing"].render(Results(items, data_home=tmp_path))
    (line,) = [row for row in document.data if row["seconds"] != ""]
    assert (line["method"], line["dataset"], line["seconds"], line["runs"]) == ("LS", "usps", 2.5, 2)


def test_an_epoch_is_measured_for_all_three(tiny, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr(_epoch, "_ROUNDS", 1)
    run = Run("coil20", EPOCH.name, "paper", 0, 0, 3)
    record = evaluate(run)
    found = record["epoch"]
    assert set(found["seconds"]) == {_epoch.PLAIN, *_epoch.NETWORKS}
    assert min(found["seconds"].values()) > 0
    for name in _epoch.NETWORKS:
        assert found["ratio"][name] == pytest.approx(found["seconds"][name] / found["seconds"][_epoch.PLAIN])
    assert "torch" in record["versions"]
    document = EXPERIMENTS["timing"].render(Results([Stored(replace(run, k=50), "done", record, "")]))
    assert [row["method"] for row in document.data if row["seconds"] != ""] == [_epoch.PLAIN, *_epoch.NETWORKS]


def test_without_torch_an_epoch_is_not_available(monkeypatch, tmp_path):
    monkeypatch.setattr(_methods, "find_spec", lambda name: None)
    (tmp_path / "coil20.npz").touch()
    text = EXPERIMENTS["timing"].render(Results([], data_home=tmp_path)).markdown()
    (line,) = [line for line in text.splitlines() if line.startswith("| COIL-20, plain")]
    assert "not available" in line


def test_the_interval_is_the_plain_bootstrap_where_there_is_one_split(rng):
    values = rng.normal(size=30)
    mean, low, high = paired_interval([[value] for value in values])
    expected = bootstrap((values,), np.mean, method="percentile", random_state=1, n_resamples=10_000)
    assert mean == pytest.approx(values.mean())
    width = np.ptp(expected.confidence_interval)
    assert low == pytest.approx(expected.confidence_interval.low, abs=0.05 * width)
    assert high == pytest.approx(expected.confidence_interval.high, abs=0.05 * width)


def test_the_interval_draws_splits_within_datasets():
    parts = [[1 - 0.2, 1 + 0.2], [1 - 0.2, 1 + 0.2]]
    mean, low, high = paired_interval(parts)
    assert mean == pytest.approx(1.0)
    # The mean of four draws of +-0.2 is 0.8 and 1.2 with probability 1/16 each: 2.5 % and 97.5 % lie there.
    assert (low, high) == pytest.approx((0.8, 1.2))
    assert paired_interval(parts) == (mean, low, high)
    with pytest.raises(ValueError, match="needs a split"):
        paired_interval([[1.0], []])


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
