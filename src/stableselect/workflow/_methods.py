"""Selectors by the name a person types."""

from __future__ import annotations

from typing import Any

from .._registry import all_selectors
from ..io import TableError, shown


def find_method(name: str) -> tuple[str, type]:
    """Return the registered name and class of a selector; case, ``-`` and ``_`` do not matter."""
    selectors = all_selectors()
    for registered, cls in selectors.items():
        if _plain(registered) == _plain(name):
            return registered, cls
    raise TableError(f"There is no method '{shown(name)}'; the methods are {', '.join(selectors)}.")


def make_selector(method: str, settings: dict[str, Any]) -> tuple[str, Any]:
    """Return the registered name and a selector with those settings that are not None.

    ``random_state`` is left out for methods that are deterministic; any other setting a method lacks is refused.
    """
    name, cls = find_method(method)
    accepted = cls().get_params()
    given = {key: value for key, value in settings.items() if value is not None}
    unknown = [key for key in given if key not in accepted and key != "random_state"]
    if unknown:
        raise TableError(
            f"The method {name} has no setting {unknown[0]}; leave --{unknown[0].replace('_', '-')} out or use another "
            "method."
        )
    return name, cls(**{key: value for key, value in given.items() if key in accepted})


def _plain(name: str) -> str:
    return name.replace("-", "").replace("_", "").lower()
