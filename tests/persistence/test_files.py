"""Files on disk: mapped arrays are written, links and permissions stay."""

import os
import stat
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest

import stableselect as ss


@pytest.fixture
def fitted(tall):
    return ss.ColumnSubset(3).partial_fit(tall)


def test_arrays_mapped_from_disk_are_written(fitted, tmp_path):
    joblib.dump(fitted, tmp_path / "fitted.joblib")
    mapped = joblib.load(tmp_path / "fitted.joblib", mmap_mode="r")
    assert isinstance(mapped.scores_, np.memmap) and isinstance(mapped.moments_._mean, np.memmap)
    for name, selector in {"plain": fitted, "mapped": mapped}.items():
        ss.save(selector, tmp_path / name)
    assert (tmp_path / "plain").read_bytes() == (tmp_path / "mapped").read_bytes()
    assert type(ss.load(tmp_path / "mapped").scores_) is np.ndarray


@pytest.mark.parametrize("name", ["scores_", "support_", "selected_"])
def test_an_attribute_that_cannot_be_stored_is_named(name, fitted, tmp_path):
    setattr(fitted, name, np.ma.asarray(getattr(fitted, name)))
    with pytest.raises(ValueError, match=f"{name} has a value of type MaskedArray where ndarray is due"):
        ss.save(fitted, tmp_path / "x")


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such permissions there")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_an_overwritten_file_keeps_its_permissions(mode, fitted, tmp_path):
    path = tmp_path / "fitted.sselect"
    ss.save(fitted, path)
    os.chmod(path, mode)
    seen = []
    write = np.lib.format.write_array

    def watched(*args, **kwargs):
        seen.extend(stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir())
        return write(*args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np.lib.format, "write_array", watched)
        ss.save(fitted, path, overwrite=True)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert set(seen) == {mode}
    ss.load(path)


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_link_is_written_through(fitted, tmp_path):
    (tmp_path / "versions").mkdir()
    target, link = tmp_path / "versions" / "3.sselect", tmp_path / "current.sselect"
    link.symlink_to(Path("versions") / "3.sselect")
    ss.save(fitted, link)
    assert link.is_symlink() and not target.is_symlink()
    with pytest.raises(FileExistsError, match="overwrite=True"):
        ss.save(fitted, link)
    before = target.read_bytes()
    ss.save(fitted.set_params(ridge=0.5), link, overwrite=True)
    assert link.is_symlink() and target.read_bytes() != before
    assert ss.load(link).ridge == 0.5
    assert sorted(file.name for file in tmp_path.rglob("*")) == ["3.sselect", "current.sselect", "versions"]
