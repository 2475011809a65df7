"""Values as a JSON tree with arrays beside it, and back.

Numbers, text, None and lists are stored as they are. Anything else is an object with one key that names its kind, from
a fixed list: what a file says is never imported, called or evaluated. Key views and the columns of data frames become
lists, and ranges tuples, which say the same. Of a selector that is a parameter of another its own parameters are kept;
its class is looked up by name among the package's selectors.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, KeysView, ValuesView
from typing import Any

import array_api_compat
import numpy as np

from .._core import Moments, SketchedMoments, to_numpy
from .._registry import all_selectors
from ..base import BaseSelector
from ..subset import Conditions

KINDS = "biufcU"
"""The kinds of array that are stored: bool, integers, floats, complex numbers and text."""

_BITS = {
    bits.__name__: bits
    for bits in (np.random.MT19937, np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64)
}
_POSITIONS = {"pos": 624, "buffer_pos": 4}
"""Largest read positions of the generators' buffers; NumPy takes any, and would read outside the buffer."""


class Unstorable(TypeError):
    """A value of a kind that the tree has no form for."""


class Packer:
    """Turn values into trees and gather their arrays.

    Attributes
    ----------
    arrays : dict of str to ndarray
        By the name that the tree calls them. An array met twice is kept once.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}

    def pack(self, value: Any, name: str) -> Any:
        """Return the tree of ``value``; its arrays are named after ``name``. Unstorable where it has no form."""
        before = dict(self.arrays)
        try:
            return self._pack(value, name)
        except (RecursionError, Unstorable) as error:
            self.arrays = before
            raise Unstorable("it contains itself" if isinstance(error, RecursionError) else str(error)) from None

    def _pack(self, value: Any, name: str) -> Any:
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": struct.pack(">d", value).hex()}
        items = _listed(value)
        if items is not None:
            return [self._pack(item, name) for item in items]
        if kind in (tuple, range):
            return {"tuple": [self._pack(item, name) for item in value]}
        if kind in (set, frozenset):
            # A set has no order of its own; a sorted one makes equal files of equal sets.
            return {kind.__name__: sorted((self._pack(item, name) for item in value), key=repr)}
        if kind is dict and all(type(key) is str for key in value):
            return {"dict": {key: self._pack(item, name) for key, item in value.items()}}
        if isinstance(value, np.generic) and value.dtype.kind in KINDS:
            single = np.asarray(value)
            return {"scalar": [single.dtype.str, single.tobytes().hex()]}
        if is_plain_array(value) and value.dtype.kind in KINDS and value.dtype.itemsize:
            return {"array": self._keep(value, name)}
        if kind is np.ndarray and value.dtype == object and value.ndim == 1:
            return {"objects": [self._pack(item, name) for item in value]}
        if array_api_compat.is_torch_array(value):
            values = to_numpy(value)
            if str(value.dtype) == f"torch.{values.dtype.name}":
                return {"tensor": self._keep(values, name)}
        if kind in (Moments, SketchedMoments):
            return {
                "moments" if kind is Moments else "sketch": {
                    key: self._pack(item, name) for key, item in vars(value).items()
                }
            }
        if kind is Conditions:
            return {"conditions": self._pack(value.as_plain(), name)}
        if isinstance(value, BaseSelector) and all_selectors().get(kind.__name__) is kind:
            parameters = value.get_params(deep=False).items()
            return {"selector": [kind.__name__, {key: self._pack(item, name) for key, item in parameters}]}
        if kind is np.random.RandomState and value.get_state(legacy=False)["bit_generator"] in _BITS:
            return {"random_state": self._pack(value.get_state(legacy=False), name)}
        if kind is np.random.Generator and type(value.bit_generator) in _BITS.values():
            return {"generator": self._pack(value.bit_generator.state, name)}
        raise Unstorable(f"it holds an object of type {kind.__name__}")

    def _keep(self, array: np.ndarray, name: str) -> str:
        for known, other in self.arrays.items():
            if other is array:
                return known
        known = f"{name}-{sum(other.rpartition('-')[0] == name for other in self.arrays)}"
        self.arrays[known] = array
        return known


class Unpacker:
    """Turn trees back into values; ValueError for what no :class:`Packer` wrote.

    Parameters
    ----------
    read : callable
        Returns the array of a name.
    """

    def __init__(self, read: Callable[[str], np.ndarray]) -> None:
        self._read = read
        self._arrays: dict[str, np.ndarray] = {}
        self._forms: dict[str, Callable[[Any], Any]] = {
            "float": self._float,
            "tuple": lambda body: tuple(self._items(body)),
            "set": lambda body: set(self._items(body)),
            "frozenset": lambda body: frozenset(self._items(body)),
            "dict": self._dict,
            "scalar": self._scalar,
            "array": self._array,
            "objects": self._objects,
            "tensor": self._tensor,
            "moments": lambda body: self._moments(body, Moments()),
            "sketch": lambda body: self._sketch(self._moments(body, SketchedMoments())),
            "selector": self._selector,
            "conditions": lambda body: Conditions.from_plain(expect(self.unpack(body), dict)),
            "random_state": self._random_state,
            "generator": lambda body: np.random.Generator(self._bits(self._dict(body["dict"]))),
        }

    def unpack(self, tree: Any) -> Any:
        """Return the value of a tree."""
        if tree is None or isinstance(tree, bool | int | float | str):
            return tree
        if isinstance(tree, list):
            return self._items(tree)
        if isinstance(tree, dict) and len(tree) == 1:
            ((form, body),) = tree.items()
            if form in self._forms:
                return self._forms[form](body)
        raise ValueError("it has a value of an unknown kind")

    def _items(self, body: Any) -> list[Any]:
        return [self.unpack(item) for item in expect(body, list)]

    def _dict(self, body: Any) -> dict[str, Any]:
        return {key: self.unpack(item) for key, item in expect(body, dict).items()}

    def _float(self, body: Any) -> float:
        (value,) = struct.unpack(">d", bytes.fromhex(expect(body, str)))
        return value

    def _scalar(self, body: Any) -> Any:
        text, raw = expect(body, list)
        dtype, data = np.dtype(expect(text, str)), bytes.fromhex(expect(raw, str))
        if dtype.kind not in KINDS or dtype.itemsize != len(data):
            raise ValueError("a number is not what its type says")
        return check_array(np.ndarray((), dtype, data))[()]

    def _array(self, body: Any) -> np.ndarray:
        name = expect(body, str)
        if name not in self._arrays:
            self._arrays[name] = self._read(name)
        return self._arrays[name]

    def _objects(self, body: Any) -> np.ndarray:
        items = self._items(body)
        array = np.empty(len(items), dtype=object)
        for i, item in enumerate(items):
            array[i] = item
        return array

    def _tensor(self, body: Any) -> Any:
        try:
            import torch
        except ImportError:
            raise ImportError('This selector keeps torch tensors: pip install "stableselect[torch]".') from None
        return torch.from_numpy(self._array(body))

    def _moments(self, body: Any, moments: Any) -> Any:
        state = self._dict(body)
        if not set(state) <= set(vars(moments)):
            raise ValueError("its moments have parts that moments do not have")
        vars(moments).update(state)
        names = moments.feature_names
        if names is not None and not all(isinstance(name, str) for name in expect(names, tuple)):
            raise ValueError("the names of its features are no texts")
        m, rows = moments.n_features, [len(weights) for weights in expect(moments._weights, list)]
        expect(moments.n_samples, int)
        expect(moments.weight_sum, float)
        expect(moments.range_is_exact, bool)
        expect(moments._symmetric, bool)
        if m is None:
            return moments
        dual = moments._second is None or moments.form == "sketched"
        shapes: dict[str, tuple[Any, tuple[int, ...]]] = {
            name: (getattr(moments, name), (expect(m, int),)) for name in ("_mean", "_low", "_high")
        }
        shapes |= {"_shift": (moments._shift, (m,))} if dual else {"_second": (moments._second, (m, m))}
        shapes |= {f"_rows {i}": (part, (rows[i], m)) for i, part in enumerate(expect(moments._rows, list))}
        if names is not None and len(names) != m:
            raise ValueError("its moments have other names than features")
        if any(tuple(part.shape) != shape or "float64" not in str(part.dtype) for part, shape in shapes.values()):
            raise ValueError("its moments do not fit together")
        return moments

    def _sketch(self, moments: SketchedMoments) -> SketchedMoments:
        size, m = expect(moments.size, int), moments.n_features
        expect(moments.seed, int)
        expect(moments.part, str)
        for count in expect(moments._counts, dict).values():
            expect(count, int)
        parts: list[tuple[Any, tuple[int, ...]]] = [(moments._signs, (size,))]
        parts += [] if m is None else [(moments._sketch, (size, m)), (moments._squares, (m,))]
        if any(expect(part, np.ndarray).shape != shape or part.dtype != np.float64 for part, shape in parts):
            raise ValueError("its sketch does not fit together")
        return moments

    def _selector(self, body: Any) -> BaseSelector:
        name, parameters = expect(body, list)
        cls = all_selectors().get(expect(name, str))
        if cls is None:
            raise ValueError(f"it uses a selector of class {name!r:.60}, which this stableselect lacks")
        unknown = sorted(set(expect(parameters, dict)) - set(cls._get_param_names()))
        if unknown:
            raise ValueError(f"{name} has no parameter {unknown[0]!r:.60}")
        return cls(**self._dict(parameters))

    def _random_state(self, body: Any) -> np.random.RandomState:
        state = self._dict(body["dict"])
        legacy = {name: state.pop(name) for name in ("has_gauss", "gauss")}
        drawn = np.random.RandomState(self._bits(state))
        drawn.set_state({**state, **legacy})
        return drawn

    def _bits(self, state: dict[str, Any]) -> Any:
        bits: Any = _BITS[expect(state["bit_generator"], str)](0)
        _check_form(state, bits.state)
        bits.state = state
        return bits


def _check_form(state: Any, pattern: Any, name: str = "") -> None:
    """Raise if a generator state's parts differ in kind, type or shape from those of a fresh generator."""
    same = type(state) is type(pattern)
    if same and isinstance(state, dict):
        same = state.keys() == pattern.keys()
        for key in state if same else ():
            _check_form(state[key], pattern[key], key)
    elif same and isinstance(state, np.ndarray):
        same = state.dtype == pattern.dtype and state.shape == pattern.shape
    elif same and name in _POSITIONS:
        same = 0 <= state <= _POSITIONS[name]
    if not same:
        raise ValueError("the state of its random generator is not one")


def _listed(value: Any) -> list[Any] | None:
    """Return the items of a list, a view of a dictionary, or an index or series; None for all else."""
    if type(value) is list or isinstance(value, KeysView | ValuesView):
        return list(value)
    # Neither package needs to be installed; their tables have no such method.
    if type(value).__module__.partition(".")[0] in ("pandas", "polars"):
        for name in ("to_list", "tolist"):
            if callable(method := getattr(value, name, None)):
                return list(method())
    return None


def is_plain_array(value: Any) -> bool:
    """Tell whether ``value`` is an array without a meaning beyond its values, which masked arrays have."""
    return type(value) in (np.ndarray, np.memmap)


def expect(value: Any, kind: type, what: str = "it") -> Any:
    """Return ``value``, or raise if it is not of the type ``kind``; a bool is not an int."""
    if type(value) is not kind:
        raise ValueError(f"{what} has a value of type {type(value).__name__} where {kind.__name__} is due")
    return value


def check_array(array: np.ndarray) -> np.ndarray:
    """Return an array read from bytes, or raise if bytes are no bool or no character: NumPy would not notice."""
    kind = array.dtype.kind
    if kind == "b":
        valid = not np.any(array.view(np.uint8) > 1)
    elif kind == "U" and array.size:
        codes = np.frombuffer(array.tobytes(), dtype=np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
        valid = not np.any(codes > 0x10FFFF)
    else:
        valid = True
    if not valid:
        raise ValueError("an array has values that its type cannot have")
    return array
