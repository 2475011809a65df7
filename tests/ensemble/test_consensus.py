"""Consensus: the votes are those of plain fits, the aggregates their definitions, and twins share their votes."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.feature_selection import VarianceThreshold
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import stableselect as ss
from stableselect import PFA, ColumnSubset, ConsensusSelector, RandomSelector
from stableselect._core import ComplementaryPairs, row_hashes
from stableselect._core._resampling import seed_sequence
from stableselect.ensemble import _votes
from stableselect.ensemble._votes import by_representation, mean_ranks
from stableselect.inspection import Bootstrap, Subsample


def few(estimator=None, k=4, **settings):
    return ConsensusSelector(estimator, k, **{"n_resamples": 6, "random_state": 0, **settings})


def rows_of(X, selector, groups=None):
    """Return the samples of every fit: drawn from the table in the order of the hashes of its samples."""
    seed = seed_sequence(selector.random_state).spawn(2)[0]
    cv = ComplementaryPairs(selector.n_resamples, random_state=seed) if selector.cv is None else selector.cv
    order = np.argsort(row_hashes(X), kind="stable")
    groups = None if groups is None else groups[order]
    return [np.sort(order[train]) for train, _ in cv.split(X, groups=groups)]


@pytest.mark.parametrize(
    "cv", [None, Subsample(6, train_size=0.5), Bootstrap(6)], ids=["pairs", "subsample", "bootstrap"]
)
@pytest.mark.parametrize(
    "base",
    [
        ColumnSubset(ridge=0.1),
        pytest.param(ColumnSubset(), marks=pytest.mark.slow),
        ss.LaplacianScore(),
        VarianceThreshold(3.0),
    ],
    ids=str,
)
def test_votes_are_those_of_a_loop_over_the_rows(base, cv, tall):
    selector = few(base, cv=cv).fit(tall)
    for mask, rows in zip(selector.supports_, rows_of(tall, selector), strict=True):
        plain = clone(base)
        if "n_features_to_select" in plain.get_params():
            plain.set_params(n_features_to_select=4)
        np.testing.assert_array_equal(mask, plain.fit(tall[rows]).get_support())
    np.testing.assert_array_equal(selector.selection_frequency_, selector.supports_.mean(axis=0))


def test_groups_are_never_parted(tall, rng):
    groups = rng.permutation(np.repeat(np.array(list("abcdefghij")), 6))
    for cv in (None, Subsample(6, train_size=0.5), Bootstrap(6)):
        selector = few(cv=cv)
        for rows in rows_of(tall, selector, groups):
            counts = np.bincount(rows, minlength=60)
            assert all(len(set(counts[groups == group])) == 1 for group in "abcdefghij")
    selector.fit(tall, groups=groups)
    for mask, rows in zip(selector.supports_, rows_of(tall, selector, groups), strict=True):
        np.testing.assert_array_equal(mask, ColumnSubset(4, ridge=0.1).fit(tall[rows]).support_)
    with pytest.raises(ValueError, match="one label for each of the 60 samples"):
        selector.fit(tall, groups=groups[:5])


def test_the_order_of_grouped_rows_does_not_matter(tall, rng):
    groups, order = np.arange(60) // 6, rng.permutation(60)
    for cv in (None, Bootstrap(6)):
        one, other = few(cv=cv).fit(tall, groups=groups), few(cv=cv).fit(tall[order], groups=groups[order])
        np.testing.assert_array_equal(one.supports_, other.supports_)


@pytest.mark.parametrize(
    ("cv", "groups"),
    [
        (KFold(5), None),
        (ShuffleSplit(4, random_state=0), None),
        (GroupKFold(3), np.arange(60) % 10),
        ([(np.arange(40), []), (np.arange(20, 60), [])], None),
    ],
    ids=["KFold", "ShuffleSplit", "GroupKFold", "indices"],
)
def test_any_splitter_sees_the_samples_in_their_order(cv, groups, tall):
    selector = few(cv=cv).fit(tall, groups=groups)
    pairs = cv.split(tall, groups=groups) if hasattr(cv, "split") else cv
    for mask, (rows, _) in zip(selector.supports_, pairs, strict=True):
        np.testing.assert_array_equal(mask, ColumnSubset(4, ridge=0.1).fit(tall[np.sort(rows)]).support_)
    assert selector.n_pairs_ == 0 and np.isnan(selector.expected_false_selections_)


def test_pairs_given_as_a_splitter_have_error_control(tall):
    selector = few(cv=ComplementaryPairs(8)).fit(tall)
    assert selector.n_pairs_ == 4 and not np.isnan(selector.expected_false_selections_)
    assert len(few(cv=5).fit(tall).supports_) == 5


@pytest.mark.parametrize(
    ("estimator", "k"),
    [
        (ss.MCFS(5), 5),
        (ColumnSubset(0.2, ridge=0.1), 3),
        (make_pipeline(StandardScaler(), ColumnSubset(2)), 2),
        (ColumnSubset(ridge=0.1), 6),
        (None, 6),
    ],
    ids=str,
)
def test_the_number_of_features_is_that_of_the_estimator(estimator, k, tall):
    selector = few(estimator, k=None).fit(tall)
    assert len(selector.selected_) == k and (selector.supports_.sum(axis=1) == k).all()


def test_an_open_number_of_features_is_the_mean_of_the_fits(tall):
    for estimator in (ColumnSubset("auto", min_explained_variance=0.7), VarianceThreshold(8.0)):
        selector = few(estimator, k=None).fit(tall)
        sizes = selector.supports_.sum(axis=1)
        assert len(set(sizes)) > 1 and len(selector.selected_) == round(sizes.mean())


def test_frequency_and_rank_by_hand(tall):
    base = ColumnSubset(5, ridge=0.1)
    chosen = [clone(base).fit(tall[rows]).selected_ for rows in rows_of(tall, few())]
    votes = {j: sum(j in columns for columns in chosen) for j in range(12)}
    place = {j: np.mean([[*columns].index(j) + 1 if j in columns else 9 for columns in chosen]) for j in range(12)}
    by_votes = sorted(range(12), key=lambda j: (-votes[j], place[j], j))
    by_place = sorted(range(12), key=lambda j: (place[j], j))
    assert few(base, aggregate="frequency").fit(tall).selected_.tolist() == by_votes[:4]
    ranked = few(base, aggregate="rank").fit(tall)
    assert ranked.selected_.tolist() == by_place[:4]
    np.testing.assert_allclose(ranked.scores_, [1 - (place[j] - 1) / 11 for j in range(12)])
    np.testing.assert_allclose(mean_ranks(chosen, 12), [place[j] for j in range(12)])


def explained_votes(X, kept, j, frequency):
    """Return the votes for j times those that j explains beyond the kept columns, by least squares."""

    def residual(columns):
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        return Z - Z[:, columns] @ np.linalg.lstsq(Z[:, columns], Z, rcond=None)[0] if columns else Z

    gain = (residual(kept) ** 2).mean(axis=0) - (residual([*kept, j]) ** 2).mean(axis=0)
    return frequency[j] * (frequency @ gain)


def test_representation_follows_its_definition(tall, rng):
    frequency = rng.choice([0.0, 0.2, 0.5, 0.9, 1.0], size=12)
    kept = []
    for _ in range(5):
        free = [j for j in range(12) if j not in kept]
        kept.append(max(free, key=lambda j: explained_votes(tall, kept, j, frequency)))
    assert by_representation(tall, 5, frequency, np.arange(12.0)) == kept
    scaled = tall * 10.0 ** rng.integers(-6, 6, size=12) + 3
    assert by_representation(scaled, 5, frequency, np.arange(12.0)) == kept


def test_twins_share_their_votes(rng):
    """A group that splits its votes gets its column, and no second one; plain frequency does neither."""
    X = rng.normal(size=(80, 6))
    twins = np.column_stack([X, X[:, 0], X[:, 5] + 0.01 * X[:, 4], X[:, 5] - 0.01 * X[:, 4]])
    frequency = np.array([0.9, 0.5, 0.45, 0.0, 0.0, 0.35, 0.85, 0.35, 0.3])
    plain = np.argsort(-frequency, kind="stable")[:4].tolist()
    assert plain == [0, 6, 1, 2]
    assert sorted(by_representation(twins, 4, frequency, np.arange(9.0))) in ([0, 1, 2, 5], [0, 1, 2, 7])


def test_columns_without_votes_come_last(tall):
    frequency = np.zeros(12)
    frequency[[7, 3]] = 0.5, 1.0
    assert by_representation(tall, 4, frequency, np.arange(12.0, 0.0, -1)) == [3, 7, 11, 10]
    constant = tall.copy()
    constant[:, 3] = 2.0
    assert by_representation(constant, 2, frequency, np.arange(12.0)) == [7, 3]


def test_many_voted_columns_are_cut_to_the_most_frequent(tall, rng, monkeypatch):
    frequency = rng.permutation(np.arange(1, 13) / 12)
    monkeypatch.setattr(_votes, "_WEIGHED", 5)
    found = by_representation(tall, 8, frequency, np.arange(12.0))
    best = np.argsort(-frequency)
    assert set(found[:5]) == set(best[:5]) and found[5:] == best[5:8].tolist()


@pytest.mark.parametrize("aggregate", ["representative", "frequency", "rank"])
def test_include_and_exclude_of_the_base_hold_by_name(aggregate, tall):
    frame = pytest.importorskip("pandas").DataFrame(tall, columns=list("abcdefghijkl"))
    plain = few(aggregate=aggregate).fit(frame)
    names = plain.get_feature_names_out()
    base = ColumnSubset(ridge=0.1, include=["k"], exclude=[names[0]])
    selector = few(base, aggregate=aggregate).fit(frame)
    assert selector.selected_[0] == 10 and names[0] not in selector.get_feature_names_out()
    assert base.include == ["k"] and base.n_features_to_select is None


@pytest.mark.parametrize("aggregate", ["representative", "frequency", "rank"])
@pytest.mark.parametrize(
    "base",
    [
        ColumnSubset(2, ridge=0.1, exclude=[0, -1]),
        ConsensusSelector(ColumnSubset(2, ridge=0.1, exclude=[0, 11]), 2, n_resamples=2, random_state=0),
        make_pipeline(StandardScaler(), ColumnSubset(2, ridge=0.1, exclude=[0, 11])),
    ],
    ids=["plain", "nested", "pipeline"],
)
def test_an_excluded_column_does_not_fill_up(base, aggregate, tall):
    """The base votes for few columns, so the first of those without votes are taken; not the excluded ones."""
    selector = few(base, k=10, aggregate=aggregate).fit(tall)
    assert sorted(selector.selected_) == list(range(1, 11))
    assert (selector.selection_frequency_ == 0).sum() > 2
    with pytest.raises(ValueError, match="exclude of the estimator leaves 10 features but 11 are to be selected"):
        few(base, k=11, aggregate=aggregate).fit(tall)


@pytest.mark.parametrize("aggregate", ["representative", "frequency", "rank"])
def test_votes_of_a_pipeline_are_for_columns_of_the_table(aggregate, tall):
    gap = tall.copy()
    gap[:, [0, 5]] = 1.0
    last = ColumnSubset(2, ridge=0.1)
    base = make_pipeline(VarianceThreshold(), make_pipeline(StandardScaler(), "passthrough"), last)
    selector = few(base, k=2, aggregate=aggregate).fit(gap)
    varies, chosen = np.delete(np.arange(12), [0, 5]), []
    for mask, rows in zip(selector.supports_, rows_of(gap, selector), strict=True):
        part = gap[rows][:, varies]
        chosen.append(varies[clone(last).fit((part - part.mean(axis=0)) / part.std(axis=0)).selected_])
        np.testing.assert_array_equal(np.flatnonzero(mask), np.sort(chosen[-1]))
    if aggregate == "rank":
        assert set(selector.selected_) == set(np.argsort(mean_ranks(chosen, 12), kind="stable")[:2])
    assert set(selector.selected_) <= set(np.concatenate(chosen))


def test_steps_that_make_other_columns_are_refused(tall):
    last = ColumnSubset(2, ridge=0.1)
    with pytest.raises(ValueError, match=r"a step of it makes new ones \('pca0', ...\); leave that step out"):
        few(make_pipeline(PCA(), last)).fit(tall)
    with pytest.raises(ValueError, match="FunctionTransformer turns 12 features into 5 but does not tell which"):
        few(make_pipeline(FunctionTransformer(lambda X: X[:, :5]), last)).fit(tall)
    same = few(make_pipeline(FunctionTransformer(lambda X: 2 * X), last)).fit(tall)
    np.testing.assert_array_equal(same.supports_, few(last).fit(tall).supports_)


def test_names_are_found_at_any_depth(tall):
    frame = pytest.importorskip("pandas").DataFrame(tall, columns=list("abcdefghijkl"))
    inner = ColumnSubset(2, ridge=0.1, include="k", exclude=["a"])
    for base in (
        make_pipeline(StandardScaler(), inner),
        make_pipeline(StandardScaler(), make_pipeline(FunctionTransformer(), inner)),
        ConsensusSelector(inner, n_resamples=2, random_state=0),
    ):
        selector = few(base, k=11).fit(frame)
        assert selector.selected_[0] == 10 and 0 not in selector.selected_
    first = make_pipeline(ColumnSubset(6, ridge=0.1, include=["k"], exclude=["a"]), ColumnSubset(2, ridge=0.1))
    selector = few(first, k=11, aggregate="frequency").fit(frame)
    assert 0 not in selector.selected_  # and the other step may well drop what the first must keep
    assert selector.selected_[0] == np.argmax(selector.selection_frequency_)
    part = ColumnTransformer([("part", ColumnSubset(1, exclude=["c"]), ["b", "c", "d"])])
    for base, step in (
        (make_pipeline(VarianceThreshold(), inner), "VarianceThreshold"),
        (make_pipeline(make_pipeline(PCA()), inner), "PCA"),
        (make_pipeline(part, ColumnSubset(1)), "ColumnTransformer"),
    ):
        with pytest.raises(ValueError, match=f"that come from {step}, which may be others; fit on a table transformed"):
            few(base).fit(frame)


def test_seeds_vary_as_asked(tall):
    both, rows, seeds = (few(RandomSelector(), perturb=vary).fit(tall) for vary in ("both", "data", "seed"))
    assert len(np.unique(both.supports_, axis=0)) > 1 and len(np.unique(seeds.supports_, axis=0)) > 1
    # The draw of columns does not look at the rows, so a held seed repeats it.
    assert len(np.unique(rows.supports_, axis=0)) == 1 and rows.threshold_ == 1
    held = few(RandomSelector(random_state=3), perturb="data").fit(tall)
    assert set(held.selected_) == set(RandomSelector(4, random_state=3).fit(tall).selected_)
    assert np.isnan(seeds.expected_false_selections_) and seeds.n_pairs_ == 0


@pytest.mark.slow
def test_jobs_do_not_matter_and_the_seed_does(tall):
    one, two = (few(RandomSelector(), n_jobs=jobs).fit(tall) for jobs in (1, 2))
    np.testing.assert_array_equal(one.supports_, two.supports_)
    np.testing.assert_array_equal(one.selected_, two.selected_)
    other = few(RandomSelector(), random_state=1).fit(tall)
    assert not np.array_equal(one.supports_, other.supports_)


def test_the_base_may_keep_another_number(tall):
    selector = few(ColumnSubset(2, ridge=0.1), k=6).fit(tall)
    assert (selector.supports_.sum(axis=1) == 2).all() and len(selector.selected_) == 6


def test_sparse_tables_reach_the_base(tall):
    X = np.where(tall > 1, tall, 0.0)
    dense, thin = (few(ss.LaplacianScore()).fit(table) for table in (X, sparse.csr_array(X)))
    np.testing.assert_array_equal(dense.supports_, thin.supports_)


def test_few_rows_are_all_used(tall):
    selector = few().fit(tall[:3])
    assert (selector.supports_ == selector.supports_[0]).all() and np.isnan(selector.expected_false_selections_)
    assert few().fit(tall[:4]).n_pairs_ == 3


def test_an_odd_number_of_halves_is_refused_with_few_rows_too(tall):
    for n in (2, 3, 4, 60):
        with pytest.raises(ValueError, match="n_resamples must be even but is 5; add one"):
            few(n_resamples=5).fit(tall[:n])
    assert len(few(RandomSelector(), n_resamples=5, perturb="seed").fit(tall[:3]).supports_) == 5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_resamples": 1}, "The 'n_resamples' parameter .* must be an int in the range"),
        ({"n_resamples": 5}, "n_resamples must be even but is 5; add one"),
        ({"n_resamples": 2.5}, "The 'n_resamples' parameter"),
        ({"cv": "halves"}, "cv must be a number of folds, a scikit-learn splitter or pairs .* but is 'halves'"),
        ({"cv": 5, "perturb": "seed"}, 'cv splits the samples but perturb="seed" fits all of them'),
        ({"perturb": "columns"}, "The 'perturb' parameter .* among"),
        ({"aggregate": "mean"}, "The 'aggregate' parameter .* among"),
        (
            {"perturb": "seed"},
            'ColumnSubset has no random_state, so perturb="seed" changes nothing; use perturb="data"',
        ),
        ({"cv": Subsample(train_size=1.5)}, "train_size must be a number above 0 and below 1"),
        ({"estimator": ColumnSubset(include=["x"])}, "Unknown feature 'x' in include"),
    ],
    ids=str,
)
def test_bad_settings_are_refused_in_a_sentence(settings, message, tall):
    with pytest.raises(ValueError, match=message):
        few(**settings).fit(tall)


@pytest.mark.parametrize("selector", [few(cv="five"), ColumnSubset(2, ridge=0.0, cv="five")], ids=repr)
def test_text_for_cv_is_refused_where_it_is_not_used(selector, tall):
    with pytest.raises(ValueError, match="cv must be a number of folds"):
        selector.fit(tall[:2])


@pytest.mark.parametrize("base", [pytest.param(PFA(), marks=pytest.mark.slow), ColumnSubset(ridge=0.0)], ids=repr)
def test_the_order_of_samples_does_not_matter_where_features_are_exchangeable(base, rng):
    X = np.eye(9)[np.arange(36) % 9]
    groups = np.arange(36) // 3
    for given in (None, groups):
        expected = few(base).fit(X, groups=given)
        for _ in range(5):
            order = rng.permutation(36)
            found = few(base).fit(X[order], groups=None if given is None else given[order])
            np.testing.assert_array_equal(found.selected_, expected.selected_)
            np.testing.assert_array_equal(found.supports_, expected.supports_)


@pytest.mark.parametrize("base", [5, "ColumnSubset", ColumnSubset], ids=repr)
def test_a_base_that_is_no_selector_is_refused(base, tall):
    with pytest.raises(
        TypeError, match=r"estimator must be a selector or None, got .*; the number of features is n_features"
    ):
        few(base).fit(tall)


@pytest.mark.slow
def test_consensus_is_more_repeatable_than_one_fit():
    """On handwritten digits, at an error near that of the search and below that of the most frequent columns."""
    X = load_digits().data[:1000]
    rng = np.random.default_rng(0)
    splits = [rng.permutation(len(X)) for _ in range(5)]

    def measure(make):
        fits = [make().fit(X[split[:800]]) for split in splits]
        errors = [
            ss.metrics.reconstruction_error(X[split[:800]], X[split[800:]], fit.selected_)
            for split, fit in zip(splits, fits, strict=True)
        ]
        return ss.metrics.stability([fit.support_ for fit in fits]).nogueira, np.mean(errors)

    one, found = measure(lambda: ColumnSubset(16, ridge=0.0))
    many, agreed = measure(lambda: few(k=16, n_resamples=20))
    voted = measure(lambda: few(k=16, n_resamples=20, aggregate="frequency"))[1]
    assert many > one + 0.1
    assert agreed < 1.05 * found and agreed < voted
