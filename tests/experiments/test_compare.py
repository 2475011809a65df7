"""Compare methods on one table: figures by hand, equal terms, failures, and a store that is never mixed up."""

from __future__ import annotations

import inspect
import math
import os
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, SelectorMixin, VarianceThreshold
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import stableselect as ss
from stableselect.experiments import Store
from stableselect.metrics import downstream_accuracy, pca_reconstruction_error, reconstruction_error, stability

SPLITS = KFold(4, shuffle=True, random_state=3)
HALVES = KFold(2)


class First(SelectorMixin, BaseEstimator):
    """Select the first features; fail on samples that ``fails`` says, and leave a line in a file for every fit."""

    def __init__(self, k=10, trace=None, fails=None, seconds=0.0):
        self.k, self.trace, self.fails, self.seconds = k, trace, fails, seconds

    def fit(self, X, y=None):
        if self.trace is not None:
            with open(self.trace, "ab", buffering=0) as trace:
                trace.write(b"fit\n")
        time.sleep(self.seconds)
        if self.fails is not None and (self.fails is True or not np.any(X[:, 0] == self.fails)):
            raise ValueError("this one\nis bad")
        self.n_features_in_ = X.shape[1]
        return self

    def _get_support_mask(self):
        return np.arange(self.n_features_in_) < self.k


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Do without waiting for the disk, which the tests of the store hold."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def labels(tall):
    return (tall[:, 0] > 0).astype(int)


def fits(path):
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_the_figures_are_those_computed_by_hand(tall, labels):
    found = ss.compare(tall, 4, methods=["ColumnSubset", "PFA"], y=labels, scaler=StandardScaler(), cv=SPLITS)
    errors, right, sets, components, worst = [], [], [], [], []
    for train, test in SPLITS.split(tall):
        scaler = StandardScaler().fit(tall[train])
        one, other = scaler.transform(tall[train]), scaler.transform(tall[test])
        chosen = ss.ColumnSubset(4).fit(one).selected_
        errors.append(reconstruction_error(one, other, chosen, refit="ridge"))
        right.append(downstream_accuracy(one, labels[train], other, labels[test], chosen))
        components.append(pca_reconstruction_error(one, other, 4))
        worst.append(np.mean((other - one.mean(axis=0)) ** 2))
        sets.append(chosen)
    row = found.row("ColumnSubset")
    assert row.error == pytest.approx(np.mean(errors))
    assert row.error_se == pytest.approx(np.std(errors, ddof=1) / 2)
    assert row.explained_variance == pytest.approx(np.mean(1 - np.array(errors) / worst))
    assert row.accuracy == pytest.approx(np.mean(right))
    assert row.stability == pytest.approx(stability(sets, n_features=12).nogueira)
    assert row.seed_stability == 1.0
    assert found.row("PCA").error == pytest.approx(np.mean(components))
    assert found.row("mean").error == pytest.approx(np.mean(worst))
    assert found.row("PCA").ratio == pytest.approx(np.exp(np.mean(np.log(np.divide(components, errors)))))
    assert (found.n_splits, found.n_seeds, found.best.name) == (4, 2, "ColumnSubset")
    assert found.row("PFA").n_runs == 8 and found.row("random").n_runs == 20
    assert abs(found.row("random").stability) < 0.2 and abs(found.row("random").seed_stability) < 0.2


def test_selectors_of_all_kinds_are_set_to_k(tall, labels):
    methods = {
        "by name": "laplacian-score",
        "own": First(),
        "scikit-learn": SelectKBest(),
        "pipeline": make_pipeline(StandardScaler(), ss.PivotedQR(7)),
        "as it is": VarianceThreshold(),
        "with a setting": ss.ColumnSubset(9, ridge=0.5),
        "class": ss.VarianceScore,
    }
    found = ss.compare(tall, 3, methods=methods, y=labels, cv=HALVES)
    sizes = {row.name: row.n_selected for row in found.rows if row.kind == "method"}
    assert sizes.pop("as it is") == 12 and set(sizes.values()) == {3.0} and len(sizes) == 6
    assert found.selections["own"] == [[0, 1, 2]] * 2
    assert "selects 12 instead of 3" in found.row("as it is").note
    assert "selects by the labels" in found.row("scikit-learn").note
    assert found.best.name != "as it is" and found.rows[6].name == "as it is"
    without = ss.compare(tall, 3, methods=[SelectKBest(), "PFA"], cv=HALVES)
    assert without.row("SelectKBest").note.startswith("failed (") and not math.isnan(without.row("PFA").error)


def test_names_of_features_and_pipelines_that_make_features(tall):
    frame = pd.DataFrame(tall, columns=[f"c{j}" for j in range(12)])
    methods = {"named": ss.ColumnSubset(include=["c11"]), "made": make_pipeline(PCA(6), ss.VarianceScore())}
    found = ss.compare(frame, 3, methods=methods)
    assert all(11 in chosen for chosen in found.selections["named"]) and found.feature_names == list(frame.columns)
    assert "features that it makes" in found.row("made").note


def test_a_method_that_fails_says_so_and_leaves_the_others_alone(tall):
    alone = ss.compare(tall, 4, methods=["PFA"], cv=SPLITS)
    found = ss.compare(tall, 4, methods={"bad": First(fails=True), "PFA": "PFA"}, cv=SPLITS)
    assert found.row("PFA").error == alone.row("PFA").error
    assert found.row("random").error == alone.row("random").error
    bad = found.row("bad")
    assert bad.note == "failed (ValueError: this one is bad)" and bad.n_failed == 4 and math.isnan(bad.error)
    assert [row.name for row in found.rows] == ["PFA", "bad", "random", "PCA", "mean"]
    assert "bad: failed (ValueError: this one is bad)" in str(found)


def test_all_rows_are_over_the_splits_that_all_have(tall):
    """One method fails on one split, the one that holds out sample 0: nobody is measured there."""
    methods = {"sometimes": First(fails=tall[0, 0]), "PFA": "PFA"}
    found = ss.compare(tall, 4, methods=methods, cv=SPLITS)
    left = [(train, test) for train, test in SPLITS.split(tall) if 0 in train]
    assert found.n_splits == len(left) == 3
    expected = np.mean([reconstruction_error(tall[a], tall[b], range(4), refit="ridge") for a, b in left])
    assert found.row("sometimes").error == pytest.approx(expected)
    assert found.row("PFA").n_runs == 6 and found.row("random").n_runs == 15
    assert found.row("PCA").error == pytest.approx(
        np.mean([pca_reconstruction_error(tall[a], tall[b], 4) for a, b in left])
    )
    assert found.row("sometimes").note.startswith("failed in 1 of 4 runs (ValueError")


def test_methods_that_fail_on_different_splits_do_not_leave_nothing(tall):
    bad = {str(i): First(fails=tall[next(iter(test)), 0]) for i, (_, test) in enumerate(SPLITS.split(tall))}
    found = ss.compare(tall, 4, methods=bad | {"PFA": "PFA"}, cv=SPLITS)
    assert found.n_splits == 4 and found.best.name == "PFA" and all(math.isnan(found.row(name).error) for name in bad)


@pytest.mark.slow
def test_processes_find_the_same(tall):
    one, two = (ss.compare(tall, 4, methods=["PFA", First()], cv=HALVES, jobs=jobs) for jobs in (1, 2))
    pd.testing.assert_frame_equal(one.to_frame().drop(columns="seconds"), two.to_frame().drop(columns="seconds"))


def test_the_store_is_taken_only_for_the_same_question(tall, labels, tmp_path):
    trace, store = tmp_path / "trace", tmp_path / "store"
    table = pd.DataFrame(tall, columns=[f"c{j}" for j in range(12)])

    def computed(X=table, k=4, selector=None, **how):
        before = fits(trace)
        own = First(trace=str(trace)) if selector is None else selector
        ss.compare(X, k, methods={"own": own}, store=store, **{"cv": HALVES} | how)
        return fits(trace) - before

    assert computed() == 2
    first = sorted(item.run.key for item in Store(store).runs())
    assert computed() == 0 and sorted(item.run.key for item in Store(store).runs()) == first
    changed = table.copy()
    changed.iloc[7, 3] += 1e-9
    assert computed(changed) == 2
    assert computed(table.rename(columns={"c0": "other"})) == 2
    assert computed(k=5) == 2
    assert computed(y=labels) == 2
    assert computed(scaler=StandardScaler()) == 2
    assert computed(scaler=StandardScaler(with_mean=False)) == 2
    assert computed(selector=First(trace=str(trace), seconds=1e-9)) == 2
    assert computed(random_state=1) == 2
    assert computed(cv=KFold(3)) == 3
    assert computed(cv=list(HALVES.split(tall))) == 0
    assert computed() == 0


def test_a_failed_run_is_tried_again_only_if_asked(tall, tmp_path):
    trace = tmp_path / "trace"
    bad = {"bad": First(trace=str(trace), fails=True), "PFA": "PFA"}
    for retry, expected in ((False, 4), (False, 4), (True, 8)):
        ss.compare(tall, 4, methods=bad, cv=SPLITS, store=tmp_path / "store", retry=retry)
        assert fits(trace) == expected


SCRIPT = """
import sys
import numpy as np
import stableselect as ss

sys.path.insert(0, folder)
from own import First

X = np.random.default_rng(0).normal(size=(60, 12))
methods = {"own": First(trace=folder + "/trace", seconds=0.1), "PFA": "PFA"}
found = ss.compare(X, 4, methods=methods, cv=12, store=folder + "/store")
"""


@pytest.mark.slow
def test_kill_and_resume_computes_nothing_twice(tmp_path, start, monkeypatch):
    head = "import time\nimport numpy as np\nfrom sklearn.base import BaseEstimator\n"
    head += "from sklearn.feature_selection import SelectorMixin\n"
    (tmp_path / "own.py").write_text(head + inspect.getsource(First))
    monkeypatch.syspath_prepend(tmp_path)
    trace, store = tmp_path / "trace", tmp_path / "store"
    process = start(SCRIPT, folder=str(tmp_path))
    end = time.monotonic() + 60
    while fits(trace) < 5:
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)
    process.kill()
    process.join()
    assert process.exitcode == -9
    before = {item.run.key: item for item in Store(store).runs()}
    own = sum(item.run.method == "own" for item in before.values())
    assert 4 <= own < 12
    started, here = fits(trace), {"__name__": "script", "folder": str(tmp_path)}
    exec(SCRIPT, here)
    assert fits(trace) - started == 12 - own
    after = {item.run.key: item for item in Store(store).runs()}
    assert all(after[key] == item for key, item in before.items())
    whole = ss.compare(here["X"], 4, methods=["PFA"], cv=12)
    assert here["found"].row("PFA").error == whole.row("PFA").error and here["found"].row("own").n_runs == 12


def test_interrupted_by_the_keyboard_it_goes_on(tall, tmp_path):
    def stop(item, ended, total):
        if ended == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ss.compare(tall, 4, methods=["PFA"], cv=SPLITS, store=tmp_path, report=stop)
    heard = []
    found = ss.compare(tall, 4, methods=["PFA"], cv=SPLITS, store=tmp_path, report=lambda *args: heard.append(args[1:]))
    assert heard[0] == (1, 31) and heard[-1] == (31, 31) and found.row("PFA").n_runs == 8


def test_groups_are_held_out_together(tall):
    groups = np.arange(60) // 6
    found = ss.compare(tall, 4, methods=["PivotedQR"], cv=5, groups=groups)
    expected = [
        reconstruction_error(tall[a], tall[b], ss.PivotedQR(4).fit(tall[a]).selected_, refit="ridge")
        for a, b in GroupKFold(5).split(tall, None, groups)
    ]
    assert found.row("PivotedQR").error == pytest.approx(np.mean(expected))
    with pytest.raises(ValueError, match="must stay together"):
        ss.compare(tall, 4, methods=["PivotedQR"], cv=list(SPLITS.split(tall)), groups=groups)


def test_it_prints_in_80_columns(tall, labels):
    long = {"a method with a name that is much too long for a table": "PFA", "tab\there": First(fails=True)}
    found = ss.compare(tall * 1e-7, 4, methods=long | {"PivotedQR": "PivotedQR"}, y=labels, cv=SPLITS)
    lines = str(found).splitlines()
    assert max(map(len, lines)) <= 80 and lines[0] == "4 of 12 features, 60 samples: 4 splits, 2 seeds"
    assert lines[1].split() == "method error vs best accuracy explained stable seeds seconds".split()
    assert "\t" not in str(found) and any(line.startswith("tab\\there: failed") for line in lines)
    assert repr(found).startswith("<MethodComparison: 3 methods, 4 of 12 features, 4 splits; lowest error: ")
    frame = found.to_frame()
    assert list(frame["name"]) == [row.name for row in found.rows] and frame["error"][0] == found.best.error


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"k": 12}, "all of the features"),
        ({"k": 13}, "^k must be between 1 and the number of features, 12"),
        ({"X": np.ones((30, 12))}, "all are constant; there is nothing to compare"),
        ({"methods": ["ColumnSubst"]}, "there is no 'ColumnSubst'; did you mean ColumnSubset"),
        ({"methods": []}, "at least one method"),
        ({"methods": {"PCA": "PFA"}}, "Two rows of the comparison are called 'PCA'"),
        ({"methods": ["PFA", "PFA"]}, "Two rows of the comparison"),
        ({"n_seeds": 0}, "n_seeds must be"),
        ({"cv": 1}, "cv must be from 2"),
        ({"random_state": None}, "random_state must be"),
        ({"jobs": 0}, "jobs must be"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(tall, how, words):
    with pytest.raises(ValueError, match=words):
        ss.compare(**{"X": tall, "k": 4, "methods": ["PFA"]} | how)
    with pytest.raises(TypeError, match="names and selectors"):
        ss.compare(tall, 4, methods=[3])


def test_the_quick_ones_by_default_and_all_by_name():
    from stableselect.experiments._methods import default_methods, resolve_methods

    quick = default_methods()
    assert len(quick) >= 10 and not {"CAE", "ConsensusSelector", "RandomSelector"} & set(quick)
    every, _ = resolve_methods("all", 3, 9, None, labelled=False)
    assert {one.name for one in every} == set(ss.all_selectors()) - {"RandomSelector"}


def test_two_of_one_class_are_told_apart_by_their_settings(tall):
    found = ss.compare(tall, 4, methods=[ss.ColumnSubset(), ss.ColumnSubset(ridge=0.5)], cv=SPLITS)
    assert {row.name for row in found.rows[:2]} == {"ColumnSubset()", "ColumnSubset(ridge=0.5)"}


def test_a_selector_that_needs_labels_of_a_model(tall, labels):
    from sklearn.feature_selection import RFE

    found = ss.compare(tall, 4, methods=[RFE(LogisticRegression())], y=labels, cv=SPLITS)
    assert found.row("RFE").n_selected == 4 and "labels" in found.row("RFE").note


def test_progress_says_what_is_left(tall, capsys):
    ss.compare(tall, 4, methods=["PFA"], cv=SPLITS, verbose=True)
    assert capsys.readouterr().err.splitlines()[-1] == "compare: runs 36 of 36"
