"""The runs of the experiment: which there are, their subsamples and what each measures."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split

from stableselect import LaplacianScore, RandomSelector, all_selectors
from stableselect.datasets import Dataset, info
from stableselect.experiments import Run
from stableselect.paper._measure import evaluate
from stableselect.paper._registry import EXPERIMENTS
from stableselect.paper.methods import Options, _data, _methods, _options
from stableselect.paper.methods._data import pool, subsample
from stableselect.paper.methods._methods import NO_RIDGE, STABLE, find_method, registered
from stableselect.paper.stability import _plan as _stability
from stableselect.paper.stability._plan import RANDOM, SEEDLESS

EXPERIMENT = EXPERIMENTS["stability"]
MICE = Run("mice_protein", "LS", "corrected", 0, 0, 10).of_task("stability")
GLIOMA = Run("glioma", "LS", "corrected", 0, 0, 3).of_task("stability")


def test_every_registered_selector_has_one_method_with_its_default_settings():
    assert Counter(find_method(name).selector for name in registered()) == Counter(
        all_selectors().keys() - {"ScorerSelectorNetwork"}  # in the tables as published, and annealed
    )
    for name in registered():
        method = find_method(name)
        built = method.build(replace(GLIOMA, method=name)).get_params(deep=False)
        default = all_selectors()[method.selector]().get_params(deep=False)
        changed = {key for key in default if repr(default[key]) != repr(built[key])}
        assert changed <= {"n_features_to_select", "random_state", "device"}


def test_a_new_selector_appears_by_itself(fits, monkeypatch):
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


def test_the_plan_shares_what_the_analyses_have_in_common(fits):
    assert EXPERIMENT.runs("paper", Options()) == []
    runs = EXPERIMENT.runs("corrected", Options())
    assert len(set(runs)) == len(runs)
    assert {run.dataset for run in runs} == set(_stability.DATASETS)
    assert all(run.k == info(run.dataset).k for run in runs)
    assert fits("LS") == [(split, 0) for split in range(10)]
    assert fits("ScorerSelector") == [*fits("LS"), (0, 1)]
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
    runs = EXPERIMENT.runs("corrected", Options(fast=True))
    assert {run.dataset for run in runs} == {"mice_protein", "coil20"}
    assert {run.cap for run in runs if run.method == "|W|"} == {20}
    assert len(runs) < 250
    assert {run.method for run in runs if run.dataset == "coil20"}.isdisjoint(STABLE.values())


def test_limits_are_on_steps_of_methods_that_can_be_limited():
    for method, dataset in _stability._STEPS:
        assert method in _options.CAPPED
        assert dataset in _stability.DATASETS
    assert _options.CAPPED.keys() >= _stability._FAST_STEPS.keys()
    built = find_method("|W|").build(
        Run("usps", "|W|", "corrected", 0, 0, 50, cap=_stability.steps("|W|", "usps", fast=False))
    )
    assert built.epochs == 95
    assert built.batch_size == info("usps").batch_size


def test_a_run_is_what_its_definition_says(tiny):
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


def test_the_seed_stays_while_the_samples_vary(tiny):
    runs = [replace(GLIOMA, method="PFA", split=split, seed=3) for split in range(2)]
    assert [evaluate(run)["settings"]["random_state"] for run in runs] == [3, 3]
    assert evaluate(replace(runs[0], seed=4))["settings"]["random_state"] == 4


def test_whole_mice_are_drawn(tiny):
    groups = np.repeat(np.arange(10), 5)
    split = subsample(MICE)
    assert len(split.train) == 40
    assert not set(groups[split.train]) & set(groups[split.test])


def test_subsamples_of_fashion_have_the_published_size(monkeypatch):
    table = Dataset(np.arange(18_000.0).reshape(9000, 2), np.zeros(9000, int), info("mnist_fashion"))
    monkeypatch.setattr(_data, "_load", lambda *args: table)
    run = replace(GLIOMA, dataset="mnist_fashion")
    first, second = (subsample(replace(run, split=split)) for split in range(2))
    assert (len(first.train), len(first.test)) == (6000, 1500)
    assert len(pool(run).y) == 7500
    # Two subsamples of four fifths share four fifths of their samples on average.
    assert len(set(first.train) & set(second.train)) == pytest.approx(4800, abs=100)
    assert len(pool(replace(run, mode="fast")).y) == 2000


@pytest.mark.parametrize("method", [name for name in SEEDLESS if name not in STABLE.values()])
def test_what_makes_no_use_of_its_seed_says_so_in_two_runs(tiny, method):
    runs = [replace(GLIOMA, method=method, seed=seed) for seed in range(2)]
    assert evaluate(runs[0])["selected"] == evaluate(runs[1])["selected"]
