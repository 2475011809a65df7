"""select_table with an open number of columns: the library's choice, kept in the selection and its file."""

import json

import numpy as np
import pyarrow as pa
import pytest

from stableselect import ColumnSubset, load, save
from stableselect.io import Table
from stableselect.workflow import RequestError, SelectionRequest, select_table


def select(table, k, **options):
    return select_table(table, SelectionRequest(k=k, **options))


@pytest.fixture
def factors(rng):
    """120 rows of 15 columns that three factors drive, and an identifier."""
    latent = rng.normal(size=(120, 3))
    X = latent @ rng.normal(size=(3, 15)) + 0.05 * rng.normal(size=(120, 15))
    columns = {f"c{j}": X[:, j] for j in range(15)}
    return X, Table(pa.table({"id": [str(i) for i in range(120)], **columns}), "factors.csv")


@pytest.mark.parametrize("target", [None, 0.99])
def test_the_number_is_the_selector_s(factors, target):
    X, table = factors
    selection = select(table, "auto", id_columns=["id"], scale="none", min_explained_variance=target)
    settings = {} if target is None else {"min_explained_variance": target}
    expected = ColumnSubset("auto", **settings).fit(X).path_
    assert len(selection.selected_names) == selection.path.n_features == expected.n_features
    np.testing.assert_array_equal(selection.path.order, expected.order)
    np.testing.assert_allclose(selection.path.explained_variance_ratio, expected.explained_variance_ratio, rtol=1e-9)
    assert selection.path.n_features_range == expected.n_features_range
    assert selection.settings["n_features_to_select"] == "auto"


def test_the_file_keeps_the_path(factors, tmp_path):
    selection = select(factors[1], "auto", id_columns=["id"], min_explained_variance=0.99)
    save(selection, tmp_path / "a.json")
    np.testing.assert_array_equal(load(tmp_path / "a.json").path.order, selection.path.order)
    record = json.loads((tmp_path / "a.json").read_text())
    for path, message in (([1], "path should be of type dict"), ({}, "'order' is missing")):
        (tmp_path / "c.json").write_text(json.dumps({**record, "path": path}))
        with pytest.raises(ValueError, match=message):
            load(tmp_path / "c.json")
    assert select(factors[1], 3, id_columns=["id"]).path is None


def test_what_is_not_reached_is_in_the_path(factors):
    selection = select(factors[1], "auto", id_columns=["id"], exclude=["c0", "c1"], min_explained_variance=0.99999999)
    assert not selection.path.reached and not {"c0", "c1"} & set(selection.selected_names)
    assert not any("not reached" in note for note in selection.notes)


def test_errors_of_another_number_are_noted(factors):
    X, _ = factors
    noisy = Table(pa.table({f"c{j}": X[:, j] ** 3 for j in range(15)}), "noisy.csv")
    for seed in range(40):
        selection = select(noisy, "auto", min_explained_variance=0.8, seed=seed)
        noted = [note for note in selection.notes if note.startswith("The errors are those of ")]
        if noted:
            break
    assert f"of {len(selection.selected_names)} columns" not in noted[0]


def test_roles_and_methods_are_checked(factors):
    table = factors[1]
    with pytest.raises(RequestError, match="exclude: 0 columns are left and 1 or more"):
        select(table, "auto", id_columns=["id"], exclude=[f"c{j}" for j in range(15)])
    assert len(select(table, "auto", id_columns=["id"], include=[f"c{j}" for j in range(9)]).selected_names) == 9
    with pytest.raises(
        RequestError,
        match=r"k: PFA cannot choose the number of columns; .* ColumnSubset or Scorer",
    ):
        select(table, "auto", method="pfa", id_columns=["id"])
