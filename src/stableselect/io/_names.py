"""Column names as people type and read them: lists in messages, and names resolved against a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from .._files import printable

_LISTED = 5
"""How many names a message lists before it counts the rest."""


class TableError(ValueError):
    """A table or file that cannot be used; the message is one sentence for the person who gave it.

    Examples
    --------
    >>> issubclass(TableError, ValueError)
    True
    """


class NotNumericError(TableError):
    """Columns that do not hold numbers."""


class NotFiniteError(TableError):
    """Columns with missing or infinite values."""


class UnknownColumnError(TableError):
    """A name that no column of the table has."""


def quoted(name: str) -> str:
    """Return ``name`` as messages show it; the empty header of a row index gets words of its own."""
    return f"'{printable(name)}'" if name else "'' (the column without a name)"


def listed(names: Iterable[str]) -> str:
    """Return quoted names for a message, five at most and then a count.

    Examples
    --------
    >>> listed("abcdefg")
    "'a', 'b', 'c', 'd', 'e' and 2 more"
    """
    names = list(names)
    rest = len(names) - _LISTED
    return ", ".join(quoted(name) for name in names[:_LISTED]) + (f" and {rest} more" if rest > 0 else "")


def looks_like_data(names: Sequence[str]) -> bool:
    """Tell whether a header row is all numbers, which is what a file without a header looks like."""
    try:
        return len([float(name) for name in names]) > 1
    except ValueError:
        return False


def resolve(given: Iterable[str], columns: Sequence[str]) -> list[str]:
    """Return the columns that ``given`` names, in table order, each once; raise if a name is not there."""
    known = set(columns)
    wanted = set(given)
    for name in sorted(wanted - known):
        close = get_close_matches(name, columns, n=1)
        hint = f"did you mean {quoted(close[0])}?" if close else f"the columns are {listed(columns)}."
        raise UnknownColumnError(f"the table has no column {quoted(name)}; {hint}")
    return [name for name in columns if name in wanted]


def split_names(given: Iterable[str], columns: Sequence[str]) -> list[str]:
    """Split values at their commas, except where a column's own name holds the comma.

    Examples
    --------
    >>> split_names(["a,b", "x, y"], ["a", "b", "x, y"])
    ['a', 'b', 'x, y']
    """
    known = set(columns)
    names: list[str] = []
    for value in given:
        names += [value] if value in known else [name.strip() for name in value.split(",")]
    return names
