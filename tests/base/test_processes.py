"""Work in several processes: the same results, in order, and how far it has come."""

import os

import joblib
import numpy as np
import pytest

from stableselect import ColumnSubset, ScorerSelector
from stableselect.base import in_processes, told_to


@pytest.mark.slow
def test_results_come_in_the_order_of_the_items_and_are_counted():
    told = []
    with told_to(lambda what, done, total, seconds: told.append((what, done, total))):
        assert in_processes(abs, [-3, 2, -1], "numbers", 2) == [3, 2, 1]
    assert told[-1] == ("numbers", 3, 3)


def pids(n_jobs):
    return in_processes(lambda _: os.getpid(), range(4), "numbers", n_jobs)


@pytest.mark.slow
def test_none_is_this_process_and_workers_start_no_others():
    with joblib.parallel_config(n_jobs=2):
        assert set(pids(None)) == {os.getpid()}
    assert os.getpid() not in pids(2)
    assert all(len(set(found)) == 1 for found in joblib.Parallel(2)(joblib.delayed(pids)(2) for _ in range(2)))


def test_no_process_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match="n_jobs=0 leaves no process to work in; give 1 or more"):
        in_processes(abs, [1], "numbers", 0)
    with pytest.raises(ValueError, match="'n_jobs' parameter of ColumnSubset"):
        ColumnSubset(2, n_jobs=0).fit(np.eye(5))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [ColumnSubset, ScorerSelector])
@pytest.mark.parametrize("shape", [(90, 12), (40, 120)])
def test_a_choice_for_stability_is_the_same_in_several_processes(rng, kind, shape):
    X = rng.normal(size=(shape[0], 4)) @ rng.normal(size=(4, shape[1])) + rng.normal(size=shape)
    one, two = (kind(5, criterion="stability", n_jobs=n_jobs).fit(X) for n_jobs in (None, 2))
    np.testing.assert_array_equal(one.selected_, two.selected_)
    np.testing.assert_array_equal(one.frontier_.error, two.frontier_.error)
    assert one.frontier_.procedure_interval == two.frontier_.procedure_interval


def test_verbose_tells_how_many_searches_are_done(rng, capsys):
    ColumnSubset(3, criterion="stability", verbose=True).fit(rng.normal(size=(60, 8)))
    told = capsys.readouterr().err
    assert "votes 70 of 70" in told and "rounds 45 of 45" in told
