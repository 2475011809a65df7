"""One thread for each call of a library, blocks of work side by side."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from stableselect import ColumnSubset, Moments
from stableselect._core import Together, _threads, one_thread, side_by_side
from stableselect._core._threads import _LARGE, begun, wide_product


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("the BLAS library has one thread only")
        yield


@pytest.mark.usefixtures("two_threads")
class TestOneThread:
    def test_limits_and_restores(self):
        with one_thread():
            assert {library["num_threads"] for library in threadpool_info()} == {1}
            with one_thread():
                assert blas_threads() == {1}
            assert blas_threads() == {1}
        assert blas_threads() == {2}

    def test_restores_after_an_error(self):
        with pytest.raises(RuntimeError), one_thread():
            raise RuntimeError
        assert blas_threads() == {2}

    def test_fits_that_overlap_leave_no_limit_behind(self):
        inside, left = threading.Event(), threading.Event()

        def other():
            with one_thread():
                inside.set()
                assert left.wait(10)

        with one_thread():
            thread = threading.Thread(target=other)
            thread.start()
            assert inside.wait(10) and blas_threads() == {1}
        left.set()
        thread.join()
        assert blas_threads() == {2}

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
    @pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
    def test_a_forked_process_has_no_limit(self):
        with one_thread():
            child = os.fork()
            if not child:
                os._exit(0 if blas_threads() == {2} else 1)
            assert os.waitpid(child, 0)[1] == 0


class TestSideBySide:
    @pytest.mark.parametrize("threads", [1, 2, 3])
    def test_results_come_in_the_order_of_the_items(self, threads):
        def slow_first(i):
            time.sleep(0.01 * (5 - i))
            return i * i

        with threadpool_limits(threads, user_api="blas"):
            assert side_by_side(slow_first, range(5)) == [0, 1, 4, 9, 16]
            assert side_by_side(slow_first, iter(())) == []

    @pytest.mark.usefixtures("two_threads")
    def test_two_at_a_time_each_with_one_thread(self):
        meeting = threading.Barrier(2, timeout=10)

        def meet(_):
            meeting.wait()
            return blas_threads()

        assert side_by_side(meet, range(4)) == [{1}] * 4
        with one_thread():  # the limit around counts for each call, not for the blocks
            assert side_by_side(meet, range(2)) == [{1}] * 2

    @pytest.mark.usefixtures("two_threads")
    def test_threads_do_not_multiply(self):
        """Where a thread may not limit the BLAS library, since another one has, it works by itself."""
        found = []

        def work():
            seen = side_by_side(lambda _: (max(blas_threads()), threading.get_ident()), range(3))
            found.extend(threads == 1 or ident == threading.get_ident() for threads, ident in seen)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join(10)
        assert found == [True] * 3

    def test_one_thread_is_the_caller(self):
        with threadpool_limits(1, user_api="blas"):
            assert side_by_side(lambda _: threading.get_ident(), range(3)) == [threading.get_ident()] * 3

    @pytest.mark.usefixtures("two_threads")
    def test_an_error_comes_through(self):
        def fail(i):
            if i == 1:
                raise ValueError("block 1")
            return np.ones(i)

        with pytest.raises(ValueError, match="block 1"):
            side_by_side(fail, range(3))
        assert blas_threads() == {2}


@pytest.mark.slow
def test_a_forked_process_has_helpers_of_its_own():
    """Threads do not live on in a process started by forking; waiting for those of the parent would never end."""
    if not hasattr(os, "fork"):
        pytest.skip("this system does not fork")
    script = """
import os, warnings
warnings.simplefilter("ignore")
from threadpoolctl import threadpool_limits
from stableselect._core import side_by_side
with threadpool_limits(2):
    side_by_side(str, range(4))
    child = os.fork()
    if child == 0:
        os._exit(0 if side_by_side(str, range(4)) == ["0", "1", "2", "3"] else 1)
    raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-c", script], timeout=120).returncode == 0


@pytest.mark.usefixtures("two_threads")
def test_an_error_is_raised_when_all_threads_are_done():
    begun_both, done = threading.Barrier(2), []

    def work(number):
        begun_both.wait(10)
        if number == 0:
            raise RuntimeError("no")
        time.sleep(0.3)
        done.append(number)

    with pytest.raises(RuntimeError, match="no"):
        side_by_side(work, [0, 1])
    assert done == [1]


def test_moments_can_be_read_in_several_threads(rng):
    gathered = Moments()
    for _ in range(30):
        gathered.update(rng.normal(size=(3, 400)))
    before = [len(rows) for rows in gathered._rows]
    gathered.operator()
    assert [len(rows) for rows in gathered._rows] == before == [3] * 30


class TestBegun:
    @pytest.mark.usefixtures("two_threads")
    def test_works_beside_its_caller(self):
        with one_thread():
            inside = threading.Event()
            thread = begun(lambda: inside.set() or threading.get_ident())
            assert inside.wait(10)
            assert thread() != threading.get_ident()

    def test_waits_with_one_thread(self):
        done = []
        with threadpool_limits(1, user_api="blas"), one_thread():
            result = begun(lambda: done.append(True) or 7)
            assert not done
            assert result() == 7

    @pytest.mark.usefixtures("two_threads")
    def test_passes_errors_on(self):
        with one_thread():
            result = begun(lambda: 1 // 0)
            with pytest.raises(ZeroDivisionError):
                result()


@pytest.mark.parametrize(
    ("shape", "k"),
    [
        pytest.param((3000, 300), 8, id="folds and eigenvalues beside each other"),
        pytest.param((120, 4200), 6, id="features of a leave-one-out search"),
        pytest.param((2500, 1100), 4, marks=pytest.mark.slow, id="folds that share what the first one finds"),
    ],
)
def test_threads_change_no_bit(rng, shape, k):
    X = rng.normal(size=(shape[0], 12)) @ rng.normal(size=(12, shape[1])) + 0.5 * rng.normal(size=shape)
    fitted = []
    for threads in (1, 3):
        with threadpool_limits(threads, user_api="blas"):
            fitted.append(ColumnSubset(k).fit(X))
    one, three = fitted
    assert one.selected_.tolist() == three.selected_.tolist()
    assert (one.objective_, one.ridge_, one.lower_bound_) == (three.objective_, three.ridge_, three.lower_bound_)


@pytest.mark.parametrize("n_left", [1, 5])
def test_a_wide_product_is_the_same_for_every_number_of_threads(rng, n_left):
    A = rng.normal(size=(20, _LARGE // 20 + 3))
    left = rng.normal(size=(n_left, 20))
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            found.append(wide_product(left, A))
    np.testing.assert_array_equal(*found)
    np.testing.assert_allclose(found[0], left @ A, rtol=1e-12, atol=1e-12)


def test_two_pieces_of_work_are_done_in_the_way_that_takes_less_time(monkeypatch):
    """The clock is made up: side by side takes as long as ``shared`` says, one by one a second."""
    now, shared, ways = [0.0], [0.0], []

    def begun(function):
        ways.append("shared")
        now[0] += shared[0] - 1
        return function

    def first():
        now[0] += 1
        return "first"

    monkeypatch.setattr(_threads, "begun", begun)
    monkeypatch.setattr(_threads, "perf_counter", lambda: now[0])
    for shared[0], expected in ((0.5, 100 - 1 - 3), (3.0, 1 + 3)):
        together = Together()
        ways.clear()
        assert [together(first, lambda: "second") for _ in range(100)] == [("first", "second")] * 100
        assert len(ways) == expected
    shared[0] = 0.0  # the machine is idle again
    ways.clear()
    for _ in range(300):
        together(first, lambda: None)
    assert len(ways) > 100


@pytest.mark.usefixtures("two_threads")
def test_two_pieces_of_work_may_be_done_in_two_threads():
    seen = set()
    with one_thread():
        together = Together()
        for _ in range(50):
            together(lambda: time.sleep(0.002), lambda: seen.add(threading.get_ident()) or time.sleep(0.002))
    assert len(seen) > 1


@pytest.mark.parametrize("threads", [1, 2])
def test_work_that_is_begun_is_done_once(threads):
    done: list[int] = []
    with threadpool_limits(threads), one_thread():
        result = begun(lambda: done.append(1) or len(done))
        assert [result(), result()] == [1, 1]
    assert done == [1]
