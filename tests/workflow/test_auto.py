"""select_table with an open number of columns: the library's choice, kept in the selection and its file."""

import json

import numpy as np
import pyarrow as pa
import pytest

from stableselect import ColumnSubset
from stableselect.io import Selection, Table, TableError
from stableselect.workflow import select_table


@pytest.fixture
def factors(rng):
    """120 rows of 15 columns that three factors drive, and an identifier."""
    latent = rng.normal(size=(120, 3))
    X = latent @ rng.normal(size=(3, 15)) + 0.05 * rng.normal(size=(120, 15))
    columns = {f"c{j}": X[:, j] for j in range(15)}
    return X, Table(pa.table({"id": [str(i) for i in range(120)], **columns}), "factors.csv")


@pytest.mark.parametrize("target", [None, 0.99, "elbow"])
def test_the_number_is_the_selector_s(factors, target):
    X, table = factors
    selection = select_table(table, "auto", id_columns=["id"], scale="none", min_explained_variance=target)
    settings = {} if target is None else {"min_explained_variance": target}
    expected = ColumnSubset("auto", **settings).fit(X).path_
    assert len(selection.kept) == selection.path["n_features"] == expected.n_features
    assert selection.path["order"] == [f"c{j}" for j in expected.order]
    np.testing.assert_allclose(selection.path["explained_variance_ratio"], expected.explained_variance_ratio, rtol=1e-9)
    assert selection.path["n_features_range"] == list(expected.n_features_range)
    assert selection.settings["n_features_to_select"] == "auto"


def test_the_file_keeps_the_path_and_older_files_have_none(factors, tmp_path):
    selection = select_table(factors[1], "auto", id_columns=["id"], min_explained_variance=0.99)
    selection.save(tmp_path / "a.json")
    assert Selection.load(tmp_path / "a.json").path == selection.path
    record = json.loads((tmp_path / "a.json").read_text())
    del record["path"]
    (tmp_path / "b.json").write_text(json.dumps(record))
    assert Selection.load(tmp_path / "b.json").path is None
    record["path"] = [1]
    (tmp_path / "c.json").write_text(json.dumps(record))
    with pytest.raises(TableError, match="path should be of type dict"):
        Selection.load(tmp_path / "c.json")
    assert select_table(factors[1], 3, id_columns=["id"]).path is None


def test_what_is_not_reached_is_noted_once(factors):
    selection = select_table(
        factors[1], "auto", id_columns=["id"], exclude=["c0", "c1"], min_explained_variance=0.99999999
    )
    notes = [note for note in selection.notes if "is not reached on held-out samples" in note]
    assert len(notes) == 1 and not {"c0", "c1"} & set(selection.kept)


def test_errors_of_another_number_are_noted(factors):
    X, _ = factors
    noisy = Table(pa.table({f"c{j}": X[:, j] ** 3 for j in range(15)}), "noisy.csv")
    for seed in range(40):
        selection = select_table(noisy, "auto", min_explained_variance=0.8, seed=seed)
        noted = [note for note in selection.notes if note.startswith("The errors are those of ")]
        if noted:
            break
    assert f"of {len(selection.kept)} columns" not in noted[0]


def test_roles_and_methods_are_checked(factors):
    table = factors[1]
    with pytest.raises(TableError, match="leaves 0 columns"):
        select_table(table, "auto", id_columns=["id"], exclude=[f"c{j}" for j in range(15)])
    assert len(select_table(table, "auto", id_columns=["id"], include=[f"c{j}" for j in range(9)]).kept) == 9
    with pytest.raises(TableError, match="-k auto works with ColumnSubset and ScorerSelector only"):
        select_table(table, "auto", method="pfa", id_columns=["id"])
    with pytest.raises(TableError, match="leave --min-explained-variance out"):
        select_table(table, 2, method="pfa", id_columns=["id"], min_explained_variance=0.5)
