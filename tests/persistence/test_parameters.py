"""Parameters in a file: data comes back whatever holds it, and what is no data is asked for, functions as functions."""

import json
import zipfile

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_selection import VarianceThreshold

import stableselect as ss


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fitted.sselect"


@pytest.fixture
def frame(tall):
    return pytest.importorskip("pandas").DataFrame(tall, columns=list("abcdefghijkl"))


HOLDERS = {
    "index": (lambda: pytest.importorskip("pandas").Index(["c", "a"]), ["c", "a"]),
    "series": (lambda: pytest.importorskip("pandas").Series(["c", "a"]), ["c", "a"]),
    "pandas array": (lambda: pytest.importorskip("pandas").array([2, 0]), [2, 0]),
    "polars": (lambda: pytest.importorskip("polars").Series(["c", "a"]), ["c", "a"]),
    "keys": (lambda: {"c": 1, "a": 2}.keys(), ["c", "a"]),
    "values": (lambda: {1: "c", 2: "a"}.values(), ["c", "a"]),
    "range": (lambda: range(4, 0, -2), (4, 2)),
    "set": (lambda: {"c", "a"}, {"c", "a"}),
    "frozenset": (lambda: frozenset(["c", 0]), frozenset(["c", 0])),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_columns_come_back_whatever_held_them(holder, frame, path):
    make, expected = HOLDERS[holder]
    selector = ss.ColumnSubset(4, include=make()).fit(frame)
    ss.save(selector, path)
    loaded = ss.load(path)
    assert type(loaded.include) is type(expected) and loaded.include == expected
    # A fit decides by the same columns, in the same order.
    np.testing.assert_array_equal(loaded.fit(frame).selected_, selector.selected_)
    names = {"c", "e"} if holder == "range" else {"a", "c"}
    assert names <= set(loaded.get_feature_names_out())


def test_equal_sets_give_equal_files(frame, path):
    contents = []
    for names in ("abcdefgh", "hgfedcba"):
        ss.save(ss.ColumnSubset(9, include=set(names)).fit(frame), path, overwrite=True)
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]


def mine(n_in, n_out):
    raise AssertionError("load calls nothing")


def test_a_selector_as_a_parameter_comes_back_unfitted(frame, path):
    base = ss.ColumnSubset(ridge=0.1, include=["c"], exclude=np.array([5]))
    nested = ss.ConsensusSelector(ss.ColumnSubset(ridge=0.1), n_resamples=2, random_state=3)
    for given in (base, nested, clone(base).fit(frame[list("abcdefgh")])):
        selector = ss.ConsensusSelector(given, 3, n_resamples=2, random_state=0).fit(frame)
        ss.save(selector, path, overwrite=True)
        loaded = ss.load(path)
        assert type(loaded.estimator) is type(given) and not hasattr(loaded.estimator, "support_")
        assert repr(clone(loaded.estimator)) == repr(clone(given))
        np.testing.assert_array_equal(loaded.supports_, selector.supports_)
        np.testing.assert_array_equal(loaded.fit(frame).supports_, selector.fit(frame).supports_)


def test_a_selector_of_another_package_is_asked_for(tall, path):
    selector = ss.ConsensusSelector(VarianceThreshold(), 3, n_resamples=2, random_state=0).fit(tall)
    with pytest.warns(
        UserWarning, match="The parameter estimator is not stored: it holds an object of type VarianceThresh"
    ) as w:
        ss.save(selector, path)
    assert str(w[0].message).endswith("load will ask for it.")
    with pytest.raises(ValueError, match=r"saved without estimator, .*load\(path, estimator=...\)"):
        ss.load(path)
    np.testing.assert_array_equal(ss.load(path, estimator=VarianceThreshold()).scores_, selector.scores_)


def test_a_homemade_selector_is_asked_for(tall, path):
    class Homemade(ss.ColumnSubset):
        pass

    selector = ss.ConsensusSelector(Homemade(), 3, n_resamples=2, random_state=0).fit(tall)
    with pytest.warns(UserWarning, match="it holds an object of type Homemade"):
        ss.save(selector, path)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (["Pipeline", {}], "it uses a selector of class 'Pipeline', which this stableselect lacks"),
        (["BaseSelector", {}], "which this stableselect lacks"),
        (["ColumnSubset", {"colour": 1}], "ColumnSubset has no parameter 'colour'"),
        (["ColumnSubset", []], "is damaged"),
        (["ColumnSubset"], "is damaged"),
        ([1, {}], "is damaged"),
        ("ColumnSubset", "is damaged"),
    ],
    ids=str,
)
def test_a_file_names_only_selectors_of_the_package(tree, message, tall, path):
    ss.save(ss.ConsensusSelector(None, 3, n_resamples=2, random_state=0).fit(tall), path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    record = json.loads(parts["selector.json"])
    record["parameters"]["estimator"] = {"selector": tree}
    parts["selector.json"] = json.dumps(record)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    with pytest.raises(ValueError, match=message):
        ss.load(path)


def test_functions_are_left_out_and_asked_for(tall, path):
    selector = ss.ColumnSubset(3).fit(tall).set_params(include=mine, exclude=[np.ones(2), object()])
    with pytest.warns(UserWarning, match="The parameter exclude is not stored: it holds an object of type object") as w:
        ss.save(selector, path)
    assert len(w) == 1 and w[0].filename == __file__
    assert str(w[0].message).endswith("Make it a list or an array.")
    with pytest.raises(ValueError, match=r"without exclude, .*load\(path, exclude=..., include=...\)"):
        ss.load(path)
    with pytest.raises(ValueError, match="without exclude"):
        ss.load(path, include=mine)
    with pytest.raises(ValueError, match="does not leave ridge open"):
        ss.load(path, include=mine, exclude=None, ridge=0.0)
    loaded = ss.load(path, include=mine, exclude=None)
    assert loaded.include is mine and loaded.exclude is None
    np.testing.assert_array_equal(selector.scores_, loaded.scores_)
    with zipfile.ZipFile(path) as archive:
        assert not any(name.startswith("exclude") for name in archive.namelist())


def test_a_function_has_to_be_given_as_one(tall, path):
    torch = pytest.importorskip("torch")
    made = torch.nn.Linear
    quick = {"epochs": 1, "n_starts": 1, "anneal": False}
    selector = ss.ScorerSelectorNetwork(3, solver="minibatch", encoder=made, decoder=(4,), random_state=0, **quick)
    ss.save(selector.fit(tall), path)
    for value in (None, (4,), 3, "linear"):
        with pytest.raises(ValueError, match=r"saved with a function as encoder; load got .*; give it that function\."):
            ss.load(path, encoder=value)
    np.testing.assert_array_equal(ss.load(path, encoder=made).forward(tall), selector.forward(tall))
