"""Figure 3 g and h: what is selected on the splits, and what is said of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from stableselect import ScorerSelector
from stableselect.experiments import Run
from stableselect.paper._measure import evaluate
from stableselect.paper._registry import EXPERIMENTS
from stableselect.paper.methods import Options, Results, load_rows

SEARCH = "ScorerSelector"
FASHION = Run("mnist_fashion", "|W|", "paper", 0, 1, 3, "full", 15)


@pytest.mark.parametrize("protocol", ["paper", "corrected"])
@pytest.mark.parametrize("method", ["|W|", SEARCH])
def test_overlap_selects_on_nine_tenths_of_the_pool(tiny, losses, network, method, protocol):
    run = replace(FASHION, method=method, protocol=protocol, split=4, cap=None if method == SEARCH else 15)
    record = evaluate(run.of_task("overlap"))
    rows = load_rows(replace(run, split=0))
    train, test = train_test_split(np.vstack([rows.X_train, rows.X_test]), test_size=0.1, random_state=4)
    if protocol == "corrected":
        low, span = train.min(axis=0), np.ptp(train, axis=0)
        train, test = (train - low) / span, (test - low) / span
    selector = ScorerSelector(3) if method == SEARCH else network(3, 1, patience=20, tol=0.0)
    selector.fit(train)
    assert record["n"] == 45
    assert record["selected"] == selector.selected_.tolist()
    assert record["test"]["selector"] == pytest.approx(np.mean(losses(selector, test)["selector"]))
    assert record["epochs"] == getattr(selector, "n_epochs_", None)


@pytest.mark.parametrize(("name", "method"), [("figure3g", "|W|"), ("figure3h", "W^2")])
def test_grids_of_g_and_h_are_the_published_ones(name, method):
    runs = [run for run in EXPERIMENTS[name].runs("paper", Options()) if run.method == method]
    for dataset, k in (("mnist_fashion", 10), ("coil20", 5)):
        found = {(run.split, run.seed) for run in runs if (run.dataset, run.k) == (dataset, k)}
        assert found == {(split, 0) for split in range(10)} | {(split, split) for split in range(10)}


def test_the_overlap_says_what_a_fixed_seed_hides(stored, tmp_path, no_pictures):
    document = EXPERIMENTS["figure3g"].render(Results(stored("figure3g"), data_home=tmp_path))
    rows = {(row["dataset"], row["protocol"], row["method"]): row for row in document.data}
    fixed = rows["mnist_fashion", "paper", "network |W|, seed fixed"]
    free = rows["mnist_fashion", "paper", "network |W|, seed free"]
    assert (fixed["nogueira"], fixed["distinct"], fixed["always"]) == (1.0, 10, 10)
    # Disjoint sets: p = 1/10 for 100 of 784 features, so 1 - (100/784) (10/9) 0.09 / (10/784 (1 - 10/784)).
    assert free["nogueira"] == pytest.approx(1 - 1 / (1 - 10 / 784))
    assert (free["distinct"], free["always"]) == (100, 0)
    text = document.markdown()
    assert "0.910" in text
    assert "10 features share the 10 places of 10 splits (Nogueira 1.00); with the seed free, 100 do" in text
