from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from stableselect import ScorerSelector, ScorerSelectorNetwork
from stableselect.experiments._run import Run
from stableselect.experiments._store import Stored
from stableselect.paper._measure import evaluate
from stableselect.paper._registry import EXPERIMENTS
from stableselect.paper._report import Table
from stableselect.paper.methods import Options
from stableselect.paper.methods._data import load_rows
from stableselect.paper.methods._methods import WEIGHTS, find_method, weighted
from stableselect.paper.methods._results import Results

FASHION = Run("mnist_fashion", "|W|", "paper", 0, 0, 3)


def test_the_grid_is_the_published_one():
    assert [1 / weight for weight in WEIGHTS] == [0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
    assert weighted("|W|", 1 / 128) == "|W|"
    for weight in WEIGHTS:
        for plain, cls in (("|W|", ScorerSelectorNetwork), ("ScorerSelector", ScorerSelector)):
            name = weighted(plain, weight)
            selector = find_method(name).build(replace(FASHION, method=name))
            assert type(selector) is cls and selector.scorer_weight == weight


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
    selector = ScorerSelectorNetwork.published(3, batch_size=16, random_state=0).set_params(scorer_weight=2.0)
    selector.fit(rows.X_fit)
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
