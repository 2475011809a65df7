from __future__ import annotations

import json
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from stableselect.plot import reconstructed_images


@pytest.mark.slow
def test_demo_draws_the_chosen_pixels_and_writes_its_files(run, tmp_path):
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "mine.txt").write_text("mine")
    for _ in range(2):
        code, out, err = run("demo", "--output", tmp_path / "demo")
        assert (code, err) == (0, "")
    lines = [line for line in out.splitlines() if not line.startswith("Wrote") and " stableselect " not in line]
    assert all(len(line) <= 80 for line in lines)
    record = json.loads((tmp_path / "demo" / "selected_pixels.selection.json").read_text())
    cells = [line.split() for line in out.splitlines() if line.startswith("   ") and len(line.split()) == 8]
    order = {8 * i + j: int(cell) for i, row in enumerate(cells) for j, cell in enumerate(row) if cell != "."}
    assert order == {column["index"]: rank for rank, column in enumerate(record["selected"], 1)}
    assert len(order) == 16
    errors = record["errors"]
    assert errors["pca"] < errors["selection"] < errors["random"] < errors["mean_predictor"]
    assert (tmp_path / "demo" / "digits.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "demo" / "mine.txt").read_text() == "mine"
    table = pd.read_csv(tmp_path / "demo" / "digits.csv")
    np.testing.assert_array_equal(table.to_numpy(), load_digits().data[10:])


def test_demo_does_without_matplotlib(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "stableselect.plot", None)
    monkeypatch.delitem(sys.modules, "stableselect.plot._images", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "stableselect.plot")
    code, out, _ = run("demo", "--output", tmp_path / "demo")
    assert code == 0
    assert 'pip install "stableselect[plot]"' in out
    assert not (tmp_path / "demo" / "digits.png").exists()


def test_demo_refuses_a_file_for_a_folder(run, tmp_path):
    (tmp_path / "demo").write_text("")
    code, _, err = run("demo", "--output", tmp_path / "demo")
    assert code == 2
    assert "is a file" in err


def test_the_picture_shows_original_kept_and_rebuilt_pixels():
    images = np.arange(8.0).reshape(2, 4)
    axes = reconstructed_images(images, [True, False, False, True], images + 1, shape=(2, 2))
    drawn = [axis.images[0].get_array().filled(np.nan).ravel().tolist() for axis in axes.ravel()]
    np.testing.assert_array_equal(
        drawn,
        [[0, 1, 2, 3], [4, 5, 6, 7], [0, np.nan, np.nan, 3], [4, np.nan, np.nan, 7], [1, 2, 3, 4], [5, 6, 7, 8]],
    )


def test_the_picture_refuses_images_of_another_size():
    with pytest.raises(ValueError, match="must hold 4 pixels each"):
        reconstructed_images(np.ones((1, 3)), np.ones(3, bool), np.ones((1, 3)), shape=(2, 2))
