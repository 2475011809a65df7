"""The methods of a comparison: from what a user names to selectors of k features, and a key of their settings."""

from __future__ import annotations

import inspect
import marshal
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import joblib
from sklearn.base import clone

from .. import __version__
from .._refit import resolve_names, seed_parameters, steps_of
from .._registry import available_selectors, find_selector
from ..filters import RandomSelector

RANDOM, COMPONENTS, MEAN, EVERY = "random", "PCA", "mean", "all"
"""References: features drawn at random, as many principal components, no features at all, all features."""
REFERENCES = (RANDOM, COMPONENTS, MEAN, EVERY)
_NUMBERS = ("n_features_to_select", "k", "max_features")
"""What selectors call the number of features to select; the first of them that a selector has is set."""


@dataclass(frozen=True, eq=False)
class Method:
    """A row of a comparison.

    Attributes
    ----------
    name : str
        As the table shows it.
    selector : object or None
        Not fitted, set to the number of features wanted; None for a reference that selects nothing.
    seeded : bool
        Whether it depends on a seed.
    key : str
        Of all that decides what it selects.
    """

    name: str
    selector: Any = None
    seeded: bool = False
    key: str = ""


def default_methods() -> list[str]:
    """Return the names of the selectors that are neither trained nor fit other selectors: the quick ones."""
    slow = tuple(f"stableselect.{room}." for room in ("neural", "ensemble"))
    found = available_selectors().items()
    return [name for name, cls in found if not cls.__module__.startswith(slow) and cls is not RandomSelector]


def resolve_methods(
    methods: Any, k: int, m: int, names: Sequence[str] | None, *, labelled: bool
) -> tuple[list[Method], list[Method]]:
    """Return the methods that a user asks for, and the references.

    Parameters
    ----------
    methods : None, "all", or names and selectors
        See :func:`stableselect.compare`.
    k : int
        Number of features to select.
    m : int
        Number of features of the table.
    names : sequence of str or None
        Their names.
    labelled : bool
        Whether there are labels.

    Returns
    -------
    methods, references : list of Method
    """
    asked: list[Method] = []
    for name, selector in _named(methods):
        if name in REFERENCES or name in [one.name for one in asked]:
            raise ValueError(f"Two rows of the comparison are called {name!r}; give them names: methods={{name: ...}}.")
        asked.append(_method(name, selector, k, m, names))
    if not asked:
        raise ValueError("methods must name at least one method but is empty; leave it out for the quick ones.")
    draws = _method(RANDOM, RandomSelector(), k, m, names)
    rest = [Method(name) for name in (COMPONENTS, MEAN, *([EVERY] if labelled else []))]
    return asked, [draws, *rest]


def _named(methods: Any) -> list[tuple[str, Any]]:
    """Return names and selectors, not yet set to a number of features."""
    if methods is None:
        methods = default_methods()
    elif isinstance(methods, str) and methods == "all":
        methods = [name for name, cls in available_selectors().items() if cls is not RandomSelector]
    if isinstance(methods, Mapping):
        return [(str(name), _made(given)[1]) for name, given in methods.items()]
    if isinstance(methods, str) or hasattr(methods, "fit") or not isinstance(methods, Iterable):
        methods = [methods]
    made = [_made(given) for given in methods]
    # The class is a name where it is the only one; the settings tell two of one class apart.
    kinds = [name for name, _ in made]
    return [(name if kinds.count(name) == 1 else _settings_text(selector), selector) for name, selector in made]


def _made(given: Any) -> tuple[str, Any]:
    """Return the name of a selector's kind, and the selector."""
    if isinstance(given, str):
        try:
            name, cls = find_selector(given)
        except ValueError as error:
            raise ValueError(f"methods: {error}") from None
        return name, cls()
    if isinstance(given, type):
        given = given()
    if not hasattr(given, "fit") or not hasattr(given, "get_params"):
        raise TypeError(
            f"methods must hold names and selectors with fit and get_params but holds {given!r:.60}; see "
            "stableselect.available_selectors()."
        )
    last = (steps_of(given) or [given])[-1]
    return type(last).__name__, given


def _settings_text(selector: Any) -> str:
    text = " ".join(repr(selector).split())
    return text if len(text) <= 60 else text[:57] + "..."


def _method(name: str, selector: Any, k: int, m: int, names: Sequence[str] | None) -> Method:
    own = clone(selector, safe=False)
    known = own.get_params(deep=True)
    prefix = f"{own.steps[-1][0]}__" if hasattr(own, "steps") else ""
    number = next((prefix + one for one in _NUMBERS if prefix + one in known), None)
    if number is not None:
        own.set_params(**{number: k})
    resolve_names(own, m, names)
    return Method(name, own, bool(seed_parameters(own)), settings_key(own))


def settings_key(selector: Any) -> str:
    """Return a hash of class, settings but for the seeds, and, of code that is not this package's, the source."""
    seeds = {*seed_parameters(selector)}
    settings = {name: value for name, value in selector.get_params(deep=True).items() if name not in seeds}
    parts = [selector, *(value for value in settings.values() if hasattr(value, "get_params"))]
    kinds = sorted({f"{type(part).__module__}.{type(part).__qualname__} {_version(type(part))}" for part in parts})
    try:
        return str(joblib.hash((kinds, settings)))
    except Exception:  # a setting that cannot be pickled, such as a function without a name
        return str(joblib.hash((kinds, {name: repr(value) for name, value in settings.items()})))


def _version(cls: type) -> str:
    package = cls.__module__.partition(".")[0]
    if package == "stableselect":
        return __version__
    own = getattr(sys.modules.get(package), "__version__", "")
    try:
        return f"{own} {joblib.hash(inspect.getsource(cls))}"
    except (OSError, TypeError):  # typed into an interpreter
        codes = [marshal.dumps(item.__code__) for item in vars(cls).values() if inspect.isfunction(item)]
        return f"{own} {joblib.hash(codes)}"
