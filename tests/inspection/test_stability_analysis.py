import warnings
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.stats import binomtest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.feature_selection import SelectorMixin, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, PolynomialFeatures

from stableselect import ColumnSubset, ConsensusSelector, RandomSelector, ScorerSelector, ScorerSelectorNetwork
from stableselect._core._resampling import resamples, seed_sequence
from stableselect.graph import LaplacianScore
from stableselect.inspection import Bootstrap, ComplementaryPairs, StabilityAnalysis, Subsample, stability_analysis
from stableselect.inspection import _stability_analysis as module
from stableselect.metrics import (
    NoChoiceWarning,
    feature_similarity,
    ranking_stability,
    score_stability,
    similarity_stability,
    stability,
    stability_test,
)


@pytest.fixture
def X(rng):
    return rng.normal(size=(60, 5)) @ rng.normal(size=(5, 12)) + 0.5 * rng.normal(size=(60, 12))


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    """Draw few sets for the chance level of ``adjusted``, which no test here looks at."""
    monkeypatch.setitem(similarity_stability.__kwdefaults__, "n_draws", 10)


def tensor(X):
    return pytest.importorskip("torch").as_tensor(X)


def analyse(selector, X, **options):
    """Run the analysis without similarities, which take most of the time of a small one."""
    return stability_analysis(selector, X, **{"similarity": False, **options})


def rows_drawn(X, n_repeats, random_state=0):
    """Return the samples of the runs where no cv is given."""
    seed = seed_sequence(random_state).spawn(2)[0]
    return [train for train, _ in Subsample(n_repeats, random_state=seed).split(X)]


class ByMean(BaseEstimator):
    """Keep the column of largest mean. Neither a SelectorMixin nor of this package."""

    def fit(self, X):
        self.support_ = np.asarray(X).mean(axis=0) == np.asarray(X).mean(axis=0).max()
        return self


class ByTrees(SelectorMixin, BaseEstimator):
    """Keep two columns by a nested estimator, which holds the seed."""

    def __init__(self, trees=None):
        self.trees = trees

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        self.seed_ = self.trees.random_state
        self.chosen_ = np.random.default_rng(self.seed_).permutation(X.shape[1])[:2]
        return self

    def _get_support_mask(self):
        return np.isin(np.arange(self.n_features_in_), self.chosen_)


@pytest.mark.parametrize(
    "cv",
    [
        None,
        Bootstrap(5),
        ComplementaryPairs(4),
        KFold(5),
        ShuffleSplit(5, train_size=0.5, random_state=0),
        [(np.arange(start, start + 40), []) for start in (0, 10, 20)],
    ],
    ids=["default", "bootstrap", "pairs", "folds", "shuffled", "indices"],
)
@pytest.mark.parametrize(
    "selector",
    [
        ColumnSubset(4, ridge=0),
        pytest.param(ColumnSubset(4), marks=pytest.mark.slow),
        LaplacianScore(3),
        VarianceThreshold(3.0),
    ],
)
def test_frequencies_are_those_of_a_plain_loop(X, cv, selector):
    analysis = stability_analysis(selector, X, cv=cv, random_state=7)
    rows = rows_drawn(X, 10, 7) if cv is None else [part.drawn for part in resamples(cv, X)]
    supports = [clone(selector).fit(X[part]).get_support() for part in rows]
    assert np.array_equal(analysis.supports, supports)
    assert np.array_equal(analysis.selection_frequency, np.mean(supports, axis=0))
    assert repr(analysis.stability) == repr(stability(supports))  # nan, where a measure is not defined, equals nothing
    assert analysis.similarity.effective == pytest.approx(
        similarity_stability(supports, feature_similarity(X)).effective, abs=1e-9
    )


def test_rankings_scores_and_order_come_from_every_run(X):
    cv = Subsample(4, train_size=0.6)
    analysis = analyse(ColumnSubset(4, ridge=0), X, cv=cv)
    fits = [ColumnSubset(4, ridge=0).fit(X[rows]) for rows, _ in cv.split(X)]
    assert np.array_equal(analysis.rankings, [fit.ranking_ for fit in fits])
    assert np.allclose(analysis.scores, [fit.scores_ for fit in fits])
    assert all(np.array_equal(a, fit.selected_) for a, fit in zip(analysis.selected, fits, strict=True))
    assert analysis.ranking == ranking_stability([fit.ranking_ for fit in fits])
    assert analysis.score == pytest.approx(score_stability([fit.scores_ for fit in fits]))


def test_a_selector_without_rankings_and_scores(X):
    analysis = analyse(VarianceThreshold(3.0), X, n_repeats=3)
    assert analysis.rankings is None and analysis.scores is None
    assert analysis.ranking is None and analysis.score is None
    assert "ranking" not in str(analysis)


def test_the_interval_of_a_frequency_is_wilsons(X):
    analysis = analyse(ColumnSubset(4, ridge=0), X, cv=Bootstrap(13), confidence=0.9)
    assert len(set(analysis.selection_frequency)) > 3
    for count, interval in zip(analysis.supports.sum(axis=0), analysis.frequency_interval, strict=True):
        expected = binomtest(int(count), 13).proportion_ci(0.9, method="wilson")
        assert interval == pytest.approx([expected.low, expected.high], abs=1e-12)


@pytest.mark.parametrize("selector", [ColumnSubset(4), ScorerSelector(4), LaplacianScore(4)])
def test_deterministic_selectors_do_not_follow_the_seed(X, selector):
    analysis = analyse(selector, X, perturb="seed", n_repeats=4)
    assert analysis.stability.nogueira == 1.0
    assert analysis.stability.confidence_interval == (1.0, 1.0)
    assert np.array_equal(analysis.supports[0], clone(selector).fit(X).support_)
    assert analysis.resampling is None and analysis.n_repeats == 4


def test_a_selector_without_a_seed_is_fitted_once(X, monkeypatch):
    calls = []
    fit = LaplacianScore.fit
    monkeypatch.setattr(LaplacianScore, "fit", lambda self, X, y=None: calls.append(1) or fit(self, X, y))
    analyse(LaplacianScore(4), X, perturb="seed", n_repeats=6)
    assert len(calls) == 1


@pytest.mark.parametrize("perturb", ["seed", "both"])
def test_random_columns_agree_no_more_than_by_chance(perturb):
    X = np.random.default_rng(1).normal(size=(20, 100))
    analysis = analyse(RandomSelector(20), X, perturb=perturb, n_repeats=30)
    low, high = analysis.stability.confidence_interval
    assert low < 0 < high
    assert abs(analysis.stability.nogueira) < 0.03
    assert len({tuple(chosen) for chosen in analysis.selected}) == 30


@pytest.mark.parametrize("seed", [None, 3, np.random.RandomState(3)])
def test_the_seed_is_held_while_the_rows_vary(X, seed):
    selector = RandomSelector(4, random_state=seed)
    analysis = analyse(selector, X, n_repeats=5)
    assert analysis.stability.nogueira == 1.0
    if seed is not None:
        assert np.array_equal(analysis.supports[0], clone(selector).fit(X).support_)
    assert selector.random_state is seed and not hasattr(selector, "support_")


def test_a_held_seed_that_was_not_given_follows_random_state(X):
    one, two, again = (analyse(RandomSelector(4), X, random_state=s).supports for s in (0, 1, 0))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, two)


def test_seeds_of_nested_estimators_vary_too(X):
    selector = ByTrees(ExtraTreesRegressor(random_state=5))
    assert analyse(selector, X, perturb="data").stability.nogueira == 1.0
    assert analyse(selector, X, perturb="seed").stability.nogueira < 0.5


def test_training_on_rows_and_on_moments(X):
    for solver in ("minibatch", "full_batch"):
        selector = ScorerSelectorNetwork(3, solver=solver, epochs=3, random_state=0)
        analysis = analyse(selector, X, n_repeats=3)
        expected = [clone(selector).fit(X[rows]).support_ for rows in rows_drawn(X, 3)]
        assert np.array_equal(analysis.supports, expected)


@pytest.mark.slow
def test_processes_change_nothing(X):
    for selector, cv in ((ColumnSubset(4), 4), (RandomSelector(4), Bootstrap(4))):
        one, two = (analyse(selector, X, perturb="both", cv=cv, n_jobs=n_jobs) for n_jobs in (1, 2))
        assert np.array_equal(one.supports, two.supports)
        assert np.array_equal(one.scores, two.scores)
        assert one.stability == two.stability


@pytest.mark.parametrize("kind", [list, pl.DataFrame, sparse.csr_array, sparse.csc_array, tensor])
@pytest.mark.parametrize("selector", [ColumnSubset(4, ridge=0), LaplacianScore(3)])
def test_any_kind_of_table(X, kind, selector):
    X = np.where(np.abs(X) < 1, 0.0, X)
    expected = stability_analysis(selector, X, n_repeats=3)
    table = kind(X.tolist()) if kind is list else kind(X)
    found = stability_analysis(selector, table, n_repeats=3)
    assert np.array_equal(found.supports, expected.supports)
    assert found.similarity.effective == pytest.approx(expected.similarity.effective, abs=1e-9)


def test_column_names_are_kept(X):
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(12)], index=np.arange(60)[::-1])
    for selector in (ColumnSubset(3, ridge=0, include=["gene 7"]), LaplacianScore(3), VarianceThreshold(3.0)):
        analysis = analyse(selector, frame, n_repeats=4)
        assert list(analysis.feature_names) == list(frame.columns)
    first = analyse(ColumnSubset(3, ridge=0, include=["gene 7"]), frame, n_repeats=4).table(5)
    assert ("gene 7", 1.0) in [row[:2] for row in first]
    assert [row[1] for row in first] == sorted((row[1] for row in first), reverse=True)
    assert len(first) == 5 and all(low <= share <= high for _, share, low, high in first)


def test_the_table_numbers_columns_without_names(X):
    with pytest.warns(UserWarning, match="include and exclude leave no choice"):
        analysis = analyse(ColumnSubset(1, ridge=0, include=[9]), X, n_repeats=3)
    assert [row[0] for row in analysis.table(3)] == ["9", "0", "1"]


@pytest.mark.parametrize("kind", ["selector", "pipeline", "consensus"])
def test_columns_that_are_decided_do_not_count(rng, kind):
    frame = pd.DataFrame(rng.normal(size=(100, 12)), columns=list("abcdefghijkl"))
    base = ColumnSubset(4, ridge=0, include=["c", "d"], exclude=["a"])
    if kind == "pipeline":
        base.set_params(include=[1, 2], exclude=[11])  # of the columns as the step before gives them
        order = ColumnTransformer([("turned", "passthrough", list("bcdefghijkla"))], verbose_feature_names_out=False)
        base = make_pipeline(order, base)
    elif kind == "consensus":
        base = ConsensusSelector(base, 4, n_resamples=4, random_state=0)
    analysis = stability_analysis(base, frame, cv=Subsample(6, train_size=0.3))
    free = analysis.supports[:, [1, *range(4, 12)]]
    assert analysis.stability == stability(free)
    assert analysis.stability.n_features == 9 and "12 features (9 of them open to choice)" in str(analysis)
    assert analysis.selection_frequency[[0, 2, 3]].tolist() == [0, 1, 1]
    similar = similarity_stability(free, feature_similarity(frame.to_numpy()[:, [1, *range(4, 12)]]))
    assert analysis.similarity.effective == pytest.approx(similar.effective)


def test_roles_that_decide_all_columns_leave_nothing_to_measure(X):
    selector = ColumnSubset(2, ridge=0, include=[0, 1], exclude=list(range(2, 12)))
    with pytest.warns(UserWarning, match="include and exclude leave no choice"):
        analysis = stability_analysis(selector, X, n_repeats=3)
    assert np.isnan(analysis.stability.nogueira) and analysis.similarity is None


def test_the_warning_of_no_choice_has_a_class_of_its_own(X):
    with pytest.warns(NoChoiceWarning, match="include and exclude leave no choice") as caught:
        analyse(ColumnSubset(1, ridge=0, include=[9]), X, n_repeats=3)
    assert len(caught) == 1
    with pytest.warns(NoChoiceWarning, match="selected all of the 12 features"):
        analyse(ColumnSubset(12, ridge=0), X, n_repeats=3)


def test_two_analyses_can_be_tested_against_each_other(X):
    one, other = (analyse(selector, X, cv=Bootstrap(8)) for selector in (LaplacianScore(3), RandomSelector(3)))
    assert stability_test(one, other) == stability_test(one.stability, other.stability)
    assert stability_test(one, value=0.5) == stability_test(one.stability, value=0.5)


def test_a_class_in_place_of_a_selector_is_refused(X):
    with pytest.raises(TypeError, match=r"is the class ColumnSubset; make one, as in ColumnSubset\(...\)"):
        stability_analysis(ColumnSubset, X)


def test_whole_groups_are_left_out(X):
    groups = np.repeat(np.arange(12), 5)
    seen = []

    class Watched(ByMean):
        def fit(self, X):
            seen.append(np.asarray(X)[:, 0])
            return super().fit(X)

    table = np.column_stack([groups, X])
    for cv in (4, GroupKFold(4)):
        seen.clear()
        assert analyse(Watched(), table, groups=groups, cv=cv).resampling == "GroupKFold"
        assert [len(column) for column in seen] == [45] * 4
        assert all(np.all(np.bincount(column.astype(int))[np.unique(column).astype(int)] == 5) for column in seen)


def test_any_object_with_fit_and_support(X):
    assert analyse(ByMean(), X + 10 * np.eye(12)[3], n_repeats=3).selection_frequency[3] == 1.0

    class Plain:  # not even get_params
        def fit(self, X):
            self.support_ = np.arange(X.shape[1]) < 2
            return self

    assert analyse(Plain(), X, perturb="both", n_repeats=3).stability.nogueira == 1.0


def test_the_last_step_of_a_pipeline_is_asked(X):
    scaled = make_pipeline(MinMaxScaler(), ColumnSubset(4, ridge=0))
    analysis = analyse(scaled, X, n_repeats=4)
    expected = [clone(scaled).fit(X[rows])[-1].support_ for rows in rows_drawn(X, 4)]
    assert np.array_equal(analysis.supports, expected)


def by_hand(X, seed, *sizes):
    """Return the columns of the table that selectors one after the other keep, by the names of a data frame."""
    table = pd.DataFrame(X, columns=np.arange(X.shape[1]).astype(str))
    for size, make in zip(sizes, (RandomSelector, ColumnSubset), strict=True):
        model = make(size, random_state=seed) if make is RandomSelector else make(size, ridge=0)
        model.fit(table)
        before, table = table, table.loc[:, model.get_support()]
    return before.columns.astype(int).to_numpy(), model


def test_an_earlier_selector_is_traced_to_the_columns_of_the_table():
    X = np.random.default_rng(1).normal(size=(40, 100))
    chain = make_pipeline(MinMaxScaler(), RandomSelector(20), ColumnSubset(5, ridge=0))
    analysis = analyse(chain, X, perturb="seed", n_repeats=8)
    scaled = MinMaxScaler().fit_transform(X)
    seeds = seed_sequence(0).spawn(2)[1].generate_state(8) >> 1
    for run, seed in enumerate(seeds.tolist()):
        columns, model = by_hand(scaled, seed, 20, 5)
        assert analysis.selected[run].tolist() == columns[model.selected_].tolist()
        assert np.flatnonzero(analysis.supports[run]).tolist() == sorted(columns[model.selected_])
        dropped = np.setdiff1d(np.arange(100), columns)
        assert np.array_equal(analysis.rankings[run][columns], model.ranking_)
        assert np.all(analysis.rankings[run][dropped] == 21)
        np.testing.assert_allclose(analysis.scores[run][columns], model.scores_)
        assert np.all(analysis.scores[run][dropped] == analysis.scores[run].min())
    assert analysis.selection_frequency.size == 100 and abs(analysis.stability.nogueira) < 0.2
    assert analysis.ranking.spearman < 0.4


def test_the_similarity_needs_columns_that_stay_themselves(X):
    subset = ColumnSubset(2, ridge=0)
    gap = np.insert(X, 3, 1.0, axis=1)
    for chain in (
        make_pipeline(MinMaxScaler(), VarianceThreshold(), subset),
        make_pipeline(SimpleImputer(), "passthrough", make_pipeline(subset)),
    ):
        analysis = stability_analysis(chain, gap, n_repeats=3)
        expected = similarity_stability(analysis.supports, feature_similarity(gap)).effective
        assert analysis.similarity.effective == pytest.approx(expected, abs=1e-9)
    for step in (PCA(), FunctionTransformer(np.tanh), PCA(5)):
        analysis = stability_analysis(make_pipeline(step, subset), X, n_repeats=3)
        assert analysis.similarity is None
    # Even where the table is named as the components are.
    frame = pd.DataFrame(X, columns=[f"pca{j}" for j in range(12)])
    assert stability_analysis(make_pipeline(PCA(), subset), frame, n_repeats=3).similarity is None


def test_names_of_a_table_before_and_after_a_pipeline(X):
    frame = pd.DataFrame(X, columns=list("abcdefghijkl"))
    chain = make_pipeline(VarianceThreshold(), MinMaxScaler(), ColumnSubset(2, ridge=0))
    assert list(analyse(chain, frame, n_repeats=3).feature_names) == list("abcdefghijkl")
    assert list(analyse(make_pipeline(PCA(3), ColumnSubset(2)), frame, n_repeats=3).feature_names) == [
        "pca0",
        "pca1",
        "pca2",
    ]
    order = ColumnTransformer([("turned", "passthrough", list("lkjihg"))], verbose_feature_names_out=False)
    analysis = analyse(make_pipeline(order, ColumnSubset(2, include=[0])), frame, n_repeats=3)
    assert analysis.selection_frequency[11] == 1 and analysis.selection_frequency.size == 12


class Unnamed(TransformerMixin, BaseEstimator):
    """Keep the first columns and tell nobody."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X[:, :5]


def test_columns_that_cannot_be_told_apart_are_refused(X):
    with pytest.raises(
        ValueError, match=r"Unnamed turns 12 features into 5 .* with get_support\(\) or get_feature_names"
    ):
        analyse(make_pipeline(Unnamed(), ColumnSubset(2)), X, n_repeats=3)
    with pytest.raises(ValueError, match="Unnamed turns 12 features into 5"):
        analyse(make_pipeline(Unnamed(), VarianceThreshold(), ColumnSubset(2)), X, n_repeats=3)
    # Components of other columns are other components, and squares of other columns other squares.
    for step in (PCA(3), PolynomialFeatures(2)):
        with pytest.raises(ValueError, match="the runs saw new ones that differ; use steps before"):
            analyse(make_pipeline(RandomSelector(5), step, ColumnSubset(2)), X, perturb="seed", n_repeats=3)
    squares = make_pipeline(PolynomialFeatures(2, include_bias=False), ColumnSubset(2))
    assert list(analyse(squares, X[:, :2], n_repeats=3).feature_names) == ["x0", "x1", "x0^2", "x0 x1", "x1^2"]
    codes = np.column_stack([np.arange(60) % 2, np.arange(60)])
    chain = make_pipeline(OneHotEncoder(sparse_output=False), VarianceThreshold(), ColumnSubset(2))
    with pytest.raises(ValueError, match="the runs saw new ones that differ"):
        analyse(chain, codes, n_repeats=3)


def test_all_columns_kept_is_nan_with_one_warning(X):
    with pytest.warns(UserWarning, match="selected all of the 12 features") as caught:
        analysis = stability_analysis(ColumnSubset(12, ridge=0), X, n_repeats=3)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert np.isnan(analysis.stability.nogueira) and np.isnan(analysis.similarity.effective)
    assert np.all(analysis.selection_frequency == 1)
    assert "nan" in str(analysis)


def test_constant_scores_are_nan_with_one_warning():
    with pytest.warns(UserWarning, match="every feature the same score") as caught:
        analysis = analyse(ColumnSubset(2, ridge=0), np.ones((10, 4)), n_repeats=3)
    assert np.isnan(analysis.score)
    assert [str(w.message) for w in caught if "same score" in str(w.message)] == [str(caught[0].message)]
    assert analysis.stability.nogueira == 1.0


class Complains(ByMean):
    def fit(self, X):
        warnings.warn("too few steps", RuntimeWarning, stacklevel=2)
        self.scores_ = np.full(X.shape[1], np.nan)
        return super().fit(X)


def test_a_warning_of_every_fit_is_given_once(X):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        analysis = analyse(Complains(), X, n_repeats=3)
    assert [str(w.message) for w in caught if w.category is RuntimeWarning] == ["too few steps (in 3 of 3 fits)"]
    assert [w.filename for w in caught] == [__file__] * len(caught)
    assert np.isnan(analysis.score)


def test_similarity_is_left_out_where_it_cannot_be_had(X, monkeypatch):
    assert stability_analysis(ColumnSubset(3, ridge=0), X, n_repeats=3, similarity=False).similarity is None
    holes = X.copy()
    holes[0, 0] = np.nan
    assert stability_analysis(VarianceThreshold(3.0), holes, n_repeats=3).similarity is None
    monkeypatch.setattr(module, "MOST_SIMILARITIES", 11)
    assert stability_analysis(ColumnSubset(3, ridge=0), X, n_repeats=3).similarity is None


def test_the_result_is_frozen_and_prints_what_was_varied(X):
    analysis = analyse(ColumnSubset(3, ridge=0), X, cv=3, perturb="both")
    assert isinstance(analysis, StabilityAnalysis)
    with pytest.raises(FrozenInstanceError):
        analysis.perturb = "data"
    assert "3 runs on 12 features, samples (KFold) and seed varied" in str(analysis)
    assert len(repr(analysis)) < 120


def test_the_summary_counts_the_doubtful_features_and_stays_below_one(X):
    analysis = analyse(ColumnSubset(4, ridge=0), X, cv=Bootstrap(4))
    frequency = analysis.selection_frequency
    always, never = np.sum(frequency == 1), np.sum(frequency == 0)
    assert always and never and always + never < 12
    assert f"{always} always, {12 - always - never} sometimes, {never} never" in str(analysis)
    wide = replace(analysis, stability=replace(analysis.stability, confidence_interval=(0.9, 1.02)))
    assert "[0.90, 1.00]" in str(wide)


def test_table_and_frame_hold_every_feature_that_counts(X):
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(12)])
    analysis = analyse(ColumnSubset(4, ridge=0), frame, cv=Bootstrap(6))
    ever = np.count_nonzero(analysis.selection_frequency)
    assert len(analysis.table()) == ever < 12 and len(analysis.table(2)) == 2
    found = analysis.to_frame()
    assert list(found.columns) == ["feature", "frequency", "low", "high"] and len(found) == 12
    expected = dict(zip(frame.columns, analysis.selection_frequency, strict=True))
    assert dict(zip(found["feature"], found["frequency"], strict=True)) == expected
    assert found["frequency"].is_monotonic_decreasing


def test_the_caller_and_the_global_seed_are_left_alone(X):
    before, state = X.copy(), np.random.get_state()[1].copy()  # noqa: NPY002
    analyse(ColumnSubset(3), X, n_repeats=3)
    analyse(RandomSelector(3), X, perturb="both", n_repeats=3)
    assert np.array_equal(X, before)
    assert np.array_equal(state, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"perturb": "columns"}, "perturb must be one of data, seed, both but is 'columns'"),
        ({"n_repeats": 1}, "n_repeats must be an integer of at least 2 but is 1"),
        ({"n_repeats": 1, "perturb": "seed"}, "n_repeats must be an integer of at least 2 but is 1"),
        ({"n_repeats": 2.5, "perturb": "seed"}, "at least 2 but is 2.5"),
        ({"cv": 5, "n_repeats": 5}, "cv decides the number of runs, so n_repeats must not be given too"),
        ({"cv": 5, "perturb": "seed"}, 'perturb="seed" fits all of them; give n_repeats instead'),
        ({"cv": "splits"}, "cv must be a number of folds, a scikit-learn splitter"),
        ({"confidence": 95}, "confidence must be a finite number above 0 and below 1"),
        ({"cv": 4, "groups": np.repeat([0, 1, 2], 20)}, "greater than the number of groups: 3"),
        ({"cv": LeaveOneOut(), "groups": np.repeat([0, 1, 2], 20)}, "Samples of one group must stay together"),
    ],
)
@pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
def test_bad_settings_are_refused_with_advice(X, options, message):
    with pytest.raises(ValueError, match=message):
        analyse(ColumnSubset(3), X, **options)


def test_what_is_no_selector_is_refused(X):
    with pytest.raises(TypeError, match="MinMaxScaler must tell its features by get_support"):
        analyse(MinMaxScaler(), X)

    class Indices(BaseEstimator):
        def fit(self, X):
            self.support_ = np.array([0, 1])
            return self

    with pytest.raises(TypeError, match="Boolean mask but gives dtype int64"):
        analyse(Indices(), X)


def test_runs_on_different_columns_are_refused(X):
    class Fickle(BaseEstimator):
        def fit(self, X):
            self.support_ = np.ones(3 + int(np.asarray(X)[0, 0] > np.median(first)), dtype=bool)
            return self

    first = [X[rows[0], 0] for rows, _ in Bootstrap().split(X)]
    with pytest.raises(ValueError, match="the runs saw 3 or 4"):
        analyse(Fickle(), X, cv=Bootstrap())


@pytest.mark.parametrize("as_indices", [True, False])
def test_sets_from_elsewhere_get_the_measures_of_the_analysis(as_indices):
    X = np.random.default_rng(3).normal(size=(60, 8)) @ np.random.default_rng(4).normal(size=(8, 8))
    found = stability_analysis(ColumnSubset(3), X, n_repeats=6)
    sets = found.selected if as_indices else found.supports
    again = StabilityAnalysis.from_supports(
        sets, n_features=8 if as_indices else None, similarity=feature_similarity(X), resampling="Subsample"
    )
    assert again.stability == found.stability
    assert again.similarity.effective == pytest.approx(found.similarity.effective, abs=1e-12)
    assert (again.supports == found.supports).all()
    assert (again.frequency_interval == found.frequency_interval).all()
    assert [sorted(one) for one in again.selected] == [sorted(one) for one in found.selected]
    assert again.rankings is None and again.ranking is None and again.score is None
    assert again.varied == found.varied == "samples varied (Subsample)"
    assert StabilityAnalysis.from_supports(sets, n_features=8, perturb="both").varied == "samples and seed varied"


def test_sets_from_elsewhere_without_a_choice_warn_where_they_are_given():
    with pytest.warns(UserWarning, match="Every run selected all") as caught:
        analysis = StabilityAnalysis.from_supports(np.ones((3, 4), dtype=bool))
    assert np.isnan(analysis.stability.nogueira)
    assert [one.filename for one in caught] == [__file__]
    with pytest.raises(ValueError, match="at least two runs but got 1"):
        StabilityAnalysis.from_supports([[0]], n_features=3)
