"""The one file writer: whole files or none, links and permissions, and what must not be written."""

import os
import stat
import sys
from pathlib import Path

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
