from __future__ import annotations

import json
import lzma
import os

import pytest

from stableselect.cli import main
from stableselect.experiments._run import CURRENT, Revision, Run
from stableselect.experiments._store import JOURNAL, Store, Stored, has_results

RUN = Run("glioma", "|W|", "paper", 0, 1, 64)
TASK = RUN.of_task("gap", weight=0.5)
DONE = Stored(RUN, "done", {"ridge": 0.1 + 0.2, "own": {"b": 1, "a": None}}, "", ended=12.5)
FAILED = Stored(TASK, "failed", {}, "ValueError: no", Revision(2, 3, 4), 13.0)


def filled(folder):
    with Store(folder, write=True) as store:
        store.add(DONE)
        store.add(FAILED)


def test_key_is_canonical_json_and_comes_back():
    fast = Run("glioma", "|W|", "paper", 0, 1, 64, "fast", 20)
    assert fast.key == (
        '{"cap":20,"dataset":"glioma","k":64,"method":"|W|","mode":"fast","protocol":"paper","seed":1,"split":0}'
    )
    assert Run(**json.loads(fast.key)) == fast


def test_runs_come_back_as_they_were(tmp_path):
    filled(tmp_path)
    assert Store(tmp_path).runs() == sorted([DONE, FAILED], key=lambda item: item.run.key)
    assert Store(tmp_path).get(RUN) == DONE
    assert Store(tmp_path).get(Run("usps", "LS", "paper", 0, 0, 50)) is None
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {
        "selection-glioma.jsonl.xz",
        "gap-glioma.jsonl.xz",
    }
    assert (tmp_path / JOURNAL).stat().st_size == 0


def test_a_run_is_of_the_current_revision_and_knows_when_it_ended(tmp_path):
    with Store(tmp_path, write=True) as store:
        store.add(Stored(RUN, "done", {}, ""))
    (item,) = Store(tmp_path).runs()
    assert item.revision == CURRENT
    assert item.ended > 1e9


def test_equal_runs_give_equal_files_in_whatever_order_they_end(tmp_path):
    other = Stored(Run("glioma", "LS", "paper", 0, 0, 64), "done", {"x": 1}, "", ended=1.0)
    for name, items in (("one", [DONE, other]), ("two", [other, DONE])):
        with Store(tmp_path / name, write=True) as store:
            for item in items:
                store.add(item)
    one, two = (tmp_path / name / "runs" / "selection-glioma.jsonl.xz" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    assert lzma.decompress(one.read_bytes()).count(b"\n") == 2


def test_only_files_with_new_runs_are_written(tmp_path):
    filled(tmp_path)
    paths = sorted((tmp_path / "runs").iterdir())
    before = [path.stat().st_mtime_ns for path in paths]
    with Store(tmp_path, write=True) as store:
        store.add(Stored(RUN, "done", {"ridge": 1.0}, ""))
    after = [path.stat().st_mtime_ns for path in paths]
    assert (before[0] == after[0], before[1] == after[1]) == (True, False)
    assert Store(tmp_path).get(RUN).record == {"ridge": 1.0}


def test_fast_runs_have_a_folder_of_their_own(tmp_path):
    with Store(tmp_path, write=True) as store:
        store.add(Stored(Run("glioma", "LS", "paper", 0, 0, 64, "fast"), "done", {}, ""))
    assert not (tmp_path / "runs").exists()
    assert (tmp_path / "fast" / "runs" / "selection-glioma.jsonl.xz").is_file()
    assert len(Store(tmp_path).runs()) == 1


def test_the_journal_of_a_killed_process_is_read_and_put_away(tmp_path):
    store = Store(tmp_path, write=True)
    store.add(DONE)
    store.add(FAILED)
    # The process is gone without a word; its last line was not finished.
    store._journal.write(b'{"run": {"dataset": "gli')
    store._journal.close()
    assert has_results(tmp_path)
    assert len(Store(tmp_path).runs()) == 2
    assert not (tmp_path / "runs").exists()
    with Store(tmp_path, write=True) as again:
        assert len(again.runs()) == 2
        assert (tmp_path / JOURNAL).stat().st_size == 0
        again.add(Stored(Run("usps", "LS", "paper", 0, 0, 50), "done", {}, ""))
    assert len(Store(tmp_path).runs()) == 3


@pytest.mark.skipif(os.name != "posix", reason="the lock is posix's")
def test_a_second_writer_is_refused_and_a_reader_is_not(tmp_path):
    with Store(tmp_path, write=True) as store:
        store.add(DONE)
        with pytest.raises(BlockingIOError, match="Another run is writing"):
            Store(tmp_path, write=True)
        assert Store(tmp_path).runs() == [DONE]
    Store(tmp_path, write=True).close()


def test_renamed_runs_are_read_under_their_new_name(tmp_path):
    filled(tmp_path)

    def rename(run):
        return run | {"method": "network"} if run["method"] == "|W|" else run

    assert {item.run.method for item in Store(tmp_path, rename=rename).runs()} == {"network"}
    assert {item.run.method for item in Store(tmp_path).runs()} == {"|W|"}
    with Store(tmp_path, write=True, rename=rename) as store:
        store.add(Stored(Run("glioma", "network", "paper", 0, 1, 64), "done", {"ridge": 2.0}, ""))
    found = [item for item in Store(tmp_path).runs() if not item.run.task]
    assert [(item.run.method, item.record) for item in found] == [("network", {"ridge": 2.0})]


def test_numbers_that_json_lacks_are_refused_and_leave_no_trace(tmp_path):
    with Store(tmp_path, write=True) as store:
        with pytest.raises(ValueError, match="JSON"):
            store.add(Stored(RUN, "done", {"ridge": float("nan")}, ""))
        assert store.runs() == []
    assert not (tmp_path / "runs").exists()


def test_a_store_that_is_read_cannot_be_written(tmp_path):
    filled(tmp_path)
    with pytest.raises(ValueError, match="open for reading only"):
        Store(tmp_path).add(DONE)


def test_no_results_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match="There are no results in"):
        Store(tmp_path / "none")
    assert not (tmp_path / "none").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="give a folder"):
        Store(tmp_path / "file", write=True)


@pytest.mark.parametrize("content", [b"not compressed", lzma.compress(b"{}\n"), lzma.compress(b"no json\n")])
def test_damaged_files_are_named(tmp_path, content):
    filled(tmp_path)
    (tmp_path / "runs" / "gap-glioma.jsonl.xz").write_bytes(content)
    with pytest.raises(ValueError, match=r"gap-glioma\.jsonl\.xz is damaged"):
        Store(tmp_path)
    with pytest.raises(ValueError, match="is damaged"):
        Store(tmp_path, write=True)
    # The lock was given back.
    (tmp_path / "runs" / "gap-glioma.jsonl.xz").unlink()
    Store(tmp_path, write=True).close()


GOOD = json.loads(DONE.line())
BAD_PARTS = {
    "a list": [1],
    "a number": 7,
    "no status": {key: value for key, value in GOOD.items() if key != "status"},
    "another status": GOOD | {"status": "maybe"},
    "a record that is none": GOOD | {"record": [1]},
    "an end that is none": GOOD | {"ended": "today"},
    "a revision that is none": GOOD | {"revision": None},
    "a revision of text": GOOD | {"revision": {"engine": "2", "folds": 1, "protocol": 1}},
    "a run of text": GOOD | {"run": "text"},
    "a seed of text": GOOD | {"run": GOOD["run"] | {"seed": "0"}},
    "a dataset of another kind": GOOD | {"run": GOOD["run"] | {"dataset": None}},
    "a dataset in another folder": GOOD | {"run": GOOD["run"] | {"dataset": "/../../x"}},
    "another mode": GOOD | {"run": GOOD["run"] | {"mode": "slow"}},
    "a detail that is none": GOOD | {"run": GOOD["run"] | {"detail": "[1]"}},
    "a steering character": GOOD | {"run": GOOD["run"] | {"\x1b[31m": 1}},
    "a NaN": GOOD | {"record": {"x": float("nan")}},
}


@pytest.mark.parametrize("where", ["runs/gap-glioma.jsonl.xz", JOURNAL])
@pytest.mark.parametrize("case", BAD_PARTS)
def test_a_damaged_line_is_told_in_one_sentence(tmp_path, capsys, case, where):
    filled(tmp_path)
    text = (json.dumps(BAD_PARTS[case]) + "\n").encode()
    (tmp_path / where).write_bytes(text if where == JOURNAL else lzma.compress(text))
    for write in (False, True):
        with pytest.raises(ValueError, match="is damaged") as caught:
            Store(tmp_path, write=write)
        assert str(tmp_path / where) in str(caught.value) and str(caught.value).isprintable()
    assert main(["paper", "show", "table2", "--results", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert f"{tmp_path / where} is damaged" in error and error.count("\n") == 1


def test_a_run_is_on_the_disk_when_it_is_stored(tmp_path, monkeypatch):
    sizes = []
    with Store(tmp_path, write=True) as store:
        monkeypatch.setattr(os, "fsync", lambda descriptor: sizes.append(os.fstat(descriptor).st_size))
        store.add(DONE)
        assert sizes == [len(DONE.line()) + 1]


def test_a_full_disk_leaves_no_half_line(tmp_path):
    resource = pytest.importorskip("resource")
    large = Stored(RUN.of_task("large"), "done", {"text": "x" * 50_000}, "", ended=1.0)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Store(tmp_path, write=True) as store:
        store.add(DONE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
        try:
            with pytest.raises(OSError, match="too large") as caught:
                store.add(large)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert caught.value.filename == str(tmp_path / JOURNAL)
        store.add(FAILED)
        assert (tmp_path / JOURNAL).read_text().splitlines() == [DONE.line(), FAILED.line()]
    assert {item.run for item in Store(tmp_path).runs()} == {RUN, TASK}
