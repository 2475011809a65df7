"""On a real cluster, of two processes: what memory gives, whatever the chunks and whoever dies.

One module, so that pytest-xdist mostly gives its tests to one process, which has one cluster.
"""

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from stableselect import PFA, ColumnSubset, Moments, PivotedQR, ScorerSelector, VarianceScore

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]  # what distributed warns of is its own affair


@pytest.fixture(scope="module")
def alone(tmp_path_factory, worker_id):
    """Let one cluster run at a time where several processes share the tests."""
    folder = tmp_path_factory.getbasetemp()
    with open((folder if worker_id == "master" else folder.parent) / "cluster.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # given up as the file is closed
        yield


@pytest.fixture(scope="module")
def client(alone):
    """Return the client of two workers with a thread each; one cluster for all tests here."""
    options = {"processes": True, "n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        distributed.LocalCluster(host="127.0.0.1", **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(autouse=True)
def large(monkeypatch):
    """Take tables of more than twenty samples for large ones."""
    monkeypatch.setattr("stableselect._core._streams.FEWEST", 20)
    monkeypatch.setattr("stableselect._core._streams.BLOCK_ELEMENTS", 1)


@pytest.fixture(autouse=True)
def limited():
    """Fail instead of waiting for ever where workers do not come back."""
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("the cluster does not answer"))
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def X(rng):
    return rng.normal(size=(600, 5)) @ rng.normal(size=(5, 12)) + 0.5 * rng.normal(size=(600, 12))


def same(found, expected):
    np.testing.assert_array_equal(found.selected_, expected.selected_)
    np.testing.assert_allclose(found.reconstruction_coef_, expected.reconstruction_coef_, atol=1e-10)
    if hasattr(expected, "objective_"):
        assert found.objective_ == pytest.approx(expected.objective_, rel=1e-10)


@pytest.mark.parametrize("chunks", [(600,), (1, 599), (100,) * 6, (13,) * 46 + (2,)], ids=len)
def test_the_chunks_do_not_matter(client, X, chunks):
    lazy = da.from_array(X, chunks=(chunks, 12))
    fitted = ColumnSubset(4).fit(lazy)
    same(fitted, ColumnSubset(4).fit(X))
    rebuilt = fitted.reconstruct(fitted.transform(lazy))
    assert isinstance(rebuilt, da.Array)
    np.testing.assert_allclose(rebuilt.compute(), fitted.reconstruct(fitted.transform(X)), atol=1e-12)


@pytest.mark.parametrize("cls", [ScorerSelector, PivotedQR, PFA, VarianceScore])
def test_other_selectors(client, X, cls):
    same(cls(4).fit(da.from_array(X, chunks=(100, 12))), cls(4).fit(X))


def test_frames_moments_and_a_sketch(client, X):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(12)])
    lazy = dd.from_pandas(frame, npartitions=5)
    fitted = ColumnSubset(4).fit(lazy, sample_weight=np.linspace(1, 2, 600))
    same(fitted, ColumnSubset(4).fit(frame, sample_weight=np.linspace(1, 2, 600)))
    assert fitted.feature_names_in_.tolist() == list(frame.columns)
    np.testing.assert_allclose(Moments.from_batches(lazy).gram, Moments.from_array(X).gram, atol=1e-12)
    sketched = ColumnSubset(4, sketch=200).fit(lazy)
    centred = X - X.mean(axis=0)
    coef = np.linalg.lstsq(centred[:, sketched.support_], centred, rcond=None)[0]
    np.testing.assert_allclose(sketched.reconstruction_coef_, coef, atol=1e-8)


def test_work_is_done_in_the_workers(client, X):
    def where(block):
        return block * 0 + os.getpid()

    pids = da.from_array(X, chunks=(100, 12)).map_blocks(where, meta=np.empty((0, 12)))
    moments = Moments.from_batches(pids)
    assert {int(moments.minimum[0]), int(moments.maximum[0])} <= set(client.run(os.getpid).values())


def test_a_worker_that_dies_in_the_middle_changes_nothing(client, X, tmp_path):
    died = tmp_path / "died"

    def dies_once(block, block_info=None):
        if block_info and block_info[0]["chunk-location"][0] == 5 and not died.exists():
            died.touch()
            os._exit(1)
        return block

    lazy = da.from_array(X, chunks=(50, 12)).map_blocks(dies_once, meta=np.empty((0, 12)))
    same(ColumnSubset(4).fit(lazy), ColumnSubset(4).fit(X))
    assert died.exists()
    client.wait_for_workers(2, timeout=60)


def test_a_chunk_that_no_worker_survives_is_told_in_a_sentence(client, X):
    def dies(block, block_info=None):
        if block_info and block_info[0]["chunk-location"][0] == 0:
            os._exit(1)
        return block

    lazy = da.from_array(X, chunks=(300, 12)).map_blocks(dies, meta=np.empty((0, 12)))
    with pytest.raises(MemoryError, match=r"Workers ended again and again .*; make the chunks smaller or the workers"):
        ColumnSubset(4).fit(lazy)
    client.wait_for_workers(2, timeout=60)


def test_a_chunk_that_fails_says_which(client, X):
    def fail(block, block_info=None):
        if block_info and block_info[0]["chunk-location"][0] == 3:
            raise OSError("no such file")
        return block

    lazy = da.from_array(X, chunks=(100, 12))
    with pytest.raises(
        RuntimeError, match=r"Chunk 4 of 6 of a Dask array cannot be computed \(OSError: no such file\)"
    ):
        ColumnSubset(4).fit(lazy.map_blocks(fail, meta=np.empty((0, 12))))
    X[250, 7] = np.inf
    with pytest.raises(ValueError, match=r"contains infinity in .* \(in chunk 3 of 6 of a Dask array\)"):
        ColumnSubset(4).fit(da.from_array(X, chunks=(100, 12)))
    with pytest.raises(ValueError, match=r"12 features are in 3 chunks; pass X.rechunk"):
        ColumnSubset(4).fit(lazy.rechunk((100, 4)))


def test_a_scheduler_that_is_gone_is_told_in_a_sentence(X, tmp_path):
    file = tmp_path / "scheduler.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    scheduler = subprocess.Popen([*command, "--no-dashboard", "--scheduler-file", str(file)], stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while not file.exists() and time.monotonic() < until:
            time.sleep(0.05)
        with distributed.Client(json.loads(file.read_text())["address"], timeout="2s"):
            threading.Timer(0.5, scheduler.kill).start()
            with pytest.raises(ConnectionError, match="scheduler of the Dask cluster does not answer; start a cluster"):
                ColumnSubset(4).fit(da.from_array(X, chunks=(100, 12)))
    finally:
        scheduler.kill()
        scheduler.wait()
