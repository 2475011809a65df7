"""A table in parts: the same columns as from one file, without ever holding all rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from stableselect import ColumnSubset, Moments
from stableselect.io import TableParts, _parts, _read, open_table, read_table
from stableselect.workflow import RequestError, SelectionRequest, _numbers, measure_frontier, select_table

NAMES = [f"x{j}" for j in range(12)]


@pytest.fixture
def parts(tmp_path, rng, monkeypatch):
    """A table of 600 rows and twelve columns in different units, in three parts, and in one file."""
    X = rng.normal(size=(600, 4)) @ rng.normal(size=(4, 12)) + 0.1 * rng.normal(size=(600, 12))
    X = X * np.logspace(-3, 3, 12) + 5
    for number, rows in enumerate([X[:250], X[250:400], X[400:], X]):
        data = pa.table({"id": np.arange(len(rows)), **dict(zip(NAMES, rows.T, strict=True))})
        pa.parquet.write_table(data, tmp_path / (f"p{number}.parquet" if number < 3 else "whole.pq.parquet"))
    (tmp_path / "whole.pq.parquet").rename(tmp_path.parent / f"{tmp_path.name}.parquet")
    monkeypatch.setattr(_parts, "WHOLE_VALUES", 100)
    monkeypatch.setattr(_read, "_PIECE_VALUES", 1)
    return open_table(tmp_path), read_table(tmp_path.parent / f"{tmp_path.name}.parquet"), X


@pytest.mark.parametrize("scale", ["standard", "minmax", "none"])
@pytest.mark.parametrize("method", ["ColumnSubset", "PFA", "PivotedQR", "ScorerSelector"])
def test_parts_give_the_columns_of_one_file(parts, method, scale):
    streamed, whole, X = parts
    settings = {"ridge": 0.1} if method == "ColumnSubset" else {}
    request = SelectionRequest(k=4, method=method, id_columns=["id"], scale=scale, **settings)
    one, other = select_table(streamed, request), select_table(whole, request)
    assert isinstance(streamed, TableParts)
    assert (one.rows, one.columns, one.features) == (other.rows, other.columns, other.features)
    assert one.selected_names == other.selected_names
    rebuilt = (selection.reconstruct(selection.transform(X)) / X.std(axis=0) for selection in (one, other))
    np.testing.assert_allclose(*rebuilt, rtol=1e-6, atol=1e-6)
    assert any("piece by piece" in note for note in one.notes)


def test_a_ridge_chosen_by_folds_is_near_that_of_one_file(parts):
    streamed, whole, _ = parts
    one, other = (select_table(table, SelectionRequest(k=4, id_columns=["id"])) for table in (streamed, whole))
    assert one.ridge > 0 and other.ridge / 30 < one.ridge < 30 * other.ridge
    assert one.errors.selection == pytest.approx(other.errors.selection, rel=0.2)
    assert one.errors.n_test == 120


def test_nothing_but_the_moments_is_kept(parts, monkeypatch):
    monkeypatch.setattr(TableParts, "take", lambda *_: pytest.fail("all rows were held"))
    monkeypatch.setattr(_numbers, "_SAMPLE_ROWS", 50)
    selection = select_table(parts[0], SelectionRequest(k="auto", id_columns=["id"], explain=True))
    assert selection.rows == 600 and selection.errors.n_test == 10
    assert selection.path is not None and selection.explanation is not None
    assert "Errors on held-out rows are those of a random sample of 50 rows." in selection.notes


def test_stability_can_be_asked_for(parts):
    found = measure_frontier(parts[0], SelectionRequest(k=2, id_columns=["id"]))
    assert found.rows == 600 and found.frontier.error.size > 1


def test_other_methods_read_all_and_say_so(parts, monkeypatch):
    request = SelectionRequest(k=4, method="LaplacianScore", id_columns=["id"])
    one, other = (select_table(table, request) for table in parts[:2])
    assert one.selected_names == other.selected_names
    assert any("whole table was read into memory" in note for note in one.notes)
    monkeypatch.setattr(_numbers, "memory_limit", lambda: 1000.0)
    with pytest.raises(RequestError, match=r"LaplacianScore needs all rows at once, about .* use ColumnSubset"):
        select_table(parts[0], request)


@pytest.fixture
def batched(tmp_path, rng, monkeypatch):
    """600 rows of three sites with offsets, in three parts, each with rows of all sites; and the same in one file."""
    X = rng.normal(size=(600, 4)) @ rng.normal(size=(4, 12)) + 0.1 * rng.normal(size=(600, 12))
    site = rng.permutation(np.arange(600) % 3)
    X = (X + 30 * rng.normal(size=(3, 12))[site]) * np.logspace(-3, 3, 12)
    about = {"site": [f"s{one}" for one in site], "patient": [f"p{j % 30}" for j in range(600)]}
    data = pa.table({**about, **dict(zip(NAMES, X.T, strict=True))})
    (tmp_path / "parts").mkdir()
    for number, start in enumerate((0, 250, 400)):
        piece = data.slice(start, (250, 150, 200)[number])
        pa.parquet.write_table(piece, tmp_path / "parts" / f"p{number}.parquet")
    pa.parquet.write_table(data, tmp_path / "whole.parquet")
    monkeypatch.setattr(_parts, "WHOLE_VALUES", 100)
    monkeypatch.setattr(_read, "_PIECE_VALUES", 1)
    return open_table(tmp_path / "parts"), read_table(tmp_path / "whole.parquet")


@pytest.mark.parametrize("asked", [{"ridge": 0.1}, {"ridge": 0.1, "scale": "minmax"}, {"scale": "none"}])
@pytest.mark.parametrize("more", [{}, {"group_column": "patient"}])
def test_batches_in_parts_are_those_of_one_file(batched, monkeypatch, asked, more):
    streamed, whole = batched
    request = SelectionRequest(k=4, batch="site", drop=["patient"] * (not more), **asked, **more)
    other = select_table(whole, request)
    held = TableParts.take
    monkeypatch.setattr(TableParts, "take", lambda parts, names: held(parts, [one for one in names if one[0] != "x"]))
    one = select_table(streamed, request)
    assert isinstance(streamed, TableParts)
    assert (one.rows, one.features, one.selected_names) == (other.rows, other.features, other.selected_names)
    assert one.batches.labels == other.batches.labels == ("s0", "s1", "s2")
    assert one.batches.serve_one == other.batches.serve_one
    if "ridge" in asked:
        np.testing.assert_allclose(one.coefficients, other.coefficients, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(one.intercept, other.intercept, rtol=1e-6)
        np.testing.assert_allclose(one.batches.explained, other.batches.explained, rtol=1e-8)
    assert one.errors.selection == pytest.approx(other.errors.selection, rel=0.02)
    assert any("gathered as moments" in note for note in one.notes)
    with pytest.raises(RequestError, match="sketch: cannot be divided into batches; leave it out"):
        select_table(streamed, SelectionRequest(k=4, batch="site", drop=["patient"], sketch=100))


def test_missing_values_of_a_large_table_are_refused_with_what_they_take(parts, monkeypatch):
    request = SelectionRequest(k=4, id_columns=["id"], missing="em")
    found = select_table(parts[0], request)
    assert any("ColumnSubset with missing values needs all rows at once" in note for note in found.notes)
    monkeypatch.setattr(_numbers, "memory_limit", lambda: 1000.0)
    with pytest.raises(RequestError, match="sketch: needs complete rows; fill them in first, or leave it out"):
        select_table(parts[0], SelectionRequest(k=4, id_columns=["id"], missing="em", sketch=100))
    words = r"missing: ColumnSubset with missing values needs all rows at once, about .* GiB .* there are; fill them in"
    with pytest.raises(RequestError, match=words):
        select_table(parts[0], request)


def test_a_table_too_wide_for_exact_moments_is_sketched(parts, monkeypatch):
    monkeypatch.setattr(_numbers, "memory_limit", lambda: 100.0)
    selection = select_table(parts[0], SelectionRequest(k=4, id_columns=["id"]))
    assert any("sketched, r = 500" in note for note in selection.notes)
    assert selection.optimality_gap is None


def test_the_sample_is_fair_and_does_not_depend_on_blocks(rng):
    X = np.arange(3000.0)[:, None] * [1, 2]
    drawn = []
    for size in (7, 3000):
        sample = _numbers._Sample(200, seed=3)
        for start in range(0, 3000, size):
            sample.add(X[start : start + size])
        drawn.append(sample.rows)
    np.testing.assert_array_equal(*drawn)
    assert abs(drawn[0][:, 0].mean() - 1500) < 4 * 866 / 200**0.5
    assert (np.diff(drawn[0][:, 0]) > 0).all()
    assert len(np.unique(drawn[0][:, 0])) == 200


@pytest.mark.parametrize("kind", ["standard", "minmax"])
def test_folds_are_scaled_by_the_whole_table(rng, kind):
    X = rng.normal(size=(90, 5)) * [1, 10, 100, 0, 1e-3] + 3
    folds, total = [Moments.from_array(X[:40]), Moments.from_array(X[40:])], Moments.from_array(X)
    scaled = [fold.scale(kind, like=total) for fold in folds]
    both = scaled[0]._empty().merge(scaled[0]).merge(scaled[1])
    np.testing.assert_allclose(both.gram, total.scale(kind).gram, atol=1e-12)
    np.testing.assert_allclose(both.mean, total.scale(kind).mean, atol=1e-12)
    ColumnSubset(2, ridge="auto").fit_moments(scaled)
