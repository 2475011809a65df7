from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from stableselect.io import Table, TableError, looks_transposed, open_table, transposed
from stableselect.io._tables import numeric_matrix


def table_of(X, names=None, ids=True):
    names = names or [f"x{j}" for j in range(X.shape[1])]
    first = {"id": [f"r{i}" for i in range(len(X))]} if ids else {}
    return Table(pa.table({**first, **dict(zip(names, X.T, strict=True))}), "t.csv"), names


def counts(rng, genes=300, cells=80):
    level = np.exp(rng.uniform(-2, 6, size=(genes, 1)))
    return rng.poisson(level * np.exp(0.5 * rng.normal(size=(genes, cells)))).astype(float)


def test_turned_twice_is_the_same(rng):
    X = rng.normal(size=(7, 4))
    table, names = table_of(X)
    once = transposed(table)
    assert once.columns == ["row", *(f"r{i}" for i in range(7))] and once.ids == ("row",)
    np.testing.assert_array_equal(numeric_matrix(once, once.columns[1:]), X.T)
    twice = transposed(once)
    assert twice.columns == ["row", *names]
    np.testing.assert_array_equal(numeric_matrix(twice, names), X)


def test_numbers_alone_are_turned_by_position(tmp_path, rng):
    X = rng.normal(size=(3, 5))
    np.save(tmp_path / "t.npy", X)
    turned = open_table(tmp_path / "t.npy", transpose=True)
    assert not turned.named and turned.ids == ()
    np.testing.assert_array_equal(numeric_matrix(turned, turned.columns), X.T)


def test_whole_numbers_missing_values_and_flags(tmp_path):
    (tmp_path / "t.csv").write_text("g,a,b,c\nx,1,,true\ny,2,3,false\n")
    assert open_table(tmp_path / "t.csv", transpose=True).data.to_pydict() == {
        "row": ["a", "b", "c"],
        "x": [1, None, 1],
        "y": [2, 3, 0],
    }


def test_a_named_column_of_numbers_can_name_the_rows(tmp_path):
    (tmp_path / "t.csv").write_text("name,id,a,b\nx,007,1,2\ny,008,3,4\n")
    turned = open_table(tmp_path / "t.csv", transpose=True, verbatim=["id"])
    assert turned.columns == ["row", "007", "008"]
    assert turned.notes == ("Left out of the transposed table, not numbers: 'name'.",)


@pytest.mark.parametrize(
    ("text", "message"),
    [("g,a\nx,1\nx,2\n", "names more than one row 'x' in 'g'"), ("g,h\nx,y\n", "no columns of numbers to turn")],
)
def test_tables_that_cannot_be_turned(tmp_path, text, message):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(TableError, match=message):
        open_table(tmp_path / "t.csv", transpose=True)


def test_genes_as_rows_look_transposed_and_cells_as_rows_do_not(rng):
    X = counts(rng)
    for values in (X, np.log1p(X)):
        assert looks_transposed(*table_of(values))
        assert not looks_transposed(*table_of(values.T))
        assert not looks_transposed(*table_of(values, ids=False))  # nothing names the rows
    repeated = pa.array(["a", "b"] * 150)
    table, names = table_of(X)
    assert not looks_transposed(Table(table.data.set_column(0, "id", repeated), "t.csv"), names)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
def test_ordinary_tables_do_not_look_transposed(load):
    assert not looks_transposed(*table_of(load().data))


def test_sensors_of_one_unit_do_not_look_transposed(rng):
    common = rng.normal(size=(400, 1))
    X = 20 + 5 * rng.normal(size=12) + common + rng.normal(size=(400, 12))
    assert not looks_transposed(*table_of(X))
