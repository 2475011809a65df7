"""``scale=`` of the moments selectors: the columns of a pipeline with a scaler, in the units of the samples."""

import json
import warnings
import zipfile

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from stableselect import ColumnSubset, Moments, ScorerSelector, load, save
from stableselect._core import Stream
from stableselect.base import UnscaledFeaturesWarning
from stableselect.io import read_table
from stableselect.workflow import SelectionRequest, select_table

SCALERS = {"standard": StandardScaler, "minmax": MinMaxScaler}
TABLES = ["arcene", "coil20", "glioma", "isolet", "mice_protein", "mnist_fashion", "prostate_ge", "usps"]


@pytest.fixture
def units(tall, rng):
    """Correlated features in very different units, one of them constant."""
    X = tall * 10.0 ** rng.uniform(-3, 3, size=tall.shape[1]) + rng.normal(size=tall.shape[1])
    X[:, 7] = 3.0
    return X


def piped(cls, kind, X, **parameters):
    """Return the selector behind a scaler, and the scaled table."""
    scaled = SCALERS[kind]().fit_transform(X)
    return cls(4, **parameters).fit(scaled), scaled


@pytest.mark.parametrize("cls", [ColumnSubset, ScorerSelector])
@pytest.mark.parametrize("kind", SCALERS)
def test_selects_as_behind_a_scaler(cls, kind, units):
    cv = KFold(5, shuffle=True, random_state=0)
    expected, scaled = piped(cls, kind, units, cv=cv)
    found = cls(4, scale=kind, cv=cv).fit(units)
    np.testing.assert_array_equal(found.selected_, expected.selected_)
    np.testing.assert_allclose(found.scores_, expected.scores_, rtol=1e-7, atol=1e-9)
    for name in ("objective_", "lower_bound_", "ridge_"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-8)
    scaler = SCALERS[kind]().fit(units)
    rebuilt = scaler.inverse_transform(expected.reconstruct(expected.transform(scaled)))
    np.testing.assert_allclose(found.reconstruct(found.transform(units)), rebuilt, rtol=1e-7, atol=1e-9)
    assert found.score(units) == pytest.approx(expected.score(scaled), rel=1e-8)
    before = [kept.error_increase for kept in expected.explain().selected]
    np.testing.assert_allclose([kept.error_increase for kept in found.explain().selected], before, rtol=1e-6)


@pytest.mark.parametrize("kind", SCALERS)
def test_network_of_the_scorer_takes_and_gives_original_units(kind, units):
    expected, scaled = piped(ScorerSelector, kind, units, ridge=0.0)
    found = ScorerSelector(4, scale=kind, ridge=0.0).fit(units)
    scaler = SCALERS[kind]().fit(units)
    for path in ("selector", "scorer"):
        np.testing.assert_allclose(
            found.forward(units, path), scaler.inverse_transform(expected.forward(scaled, path)), rtol=1e-6, atol=1e-6
        )


@pytest.mark.parametrize("kind", SCALERS)
def test_every_way_to_give_samples_is_the_same(kind, units):
    expected = piped(ColumnSubset, kind, units, ridge=0.0)[0]
    selector = ColumnSubset(4, scale=kind, ridge=0.0)
    ways = [
        selector.fit(units),
        ColumnSubset(4, scale=kind, ridge=0.0).fit(sparse.csr_array(units)),
        ColumnSubset(4, scale=kind, ridge=0.0).fit(part for part in np.array_split(units, 3)),
        ColumnSubset(4, scale=kind, ridge=0.0).partial_fit(units[:20]).partial_fit(units[20:]),
        ColumnSubset(4, scale=kind, ridge=0.0).fit_moments(Moments.from_array(units)),
        ColumnSubset(4, scale=kind, ridge=0.0).fit_moments([Moments.from_array(p) for p in np.array_split(units, 3)]),
    ]
    for way in ways:
        np.testing.assert_array_equal(way.selected_, expected.selected_)
        assert way.objective_ == pytest.approx(expected.objective_, rel=1e-8)
        np.testing.assert_allclose(way.reconstruction_coef_, ways[0].reconstruction_coef_, rtol=1e-6, atol=1e-9)


def test_weights_count_in_the_scale(units):
    weights = np.arange(60) % 3
    expected = ColumnSubset(4, scale="standard", ridge=0.0).fit(np.repeat(units, weights, axis=0))
    found = ColumnSubset(4, scale="standard", ridge=0.0).fit(units, sample_weight=weights)
    np.testing.assert_array_equal(found.selected_, expected.selected_)
    np.testing.assert_allclose(found.scale_, expected.scale_, rtol=1e-10)
    np.testing.assert_allclose(found.reconstruction_coef_, expected.reconstruction_coef_, rtol=1e-6, atol=1e-9)


def test_few_samples_and_their_leave_one_out_error(wide, rng):
    X = wide * 10.0 ** rng.uniform(-2, 2, size=40)
    expected = ColumnSubset(3).fit(StandardScaler().fit_transform(X))
    found = ColumnSubset(3, scale="standard").fit(X)
    np.testing.assert_array_equal(found.selected_, expected.selected_)
    assert found.leave_one_out_error_ == pytest.approx(expected.leave_one_out_error_, rel=1e-6)


def test_sketch_is_read_again_in_its_units(rng):
    X = rng.normal(size=(3000, 8)) @ rng.normal(size=(8, 30)) * 10.0 ** rng.uniform(-2, 2, size=30)
    found = ColumnSubset(3, scale="standard", sketch=True).fit(X)
    scaled = StandardScaler().fit_transform(X)
    centred = scaled - scaled.mean(axis=0)
    fit = np.linalg.lstsq(centred[:, found.support_], centred, rcond=None)[0]
    assert found.objective_ == pytest.approx(np.mean((centred - centred[:, found.support_] @ fit) ** 2), rel=1e-8)
    assert -found.score(X) == pytest.approx(found.objective_, rel=1e-8)


def test_automatic_number_and_stability_are_those_of_the_scaled_table(units):
    cv = KFold(10, shuffle=True, random_state=0)
    scaled = StandardScaler().fit_transform(units)
    for parameters in ({"n_features_to_select": "auto"}, {"n_features_to_select": 3, "criterion": "stability"}):
        found = ColumnSubset(scale="standard", cv=cv, **parameters).fit(units)
        np.testing.assert_array_equal(found.selected_, ColumnSubset(cv=cv, **parameters).fit(scaled).selected_)


def test_inverse_transform_reconstructs_also_in_a_pipeline(units):
    selector = ColumnSubset(4, scale="standard").fit(units)
    rebuilt = selector.reconstruct(selector.transform(units))
    np.testing.assert_array_equal(selector.inverse_transform(selector.transform(units)), rebuilt)
    both = make_pipeline(StandardScaler(), ColumnSubset(4, ridge=0.0)).fit(units)
    back = both.inverse_transform(both.transform(units))
    plain = ColumnSubset(4, scale="standard", ridge=0.0).fit(units)
    np.testing.assert_allclose(back, plain.inverse_transform(plain.transform(units)), rtol=1e-6, atol=1e-9)


def test_saved_with_the_model(units, tmp_path):
    selector = ColumnSubset(4, scale="minmax").fit(units)
    save(selector, tmp_path / "a.sselect")
    again = load(tmp_path / "a.sselect")
    assert again.scale == "minmax"
    assert again.score(units) == selector.score(units)
    again.fit(units)
    assert not hasattr(again.set_params(scale=None).fit(StandardScaler().fit_transform(units)), "scale_")


def test_file_from_before_there_was_a_scale_is_loaded(tall, tmp_path):
    selector = ColumnSubset(4).fit(tall)
    save(selector, tmp_path / "new.sselect")
    with zipfile.ZipFile(tmp_path / "new.sselect") as new, zipfile.ZipFile(tmp_path / "old.sselect", "w") as old:
        for name in new.namelist():
            content = new.read(name)
            if name == "selector.json":
                record = json.loads(content)
                del record["parameters"]["scale"]
                content = json.dumps(record).encode()
            old.writestr(zipfile.ZipInfo(name), content)
    again = load(tmp_path / "old.sselect")
    assert again.scale is None
    assert again.score(tall) == selector.score(tall)


def test_agrees_with_the_command_line(units, tmp_path):
    path = tmp_path / "units.csv"
    names = [f"f{j}" for j in range(12)]
    np.savetxt(path, units, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
    table = read_table(str(path))
    for kind in SCALERS:
        columns = select_table(table, SelectionRequest(k=4, scale=kind, ridge=0.0)).selected_names
        found = ColumnSubset(4, scale=kind, ridge=0.0).fit(units)
        assert sorted(columns) == sorted(names[j] for j in found.selected_)


def test_warns_once_where_units_decide():
    with pytest.warns(
        UnscaledFeaturesWarning, match=r"'proline' has more than 99 % of the variance, .*scale='standard'"
    ) as seen:
        ColumnSubset(3).fit(load_wine(as_frame=True).data)
    assert len(seen) == 1
    with pytest.warns(UnscaledFeaturesWarning, match=r"2 of 30 features have more than 99 % of the variance"):
        ColumnSubset(3).fit(load_breast_cancer().data)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnscaledFeaturesWarning)
        for X, scale in ((load_wine().data, "standard"), (load_iris().data, None), (load_digits().data, None)):
            ColumnSubset(3, scale=scale).fit(X)


@pytest.mark.parametrize("name", TABLES)
def test_ordinary_tables_do_not_warn(load_data, name):
    X = load_data(name)[0][:500]
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnscaledFeaturesWarning)
        ColumnSubset(2, ridge=0.0, exchange=False).fit(X)


def test_unknown_scale_is_refused(units):
    with pytest.raises(ValueError, match="scale"):
        ColumnSubset(3, scale="robust").fit(units)


@pytest.mark.parametrize("kind", SCALERS)
def test_streams_have_the_folds_and_scale_of_the_array(kind, units):
    support = pytest.importorskip("tools.support")
    X = np.vstack([units, 2 * units[::-1] + units])
    expected = ColumnSubset(4, scale=kind).fit(X)
    with support.small_pieces():
        selector = ColumnSubset(4, scale=kind)
        assert isinstance(selector._open_table(np.array_split(X, 9)), Stream)
        selector.fit(np.array_split(X, 9))
    np.testing.assert_array_equal(selector.selected_, expected.selected_)
    np.testing.assert_allclose(selector.scale_, expected.scale_, rtol=1e-10)
    assert selector.ridge_ == expected.ridge_
    np.testing.assert_array_equal(selector.selected_, piped(ColumnSubset, kind, X, ridge=expected.ridge_)[0].selected_)
