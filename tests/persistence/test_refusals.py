"""Files that are damaged, foreign, newer or made to harm: ``load`` refuses them with a ValueError of one sentence."""

import io
import json
import math
import struct
import zipfile

import numpy as np
import pytest

import stableselect as ss
from stableselect.persistence import _selector_file


@pytest.fixture
def path(tmp_path):
    """Return the file of a small selector."""
    path = tmp_path / "fitted.sselect"
    ss.save(ss.RandomSelector(1, random_state=0).fit(np.arange(6.0).reshape(2, 3)), path)
    return path


def saved_again(path):
    """Return what the selector of a file is saved as: equal selectors give equal files."""
    other = path.with_name("again.sselect")
    ss.save(ss.load(path), other, overwrite=True)
    return other.read_bytes()


def rewrite(path, change=None, names=None, compression=zipfile.ZIP_STORED):
    """Write the file again, with valid checksums, after ``change`` has altered its parts by name."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    if change is not None:
        change(parts)
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in parts.items():
            archive.writestr((names or {}).get(name, name), data)


def record(**entries):
    """Return a change to the record; a value may be a function of the old one."""

    def change(parts):
        tree = json.loads(parts["selector.json"])
        for name, value in entries.items():
            tree[name] = value(tree[name]) if callable(value) else value
        parts["selector.json"] = json.dumps(tree).encode()

    return change


def attribute(name, value):
    return record(attributes=lambda old: {**old, name: value})


def parameter(name, value):
    return record(parameters=lambda old: {**old, name: value})


def part(name, data):
    return lambda parts: parts.__setitem__(name, data)


def npy(array, **kwargs):
    stream = io.BytesIO()
    np.save(stream, array, **kwargs)
    return stream.getvalue()


def claimed(shape, descr="<f8"):
    """Return an array file whose header says ``shape`` and that holds eight bytes."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": descr, "fortran_order": False, "shape": shape})
    return stream.getvalue() + bytes(8)


def far_position(parts):
    """Give the random state a position far outside of its buffer."""
    state = np.random.RandomState(0).get_state(legacy=False)
    parts["key-0.npy"] = npy(state["state"]["key"])
    state["state"] = {"dict": {"key": {"array": "key-0"}, "pos": 10**6}}
    parameter("random_state", {"random_state": {"dict": state}})(parts)


GENERATOR = {"bit_generator": "MT19937", "state": {"dict": {"key": {"array": "scores_-0"}, "pos": 3}}}
OFFSET = {"bit_generator": "Philox", "buffer_pos": 9, "has_uint32": 0, "uinteger": 0}
DEEP = b'{"format": "stableselect selector", "version": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"

CHANGES = {
    "newer": (record(version=2), r"was written by a newer stableselect \(file version 2.*upgrade"),
    "version 0": (record(version=0), "version is not a positive integer"),
    "version true": (record(version=True), "version is not a positive integer"),
    "version text": (record(version="1"), "version is not a positive integer"),
    "class": (record(**{"class": "os.system"}), "holds a selector of class 'os.system'.* upgrade"),
    "abstract class": (record(**{"class": "BaseSelector"}), "holds a selector of class 'BaseSelector'"),
    "class number": (record(**{"class": 3}), "type int where str"),
    "other class": (record(**{"class": "MCFS"}), "has a parameter 'random_state', which MCFS does not have"),
    "parameter": (parameter("colour", 1), "has a parameter 'colour', which RandomSelector does not have"),
    "given": (record(given=["colour"]), "has a parameter 'colour'"),
    "given number": (record(given=3), "type int where list"),
    "format": (record(format="other"), "is not a selector saved by stableselect: its selector.json is another's"),
    "list": (part("selector.json", b"[1]"), "is not a selector saved by stableselect"),
    "no json": (part("selector.json", b"{"), "is damaged"),
    "not text": (part("selector.json", b"\xff"), "is damaged"),
    "nan": (parameter("random_state", math.nan), "NaN is not a JSON number"),
    "deep": (part("selector.json", DEEP), "is damaged"),
    "no attributes": (record(attributes={}), "is damaged"),
    "attribute list": (record(attributes=[]), "type list where dict"),
    "method": (attribute("transform", 3), "'transform' is not the name"),
    "parameter as attribute": (attribute("random_state", 3), "'random_state' is not the name"),
    "no name": (attribute("a b", 3), "'a b' is not the name"),
    "unknown kind": (attribute("x", {"pickle": "gASVCg=="}), "value of an unknown kind"),
    "two kinds": (attribute("x", {"tuple": [], "dict": {}}), "value of an unknown kind"),
    "bad float": (attribute("x", {"float": "7ff8"}), "is damaged"),
    "bad tuple": (attribute("x", {"tuple": "ab"}), "type str where list"),
    "bad set": (attribute("x", {"set": [[1]]}), "is damaged"),
    "callables": (record(callables=["random_state"]), "was saved with a function as random_state; load got None"),
    "no callables": (record(callables=None), "type NoneType where list"),
    "callables number": (record(callables=3), "type int where list"),
    "callables list": (record(callables=[[1]]), "is damaged"),
    "bad scalar": (attribute("x", {"scalar": ["<f8", "00"]}), "not what its type says"),
    "object scalar": (attribute("x", {"scalar": ["|O", "00" * 8]}), "not what its type says"),
    "no character": (attribute("x", {"scalar": ["<U1", "00001100"]}), "values that its type cannot have"),
    "no array": (attribute("x", {"array": "absent-0"}), "is damaged"),
    "array path": (attribute("x", {"array": "../x"}), "is damaged"),
    "support text": (attribute("support_", "abc"), "type str where ndarray"),
    "other width": (attribute("n_features_in_", 4), "support_ is not of the shape or type"),
    "scores missing": (record(attributes=lambda old: old.pop("scores_") and old), "NoneType where ndarray"),
    "other columns": (part("selected_-0.npy", npy(np.array([0]))), "not the same features"),
    "far column": (part("selected_-0.npy", npy(np.array([7]))), "not the same features"),
    "float columns": (part("selected_-0.npy", npy(np.array([1.0]))), "selected_ is not of the shape or type"),
    "long columns": (part("selected_-0.npy", npy(np.arange(3))), "selected_ is not of the shape or type"),
    "text scores": (part("scores_-0.npy", npy(np.array(["a", "b", "c"]))), "scores_ is not of the shape or type"),
    "pickle": (part("scores_-0.npy", npy(np.array([1, "a", None], object), allow_pickle=True)), "not a plain array"),
    "structured": (part("scores_-0.npy", npy(np.zeros(3, "f8,i4"))), "not a plain array"),
    "dates": (part("scores_-0.npy", npy(np.zeros(3, "M8[s]"))), "not a plain array"),
    "no magic": (part("scores_-0.npy", b"\x93NUMPZ" + npy(np.ones(3))[6:]), "not a plain array"),
    "cut array": (part("scores_-0.npy", npy(np.ones(3))[:-1]), "does not have the size"),
    "longer array": (part("scores_-0.npy", npy(np.ones(3)) + b"\0"), "does not have the size"),
    "empty array file": (part("scores_-0.npy", b""), "not a plain array"),
    "huge": (part("scores_-0.npy", claimed((10**15,))), "does not have the size"),
    "huge product": (part("scores_-0.npy", claimed((2**40, 2**40))), "does not have the size"),
    "huge empty": (part("scores_-0.npy", claimed((0, 2**70))[:-8]), "is damaged"),
    "text of no bytes": (part("scores_-0.npy", claimed((10**12,), "<U0")[:-8]), "does not have the size"),
    "no such type": (part("scores_-0.npy", claimed((1,), "<f3")), "is damaged"),
    "bool of two": (part("support_-0.npy", npy(np.ones(3, bool))[:-1] + b"\2"), "values that its type cannot have"),
    "member path": (part("../evil-0.npy", npy(np.ones(3))), "name is not plain"),
    "member kind": (part("evil.py", b""), "name is not plain"),
    "far position": (far_position, "random generator is not one"),
    "wrong key": (parameter("random_state", {"generator": {"dict": GENERATOR}}), "random generator is not one"),
    "other parts": (parameter("random_state", {"generator": {"dict": OFFSET}}), "random generator is not one"),
    "no generator": (parameter("random_state", {"generator": {"dict": {"bit_generator": "os"}}}), "is damaged"),
    "generator text": (parameter("random_state", {"generator": "abc"}), "is damaged"),
    "moments": (attribute("moments_", {"moments": {"colour": 1}}), "parts that moments do not have"),
    "moments shape": (
        attribute("moments_", {"moments": {"n_features": 4, "_mean": {"array": "scores_-0"}}}),
        "is damaged",
    ),
}


def entries(tree):
    """Yield the place of every entry of a tree, at every depth, as its holder and its key."""
    for key, inner in tree.items() if isinstance(tree, dict) else enumerate(tree):
        yield tree, key
        if isinstance(inner, dict | list):
            yield from entries(inner)


@pytest.mark.parametrize("kind", CHANGES)
def test_altered_files_are_refused_in_a_sentence(kind, path):
    change, message = CHANGES[kind]
    rewrite(path, change)
    with pytest.raises(ValueError, match=message) as caught:
        ss.load(path)
    assert str(caught.value).startswith(f"{path} ") and str(caught.value).endswith(".")
    assert len(str(caught.value)) < 300 + len(str(path))


@pytest.mark.slow
def test_any_altered_entry_of_the_record_is_refused_or_loads(path, tall, monkeypatch):
    registry = ss.all_selectors()
    monkeypatch.setattr(_selector_file, "all_selectors", lambda: registry)  # found once, for speed
    ss.save(ss.ColumnSubset(2).partial_fit(tall).set_params(include=np.random.RandomState(0)), path, overwrite=True)
    with zipfile.ZipFile(path) as archive:
        tree = json.loads(archive.read("selector.json"))
    whole = path.read_bytes()
    places = list(entries(tree))
    refused = 0
    for holder, key in places:
        before = holder[key]
        for value in (None, -1, "x", [], {}, {"array": "scores_-0"}, {"tuple": [1]}):
            holder[key] = value
            path.write_bytes(whole)
            rewrite(path, part("selector.json", json.dumps(tree).encode()))
            try:
                ss.load(path)
            except ValueError as error:
                assert str(path) in str(error)
                refused += 1
        holder[key] = before
    assert refused > 3 * len(places)


def test_moments_that_do_not_fit_are_refused(path, tall):
    selector = ss.ColumnSubset(3).partial_fit(tall)
    for name, value in {"_second": {"array": "scores_-0"}, "_rows": [{"array": "scores_-0"}], "n_samples": "x"}.items():
        ss.save(selector, path, overwrite=True)

        def change(old, name=name, value=value):
            old["moments_"]["moments"][name] = value
            return old

        rewrite(path, record(attributes=change))
        with pytest.raises(ValueError, match="is damaged"):
            ss.load(path)


def test_an_unchanged_rewrite_loads_but_a_compressed_or_doubled_one_does_not(path):
    whole = path.read_bytes()
    rewrite(path)
    assert saved_again(path) == whole
    rewrite(path, compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match="is compressed"):
        ss.load(path)
    path.write_bytes(whole)
    with pytest.warns(UserWarning, match="Duplicate name"):
        rewrite(path, names={"scores_-0.npy": "ranking_-0.npy"})
    with pytest.raises(ValueError, match="not the only one"):
        ss.load(path)


def test_a_missing_member_is_refused(path):
    rewrite(path, lambda parts: parts.pop("scores_-0.npy"))
    with pytest.raises(ValueError, match=r"is damaged: 'scores_-0\.npy' is missing"):
        ss.load(path)


def test_members_that_share_their_bytes_are_refused(path):
    data = path.read_bytes()
    end = data.index(b"PK\x05\x06")
    start = struct.unpack("<I", data[end + 16 : end + 20])[0]
    directory = data[start:end]
    # A hundred more entries for the same stored bytes, as a zip bomb has them.
    entry = directory[: directory.index(b"PK\x01\x02", 4)]
    copies = b"".join(entry.replace(b"selector.json", b"selector%05d" % i) for i in range(100))
    entries = len(copies) // len(entry) + struct.unpack("<H", data[end + 10 : end + 12])[0]
    tail = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, entries, entries, len(directory + copies), start, 0)
    path.write_bytes(data[:start] + directory + copies + tail)
    with pytest.raises(ValueError, match="claim to be longer than the file"):
        ss.load(path)


def test_foreign_files_are_refused(tmp_path, tall):
    text, npz, empty = (tmp_path / name for name in ("a.csv", "b.npz", "c"))
    text.write_text("a,b\n1,2\n")
    np.savez(npz, X=tall)
    empty.write_bytes(b"")
    for path in (text, npz, empty):
        with pytest.raises(ValueError, match=r"(not|neither) a selector .*give a file written by stableselect\.save"):
            ss.load(path)
    with pytest.raises(FileNotFoundError):
        ss.load(tmp_path / "absent")
    with pytest.raises(IsADirectoryError):
        ss.load(tmp_path)


@pytest.mark.slow
def test_every_flipped_byte_and_every_cut_is_refused_or_harmless(path, monkeypatch):
    registry = ss.all_selectors()
    monkeypatch.setattr(_selector_file, "all_selectors", lambda: registry)  # found once, for speed
    whole = path.read_bytes()
    refused = harmless = 0

    def attempt():
        nonlocal refused, harmless
        try:
            assert saved_again(path) == whole
            harmless += 1
        except ValueError as error:
            assert str(error).startswith(f"{path} is ")
            refused += 1

    with open(path, "r+b", buffering=0) as stream:
        for i, byte in enumerate(whole):
            for value in (byte ^ 0xFF, byte):
                stream.seek(i)
                stream.write(bytes([value]))
                if value != byte:
                    attempt()
        # Dates, permissions and the like in the zip's own headers are harmless, and nothing else.
        assert refused > 5 * harmless > 0
        harmless = 0
        for length in reversed(range(len(whole))):
            stream.truncate(length)
            attempt()
        assert harmless == 0
