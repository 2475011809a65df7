"""n_features_to_select="auto": the curve against refits on rows, the two rules, what is kept, and what is refused."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import stableselect as ss
from stableselect import ColumnSubset, Moments, ScorerSelector
from stableselect._core import forward_search
from stableselect._core._folds import fold_moments, hold_out_each, row_folds
from stableselect.base import TargetNotReachedWarning
from stableselect.persistence import save
from stableselect.subset._n_features import fewest_to_explain
from stableselect.subset._path_errors import path_errors
from stableselect.subset._ridge import choose_ridge
from stableselect.subset._round import Round


def planted(rng, rank=4, m=20, n=200, noise=0.05):
    """A table of so many latent factors, the first columns being the factors themselves."""
    factors = rng.normal(size=(n, rank))
    return np.hstack([factors, factors @ rng.normal(size=(rank, m - rank))]) + noise * rng.normal(size=(n, m))


def brute_force_errors(X, ridge, **roles):
    """Return the held-out squared errors of every fold and k by choosing and refitting on rows for each of them."""
    folds = row_folds(X, 5)
    errors = []
    for fold in range(5):
        train, test = X[folds != fold], X[folds == fold]
        mean = train.mean(axis=0)
        row = [((test - mean) ** 2).sum()]
        for k in range(1, X.shape[1] - len(roles.get("exclude", ())) + 1):
            S = ColumnSubset(k, ridge=ridge, exchange=False, **roles).fit(train).selected_
            # scikit-learn's ridge penalty is on the sum over rows of the squared error.
            penalty = ridge * len(train) * train.var(axis=0).mean()
            model = Ridge(penalty) if ridge else LinearRegression()
            row.append(((model.fit(train[:, S], train).predict(test[:, S]) - test) ** 2).sum())
        if not roles.get("exclude"):
            row[-1] = 0.0  # all columns are kept, and none is rebuilt
        errors.append(row)
    return np.array(errors)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_the_curve_is_that_of_refits_on_the_rows_of_the_folds(tall, ridge):
    path = ColumnSubset("auto", ridge=ridge, min_explained_variance=0.7).fit(tall).path_
    errors = brute_force_errors(tall, ridge)
    folds = 1 - errors[:, 1:] / errors[:, :1]
    pooled = 1 - errors.sum(axis=0) / errors[:, 0].sum()
    np.testing.assert_allclose(path.fold_explained_variance_ratio, folds, atol=1e-9)
    np.testing.assert_allclose(path.explained_variance_ratio, pooled[1:], atol=1e-9)
    np.testing.assert_allclose(path.standard_error, folds.std(axis=0, ddof=1) / np.sqrt(5), atol=1e-9)
    assert path.n_features == next(k for k in range(1, 13) if pooled[k] >= 0.7)
    assert path.fold_n_features.tolist() == [next(k for k in range(1, 13) if f[k - 1] >= 0.7) for f in folds]
    assert path.n_features_range == (path.fold_n_features.min(), path.fold_n_features.max())


@pytest.mark.slow
def test_with_a_free_ridge_the_curve_has_the_least_error_of_the_grid_for_every_k(wide, rng):
    X = np.vstack([wide, wide, wide])[:, :15] + 0.5 * rng.normal(size=(27, 15))
    path = ColumnSubset("auto", min_explained_variance=0.5).fit(X).path_
    curves = {ridge: brute_force_errors(X, ridge) for ridge in np.unique(path.ridge)}
    assert len(curves) > 1
    for k in range(1, 16):
        errors = curves[path.ridge[k - 1]]
        assert path.explained_variance_ratio[k - 1] == pytest.approx(
            1 - errors[:, k].sum() / errors[:, 0].sum(), abs=1e-9
        )
        assert path.ridge[k - 1] == choose_ridge(hold_out_each(fold_moments(X, None, 5)), k, [], [])


@pytest.mark.parametrize("name", ["tall", "wide"])
@pytest.mark.parametrize("ridge", [0.0, 0.2])
def test_errors_of_all_prefixes_are_those_of_each(request, name, ridge):
    X = request.getfixturevalue(name)
    split = hold_out_each([Moments.from_array(part) for part in (X[:2], X[2:5], X[5:])])[1]
    own = Round.of(split.train, split.test)
    # No more columns than rows: beyond, which of many equal maps is meant is not said by the training rows.
    columns = forward_search(own.gram, 5, ridge)
    (errors,) = path_errors(own, [columns], [ridge])
    one_by_one = [own.error(columns[:k], ridge) for k in range(1, 6)]
    np.testing.assert_allclose(errors[1:], one_by_one, rtol=1e-9)
    assert errors[0] == pytest.approx(own.target.trace() + float(own.shift @ own.shift))


def test_columns_that_others_determine_add_nothing(rng):
    a, b = rng.normal(size=(2, 80))
    split = hold_out_each(fold_moments(np.c_[a, b, a, np.full(80, 3.0), a + b, b], None, 4))[0]
    (errors,) = path_errors(Round.of(split.train, split.test), [[0, 2, 3, 1, 4, 5]], [0.0])
    assert errors[1] == errors[2] == errors[3] and errors[0] > errors[1] > 1e-3
    np.testing.assert_allclose(errors[4:], 0.0, atol=1e-12)


@pytest.mark.parametrize("rank", [1, 3, 6])
def test_the_number_of_planted_factors_is_found(rng, rank):
    X = planted(rng, rank)
    selector = ColumnSubset("auto", min_explained_variance=0.99).fit(X)
    assert selector.path_.n_features == selector.selected_.size == rank
    assert selector.path_.n_features_range == (rank, rank)
    exact = ColumnSubset("auto", min_explained_variance=0.99).fit(planted(rng, rank, noise=0.0))
    assert exact.selected_.size == rank and exact.path_.n_features_range == (rank, rank)


def test_the_fewest_to_explain_by_its_definition():
    shares = np.array([0.0, 0.5, 0.8, 0.7, 0.95, 0.95])
    assert fewest_to_explain(shares, 0.75, 1) == (2, True)
    assert fewest_to_explain(shares, 0.75, 3) == (4, True)
    assert fewest_to_explain(shares, 0.97, 1) == (4, False)


def test_after_the_number_all_goes_as_for_a_given_one(tall):
    auto = ColumnSubset("auto", min_explained_variance=0.8).fit(tall)
    k = auto.path_.n_features
    given = ColumnSubset(k).fit(tall)
    np.testing.assert_array_equal(auto.selected_, given.selected_)
    np.testing.assert_array_equal(auto.reconstruction_coef_, given.reconstruction_coef_)
    assert auto.ridge_ == given.ridge_ == auto.path_.ridge[k - 1]
    forward = ColumnSubset(k, exchange=False).fit(tall)
    np.testing.assert_array_equal(auto.path_.order[:k], forward.selected_)
    rebuilt = forward.transform(tall) @ forward.reconstruction_coef_ + forward.reconstruction_intercept_
    share = 1 - ((rebuilt - tall) ** 2).sum() / ((tall - tall.mean(axis=0)) ** 2).sum()
    assert auto.path_.train_explained_variance_ratio[k - 1] == pytest.approx(share, rel=1e-9)
    assert auto.set_params(n_features_to_select=3).fit(tall).selected_.size == 3
    with pytest.raises(AttributeError, match="n_features_to_select='auto'"):
        _ = auto.path_


def test_the_scorer_selector_keeps_as_many(tall):
    one = ColumnSubset("auto", min_explained_variance=0.8).fit(tall)
    other = ScorerSelector("auto", min_explained_variance=0.8).fit(tall)
    assert other.path_.n_features == one.path_.n_features == other.selected_.size
    assert other.latent_width_ == one.selected_.size
    np.testing.assert_array_equal(other.path_.explained_variance_ratio, one.path_.explained_variance_ratio)


def test_a_target_out_of_reach_warns_and_takes_the_best_share(wide, rng):
    X = np.vstack([wide, wide]) + rng.normal(size=(18, 40))
    with pytest.warns(UserWarning, match=r"0\.999999 is not reached .* with up to 12 features.*or raise max_features"):
        selector = ColumnSubset("auto", min_explained_variance=0.999999, max_features=12).fit(X)
    path = selector.path_
    assert not path.reached and path.limit == 12
    assert path.n_features == selector.selected_.size == 1 + np.argmax(path.explained_variance_ratio)


def test_copies_and_constants_count_for_nothing(rng):
    X = planted(rng, 3, m=8, noise=0.0)
    X = np.hstack([X, X[:, :4], np.full((200, 2), 7.0)])
    for ridge in (0.0, "auto"):
        selector = ColumnSubset("auto", ridge=ridge, min_explained_variance=0.9999).fit(X)
        assert selector.selected_.size == 3 and selector.path_.explained_variance_ratio[-1] == pytest.approx(
            1, abs=1e-5
        )
    constant = ColumnSubset("auto").fit_moments([Moments.from_array(np.tile([1.0, 2.0], (10, 1)))] * 3)
    assert constant.selected_.tolist() == [0]


def test_included_columns_are_the_least_and_excluded_ones_never_come(tall):
    selector = ColumnSubset("auto", min_explained_variance=0.1, include=[7, 2, 9], exclude=[0, 1], ridge=0.0).fit(tall)
    path = selector.path_
    assert sorted(selector.selected_) == [2, 7, 9] and path.order[:3].tolist() == [7, 2, 9]
    assert path.limit == 10 and not {0, 1} & set(path.order.tolist())
    errors = brute_force_errors(tall, 0.0, include=[7, 2, 9][:1], exclude=[0, 1])
    assert path.explained_variance_ratio[0] == pytest.approx(1 - errors[:, 1].sum() / errors[:, 0].sum(), abs=1e-9)
    assert ColumnSubset("auto", min_explained_variance=0.1, include=range(12)).fit(tall).selected_.size == 12


def test_printing_a_path_gives_a_sentence_and_a_frame_has_every_number(tall):
    path = ColumnSubset("auto", min_explained_variance=0.8).fit(tall).path_
    assert str(path) == repr(path) and len(str(path)) < 130
    assert str(path).startswith(f"SelectionPath: {path.n_features} features explain 0.")
    frame = path.to_frame()
    assert frame["feature"].tolist() == path.order.tolist() and frame["n_features"].tolist() == list(range(1, 13))
    np.testing.assert_array_equal(frame["explained_variance_ratio"], path.explained_variance_ratio)
    with pytest.warns(TargetNotReachedWarning):
        missed = ColumnSubset("auto", min_explained_variance=0.999999, max_features=2).fit(tall).path_
    assert "not reached" in str(missed) and "up to 2 considered" in str(missed)


def test_the_path_survives_save_and_load(tall, tmp_path):
    selector = ColumnSubset("auto", min_explained_variance=0.8).fit(tall)
    save(selector, tmp_path / "auto.sselect")
    back, path = ss.load(tmp_path / "auto.sselect"), selector.path_
    assert back.get_params() == selector.get_params() and back.path_.n_features_range == path.n_features_range
    for name, value in vars(path).items():
        np.testing.assert_array_equal(getattr(back.path_, name), value)
        assert type(getattr(back.path_, name)) is type(value)


def test_folds_given_as_moments_and_weights_and_frames_and_tensors(tall, rng):
    pd = pytest.importorskip("pandas")
    make = clone(ColumnSubset("auto", min_explained_variance=0.8))
    expected = make.fit(tall).path_
    frame = pd.DataFrame(tall, columns=[f"c{j}" for j in range(12)])
    tables = [
        clone(make).fit_moments(fold_moments(tall, None, 5)),
        clone(make).fit(frame),
        clone(make).fit(tall[rng.permutation(60)]),
    ]
    assert tables[1].get_feature_names_out().size == expected.n_features
    torch = pytest.importorskip("torch")
    tables.append(clone(make).fit(torch.asarray(tall)))
    for fitted in tables:
        np.testing.assert_allclose(fitted.path_.explained_variance_ratio, expected.explained_variance_ratio, rtol=1e-9)
        np.testing.assert_array_equal(fitted.path_.order, expected.order)
    weights = rng.integers(0, 3, size=60)
    weighted = clone(make).fit(tall, sample_weight=weights).path_
    repeated = clone(make).fit(np.repeat(tall, weights, axis=0)).path_
    np.testing.assert_allclose(weighted.explained_variance_ratio, repeated.explained_variance_ratio, rtol=1e-9)
    assert weighted.n_features == repeated.n_features


def test_in_a_pipeline(rng):
    X = planted(rng) * 10.0 ** np.arange(20)[None, :].clip(0, 4)
    pipeline = make_pipeline(StandardScaler(), ColumnSubset("auto", min_explained_variance=0.98))
    assert clone(pipeline).fit_transform(X).shape == (200, 4)


@pytest.mark.parametrize("cls", [ColumnSubset, ScorerSelector])
def test_without_held_out_rows_a_sentence_says_what_to_do(tall, cls):
    selector = cls("auto")
    for action in (
        lambda: selector.fit_moments(Moments.from_array(tall)),
        lambda: selector.fit_moments([Moments.from_array(tall[:30]), Moments.from_array(tall[30:])]),
        lambda: selector.partial_fit(tall),
        lambda: selector.fit(tall[:2]),
    ):
        with pytest.raises(ValueError, match=r"needs at least 3 folds, got .* give fit_moments a list of Moments"):
            action()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"min_explained_variance": 1.0}, r"must be a float in the range \(0.0, 1.0\). Got 1.0"),
        ({"min_explained_variance": 0}, "'min_explained_variance' parameter of"),
        ({"min_explained_variance": True}, "'min_explained_variance' parameter of"),
        ({"min_explained_variance": np.nan}, "'min_explained_variance' parameter of"),
        ({"min_explained_variance": "elbow"}, "'min_explained_variance' parameter of"),
        ({"max_features": 0}, "'max_features' parameter of"),
        ({"max_features": 2.5}, "'max_features' parameter of"),
        ({"max_features": 2, "include": [1, 2, 3]}, "include names 3 features but max_features is 2"),
        ({"exclude": range(12)}, "exclude leaves no feature"),
        ({"include": [1], "exclude": [1]}, "both include and exclude"),
    ],
)
def test_bad_settings_get_one_sentence(tall, params, message):
    for cls in (ColumnSubset, ScorerSelector):
        with pytest.raises(ValueError, match=message):
            cls("auto", **params).fit(tall)


@pytest.mark.parametrize("name", sorted(set(ss.all_selectors()) - {"ColumnSubset", "ScorerSelector"}))
def test_other_selectors_need_a_number(tall, name):
    if name == "ConsensusSelector":
        pytest.skip("asks its base")
    with pytest.raises(ValueError, match=rf"'n_features_to_select' parameter of {name} must be .* Got 'auto'"):
        ss.all_selectors()[name]("auto").fit(tall)


def test_real_data_reaches_the_target_with_columns_it_has_not_seen(load_data):
    X, _ = load_data("mice_protein")
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        selector = ColumnSubset("auto", min_explained_variance=0.8).fit(X[::2])
    assert not caught
    rebuilt = selector.reconstruct(selector.transform(X[1::2]))
    share = 1 - ((rebuilt - X[1::2]) ** 2).sum() / ((X[1::2] - X[::2].mean(axis=0)) ** 2).sum()
    assert 0.8 <= share <= 0.85  # the exchange that follows brings a little more than the path promises
