"""Tables, weights and parameters that no selector can use: one sentence, and nothing changed."""

import pickle
from datetime import datetime, timedelta
from decimal import Decimal

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from stableselect import ColumnSubset, LaplacianScore, Moments, RandomSelector, VarianceScore, all_selectors
from stableselect.base import StreamingSelector
from stableselect.metrics import clustering_quality, reconstruction_error

SELECTORS = all_selectors()
STREAMING = [name for name, cls in SELECTORS.items() if issubclass(cls, StreamingSelector)]


FEW = {
    "AEFS": {"epochs": 20},
    "AgnoSS": {"epochs": 20},
    "CAE": {"epochs": 20},
    "ConsensusSelector": {"n_resamples": 4},
    "FAE": {"epochs": 20},
    "GatedLaplacian": {"n_steps": 10},
    "KernelSubset": {"n_landmarks": 20, "max_sweeps": 1},
    "NDFS": {"max_iter": 10},
    "ScorerSelectorNetwork": {"epochs": 20},
}
"""Settings that only shorten the work."""


def make(name, **parameters):
    selector = SELECTORS[name](n_features_to_select=3, **FEW.get(name, {}), **parameters)
    return selector.set_params(random_state=0) if "random_state" in selector.get_params() else selector


@pytest.fixture(params=SELECTORS)
def name(request):
    return request.param


def masked(X):
    return np.ma.masked_array(X, np.abs(X) > np.abs(X).max() * 0.99)


def with_object(value):
    def change(X):
        X = X.astype(object)
        X[1, 2] = value
        return X

    return change


def meta(X):
    return pytest.importorskip("torch").zeros(X.shape, device="meta")


NOT_NUMBERS = {
    "masked": (masked, r"masked values in feature \d+ \(1\).*; fill in or drop"),
    "dates": (lambda X: (1000 * X).astype("datetime64[s]"), "holds dates; drop or encode"),
    "durations": (lambda X: (1000 * X).astype("timedelta64[s]"), "holds durations; drop or encode"),
    "complex": (lambda X: X + 1j * X, "Complex data not supported; pass the real"),
    "sparse complex": (lambda X: sparse.csr_array(X + 1j * X), "Complex data not supported; pass the real"),
    "text": (lambda X: X.astype(str), "holds text; drop or encode"),
    "bytes": (lambda X: X.astype("S8"), "holds text; drop or encode"),
    "a word": (with_object("a"), "holds text; drop or encode"),
    "a number as text": (with_object("1.5"), "holds text; drop or encode"),
    "a date": (with_object(np.datetime64("2020-01-01")), "holds dates; drop or encode"),
    "a moment": (with_object(datetime(2020, 1, 1)), "holds dates; drop or encode"),
    "a while": (with_object(timedelta(1)), "holds durations; drop or encode"),
    "a complex number": (with_object(1j), "Complex data not supported; pass the real"),
    "a list": (with_object([1, 2]), "must hold numbers: .*; drop or encode"),
    "None": (with_object(None), r"NaN in feature 2 \(1\).*; fill in or drop"),
    "ragged": (lambda X: [[1.0, 2.0], [3.0]], "rows of equal length"),
    "meta tensor": (meta, "meta device, which holds no values; pass"),
    "too large for double precision": (
        lambda X: X.astype(np.longdouble) * np.longdouble("1e4000"),
        "infinity in feature 0",
    ),
}


@pytest.mark.parametrize("kind", NOT_NUMBERS)
def test_every_selector_refuses_what_is_not_a_number_with_the_same_sentence(name, kind, tall):
    change, message = NOT_NUMBERS[kind]
    if kind.startswith("too large") and np.dtype(np.longdouble).itemsize == 8:
        pytest.skip("long double is double here")
    with pytest.raises(ValueError, match=message):
        make(name).fit(change(tall))


@pytest.mark.parametrize("kind", NOT_NUMBERS)
def test_moments_metrics_and_fitted_selectors_refuse_it_too(kind, tall):
    change, message = NOT_NUMBERS[kind]
    table = change(tall)
    selector = LaplacianScore(12).fit(tall)
    for use in (
        Moments.from_array,
        Moments().update,
        selector.transform,
        selector.reconstruct,
        selector.score,
        selector.explain,
        ColumnSubset(3).partial_fit,
        lambda X: reconstruction_error(X, tall, [0, 1]),
        lambda X: clustering_quality(X, np.arange(60) % 2, [0, 1]),
    ):
        own = "finite numbers" if not hasattr(use, "__self__") else message  # metrics tell no features
        with pytest.raises(ValueError, match=own if message.startswith(("NaN", "infinity")) else message):
            use(table)


def test_data_frames_of_text_or_dates_are_refused_by_metrics_too(name, tall):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(tall, columns=[f"c{j}" for j in range(12)])
    for wrong in (frame.assign(c2=pd.Timestamp("2020-01-01")), frame.assign(c2="1.5"), frame.astype("datetime64[s]")):
        for use in (make(name).fit, lambda X: reconstruction_error(X, tall, [0, 1]), Moments.from_array):
            with pytest.raises(ValueError, match=r"text or dates: .*'c2'"):
                use(wrong)


@pytest.mark.parametrize(
    "change",
    [
        lambda X: np.ma.masked_array(X),
        lambda X: X.astype(object),
        pytest.param(lambda X: np.vectorize(Decimal, otypes=[object])(X), marks=pytest.mark.slow),
        pytest.param(lambda X: np.asmatrix(X), marks=pytest.mark.slow),
        lambda X: X.astype(np.longdouble),
        lambda X: X.tolist(),
    ],
    ids=["nothing masked", "objects", "decimals", "matrix", "long double", "list"],
)
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # of np.matrix
def test_numbers_in_any_wrapping_are_read(name, change, tall):
    expected = make(name).fit(tall)
    selector = make(name).fit(change(tall))
    assert_array_equal(selector.selected_, expected.selected_)
    assert_allclose(selector.transform(change(tall)), expected.transform(tall))
    assert_allclose(Moments.from_array(change(tall)).gram, Moments.from_array(tall).gram)


def test_a_sparse_matrix_with_repeated_entries_is_the_matrix_of_their_sums(name, tall):
    dense = np.where(np.abs(tall) > 1.5, np.round(tall), 0.0)
    csr = sparse.csr_array(dense)
    twice = sparse.csr_array((np.repeat(csr.data / 2, 2), np.repeat(csr.indices, 2), 2 * csr.indptr), shape=csr.shape)
    assert_array_equal(make(name).fit(twice).selected_, make(name).fit(csr).selected_)
    assert twice.nnz == 2 * csr.nnz


OUT_OF_RANGE = {
    "tiny": (lambda X: X * 1e-160, "differs by less than 1e-140"),
    "subnormal": (lambda X: X * 1e-310, "differs by less than 1e-140"),
    "huge": (lambda X: X * 1e150, r"beyond 1e\+140"),
    "largest": (lambda X: X * 1e306, r"beyond 1e\+140"),
    "one tiny": (lambda X: X * np.where(np.arange(12) == 4, 1e-200, 1.0), "differs by less than 1e-140 in feature 4;"),
    "one huge": (lambda X: X * np.where(np.arange(12) == 4, 1e200, 1.0), r"beyond 1e\+140 in feature 4"),
    "huge constant": (lambda X: np.where(np.arange(12) == 4, 1e300, X), r"beyond 1e\+140 in feature 4"),
}


@pytest.mark.parametrize("kind", OUT_OF_RANGE)
def test_every_selector_refuses_squares_that_leave_double_precision(name, kind, tall):
    change, message = OUT_OF_RANGE[kind]
    torch = pytest.importorskip("torch")
    for wrap in (np.asarray, sparse.csr_array, torch.asarray):
        with pytest.raises(ValueError, match=message + r".*leave the range of double precision, so scale the table"):
            make(name).fit(wrap(change(tall)))


def test_the_feature_out_of_range_is_named(name, tall):
    frame = pytest.importorskip("pandas").DataFrame(tall, columns=[f"c{j}" for j in range(12)])
    with pytest.raises(ValueError, match=r"beyond .* in 'c4'"):
        make(name).fit(frame.assign(c4=1e200))


@pytest.mark.parametrize("name", STREAMING)
def test_moments_out_of_range_are_refused_as_tables_are(name, tall):
    with pytest.raises(ValueError, match="differs by less than 1e-140"):
        make(name).fit_moments(Moments.from_array(tall * 1e-160))
    with pytest.raises(ValueError, match="differs by less than 1e-140"):
        make(name).partial_fit(tall * 1e-160)
    # Samples may vary little if all of them together do not.
    tall[20:40] *= 1e-160
    parts = make(name).partial_fit(tall[:20]).partial_fit(tall[20:40]).partial_fit(tall[40:])
    assert_array_equal(parts.selected_, make(name).fit_moments(Moments.from_array(tall)).selected_)


def test_metrics_and_scores_refuse_squares_that_overflow(tall):
    with pytest.raises(ValueError, match=r"beyond 1e\+140"):
        reconstruction_error(tall, tall * 1e200, [0, 1])
    with pytest.raises(ValueError, match=r"beyond 1e\+140"):
        LaplacianScore(3).fit(tall).score(tall * 1e200)


@pytest.mark.parametrize("factor", [1e-139, 1e138])
def test_scale_free_selectors_choose_the_same_up_to_the_limits(name, factor, tall):
    if name == "ScorerSelectorNetwork":
        pytest.skip("trained by steps of a fixed size")
    if name == "KernelSubset":
        pytest.skip("starts from a search with a ridge from folds, which follow the values, and takes samples by them")
    fixed = {"ridge": 0.1} if make(name).get_params().get("ridge") == "auto" else {}  # folds follow the values
    assert_array_equal(make(name, **fixed).fit(tall * factor).selected_, make(name, **fixed).fit(tall).selected_)


@pytest.mark.parametrize("name", STREAMING)
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.full(60, 1e308), "sum to a number from 1e-20 to 1e.20 but sums to inf; divide"),
        (np.full(60, 1e200), "sum to a number from 1e-20 to 1e.20 but sums to 6e.201; divide"),
        (np.full(60, 5e-324), "sum to a number from 1e-20 to 1e.20 but sums to .*; divide"),
        (np.zeros(60), "Every sample_weight is zero; give"),
        (-np.ones(60), "one finite, non-negative number for each of the 60"),
        (np.full(60, np.nan), "one finite, non-negative number for each of the 60"),
        (np.ones(59), "one finite, non-negative number for each of the 60"),
        (np.ones((60, 1)), "one finite, non-negative number for each of the 60"),
        (1.0, "one finite, non-negative number for each of the 60"),
        (np.ones(60) + 1j, "Complex data not supported"),
        (["1"] * 60, "sample_weight must hold numbers, but holds text"),
        (np.ones(60).astype("timedelta64[s]"), "sample_weight must hold numbers, but holds durations"),
        (masked(np.arange(60.0)), "sample_weight contains masked values"),
    ],
)
def test_weights_are_refused_by_fit_and_moments_alike(name, weights, message, tall):
    for use in (make(name).fit, make(name).partial_fit):
        with pytest.raises(ValueError, match=message):
            use(tall, sample_weight=weights)
    if "Every" not in message:
        for use in (Moments.from_array, Moments().update):
            with pytest.raises(ValueError, match=message):
                use(tall, weights)


@pytest.mark.parametrize("name", STREAMING)
def test_a_missing_value_is_refused_whatever_the_weight_of_its_sample(name, tall):
    tall[3, 5] = np.nan
    weights = np.where(np.arange(60) == 3, 0.0, 1.0)
    for use in (make(name).fit, make(name).partial_fit, Moments.from_array, Moments().update):
        with pytest.raises(ValueError, match=r"NaN in feature 5 \(1\)"):
            use(tall, sample_weight=weights)


def including():
    return [name for name in SELECTORS if "include" in make(name).get_params()]


@pytest.mark.parametrize("name", including())
def test_features_to_include_are_checked(name, tall):
    assert make(name, include=[5, 5, -1]).fit(tall).support_[[5, 11]].all()
    for wrong in ([12], [-13], [1.0], [True], np.ones(12, dtype=bool), ["a"], [[1]], True):
        with pytest.raises(ValueError, match=r"Unknown feature .* in include"):
            make(name, include=wrong).fit(tall)
    for once in ((j for j in [5]), iter([5])):
        with pytest.raises(ValueError, match=r"include is an iterator.*; give a list"):
            make(name, include=once).fit(tall)


@pytest.mark.parametrize("name", including())
def test_lists_of_features_and_arrays_of_samples_and_weights_are_left_alone(name, tall):
    include, exclude = [5], np.array([7, 8])
    table = sparse.csr_array(np.where(np.abs(tall) > 1, tall, 0.0))
    weights = np.linspace(1, 2, 60)
    for array in (table.data, table.indices, table.indptr, weights, exclude):
        array.flags.writeable = False
    before = pickle.dumps((include, exclude, table.data, table.indices, weights))
    selector = make(name, include=include, exclude=exclude)
    selector.fit(table, sample_weight=weights) if name in STREAMING else selector.fit(table)
    assert pickle.dumps((include, exclude, table.data, table.indices, weights)) == before
    tensor = pytest.importorskip("torch").asarray(tall.copy())
    selector.fit(tensor)
    assert_array_equal(tensor.numpy(), tall)


def switches():
    return [
        (name, key)
        for name in SELECTORS
        for key, value in make(name).get_params(deep=False).items()
        if value in (True, False)
    ]


@pytest.mark.parametrize(("name", "key"), switches())
def test_a_word_is_not_taken_for_a_switch(name, key, tall):
    if isinstance(make(name).get_params()[key], bool):
        with pytest.raises(ValueError, match=f"'{key}' parameter of {name} must be"):
            make(name).set_params(**{key: "no"}).fit(tall)


@pytest.mark.parametrize("name", ["ColumnSubset", "ScorerSelector"])
def test_a_ridge_beyond_double_precision_is_refused(name, tall):
    with pytest.raises(ValueError, match=r"'ridge' parameter .* range \[0.0, 1e\+100\]"):
        make(name, ridge=1e308).fit(tall)
    assert np.isfinite(make(name, ridge=1e100).fit(tall).reconstruction_coef_).all()


@pytest.mark.parametrize("name", STREAMING)
def test_fit_moments_tells_what_it_expects(name, tall):
    moments = Moments.from_array(tall)
    for wrong in (tall, None, "a", [tall], 3):
        with pytest.raises(TypeError, match=r"expects a Moments or a list.*Moments.from_array"):
            make(name).fit_moments(wrong)
    for names in ("abcdefghijkl", 3):
        with pytest.raises(TypeError, match="feature_names must be a list of names"):
            make(name).fit_moments(moments, feature_names=names)
    with pytest.raises(TypeError, match="Feature names must be text, but one is 0"):
        make(name).fit_moments(moments, feature_names=range(12))
    named = make(name).fit_moments(moments, feature_names=np.array(list("abcdefghijkl")))
    assert set(named.get_feature_names_out()) == {"abcdefghijkl"[j] for j in named.selected_}


def state(selector):
    return pickle.dumps({key: value for key, value in sorted(selector.__dict__.items())})


def test_a_failed_fit_leaves_a_fitted_selector_as_it_was(name, tall, monkeypatch):
    frame = pytest.importorskip("pandas").DataFrame(tall, columns=[f"c{j}" for j in range(12)])
    selector = make(name).fit(frame)
    before = state(selector)
    bad = tall.copy()
    bad[0, 0] = np.nan
    for table in (bad, tall[:, :2], masked(tall), tall * 1e-160, tall * 1e200, tall[0], tall[:0]):
        with pytest.raises(ValueError):
            selector.fit(table)
        assert state(selector) == before
    # However late it fails: when the map is stored, after all attributes of the search.
    store = SELECTORS[name]._store

    def failing(self, *args):
        store(self, *args)
        raise KeyboardInterrupt

    monkeypatch.setattr(SELECTORS[name], "_store", failing)
    with pytest.raises(KeyboardInterrupt):
        selector.fit(tall[:, ::-1] ** 2)
    assert state(selector) == before
    if name in STREAMING:
        for fit in (selector.partial_fit, lambda X: selector.fit_moments(Moments.from_array(X))):
            with pytest.raises(KeyboardInterrupt):
                fit(tall**2)
            assert state(selector) == before


def test_fitted_arrays_share_nothing_with_the_samples(tall):
    for name in SELECTORS:
        X = tall.copy()
        selector = make(name).fit(X)
        before = state(selector)
        X[:] = 0.0
        assert state(selector) == before, name
    RandomSelector(12, random_state=0).fit(tall).transform(tall)[:] = 0.0
    assert tall.all()


@pytest.mark.parametrize(
    "kind",
    [np.float32, bool, *(pytest.param(kind, marks=pytest.mark.slow) for kind in (np.float16, np.int8, np.uint64))],
)
def test_every_type_of_number_is_read(name, kind, tall):
    table = np.abs(np.round(tall)).astype(kind)
    expected = make(name).fit(table.astype(np.float64)).selected_
    assert_array_equal(make(name).fit(table).selected_, expected)
    assert_array_equal(make(name).fit(sparse.csr_array(table.astype(np.float32))).selected_, expected)


@pytest.mark.parametrize(
    ("name", "parameter", "least"),
    [
        ("AEFS", "alpha", 1e-100),
        ("AgnoSS", "l1", 1e-100),
        ("AgnoSS", "beta", 1e-100),
        ("FAE", "l1", 0.0),
        ("FAE", "subset_weight", 1e-100),
        ("UDFS", "gamma", 1e-100),
        ("UDFS", "shrinkage", 1e-10),
        ("NDFS", "beta", 1e-100),
        ("ScorerSelector", "scorer_weight", 0.0),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_penalties_beyond_double_precision_are_refused_and_the_limits_work(tall, name, parameter, least):
    for value in (least, 1e100):
        assert np.isfinite(make(name, **{parameter: value}).fit(tall).scores_).all()
    for value in (1e101, -1.0):
        with pytest.raises(ValueError, match=f"'{parameter}' parameter of {name} must be a float in the range"):
            make(name, **{parameter: value}).fit(tall)


def test_reconstructions_beyond_double_precision_are_told(rng):
    X = rng.normal(size=(20, 1)) * [1e-130, 1e130]
    selector = VarianceScore(1, include=[0]).fit(X)
    assert_allclose(selector.reconstruct(X[:, :1]), X)
    with pytest.raises(ValueError, match="Reconstructed values leave the range of double precision"):
        selector.reconstruct(np.array([[1e100]]))
