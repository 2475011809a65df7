"""Conditions on the choice of features, as a person states them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from numbers import Integral, Real
from typing import Any

import numpy as np

Feature = str | int
Numbers = Mapping[Feature, float] | Sequence[float]
"""A number for every feature, or for those named."""


class InfeasibleConditionsError(ValueError):
    """Conditions that no selection of these features meets; the message says which one, and by how much."""


@dataclass(frozen=True)
class Group:
    """Features of which only so many may, or have to, be selected.

    Parameters
    ----------
    features : sequence of str or int
        The features, by name or index.
    at_least : int, default=0
        At least so many of them are selected.
    at_most : int or None, default=None
        At most so many of them are selected; None for all.
    exactly : int or None, default=None
        Instead of both: so many of them are selected.
    name : str, default=""
        What errors and reports call the group.

    Examples
    --------
    >>> from stableselect import Group
    >>> Group(["p1", "p2", "p3"], at_most=1, name="pressure").limits
    (0, 1)
    """

    features: Sequence[Feature]
    at_least: int = 0
    at_most: int | None = None
    exactly: int | None = None
    name: str = ""

    def __post_init__(self) -> None:
        what = f"group {self.name!r}" if self.name else "a group"
        object.__setattr__(self, "features", _features(self.features, f"the features of {what}"))
        for limit in ("at_least", "at_most", "exactly"):
            value = getattr(self, limit)
            if value is None and limit != "at_least":
                continue
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 0:
                raise ValueError(f"{limit} of {what} must be a whole number from 0, got {value!r}.")
            object.__setattr__(self, limit, int(value))
        if self.exactly is not None and (self.at_least or self.at_most is not None):
            raise ValueError(f"{what} has exactly and another limit too; give exactly alone, or at_least and at_most.")
        low, high = self.limits
        if low > high:
            raise ValueError(f"{what} asks for at least {low} and at most {high}; raise at_most or lower at_least.")

    @property
    def limits(self) -> tuple[int, int]:
        """At least and at most so many."""
        if self.exactly is not None:
            return self.exactly, self.exactly
        return self.at_least, len(self.features) if self.at_most is None else self.at_most


@dataclass(frozen=True)
class Conditions:
    """Conditions on which features may be selected together, and on what they have to reconstruct.

    Numbers for features are a mapping from names or indices, or a sequence of one for each feature.

    Parameters
    ----------
    cost : mapping or sequence of float, optional
        What every feature costs; needs a ``budget``.
    budget : float, optional
        The selected features cost no more than this. ``n_features_to_select`` is then an upper limit, and None stands
        for as many features as the budget allows.
    groups : sequence of Group
        Groups of which only so many may, or have to, be selected. A feature may be in several.
    blocks : sequence of sequences of str or int
        Features that come or go together: channels of one sensor, the columns of one encoded category.
    coordinates : mapping, DataFrame or array of shape (m, d), optional
        Where every feature is; needs a ``min_distance``. A feature that a mapping leaves out may be anywhere. The index
        of a DataFrame names the features.
    min_distance : float, optional
        Selected features are at least so far apart (Euclidean), but for those of one block.
    penalty : mapping or sequence of float, optional
        How much of the variance, as a fraction, a feature has to explain beyond what others could to be worth
        selecting; 0 for those not named. With 0.01 it is selected in place of another where that explains at least one
        percent of all variance more.
    target_weight : mapping or sequence of float, optional
        How much the error of every feature counts; 1 for those not named.
    only_reconstruct : sequence of str or int
        Features that have to be reconstructed but are never selected.
    only_choose : sequence of str or int
        Features that may be selected but do not have to be reconstructed: their error counts nothing.
    choose_from : sequence of str or int, optional
        Only these features may be selected, to shrink a panel. To grow one, pass it as ``include`` to the selector.

    See Also
    --------
    ColumnSubset, ScorerSelector : The selectors that take conditions.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from stableselect import ColumnSubset, Conditions, Group
    >>> X = load_wine(as_frame=True).data
    >>> conditions = Conditions(
    ...     groups=[Group(["total_phenols", "flavanoids", "proanthocyanins"], at_most=1)],
    ...     penalty={"flavanoids": 0.05},
    ... )
    >>> selector = ColumnSubset(3, scale="standard", conditions=conditions).fit(X)
    >>> selector.get_feature_names_out().tolist()
    ['alcalinity_of_ash', 'total_phenols', 'color_intensity']
    >>> cost = selector.conditions_cost_
    >>> round(cost.explained_variance, 3), round(cost.free_explained_variance, 3)
    (0.543, 0.566)
    """

    cost: Numbers | None = None
    budget: float | None = None
    groups: Sequence[Group] = ()
    blocks: Sequence[Sequence[Feature]] = ()
    coordinates: Mapping[Feature, Sequence[float]] | Sequence[Sequence[float]] | None = None
    min_distance: float | None = None
    penalty: Numbers | None = None
    target_weight: Numbers | None = None
    only_reconstruct: Sequence[Feature] = ()
    only_choose: Sequence[Feature] = ()
    choose_from: Sequence[Feature] | None = None

    def __post_init__(self) -> None:
        made: dict[str, Any] = {name: _numbers(getattr(self, name), name) for name in _NUMBERS}
        made |= {name: _limit(getattr(self, name), name) for name in ("budget", "min_distance")}
        made["coordinates"] = _points(self.coordinates)
        made["groups"] = tuple(self.groups)
        made["blocks"] = tuple(_features(block, "a block") for block in self.blocks)
        for name in ("only_reconstruct", "only_choose", "choose_from"):
            value = getattr(self, name)
            made[name] = None if value is None else _features(value, name)
        for name, value in made.items():
            object.__setattr__(self, name, value)
        for given, needed in (("cost", "budget"), ("coordinates", "min_distance")):
            for one, other in ((given, needed), (needed, given)):
                if getattr(self, one) is not None and getattr(self, other) is None:
                    raise ValueError(f"Conditions have {one} but no {other}; give both or neither.")
        for group in self.groups:
            if not isinstance(group, Group):
                raise TypeError(f"groups must hold stableselect.Group objects, got {group!r:.60}.")

    @property
    def names(self) -> list[str]:
        """All names of features, each once."""
        lists = [*(group.features for group in self.groups), *self.blocks, self.only_reconstruct, self.only_choose]
        lists += [list(value) for value in map(self.__getattribute__, _BY_FEATURE) if isinstance(value, dict)]
        found = [name for names in (*lists, self.choose_from or ()) for name in names if isinstance(name, str)]
        return list(dict.fromkeys(found))

    def mapped(self, change: Callable[[Feature], Feature]) -> Conditions:
        """Return the conditions with every name or index of a feature changed, but for sequences of one for each."""

        def listed(values: Sequence[Feature]) -> tuple[Feature, ...]:
            return tuple(change(value) for value in values)

        given: dict[str, Any] = {
            name: {change(key): entry for key, entry in value.items()} if isinstance(value, dict) else value
            for name, value in ((name, getattr(self, name)) for name in _BY_FEATURE)
        }
        given |= {name: listed(getattr(self, name)) for name in ("only_reconstruct", "only_choose")}
        given["choose_from"] = None if self.choose_from is None else listed(self.choose_from)
        given["groups"] = [replace(group, features=listed(group.features)) for group in self.groups]
        given["blocks"] = [listed(block) for block in self.blocks]
        return replace(self, **given)

    def as_plain(self) -> dict[str, Any]:
        """Return the conditions that are set as lists, numbers and text; mappings from indices are lists of pairs."""
        plain = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        plain["groups"] = [
            {field.name: _plain(getattr(one, field.name)) for field in fields(one)} for one in self.groups
        ]
        return {field.name: plain[field.name] for field in fields(self) if getattr(self, field.name) != field.default}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Conditions:
        """Return the conditions that :meth:`as_plain` gave; ValueError or TypeError for what it cannot have given."""
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(plain) - known):
            raise ValueError(f"conditions have no {unknown[0]!r:.60}")
        made = dict(plain)
        for name in _BY_FEATURE:
            if isinstance(made.get(name), list) and made[name][:1] == ["pairs"]:
                made[name] = {key: value for key, value in made[name][1]}
        made["groups"] = [Group(**group) for group in made.get("groups", ())]
        return cls(**made)


_NUMBERS = ("cost", "penalty", "target_weight")
_BY_FEATURE = (*_NUMBERS, "coordinates")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: _plain(entry) for key, entry in value.items()}
        return ["pairs", [[key, _plain(entry)] for key, entry in value.items()]]
    return [_plain(entry) for entry in value] if isinstance(value, tuple) else value


def _features(values: Any, what: str) -> tuple[Feature, ...]:
    """Return names or indices as a tuple."""
    if isinstance(values, str | Integral) or not isinstance(values, Iterable):
        raise TypeError(f"{what} must be a list of names or indices, got {values!r:.60}.")
    values = sorted(values, key=str) if isinstance(values, set | frozenset) else values
    return tuple(value if isinstance(value, str) else _index(value, what) for value in values)


def _index(value: Any, what: str) -> int:
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise TypeError(f"{what} must be a list of names or indices, and one of them is {value!r:.60}.")
    return int(value)


def _pairs(values: Any) -> dict[Feature, Any] | None:
    """Return a mapping, or a series or the rows of a frame by their index, as a dictionary; None for a sequence."""
    if isinstance(values, Mapping):
        return {key if isinstance(key, str) else _index(key, "a mapping"): value for key, value in values.items()}
    if hasattr(values, "index") and hasattr(values, "to_dict"):
        return _pairs(dict(zip(values.index, values.to_numpy(), strict=True)))
    return None


def _numbers(values: Any, name: str) -> dict[Feature, float] | tuple[float, ...] | None:
    if values is None:
        return None
    pairs = _pairs(values)
    if pairs is not None:
        return {key: _number(value, f"{name} of {key!r:.60}") for key, value in pairs.items()}
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a mapping from features to numbers, or one number for each feature.")
    return tuple(_number(value, name) for value in values)


def _number(value: Any, what: str) -> float:
    if not _finite(value) or value < 0:
        raise ValueError(f"{what} must be a number from 0, got {value!r:.60}.")
    return float(value)


def _finite(value: Any) -> bool:
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return False
    size: Any = abs(value)
    return bool(size < 1e100)


def _limit(value: Any, name: str) -> float | None:
    return None if value is None else _number(value, name)


def _points(values: Any) -> dict[Feature, tuple[float, ...]] | tuple[tuple[float, ...], ...] | None:
    if values is None:
        return None
    pairs = _pairs(values)
    listed = list(values) if pairs is None else list(pairs.values())
    keys = range(len(listed)) if pairs is None else pairs
    points = [_point(point, f"coordinates of {key!r:.60}") for key, point in zip(keys, listed, strict=True)]
    if len({len(point) for point in points}) > 1:
        raise ValueError("coordinates must be as many for one feature as for another.")
    return tuple(points) if pairs is None else dict(zip(pairs, points, strict=True))


def _point(values: Any, what: str) -> tuple[float, ...]:
    values = values.tolist() if hasattr(values, "tolist") else values
    entries = [values] if isinstance(values, str) or not isinstance(values, Iterable) else list(values)
    for entry in entries:
        if not _finite(entry):
            raise ValueError(f"{what} must be finite numbers, got {entry!r:.60}.")
    return tuple(float(entry) for entry in entries)
