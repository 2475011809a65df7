"""Files on disk: mapped arrays are written, links and permissions stay, and files of earlier versions are completed."""

import os
import stat
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest

import stableselect as ss

DATA = Path(__file__).parent / "data"


@pytest.fixture
def fitted(tall):
    return ss.ColumnSubset(3).partial_fit(tall)


def test_arrays_mapped_from_disk_are_written(fitted, tmp_path):
    joblib.dump(fitted, tmp_path / "fitted.joblib")
    mapped = joblib.load(tmp_path / "fitted.joblib", mmap_mode="r")
    assert isinstance(mapped.scores_, np.memmap) and isinstance(mapped.moments_.mean, np.memmap)
    for name, selector in {"plain": fitted, "mapped": mapped}.items():
        selector.save(tmp_path / name)
    assert (tmp_path / "plain").read_bytes() == (tmp_path / "mapped").read_bytes()
    assert type(ss.load(tmp_path / "mapped").scores_) is np.ndarray


@pytest.mark.parametrize("name", ["scores_", "support_", "selected_"])
def test_an_attribute_that_cannot_be_stored_is_named(name, fitted, tmp_path):
    setattr(fitted, name, np.ma.asarray(getattr(fitted, name)))
    with pytest.raises(ValueError, match=f"{name} has a value of type MaskedArray where ndarray is due"):
        fitted.save(tmp_path / "x")


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such permissions there")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_an_overwritten_file_keeps_its_permissions(mode, fitted, tmp_path):
    path = tmp_path / "fitted.sselect"
    fitted.save(path)
    os.chmod(path, mode)
    seen = []
    write = np.lib.format.write_array

    def watched(*args, **kwargs):
        seen.extend(stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir())
        return write(*args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np.lib.format, "write_array", watched)
        fitted.save(path, overwrite=True)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert set(seen) == {mode}
    ss.load(path)


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_link_is_written_through(fitted, tmp_path):
    (tmp_path / "versions").mkdir()
    target, link = tmp_path / "versions" / "3.sselect", tmp_path / "current.sselect"
    link.symlink_to(Path("versions") / "3.sselect")
    fitted.save(link)
    assert link.is_symlink() and not target.is_symlink()
    with pytest.raises(FileExistsError, match="overwrite=True"):
        fitted.save(link)
    before = target.read_bytes()
    fitted.set_params(ridge=0.5).save(link, overwrite=True)
    assert link.is_symlink() and target.read_bytes() != before
    assert ss.load(link).ridge == 0.5
    assert sorted(file.name for file in tmp_path.rglob("*")) == ["3.sselect", "current.sselect", "versions"]


def waves():
    i, j = np.mgrid[1:31, 1:9].astype(float)
    return np.sin(i * j) + np.cos(i + j * j)


def test_version_1_column_subset_still_loads():
    # Written by ColumnSubset(3, ridge=0.0) after partial_fit of the first 10 rows and then of the others.
    X = waves()
    selector = ss.load(DATA / "column-subset-v1.sselect")
    assert isinstance(selector, ss.ColumnSubset) and selector.get_params()["ridge"] == 0.0
    assert selector.selected_.tolist() == [7, 2, 1]
    assert selector.get_feature_names_out().tolist() == ["wave 1", "wave 2", "wave 7"]
    kept = X[:, [1, 2, 7]]
    design = np.column_stack([kept, np.ones(len(X))])
    expected = design @ np.linalg.lstsq(design, X, rcond=None)[0]
    np.testing.assert_allclose(selector.reconstruct(kept), expected, atol=1e-10)
    np.testing.assert_allclose(selector.moments_.gram, np.cov(X.T, bias=True), atol=1e-12)
    assert selector.explain().selected[0].feature == "wave 7"


def test_version_1_scorer_selector_network_still_loads():
    # Written by ScorerSelectorNetwork(3, solver="full_batch", epochs=50, random_state=RandomState(5)) after fit.
    X = waves()
    selector = ss.load(DATA / "scorer-selector-network-v1.sselect")
    assert isinstance(selector, ss.ScorerSelectorNetwork) and (selector.solver, selector.epochs) == ("full_batch", 50)
    assert selector.selected_.tolist() == [3, 4, 6]
    assert isinstance(selector.random_state, np.random.RandomState)
    np.testing.assert_array_equal(selector.transform(X), X[:, [3, 4, 6]])
    np.testing.assert_allclose(selector.forward(X), selector._predict_features(X[:, [3, 4, 6]]), atol=1e-12)
    assert (selector.latent_width_, selector.n_epochs_, selector.best_epoch_, selector.stop_reason_) == (
        3,
        50,
        50,
        "epochs",
    )
    assert selector.validation_history_.shape == (0,)


@pytest.mark.parametrize("path", sorted(DATA.glob("*.sselect")), ids=lambda path: path.stem)
def test_files_of_earlier_versions_have_every_attribute_of_a_fresh_fit(path):
    loaded = ss.load(path)
    fresh = type(loaded)(**loaded.get_params()).fit(waves())
    missing = {name for name in vars(fresh) if not name.startswith("_")} - set(vars(loaded))
    assert missing == set()
    for name in ("latent_width_", "n_epochs_", "best_epoch_", "stop_reason_", "validation_history_"):
        if hasattr(fresh, name):
            np.testing.assert_array_equal(getattr(loaded, name), getattr(fresh, name), strict=True)
