"""The one file writer: whole files or none, links and permissions, and what must not be written."""

import os
import stat
import sys
from pathlib import Path

import numpy as np
import pytest

from stableselect._files import OutputExistsError, check_outputs, printable, write_whole


def test_two_files_appear_together_or_not_at_all(tmp_path):
    first, second = tmp_path / "1", tmp_path / "2"
    with pytest.raises(KeyboardInterrupt), write_whole(first, second) as (a, _):
        a.write(b"half")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []
    with write_whole(first, second) as (a, b):
        a.write(b"one")
        b.write(b"two")
    assert (first.read_text(), second.read_text()) == ("one", "two")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "x"
    path.write_text("old")
    with pytest.raises(OSError, match="full"), write_whole(path, overwrite=True) as (stream,):
        stream.write(b"half")
        raise OSError("full")
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_a_file_is_kept_unless_told(tmp_path):
    path = tmp_path / "x"
    path.write_text("old")
    with pytest.raises(OutputExistsError, match=r"x exists already; .*overwrite=True") as caught, write_whole(path):
        pytest.fail("the work was begun")
    assert caught.value.path == path and path.read_text() == "old"
    with write_whole(path, overwrite=True) as (stream,):
        stream.write(b"new")
    assert path.read_text() == "new"


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such permissions there")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_permissions_stay_and_are_set_before_a_byte_is_written(mode, tmp_path):
    path = tmp_path / "x"
    path.write_text("old")
    os.chmod(path, mode)
    with write_whole(path, overwrite=True) as (stream,):
        assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {mode}
        stream.write(b"new")
    assert stat.S_IMODE(path.stat().st_mode) == mode and path.read_text() == "new"


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_link_stays_one(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(Path("folder") / "x")
    with write_whole(tmp_path / "link") as (stream,):
        stream.write(b"new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "folder" / "x").read_text() == "new"


def test_outputs_are_checked(tmp_path, monkeypatch):
    there = tmp_path / "there.csv"
    there.write_text("a\n1\n")
    (tmp_path / "link.csv").symlink_to(there)
    with pytest.raises(OutputExistsError, match="exists already"):
        check_outputs([there], inputs=["-"], overwrite=False)
    check_outputs([there], inputs=["-"], overwrite=True)
    with pytest.raises(FileExistsError, match="is the input itself"):
        check_outputs([there], inputs=[tmp_path / "link.csv"], overwrite=True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileExistsError, match="is the input itself"):
        check_outputs([Path("there.csv")], inputs=[there], overwrite=True)
    with pytest.raises(FileNotFoundError, match="does not exist; create it"):
        check_outputs([tmp_path / "no" / "t.csv"], overwrite=True)
    with pytest.raises(FileExistsError, match="is a folder"):
        check_outputs([tmp_path], overwrite=True)


def test_control_characters_are_written_out():
    assert printable("\x1b[31mred\n") == r"\x1b[31mred\n"
    assert printable("naïve 漢字") == "naïve 漢字"


@pytest.fixture
def small_disk():
    """Let no file grow past 20 kB, as on a disk that is almost full."""
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.usefixtures("small_disk")
@pytest.mark.parametrize("buffered", [True, False])
def test_a_full_disk_names_the_file_that_did_not_fit(buffered, tmp_path):
    (tmp_path / "b").write_text("old")
    with pytest.raises(OSError, match="too large") as caught:
        with write_whole(tmp_path / "a", tmp_path / "b", overwrite=True) as (_, b):
            for _ in range(100):
                b.write(b"x" * (300 if buffered else 3_000_000))
    assert caught.value.filename == str(tmp_path / "b")
    assert os.listdir(tmp_path) == ["b"] and (tmp_path / "b").read_text() == "old"


@pytest.mark.usefixtures("small_disk")
def test_numpy_does_not_hide_that_the_disk_is_full(tmp_path):
    with pytest.raises(OSError, match="too large") as caught, write_whole(tmp_path / "x.npy") as (stream,):
        np.save(stream, np.ones(180_000))
    assert caught.value.filename == str(tmp_path / "x.npy")


def test_what_is_written_reaches_the_disk_before_the_name(tmp_path, monkeypatch):
    """The file is complete when it is synced, and has its name only then; the folder is synced last."""
    events = []
    sync, replace = os.fsync, os.replace

    def synced(descriptor):
        found = os.fstat(descriptor)
        events.append("folder" if stat.S_ISDIR(found.st_mode) else found.st_size)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", lambda *names: (events.append("named"), replace(*names)))
    with write_whole(tmp_path / "a", tmp_path / "b") as (a, b):
        a.write(b"x" * 10)
        b.write(b"y" * 100_000)
    assert events == [10, 100_000, "named", "named", *(["folder"] if os.name == "posix" else [])]


def test_a_file_that_does_not_reach_the_disk_is_an_error(tmp_path, monkeypatch):
    def fails(descriptor):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="Input/output") as caught, write_whole(tmp_path / "x") as (stream,):
        stream.write(b"x")
    assert caught.value.filename == str(tmp_path / "x") and os.listdir(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such files")
def test_only_plain_files_are_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "null").symlink_to("/dev/null")
    (tmp_path / "loop").symlink_to("pool")
    (tmp_path / "pool").symlink_to("loop")
    before = sorted(os.listdir(tmp_path))
    for name, what in (("pipe", "is not a plain file"), ("null", "is not a plain file"), ("loop", "in a circle")):
        with pytest.raises(FileExistsError, match=what), write_whole(tmp_path / name, overwrite=True):
            pytest.fail("the work was begun")
    assert sorted(os.listdir(tmp_path)) == before
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    # A loop among the inputs is theirs to tell.
    check_outputs([tmp_path / "x"], inputs=[tmp_path / "loop"], overwrite=False)


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_an_existing_target_of_a_link_is_kept_unless_told(tmp_path):
    (tmp_path / "x").write_text("old")
    os.chmod(tmp_path / "x", 0o600)
    (tmp_path / "link").symlink_to("x")
    with pytest.raises(OutputExistsError), write_whole(tmp_path / "link"):
        pytest.fail("the work was begun")
    with write_whole(tmp_path / "link", overwrite=True) as (stream,):
        stream.write(b"new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "x").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o600


def test_names_that_no_file_can_have_are_told(tmp_path):
    with pytest.raises(OSError, match="too long"):
        check_outputs([tmp_path / ("x" * 300)], overwrite=False)
    with pytest.raises(ValueError, match=r"x\\x00y.* has a NUL character"):
        check_outputs([f"{tmp_path}/x\0y"], overwrite=False)
