"""Figures 1 and 2, drawn from the columns of stored runs and a small table of random images."""

from __future__ import annotations

import io
from dataclasses import replace

import matplotlib.image
import numpy as np
import pytest

from stableselect.datasets import Dataset, DatasetError, info
from stableselect.experiments._run import Run
from stableselect.experiments._store import Stored
from stableselect.paper._plots import Picture
from stableselect.paper._registry import EXPERIMENTS
from stableselect.paper.figures import _images
from stableselect.paper.figures._images import find_images, one_of_each, sheet
from stableselect.paper.methods import Options, _data
from stableselect.paper.methods._data import load_rows
from stableselect.paper.methods._results import Results
from stableselect.paper.tables._comparison import all_runs


@pytest.fixture
def images(monkeypatch, tmp_path):
    """Put 400 random images of ten classes in the place of COIL-20 and USPS; return the data folder."""
    rng = np.random.default_rng(3)

    def load(name, protocol, data_home):
        found = info(name)
        X = rng.random((400, 5)) @ rng.random((5, found.n_columns))
        # GLIOMA's rule of splitting, COIL-20's scaling.
        return Dataset(X, np.arange(400) % 10, info("coil20"), protocol=protocol)

    monkeypatch.setattr(_data, "_load", load)
    for name in ("coil20", "usps"):
        (tmp_path / f"{name}.npz").touch()
    return tmp_path


def stored(experiment, home, evaluate, keep=lambda run: True):
    runs = {c for p in ("paper", "corrected") for c in EXPERIMENTS[experiment].runs(p, Options(splits=2, seeds=2))}
    items = [Stored(run, "done", evaluate(run), "") for run in sorted(runs) if keep(run)]
    return Results(items, data_home=home)


def pictures(document):
    return {block.name: block for block in document.blocks if isinstance(block, Picture)}


@pytest.mark.parametrize("name", ["figure1", "figure2"])
def test_figures_need_no_run_of_their_own(name):
    for protocol in ("paper", "corrected"):
        for options in (Options(), Options(fast=True)):
            assert set(EXPERIMENTS[name].runs(protocol, options)) <= set(all_runs(protocol, options))


def test_images_are_reconstructed_by_least_squares_from_the_stored_columns(images, invented, monkeypatch):
    run = Run("coil20", "|W|", "paper", 0, 0, 50)
    rows = load_rows(run)
    monkeypatch.setattr(_images, "load_rows", lambda *args: rows)
    columns = [7, 3, 200]
    record = invented(run) | {"selected": columns}
    found = find_images(Results([Stored(run, "done", record, "")], data_home=images), "coil20", ("|W|", "W^2"))
    assert list(found) == ["|W|"]
    (shown,) = found["|W|"]
    design = np.column_stack([np.ones(len(rows.X_train)), rows.X_train[:, columns]])
    weights = np.linalg.lstsq(design, rows.X_train, rcond=None)[0]
    expected = np.column_stack([np.ones(len(rows.X_test)), rows.X_test[:, columns]]) @ weights
    np.testing.assert_allclose(shown.reconstructed, expected, atol=1e-8)
    kept = shown.kept(shown.original)
    grey = np.flatnonzero((np.ptp(kept, axis=3) == 0).all(axis=0).ravel())
    assert sorted(columns) == grey.tolist()
    shades = shown.grey(shown.original)
    scaled = (shown.original - shown.original.min()) / np.ptp(shown.original)
    np.testing.assert_allclose(shades[..., 0].reshape(scaled.shape), scaled, atol=0.5 / 63 + 1e-12)


def test_sheet_lays_images_out_row_by_row():
    images = np.arange(5)[:, None, None, None] * np.ones((1, 2, 3, 3)) / 10
    whole = sheet(images, 3)
    assert whole.shape == (5, 11, 3)
    for i in range(5):
        top, left = (i // 3) * 3, (i % 3) * 4
        assert (whole[top : top + 2, left : left + 3] == i / 10).all()
    assert (whole[2] == 1).all()
    assert (whole[:, 3] == 1).all()


def test_one_of_each_class():
    np.testing.assert_array_equal(one_of_each(np.array([3, 1, 3, 0, 1, 2]), 3), [3, 1, 5])


@pytest.mark.slow
def test_figure1_has_a_short_and_a_long_panel(images, invented):
    document = EXPERIMENTS["figure1"].render(stored("figure1", images, invented))
    found = pictures(document)
    assert set(found) == {"figure1_coil20", "figure1_coil20_long"}
    assert "first 80 test images" in found["figure1_coil20_long"].caption
    assert "refitted to them by least squares" in document.markdown()
    # The other dataset has runs, but its images are not available.
    assert "MNIST-Fashion: the images are missing." in document.markdown()
    assert {row["method"] for row in document.data} == {"|W|", "ScorerSelectorNetwork annealed", "ScorerSelector"}
    assert {row["protocol"] for row in document.data} == {"paper"}
    for item in found.values():
        assert len(item.png) < 300_000
        assert matplotlib.image.imread(io.BytesIO(item.png)).shape[1] >= 800


def test_corrected_runs_do_where_there_are_no_others(images, invented):
    results = stored("figure2", images, invented, lambda run: run.protocol == "corrected" and run.method == "W^2")
    document = EXPERIMENTS["figure2"].render(results)
    assert "corrected protocol" in pictures(document)["figure2"].caption
    assert [(row["method"], row["seed"]) for row in document.data] == [("W^2", 0), ("W^2", 1)]


def test_a_table_that_cannot_be_read_leaves_words(images, invented, monkeypatch):
    def refuse(*args):
        raise DatasetError("damaged")

    monkeypatch.setattr(_data, "_load", refuse)
    for name in ("figure1", "figure2"):
        assert pictures(EXPERIMENTS[name].render(stored(name, images, invented))) == {}


def test_figure1_leaves_out_what_has_no_first_split(images, invented):
    def keep(run):
        return run.protocol == "corrected" and run.method == "|W|"

    runs = [item.run for item in stored("figure1", images, invented, keep).everything() if item.run.dataset == "coil20"]
    items = [Stored(replace(run, split=1), "done", invented(run), "") for run in runs]
    items += [Stored(run, "failed", {}, "no") for run in runs]
    assert items
    document = EXPERIMENTS["figure1"].render(Results(items, data_home=images))
    assert pictures(document) == {}
    assert "COIL-20: failed." in document.markdown()
