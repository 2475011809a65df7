"""Saved selectors: what comes back is equal to the last bit, and what cannot be saved is refused in a sentence."""

import json
import math
import struct
import sys

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import stableselect as ss
from stableselect.persistence._tree import Packer, Unpacker, Unstorable

# Training is cut short here, which some selectors say.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SELECTORS = {name: cls() for name, cls in ss.all_selectors().items()}
SELECTORS |= {
    "ScorerSelectorNetwork": ss.ScorerSelectorNetwork(epochs=5),
    "ScorerSelectorNetwork minibatch": ss.ScorerSelectorNetwork(solver="minibatch", epochs=2),
}
STREAMING = {name: selector for name, selector in SELECTORS.items() if hasattr(selector, "partial_fit")}
STREAMING.pop("ScorerSelectorNetwork minibatch")


def small(selector, k=3):
    """Return an unfitted copy that is seeded and quick to train."""
    quick = {"n_features_to_select": k, "random_state": 0, "epochs": 2, "n_resamples": 4}
    known = selector.get_params()
    return clone(selector).set_params(**{name: value for name, value in quick.items() if name in known})


def again(selector, path):
    ss.save(selector, path, overwrite=True)
    return ss.load(path)


def assert_same(one, other):
    """Hold that two values have the same types and the same bits, all the way down."""
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        if one.dtype == object:
            assert_same(one.tolist(), other.tolist())
        else:
            assert one.tobytes() == other.tobytes() and other.flags.writeable
            assert one.flags.c_contiguous <= other.flags.c_contiguous
            assert one.flags.f_contiguous <= other.flags.f_contiguous
    elif isinstance(one, np.generic):
        assert_same(np.asarray(one), np.asarray(other))
    elif isinstance(one, float):
        assert struct.pack("d", one) == struct.pack("d", other)
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
    elif isinstance(one, dict):
        assert list(one) == list(other)
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, np.random.RandomState):
        assert_same(one.get_state(legacy=False), other.get_state(legacy=False))
    elif isinstance(one, np.random.Generator):
        assert_same(one.bit_generator.state, other.bit_generator.state)
    elif isinstance(one, ss.Moments | ss.BaseSelector):
        assert_same(dict(sorted(vars(one).items())), dict(sorted(vars(other).items())))
    elif hasattr(one, "detach"):
        assert one.dtype == other.dtype
        assert_same(one.detach().cpu().numpy(), other.numpy())
    else:
        assert one == other


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fitted.sselect"


@pytest.fixture
def frame(tall):
    return pytest.importorskip("pandas").DataFrame(tall, columns=[f"gène {j}" for j in range(12)])


@pytest.mark.parametrize("name", SELECTORS)
def test_every_selector_comes_back_to_the_last_bit(name, frame, path):
    selector = small(SELECTORS[name]).set_output(transform="pandas").fit(frame)
    before = dict(vars(selector))
    loaded = again(selector, path)
    assert_same(selector, loaded)
    assert_same(before, vars(selector))
    assert_same(selector.get_params(), loaded.get_params())
    assert_same(list(selector.get_feature_names_out()), list(loaded.get_feature_names_out()))
    kept = loaded.transform(frame)
    assert kept.equals(selector.transform(frame)) and list(kept.columns) == list(loaded.get_feature_names_out())
    assert_same(selector.reconstruct(kept), loaded.reconstruct(kept))
    assert selector.explain(frame) == loaded.explain(frame)
    for route in ("selector", "scorer") if hasattr(selector, "forward") else ():
        assert_same(selector.forward(frame, route), loaded.forward(frame, route))


@pytest.mark.parametrize("name", SELECTORS)
def test_arrays_sparse_tables_and_refits(name, tall, path):
    for table in (tall, sparse.csr_array(np.where(tall > 0, tall, 0.0))):
        selector = small(SELECTORS[name]).fit(table)
        loaded = again(selector, path)
        assert_same(selector, loaded)
        assert_same(selector.fit(tall[:50]), loaded.fit(tall[:50]))


@pytest.mark.parametrize("first", [4, 30], ids=["dual", "primal"])
@pytest.mark.parametrize("name", STREAMING)
def test_partial_fit_goes_on(name, first, tall, path):
    selector = small(STREAMING[name]).partial_fit(tall[:first], sample_weight=np.arange(1.0, first + 1))
    loaded = again(selector, path)
    assert loaded.moments_.form == ("dual" if first == 4 else "primal")
    for rows in (tall[first : first + 1], tall[first + 1 :]):
        assert_same(selector.partial_fit(rows), loaded.partial_fit(rows))


@pytest.mark.parametrize("name", STREAMING)
def test_partial_fit_goes_on_with_tensors(name, tall, path):
    torch = pytest.importorskip("torch")
    rows = torch.asarray(tall)
    selector = small(STREAMING[name]).partial_fit(rows[:20])
    loaded = again(selector, path)
    assert isinstance(loaded.moments_.mean, torch.Tensor)
    assert_same(selector.partial_fit(rows[20:]), loaded.partial_fit(rows[20:]))


def test_tensors_need_torch(tall, path, monkeypatch):
    torch = pytest.importorskip("torch")
    ss.save(ss.ColumnSubset(3).partial_fit(torch.asarray(tall)), path)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r'pip install "stableselect\[torch\]"'):
        ss.load(path)


def test_fit_moments_with_names(tall, path):
    selector = ss.ColumnSubset(3).fit_moments(ss.Moments.from_array(tall), feature_names=np.array(list("abcdefghijkl")))
    assert_same(selector, again(selector, path))


@pytest.mark.parametrize(
    "state",
    [
        np.random.RandomState(3),
        np.random.RandomState(np.random.PCG64(3)),
        *(np.random.Generator(bits(3)) for bits in (np.random.MT19937, np.random.Philox, np.random.SFC64)),
        np.random.default_rng(3),
        np.random.Generator(np.random.PCG64DXSM(3)),
    ],
    ids=str,
)
def test_random_states_go_on_where_they_were(state, tall, path):
    state.normal(size=3)
    selector = ss.RandomSelector(3, random_state=0).fit(tall).set_params(random_state=state)
    loaded = again(selector, path).random_state
    assert loaded is not state
    for _ in range(3):
        assert_same(state.normal(size=301), loaded.normal(size=301))


def test_callbacks_and_metadata_requests_are_dropped(tall, path):
    selector = ss.ColumnSubset(3).fit(tall)
    passing = {
        "_skl_callbacks": [print],
        "_callback_x": print,
        "_parent_callback_ctx": print,
        "_metadata_request": print,
    }
    vars(selector).update(passing)
    assert set(vars(selector)) - set(vars(again(selector, path))) == set(passing)


def test_shared_arrays_are_stored_once_and_stay_shared(tall, path):
    loaded = again(small(SELECTORS["ScorerSelectorNetwork minibatch"]).fit(tall), path)
    assert loaded.encoder_intercept_ is loaded.scorer_intercept_


def test_equal_selectors_give_equal_files_that_numpy_opens(tall, tmp_path):
    for name in "ab":
        ss.save(ss.ColumnSubset(3).fit(tall), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    with np.load(tmp_path / "a") as arrays:
        assert_same(ss.load(tmp_path / "a").scores_, arrays["scores_-0"])


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(exclude_categories=())),
    st.floats().map(np.float64),
    st.floats(width=32).map(np.float32),
    st.integers(0, 255).map(np.uint8),
    st.complex_numbers().map(np.complex128),
    st.booleans().map(np.bool_),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])).map(np.str_),
)
ARRAYS = st.one_of(
    st.lists(st.floats(), max_size=4).map(np.array),
    st.lists(st.integers(-9, 9), min_size=6, max_size=6).map(lambda v: np.asfortranarray(np.reshape(v, (2, 3)))),
    st.lists(st.booleans(), max_size=4).map(lambda v: np.array(v, dtype=bool)),
    st.lists(st.sampled_from(["", "é", "abc"]), max_size=4).map(lambda v: np.array(v, dtype="U")),
    st.lists(st.sampled_from(["", "é", None, 3]), max_size=4).map(lambda v: np.array(v, dtype=object)),
    st.sampled_from([np.zeros((0, 3)), np.array(2.5), np.arange(3, dtype=">i4"), np.zeros((2, 0, 4), np.float32)]),
)
VALUES = st.recursive(
    SCALARS | ARRAYS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(), inner, max_size=3)
        | st.sets(st.integers() | st.text(max_size=3), max_size=3)
        | st.frozensets(st.tuples(st.text(max_size=3), st.integers()), max_size=3)
    ),
    max_leaves=8,
)


@given(VALUES)
@example([math.inf, -math.inf, math.nan, -math.nan, -0.0, 5e-324])
def test_any_plain_value_comes_back(value):
    packer = Packer()
    tree = json.loads(json.dumps(packer.pack(value, "x"), allow_nan=False))
    assert_same(value, Unpacker(lambda name: packer.arrays[name].copy(order="K")).unpack(tree))


@pytest.mark.parametrize(
    "value",
    [
        *(len, {1: 2}, {len}, object(), np.array([len]), np.datetime64("2020-01-01"), np.ma.ones(2), 1j),
        *(np.zeros(2, "f8,i4"), np.ndarray((2,), "<U0")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_values_are_not_stored(value):
    packer = Packer()
    with pytest.raises(Unstorable):
        packer.pack([np.ones(2), value], "x")
    assert packer.arrays == {}


def test_a_value_that_contains_itself_is_not_stored():
    loop = []
    loop.append(loop)
    with pytest.raises(Unstorable, match="contains itself"):
        Packer().pack(loop, "x")


class Homemade(ss.ColumnSubset):
    pass


def test_save_refuses_what_it_cannot_do(tall, path, tmp_path):
    selector = ss.ColumnSubset(3)
    with pytest.raises(NotFittedError, match="This ColumnSubset is not fitted yet; call fit before save"):
        ss.save(selector, path)
    selector.fit(tall)
    with pytest.raises(ValueError, match="got a Homemade"):
        ss.save(Homemade(3).fit(tall), path)
    with pytest.raises(FileNotFoundError, match=r"The folder .*absent does not exist; create it"):
        ss.save(selector, tmp_path / "absent" / "x")
    with pytest.raises(FileExistsError, match="is a folder"):
        ss.save(selector, tmp_path)
    selector.mine = len
    with pytest.raises(ValueError, match="The attribute mine cannot be stored: it holds an object of type builtin"):
        ss.save(selector, path)
    del selector.mine
    selector.fit = 3
    with pytest.raises(ValueError, match="'fit' is not the name of a fitted attribute"):
        ss.save(selector, path)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_kept_unless_told(tall, path):
    ss.save(ss.ColumnSubset(3).fit(tall), path)
    other = ss.ColumnSubset(4).fit(tall)
    with pytest.raises(FileExistsError, match="overwrite=True"):
        ss.save(other, path)
    assert len(ss.load(path).selected_) == 3
    ss.save(other, str(path), overwrite=True)
    assert len(ss.load(str(path)).selected_) == 4


def test_a_failure_leaves_the_old_file_and_nothing_else(tall, path, monkeypatch):
    selector = ss.ColumnSubset(3).fit(tall)
    ss.save(selector, path)
    before = path.read_bytes()

    def full(*args, **kwargs):
        raise OSError("no space left")

    monkeypatch.setattr(np.lib.format, "write_array", full)
    with pytest.raises(OSError, match="no space"):
        ss.save(selector.set_params(ridge=0.0).fit(tall), path, overwrite=True)
    assert path.read_bytes() == before and list(path.parent.iterdir()) == [path]
