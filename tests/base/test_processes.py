"""Work in several processes or threads: the same results, in order, and how far it has come."""

import os
import threading

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from stableselect import ColumnSubset, ScorerSelector
from stableselect.base import in_processes, in_threads, told_to


@pytest.mark.slow
def test_results_come_in_the_order_of_the_items_and_are_counted():
    told = []
    with told_to(lambda what, done, total, seconds: told.append((what, done, total))):
        assert in_processes(abs, [-3, 2, -1], "numbers", 2) == [3, 2, 1]
    assert told[-1] == ("numbers", 3, 3)


def test_threads_count_and_keep_the_order():
    told, met = [], threading.Barrier(2)

    def work(number):
        if number < 2:
            met.wait(10)  # two at a time
        with np.errstate(all="raise"):
            return -number, threading.get_ident()

    with threadpool_limits(2, user_api="blas"), told_to(lambda what, done, total, seconds: told.append((done, total))):
        if {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"} != {2}:
            pytest.skip("the BLAS library has one thread only")
        found = in_threads(work, range(40), "numbers", at_most=2)
        alone = in_threads(lambda _: threading.get_ident(), range(40), "numbers", at_most=1)
    assert [number for number, _ in found] == [-number for number in range(40)]
    assert len({thread for _, thread in found}) == 2 and set(alone) == {threading.get_ident()}
    assert told[-1] == (40, 40)


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
@pytest.mark.parametrize("shape", [(60, 8), (40, 120)])
def test_a_choice_for_stability_is_the_same_in_threads_and_processes(rng, kind, shape):
    X = rng.normal(size=(shape[0], 4)) @ rng.normal(size=(4, shape[1])) + rng.normal(size=shape)
    with threadpool_limits(1, user_api="blas"):
        one = kind(3, criterion="stability").fit(X)
    for n_jobs in (None, 2):
        with threadpool_limits(3, user_api="blas"):
            two = kind(3, criterion="stability", n_jobs=n_jobs).fit(X)
        np.testing.assert_array_equal(one.selected_, two.selected_)
        np.testing.assert_array_equal(one.frontier_.error, two.frontier_.error)
        assert one.frontier_.procedure_interval == two.frontier_.procedure_interval


def test_verbose_tells_how_many_searches_are_done(rng, capsys):
    ColumnSubset(3, criterion="stability", verbose=True).fit(rng.normal(size=(60, 8)))
    told = capsys.readouterr().err
    assert "votes 70 of 70" in told and "rounds 45 of 45" in told
