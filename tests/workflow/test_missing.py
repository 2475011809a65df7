"""Missing values at the command line: selected with, measured on what is there, and filled in afterwards."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from stableselect import ColumnSubset, load, save
from stableselect._core import _missing
from stableselect.cli import main
from stableselect.inspection import held_out_report
from stableselect.io import NotFiniteError, Table
from stableselect.metrics import mean_predictor_error, pca_reconstruction_error, reconstruction_error
from stableselect.workflow import RequestError, SelectionRequest, select_table

NAMES = [f"x{j}" for j in range(8)]


@pytest.fixture
def gaps(rng):
    """A table with a tenth of its values missing, and the whole one."""
    X = rng.normal(size=(150, 3)) @ rng.normal(size=(3, 8)) + 0.2 * rng.normal(size=(150, 8))
    X = X * np.logspace(-1, 2, 8) + 7
    return pd.DataFrame(X, columns=NAMES).mask(rng.random(X.shape) < 0.1), pd.DataFrame(X, columns=NAMES)


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    return code, *capsys.readouterr()


def table_of(frame):
    return Table(pa.Table.from_pandas(frame, preserve_index=False), "t.csv")


def test_the_columns_are_those_of_the_library(gaps):
    found = select_table(table_of(gaps[0]), SelectionRequest(k=3, missing="em", ridge=0.1))
    own = ColumnSubset(3, scale="standard", missing="em", ridge=0.1).fit(gaps[0])
    assert found.selected_names == own.get_feature_names_out().tolist()
    assert any("% of the values, most in 'x" in note for note in found.notes)
    # Scaling before the Gaussian is fitted or after makes no difference but for where its steps end.
    kept = np.flatnonzero(own.support_)
    np.testing.assert_allclose(found.completion.covariance, own.covariance_[np.ix_(kept, kept)], rtol=1e-3)


def test_complete_tables_are_selected_from_as_ever(gaps):
    one, other = (select_table(table_of(gaps[1]), SelectionRequest(k=3, **given)) for given in ({}, {"missing": "em"}))
    assert one.selected == other.selected
    assert one.errors.selection == pytest.approx(other.errors.selection, rel=1e-12)
    np.testing.assert_array_equal(one.coefficients, other.coefficients)


def test_held_out_errors_are_over_the_values_that_are_there(gaps):
    X = gaps[0].to_numpy()
    found = held_out_report(ColumnSubset(3, missing="em", ridge=0.1), X)
    order = np.random.RandomState(0).permutation(150)
    train, test = X[order[30:]], X[order[:30]]
    fitted = ColumnSubset(3, missing="em", ridge=0.1).fit(train)
    there, kept = ~np.isnan(test), np.flatnonzero(fitted.support_)
    whole = fitted._model().fill(train)
    assert found.mean_predictor == pytest.approx(np.mean(((test - whole.mean(axis=0)) ** 2)[there]))
    # By hand: what is missing of the selected features is their mean given the others of them.
    mean, C = fitted.location_[kept], fitted.covariance_[np.ix_(kept, kept)]
    seen = test[:, kept].copy()
    for row in seen:
        gone = np.isnan(row)
        if gone.any():
            solved = np.linalg.solve(C[np.ix_(~gone, ~gone)], row[~gone] - mean[~gone]) if (~gone).any() else []
            row[gone] = mean[gone] + C[np.ix_(gone, ~gone)] @ solved
    design = np.column_stack([np.ones(120), whole[:, kept]])
    predicted = np.column_stack([np.ones(30), seen]) @ np.linalg.lstsq(design, whole, rcond=None)[0]
    assert found.selection_least_squares == pytest.approx(np.mean(((test - predicted) ** 2)[there]))
    assert found.pca < found.selection < found.random < found.mean_predictor


def test_errors_over_a_part_of_the_values(rng):
    train, test = rng.normal(size=(20, 3)), rng.normal(size=(5, 3))
    where = rng.random((5, 3)) < 0.5
    assert mean_predictor_error(train, test, where=where) == pytest.approx(
        np.mean((test - train.mean(axis=0))[where] ** 2)
    )
    everywhere = np.ones((5, 3), dtype=bool)
    for measure, given in ((reconstruction_error, [0]), (pca_reconstruction_error, 1)):
        assert measure(train, test, given, where=everywhere) == pytest.approx(measure(train, test, given))
        assert measure(train, test, given, where=where) != pytest.approx(measure(train, test, given))
        with pytest.raises(ValueError, match="where must be of shape"):
            measure(train, test, given, where=~everywhere)


@pytest.mark.parametrize("method", ["ColumnSubset", "ScorerSelector"])
def test_missing_values_from_file_to_file(gaps, tmp_path, capsys, method):
    frame, _ = gaps
    frame.to_csv(tmp_path / "t.csv", index=False)
    out, selection = tmp_path / "o.csv", tmp_path / "o.selection.json"
    code, _, err = run(
        capsys, "select", tmp_path / "t.csv", "-k", 3, "--missing", "em", "-o", out, "--method", method, "--explain"
    )
    assert code == 0, err
    kept = pd.read_csv(out)
    assert kept.shape == (150, 3)
    assert not kept.isna().any(axis=None)
    there = frame[kept.columns].notna()
    pd.testing.assert_frame_equal(kept.where(there), frame[kept.columns])
    code, printed, err = run(capsys, "apply", selection, tmp_path / "t.csv")
    assert code == 0, err
    pd.testing.assert_frame_equal(pd.read_csv(io.StringIO(printed)), kept)
    code, printed, err = run(capsys, "reconstruct", selection, tmp_path / "t.csv")
    assert code == 0, err
    rebuilt = pd.read_csv(io.StringIO(printed))
    pd.testing.assert_frame_equal(rebuilt[kept.columns], kept)
    loaded = load(selection)
    np.testing.assert_allclose(rebuilt, loaded.reconstruct(frame[kept.columns]), rtol=1e-9)


def test_selectors_saved_in_python_fill_in_too(gaps, tmp_path, capsys):
    frame, _ = gaps
    frame.to_csv(tmp_path / "t.csv", index=False)
    fitted = ColumnSubset(3, missing="em").fit(frame)
    save(fitted, tmp_path / "s.sselect")
    code, printed, err = run(capsys, "reconstruct", tmp_path / "s.sselect", tmp_path / "t.csv")
    assert code == 0, err
    expected = fitted.reconstruct(frame[fitted.get_feature_names_out()])
    np.testing.assert_allclose(pd.read_csv(io.StringIO(printed)), expected, rtol=1e-9)


def test_without_the_option_the_sentence_names_it(gaps, tmp_path, capsys):
    gaps[0].to_csv(tmp_path / "t.csv", index=False)
    code, _, err = run(capsys, "select", tmp_path / "t.csv", "-k", 3)
    assert code == 2
    assert "Missing values in" in err
    assert "--missing em" in " ".join(err.split())
    gaps[1].to_csv(tmp_path / "whole.csv", index=False)
    assert run(capsys, "select", tmp_path / "whole.csv", "-k", 3, "-o", tmp_path / "o.csv")[0] == 0
    code, _, err = run(capsys, "reconstruct", tmp_path / "o.selection.json", tmp_path / "t.csv")
    assert code == 2
    assert "Missing values in" in err


@pytest.mark.slow
def test_frontier_takes_missing_values(gaps, tmp_path, capsys):
    gaps[0].to_csv(tmp_path / "t.csv", index=False)
    code, out, err = run(capsys, "frontier", tmp_path / "t.csv", "-k", 3, "--missing", "em")
    assert code == 0, err
    assert "--missing em" in out


def test_columns_without_values_and_methods_without_the_option(gaps):
    frame = gaps[0].copy()
    frame["x2"] = np.nan
    with pytest.raises(NotFiniteError, match="'x2' has no values at all"):
        select_table(table_of(frame), SelectionRequest(k=3, missing="em"))
    with pytest.raises(RequestError, match="missing: PFA does not have this setting"):
        select_table(table_of(frame), SelectionRequest(k=3, missing="em", method="PFA"))
    # A column with one value may lose it to the held-out rows.
    frame.loc[np.random.RandomState(0).permutation(150)[0], "x2"] = 1.0
    found = select_table(table_of(frame), SelectionRequest(k=3, missing="em"))
    assert found.errors is None
    assert "No errors on held-out rows: without them a column has no values." in found.notes


def test_wide_tables_are_completed_by_factors_and_say_so(gaps, monkeypatch):
    monkeypatch.setattr(_missing, "MOST_FEATURES", 5)
    found = select_table(table_of(gaps[0]), SelectionRequest(k=3, missing="em"))
    assert any("a model of few factors stands in for missing values" in note for note in found.notes)
    asked = select_table(table_of(gaps[0]), SelectionRequest(k=3, missing="factors"))
    assert found.selected == asked.selected
    np.testing.assert_array_equal(found.completion.covariance, asked.completion.covariance)
