"""Ctrl-C: one fit by itself keeps the best weights so far; in all other work a fit is whole or there is none."""

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


@pytest.mark.slow
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
    monkeypatch.setattr(workflow._prepare, "find_selector", lambda name: (name, type(cut_short())))
    for rows in (X, X[:5]):  # five are too few to hold some out: the fit on all rows is the only one
        table = Table(pa.table(list(rows.T), names=list("abcdef")), "t.csv")
        with pytest.raises(KeyboardInterrupt):
            workflow.select_table(table, workflow.SelectionRequest(k=2, method="AEFS"))


WAITING = """
import signal, sys
from importlib.abc import MetaPathFinder

_, module, *arguments = sys.argv

class Interrupting(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == module:
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
signal.signal(signal.SIGINT, signal.default_int_handler)
from stableselect.cli import main
sys.exit(main(arguments))
"""


@pytest.mark.slow
@pytest.mark.parametrize("module", ["typer", "rich.console", "stableselect.io", "numpy", "sklearn.base", "pyarrow"])
def test_ctrl_c_while_modules_are_imported_prints_nothing(tmp_path, module):
    (tmp_path / "t.csv").write_text("a,b,c\n1,2,3\n4,5,7\n7,8,1\n")
    command = [sys.executable, "-c", WAITING, module, "select", tmp_path / "t.csv", "-k", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.fixture
def table(tmp_path, X):
    np.savetxt(tmp_path / "t.csv", X, delimiter=",", header="a,b,c,d,e,f", comments="")
    return tmp_path / "t.csv"


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("command", ["select", "frontier"])
def test_an_interrupted_command_writes_nothing(table, tmp_path, monkeypatch, capsys, command):
    """The signal comes in the second epoch of a training, or in the middle of a search."""
    count = []

    def interrupt(*_):
        count.append(True)
        if len(count) == 2:
            signal.raise_signal(signal.SIGINT)

    method = "CAE" if command == "select" else "ColumnSubset"
    if command == "select":
        monkeypatch.setattr("stableselect.neural._training.check_loss", interrupt)
    else:
        monkeypatch.setattr("stableselect.workflow._numbers.fitted_scaler", lambda *_: (interrupt(), interrupt()))
    out = tmp_path / ("out.csv" if command == "select" else "out.png")
    assert main([command, str(table), "-k", "2", "--method", method, "-o", str(out)]) == 130
    assert len(count) == 2
    assert os.listdir(tmp_path) == ["t.csv"]
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("interruptible")
def test_a_command_interrupted_between_parts_writes_nothing(table, tmp_path, monkeypatch, capsys):
    (tmp_path / "t2.csv").write_bytes(table.read_bytes())
    monkeypatch.setattr("stableselect.io._parts.WHOLE_VALUES", 1)
    monkeypatch.setattr("stableselect.workflow._sample.RowSample.add", lambda *_: signal.raise_signal(signal.SIGINT))
    assert main(["select", str(tmp_path), "-k", "2", "-o", str(tmp_path / "out.csv")]) == 130
    assert sorted(os.listdir(tmp_path)) == ["t.csv", "t2.csv"]
    assert capsys.readouterr() == ("", "")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_signals_to_end_remove_what_is_half_written(table, tmp_path, monkeypatch, capsys, name):
    number = getattr(signal, name)
    seen = []

    def half(data, stream, suffix, **_):
        stream.write(b"half")
        stream.flush()
        seen.append(len(os.listdir(tmp_path)))
        signal.raise_signal(number)

    monkeypatch.setattr("stableselect.io.write_stream", half)
    before = signal.signal(number, signal.SIG_DFL)  # the shell that started the tests may ignore it
    try:
        assert main(["select", str(table), "-k", "2", "-o", str(tmp_path / "out.csv")]) == 128 + number
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)
    assert seen == [3]
    assert os.listdir(tmp_path) == ["t.csv"]
    assert capsys.readouterr() == ("", "")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
@pytest.mark.parametrize("error", [ImportError, ValueError])
def test_a_signal_that_comes_out_as_another_error_ends_the_program_as_it_should(monkeypatch, name, error):
    """An extension module that is interrupted while it is imported raises an ImportError of its own."""
    number = getattr(signal, name)

    def initialise():
        try:
            signal.raise_signal(number)
        except BaseException as interruption:
            raise error("initialization failed") from interruption

    monkeypatch.setattr("stableselect._registry.all_selectors", initialise)
    before = signal.signal(number, signal.SIG_DFL if name == "SIGTERM" else signal.default_int_handler)
    try:
        assert main(["methods", "--names"]) == 128 + number
    finally:
        signal.signal(number, before)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_a_signal_that_is_ignored_stays_so(monkeypatch, capsys):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        listed = {"ColumnSubset": ss.ColumnSubset}
        monkeypatch.setattr(
            "stableselect._registry.all_selectors", lambda: signal.raise_signal(signal.SIGHUP) or listed
        )
        assert main(["methods", "--names"]) == 0
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
    assert capsys.readouterr().out == "ColumnSubset\n"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_a_process_that_is_told_to_end_leaves_no_files(tmp_path):
    """The whole program, ended by its process id at the moment that it writes."""
    np.save(tmp_path / "t.npy", np.random.RandomState(0).standard_normal((60_000, 12)))
    command = [sys.executable, "-m", "stableselect", "select", "t.npy", "-k", "8", "-q", "-o", "out.csv"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        if any(tmp_path.glob(".*.tmp")):
            process.send_signal(signal.SIGTERM)
            break
        time.sleep(0.001)
    error = process.communicate(timeout=120)[1]
    assert process.returncode in (143, 0), error  # 0: all was written in the meantime
    names = {"t.npy"} if process.returncode else {"t.npy", "out.csv", "out.selection.json"}
    assert set(os.listdir(tmp_path)) == names
    assert error == b""
