"""The benchmark of maps that need not be linear: its tables, its store and its page."""

import importlib
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("the benchmarks are not in this copy", allow_module_level=True)


@pytest.fixture
def nonlinear(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("nonlinear")


def stored(nonlinear):
    return nonlinear.Store("nonlinear").content["parts"]


def test_the_page_is_what_the_store_says(nonlinear):
    assert nonlinear.PAGE.read_text() == nonlinear.page(stored(nonlinear))


def test_the_page_of_an_empty_store_says_so(nonlinear):
    assert nonlinear.page({}).count("Not measured yet.") == 7


def test_networks_are_compared_on_their_own_splits(nonlinear):
    """Also where other splits are missing."""
    k = nonlinear.K["glioma"]
    rows = {f"tables; glioma; {split}; {k}": stored(nonlinear)[f"tables; glioma; {split}; {k}"] for split in (1, 2)}
    own = 0.5 * rows[f"tables; glioma; 2; {k}"]["ridge"][0]
    assert "0.500 (1)" in nonlinear.page({**rows, "network; glioma; network; 2; 0": {"own": own, "selected": [0]}})
    assert "| - | - |" in nonlinear.page({**rows, "network; glioma; network; 0; 0": {"own": own, "selected": [0]}})


def test_fresh_splits_are_averaged_and_counted(nonlinear):
    parts = {}
    for label, errors in (("KernelSubset", (0.5, 1.1)), ("network", (1.5, 0.9))):
        for split, own in zip(nonlinear.FRESH, errors, strict=True):
            parts[f"fresh; glioma; {label}; {split}"] = {"own": own, "ridge": 1.0, "components": 0.9}
    text = nonlinear.page(parts)
    assert "| GLIOMA | 1.00000 | 0.900 | 0.800 | 1.200 |" in text
    assert "`KernelSubset` is below the linear choice on 1 of 1 tables, and below principal components on 1." in text
    assert "the network is below the linear choice on 0 of 1 tables, and below principal components on 0." in text


def test_how_often_swaps_change_the_choice_is_counted(nonlinear):
    k, parts = nonlinear.K["glioma"], {}
    for split, chosen in enumerate(([1, 2], [2, 1], [1, 3])):
        parts[f"tables; glioma; {split}; {k}"] = {
            **stored(nonlinear)[f"tables; glioma; 0; {k}"],
            "linear": [1, 2],
            "kernel": chosen,
        }
    assert "selected in 1 of 3 runs" in nonlinear.page(parts)


def test_planted_tables_are_solved(nonlinear):
    parts = stored(nonlinear)
    for name, (_, answers, _) in nonlinear.PLANTED.items():
        hits = {}
        for label in ("KernelSubset", "ColumnSubset"):
            rows = [parts[f"planted; {name}; {label}; {seed}"] for seed in range(10)]
            hits[label] = sum(set(row["selected"]) in answers for row in rows)
        assert hits["KernelSubset"] >= 9 and hits["ColumnSubset"] <= 5


def test_what_is_stored_is_what_the_selectors_select_today(nonlinear):
    X = nonlinear.planted("periodic sensors", 4)
    for label in ("KernelSubset", "ColumnSubset"):
        selected = sorted(nonlinear.solvers(4)[label].fit(X).selected_.tolist())
        assert stored(nonlinear)[f"planted; periodic sensors; {label}; 4"]["selected"] == selected


def test_answers_of_planted_tables_determine_all_features(nonlinear):
    """Samples that are near in the right two features are near in all, and less so in any other two."""
    for name, (_, answers, _) in nonlinear.PLANTED.items():
        X, gaps = nonlinear.planted(name, 0, 3000), {}
        for pair in np.argwhere(np.triu(np.ones((X.shape[1],) * 2), 1)):
            near = ((X[:200, None, pair] - X[None, 200:, pair]) ** 2).sum(axis=2).argmin(axis=1)
            gaps[tuple(pair.tolist())] = np.mean((X[:200] - X[200:][near]) ** 2)
        right = max(gaps[tuple(sorted(pair))] for pair in answers)
        wrong = min(gap for pair, gap in gaps.items() if set(pair) not in answers)
        assert right < min(0.05, wrong), (name, right, wrong)


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
@pytest.mark.parametrize("refit", ["kernel_error", "network_error"])
def test_refits_keep_the_selected_features_and_learn_the_others(nonlinear, refit):
    X = nonlinear.planted("functions", 0)
    error = getattr(nonlinear, refit)
    right, wrong = error(X[:300], X[300:], [0, 1]), error(X[:300], X[300:], [2, 3])
    assert right < 0.3 * wrong
    assert error(X[:300], X[300:], list(range(8))) == 0.0
