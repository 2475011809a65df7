"""Ctrl-C: one fit asked for directly keeps the best weights so far; in all other work a fit is whole or there is none."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pytest

import stableselect as ss
from stableselect import workflow
from stableselect.cli import main
from stableselect.experiments import Run, execute
from stableselect.inspection import held_out_report, stability_analysis, uniform_stability
from stableselect.io import Table

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def cut_short(*arguments, **settings):
    """Return a selector whose training is interrupted in its second epoch, in whatever process it runs."""

    class Cut(ss.AEFS):
        def _train(self, make, stopping, n_starts=1):
            def interrupted(start):
                trainable, ended = make(start), []
                whole = trainable.train_epoch

                def epoch(*schedule):
                    if ended:
                        raise KeyboardInterrupt
                    ended.append(True)
                    return whole(*schedule)

                trainable.train_epoch = epoch
                return trainable

            return super()._train(interrupted, stopping, n_starts)

    return Cut(*arguments, epochs=5, random_state=0, **settings)


@pytest.fixture
def X():
    return np.random.RandomState(0).standard_normal((40, 6))


def test_a_single_fit_keeps_the_best_weights_so_far(X):
    with pytest.warns(UserWarning, match="Interrupted after 1 of 5 epochs"):
        selector = cut_short(2).fit(X)
    assert selector.stop_reason_ == "interrupted" and selector.n_epochs_ == 1


REPEATED = {
    "consensus": lambda X: ss.ConsensusSelector(cut_short(2), n_resamples=2).fit(X),
    "consensus in processes": lambda X: ss.ConsensusSelector(cut_short(2), n_resamples=2, n_jobs=2).fit(X),
    "stability": lambda X: stability_analysis(cut_short(2), X, n_repeats=2, random_state=0),
    "stability in processes": lambda X: stability_analysis(cut_short(2), X, n_repeats=2, n_jobs=2, random_state=0),
    "held out": lambda X: held_out_report(cut_short(2), X, random_state=0),
    "uniform": lambda X: uniform_stability(cut_short(2), X[:30], X[30:], n_left_out=2, random_state=0),
}


@pytest.mark.parametrize("work", REPEATED)
def test_repeated_fits_are_interrupted(X, work):
    with pytest.raises(KeyboardInterrupt):
        REPEATED[work](X)
    # What comes after is as before.
    with pytest.warns(UserWarning, match="Interrupted after 1 of 5 epochs"):
        cut_short(2).fit(X)


def test_other_threads_are_not_concerned(X):
    """A fit in one thread keeps its weights while another thread does repeated work."""
    found = []

    class Waiting(ss.RandomSelector):
        def fit(self, X, y=None):
            with pytest.warns(UserWarning, match="Interrupted"):
                thread = threading.Thread(target=lambda: found.append(cut_short(2).fit(X)))
                thread.start()
                thread.join()
            return super().fit(X)

    stability_analysis(Waiting(2), X, n_repeats=2, random_state=0)
    assert found[0].stop_reason_ == "interrupted"


def test_stored_work_is_interrupted(X, tmp_path):
    runs = [Run("t", "AEFS", "corrected", split, 0, 2) for split in range(3)]

    def evaluate(run, data_home):
        selector = cut_short(2) if run.split == 1 else ss.AEFS(2, epochs=2, random_state=0)
        selector.fit(X)
        calls.append(run.split)
        return {"epochs": selector.n_epochs_}

    calls = []
    with pytest.raises(KeyboardInterrupt):
        execute(runs, tmp_path, evaluate)
    assert calls == [0]


def test_a_selection_from_a_table_is_interrupted(X, monkeypatch):
    monkeypatch.setattr(workflow._prepare, "all_selectors", lambda: {"AEFS": type(cut_short())})
    for rows in (X, X[:5]):  # five are too few to hold some out: the fit on all rows is the only one
        table = Table(pa.table(list(rows.T), names=list("abcdef")), "t.csv")
        with pytest.raises(KeyboardInterrupt):
            workflow.select_table(table, workflow.SelectionRequest(k=2, method="AEFS"))
