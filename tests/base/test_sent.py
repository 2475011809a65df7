"""What other processes are sent once, and the processes that calls in a row share."""

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from functools import partial

import numpy as np
import pytest

from stableselect.base import SentOnce, in_processes


def test_what_arrives_is_the_same_object_and_its_arrays_may_not_be_written():
    array = np.arange(6.0).reshape(2, 3)
    with SentOnce([array]) as sent:
        first, second = (pickle.loads(pickle.dumps(sent)) for _ in range(2))
    assert first is second and first is not sent
    np.testing.assert_array_equal(first.value[0], array)
    with pytest.raises(ValueError, match="read-only"):
        first.value[0][0, 0] = 1.0
    array[0, 0] = 7.0
    assert first.value[0][0, 0] == 0.0


def test_a_file_is_written_only_when_sent_and_removed_at_the_end_even_of_a_failure():
    with SentOnce("unsent") as sent:
        assert sent._file is None
    with pytest.raises(RuntimeError), SentOnce("sent") as sent:
        pickle.dumps(sent)
        file = sent._file
        assert file.exists()
        raise RuntimeError
    assert not file.parent.exists()


def test_what_is_left_to_send_after_the_end_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with SentOnce("sent") as sent:
        pickle.dumps(sent)
    with pytest.raises(pickle.PicklingError, match="within its with statement"):
        pickle.dumps(sent)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_killed_process_leaves_no_file(tmp_path):
    code = (
        "import os, pickle, signal\n"
        "from stableselect.base import SentOnce\n"
        "with SentOnce('sent') as sent:\n"
        "    pickle.dumps(sent)\n"
        "    print(len(os.listdir(os.environ['TMPDIR'])), flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    killed = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL and killed.stdout == "1\n"
    deadline = time.monotonic() + 20
    while list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not list(tmp_path.iterdir())


def identity(sent: SentOnce, seconds: float) -> tuple[int, int]:
    time.sleep(seconds)
    return os.getpid(), id(sent)


@pytest.mark.slow
def test_a_process_reads_it_once_and_stays_for_a_smaller_call():
    with SentOnce(np.zeros(5)) as sent:
        calls = [in_processes(partial(identity, sent), [0.2] * n, "numbers", 3, 9) for n in (9, 2, 9)]
    many, few, again = map(set, calls)
    processes = {process for process, _ in many}
    assert os.getpid() not in processes and len(many) == len(processes) == 3  # one object in each
    assert few <= many and again == many
